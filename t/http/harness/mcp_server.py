"""Launches a third party's MCP server, on the Node pinned in t/package-lock.json."""

import os
import signal
import subprocess

from . import environment, http1, mock_provider
from .waiting import wait_until


class McpServer:
    """The reference server with every feature of the protocol, over streamable HTTP."""

    def __init__(self, directory, port):
        self.port = port
        self._log = directory / f"mcp{port}.log"
        program = environment.NODE_MODULES / "@modelcontextprotocol" / "server-everything"
        with open(self._log, "ab") as output:
            self._process = subprocess.Popen(
                [str(mock_provider.node()), str(program / "dist" / "index.js"), "streamableHttp"],
                env=os.environ | {"PORT": str(port)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        wait_until(self._answers, "the MCP server listens", 30)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def log(self):
        return self._log.read_text(errors="replace")

    def _answers(self):
        if self._process.poll() is not None:
            raise AssertionError(f"the MCP server ended:\n{self.log}")
        try:
            return http1.fetch(self.port, "GET", "/mcp").status == 400
        except OSError:
            return False

    def close(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
