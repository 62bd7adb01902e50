"""A real redis-server on its own port, without persistence."""

import socket
import subprocess

from . import processes
from .ports import free_port
from .waiting import wait_until


class RedisServer:
    def __init__(self, directory):
        self.port = free_port()
        self._directory = directory
        self.start()

    @property
    def url(self):
        """For services that wait for each answer; the timeout is long enough for a loaded
        machine."""
        return f"{self.impatient_url}?timeout_ms=60000"

    @property
    def impatient_url(self):
        return f"redis://127.0.0.1:{self.port}"

    def start(self):
        self._process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
             "--appendonly", "no"],
            cwd=self._directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(self._answers, "redis-server answers")

    def _answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port)) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except ConnectionError:
            return False

    def ask(self, *words):
        """Returns the answer to one command: a text, a number, or None."""
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(" ".join(words).encode() + b"\r\n")
            answer = connection.makefile("rb")
            kind, rest = answer.read(1), answer.readline().rstrip(b"\r\n")
            if kind == b":":
                return int(rest)
            if kind == b"$":
                return None if rest == b"-1" else answer.read(int(rest)).decode()
            assert kind == b"+", rest
            return rest.decode()

    def stop(self):
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def freeze(self):
        """Stops the server: it keeps its connections but does not answer."""
        processes.freeze(self._process.pid)

    def thaw(self):
        processes.thaw(self._process.pid)
