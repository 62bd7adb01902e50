"""agent-graph-admin with a database: migrate, verify, and the import of a state from LevelDB."""

import pytest

from harness.admin import admin, state_of
from harness.agents import asking, behaviour
from harness.memories import store_memory
from harness.messages import text_of, user
from harness.postgres import patient
from harness.run_stream import wait_for_result
from harness.service import invocation
from harness.uploads import uploaded
from harness.waiting import wait_until

_STORE = behaviour("echo", embedding="hash")


def _stop(service):
    service.stop()
    service.wait_until_gone()


def _messages(service, thread_id):
    reply = service.get(f"/v1/threads/{thread_id}/messages?limit=100")
    assert reply.status == 200, reply.text
    return reply.json()["data"]["messages"]


def test_migrate(empty_database):
    steps = admin("migrate", empty_database.url)
    assert steps.splitlines()[0].startswith("step 1: ")
    assert admin("migrate", empty_database.url) == "the tables are up to date\n"
    assert "0 threads, 0 memories, 0 problems" in admin("verify", empty_database.url)


_BACK_UP = "the state is in PostgreSQL: back the database up with its own tools, such as pg_dump"
_RESTORE = "then run agent-graph-admin after-restore SERVICE.JSON"
_REPAIR = "PostgreSQL repairs itself after a crash"


def test_commands_for_leveldb_name_the_tools_of_postgresql(start_service, database):
    service = start_service(_STORE | {"checkpointer": {"type": "postgres", "url": database.url}})
    assert service.invoke("hello").status == 200
    directory, file = state_of(service), service.directory / "conf" / "service.json"
    for place in (directory, file, database.url):
        assert _BACK_UP in admin("backup", place, "b", code=1)
        refused = admin("repair", place, code=1)
        assert _REPAIR in refused and database.url not in refused
    assert "0 problems" in admin("verify", directory)
    _stop(service)
    for place in (file, database.url):
        assert _RESTORE in admin("restore", place, "b", code=1)
    assert _BACK_UP in admin("backup", directory, "b", code=1)
    assert _REPAIR in admin("repair", directory, code=1)
    assert "run agent-graph-admin verify SERVICE.JSON" in admin("verify", directory, code=1)


def test_a_table_that_is_missing(database):
    database.query("DROP TABLE agent_graph.log")
    for command in ("migrate", "verify"):
        line = admin(command, database.url, code=1)
        assert "the database lacks agent_graph.log, although its tables have version " in line
        assert "restore the database from a backup" in line
        assert len(line.splitlines()) == 1


def test_commands_find_the_database_in_service_json(make_service, empty_database):
    service = make_service(
        _STORE | {"checkpointer": {"type": "postgres", "url": empty_database.url}}
    )
    file = service.directory / "conf" / "service.json"
    admin("migrate", file)
    assert "0 problems" in admin("verify", file)


def test_a_database_without_tables(empty_database):
    refused = admin("verify", empty_database.url, code=1)
    assert "run agent-graph-admin migrate" in refused


@pytest.mark.parametrize("url, words", [
    ("postgresql://agent:s3cret@127.0.0.1:1/x", ["127.0.0.1", "refused"]),
    ("postgresql://agent:s3cret@127.0.0.1:{port}/postgres", ["password authentication failed"]),
    ("postgresql://agent:s3cret@127.0.0.1:99999/x", ["port"]),
])
def test_databases_that_cannot_be_reached(empty_database, url, words):
    refused = admin("migrate", patient(url.format(port=empty_database.server.port)), code=1)
    assert len(refused.splitlines()) == 1
    for word in words:
        assert word in refused
    assert "s3cret" not in refused


def test_verify_finds_what_is_missing(start_hosts, database):
    hosts = start_hosts(_STORE | {"store": "postgres"})
    assert hosts[0].invoke("hello", config={"thread_id": "t"}).status == 200
    uploaded(hosts[0], b"x" * 600_000)
    store_memory(hosts[1], "tea")
    assert "1 threads, 1 memories, 0 problems" in admin("verify", database.url)
    database.query("DELETE FROM agent_graph.file_chunk WHERE n = 1")
    database.query("DELETE FROM agent_graph.message")
    found = admin("verify", database.url, code=1)
    assert "chunks are missing" in found and " 0 problems" not in found


def test_import_of_a_state(database, start_service, start_hosts):
    before = start_service(_STORE | {"checkpointer": "leveldb", "store": "leveldb"})
    for number in range(30):
        config = {"thread_id": f"t{number}"}
        assert before.invoke(f"hello {number}", config=config).status == 200
    reply = before.post(
        "/v1/threads/t3/messages", {"messages": [user("and", message_id="m")]}
    )
    assert reply.status == 200, reply.text
    for text in ("tea", "coffee"):
        store_memory(before, text)
    file = uploaded(before, b"x" * 600_000)["file_id"]
    messages = {f"t{number}": _messages(before, f"t{number}") for number in range(30)}
    assert "in use" in admin("import", "--from", "leveldb", state_of(before), database.url, code=1)
    _stop(before)

    counts = admin("import", "--from", "leveldb", state_of(before), database.url)
    assert "30 threads\n" in counts and "2 memories\n" in counts and "1 files\n" in counts
    assert "30 threads, 2 memories, 0 problems" in admin("verify", database.url)
    for same in (state_of(before), f"{state_of(before)}/"):
        assert "were imported before" in admin("import", "--from", "leveldb", same, database.url)
    # Another state is not mixed with it.
    other = start_service(_STORE | {"checkpointer": "leveldb"})
    assert other.invoke("x").status == 200
    _stop(other)
    refused = admin("import", "--from", "leveldb", state_of(other), database.url, code=1)
    assert "is not empty" in refused

    hosts = start_hosts(_STORE | {"store": "postgres"})
    for host in hosts:
        assert {thread: _messages(host, thread) for thread in messages} == messages
        listed = host.get("/v1/threads?limit=100").json()["data"]["threads"]
        assert {thread["thread_id"] for thread in listed} == set(messages)
        assert host.get(f"/v1/files/{file}").body == b"x" * 600_000
        found = host.post("/v1/store/search", {"query": "tea"}).json()["data"]["results"]
        assert found[0]["content"] == "tea"
    # The threads go on, and new ones get numbers of their own.
    assert hosts[0].invoke("more", config={"thread_id": "t3"}).status == 200
    assert hosts[1].invoke("new", config={"thread_id": "new"}).status == 200
    asked = [text_of(one) for one in _messages(hosts[1], "t3") if one["role"] == "user"]
    assert asked == ["hello 3", "and", "more"]
    assert "31 threads, 2 memories, 0 problems" in admin("verify", database.url)


def _state_with_threads(start_service, count):
    service = start_service(_STORE | {"checkpointer": "leveldb"})
    for number in range(count):
        assert service.invoke("hello", config={"thread_id": f"t{number}"}).status == 200
    return service


def test_a_state_that_has_changed_since_its_import(database, start_service):
    service = _state_with_threads(start_service, 2)
    _stop(service)
    admin("import", "--from", "leveldb", state_of(service), database.url)
    service.start()
    assert service.invoke("more", config={"thread_id": "t1"}).status == 200
    _stop(service)
    refused = admin("import", "--from", "leveldb", state_of(service), database.url, code=1)
    assert "is not what it was when its import began" in refused


def test_another_state_at_the_path_of_an_import(database, start_service, directory):
    first, second = (_state_with_threads(start_service, 1) for _ in range(2))
    for service in (first, second):
        _stop(service)
    admin("import", "--from", "leveldb", state_of(first), database.url)
    state_of(first).rename(directory / "first")
    state_of(second).rename(state_of(first))
    refused = admin("import", "--from", "leveldb", state_of(first), database.url, code=1)
    assert "is not what it was when its import began" in refused


def test_an_import_of_an_earlier_version(database, start_service):
    """It has stored no digest of the rows."""
    service = _state_with_threads(start_service, 1)
    uploaded(service, b"x")
    _stop(service)
    command = ("import", "--from", "leveldb", state_of(service), database.url)
    admin(*command)
    database.query("UPDATE agent_graph.import SET digest = ''; DELETE FROM agent_graph.file")
    assert "the rows were imported before\n1 files\n" in admin(*command)
    assert int(database.value("SELECT count(*) FROM agent_graph.file")) == 1
    database.query("UPDATE agent_graph.import SET complete = false")
    assert "an earlier version began this import" in admin(*command, code=1)


def test_hosts_wait_for_an_import(database, start_service, make_service):
    before = _state_with_threads(start_service, 3)
    _stop(before)
    source = state_of(before)
    admin("import", "--from", "leveldb", source, database.url)
    # As an import leaves it that was interrupted.
    database.query("UPDATE agent_graph.import SET complete = false")
    host = make_service(_STORE | {"checkpointer": {"type": "postgres", "url": database.url}})
    host.error_log.allow(r"\[crit\].* is not available")
    host.start()
    line = wait_until(lambda: host.error_log.lines("is not available"), "the reason is logged")[0]
    assert f"the import of {source} into the database is not complete" in line
    admin("import", "--from", "leveldb", source, database.url)
    wait_until(lambda: host.get("/ready").status == 200, "the host uses the database")
    assert host.invoke("new").status == 200
    assert "4 threads, 0 memories, 0 problems" in admin("verify", database.url)
    refused = admin("import", "--from", "leveldb", source, database.url, code=1)
    assert "stop all hosts first" in refused


def test_runs_in_flight_are_imported_and_continue(database, start_service, start_hosts, provider):
    before = start_service(asking(provider) | {"checkpointer": "leveldb"})
    before.error_log.allow(r"exited on signal")
    for number in range(3):
        config = {"thread_id": f"t{number}", "run_id": "r"}
        assert before.post("/v1/graph/runs", invocation("go", config=config)).status == 202
    provider.wait_for_waiting(3)
    before.kill_all()
    admin("import", "--from", "leveldb", state_of(before), database.url)
    provider.open_gate()
    hosts = start_hosts(asking(provider))
    for number in range(3):
        reply = wait_for_result(hosts[1], f"t{number}")
        assert reply.status == 200, reply.text
        assert text_of(reply.json()["data"]["messages"][-1]) == provider.text
