"""A backup that is made while clients write is a consistent snapshot of one moment."""

import itertools
import secrets

import pytest

from harness.admin import admin
from harness.agents import behaviour
from harness.ledger import progress, restored, run_writers, stored_messages
from harness.messages import user
from harness.waiting import wait_until

pytestmark = pytest.mark.leveldb("copies of its files")

_SETTINGS = behaviour("echo", store="leveldb", embedding="hash")
_WRITERS = 4


def _acknowledged(writers):
    """Reads memories first: a writer that has stored one had stored its earlier messages before."""
    memories = {writer.name: list(writer.memories) for writer in writers}
    return {writer.name: list(writer.messages) for writer in writers}, memories


def test_a_backup_under_load_is_one_moment(start_service):
    service = start_service(_SETTINGS, workers=2)
    state = service.directory / "state" / "test"
    for _ in range(40):  # enough data to make the copy slow
        body = {"messages": [user(secrets.token_hex(250_000))]}
        assert service.post("/v1/threads/large/messages", body).status == 200
    taken = []

    def back_up(writers):
        attempts = itertools.count()

        def made_amid_writes():
            progress(writers)
            name, before = f"b{next(attempts)}", _acknowledged(writers)
            admin("backup", state, name)
            after = _acknowledged(writers)
            taken[:] = [name, before]
            return any(len(after[0][writer]) > len(before[0][writer]) for writer in before[0])

        wait_until(made_amid_writes, "a run writes while a backup is made")
        progress(writers)

    writers = run_writers(service, _WRITERS, back_up)
    service.stop()
    service.wait_until_gone()
    name, before = taken
    admin("restore", state, name)
    told = admin("verify", state)
    assert f"{_WRITERS + 1} threads" in told and "0 problems" in told
    service.start()
    for found, of_writer in restored(service, writers, before):
        assert set(found[2:-1:3]) <= set(of_writer)
    # Threads can be continued from there.
    for writer in writers:
        reply = service.post(f"/v1/threads/{writer.name}/messages", {"messages": [user("x", message_id="x")]})
        assert reply.status == 200 and stored_messages(service, writer.name)[-1] == "x"
