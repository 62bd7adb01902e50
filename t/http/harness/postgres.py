"""A real PostgreSQL of its own: a new folder, a free port of 127.0.0.1, and nothing left after it,
even if the tests are killed."""

import os
import pathlib
import pwd
import re
import shutil
import subprocess
import tempfile
import urllib.parse

from . import environment, processes
from .admin import admin
from .ports import free_port
from .waiting import wait_until

# PostgreSQL refuses to run as root.
ACCOUNT = "postgres"
USER = "agent"
# No log line may contain it. It needs percent-encoding in a URL.
PASSWORD = "pa/ss@w0rd-of-the-tests"

# Waits for the end of its standard input, which also comes when the tests are killed. Then the server
# stops and its folder goes.
_SUPERVISOR = """
"$@" & server=$!
read -r _
kill -QUIT $server 2>/dev/null
wait $server
rm -rf "$FOLDER"
"""


def programs():
    """The folder with the programs of the newest installed PostgreSQL."""
    found = sorted(
        pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3])
    )
    assert found, "PostgreSQL is missing: cmake/install-packages.sh test"
    return found[-1].parent


def as_account(*command):
    """The command line that runs a program as PostgreSQL's user, and ends it with its parent."""
    if os.getuid() != 0:
        return ["setpriv", "--pdeathsig", "QUIT", *map(str, command)]
    return ["setpriv", "--reuid", ACCOUNT, "--regid", ACCOUNT, "--clear-groups", "--pdeathsig",
            "QUIT", *map(str, command)]


def patient(url):
    """The URL with a longer time for a connection than the two seconds of the service, which a loaded
    machine may exceed."""
    return f"{url}{'&' if '?' in url else '?'}connect_timeout={environment.PATIENCE}"


class Database:
    """One database of a server."""

    def __init__(self, server, name):
        self.server = server
        self.name = name

    @property
    def url(self):
        return patient(self.server.url_of(self.name))

    def query(self, sql):
        """Runs SQL as the server's superuser; returns the rows as lists of texts."""
        return self.server.query(sql, self.name)

    def value(self, sql):
        return self.query(sql)[0][0]

    def copy(self):
        """A new database with the content of this one, as a restore from a backup makes it."""
        made = self.server.create_empty()
        made.query(self.server.dump(self.name))
        return made

    def drop(self):
        if self.server.answers():
            self.server.query(f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE)")


class PostgresServer:
    """`durable`: with fsync, for tests that kill the server. `port`: that of an earlier one. `options` are
    further settings."""

    def __init__(self, *, durable=False, port=None, **options):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="agent-graph-server-"))
        self.data = self.folder / "data"
        self.port = port or free_port()
        self._databases = 0
        self._template = None
        self._process = None
        self._frozen = []
        self._environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        self._settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": self.folder,
            "max_connections": 200,
            "logging_collector": "off",
            "log_line_prefix": "%m [%p] %q%u@%d ",
            "timezone": "UTC",
        } | options
        if not durable:
            self._settings |= {"fsync": "off", "full_page_writes": "off"}
        self._initialise()
        self.start()

    def _initialise(self):
        password = self.folder / "password"
        password.write_text(PASSWORD)
        if os.getuid() == 0:
            account = pwd.getpwnam(ACCOUNT)
            os.chown(self.folder, account.pw_uid, account.pw_gid)
            os.chown(password, account.pw_uid, account.pw_gid)
        # Workers of nginx run as another user and may need the socket.
        self.folder.chmod(0o755)
        subprocess.run(
            as_account(
                programs() / "initdb", "--pgdata", self.data, "--locale=C.UTF-8", "--encoding=UTF8",
                "--username", USER, "--pwfile", password, "--auth-host=scram-sha-256",
                "--auth-local=trust", "--no-sync",
            ),
            env=self._environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
        )

    def start(self):
        settings = [text for name, value in self._settings.items() for text in ("-c", f"{name}={value}")]
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _SUPERVISOR, "supervisor",
                 *as_account(programs() / "postgres", "-D", self.data, *settings)],
                env=self._environment | {"FOLDER": str(self.folder)},
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_until(self.answers, "PostgreSQL answers")
        return self

    def close(self):
        """Stops the server and removes its folder. A test that failed may have left it frozen, and then it would
        never stop."""
        self.thaw()
        self._process.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    # Connections

    def url_of(self, database, port=None):
        """The URL that service.json names; `port`: that of a proxy in front of the server."""
        password = urllib.parse.quote(PASSWORD, safe="")
        return f"postgresql://{USER}:{password}@127.0.0.1:{port or self.port}/{database}"

    def _psql(self, sql, database):
        return subprocess.run(
            [programs() / "psql", "-X", "-q", "-A", "-t", "-F", "\x1f", "-R", "\x1e", "-v",
             "ON_ERROR_STOP=1", "-h", self.folder, "-p", str(self.port), "-U", USER, "-d", database],
            input=sql,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def query(self, sql, database="postgres"):
        done = self._psql(sql, database)
        assert done.returncode == 0, done.stderr
        text = done.stdout.rstrip("\n")
        return [row.split("\x1f") for row in text.split("\x1e")] if text else []

    def dump(self, database):
        done = subprocess.run(
            [programs() / "pg_dump", "-h", self.folder, "-p", str(self.port), "-U", USER, database],
            env=self._environment, capture_output=True, text=True, check=True,
        )
        return done.stdout

    def answers(self):
        return self._psql("SELECT 1", "postgres").returncode == 0

    def create_empty(self, template="template0"):
        self._databases += 1
        name = f"test{self._databases}"
        self.query(f"CREATE DATABASE {name} TEMPLATE {template}")
        return Database(self, name)

    def create(self):
        """Creates a database with the tables of the service."""
        if self._template is None:
            self._template = self.create_empty()
            admin("migrate", self._template.url)
        return self.create_empty(self._template.name)

    # Faults

    @property
    def postmaster(self):
        return int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])

    def _freeze_all(self):
        """Freezes the postmaster and then its children, so that it cannot start one that is missed."""
        main = self.postmaster
        processes.freeze(main)
        running = [main, *processes.children(main)]
        for pid in running[1:]:
            processes.freeze(pid)
        return running

    def kill(self):
        """Kills all processes of the server (kill -9), as a loss of power would."""
        running = self._freeze_all()
        for pid in running:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        wait_until(lambda: not any(map(processes.is_alive, running)), "PostgreSQL has gone")
        # The supervisor would remove the folder.
        self._process.kill()
        self._process.wait()
        for lock in (self.data / "postmaster.pid", *self.folder.glob(".s.PGSQL.*")):
            lock.unlink(missing_ok=True)

    def freeze(self):
        """Stops all processes of the server: connections stay, and nothing is answered."""
        self._frozen = self._freeze_all()

    def thaw(self):
        """Lets a frozen server go on. Children first: the postmaster removes those that have ended."""
        while self._frozen:
            processes.thaw(self._frozen.pop())

    def log_lines(self, pattern=""):
        text = (self.folder / "log").read_text(errors="replace")
        return [line for line in text.splitlines() if re.search(pattern, line)]


class SharedServer:
    """The server that the tests of one run share; started when the first test needs it."""

    def __init__(self):
        self._server = None

    @property
    def server(self):
        if self._server is None:
            self._server = PostgresServer()
        return self._server

    def close(self):
        if self._server is not None:
            self._server.close()
            self._server = None


shared = SharedServer()
