"""A real haproxy in front of several hosts: each request goes to the next host that is ready, whatever
client or thread it is for."""

import subprocess

from .ports import free_port
from .service import Requests
from .waiting import wait_until

_CONFIGURATION = """\
global
    maxconn 4000
    stats socket {folder}/admin mode 600 level admin
defaults
    mode http
    timeout connect 5s
    timeout client 1h
    timeout server 1h
    timeout tunnel 1h
    option redispatch
    option httpchk GET /ready
    default-server check inter 200ms fall 2 rise 1 on-marked-down shutdown-sessions
frontend clients
    bind 127.0.0.1:{port}
    default_backend hosts
backend hosts
    balance roundrobin
    http-response set-header X-Served-By %s
{servers}
"""


class Haproxy(Requests):
    """`ports` are those of the hosts, which are called host0, host1, …"""

    def __init__(self, folder, ports):
        self.port = free_port()
        self._ports = ports
        folder.mkdir()
        servers = "\n".join(
            f"    server host{number} 127.0.0.1:{port}" for number, port in enumerate(ports)
        )
        configuration = folder / "haproxy.cfg"
        configuration.write_text(
            _CONFIGURATION.format(folder=folder, port=self.port, servers=servers)
        )
        with open(folder / "log", "wb") as log:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "haproxy", "-db", "-f", configuration],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.wait_for_hosts(range(len(ports)))

    def hosts(self):
        """Numbers of the hosts that haproxy sends requests to, found by asking."""
        found = set()
        for _ in range(2 * len(self._ports)):
            try:
                reply = self.get("/ping")
            except OSError:
                return None
            if reply.status == 200:
                found.add(int(reply.header("X-Served-By").removeprefix("host")))
        return found

    def wait_for_hosts(self, numbers):
        """Waits until requests go to these hosts, and to no others."""
        wait_until(lambda: self.hosts() == set(numbers), f"haproxy sends requests to hosts {numbers}")

    def close(self):
        self._process.kill()
        self._process.wait()
