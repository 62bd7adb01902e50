"""The PostgreSQL of the tests leaves nothing behind, however they end."""

import pathlib
import signal
import subprocess
import sys

from harness import environment, postgres
from harness.waiting import wait_until

_START = """
import sys
sys.path.insert(0, sys.argv[1])
from harness import postgres
server = postgres.PostgresServer()
print(server.folder, server.postmaster, flush=True)
sys.stdin.read()
"""


def test_killed_tests_leave_no_server():
    harness = environment.ROOT / "t" / "http"
    tests = subprocess.Popen(
        [sys.executable, "-c", _START, harness], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    folder, postmaster = tests.stdout.readline().split()
    assert pathlib.Path(folder).is_dir()
    tests.send_signal(signal.SIGKILL)
    tests.communicate()
    wait_until(lambda: not pathlib.Path(folder).exists(), "the folder has gone")
    assert not pathlib.Path(f"/proc/{postmaster}").exists()


def test_a_killed_server_keeps_what_it_has_committed(postgres_server):
    database = postgres_server.create_empty()
    database.query("CREATE TABLE kept AS SELECT 42 AS value")
    postgres_server.kill()
    assert not postgres_server.answers()
    postgres_server.start()
    assert database.value("SELECT value FROM kept") == "42"


def test_the_password_needs_encoding(database):
    assert postgres.PASSWORD not in database.url
    assert "@" in postgres.PASSWORD and "/" in postgres.PASSWORD
