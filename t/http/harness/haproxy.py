"""A real haproxy in front of several hosts: each request goes to the next host that is ready, whatever
client or thread it is for."""

import csv
import socket
import subprocess

from .http1 import ConnectionClosed
from .ports import free_port
from .service import Requests
from .waiting import wait_until

_TCP_CONFIGURATION = """\
global
    maxconn 4000
    stats socket {folder}/admin mode 600 level admin
defaults
    mode tcp
    timeout connect 5s
    timeout client 1h
    timeout server 1h
    retries 3
    option redispatch 1
    default-server check inter 200ms fall 2 rise 1 on-marked-down shutdown-sessions
{listeners}
"""

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
    timeout check 30s
    default-server check inter {interval}ms fall 2 rise 1 on-marked-down shutdown-sessions
frontend clients
    bind 127.0.0.1:{port}
    default_backend hosts
backend hosts
    balance roundrobin
    http-response set-header X-Served-By %s
{servers}
"""


def _run(folder, configuration):
    folder.mkdir()
    file = folder / "haproxy.cfg"
    file.write_text(configuration)
    with open(folder / "log", "wb") as log:
        return subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "haproxy", "-db", "-f", file],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def statistics(socket_path):
    """The rows of `show stat`, from the admin socket of a haproxy; none if it does not listen yet."""
    with socket.socket(socket.AF_UNIX) as admin:
        try:
            admin.connect(str(socket_path))
        except OSError:
            return []
        admin.sendall(b"show stat\n")
        text = b"".join(iter(lambda: admin.recv(65536), b"")).decode()
    names, *rows = csv.reader(text.removeprefix("# ").splitlines())
    return [dict(zip(names, row)) for row in rows if row]


class TcpBalancer:
    """Sends each connection to the next host, byte by byte. `ports`: for each port, those of the hosts."""

    def __init__(self, folder, ports):
        self._admin = folder / "admin"
        listeners = []
        for port, hosts in ports.items():
            listeners += [f"listen port{port}", f"    bind 127.0.0.1:{port}", "    balance roundrobin"]
            listeners += [f"    server host{n} 127.0.0.1:{host}" for n, host in enumerate(hosts)]
        self._process = _run(
            folder, _TCP_CONFIGURATION.format(folder=folder, listeners="\n".join(listeners))
        )

    def _hosts_up(self):
        """For each listener, how many of its hosts get connections."""
        rows = statistics(self._admin)
        up = {row["pxname"]: 0 for row in rows}
        for row in rows:
            if row["svname"].startswith("host"):
                up[row["pxname"]] += row["status"] == "UP"
        return up

    def wait_for_hosts(self, count):
        """Waits until connections go to this many hosts."""
        wait_until(
            lambda: set(self._hosts_up().values()) == {count},
            f"haproxy has found {count} hosts",
        )

    def close(self):
        self._process.kill()
        self._process.wait()


class Haproxy(Requests):
    """`hosts` are the ports of the hosts, or their addresses with ports. They are called host0, host1, …
    `interval`: milliseconds between checks of a host."""

    def __init__(self, folder, hosts, interval=200):
        self.port = free_port()
        self._hosts = [f"127.0.0.1:{host}" if isinstance(host, int) else host for host in hosts]
        servers = "\n".join(
            f"    server host{number} {address}" for number, address in enumerate(self._hosts)
        )
        self._process = _run(
            folder,
            _CONFIGURATION.format(folder=folder, port=self.port, servers=servers, interval=interval),
        )
        self.wait_for_hosts(range(len(self._hosts)))

    def hosts(self):
        """Numbers of the hosts that haproxy sends requests to, found by asking."""
        found = set()
        for _ in range(2 * len(self._hosts)):
            try:
                reply = self.get("/ping")
            except (OSError, ConnectionClosed):
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
