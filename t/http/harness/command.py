"""Runs the commands of agent-graph as a user does."""

import os
import pathlib
import signal
import subprocess
import tempfile

from . import environment, http1, processes, sanitizer
from .ports import free_port
from .waiting import wait_until

PROGRAM = environment.BUILD / "agent-graph"


def command(*arguments, code=0, text=None, variables=None, cwd=None):
    """Runs a command to its end; returns its output. `text` is its input."""
    with tempfile.TemporaryDirectory(prefix="agent-graph-") as reports:
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)],
            input=text if text is not None else "",
            env={"PATH": os.environ["PATH"]} | sanitizer.variables(reports) | (variables or {}),
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=environment.PATIENCE,
            check=False,
        )
        assert not sanitizer.reports(pathlib.Path(reports))
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


class RunningAgent:
    """`agent-graph run` with a folder, until it is closed."""

    def __init__(self, folder, port=None, **variables):
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = folder.parent / f"{folder.name}.log"
        self._reports = folder.parent
        with open(self._log, "wb") as output:
            self._process = subprocess.Popen(
                [PROGRAM, "run", folder, "--port", str(self.port), "--nginx", environment.NGINX_BINARY,
                 "--module", environment.MODULE],
                env={"PATH": os.environ["PATH"]} | sanitizer.variables(self._reports) | variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        wait_until(self._answers, "agent-graph run serves the agent")

    @property
    def printed(self):
        return self._log.read_text(errors="replace")

    def _answers(self):
        assert self._process.poll() is None, self.printed
        try:
            return http1.fetch(self.port, "GET", "/ping").status == 200
        except (OSError, http1.ConnectionClosed):
            return False

    def close(self):
        """Ctrl-C. Returns the exit code."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)
        code = self._process.wait(environment.PATIENCE)
        wait_until(lambda: not processes.in_session(self._process.pid), "nginx has gone")
        assert not sanitizer.reports(self._reports)
        return code
