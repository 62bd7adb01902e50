"""kill -9 of a worker in the middle of a run: the thread keeps everything that the finished nodes
have set, at every level of `sync`, and what others changed meanwhile."""

import json

import pytest

from harness.waiting import wait_until

_FIELDS = {
    "visits": {"reducer": "append"},
    "preset": {"reducer": "append", "default": ["preset"]},
    "count": {"reducer": "sum"},
    "notes": {"reducer": "merge"},
    "seen": {"reducer": "union"},
}
_FIRST = {"visits": "A", "preset": "A", "count": 1, "notes": {"a": 1, "by": "A"}, "seen": ["x"]}
_SECOND = {"visits": ["B"], "preset": "B", "count": 2, "notes": {"by": "B"}, "seen": ["x", "y"],
           "city": "Rome"}


@pytest.fixture
def serve(make_service, start_mock_provider, gated_provider):
    def start(**settings):
        quick = start_mock_provider(
            [{"match": {"userMessage": "go"}, "response": {"content": "a draft"}}]
        )
        graph = {
            "nodes": [
                {"name": "A", "type": "reply", "text": "from A", "set": _FIRST},
                {"name": "B", "type": "reply", "text": "from B", "set": _SECOND},
                {"name": "DRAFT", "type": "agent", "model": "quick", "output_field": "draft"},
                {"name": "SLOW", "type": "agent", "model": "slow"},
            ],
            "edges": [
                {"from": "START", "to": "A"},
                {"from": "A", "to": "B"},
                {"from": "B", "to": "DRAFT"},
                {"from": "DRAFT", "to": "SLOW"},
            ],
            "fields": _FIELDS,
        }
        models = {
            "default": {"provider": "demo", "model": "demo"},
            "quick": {"provider": "openai", "model": "m", "base_url": quick.base_url},
            "slow": {"provider": "openai", "model": "m", "base_url": gated_provider.base_url},
        }
        return make_service(
            {"agent": "graph.json:app", "models": models} | settings,
            files={"graph.json": json.dumps({"app": graph})},
            workers=1,
        ).start()

    return start


def _begin(service, **body):
    """Starts a run on thread t whose answer is never read."""
    connection = service.connect()
    body = {
        "messages": [{"role": "user", "content": "go"}],
        "config": {"thread_id": "t"},
    } | body
    connection.request("POST", "/v1/graph/invoke", [], body)
    return connection


def _state(service):
    reply = service.get("/v1/threads/t/state")
    assert reply.status == 200, reply.text
    return reply.json()["data"]["state"]


def _put(service, fields):
    reply = service.request("PUT", "/v1/threads/t/state", {"state": fields})
    assert reply.status == 200, reply.text


def _texts(state):
    return [
        block["text"]
        for message in state["context"]
        for block in message["content"]
        if block["type"] == "text"
    ]


def _wait_until_slow(service):
    """Returns when the nodes before the slow one have finished."""

    def is_slow():
        reply = service.get("/v1/threads/t/state")
        if reply.status == 404:
            return False
        meta = reply.json()["data"]["state"]["execution_meta"]
        return meta["is_running"] and meta["current_node"] == "SLOW"

    wait_until(is_slow, "the slow node runs")


def _wait_until_lost(service):
    state = wait_until(
        lambda: (state := _state(service))["execution_meta"]["status"] == "error" and state,
        "the run is lost",
    )
    assert state["execution_meta"]["current_node"] == "SLOW"
    assert state["execution_meta"]["internal_data"]["error"] == "worker_lost"
    return state


@pytest.mark.parametrize("sync", ["always", "run", "none"])
def test_finished_nodes_keep_their_fields(serve, sync):
    service = serve(checkpointer={"type": "leveldb", "sync": sync})
    initial = {"city": "Oslo", "mood": "good", "context_summary": "before"}
    for lost in (1, 2):
        with _begin(service, initial_state=initial):
            _wait_until_slow(service)
            service.kill_worker()
        state = _wait_until_lost(service)
        assert {name: state[name] for name in (*_FIELDS, "city", "mood", "draft")} == {
            "visits": ["A", "B"] * lost,
            "preset": ["preset"] + ["A", "B"] * lost,
            "count": 3 * lost,
            "notes": {"a": 1, "by": "B"},
            "seen": ["x", "y"],
            "city": "Rome",
            "mood": "good",
            "draft": "a draft",
        }
        assert state["context_summary"] == "before"
        assert _texts(state) == ["go", "from A", "from B"] * lost


def test_the_state_server_dies_before_the_worker(serve):
    service = serve()
    with _begin(service):
        _wait_until_slow(service)
        service.error_log.allow(r"exited on signal 9")
        terms = service.state_terms()
        service.kill(service.cache_manager().pid)
        service.wait_for_state(terms)
        assert _state(service)["execution_meta"]["current_node"] == "SLOW"
        service.kill_worker()
    assert _wait_until_lost(service)["visits"] == ["A", "B"]


def test_changes_by_others_meanwhile_are_kept(serve):
    service = serve()
    _put(service, {"visits": ["before"], "city": "Bonn"})
    with _begin(service):
        _wait_until_slow(service)
        _put(service, {"city": "Paris", "own": 1, "notes": None})
        service.kill_worker()
    state = _wait_until_lost(service)
    assert state["visits"] == ["before", "A", "B"]
    assert state["city"] == "Paris" and state["own"] == 1
    assert state.get("notes") is None
