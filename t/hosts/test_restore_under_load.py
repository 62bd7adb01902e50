"""Backups of the database that are made while clients write to three hosts, and what comes of them."""

import shutil
import subprocess

import pytest

from harness import postgres
from harness.admin import admin
from harness.agents import behaviour
from harness.ledger import progress, restored, run_writers, stored_messages
from harness.messages import user
from harness.waiting import wait_until

_SETTINGS = behaviour("echo", store="postgres", embedding="hash")
_WRITERS = 6
_COUNT = 3


class ArchivedServer(postgres.PostgresServer):
    """Archives its write-ahead log."""

    def __init__(self):
        super().__init__(
            durable=True, archive_mode="on", wal_level="replica",
            archive_command='test ! -f "$FOLDER/archive/%f" && cp "%p" "$FOLDER/archive/%f"',
        )

    def _initialise(self):
        super()._initialise()
        self._folder_of_server("archive")

    def _folder_of_server(self, name):
        folder = self.folder / name
        folder.mkdir(0o700)
        shutil.chown(folder, postgres.ACCOUNT, postgres.ACCOUNT)
        return folder

    def back_up(self):
        """A physical backup, which is made while the server works."""
        backup = self._folder_of_server("backup")
        subprocess.run(
            postgres.as_account(
                postgres.programs() / "pg_basebackup", "-D", backup, "--no-sync", "-c", "fast", "-d",
                f"host={self.folder} port={self.port} user={postgres.USER}",
            ),
            cwd="/", check=True,
        )

    def mark(self, name):
        """Names this moment, and lets the archive reach it."""
        self.query(f"SELECT pg_create_restore_point('{name}')")
        self.query("SELECT pg_switch_wal()")

    def restore(self, name):
        """Replaces the data by the backup, and repeats the archived log up to the named moment."""
        self.kill()
        shutil.rmtree(self.data)
        (self.folder / "backup").rename(self.data)
        (self.data / "recovery.signal").touch()
        self._settings |= {
            "restore_command": 'cp "$FOLDER/archive/%f" "%p"',
            "recovery_target_name": name,
            "recovery_target_action": "promote",
            "archive_mode": "off",
        }
        self.start()
        wait_until(lambda: self.query("SELECT pg_is_in_recovery()") == [["f"]], "it accepts writes")


@pytest.fixture
def archived_server():
    server = ArchivedServer()
    yield server
    server.close()


@pytest.fixture
def database(archived_server):
    """The hosts use it; it is gone with its server."""
    return archived_server.create()


def _acknowledged(writers):
    """Reads memories first: a writer that has stored one had stored its earlier messages before."""
    memories = {writer.name: list(writer.memories) for writer in writers}
    return {writer.name: list(writer.messages) for writer in writers}, memories


def _kill_all(hosts):
    for number in range(_COUNT):
        hosts.kill(number)


def _check_moment(service, writers, before):
    """Checks the restored state, and that the service goes on from there."""
    for _ in restored(service, writers, before):
        continue
    for writer in writers:
        reply = service.post(f"/v1/threads/{writer.name}/messages", {"messages": [user("x", message_id="x")]})
        assert reply.status == 200 and stored_messages(service, writer.name)[-1] == "x"
        run = service.invoke("go on", config={"thread_id": writer.name})
        assert run.status == 200, run.text


def test_a_dump_is_one_moment(start_hosts, start_service, database):
    hosts = start_hosts(_SETTINGS, count=_COUNT)
    taken = []

    def dump(writers):
        progress(writers)
        before = _acknowledged(writers)
        taken.extend([database.copy(), before])
        progress(writers)

    writers = run_writers(hosts.balancer, _WRITERS, dump)
    copy, before = taken
    _kill_all(hosts)
    assert "0 problems" in admin("verify", database.url)
    assert f"{_COUNT} hosts of the backup are dead" in admin("after-restore", copy.url)
    assert "0 problems" in admin("verify", copy.url)
    service = start_service(_SETTINGS | {"checkpointer": {"type": "postgres", "url": copy.url}})
    _check_moment(service, writers, before)


def test_a_point_in_time_is_one_moment(start_hosts, start_service, archived_server, database):
    hosts = start_hosts(_SETTINGS, count=_COUNT)
    taken = []

    def back_up(writers):
        progress(writers)
        archived_server.back_up()
        progress(writers)
        taken.append(_acknowledged(writers))
        archived_server.mark("here")
        progress(writers)

    writers = run_writers(hosts.balancer, _WRITERS, back_up)
    for host in hosts:
        host.error_log.allow(r"state of .* is not available")
    _kill_all(hosts)
    archived_server.restore("here")
    assert f"{_COUNT} hosts of the backup are dead" in admin("after-restore", database.url)
    assert "0 problems" in admin("verify", database.url)
    service = start_service(_SETTINGS | {"checkpointer": {"type": "postgres", "url": database.url}})
    _check_moment(service, writers, taken[0])
