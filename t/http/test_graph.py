"""The routes around runs: stop, traces and fix."""

import json
import threading

import pytest

from harness.agents import DEMO, behaviour
from harness.messages import texts, user
from harness.stream import is_done
from harness.waiting import wait_until

_CHAIN = {
    "app": {
        "nodes": [
            {"name": "MAIN", "type": "agent"},
            {"name": "SECOND", "type": "reply", "text": "two"},
            {"name": "THIRD", "type": "reply", "text": "three"},
        ],
        "edges": [
            {"from": "START", "to": "MAIN"},
            {"from": "MAIN", "to": "SECOND"},
            {"from": "SECOND", "to": "THIRD"},
        ],
    }
}


_PRODUCTION = {"production.env": "MODE=production\n"}


def _openai(provider):
    return {"provider": "openai", "model": "m", "base_url": provider.base_url, "api_key": "k"}


@pytest.fixture
def chain(start_service, gated_provider):
    """Three nodes; the first one waits at the provider's gate."""
    settings = {"agent": "chain.json:app", "models": {"default": _openai(gated_provider)}}
    return start_service(settings, files={"chain.json": json.dumps(_CHAIN)})


def _trace(service, thread_id, query=""):
    reply = service.get(f"/v1/observability/{thread_id}{query}")
    assert reply.status == 200, reply.text
    return reply.json()["data"]


def _meta(service, thread_id):
    return service.get(f"/v1/threads/{thread_id}/state").json()["data"]["state"]["execution_meta"]


def _stop(service, **body):
    reply = service.post("/v1/graph/stop", body)
    assert reply.status == 200, reply.text
    return reply.json()["data"]


# Stop


def test_stop_lets_the_node_finish_and_starts_no_other(chain, gated_provider):
    stream = chain.stream("x", config={"thread_id": "t"})
    stream.read_until_event("message")
    gated_provider.wait_for_waiting(1)
    assert _trace(chain, "t")["run"]["status"] == "running"
    stopped = _stop(chain, thread_id="t")
    assert stopped["running"] and stopped["success"] and stopped["thread_id"] == "t"
    assert stopped["status"] == "stopped" and stopped["stopped_at"]
    # On any worker.
    for _ in range(4):
        meta = _meta(chain, "t")
        assert meta["is_running"] and meta["is_stopped_requested"]
    gated_provider.open_gate()
    lines = stream.read_all()
    assert is_done(lines[-1]) and not any(line["event"] == "error" for line in lines)
    whole = [line["message"] for line in lines if line["message"] and not line["message"]["delta"]]
    assert texts(whole) == [gated_provider.text]
    assert not _meta(chain, "t")["is_stopped_requested"]
    assert _trace(chain, "t")["run"]["status"] == "stopped"
    again = chain.invoke("y", config={"thread_id": "t"}).json()["data"]
    assert texts(again["messages"])[-2:] == ["two", "three"]


def test_stop_with_cancel_closes_the_providers_connection(chain, gated_provider):
    """Eight streams on two workers, all stopped through other connections."""
    streams = [chain.stream("x", config={"thread_id": f"t{i}"}) for i in range(8)]
    for stream in streams:
        stream.read_until_event("message")
    gated_provider.wait_for_waiting(8)
    for i in range(8):
        assert _stop(chain, thread_id=f"t{i}", config={"cancel": True})["running"]
    wait_until(lambda: gated_provider.aborted == 8, "the provider's connections are closed")
    for i, stream in enumerate(streams):
        assert is_done(stream.read_all()[-1])
        assert _trace(chain, f"t{i}")["run"]["status"] == "stopped"
    assert not _stop(chain, thread_id="t0", config={"cancel": True})["running"]


def test_stop_ends_the_wait_of_queued_runs(chain, gated_provider):
    first = chain.stream("x", config={"thread_id": "t"})
    first.read_until_event("message")
    gated_provider.wait_for_waiting(1)
    replies = []
    queued = threading.Thread(
        target=lambda: replies.append(chain.invoke("y", config={"thread_id": "t"}))
    )
    queued.start()

    def cancelled():
        _stop(chain, thread_id="t")
        return replies

    wait_until(cancelled, "the queued run is answered")
    queued.join()
    assert replies[0].status >= 400
    gated_provider.open_gate()
    assert first.ended_with_done()


def test_stop_of_what_does_not_run(start_service):
    service = start_service(DEMO)
    service.invoke("x", config={"thread_id": "idle"})
    for thread_id in ("idle", "unknown"):
        stopped = _stop(service, thread_id=thread_id)
        assert stopped["success"] and not stopped["running"]
    assert service.get("/v1/threads/unknown").status == 404
    for body in ({}, {"thread_id": " "}, {"thread_id": "t", "config": 1}):
        assert service.post("/v1/graph/stop", body).status == 422


# Traces


def test_trace_of_invoke_and_of_stream(start_service):
    service = start_service(DEMO)
    config = {"thread_id": "t"}
    service.invoke("call current_time", config=config)
    service.stream("call current_time", config=config).read_all()
    data = _trace(service, "t")
    assert data["run_count"] == 2 and len(data["run_ids"]) == 2
    assert data["run"]["run_id"] == data["run_ids"][-1]
    shapes = []
    for run_id in data["run_ids"]:
        run = _trace(service, "t", f"?run_id={run_id}")["run"]
        assert run["run_id"] == run_id and run["thread_id"] == "t" and run["status"] == "done"
        assert run["started_at"] <= run["finished_at"] and run["duration_ms"] >= 0
        assert [span["id"] for span in run["spans"]] == ["root"] + [
            f"s{i}" for i in range(1, len(run["spans"]))
        ]
        by_id = {span["id"]: span for span in run["spans"]}
        for span in run["spans"]:
            if span["kind"] in ("llm", "tool"):
                assert span["duration_ms"] == 0.0 and by_id[span["parent"]]["kind"] == "node"
            if span["kind"] == "node":
                assert span["parent"] == "root"
        numbers = [int(event["id"][1:]) for event in run["events"]]
        assert numbers == list(reversed(range(len(numbers))))
        offsets = [event["offset_ms"] for event in run["events"]]
        assert offsets == sorted(offsets, reverse=True)
        assert (run["llm_calls"], run["tool_calls"], run["iterations"]) == (2, 1, 2)
        assert run["usage"]["total_tokens"] > 0
        shapes.append([(span["name"], span["kind"], span["parent"]) for span in run["spans"]])
    assert shapes[0] == shapes[1]
    assert ("tool: current_time", "tool") in [shape[:2] for shape in shapes[0]]


def test_trace_of_a_failed_run(start_service):
    service = start_service(behaviour("throwing"))
    assert service.invoke("x", config={"thread_id": "t"}).status == 500
    run = _trace(service, "t")["run"]
    assert run["status"] == "error"
    assert any(event["type"] == "error" and event["summary"] for event in run["events"])


def test_traces_that_are_not_there(start_service):
    service = start_service(DEMO)
    nothing = {"run_count": 0, "run_ids": [], "run": None}
    assert _trace(service, "unknown") == nothing | {"thread_id": "unknown"}
    service.invoke("x", config={"thread_id": "t"})
    data = _trace(service, "t", "?run_id=unknown")
    assert data["run"] is None and data["run_count"] == 1
    service.request("DELETE", "/v1/threads/t", {"config": {}})
    assert _trace(service, "t") == nothing | {"thread_id": "t"}


def test_no_traces_in_production(start_service):
    service = start_service(DEMO | {"env": "production.env"}, files=_PRODUCTION)
    service.invoke("x", config={"thread_id": "t"})
    assert _trace(service, "t") == {
        "thread_id": "t",
        "run_count": 0,
        "run_ids": [],
        "run": None,
    }


# Fix


def _call(call_id):
    return {"type": "tool_call", "id": call_id, "name": "lookup", "args": {}}


def _result(call_id):
    return {"type": "tool_result", "call_id": call_id, "output": 1}


def test_fix_removes_what_dangles_and_nothing_else(start_service):
    service = start_service(DEMO)
    messages = [
        user("hello", message_id="u"),
        {"role": "assistant", "message_id": "valid", "content": [_call("c1")]},
        {"role": "tool", "message_id": "valid-result", "content": [_result("c1")]},
        {"role": "assistant", "message_id": "half", "content": [_call("c2"), _call("c3")]},
        {"role": "tool", "message_id": "half-result", "content": [_result("c2")]},
        {"role": "tool", "message_id": "orphan", "content": [_result("gone")]},
        {"role": "assistant", "message_id": "last", "content": "bye"},
    ]
    assert service.post("/v1/threads/t/messages", {"messages": messages}).status == 200
    fixed = service.post("/v1/graph/fix", {"thread_id": "t"}).json()["data"]
    assert fixed["success"] and fixed["removed_count"] == 3
    kept = [message["message_id"] for message in fixed["state"]["context"]]
    assert kept == ["u", "valid", "valid-result", "last"]
    again = service.post("/v1/graph/fix", {"thread_id": "t", "config": {}}).json()["data"]
    assert again["success"] and again["removed_count"] == 0
    assert service.invoke("and now", config={"thread_id": "t"}).status == 200


def test_fix_without_a_state_and_during_a_run(chain, gated_provider):
    data = chain.post("/v1/graph/fix", {"thread_id": "unknown"}).json()["data"]
    assert data["success"] is False and data["removed_count"] == 0 and data["state"] is None
    assert chain.post("/v1/graph/fix", {"thread_id": ""}).status == 422
    stream = chain.stream("x", config={"thread_id": "t"})
    gated_provider.wait_for_waiting(1)
    assert chain.post("/v1/graph/fix", {"thread_id": "t"}).status == 409
    gated_provider.open_gate()
    assert stream.ended_with_done()
