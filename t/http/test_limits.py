"""Behaviour at the limits: runs, queue, buffered bytes, body sizes, and nginx's own limits."""

import json
import os

import pytest

from harness import http1, http2
from harness.agents import DEMO, behaviour
from harness.messages import texts, user
from harness.service import invocation
from harness.stream import is_done
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.waiting import wait_until
from harness.websocket import handshake_headers

_INVOKE = "/v1/graph/invoke"


def _assert_error(reply, status, code):
    assert reply.status == status, reply.text
    assert reply.header("Content-Type") == "application/json"
    body = reply.json()
    assert body["error"]["code"] == code
    assert body["detail"] == body["error"]["message"]
    assert body["metadata"]["request_id"] == reply.header("X-Request-ID")


def _gated(provider, **other):
    model = {"provider": "openai", "model": "m", "base_url": provider.base_url, "api_key": "k"}
    return {"agent": "graphs/support.json:app", "models": {"default": model}} | other


def test_full_queue_is_503_with_retry_after(start_service, gated_provider):
    service = start_service(
        _gated(gated_provider, limits={"runs_max": 1}),
        workers=1, http2=True, service_options="queue=1",
    )
    # Streams of one connection reach the worker in order.
    with http2.Http2Connection(service.http2_port) as connection:
        running = connection.request("POST", "/v1/graph/stream", body=invocation("running"))
        gated_provider.wait_for_waiting(1)
        waiting = connection.request("POST", "/v1/graph/stream", body=invocation("waiting"))
        refused = connection.request("POST", "/v1/graph/stream", body=invocation("refused"))
        reply = connection.read_reply(refused)
        _assert_error(reply, 503, "OVERLOADED")
        assert reply.header("Retry-After") == "1"
        assert service.get("/ping").status == 200
        gated_provider.open_gate()
        for stream in (running, waiting):
            assert is_done(connection.read_reply(stream).lines()[-1])
    assert service.invoke("again").status == 200


def test_runs_that_start_model_calls_do_not_fill_the_engine(start_service, gated_provider):
    service = start_service(_gated(gated_provider, limits={"runs_max": 2}), workers=1)
    gated_provider.open_gate()
    streams = [service.stream(f"stream {number}") for number in range(20)]
    assert all(stream.ended_with_done() for stream in streams)


def test_bodies_at_work_are_bounded(start_service, gated_provider):
    limits = {"buffered_bytes_max": 1024 * 1024}
    service = start_service(_gated(gated_provider, limits=limits), workers=1)
    large = "x" * 700_000
    stream = service.stream(large)
    gated_provider.wait_for_waiting(1)
    for headers in ({}, {"Transfer-Encoding": "chunked"}):
        body = '{"messages":[{"role":"user","content":"%s"}]}' % large
        if headers:
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body.encode())
        reply = service.post(_INVOKE, body, headers=headers)
        _assert_error(reply, 503, "OVERLOADED")
        assert reply.header("Retry-After") == "1"
    assert service.get("/v1/graph").status == 200
    gated_provider.open_gate()
    assert stream.ended_with_done()
    wait_until(lambda: service.invoke(large).status == 200, "there is room again")


def test_replies_that_nobody_reads_are_bounded(start_service):
    service = start_service(
        behaviour("echo", limits={"buffered_bytes_max": 2 * 1024 * 1024}),
        workers=1, listen="sndbuf=64k",
    )
    for _ in range(3):
        messages = {"messages": [user("x" * 900_000)]}
        assert service.post("/v1/threads/t/messages", messages).status == 200
    # The list itself is larger than the limit, but the limit applies to requests that begin later.
    reader = service.connect(receive_buffer=4096)
    reader.request("GET", "/v1/threads/t/messages")
    assert reader.read_head().status == 200
    wait_until(lambda: service.get("/v1/graph").status == 503, "the worker takes no more")
    _assert_error(service.get("/v1/graph"), 503, "OVERLOADED")
    assert service.get("/ping").status == 200
    reader.reset()
    wait_until(lambda: service.get("/v1/graph").status == 200, "there is room again")


def _chunked(body, size=16 * 1024):
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


@pytest.mark.parametrize("auth", [None, "jwt"])  # reads the body after authentication
def test_a_location_may_take_larger_bodies(start_service, auth):
    settings = DEMO | {"auth": auth, "limits": {"json_bytes_max": 100_000}}
    service = start_service(
        settings | {"env": "secrets.env"},
        files={"secrets.env": JWT_ENVIRONMENT},
        location="agent_graph_json_max_size 300k; client_max_body_size 1m;",
    )

    def ask(padding, chunked):
        body = json.dumps(invocation("hello", config={"padding": "x" * padding})).encode()
        headers = bearer("anna") + [("Content-Type", "application/json")]
        if chunked:
            headers.append(("Transfer-Encoding", "chunked"))
        return service.post(_INVOKE, _chunked(body) if chunked else body, headers=headers)

    for chunked in (False, True):
        assert ask(200_000, chunked).status == 200
        _assert_error(ask(400_000, chunked), 413, "REQUEST_TOO_LARGE")


@pytest.mark.parametrize("prefix", ["/", "/support/"])
def test_413_of_nginx_is_ours(start_service, prefix):
    service = start_service(DEMO, prefix=prefix, location="client_max_body_size 10k;", http2=True)
    body = b"x" * 200_000
    reply = service.post(_INVOKE, body)
    _assert_error(reply, 413, "REQUEST_TOO_LARGE")
    assert reply.header("Access-Control-Allow-Origin") and reply.header("X-Timestamp")
    _assert_error(
        service.post(_INVOKE, _chunked(body), headers={"Transfer-Encoding": "chunked"}),
        413, "REQUEST_TOO_LARGE",
    )
    # The limit is exceeded long after the request head.
    with service.connect() as connection:
        head = http1.request_bytes(
            "POST", service.prefix + _INVOKE, {"Transfer-Encoding": "chunked"}, b""
        )
        connection.send(head + _chunked(b"x" * 5000)[:-5])
        connection.send(_chunked(body))
        _assert_error(connection.read_reply(), 413, "REQUEST_TOO_LARGE")
    reply = http2.fetch(service.http2_port, "POST", service.prefix + _INVOKE, body=body[:40_000])
    _assert_error(reply, 413, "REQUEST_TOO_LARGE")
    with service.connect() as connection:
        connection.request("HEAD", service.prefix + _INVOKE, body=body)
        reply = connection.read_reply("HEAD")
        assert reply.status in (405, 413) and reply.header("Content-Type") == "application/json"
    assert service.invoke("small").status == 200
    assert service.error_log.lines("client intended to send too large")


def test_errors_of_other_modules_are_ours(start_service):
    service = start_service(
        DEMO,
        http="    limit_req_zone $uri zone=slow:1m rate=1r/m;\n",
        location="limit_req zone=slow; limit_req_status 429;",
        server=(
            '        location /closed/ { agent_graph test; deny all; }\n'
            '        location /own/ { agent_graph test; return 403 "the text of the configuration"; }\n'
            '        location /html/ { deny all; }\n'
        ),
    )
    assert service.get("/v1/graph").status == 200
    reply = service.get("/v1/graph")
    _assert_error(reply, 429, "RATE_LIMIT_EXCEEDED")
    assert "rate limit" in reply.json()["detail"] and reply.header("Retry-After") == "1"
    _assert_error(service.get("/closed/v1/graph"), 403, "PERMISSION_ERROR")
    assert service.get("/own/v1/graph").text == "the text of the configuration"
    assert "<html>" in service.get("/html/").text


@pytest.mark.parametrize(
    "limit", ["limit_req zone=slow;", "limit_conn open 1;", "limit_req zone=slow; limit_req_status 429;"]
)
def test_limits_of_nginx_say_that_they_are_limits(start_service, gated_provider, limit):
    service = start_service(
        _gated(gated_provider), workers=1,
        http="limit_req_zone $remote_addr zone=slow:1m rate=1r/m;"
        "limit_conn_zone $remote_addr zone=open:1m;",
        location=limit,
    )
    stream = service.stream("first")
    gated_provider.wait_for_waiting(1)
    reply = service.get("/v1/graph")
    _assert_error(reply, 429 if "429" in limit else 503, "RATE_LIMIT_EXCEEDED")
    assert reply.header("Retry-After") == "1"
    reply = service.get("/v1/graph/ws", headers=handshake_headers())
    assert reply.status == (429 if "429" in limit else 503)
    assert reply.header("X-WS-Close-Code") == "1013"
    gated_provider.open_gate()
    assert stream.ended_with_done()


@pytest.mark.skipif(os.getuid() != 0, reason="only root has to serve another user's directory")
def test_a_single_process_of_root_keeps_its_state(make_service):
    service = make_service(behaviour("echo"), main=" master_process off;")
    for expected in (["hi", "echo: hi"], ["hi", "echo: hi", "hi", "echo: hi"]):
        code, printed = service.run()
        assert code == 0, printed
        service.session = service.master_pid
        wait_until(lambda: _answers(service), "the process serves")
        reply = service.invoke("hi", config={"thread_id": "t"})
        assert reply.status == 200, reply.text
        assert texts(reply.json()["data"]["messages"]) == expected
        service.signal(3)
        service.wait_until_gone()


def _answers(service):
    try:
        return service.get("/ping").status == 200
    except (ConnectionError, http1.ConnectionClosed):
        return False
