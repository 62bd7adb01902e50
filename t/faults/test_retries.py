"""Requests that are repeated after their worker died: their messages are stored once."""

import json

import pytest

from harness.messages import texts, user
from harness.stream import is_done
from harness.waiting import wait_until
from harness.websocket import WebSocket

_THREAD = {"thread_id": "t"}
_GRAPH = {
    "app": {"nodes": [{"name": "MAIN", "type": "agent"}], "edges": [{"from": "START", "to": "MAIN"}]}
}


@pytest.fixture
def service(start_service, gated_provider):
    model = {"provider": "openai", "model": "m", "base_url": gated_provider.base_url, "api_key": "k"}
    return start_service(
        {"agent": "graph.json:app", "models": {"default": model}},
        files={"graph.json": json.dumps(_GRAPH)},
        workers=1,
    )


def _body(*messages):
    return {"messages": list(messages), "config": _THREAD}


def _messages(service):
    return service.get("/v1/threads/t/messages").json()["data"]["messages"]


def _lose_a_run(service, gated_provider, body):
    """Sends a request and kills its worker during the model call."""
    with service.connect() as connection:
        connection.request("POST", "/v1/graph/invoke", [], body)
        gated_provider.wait_for_waiting(1)
        service.kill_worker()
        wait_until(lambda: gated_provider.waiting == 0, "the call of the model has ended")
    gated_provider.open_gate()


def _invoke(service, body):
    reply = service.post("/v1/graph/invoke", body)
    assert reply.status == 200, reply.text


def _stream(service, body):
    reply = service.post("/v1/graph/stream", body)
    assert is_done(json.loads(reply.text.splitlines()[-1])) and '"error"' not in reply.text


def _socket(service, body):
    with WebSocket(service.port).upgrade() as socket:
        socket.send_json(body)
        assert "error" not in [chunk["event"] for chunk in socket.read_run()]


@pytest.mark.parametrize("send", [_invoke, _stream, _socket])
def test_a_message_is_stored_once(service, gated_provider, send):
    body = _body(user("see this", message_id="m0"), user("x", message_id="m1"))
    _lose_a_run(service, gated_provider, body)
    assert texts(_messages(service)) == ["see this", "x"]
    send(service, body)
    assert texts(_messages(service)) == ["see this", "x", gated_provider.text]
    assert [m["message_id"] for m in _messages(service)[:2]] == ["m0", "m1"]


def test_an_answered_request_is_answered_again(service, gated_provider):
    gated_provider.open_gate()
    body = _body(user("x", message_id="m1"))
    _invoke(service, body)
    service.kill_worker()
    _invoke(service, body)
    reply = service.post("/v1/graph/stream", body)
    chunks = [json.loads(line) for line in reply.text.splitlines()]
    assert texts([chunk["message"] for chunk in chunks[:-1]]) == [gated_provider.text]
    assert texts(_messages(service)) == ["x", gated_provider.text]
    assert gated_provider.finished == 1, "the model was asked once"


def test_what_was_said_meanwhile_stays(service, gated_provider):
    body = _body(user("x", message_id="m1"))
    _lose_a_run(service, gated_provider, body)
    _invoke(service, _body(user("y", message_id="m2")))
    _invoke(service, body)
    assert texts(_messages(service)) == ["x", "y", gated_provider.text, gated_provider.text]


def test_other_words_under_the_same_id_are_another_message(service, gated_provider):
    gated_provider.open_gate()
    for text in ("x", "y"):
        _invoke(service, _body(user(text, message_id="m1")))
    stored = _messages(service)
    assert texts(stored) == ["x", gated_provider.text, "y", gated_provider.text]
    assert len({message["message_id"] for message in stored}) == 4
