"""Faults of the state owner and those who use it, judged by a ledger outside of nginx: what was
acknowledged is found afterwards exactly once and in order, whatever was killed meanwhile."""

import os
import random
import subprocess
import threading

import pytest

from harness.agents import behaviour, user
from harness.http1 import ConnectionClosed
from harness.waiting import wait_until

_SETTINGS = behaviour("echo", store="leveldb", embedding="hash")


class Writer(threading.Thread):
    """Appends numbered messages to a thread of its own and stores numbered memories, and notes
    which of them were acknowledged."""

    def __init__(self, service, name):
        super().__init__(name=name)
        self._service = service
        self._stopping = threading.Event()
        self.messages = []
        self.memories = []
        self.refused = 0

    def run(self):
        number = 0
        while not self._stopping.is_set():
            number += 1
            message_id = f"{self.name}-{number}"
            body = {"messages": [user(message_id, message_id=message_id)]}
            if self._sent(f"/v1/threads/{self.name}/messages", body):
                self.messages.append(message_id)
            if number % 3 == 0 and self._sent("/v1/store/memories", {"content": message_id}):
                self.memories.append(message_id)

    def _sent(self, path, body):
        try:
            reply = self._service.post(path, body)
        except (OSError, ConnectionClosed):
            return False
        assert reply.status in (200, 503), reply.text
        self.refused += reply.status == 503
        return reply.status == 200

    def stop(self):
        self._stopping.set()


def _stored_messages(service, thread_id):
    found, offset = [], 0
    while True:
        reply = service.get(f"/v1/threads/{thread_id}/messages?limit=1000&offset={offset}")
        if reply.status == 404:
            return found
        assert reply.status == 200, reply.text
        page = [message["message_id"] for message in reply.json()["data"]["messages"]]
        found += page
        offset += len(page)
        if len(page) < 1000:
            return found


def _stored_memories(service):
    found, cursor = [], None
    while True:
        reply = service.post("/v1/store/memories/list", {"limit": 1000, "cursor": cursor})
        assert reply.status == 200, reply.text
        data = reply.json()["data"]
        found += [memory["content"] for memory in data["memories"]]
        cursor = data["next_cursor"]
        if cursor is None:
            return found


def _settle(service):
    """Waits until the service answers again; an owner that failed tries again after seconds."""
    wait_until(lambda: service.get("/v1/threads?limit=1").status == 200, "state is served", 30)


def _judge(service, writers):
    memories = _stored_memories(service)
    assert len(memories) == len(set(memories)), "a memory is there twice"
    for writer in writers:
        assert writer.messages, "nothing was acknowledged"
        found = _stored_messages(service, writer.name)
        assert len(found) == len(set(found)), "a message is there twice"
        numbers = [int(message.rsplit("-", 1)[1]) for message in found]
        assert numbers == sorted(numbers), "messages are out of order"
        missing = set(writer.messages) - set(found)
        assert not missing, f"acknowledged and gone: {sorted(missing)[:5]}"
        missing = set(writer.memories) - set(memories)
        assert not missing, f"acknowledged and gone: {sorted(missing)[:5]}"


def _run_writers(service, count, faults):
    writers = [Writer(service, f"ledger{number}") for number in range(count)]
    for writer in writers:
        writer.start()
    try:
        # The storm begins when everybody has been answered once.
        wait_until(lambda: all(writer.messages for writer in writers), "writers are at work", 30)
        faults(writers)
    finally:
        for writer in writers:
            writer.stop()
        for writer in writers:
            writer.join(60)
    return writers


def _progress(writers):
    """Waits until every writer was acknowledged once more."""
    before = [len(writer.messages) for writer in writers]
    wait_until(
        lambda: all(len(writer.messages) > count for writer, count in zip(writers, before)),
        "writers are answered again",
        30,
    )


@pytest.mark.timeout(180)
def test_a_storm_of_kills_loses_nothing(start_service):
    service = start_service(_SETTINGS, workers=4)
    service.error_log.allow(r"exited on signal 9")
    chance = random.Random(4711)

    def storm(writers):
        for _ in range(8):
            victims = service.cache_managers() if chance.random() < 0.5 else service.workers()
            if victims:
                service.kill(chance.choice(victims).pid)
            _progress(writers)
        # Owner and a worker at once, and a reload on top.
        for victim in service.cache_managers() + service.workers()[:1]:
            service.kill(victim.pid)
        service.signal(1)
        _progress(writers)

    writers = _run_writers(service, 6, storm)
    _settle(service)
    _judge(service, writers)


@pytest.mark.timeout(120)
def test_killed_as_a_whole_and_started_again(start_service):
    service = start_service(_SETTINGS)
    service.error_log.allow(r"exited on signal 9")

    def end(writers):
        _progress(writers)
        # The master first: it would replace the others.
        for process in service.masters() + service.processes():
            os.kill(process.pid, 9)

    writers = _run_writers(service, 4, end)
    service.wait_until_gone()
    (service.directory / "logs" / "nginx.pid").unlink(missing_ok=True)
    service.start()
    _settle(service)
    _judge(service, writers)


def _limit_files(pid, size):
    """No file that this process writes may be larger from now on. Only its own user may say so."""
    owner = os.stat(f"/proc/{pid}")
    subprocess.run(
        ["prlimit", f"--pid={pid}", f"--fsize={size}:unlimited"],
        user=owner.st_uid, group=owner.st_gid, extra_groups=[], check=True,
    )


@pytest.mark.timeout(120)
def test_a_full_disk_is_503_and_passes_when_there_is_room(start_service):
    service = start_service(_SETTINGS)
    service.error_log.allow(r"is not available")

    def fill_up(writers):
        (owner,) = service.cache_managers()
        # LevelDB's log is longer than a file may be from now on: what a full disk answers is
        # another errno only. nginx's own logs stay below the limit.
        for _ in range(3):
            service.post("/v1/threads/large/messages", {"messages": [user("x" * 900_000)]})
        _limit_files(owner.pid, 1 << 20)
        wait_until(lambda: all(writer.refused for writer in writers), "writes are refused", 30)
        reply = service.post("/v1/threads/ledger0/messages", {"messages": [user("x")]})
        if reply.status != 200:
            assert reply.status == 503 and reply.header("Retry-After")
            assert reply.json()["error"]["code"] == "SERVICE_UNAVAILABLE"
        assert service.get("/ping").status == 200
        _limit_files(owner.pid, "unlimited")
        _progress(writers)

    writers = _run_writers(service, 4, fill_up)
    _settle(service)
    _judge(service, writers)
