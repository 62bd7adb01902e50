"""Blocks of messages: those that are none are refused where they stand, others come back as they came."""

import pytest

from harness.agents import behaviour
from harness.messages import user
from harness.service import invocation
from harness.stream import is_done
from harness.websocket import WebSocket

_MESSAGES = "/v1/threads/t/messages"
_STATE = "/v1/threads/t/state"


@pytest.fixture
def service(start_service):
    return start_service(behaviour("echo"))


_BAD = {
    "another case": ({"type": "Text", "text": "x"}, ["type"]),
    "unknown": ({"type": "made_up", "value": 1}, ["type"]),
    "of another interface": ({"type": "image_url", "image_url": {"url": "https://a.example"}}, ["type"]),
    "text without text": ({"type": "text"}, ["text"]),
    "text of null": ({"type": "text", "text": None}, ["text"]),
    "image of nothing": ({"type": "image"}, ["media"]),
    "media of nothing": ({"type": "audio", "media": {}}, ["media", "url"]),
    "call without an id": ({"type": "tool_call", "name": "f", "args": {}}, ["id"]),
    "call without a name": ({"type": "remote_tool_call", "id": "c", "args": {}}, ["name"]),
    "result of no call": ({"type": "tool_result", "output": "x"}, ["call_id"]),
    "reasoning of nothing": ({"type": "reasoning"}, ["summary"]),
    "data of no type": ({"type": "data", "data_base64": "YQ=="}, ["mime_type"]),
    "error of nothing": ({"type": "error", "code": "E1"}, ["message"]),
    "data of a number": ({"type": "data", "mime_type": "a/b", "data_base64": 5}, ["data_base64"]),
    "data at a number": ({"type": "data", "mime_type": "a/b", "media": 5}, ["media"]),
    "annotation of a number": ({"type": "annotation", "kind": 5}, ["kind"]),
    "annotation without a list": ({"type": "annotation", "refs": 5}, ["refs"]),
    "annotation of no place": ({"type": "annotation", "spans": "all"}, ["spans"]),
    "error with a number": ({"type": "error", "message": "x", "code": 5}, ["code"]),
    "error with a list": ({"type": "error", "message": "x", "data": []}, ["data"]),
}


@pytest.mark.parametrize("block, member", _BAD.values(), ids=_BAD)
def test_a_block_that_is_none_is_refused_everywhere(service, block, member):
    messages = [user("fine"), {"role": "user", "content": [{"type": "text", "text": "fine"}, block]}]
    run = {"messages": messages, "config": {"thread_id": "t"}}
    start = invocation("x", config={"thread_id": "t"}) | {"initial_state": {"context": messages}}
    for method, target, body, path in (
        ("POST", "/v1/graph/invoke", run, ["messages"]),
        ("POST", "/v1/graph/stream", run, ["messages"]),
        ("POST", "/v1/graph/invoke", start, ["initial_state", "context"]),
        ("POST", _MESSAGES, {"messages": messages}, ["messages"]),
        ("PUT", _STATE, {"state": {"context": messages}}, ["state", "context"]),
    ):
        reply = service.request(method, target, body)
        assert reply.status == 422, (target, reply.text)
        (detail,) = reply.json()["error"]["details"]
        assert detail["loc"] == ["body", *path, "1", "content", "1", *member], target
    with WebSocket(service.port).upgrade() as socket:
        socket.send_json(run)
        (refusal, done) = socket.read_run()
        (detail,) = refusal["data"]["details"]
        assert detail["loc"] == ["body", "messages", "1", "content", "1", *member] and is_done(done)
    assert service.get("/v1/threads").json()["data"]["threads"] == []


def test_blocks_that_only_clients_know_come_back_as_they_came(service):
    blocks = [
        {"type": "data", "mime_type": "text/csv", "data_base64": "YQ=="},
        {"type": "annotation", "kind": "note", "refs": [{"url": "https://a.example", "page": 2}]},
        {"type": "error", "message": "out of paper", "code": "E1", "data": {"tray": 2}},
    ]
    message = {"role": "user", "content": [{"type": "text", "text": "x"}, *blocks]}
    assert service.post(_MESSAGES, {"messages": [message]}).status == 200
    assert service.invoke("y", config={"thread_id": "t"}).status == 200
    stored = service.get(_MESSAGES).json()["data"]["messages"][0]
    assert stored["content"][1:] == blocks


def test_reasoning_beside_the_content_is_no_block(service):
    message = {"role": "assistant", "content": "x", "reasoning": "because", "message_id": "m"}
    assert service.post(_MESSAGES, {"messages": [message]}).status == 200
    stored = service.get(f"{_MESSAGES}/m").json()["data"]
    assert stored["reasoning"] == "because"
    assert [block["type"] for block in stored["content"]] == ["text"]
    # Clients send back what they have read.
    put = service.request("PUT", _STATE, {"state": {"context": [stored]}})
    assert put.status == 200, put.text
    assert service.invoke("y", config={"thread_id": "t"}).status == 200
    (context, *_) = service.get(_STATE).json()["data"]["state"]["context"]
    assert (context["reasoning"], context["content"]) == ("because", stored["content"])
