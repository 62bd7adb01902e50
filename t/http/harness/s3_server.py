"""Starts a third-party S3 server on the Node pinned in t/package-lock.json."""

import signal
import socket
import subprocess

from . import environment
from .mock_provider import node
from .ports import free_port
from .waiting import wait_until


class S3Server:
    """One bucket on disk."""

    ACCESS_KEY = "S3RVER"
    SECRET_KEY = "S3RVER"

    def __init__(self, directory, bucket):
        directory.mkdir(parents=True)
        self.port = free_port()
        self.host = f"127.0.0.1:{self.port}"
        self.endpoint = f"http://{self.host}"
        command = [
            str(node()), str(environment.NODE_MODULES / "s3rver" / "bin" / "s3rver.js"),
            *("--directory", str(directory), "--address", "127.0.0.1", "--port", str(self.port)),
            *("--configure-bucket", bucket, "--no-vhost-buckets"),
        ]
        with open(directory.parent / "s3.log", "wb") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        wait_until(self._listens, "the S3 server listens")

    def _listens(self):
        assert self._process.poll() is None, "the S3 server ended"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def close(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
