"""Two PostgreSQL servers under Patroni, which promotes the standby by itself and keeps its state in etcd.
It can take the place of a Pair in Cluster."""

import contextlib
import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import urllib.parse
import urllib.request

from harness import postgres, processes
from harness.admin import admin
from harness.ports import free_port
from harness.waiting import wait_until

# The leader is lost this many seconds after its last word. Patroni takes no less.
_TTL = 20


def _owned(path):
    account = pwd.getpwnam(postgres.ACCOUNT)
    os.chown(path, account.pw_uid, account.pw_gid)
    return path


class Etcd:
    """One server with a folder of its own."""

    def __init__(self, folder):
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        url = f"http://{self.address}"
        peer = f"http://127.0.0.1:{free_port()}"
        with open(folder / "etcd.log", "wb") as log:
            self._process = subprocess.Popen(
                ["etcd", "--data-dir", folder / "etcd", "--name", "one",
                 "--listen-client-urls", url, "--advertise-client-urls", url,
                 "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", f"one={peer}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )
        wait_until(self._answers, "etcd answers")

    def _answers(self):
        try:
            with urllib.request.urlopen(f"http://{self.address}/health", timeout=5) as reply:
                return json.load(reply)["health"] == "true"
        except OSError:
            return False

    def close(self):
        self._process.kill()
        self._process.wait()


class Member:
    """A Patroni with its PostgreSQL."""

    def __init__(self, network, folder, name, etcd):
        self.name = name
        self.port = free_port()
        self._rest = free_port()
        self._network = network
        self.folder = _owned(folder / name)
        self._configuration = self.folder / "patroni.json"
        self._configuration.write_text(json.dumps(self._settings(etcd)))
        self._process = None
        self.start()

    def _settings(self, etcd):
        users = {"username": postgres.USER, "password": postgres.PASSWORD}
        rules = ["local all all trust", "host all all 0.0.0.0/0 scram-sha-256",
                 "host replication all 0.0.0.0/0 scram-sha-256"]
        return {
            "scope": "agent-graph",
            "name": self.name,
            "restapi": {"listen": f"127.0.0.1:{self._rest}", "connect_address": f"127.0.0.1:{self._rest}"},
            "etcd3": {"hosts": etcd.address},
            "bootstrap": {
                "dcs": {"ttl": _TTL, "loop_wait": 2, "retry_timeout": 5, "synchronous_mode": True,
                        "maximum_lag_on_failover": 1 << 20,
                        "postgresql": {"use_pg_rewind": True, "parameters": {"max_connections": 200}}},
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "data-checksums"],
                "pg_hba": rules,
            },
            "postgresql": {
                "listen": f"127.0.0.1,{self._network.outside}:{self.port}",
                "connect_address": f"{self._network.outside}:{self.port}",
                "data_dir": str(self.folder / "data"),
                "bin_dir": str(postgres.programs()),
                "pgpass": str(self.folder / "pgpass"),
                "authentication": {"superuser": users, "replication": users, "rewind": users},
                "parameters": {"unix_socket_directories": str(self.folder)},
                "pg_hba": rules,
            },
        }

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                postgres.as_account("patroni", self._configuration),
                cwd="/", env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )

    def role(self):
        """As Patroni says it: master, replica, or what it does instead; None: it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._rest}/patroni", timeout=5) as reply:
                status = json.load(reply)
        except OSError:
            return None
        return status["role"] if status["state"] == "running" else status["state"]

    def query(self, sql, database="postgres"):
        done = subprocess.run(
            [postgres.programs() / "psql", "-X", "-q", "-A", "-t", "-F", "\x1f", "-R", "\x1e", "-v",
             "ON_ERROR_STOP=1", "-h", self.folder, "-p", str(self.port), "-U", postgres.USER, "-d", database],
            input=sql, capture_output=True, text=True, check=True, cwd="/",
        )
        text = done.stdout.rstrip("\n")
        return [row.split("\x1f") for row in text.split("\x1e")] if text else []

    def kill(self):
        """The end of its machine: Patroni and PostgreSQL, with kill -9."""
        self._process.kill()
        self._process.wait()
        postmaster = self.folder / "data" / "postmaster.pid"
        if postmaster.exists():
            pid = int(postmaster.read_text().split()[0])
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            # It is an orphan now. As a zombie it would seem to run.
            wait_until(lambda: not processes.is_alive(pid), "PostgreSQL has ended")

    close = kill


class PatroniPair:
    """`leader` is who accepts writes now."""

    name = "agent"

    def __init__(self, network):
        self._network = network
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="agent-graph-patroni-"))
        self.folder.chmod(0o755)
        self.etcd = Etcd(self.folder)
        self.members = []
        for name in ("one", "two"):
            (self.folder / name).mkdir()
            self.members.append(Member(network, self.folder, name, self.etcd))
            self.wait_for_leader()
        self.wait_for_standby()
        self.ports = [member.port for member in self.members]
        self.leader.query(f"CREATE DATABASE {self.name} TEMPLATE template0")
        admin("migrate", self._url_of(self.leader.port, "127.0.0.1"))

    @property
    def leader(self):
        return next((one for one in self.members if one.role() in ("master", "primary")), None)

    def wait_for_leader(self):
        wait_until(lambda: self.leader is not None, "Patroni has chosen a leader")

    def kill_leader(self):
        """The end of its machine. Returns what is lost."""
        lost = self.leader
        lost.kill()
        return lost

    def wait_for_standby(self):
        """Waits until commits wait for the other server."""
        def is_synchronous():
            leader = self.leader
            if leader is None:
                return False
            rows = leader.query("SELECT sync_state FROM pg_stat_replication")
            return [["sync"]] == rows

        wait_until(is_synchronous, "the standby is synchronous")

    def _url_of(self, *places):
        password = urllib.parse.quote(postgres.PASSWORD, safe="")
        port, address = places
        return f"postgresql://{postgres.USER}:{password}@{address}:{port}/{self.name}"

    def url(self):
        first = self._url_of(self.ports[0], self._network.outside)
        other = f"{self._network.outside}:{self.ports[1]}"
        credentials, _, rest = first.partition("@")
        address, _, name = rest.partition("/")
        return f"{credentials}@{address},{other}/{name}"

    # A pooler would have to follow the leader.
    pooled_url = url

    @property
    def reached_ports(self):
        return self.ports

    def query(self, sql):
        return self.leader.query(sql, self.name)

    def close(self):
        for member in self.members:
            member.close()
        self.etcd.close()
        shutil.rmtree(self.folder, ignore_errors=True)
