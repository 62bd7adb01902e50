"""Starts a third-party MCP server on the Node pinned in t/package-lock.json."""

import json
import os
import pathlib
import re
import signal
import subprocess

from . import environment, http1, mock_provider
from .waiting import wait_until


class McpServer:
    """The reference server, which has every feature of the protocol, over streamable HTTP."""

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
        wait_until(self._answers, "the MCP server listens")

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
        except (OSError, http1.ConnectionClosed):
            return False

    def close(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()


class McpPeer:
    """A server built with the protocol's SDK, for both eras unless `options` restrict it."""

    PROGRAM = pathlib.Path(__file__).with_name("mcp_peer.cjs")
    ENVIRONMENT = {"NODE_PATH": str(environment.NODE_MODULES)}

    def __init__(self, directory, **options):
        self._log = directory / f"mcp-peer{len(list(directory.glob('mcp-peer*')))}.log"
        with open(self._log, "wb") as output:
            self._process = subprocess.Popen(
                [str(mock_provider.node()), str(self.PROGRAM), json.dumps(options)],
                env=os.environ | self.ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.port = wait_until(self._announced_port, "the MCP peer listens", 30)

    def _announced_port(self):
        if self._process.poll() is not None:
            raise AssertionError(f"the MCP peer ended:\n{self.log}")
        found = re.search(r"listening on port (\d+)", self.log)
        return found and int(found[1])

    @classmethod
    def program(cls, **options):
        """The keys that configure this server, over standard input and output, as a graph's MCP
        server."""
        return {
            "command": str(mock_provider.node()),
            "args": [str(cls.PROGRAM), json.dumps({"stdio": True} | options)],
            "env": cls.ENVIRONMENT,
            "discovery_timeout_ms": 30000,
        }

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def log(self):
        return self._log.read_text(errors="replace")

    def requests(self, method=None):
        """Returns the headers of each received request of one HTTP method."""
        lines = re.findall(r"^(GET|POST|DELETE) (\{.*\})$", self.log, re.M)
        return [json.loads(headers) for verb, headers in lines if method in (None, verb)]

    def close(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
