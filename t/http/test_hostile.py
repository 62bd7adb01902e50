"""Slow, endless and oversized requests: each is limited, and other clients are not affected."""

import itertools
import json
import re
from urllib.parse import quote

import pytest

from harness import environment, http1, http2
from harness.agents import DEMO, behaviour
from harness.gated_provider import GatedProvider
from harness.service import invocation
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.waiting import wait_until

_INVOKE = "/v1/graph/invoke"
_GUARDED = {"auth": "jwt", "env": "secrets.env"}
_FILES = {"secrets.env": JWT_ENVIRONMENT}

# The shipped error pages for errors before the location is known.
_ERROR_PAGES = re.search(
    r" *error_page.*?\n(?= *location / )",
    (environment.ROOT / "conf" / "nginx.conf").read_text(),
    re.DOTALL,
).group()


def _still_serves(service, **options):
    assert service.get("/v1/graph", **options).status == 200


# Slow


def test_a_slow_head_is_cut_off(start_service):
    service = start_service(DEMO, http="client_header_timeout 300ms;")
    waiting = [service.connect() for _ in range(50)]
    for connection in waiting:
        connection.send(b"POST /v1/graph/invoke HTTP/1.1\r\nHost: a\r\nX-Slow: ")

    def served():
        try:
            return service.get("/v1/graph").status == 200
        except (ConnectionError, http1.ConnectionClosed):
            return False  # on a loaded machine, its head was slow as well

    wait_until(served, "another client is served")
    for connection in waiting:
        assert connection.is_closed_by_server()


@pytest.mark.parametrize("settings, headers", [({}, []), (_GUARDED, bearer())], ids=["open", "late"])
@pytest.mark.parametrize("framing", ["Content-Length: 1000", "Transfer-Encoding: chunked"])
def test_a_slow_body_is_cut_off(start_service, settings, headers, framing):
    service = start_service(DEMO | settings, files=_FILES, location="client_body_timeout 300ms;")
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    head = f"POST {_INVOKE} HTTP/1.1\r\nHost: a\r\n{lines}{framing}\r\n\r\n".encode()
    piece = b'5\r\n{"mes\r\n' if "chunked" in framing else b'{"mes'
    waiting = [service.connect() for _ in range(20)]
    for connection in waiting:
        connection.send(head + piece)
    _still_serves(service, headers=headers)
    for connection in waiting:
        assert connection.is_closed_by_server()
    _still_serves(service, headers=headers)


def test_a_reader_that_stops_is_cut_off_and_its_run_ends(start_service):
    provider = GatedProvider(["x" * 16384] * 400, before_gate=None, send_buffer=64 * 1024)
    try:
        model = {"provider": "openai", "model": "m", "base_url": provider.base_url, "api_key": "k"}
        service = start_service(
            DEMO | {"models": {"default": model}}, location="send_timeout 500ms;", listen="sndbuf=64k"
        )
        streams = [service.stream("much", receive_buffer=4096) for _ in range(5)]
        for stream in streams:
            assert stream.read_head().status == 200
        wait_until(lambda: provider.open_connections == 0, "the model calls have ended")
        assert provider.finished == 0
        _still_serves(service)
    finally:
        provider.close()


def test_a_reader_that_takes_byte_by_byte_is_cut_off(start_service):
    service = start_service(
        behaviour("echo"),
        http="log_format outcome 'attempt $arg_attempt: $agent_graph_outcome'; access_log logs/outcome.log outcome;",
        location="agent_graph_run_timeout 3s;",
        listen="sndbuf=16k",
    )
    log = service.directory / "logs" / "outcome.log"

    attempts = itertools.count(1)

    def begun():
        # An answer that is late is 504; a loaded machine may need more than 3 seconds.
        attempt = next(attempts)
        connection = service.connect(receive_buffer=4096)
        connection.request("POST", f"{_INVOKE}?attempt={attempt}", body=invocation("x" * 100_000))
        if connection.read_head().status == 200:
            return attempt, connection
        connection.close()
        return None

    attempt, reader = wait_until(begun, "an answer begins in time")
    with reader:

        def cut_off():
            reader.socket.recv(1)
            return f"attempt {attempt}: timeout\n" in log.read_text()

        wait_until(cut_off, "the reader is cut off")
    _still_serves(service)


# Oversized


def test_heads_have_limits_and_their_refusals_a_body(start_service):
    service = start_service(
        DEMO,
        http="client_header_buffer_size 1k; large_client_header_buffers 2 2k;",
        server=_ERROR_PAGES,
    )
    cases = [
        (f"GET /v1/threads?search={'x' * 3000} HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (f"GET /ping HTTP/1.1\r\nHost: a\r\nX-Large: {'x' * 3000}\r\n\r\n", 400),
        ("GET /ping HTTP/1.1\r\nHost: a\r\n" + "X-Many: 1234567890\r\n" * 400 + "\r\n", 400),
        ("GET /ping HTTP/1.1\r\n\r\n", 400),
        ("GET /pi ng HTTP/9\r\nHost: a\r\n\r\n", 400),
        ("POST /ping HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        ("POST /ping HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ]
    for request, status in cases:
        with service.connect() as connection:
            connection.send(request.encode())
            reply = connection.read_reply()
        assert reply.status == status, request[:60]
        assert reply.header("Content-Type") == "application/json"
        body = reply.json()
        assert body["detail"] == body["error"]["message"] and body["metadata"]["request_id"]
    _still_serves(service)


def _nested(depth):
    """Returns a body with brackets nested to the given depth."""
    return '{"messages":[],"x":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


def test_nesting_is_bounded(start_service):
    service = start_service(DEMO)
    for body, problem in [
        (_nested(128), "must contain at least one message"),
        (_nested(129), "nest"),
        (_nested(100_000), "nest"),
        ('{"messages":' + "[" * 5_000_000, "nest"),
        ('{"a":' * 1_000_000, "nest"),
    ]:
        reply = service.post(_INVOKE, body)
        assert reply.status == 422, reply.text
        assert problem in reply.text, (body[:20], reply.text)
    _still_serves(service)


def test_numbers_of_values_and_large_numbers_are_bounded(start_service):
    service = start_service(behaviour("echo"))
    many = json.dumps({"messages": [1] * 200_000})
    assert service.post(_INVOKE, many).status == 422
    for number in ("1e999", "-1e999", "9" * 5000, "0." + "1" * 5000, "1e-999"):
        body = '{"messages":[{"role":"user","content":"x"}],"recursion_limit":%s}' % number
        reply = service.post(_INVOKE, body)
        assert reply.status == 422, (number[:10], reply.text)
    for text in (b"\xff", b"\xed\xa0\x80", b"\\ud800", b"\\u12", b"\x00", b"\x1f"):
        body = b'{"messages":[{"role":"user","content":"' + text + b'"}]}'
        reply = service.post(_INVOKE, body)
        assert reply.status in (200, 422), reply.text
        json.loads(reply.body.decode())
    _still_serves(service)


def test_one_key_twice_cannot_name_two_threads(start_service):
    service = start_service(DEMO | _GUARDED | {"authorization": "ownership"}, files=_FILES)
    mine = invocation("x", config={"thread_id": "alices"})
    assert service.post(_INVOKE, mine, headers=bearer("alice")).status == 200
    for config in (
        '{"thread_id":"bobs","thread_id":"alices"}',
        '{"thread_id":"alices","thread_id":"bobs"}',
    ):
        body = '{"messages":[{"role":"user","content":"x"}],"config":%s}' % config
        service.post(_INVOKE, body, headers=bearer("bob"))
    messages = service.get("/v1/threads/alices/messages", headers=bearer("alice")).json()
    assert len(messages["data"]["messages"]) == 2


# HTTP/2


def test_late_bodies_over_http2(start_service):
    service = start_service(DEMO | _GUARDED, files=_FILES, http2=True)
    body = json.dumps(invocation("x" * 300_000)).encode()
    with http2.Http2Connection(service.http2_port) as connection:
        # In pieces, for two requests alternately.
        streams = [connection.request("POST", _INVOKE, bearer(), end=False) for _ in range(2)]
        for start in range(0, len(body), 10_000):
            end = start + 10_000 >= len(body)
            for stream in streams:
                connection.send_data(stream, body[start : start + 10_000], end)
        for stream in streams:
            assert connection.read_reply(stream).status == 200
        # An unauthenticated request is answered before its body; the connection stays open.
        stranger = connection.request("POST", _INVOKE, end=False)
        assert connection.read_reply(stranger).status == 403
        known = connection.request("POST", _INVOKE, bearer(), body=b"{}")
        assert connection.read_reply(known).status == 422


def test_a_client_may_reset_its_stream_within_a_late_body(start_service):
    service = start_service(DEMO | _GUARDED, files=_FILES, http2=True)
    with http2.Http2Connection(service.http2_port) as connection:
        for _ in range(20):
            stream = connection.request("POST", _INVOKE, bearer(), end=False)
            connection.send_data(stream, b'{"messages"', False)
            connection.cancel(stream)
        known = connection.request("POST", _INVOKE, bearer(), body=b"{}")
        assert connection.read_reply(known).status == 422
    _still_serves(service, headers=bearer())


# Ambiguous


def test_pipelined_requests_are_answered_in_order(start_service):
    service = start_service(DEMO | _GUARDED, files=_FILES)
    body = json.dumps(invocation("hello")).encode()
    requests = [
        http1.request_bytes("GET", "/ping"),
        http1.request_bytes("POST", _INVOKE, bearer(), body),
        http1.request_bytes("POST", _INVOKE, [], body),
        http1.request_bytes("GET", "/v1/graph", bearer()),
    ]
    with service.connect() as connection:
        connection.send(b"".join(requests * 3))
        assert [connection.read_reply().status for _ in range(12)] == [200, 200, 403, 200] * 3


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", ["/openai/v1/chat/completions", "/openai/v1/responses"])
def test_the_id_of_a_thread_adds_no_header(start_service, path, stream):
    """Routes that answer with X-Thread-Id leave out an id that would end the header."""
    service = start_service(DEMO)
    asked = {"model": "support", "stream": stream, "messages": [{"role": "user", "content": "hi"}], "input": "hi"}
    for thread, shown in (("a\r\nX-Added: 1", None), ("a\nX-Added: 1", None), ("a: b", "a: b")):
        reply = service.post(path, asked | {"metadata": {"thread_id": thread}})
        assert reply.status == 200, reply.text
        assert reply.header("X-Added") is None
        assert reply.header("X-Thread-Id") == shown
        assert service.get(f"/v1/threads/{quote(thread, safe='')}").status == 200
