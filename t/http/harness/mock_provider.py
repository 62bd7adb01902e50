"""Starts a third-party mock of model providers on the Node pinned in t/package-lock.json."""

import json
import pathlib
import platform
import re
import signal
import subprocess

from . import environment, http1
from .waiting import wait_until

_ARCHITECTURES = {"x86_64": "x64", "aarch64": "arm64"}


def node():
    architecture = _ARCHITECTURES[platform.machine()]
    return environment.NODE_MODULES / f"node-linux-{architecture}" / "bin" / "node"


class MockProvider:
    """One running mock. `fixtures` is a list of {"match": ..., "response": ...}; `options` are
    those of the program: latency=5, chunk_size=4, chaos_drop=1.0, chaos_malformed=...,
    strict=True."""

    def __init__(self, directory, fixtures, **options):
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / "fixtures.json"
        file.write_text(json.dumps({"fixtures": fixtures}))
        command = [
            str(node()),
            str(environment.NODE_MODULES / "@copilotkit" / "aimock" / "dist" / "cli.js"),
            *("--host", "127.0.0.1", "--port", "0", "--fixtures", str(file)),
        ]
        for name, value in options.items():
            command.append("--" + name.replace("_", "-"))
            if value is not True:
                command.append(str(value))
        self._log = directory / "log"
        with open(self._log, "wb") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        self.port = wait_until(self._announced_port, "the mock provider listens")

    def _announced_port(self):
        text = self._log.read_text(errors="replace")
        found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", text)
        if not found and self._process.poll() is not None:
            raise AssertionError(f"the mock provider ended:\n{text}")
        return found and int(found[1])

    @property
    def program(self):
        """The path of the Node binary that is running."""
        return pathlib.Path(f"/proc/{self._process.pid}/exe").resolve()

    @property
    def base_url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    def requests(self):
        """The requests that the mock has received, oldest first."""
        return http1.fetch(self.port, "GET", "/__aimock/journal").json()

    def chat_requests(self):
        """The requests for chat completions, oldest first."""
        return [entry for entry in self.requests() if entry["path"].endswith("/chat/completions")]

    def messages(self):
        """The messages of the latest request for a chat completion."""
        return self.chat_requests()[-1]["body"]["messages"]

    def set_chaos(self, **rates):
        """Changes the probabilities at run time, e.g. dropRate=1.0 or disconnectRate=1.0."""
        reply = http1.fetch(self.port, "POST", "/__aimock/chaos", body=rates)
        assert reply.status == 200, reply.text

    def close(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
