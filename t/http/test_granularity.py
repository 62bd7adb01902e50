"""The content of each response_granularity, for each of the three ways to run a graph."""

import pytest

from harness.agents import behaviour
from harness.messages import texts
from harness.service import invocation
from harness.stream import is_done
from harness.websocket import WebSocket

_SUMMARY = "they said hello before"


def _invoke(service, request):
    return service.post("/v1/graph/invoke", request)


def _stream(service, request):
    return service.post("/v1/graph/stream", request).lines()


def _ws(service, request):
    with WebSocket(service.port) as socket:
        socket.upgrade()
        socket.send_json(request)
        return socket.read_run()


def _request(granularity):
    more = {"response_granularity": granularity} if granularity else {}
    return invocation("hi", config={"thread_id": "t"}, **more)


@pytest.fixture
def echo(start_service):
    """Two function nodes and a thread with a summary."""
    service = start_service(behaviour("two_steps"))
    state = {"state": {"context_summary": _SUMMARY}}
    assert service.request("PUT", "/v1/threads/t/state", state).status == 200
    return service


@pytest.mark.parametrize(
    "granularity, shown",
    [
        (None, {"messages", "meta"}),
        ("low", {"messages", "meta"}),
        ("partial", {"messages", "meta", "state", "context"}),
        ("full", {"messages", "meta", "state", "context", "summary"}),
    ],
)
def test_invoke(echo, granularity, shown):
    data = _invoke(echo, _request(granularity)).json()["data"]
    assert {key for key, value in data.items() if value is not None} == shown
    assert texts(data["messages"]) == ["hi", "first", "second"]
    if data["state"]:
        assert data["state"]["context"] == data["context"] == data["messages"]
        assert data["state"]["context_summary"] == _SUMMARY
        assert data["state"]["execution_meta"]["step"] == 2
    if data["summary"]:
        assert data["summary"] == _SUMMARY


@pytest.mark.parametrize("run", [_stream, _ws], ids=["stream", "ws"])
@pytest.mark.parametrize(
    "granularity, events",
    [
        (None, ["message", "message", "updates"]),
        ("low", ["message", "message", "updates"]),
        ("partial", ["message", "updates", "message", "updates", "updates"]),
        ("full", ["message", "updates", "state", "message", "updates", "state", "updates"]),
    ],
)
def test_stream_and_ws(echo, run, granularity, events):
    chunks = run(echo, _request(granularity))
    assert [chunk["event"] for chunk in chunks] == events
    assert is_done(chunks[-1]) and not any(is_done(chunk) for chunk in chunks[:-1])
    for chunk in chunks:
        assert (chunk["message"] is not None) == (chunk["event"] == "message")
        shows_state = granularity in ("partial", "full") and chunk["event"] != "message"
        assert (chunk["state"] is not None) == shows_state
        assert (chunk["data"] is not None) == (chunk["event"] == "updates")
    updates = [chunk for chunk in chunks if chunk["event"] == "updates"]
    for chunk, node, step in zip(updates[:-1], ("FIRST", "SECOND"), (1, 2)):
        expected = {"status": "node_invoked", "node": node, "step": step, "max_steps": 25}
        assert chunk["data"] == expected
        assert (chunk["metadata"]["node"], chunk["metadata"]["step"]) == (node, step)
        meta = chunk["state"]["execution_meta"]
        assert (meta["current_node"], meta["step"], meta["is_running"]) == (node, step, True)
        assert len(chunk["state"]["context"]) == step + 1
        assert chunk["state"]["visits"] == ["FIRST", "SECOND"][:step]
    snapshots = [chunk for chunk in chunks if chunk["event"] == "state"]
    assert [chunk["state"] for chunk in snapshots] == [
        chunk["state"] for chunk in updates[:-1] if granularity == "full"
    ]
    if updates[-1]["state"]:
        meta = updates[-1]["state"]["execution_meta"]
        assert meta["is_running"] is False and meta["step"] == 2


@pytest.mark.parametrize("run", [_stream, _ws], ids=["stream", "ws"])
@pytest.mark.parametrize("granularity", ["low", "partial", "full"])
def test_failure_is_shown_at_every_granularity(start_service, run, granularity):
    service = start_service(behaviour("throwing"))
    chunks = run(service, _request(granularity))
    assert [chunk["event"] for chunk in chunks] == ["error", "updates"]
    assert chunks[0]["data"]["reason"] and is_done(chunks[1])
    assert (chunks[1]["state"] is None) == (granularity == "low")
