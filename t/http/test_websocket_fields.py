"""Fields of a frame of WS /v1/graph/ws that start a run and limit it."""

import pytest

from harness.agents import behaviour
from harness.messages import texts
from harness.service import invocation
from harness.websocket import WebSocket

_THREAD = {"thread_id": "t"}


def _answers(chunks):
    messages = [c["message"] for c in chunks if c["event"] == "message" and not c["message"]["delta"]]
    return [message for message in messages if message["role"] == "assistant"]


def _errors(chunks):
    return [chunk["data"] for chunk in chunks if chunk["event"] == "error"]


def test_the_state_to_begin_with(start_service):
    service = start_service(behaviour("echo"))
    socket = WebSocket(service.port).upgrade()
    for initial, visits in (
        ({"visits": ["BEFORE"], "custom": {"of": "mine"}}, ["BEFORE", "ECHO"]),
        (None, ["BEFORE", "ECHO", "ECHO"]),
    ):
        request = invocation("hi", config=_THREAD, response_granularity="full", initial_state=initial)
        socket.send_json(request)
        chunks = socket.read_run()
        assert _errors(chunks) == []
        state = [chunk["state"] for chunk in chunks if chunk["state"]][-1]
        assert state["visits"] == visits
        stored = service.get("/v1/threads/t/state").json()["data"]["state"]
        assert stored["visits"] == visits and stored["custom"] == {"of": "mine"}


def test_messages_to_begin_with_come_before_those_of_the_frame(start_service):
    service = start_service(behaviour("echo"))
    socket = WebSocket(service.port).upgrade()
    before = {"context": [{"role": "user", "content": "from the state"}]}
    socket.send_json(invocation("from the frame", config=_THREAD, initial_state=before))
    assert texts(_answers(socket.read_run())) == ["echo: from the frame"]
    stored = service.get("/v1/threads/t/messages").json()["data"]["messages"]
    assert texts(stored) == ["from the state", "from the frame", "echo: from the frame"]


@pytest.mark.parametrize("bad", [5, [], "x", {"context": 5}, {"context_summary": 5}])
def test_a_state_that_is_none_is_refused(start_service, bad):
    socket = WebSocket(start_service(behaviour("echo")).port).upgrade()
    socket.send_json(invocation("hi", initial_state=bad))
    chunks = socket.read_run()
    (error,) = _errors(chunks)
    assert "initial_state" in error["reason"] and _answers(chunks) == []
    socket.send_json(invocation("works"))
    assert texts(_answers(socket.read_run())) == ["echo: works"]


@pytest.mark.parametrize(
    "fields, steps",
    [
        ({"recursion_limit": 1}, 1),
        ({}, 25),
        ({"recursion_limit": None}, 25),
        ({"recursion_limit": 100}, 100),
    ],
)
def test_a_run_ends_at_its_recursion_limit(start_service, fields, steps):
    socket = WebSocket(start_service(behaviour("endless")).port).upgrade()
    socket.send_json(invocation("again", **fields))
    chunks = socket.read_run()
    assert len(_answers(chunks)) == steps
    (error,) = _errors(chunks)
    assert f"limit of {steps} steps" in error["reason"]


def test_a_run_of_as_many_steps_as_the_limit_is_whole(start_service):
    socket = WebSocket(start_service(behaviour("echo")).port).upgrade()
    socket.send_json(invocation("once", recursion_limit=1))
    chunks = socket.read_run()
    assert _errors(chunks) == [] and texts(_answers(chunks)) == ["echo: once"]


@pytest.mark.parametrize("limit", [0, 101, -1, "25", 2.5])
def test_a_limit_beyond_its_range_is_refused(start_service, limit):
    socket = WebSocket(start_service(behaviour("echo")).port).upgrade()
    socket.send_json(invocation("x", recursion_limit=limit))
    chunks = socket.read_run()
    (error,) = _errors(chunks)
    assert error["details"][0]["loc"] == ["body", "recursion_limit"]
    assert _answers(chunks) == []
    socket.send_json(invocation("works"))
    assert texts(_answers(socket.read_run())) == ["echo: works"]
