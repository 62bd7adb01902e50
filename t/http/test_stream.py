"""POST /v1/graph/stream against a real nginx."""

import pytest

from harness import http1, http2
from harness.agents import DEMO, behaviour
from harness.messages import user
from harness.service import invocation
from harness.stream import is_done
from harness.websocket import WebSocket

_STREAM = "/v1/graph/stream"
_KEYS = {"event", "message", "state", "data", "thread_id", "run_id", "metadata", "timestamp"}
_OWN_HEADERS = {
    "content-type": "text/event-stream",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    "content-encoding": "identity",
}


def _own_headers(reply):
    names = set(_OWN_HEADERS) | {"connection"}
    return sorted((name.lower(), value) for name, value in reply.headers if name.lower() in names)


def test_headers_on_http1(start_service):
    reply = start_service(DEMO).stream("x").read_head()
    assert reply.status == 200
    assert _own_headers(reply) == sorted((_OWN_HEADERS | {"connection": "keep-alive"}).items())
    assert reply.header("X-Request-ID") and reply.header("X-Timestamp")


def test_headers_on_http2(start_service):
    service = start_service(DEMO, http2=True)
    reply = http2.fetch(service.http2_port, "POST", _STREAM, body=invocation("x"))
    assert reply.status == 200
    assert _own_headers(reply) == sorted(_OWN_HEADERS.items())
    assert is_done(reply.lines()[-1])


@pytest.mark.parametrize(
    "accept, content_type",
    [
        ("application/x-ndjson, application/json", "application/x-ndjson"),
        ("text/event-stream", "text/event-stream"),
        ("*/*", "text/event-stream"),
        ("text/html, Application/X-NDJSON ;q=0.5", "application/x-ndjson"),
        ("application/x-ndjson;q=0, */*", "text/event-stream"),
        ("application/x-ndjson; q=0.000", "text/event-stream"),
        ("application/x-ndjson-seq", "text/event-stream"),
    ],
)
def test_content_type_by_accept(start_service, accept, content_type):
    reply = start_service(DEMO).stream("x", headers={"Accept": accept}).read_head()
    assert reply.header("Content-Type") == content_type


def test_http10_and_keep_alive(start_service):
    service = start_service(DEMO)
    assert service.stream("x", version="HTTP/1.0").ended_with_done()
    with service.connect() as connection:
        for _ in range(3):
            connection.request("POST", _STREAM, body=invocation("x"))
            assert is_done(connection.read_reply().lines()[-1])


def test_every_line_has_every_key(start_service):
    lines = start_service(DEMO).stream(
        "call current_time", response_granularity="full"
    ).read_all()
    for line in lines:
        assert set(line) == _KEYS
        assert line["event"] in ("message", "updates", "state", "error")
        assert line["thread_id"] == line["metadata"]["thread_id"] == lines[0]["thread_id"]
        assert line["run_id"] == lines[0]["run_id"]
        assert line["metadata"]["is_new_thread"] is True
        assert isinstance(line["timestamp"], float)
    stamps = [line["timestamp"] for line in lines]
    assert stamps == sorted(stamps)
    assert is_done(lines[-1]) and not any(is_done(line) for line in lines[:-1])


def test_deltas_then_the_whole_message(start_service):
    lines = start_service(DEMO).stream("one two three").read_all()
    messages = [line["message"] for line in lines if line["event"] == "message"]
    assert all(message["role"] == "assistant" for message in messages)
    deltas = [message for message in messages if message["delta"]]
    whole = [message for message in messages if not message["delta"]]
    assert len(deltas) > 1 and len(whole) == 1 and messages[-1] is whole[0]
    joined = "".join(block["text"] for message in deltas for block in message["content"])
    assert joined == whole[0]["content"][0]["text"] == "You said: one two three"
    assert {message["message_id"] for message in messages} == {whole[0]["message_id"]}
    assert [bool(message["usages"]) for message in messages] == [False] * len(deltas) + [True]


def test_tool_activity_arrives_as_messages(start_service):
    lines = start_service(DEMO).stream("call current_time").read_all()
    whole = [
        line["message"] for line in lines if line["event"] == "message" and not line["message"]["delta"]
    ]
    assert [message["role"] for message in whole] == ["assistant", "tool", "assistant"]
    types = [block["type"] for message in whole for block in message["content"]]
    assert types.count("tool_call") == 1 and types.count("tool_result") == 1


@pytest.mark.parametrize("granularity", [None, "low", "partial", "full"])
def test_granularity(start_service, granularity):
    more = {"response_granularity": granularity} if granularity else {}
    lines = start_service(behaviour("echo")).stream("x", **more).read_all()
    events = [line["event"] for line in lines]
    updates = [line for line in lines if line["event"] == "updates"]
    assert "message" in events and is_done(lines[-1])
    if granularity in (None, "low"):
        assert len(updates) == 1 and "state" not in events
        assert all(line["state"] is None for line in lines)
    else:
        assert len(updates) > 1
        assert all(line["state"]["context"] for line in updates)
        assert ("state" in events) == (granularity == "full")


def test_user_input_is_not_echoed(start_service):
    lines = start_service(DEMO).stream("hello").read_all()
    assert not any(line["message"]["role"] == "user" for line in lines if line["message"])


def test_failing_node_ends_with_error_and_done(start_service):
    service = start_service(behaviour("throwing"))
    stream = service.stream("x")
    assert stream.read_head().status == 200
    lines = stream.read_all()
    assert lines[-2]["event"] == "error" and lines[-2]["data"]["reason"]
    assert is_done(lines[-1])
    assert sum(line["event"] == "error" for line in lines) == 1


@pytest.mark.parametrize(
    "agent, fields", [("throwing", {}), ("endless", {"recursion_limit": 3})], ids=["graph", "recursion"]
)
def test_an_error_has_the_code_that_invoke_answers(start_service, agent, fields):
    service = start_service(behaviour(agent))
    error = service.invoke("x", **fields).json()["error"]
    with WebSocket(service.port) as socket:
        socket.upgrade().send_json(invocation("x", **fields))
        framed = socket.read_run()
    for lines in (service.post(_STREAM, invocation("x", **fields)).lines(), framed):
        assert lines[-2]["event"] == "error" and is_done(lines[-1])
        assert lines[-2]["data"]["code"] == error["code"]
        assert lines[-2]["data"]["reason"] == error["message"]


def test_recursion_limit_ends_with_error_and_done(start_service):
    lines = start_service(behaviour("endless")).stream("x", recursion_limit=2).read_all()
    assert lines[-2]["event"] == "error" and is_done(lines[-1])


def test_validation_fails_before_the_stream(start_service):
    service = start_service(DEMO)
    for body in ("{", {"messages": []}, {"messages": [user("x")], "recursion_limit": 0}):
        reply = service.post(_STREAM, body)
        assert reply.status == 422
        assert reply.header("Content-Type") == "application/json"
        assert reply.header("X-Accel-Buffering") is None
        assert reply.header("Cache-Control") is None
        assert reply.json()["error"]["code"] == "VALIDATION_ERROR"


def test_lines_arrive_as_they_are_produced(start_service, gated_provider):
    model = {"provider": "openai", "model": "m", "base_url": gated_provider.base_url, "api_key": "k"}
    service = start_service({"agent": "graphs/support.json:app", "models": {"default": model}})
    stream = service.stream("x")
    first = stream.read_line()  # arrives while the provider waits at its gate
    assert first.value["message"]["delta"] is True
    assert gated_provider.finished == 0
    gated_provider.open_gate()
    assert stream.ended_with_done()
    assert stream.final_text() == gated_provider.text


def test_state_shows_the_run_on_every_worker(start_service):
    service = start_service(behaviour("sleeping"), workers=2)
    stream = service.stream("x", config={"thread_id": "t", "sleep_ms": 600_000})
    assert stream.read_head().status == 200
    for _ in range(8):
        meta = service.get("/v1/threads/t/state").json()["data"]["state"]["execution_meta"]
        assert meta["is_running"] is True
        assert meta["current_node"] in ("START", "SLEEP")
        assert "interrupt" not in meta
    stream.close()


def test_stream_under_a_prefix_with_pipelining(start_service):
    service = start_service(DEMO, prefix="/support/")
    with service.connect() as connection:
        request = http1.request_bytes("POST", "/support" + _STREAM, body=invocation("x"))
        connection.send(request + request)
        for _ in range(2):
            assert is_done(connection.read_reply().lines()[-1])
