"""A ledger outside of nginx: checks that everything acknowledged is stored exactly once and in
order, whichever processes were killed meanwhile."""

import threading

from . import environment
from .http1 import ConnectionClosed
from .messages import user
from .waiting import wait_until


class Writer(threading.Thread):
    """Appends numbered messages to its own thread, stores numbered memories, and records which of
    them were acknowledged."""

    def __init__(self, service, name):
        super().__init__(name=name)
        self._service = service
        self._stopping = threading.Event()
        self.messages = []
        self.memories = []
        self.refused = 0
        self.failure = None

    def run(self):
        try:
            self._write()
        except Exception as failure:  # a failure in a thread would otherwise go unnoticed
            self.failure = failure

    def _write(self):
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


def stored_messages(service, thread_id):
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


def stored_memories(service):
    found, cursor = [], None
    while True:
        reply = service.post("/v1/store/memories/list", {"limit": 1000, "cursor": cursor})
        assert reply.status == 200, reply.text
        data = reply.json()["data"]
        found += [memory["content"] for memory in data["memories"]]
        cursor = data["next_cursor"]
        if cursor is None:
            return found


def settle(service):
    """Waits until the service answers again; a state server that failed retries only after
    seconds."""
    wait_until(lambda: service.get("/v1/threads?limit=1").status == 200, "state is served")


def judge(service, writers):
    memories = stored_memories(service)
    assert len(memories) == len(set(memories)), "a memory is there twice"
    for writer in writers:
        assert writer.messages, "nothing was acknowledged"
        found = stored_messages(service, writer.name)
        assert len(found) == len(set(found)), "a message is there twice"
        missing = set(writer.messages) - set(found)
        assert not missing, f"acknowledged and gone: {sorted(missing)[:5]}"
        # An unacknowledged write may appear later or never, so its position is not checked.
        acknowledged = set(writer.messages)
        in_order = [message for message in found if message in acknowledged]
        assert in_order == writer.messages, "messages are out of order"
        missing = set(writer.memories) - set(memories)
        assert not missing, f"acknowledged and gone: {sorted(missing)[:5]}"


def run_writers(service, count, faults):
    writers = [Writer(service, f"ledger{number}") for number in range(count)]
    for writer in writers:
        writer.start()
    try:
        # The faults begin when every writer has been answered once.
        wait_until(lambda: all(writer.messages for writer in writers), "writers are at work")
        faults(writers)
    finally:
        for writer in writers:
            writer.stop()
        for writer in writers:
            writer.join(environment.PATIENCE)
        # A writer's failure is raised first, because it may be the cause of others.
        for writer in writers:
            if writer.failure is not None:
                raise writer.failure
            assert not writer.is_alive(), f"{writer.name} has not ended"
    return writers


def progress(writers):
    """Waits until every writer has had one more acknowledgement."""
    before = [len(writer.messages) for writer in writers]
    wait_until(
        lambda: all(len(writer.messages) > count for writer, count in zip(writers, before)),
        "writers are answered again",
    )


def await_rows(writers):
    """Waits for enough rows that each kind has its own block: one block has some 40 memories or 17
    messages, and the first and the last block of a kind may be shared with another kind."""

    def enough(writer):
        return len(writer.messages) >= 80 and len(writer.memories) >= 40

    wait_until(lambda: all(enough(writer) for writer in writers), "there are rows", 60)


def restored(service, writers, before):
    """Checks that the restored state is that of one moment, after `before` (a copy of what was stored
    then) and before the end of the writers. Yields the messages and the memories of each writer."""
    settle(service)
    messages_before, memories_before = before
    memories = stored_memories(service)
    assert len(memories) == len(set(memories)), "a memory is there twice"
    for writer in writers:
        found = stored_messages(service, writer.name)
        assert len(found) == len(set(found)), "a message is there twice"
        assert found[: len(messages_before[writer.name])] == messages_before[writer.name]
        assert len(found) < len(writer.messages), "it is younger than the backup"
        # The state of one moment contains the beginning of each sequence of writes.
        assert found == writer.messages[: len(found)]
        of_writer = [memory for memory in writer.memories if memory in set(memories)]
        assert of_writer == writer.memories[: len(of_writer)]
        assert len(of_writer) >= len(memories_before[writer.name])
        assert set(of_writer) <= set(found)
        yield found, of_writer
