"""A thread that others use during a run: nothing acknowledged is lost, and runs that wait for it
are visible and can be stopped."""

import itertools
import json
import threading

import pytest

from harness.agents import DEMO, behaviour
from harness.messages import texts, user
from harness.stream import is_done
from harness.waiting import wait_until

_THREAD = {"thread_id": "t"}
_GRAPH = {
    "app": {
        "nodes": [
            {"name": "MAIN", "type": "agent"},
            {"name": "NOTE", "type": "reply", "text": "noted", "set": {"visits": "NOTE"}},
        ],
        "edges": [{"from": "START", "to": "MAIN"}, {"from": "MAIN", "to": "NOTE"}],
        "fields": {"visits": {"reducer": "append"}, "topic": {}, "draft": {}},
    }
}


@pytest.fixture
def service(start_service, gated_provider):
    model = {
        "provider": "openai",
        "model": "m",
        "base_url": gated_provider.base_url,
        "api_key": "k",
    }
    return start_service(
        {"agent": "graph.json:app", "models": {"default": model}},
        files={"graph.json": json.dumps(_GRAPH)},
    )


def _state(service):
    return service.get("/v1/threads/t/state").json()["data"]["state"]


def _messages(service):
    return service.get("/v1/threads/t/messages").json()["data"]["messages"]


def _run_held_at_the_gate(service, gated_provider, **config):
    stream = service.stream("x", config=_THREAD | config)
    stream.read_until_event("message")
    gated_provider.wait_for_waiting(1)
    return stream


def test_the_model_call_of_a_deleted_thread_ends(service, gated_provider):
    stream = _run_held_at_the_gate(service, gated_provider)
    assert service.request("DELETE", "/v1/threads/t", {}).status == 200
    wait_until(lambda: gated_provider.aborted == 1, "the provider's connection is closed")
    assert is_done(stream.read_all()[-1])
    assert service.get("/v1/threads/t").status == 404


def test_changes_made_during_a_run_are_kept(service, gated_provider):
    before = {"state": {"topic": "tea", "draft": "old"}}
    assert service.request("PUT", "/v1/threads/t/state", before).status == 200
    first = [user("keep me", message_id="kept"), user("drop me", message_id="dropped")]
    assert service.post("/v1/threads/t/messages", {"messages": first}).status == 200
    stream = _run_held_at_the_gate(service, gated_provider)

    change = {"state": {"topic": "coffee", "draft": None, "context_summary": "meanwhile"}}
    assert service.request("PUT", "/v1/threads/t/state", change).status == 200
    posted = {"messages": [user("by the way", message_id="posted")]}
    assert service.post("/v1/threads/t/messages", posted).status == 200
    assert service.request("DELETE", "/v1/threads/t/messages/dropped", {"config": {}}).status == 200

    gated_provider.open_gate()
    assert is_done(stream.read_all()[-1])
    state = _state(service)
    assert state["topic"] == "coffee" and state.get("draft") is None
    assert state["context_summary"] == "meanwhile" and state["visits"] == ["NOTE"]
    for found in (texts(state["context"]), texts(_messages(service))):
        assert "by the way" in found and "keep me" in found and "drop me" not in found
        assert found[-1] == "noted"


_ORDER = {
    "app": {
        "nodes": [
            {"name": "FIRST", "type": "reply", "text": "first", "set": {"early": "run", "both": "run 1"}},
            {"name": "MAIN", "type": "agent"},
            {"name": "LAST", "type": "reply", "text": "last", "set": {"late": "run", "both": "run 2"}},
        ],
        "edges": [
            {"from": "START", "to": "FIRST"},
            {"from": "FIRST", "to": "MAIN"},
            {"from": "MAIN", "to": "LAST"},
        ],
        "fields": {"early": {}, "both": {}, "late": {}, "other": {}},
    }
}


@pytest.fixture
def ordered_service(start_service, gated_provider):
    model = {"provider": "openai", "model": "m", "base_url": gated_provider.base_url, "api_key": "k"}
    return start_service(
        {"agent": "graph.json:app", "models": {"default": model}},
        files={"graph.json": json.dumps(_ORDER)},
    )


def _fields(service):
    state = _state(service)
    return {name: state.get(name) for name in ("early", "both", "late", "other")}


def test_of_two_changes_of_a_field_the_later_counts(ordered_service, gated_provider):
    service = ordered_service
    stream = _run_held_at_the_gate(service, gated_provider)
    change = dict.fromkeys(("early", "both", "late", "other"), "put")
    assert service.request("PUT", "/v1/threads/t/state", {"state": change}).status == 200
    gated_provider.open_gate()
    assert is_done(stream.read_all()[-1])
    assert _fields(service) == {"early": "put", "both": "run 2", "late": "run", "other": "put"}
    # The next run begins with that, and no other run changes it meanwhile.
    assert service.invoke("again", config=_THREAD).status == 200
    assert _fields(service) == {"early": "run", "both": "run 2", "late": "run", "other": "put"}


@pytest.mark.parametrize("how", ["delete", "null"])
def test_a_context_cleared_during_a_run_stays_without_its_answer(ordered_service, gated_provider, how):
    service = ordered_service
    before = {"state": {"other": "old", "context_summary": "old"}}
    assert service.request("PUT", "/v1/threads/t/state", before).status == 200
    stream = _run_held_at_the_gate(service, gated_provider)
    if how == "delete":
        assert service.request("DELETE", "/v1/threads/t/state").status == 200
    else:
        change = {"state": {"context": None, "other": None, "context_summary": None}}
        assert service.request("PUT", "/v1/threads/t/state", change).status == 200
    gated_provider.open_gate()
    assert is_done(stream.read_all()[-1])
    state = _state(service)
    assert state["context"] == [] and state["context_summary"] is None and state.get("other") is None
    assert state["late"] == "run", "changed after it was cleared"
    assert (state.get("early") is None) == (how == "delete")
    # History keeps the turn; the next one begins without it.
    assert texts(_messages(service)) == ["x", "first", gated_provider.text, "last"]
    assert service.invoke("fresh", config=_THREAD).status == 200
    assert texts(_state(service)["context"]) == ["fresh", "first", gated_provider.text, "last"]


def test_a_run_id_is_taken_while_its_run_is_in_flight(service, gated_provider):
    stream = _run_held_at_the_gate(service, gated_provider, run_id="mine")
    # On any worker.
    for _ in range(4):
        reply = service.invoke("y", config=_THREAD | {"run_id": "mine"})
        assert reply.status == 409 and reply.json()["error"]["code"] == "CONFLICT"
    gated_provider.open_gate()
    assert is_done(stream.read_all()[-1])
    assert service.invoke("y", config=_THREAD | {"run_id": "mine"}).status == 200
    asked = [text for text in texts(_messages(service)) if text in ("x", "y")]
    assert asked == ["x", "y"], "each once"


def test_queued_runs_are_listed_and_stopped_by_name(service, gated_provider):
    stream = _run_held_at_the_gate(service, gated_provider, run_id="first")
    replies = {}
    waiting = {}

    def queue():
        return _state(service)["execution_meta"]["queued_runs"]

    for run_id in ("second", "third"):

        def run(run_id=run_id):
            replies[run_id] = service.invoke("y", config=_THREAD | {"run_id": run_id})

        waiting[run_id] = threading.Thread(target=run)
        waiting[run_id].start()
        wait_until(lambda run_id=run_id: run_id in queue(), "the run is queued")
    assert queue() == ["second", "third"]

    stopped = service.post("/v1/graph/stop", {"thread_id": "t", "run_id": "second"}).json()["data"]
    assert stopped["running"] and stopped["run_id"] == "second"
    waiting["second"].join()
    assert replies["second"].status == 503
    meta = _state(service)["execution_meta"]
    assert meta["queued_runs"] == ["third"] and not meta["is_stopped_requested"]
    unknown = service.post("/v1/graph/stop", {"thread_id": "t", "run_id": "none"}).json()["data"]
    assert not unknown["running"]
    assert service.post("/v1/graph/stop", {"thread_id": "t", "run_id": 5}).status == 422

    gated_provider.open_gate()
    assert is_done(stream.read_all()[-1])
    waiting["third"].join()
    assert replies["third"].status == 200
    assert queue() == []


def test_a_function_cut_short_by_the_deadline_has_not_finished(start_service):
    # The deadline is for the function only, not for the request that checks it.
    service = start_service(
        behaviour("sleeping"),
        location="agent_graph_run_timeout 2s;",
        server="location /unhurried/ { agent_graph test; }",
    )
    run_ids = (f"r{number}" for number in itertools.count())

    def cut_short():
        """A slow machine may not begin the run by its deadline; then there is no such run."""
        run_id = next(run_ids)
        reply = service.invoke("x", config=_THREAD | {"run_id": run_id, "sleep_ms": 600_000})
        assert reply.status == 504 and reply.json()["error"]["code"] == "TIMEOUT"
        found = service.get("/unhurried/v1/observability/t")
        if found.status == 404 or (run := found.json()["data"]["run"])["run_id"] != run_id:
            return False
        assert run["status"] == "error"
        return True

    for _ in range(2):
        wait_until(cut_short, "a run begins in time")


def test_a_run_that_holds_too_much_ends(start_service):
    service = start_service(behaviour("echo", limits={"run_bytes_max": 65536}))
    reply = service.invoke("x" * 40_000, config=_THREAD)
    assert reply.status == 500 and reply.json()["error"]["code"] == "GRAPH_ERROR"
    assert "limits.run_bytes_max" in reply.json()["detail"]
    assert len(_messages(service)) == 1
    lines = service.stream("y" * 30_000, config=_THREAD).read_all()
    assert "limits.run_bytes_max" in lines[-2]["data"]["reason"] and is_done(lines[-1])
    assert service.invoke("small", config={"thread_id": "other"}).status == 200


def test_a_result_without_its_thread(start_service):
    service = start_service(DEMO)
    result = {"type": "tool_result", "call_id": "c1", "output": 1, "status": "completed"}
    body = {"messages": [{"role": "tool", "content": [result]}]}
    for route in ("/v1/graph/invoke", "/v1/graph/stream"):
        reply = service.post(route, body)
        assert reply.status == 422 and "config.thread_id" in reply.text
    assert service.get("/v1/threads").json()["data"]["threads"] == []
