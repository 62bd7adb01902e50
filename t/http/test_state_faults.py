"""Faults of the state server and its clients, checked by a ledger outside of nginx: everything
acknowledged is stored exactly once and in order, whichever processes were killed meanwhile."""

import os
import random
import subprocess

import pytest

from harness.admin import admin
from harness.agents import behaviour
from harness.ledger import judge, progress, run_writers, settle
from harness.leveldb_files import record_bytes
from harness.messages import user
from harness.waiting import wait_until

_SETTINGS = behaviour("echo", store="leveldb", embedding="hash")


def test_a_storm_of_kills_loses_nothing(start_service):
    service = start_service(_SETTINGS, workers=4)
    service.error_log.allow(r"exited on signal 9")
    chance = random.Random(4711)

    def storm(writers):
        for _ in range(8):
            victims = service.cache_managers() if chance.random() < 0.5 else service.workers()
            if victims:
                service.kill(chance.choice(victims).pid)
            progress(writers)
        # The state server and a worker at the same time, followed by a reload.
        for victim in service.cache_managers() + service.workers()[:1]:
            service.kill(victim.pid)
        service.reload()  # the test must not end during the reload
        progress(writers)

    writers = run_writers(service, 6, storm)
    settle(service)
    judge(service, writers)


def test_killed_as_a_whole_and_started_again(start_service):
    service = start_service(_SETTINGS)
    service.error_log.allow(r"exited on signal 9")

    def end(writers):
        progress(writers)
        service.kill_all()

    writers = run_writers(service, 4, end)
    service.start()
    settle(service)
    judge(service, writers)


@pytest.mark.leveldb("its log")
def test_a_torn_end_of_the_log_is_repaired(start_service):
    """A power failure during a write: the file has its new length, but ends with zeros."""
    service = start_service(_SETTINGS)
    service.error_log.allow(r"is not available")
    logs = service.directory.glob("state/test/db/*.log")
    acknowledged = [f"m{number}" for number in range(20)]
    for message_id in acknowledged:
        body = {"messages": [user(message_id, message_id=message_id)]}
        assert service.post("/v1/threads/t/messages", body).status == 200
    (log,) = logs
    synced = len(record_bytes(log))
    service.post("/v1/threads/t/messages", {"messages": [user("x" * 5000, message_id="torn")]})
    service.kill_all()
    size = len(record_bytes(log))
    with log.open("r+b") as file:
        file.seek(synced + 2000)
        file.write(bytes(size - synced - 2000))
    service.start()
    assert service.get("/v1/threads/t/messages").status == 503
    service.wait_for_log("agent-graph-admin repair")
    service.stop()
    service.wait_until_gone()
    assert "0 problems" in admin("repair", service.directory / "state" / "test")
    service.start()
    page = service.get("/v1/threads/t/messages").json()["data"]
    assert [message["message_id"] for message in page["messages"]] == acknowledged


def _limit_files(pid, size):
    """Limits the size of files that this process writes. Only its own user may set that."""
    owner = os.stat(f"/proc/{pid}")
    subprocess.run(
        ["prlimit", f"--pid={pid}", f"--fsize={size}:unlimited"],
        user=owner.st_uid, group=owner.st_gid, extra_groups=[], check=True,
    )


@pytest.mark.leveldb("the disk of its files")
def test_a_full_disk_is_503_and_passes_when_there_is_room(start_service):
    service = start_service(_SETTINGS)
    service.error_log.allow(r"is not available")

    def fill_up(writers):
        owner = service.cache_manager()
        # LevelDB's log exceeds the new limit; a full disk would differ only in errno. nginx's own
        # logs stay below the limit.
        for _ in range(3):
            service.post("/v1/threads/large/messages", {"messages": [user("x" * 900_000)]})
        _limit_files(owner.pid, 1 << 20)
        wait_until(lambda: all(writer.refused for writer in writers), "writes are refused")
        reply = service.post("/v1/threads/ledger0/messages", {"messages": [user("x")]})
        if reply.status != 200:
            assert reply.status == 503 and reply.header("Retry-After")
            assert reply.json()["error"]["code"] == "SERVICE_UNAVAILABLE"
        assert service.get("/ping").status == 200
        _limit_files(owner.pid, "unlimited")
        progress(writers)

    writers = run_writers(service, 4, fill_up)
    settle(service)
    judge(service, writers)
