"""agent-graph-admin repairs the state of a real nginx."""

import os
import re
import secrets
import shutil

import pytest

from harness.admin import admin, memory_texts, run_on, state_of, thread_ids
from harness.agents import behaviour
from harness.memories import store_memory
from harness.messages import texts

pytestmark = pytest.mark.leveldb("the folder of its database")

_SETTINGS = behaviour("echo", store="leveldb", embedding="hash")


def test_repair(start_service):
    service = start_service(_SETTINGS)
    for number in range(20):
        run_on(service, f"t{number}", "hello")
        store_memory(service, f"memory {number}")
    service.stop()
    service.wait_until_gone()
    database = state_of(service) / "db"
    for file in [*database.glob("MANIFEST-*"), database / "CURRENT"]:
        file.write_bytes(b"damaged")
    admin("verify", state_of(service), code=1)
    assert "0 problems" in admin("repair", state_of(service))
    service.start()
    assert thread_ids(service) == {f"t{number}" for number in range(20)}
    assert memory_texts(service) == {f"memory {number}" for number in range(20)}
    assert run_on(service, "t3", "again")[0] == "hello"


def _messages(service, thread_id):
    return texts(service.get(f"/v1/threads/{thread_id}/messages").json()["data"]["messages"])


def _table(service):
    """Returns the only table of a stopped service, whose log becomes a table at the next start."""
    service.start()
    service.stop()
    service.wait_until_gone()
    (table,) = (state_of(service) / "db").glob("*.ldb")
    return table


def _damage(file, place):
    data = bytearray(file.read_bytes())
    data[place] ^= 0xff
    file.write_bytes(data)


def test_what_a_damaged_table_has_lost_is_made_anew(start_service):
    service = start_service(_SETTINGS)
    # Enough that a block of the table has counters and no rows of threads.
    threads = [f"t{number}" for number in range(300)]
    for thread_id in threads:
        run_on(service, thread_id, "hello")
    service.stop()
    service.wait_until_gone()
    table = _table(service)
    # The last place where the table contains the full key of a thread's counters: the sizes of the key
    # (19 bytes) and of the value (13 bytes; those of the table's index are shorter), then the begin of the
    # key. The number behind it may be compressed.
    (*_, counters) = re.finditer(rb"\x13\x0d\x11\x00\x01", table.read_bytes())
    _damage(table, counters.start() + 2)
    assert "DATA_LOSS" in admin("verify", state_of(service), code=1)
    assert "300 threads, 0 memories, 0 problems" in admin("repair", state_of(service))
    service.start()
    for thread_id in threads:
        assert _messages(service, thread_id) == ["hello", "echo: hello"]
        run_on(service, thread_id, "again")
        assert _messages(service, thread_id) == ["hello", "echo: hello", "again", "echo: again"]
        assert len(service.get(f"/v1/threads/{thread_id}/messages?limit=1&offset=3").json()["data"]["messages"]) == 1


def test_a_table_that_is_damaged_anywhere_can_be_repaired(start_service):
    service = start_service(_SETTINGS)
    for number in range(20):
        run_on(service, f"t{number}", secrets.token_hex(2000))
        store_memory(service, f"memory {number}")
    service.stop()
    service.wait_until_gone()
    table = _table(service)
    database, whole = table.parent, state_of(service) / "whole"
    shutil.copytree(database, whole)
    owner = state_of(service).stat()
    for step in range(24):
        shutil.rmtree(database)
        shutil.copytree(whole, database)
        for path in [database, *database.iterdir()]:
            os.chown(path, owner.st_uid, owner.st_gid)
        _damage(table, (table.stat().st_size - 1) * step // 23)
        assert "0 problems" in admin("repair", state_of(service))
    service.start()
    assert run_on(service, "t0", "again")[-1] == "echo: again"
