"""Damage to the state's files while clients write: torn log, deleted socket,
leftovers of killed state servers, another folder. The ledger of harness.ledger checks the
results."""

import os
import socket
import struct

import pytest

from harness import leveldb_files
from harness.admin import admin, state_of
from harness.agents import DEMO, behaviour
from harness.ledger import await_rows, judge, progress, run_writers, settle, stored_memories, stored_messages
from harness.leveldb_files import LOG_BLOCK, RECORD_HEAD
from harness.messages import texts, user
from harness.waiting import wait_until

_SETTINGS = behaviour("echo", store="leveldb", embedding="hash")
_WRITERS = 4
_THREAD, _MESSAGE, _MESSAGE_ID, _MEMORY = 0x10, 0x15, 0x16, 0x31  # first bytes of the keys

_SECTOR = 512
_WHOLE_RECORD = 1  # type of a log record that is contained in one block

pytestmark = [pytest.mark.timeout(600), pytest.mark.leveldb("its files")]


def _tear_end_of_log(service, fill):
    """Writes a record behind the last one that contains nothing acknowledged, and whose checksum is wrong.
    A power failure leaves zeros where it has not been written: whole sectors."""
    least = 2 * _SECTOR if fill == b"\0" else 1
    log = max(state_of(service).glob("db/*.log"), key=lambda path: path.name)
    with log.open("r+b") as file:
        file.seek(len(leveldb_files.record_bytes(log)))
        room = LOG_BLOCK - file.tell() % LOG_BLOCK
        if room < RECORD_HEAD + least:
            file.seek(room, os.SEEK_CUR)
            room = LOG_BLOCK
        length = min(room - RECORD_HEAD, 2000)
        file.write(struct.pack("<IHB", 0xABCD, length, 1) + fill * length)


def _repaired(service):
    """Starts with damaged state, expects a refusal, and starts again after the repair."""
    service.error_log.allow(r"is not available")
    told = len(service.error_log.lines("agent-graph-admin repair"))
    service.start()
    wait_until(
        lambda: len(service.error_log.lines("DATA_LOSS.*agent-graph-admin repair")) > told,
        "the way out is named",
    )
    for path in ("/v1/threads", "/v1/threads/ledger0/messages"):
        reply = service.get(path)
        assert reply.status == 503 and reply.json()["error"]["code"] == "SERVICE_UNAVAILABLE"
    assert service.get("/ping").status == 200
    service.stop()
    service.wait_until_gone()
    assert "0 problems" in admin("repair", state_of(service))
    service.start()


@pytest.mark.parametrize("fill", [b"\0", b"x"], ids=["unwritten", "damaged"])
def test_a_torn_log_costs_nothing_that_was_acknowledged(start_service, fill):
    service = start_service(_SETTINGS, workers=2)

    def tear(writers):
        service.kill_all()
        _tear_end_of_log(service, fill)
        if fill == b"x":
            _repaired(service)
            return progress(writers)
        service.start()
        progress(writers)
        assert list(state_of(service).glob("db/lost/*.log.cut"))
        return None

    writers = run_writers(service, _WRITERS, tear)
    settle(service)
    judge(service, writers)


def test_without_its_socket_the_state_is_served_again(start_service):
    """Connected clients continue at once; a new worker as soon as the state server has noticed."""
    service = start_service(_SETTINGS, workers=2)

    def remove(writers):
        for pattern in ("owner.sock", "owner.*.sock"):
            for path in state_of(service).glob(pattern):
                path.unlink(missing_ok=True)  # the state server may just have replaced it
            progress(writers)
            service.kill_worker()
            progress(writers)
            settle(service)

    writers = run_writers(service, _WRITERS, remove)
    settle(service)
    judge(service, writers)


def test_leftovers_of_killed_owners_are_in_nobodys_way(start_service):
    service = start_service(_SETTINGS, workers=2)
    state = state_of(service)

    def leave(writers):
        service.kill_all()
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(state / "owner.1000000.sock"))
        (state / "owner.17.sock").write_text("no socket at all")
        for name in ("owner.sock", "owner.sock.new"):
            (state / name).unlink(missing_ok=True)
            (state / name).symlink_to("owner.16.sock")
        service.start()
        progress(writers)

    writers = run_writers(service, _WRITERS, leave)
    settle(service)
    assert len(set(state.glob("owner.*.sock"))) == 1 and not (state / "owner.sock.new").is_symlink()
    assert (state / "owner.sock").is_socket()
    judge(service, writers)


def test_a_reload_to_another_folder_and_back(start_service):
    """Each message is only in the state directory of the workers that acknowledged it."""
    service = start_service(_SETTINGS, workers=2)
    shipped = service.configuration

    def move(writers):
        for _ in range(2):
            service.configure(shipped.replace("state=state/test", "state=state/other"))
            service.reload()
            progress(writers)
            service.configure(shipped)
            service.reload()
            progress(writers)

    writers = run_writers(service, _WRITERS, move)
    settle(service)
    first = {writer.name: stored_messages(service, writer.name) for writer in writers}
    memories = stored_memories(service)
    service.configure(shipped.replace("state=state/test", "state=state/other"))
    service.reload()
    settle(service)
    memories += stored_memories(service)
    assert len(memories) == len(set(memories)), "a memory is there twice"
    for writer in writers:
        second = stored_messages(service, writer.name)
        assert first[writer.name] and second
        both = first[writer.name] + second
        assert len(both) == len(set(both)), "a message is there twice"
        assert set(writer.messages) <= set(both) and set(writer.memories) <= set(memories)
        for found in (first[writer.name], second):
            here = set(found)
            acknowledged = [message for message in writer.messages if message in here]
            assert [m for m in found if m in set(acknowledged)] == acknowledged


@pytest.mark.parametrize("killed", [False, True])
def test_a_run_ends_in_the_folder_where_it_began(start_service, gated_provider, killed):
    """Also if the state server of that folder dies and is not replaced: its own worker takes
    over."""
    model = {"provider": "openai", "model": "m", "base_url": gated_provider.base_url, "api_key": "k"}
    service = start_service(DEMO | {"models": {"default": model}}, workers=1)
    shipped = service.configuration
    stream = service.stream("hello", config={"thread_id": "t"})
    assert stream.read_head().status == 200
    gated_provider.wait_for_waiting(1)
    (owner,) = service.cache_managers()
    service.configure(shipped.replace("state=state/test", "state=state/other"))
    service.reload()
    if killed:
        service.error_log.allow(r"exited on signal 9")
        service.kill(owner.pid)
        wait_until(lambda: service.error_log.lines("this worker serves the state as a fallback"), "a fallback")
    assert service.get("/v1/threads/t").status == 404
    gated_provider.open_gate()
    assert stream.ended_with_done()
    stream.close()
    wait_until(lambda: not service.draining_workers(), "the old worker has gone", 60)
    service.configure(shipped)
    service.reload()
    messages = service.get("/v1/threads/t/messages").json()["data"]["messages"]
    assert texts(messages) == ["hello", gated_provider.text]


@pytest.mark.parametrize("damage", ["length", "zeros", "cut"])
def test_a_damaged_record_in_the_last_block_of_the_log_is_no_end(start_service, damage):
    """LevelDB itself would treat it as a torn write and drop everything behind it."""
    service = start_service(_SETTINGS, workers=2)
    before = run_writers(service, _WRITERS, await_rows)
    service.kill_all()
    log = max(state_of(service).glob("db/*.log"), key=lambda path: path.name)
    records = leveldb_files.log_records(log)
    whole = [record for record in records if record.type == _WHOLE_RECORD]
    last_block = [record for record in whole
                  if record.offset // LOG_BLOCK == whole[-1].offset // LOG_BLOCK]
    record = last_block[-1 if damage == "cut" else 0]
    if damage == "length":
        leveldb_files.overwrite(log, record.offset + 4, b"\xff\x7f")
    elif damage == "zeros":
        leveldb_files.overwrite(log, record.offset, bytes(RECORD_HEAD))
    else:
        os.truncate(log, record.end - 1)
    # A record that lies in two blocks may follow the one that is cut.
    lost = records[records.index(record) :] if damage == "cut" else [record]
    content = b"".join(record.payload for record in lost)
    _repaired(service)
    settle(service)
    for writer in before:
        found = set(stored_messages(service, writer.name))
        missing = [name for name in writer.messages if name not in found]
        assert all(f'"{name}"'.encode() in content for name in missing), missing
    service.stop()
    service.wait_until_gone()
    assert "0 problems" in admin("verify", state_of(service))


class _Place:
    """A place in the largest of LevelDB's tables that can be damaged."""

    def __init__(self, service):
        self._file = max(state_of(service).glob("db/*.ldb"), key=lambda path: path.stat().st_size)
        self._blocks = leveldb_files.data_blocks(self._file)
        self.threads = set()  # writers whose messages cannot be read afterwards
        self.memories = False  # true if memories cannot be read afterwards

    def damage_index(self, writers):
        """Loses all rows of the table, including those that the state server itself needs."""
        offset, size = leveldb_files.index_block(self._file)
        leveldb_files.overwrite(self._file, offset + size // 2, b"\xff" * 8)
        self.threads = {writer.name for writer in writers}
        self.memories = True

    def damage_a_record(self, writers):
        """Damages the block with a thread's record. A table has all versions of a row, newest
        first."""
        block = next(block for block in self._blocks if any(key[0] == _THREAD for key in block.keys))
        self._damage(block)
        self.threads = {w.name for w in writers if any(w.name.encode() in key for key in block.keys)}
        assert 1 <= len(self.threads) < len(writers)

    def damage_messages(self, writers):
        """Damages a block in the middle of a thread's messages."""
        block = self._block_within_a_thread()
        self._damage(block)
        self._threads_of(block, writers)

    def damage_a_text(self, writers):
        """The same, but the block still decompresses: only its checksum is wrong."""
        block = self._block_within_a_thread()
        content = self._file.read_bytes()[block.offset : block.offset + block.size]
        at = content.index(b"ledger")
        leveldb_files.overwrite(self._file, block.offset + at, b"LEDGER")
        self._threads_of(block, writers)

    def damage_memories(self, writers):
        self._damage(self._block_of(_MEMORY))
        self.memories = True

    def _block_of(self, kind):
        blocks = [block for block in self._blocks if {key[0] for key in block.keys} == {kind}]
        assert blocks, "too few rows for a block that has no others"
        return blocks[len(blocks) // 2]

    def _block_within_a_thread(self):
        """Returns a block that has messages of one thread only, as have the blocks around it: a scan
        of another thread may read a block that begins or ends where its own messages do."""
        def thread_of(key):
            return key[:-8] if key[0] == _MESSAGE else None

        inner = [
            block for before, block, after in zip(self._blocks, self._blocks[1:], self._blocks[2:])
            if {thread_of(key) for key in (before.keys[-1], *block.keys, after.keys[0])}
            == {thread_of(block.keys[0])} and block.keys[0][0] == _MESSAGE
        ]
        assert inner, "too few messages for a block within a thread"
        return inner[len(inner) // 2]

    def _damage(self, block):
        leveldb_files.overwrite(self._file, block.offset + block.size // 2, b"\xff" * 32)

    def _threads_of(self, block, writers):
        # The key of a message contains a number for its thread; the key of a message id contains
        # both.
        numbers = {key[1:-8] for key in block.keys}
        for key in (key for block in self._blocks for key in block.keys if key[0] == _MESSAGE_ID):
            self.threads |= {
                writer.name for writer in writers
                if f"{writer.name}-".encode() in key and any(key[1:].startswith(n) for n in numbers)
            }
        assert len(self.threads) == 1


def _memories_can_be_read(service):
    reply = service.post("/v1/store/memories/list", {"limit": 1000})
    assert reply.status in (200, 500, 503), reply.text
    return reply.status == 200


def _whole_or_refused(service, writer):
    """Checks that the answer about a damaged state is correct. False: the request was refused."""
    reply = service.get(f"/v1/threads/{writer.name}/messages?limit=1000")
    if reply.status in (500, 503):
        return False
    assert reply.status == 200, reply.text
    found = [message["message_id"] for message in reply.json()["data"]["messages"]]
    acknowledged = set(writer.messages)
    assert [message for message in found if message in acknowledged] == writer.messages[:1000]
    return True


@pytest.mark.parametrize(
    "damage",
    [_Place.damage_index, _Place.damage_a_record, _Place.damage_messages, _Place.damage_a_text,
     _Place.damage_memories],
    ids=lambda damage: damage.__name__,
)
def test_a_damaged_table_costs_what_it_held_and_nothing_else(start_service, damage):
    service = start_service(_SETTINGS, workers=2)
    service.error_log.allow(r"is not available")
    # At the next start, the log becomes a table.
    before = run_writers(service, _WRITERS, await_rows)
    service.kill_all()
    service.start()
    settle(service)
    service.kill_all()
    place = _Place(service)
    damage(place, before)
    service.start()
    # Damage to rows that the state server itself needs is detected at once; damage to a thread when
    # that thread is read.
    refused = {writer.name for writer in before if not _whole_or_refused(service, writer)}
    assert refused == place.threads
    assert _memories_can_be_read(service) != place.memories
    wait_until(lambda: service.error_log.lines("DATA_LOSS: stored state cannot be read"), "it is told")
    service.stop()
    service.wait_until_gone()
    assert "DATA_LOSS" in admin("verify", state_of(service), code=1)
    assert "0 problems" in admin("repair", state_of(service))

    service.start()
    settle(service)
    kept = {writer.name: stored_messages(service, writer.name) for writer in before}
    for writer in before:
        acknowledged = set(writer.messages)
        found = [message for message in kept[writer.name] if message in acknowledged]
        assert found == [message for message in writer.messages if message in set(found)]
    # New writes continue after the remaining rows, in the same threads.
    for writer in before:
        fresh = [f"{writer.name}-after{number}" for number in range(20)]
        for name in fresh:
            body = {"messages": [user(name, message_id=name)]}
            assert service.post(f"/v1/threads/{writer.name}/messages", body).status == 200
        assert stored_messages(service, writer.name) == kept[writer.name] + fresh
        assert service.invoke("go on", config={"thread_id": writer.name}).status == 200
    memories = stored_memories(service)
    assert len(memories) == len(set(memories))
    service.stop()
    service.wait_until_gone()
    assert "0 problems" in admin("verify", state_of(service))
