"""A primary and its strict synchronous standby, which replace each other, and a PgBouncer."""

import os
import pwd
import shutil
import subprocess

from harness import postgres
from harness.ports import free_port
from harness.waiting import wait_until

_POOLER = """\
[databases]
* = host={host} port={port} user={user} password={password}
[pgbouncer]
listen_addr = {address}
listen_port = {listen}
pool_mode = session
auth_type = any
logfile = {folder}/log
pidfile = {folder}/pid
unix_socket_dir =
max_client_conn = 500
default_pool_size = 100
server_connect_timeout = 2
"""


# Large enough for a proof of 100,000 operations.
_DATA_SIZE = "1000m"


class Server(postgres.PostgresServer):
    """Reachable from the namespaces of hosts. Its data without the write-ahead log are on a small disk of
    its own, which `fill_disk` can fill."""

    def __init__(self, network, *, source=None, port=None):
        self._network = network
        self._source = source
        super().__init__(durable=True, port=port, listen_addresses=f"127.0.0.1,{network.outside}")

    def _initialise(self):
        self.folder.chmod(0o755)
        self.data.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DATA_SIZE}", "none", self.data], check=True)
        self._give(self.folder)
        self._give(self.data)
        self.data.chmod(0o700)
        if self._source is not None:
            return self._copy_source()
        super()._initialise()
        log = self.folder / "wal"
        subprocess.run(["cp", "-a", self.data / "pg_wal", log], check=True)
        shutil.rmtree(self.data / "pg_wal")
        (self.data / "pg_wal").symlink_to(log)
        with open(self.data / "pg_hba.conf", "a", encoding="utf-8") as rules:
            rules.write(f"host all all {self._network.subnet} scram-sha-256\n")

    def _give(self, path):
        account = pwd.getpwnam(postgres.ACCOUNT)
        os.chown(path, account.pw_uid, account.pw_gid)

    def _copy_source(self):
        source = self._source
        subprocess.run(
            postgres.as_account(
                postgres.programs() / "pg_basebackup", "-D", self.data, "-R", "--no-sync", "-c", "fast",
                "--waldir", self.folder / "wal",
                "-d", f"host={source.folder} port={source.port} user={postgres.USER} "
                      "application_name=standby",
            ),
            cwd="/", check=True,
        )

    def disappear(self):
        """Simulates the loss of its machine: kills all its processes."""
        self.kill()

    def fill_disk(self):
        """Fills the disk of the data up; returns how to make room again."""
        ballast = self.data / "ballast"
        # Without a buffer, because closing the file would try to write it again.
        with open(ballast, "wb", buffering=0) as file:
            block = bytes(1 << 16)
            try:
                while True:
                    file.write(block)
            except OSError:
                pass
        return ballast.unlink

    def close(self):
        super().close()
        subprocess.run(["umount", "-l", self.data], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


class Pair:
    """Two PostgreSQL servers: `url` names both. `primary` accepts writes; a commit waits until `standby`
    has it."""

    def __init__(self, network):
        self._network = network
        self.primary = Server(network)
        self.database = self.primary.create()
        self.standby = None
        self._used = [self.primary]
        self.ports = [self.primary.port]
        self.attach_standby()
        self.pooler = Pooler(network, self.primary)

    def attach_standby(self):
        """Makes a standby of the primary, on the port of the server that was lost if there is one, and lets
        commits wait for it from now on."""
        lost = next((port for port in self.ports if port != self.primary.port), None)
        self.standby = Server(self._network, source=self.primary, port=lost)
        self._used.append(self.standby)
        self.ports = [self.primary.port, self.standby.port]
        self.primary.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        self.primary.query("SELECT pg_reload_conf()")
        wait_until(self._is_synchronous, "the standby is synchronous")

    def _is_synchronous(self):
        rows = self.primary.query("SELECT sync_state FROM pg_stat_replication")
        return [["sync"]] == rows

    def url(self):
        first = self.primary.url_of(self.database.name)
        credentials, _, rest = first.partition("@")
        name = rest.partition("/")[2]
        servers = ",".join(f"{self._network.outside}:{port}" for port in self.ports)
        return f"{credentials}@{servers}/{name}"

    def pooled_url(self):
        return f"postgresql://{postgres.USER}@{self._network.outside}:{self.pooler.port}/{self.database.name}"

    @property
    def reached_ports(self):
        """The ports to which hosts connect."""
        return [*self.ports, self.pooler.port]

    def fail_over(self):
        """Kills the primary and promotes the standby, as an operator would. Commits wait for no standby
        until there is another one."""
        self.primary.disappear()
        promoted, self.primary, self.standby = self.standby, self.standby, None
        promoted.query("ALTER SYSTEM SET synchronous_standby_names = ''")
        promoted.query("SELECT pg_reload_conf()")
        promoted.query("SELECT pg_promote()")
        self.pooler.point_to(promoted)

    def query(self, sql):
        return self.primary.query(sql, self.database.name)

    def close(self):
        self.pooler.close()
        for server in self._used:
            server.close()


class Pooler:
    """PgBouncer in session mode."""

    def __init__(self, network, server):
        self._network = network
        self.port = free_port()
        self.folder = server.folder.with_name(f"{server.folder.name}-pooler")
        self.folder.mkdir()
        account = pwd.getpwnam(postgres.ACCOUNT)
        os.chown(self.folder, account.pw_uid, account.pw_gid)
        self._process = None
        self.point_to(server)

    def point_to(self, server):
        """Passes connections on to this server from now on."""
        self.stop()
        (self.folder / "ini").write_text(
            _POOLER.format(host=self._network.outside, port=server.port, user=postgres.USER,
                           password=postgres.PASSWORD, address=self._network.outside,
                           listen=self.port, folder=self.folder)
        )
        self.start()

    def start(self):
        self._process = subprocess.Popen(
            postgres.as_account("pgbouncer", self.folder / "ini"),
            cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )

    def stop(self):
        """kill -9."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
