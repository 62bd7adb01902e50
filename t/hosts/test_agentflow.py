"""agent-graph-admin import --from agentflow: a database that the real AgentFlow server has written
(agentflow/make_dump.py) goes on in PostgreSQL and in LevelDB."""

import base64
import json
import pathlib
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.admin import admin, state_of
from harness.agents import behaviour
from harness.messages import text_of
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.waiting import wait_until

_DUMP = pathlib.Path(__file__).resolve().parent / "agentflow" / "dump.sql"
_OWNERS = {"trip": "alice", "picture": "alice", "file": "alice", "paused": "bob",
           "unicode/ö 漢 ✓": "bob", "long": "bob"}
_SETTINGS = behaviour("echo", auth="jwt", authorization="ownership", env="env")


@pytest.fixture
def source(empty_database):
    """A database with the tables of AgentFlow."""
    other = empty_database.server.create_empty()
    other.query(_DUMP.read_text())
    yield other
    other.drop()


def _import(source, target, code=0):
    return admin("import", "--from", "agentflow", source.url, target, code=code)


def _read(service, path, user):
    reply = service.get(path, headers=bearer(user))
    assert reply.status == 200, reply.text
    return reply.json()["data"]


def _messages(service, thread_id, user):
    return _read(service, f"/v1/threads/{thread_id}/messages?limit=100", user)["messages"]


def _stored(source, thread_id):
    """Ids and contents of a thread's messages, as AgentFlow has stored them."""
    return source.query(
        f"SELECT message_id, role, content FROM messages WHERE thread_id = '{thread_id}' "
        "ORDER BY created_at, ctid"
    )


def _check(service, source):
    """The service serves what AgentFlow has written, to its owners only."""
    for thread_id, owner in _OWNERS.items():
        path = urllib.parse.quote(thread_id, safe="")
        stranger = "bob" if owner == "alice" else "alice"
        assert service.get(f"/v1/threads/{path}/messages", headers=bearer(stranger)).status in (403, 404)
        found = _messages(service, path, owner)
        stored = _stored(source, thread_id)
        assert [(one["message_id"], one["role"]) for one in found] == [
            (message_id, role) for message_id, role, _ in stored
        ]
        for message, (_, _, content) in zip(found, stored):
            for ours, theirs in zip(message["content"], json.loads(content), strict=True):
                assert ours["type"] == theirs["type"]
                assert ours.get("text") == theirs.get("text")
    listed = _read(service, "/v1/threads?limit=100", "alice")["threads"]
    assert [one["thread_id"] for one in listed] == ["file", "picture", "trip"]
    assert listed[-1]["thread_name"] == "About hello"


def _check_details(service):
    calls = [one for one in _messages(service, "trip", "alice") if one["tools_calls"]]
    assert [json.loads(one["tools_calls"][0]["function"]["arguments"]) for one in calls] == [
        {"city": "Tokyo"}, {"city": "Lima"}
    ]
    assert calls[0]["usages"]["total_tokens"] == 23
    results = [one["content"][0] for one in _messages(service, "trip", "alice") if one["role"] == "tool"]
    assert [one["call_id"] for one in results] == [one["tools_calls"][0]["id"] for one in calls]
    state = _read(service, "/v1/threads/trip/state", "alice")["state"]
    assert state["visited"] == ["Tokyo", "Lima"] and state["city"] == "Lima"
    assert state["context_summary"] == "They talked."
    image = _messages(service, "picture", "alice")[0]["content"][1]["media"]
    assert base64.b64decode(image["data_base64"]).startswith(b"\x89PNG")
    changed = _read(service, "/v1/threads/long/state", "bob")["state"]
    assert changed["city"] == "Rome"
    paused = _read(service, "/v1/threads/paused/state", "bob")["state"]["execution_meta"]
    assert paused["is_interrupted"] and paused["interrupted_node"] == "APPROVE"


def _continue(service, thread_id, user):
    before = _messages(service, thread_id, user)
    reply = service.post(
        "/v1/graph/invoke",
        {"messages": [{"role": "user", "content": "go on"}], "config": {"thread_id": thread_id}},
        headers=bearer(user),
    )
    assert reply.status == 200, reply.text
    after = _messages(service, thread_id, user)
    assert after[: len(before)] == before
    assert [text_of(one) for one in after[len(before):]] == ["go on", "echo: go on"]
    # The model of a run sees the imported messages: they are in its context.
    context = _read(service, f"/v1/threads/{thread_id}/state", user)["state"]["context"]
    assert [one["message_id"] for one in context] == [one["message_id"] for one in after]


def test_threads_go_on_in_postgresql(database, source, start_hosts):
    counts = _import(source, database.url)
    threads = int(source.value("SELECT count(*) FROM threads"))
    messages = int(source.value("SELECT count(*) FROM messages"))
    assert f"{threads} threads\n" in counts and f"{messages} messages\n" in counts
    assert "1 messages name files" in counts
    assert f"{threads} threads, 0 memories, 0 problems" in admin("verify", database.url)
    again = _import(source, database.url)
    assert again.startswith("0 threads\n") and f"{threads} threads were imported before" in again

    hosts = start_hosts(_SETTINGS, files={"env": JWT_ENVIRONMENT})
    for host in hosts:
        _check(host, source)
        _check_details(host)
    _continue(hosts[0], "trip", "alice")
    _continue(hosts[1], "picture", "alice")
    # A later import leaves threads alone that have gone on.
    assert "were imported before" in _import(source, database.url)
    assert text_of(_messages(hosts[0], "trip", "alice")[-1]) == "echo: go on"
    assert "0 problems" in admin("verify", database.url)


_GATE = """
CREATE TABLE gate ();
CREATE FUNCTION gate_is_open() RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
  WHILE NOT EXISTS (SELECT FROM gate) LOOP PERFORM pg_sleep(0.05); END LOOP;
  RETURN true;
END $$;
CREATE ROLE {role};
GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role};
ALTER TABLE messages ENABLE ROW LEVEL SECURITY;
CREATE POLICY gated ON messages USING (gate_is_open());
"""


def test_a_source_that_answers_slowly(database, source, start_hosts):
    """The hosts do not take the import for dead meanwhile."""
    start_hosts(_SETTINGS, files={"env": JWT_ENVIRONMENT})
    role = f"reader_of_{source.name}"
    source.query(_GATE.format(role=role))
    url = f"{source.url}&options=-crole%3D{role}"
    beats = "SELECT coalesce(max(beat), 0) FROM agent_graph.instance WHERE host = 'import'"
    try:
        with ThreadPoolExecutor(1) as pool:
            imported = pool.submit(admin, "import", "--from", "agentflow", url, database.url)
            try:
                # The import is declared dead when it has not beaten for three seconds.
                wait_until(
                    lambda: imported.done() or int(database.value(beats)) > 5, "the import beats"
                )
                assert not imported.done(), imported.result()
            finally:
                source.query("INSERT INTO gate DEFAULT VALUES")
            counts = imported.result()
        assert f"{source.value('SELECT count(*) FROM threads')} threads\n" in counts
    finally:
        source.query(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_threads_go_on_in_leveldb(source, start_service):
    service = start_service(
        _SETTINGS | {"checkpointer": "leveldb"}, files={"env": JWT_ENVIRONMENT}
    )
    state = state_of(service)
    assert "in use" in _import(source, state, code=1)
    service.stop()
    service.wait_until_gone()
    counts = _import(source, state)
    assert f"{source.value('SELECT count(*) FROM threads')} threads\n" in counts
    assert "0 problems" in admin("verify", state)
    assert "were imported before" in _import(source, state)
    service.start()
    _check(service, source)
    _check_details(service)
    _continue(service, "trip", "alice")


def test_what_cannot_be_carried_over_is_named(database, source):
    source.query(
        "INSERT INTO threads (thread_id, user_id) VALUES ('odd', 'alice'), ('', 'alice');"
        "INSERT INTO messages (message_id, thread_id, role, content) VALUES "
        "('m1', 'odd', 'user', 'plain text'), "
        "('m2', 'odd', 'user', '[{\"type\": \"hologram\", \"depth\": 3}]');"
    )
    report = _import(source, database.url, code=1)
    assert "thread odd: message m2: " in report and "hologram" not in report.splitlines()[-1]
    assert "thread : its id" in report
    assert "m1" not in report
    assert "0 problems" in admin("verify", database.url)


def test_a_thread_that_exists_is_left_as_it_is(database, source, start_hosts):
    hosts = start_hosts(behaviour("echo"))
    assert hosts[0].invoke("mine", config={"thread_id": "trip"}).status == 200
    # The hosts go on serving meanwhile.
    report = _import(source, database.url, code=1)
    assert "thread trip: exists" in report
    assert hosts[1].invoke("more", config={"thread_id": "trip"}).status == 200
    found = hosts[0].get("/v1/threads/trip/messages").json()["data"]["messages"]
    assert [text_of(one) for one in found if one["role"] == "user"] == ["mine", "more"]
    assert "0 problems" in admin("verify", database.url)


def test_a_database_without_agentflow(database, empty_database):
    assert "no tables of AgentFlow" in _import(empty_database, database.url, code=1)
    assert "must be a URL" in admin("import", "--from", "agentflow", "x", database.url, code=1)
