"""A backup that is made while clients write is the state at one moment: whole, and not a row more."""

import secrets
import subprocess

import pytest

from harness import environment
from harness.agents import behaviour
from harness.ledger import progress, run_writers, settle, stored_memories, stored_messages
from harness.messages import user

_SETTINGS = behaviour("echo", store="leveldb", embedding="hash")
_WRITERS = 4
_ATTEMPTS = 10  # until somebody wrote in the middle of one

pytestmark = pytest.mark.timeout(600)


def _admin(*arguments):
    command = [environment.BUILD / "agent-graph-admin", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout


def _acknowledged(writers):
    """Memories first: whoever stored one had stored the messages before it."""
    memories = {writer.name: list(writer.memories) for writer in writers}
    return {writer.name: list(writer.messages) for writer in writers}, memories


def test_a_backup_under_load_is_one_moment(start_service):
    service = start_service(_SETTINGS, workers=2)
    state = service.directory / "state" / "test"
    for _ in range(40):  # what takes its time to be copied
        body = {"messages": [user(secrets.token_hex(250_000))]}
        assert service.post("/v1/threads/large/messages", body).status == 200
    taken = []

    def back_up(writers):
        for attempt in range(_ATTEMPTS):
            progress(writers)
            before = _acknowledged(writers)
            _admin("backup", state, f"b{attempt}")
            after = _acknowledged(writers)
            taken[:] = [f"b{attempt}", before]
            if all(len(after[0][name]) > len(before[0][name]) for name in before[0]):
                break
        else:
            raise AssertionError("nobody wrote while a backup was made")
        progress(writers)

    writers = run_writers(service, _WRITERS, back_up)
    service.stop()
    service.wait_until_gone()
    name, (messages_before, memories_before) = taken
    _admin("restore", state, name)
    told = _admin("verify", state)
    assert f"{_WRITERS + 1} threads" in told and "0 problems" in told
    service.start()
    settle(service)
    memories = stored_memories(service)
    assert len(memories) == len(set(memories)), "a memory is there twice"
    for writer in writers:
        found = stored_messages(service, writer.name)
        assert len(found) == len(set(found)), "a message is there twice"
        assert found[: len(messages_before[writer.name])] == messages_before[writer.name]
        assert len(found) < len(writer.messages), "it is younger than the backup"
        # Of one moment: of all that was written one after the other there is the beginning.
        assert found == writer.messages[: len(found)]
        of_writer = [memory for memory in writer.memories if memory in set(memories)]
        assert of_writer == writer.memories[: len(of_writer)]
        assert len(of_writer) >= len(memories_before[writer.name])
        assert set(of_writer) <= set(found) and set(found[2:-1:3]) <= set(of_writer)
    # And it goes on where it stands.
    for writer in writers:
        reply = service.post(f"/v1/threads/{writer.name}/messages", {"messages": [user("x", message_id="x")]})
        assert reply.status == 200 and stored_messages(service, writer.name)[-1] == "x"
