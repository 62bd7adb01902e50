"""Starts a provider on Node's own HTTP/2, see http2_provider.mjs."""

import pathlib
import re
import subprocess

from .certificate import self_signed
from .mock_provider import node
from .waiting import wait_until


class NodeHttp2Provider:
    def __init__(self, directory):
        self.certificate, key = self_signed(directory)
        program = pathlib.Path(__file__).with_suffix(".mjs")
        self._log = directory / "node.log"
        with open(self._log, "wb") as output:
            self._process = subprocess.Popen(
                [str(node()), str(program), str(self.certificate), str(key)],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip
        self.port = wait_until(self._announced_port, "Node listens")

    def _announced_port(self):
        found = re.search(r"port (\d+)", self._log.read_text())
        if not found and self._process.poll() is not None:
            raise AssertionError(f"Node ended:\n{self._log.read_text()}")
        return found and int(found[1])

    @property
    def base_url(self):
        return f"https://127.0.0.1:{self.port}/v1"

    def count(self, what):
        """How many times there was a "connection", "request" or "reset"."""
        return self._log.read_text().split().count(what)

    def close(self):
        self._process.terminate()
        self._process.wait()
