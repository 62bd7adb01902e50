"""Permissions to open a WebSocket, and to run on an open one."""

import json

import pytest

from harness import environment
from harness.agents import behaviour
from harness.configuration import shipped_directive
from harness.messages import texts
from harness.service import invocation
from harness.tokens import JWT_ENVIRONMENT, TOKEN_BYTES_MAX, bearer, token, token_of
from harness.waiting import wait_until
from harness.websocket import WebSocket, close_frame, frame, handshake_headers

_TARGET = "/v1/graph/ws"
_FILES = {"secrets.env": JWT_ENVIRONMENT}


@pytest.fixture
def start_guarded(start_service):
    def start(graph="echo", authorization="ownership", settings=None, **other):
        agent = {"agent": f"{environment.BUILD}/t/graphs/caller.so:app"} if graph == "caller" else {}
        base = behaviour("echo", auth="jwt", env="secrets.env", authorization=authorization)
        return start_service(base | agent | (settings or {}), files=_FILES, **other)

    return start


def _open(service, target=_TARGET, headers=(), **changed):
    socket = WebSocket(service.port)
    return socket.upgrade_with(target, handshake_headers(**changed) + list(headers))


def _refusal(service, target=_TARGET, headers=(), **changed):
    with service.connect() as connection:
        connection.request("GET", target, handshake_headers(**changed) + list(headers))
        reply = connection.read_reply()
    assert reply.status == 403 and reply.header("X-WS-Close-Code") == "1008", reply
    assert reply.header("Content-Type") == "application/json"
    return reply.json()


def _caller(socket):
    """Returns the user that a graph sees on this socket."""
    socket.send_json(invocation("who?"))
    messages = [chunk["message"] for chunk in socket.read_run() if chunk["event"] == "message"]
    return json.loads(texts(messages)[-1])["user"]["user_id"]


# Places of the token


def test_the_header_goes_before_the_subprotocol_and_that_before_the_query(start_guarded):
    service = start_guarded("caller")
    query = f"{_TARGET}?token={token('query')}"
    offer = "service-bearer, " + token("offer")
    assert _caller(_open(service, query, bearer("header"), Sec_WebSocket_Protocol=offer)) == "header"
    assert _caller(_open(service, query, Sec_WebSocket_Protocol=offer)) == "offer"
    assert _caller(_open(service, query)) == "query"
    # A valid token in a place of lower priority does not replace an invalid one of higher priority.
    wrong = [("Authorization", "Bearer wrong")]
    assert _refusal(service, query, wrong)["error_code"] == "INVALID_TOKEN"
    refused = _refusal(service, query, Sec_WebSocket_Protocol="service-bearer, wrong")
    assert refused["error_code"] == "INVALID_TOKEN"
    # Other authentication schemes are ignored.
    basic = [("Authorization", "Basic YTpi")]
    assert _caller(_open(service, query, basic)) == "query"


def test_long_tokens(start_guarded):
    service = start_guarded("caller", http=shipped_directive("large_client_header_buffers"))
    long = token_of(TOKEN_BYTES_MAX)
    assert _caller(_open(service, f"{_TARGET}?token={long}")) == "alice"
    assert _caller(_open(service, Sec_WebSocket_Protocol="service-bearer, " + long)) == "alice"


def test_a_token_of_the_query_reaches_no_error_log(start_guarded):
    service = start_guarded()
    secret = token("alice")
    socket = _open(service, f"{_TARGET}?a=1&token={secret}")
    socket.send(frame(3))
    assert socket.is_closed_with(1002)
    (line,) = wait_until(lambda: service.error_log.lines("violated the protocol"), "the fault is logged")
    assert f'request: "GET {_TARGET}?a=1&token=*** HTTP/1.1"' in line
    assert secret not in service.error_log.text()


def test_nor_does_one_of_a_request_that_nginx_refuses(start_guarded):
    service = start_guarded(location="client_max_body_size 10;")
    secret = token("alice")
    target = f"/v1/files/upload?token={secret}"
    assert service.post(target, b"x" * 11).status == 413
    (line,) = service.error_log.lines("client intended to send too large body")
    assert "?token=***" in line
    assert secret not in service.error_log.text()


@pytest.mark.parametrize("page", ["/pages/400.html", "@refused"])
def test_nor_does_one_of_a_request_refused_within_its_head(start_guarded, page):
    service = start_guarded(
        server=f"""
        error_page 400 {page};
        location /pages/ {{ root nowhere; }}
        location @refused {{ root nowhere; }}
""",
        log_level="notice",
    )
    secret = token("alice")
    with service.connect() as connection:
        connection.send(f"GET {_TARGET}?token={secret} HTTP/1.1\r\n\r\n".encode())
        assert connection.read_reply().status == 404
    (line,) = service.error_log.lines("nowhere.* failed")
    assert "?token=***" in line
    assert secret not in service.error_log.text()


@pytest.mark.parametrize(
    "offer, echoed",
    [
        ("{token}, service-bearer", "service-bearer"),
        ("service-bearer, {token}, chat", "service-bearer"),
        ("service-bearer", "service-bearer"),
        ("chat, {token}", None),
        ("{token}", None),
    ],
)
def test_other_offers_fall_through_to_the_query(start_guarded, offer, echoed):
    service = start_guarded("caller")
    offer = offer.format(token=token("offer"))
    assert _refusal(service, Sec_WebSocket_Protocol=offer)["error_code"] == "REVOKED_TOKEN"
    socket = _open(service, f"{_TARGET}?token={token('query')}", Sec_WebSocket_Protocol=offer)
    assert socket.reply.header("Sec-WebSocket-Protocol") == echoed
    assert _caller(socket) == "query"


def test_the_sentinel_is_echoed_and_the_token_never(start_guarded):
    service = start_guarded(settings={"websocket": {"bearer_protocols": ["other-bearer"]}})
    for sentinel in ("service-bearer", "other-bearer"):
        secret = token()
        socket = _open(service, Sec_WebSocket_Protocol=f"{sentinel}, {secret}")
        assert socket.reply.header("Sec-WebSocket-Protocol") == sentinel
        assert secret not in str(socket.reply.headers)
        socket = _open(service, headers=bearer(), Sec_WebSocket_Protocol=f"{sentinel}, {secret}")
        assert socket.reply.header("Sec-WebSocket-Protocol") == sentinel


@pytest.mark.parametrize("sentinel", ["service-bearer", "agentflow-bearer", "10xgraph-bearer"])
def test_the_shipped_settings_take_tokens_of_existing_clients(start_service, sentinel):
    shipped = json.loads((environment.ROOT / "conf" / "service.json").read_text())
    settings = shipped | {"agent": "graphs/support.json:app", "auth": "jwt", "env": "secrets.env"}
    service = start_service(settings, files=_FILES)
    socket = _open(service, Sec_WebSocket_Protocol=f"{sentinel}, {token('alice')}")
    assert socket.reply.header("Sec-WebSocket-Protocol") == sentinel
    socket.send_json(invocation("hello"))
    assert any(chunk["event"] == "message" for chunk in socket.read_run())
    refused = _refusal(service, Sec_WebSocket_Protocol=f"{sentinel}, a.b.c")
    assert refused["error_code"] == "INVALID_TOKEN"


@pytest.mark.parametrize("target", [_TARGET, "/v1/graph/live"])
@pytest.mark.parametrize(
    "headers, code",
    [
        ([], "REVOKED_TOKEN"),
        (bearer(expires_in=-1), "EXPIRED_TOKEN"),
        (bearer(secret="another secret"), "INVALID_TOKEN"),
        (bearer(user_id=None, sub="alice"), "INVALID_TOKEN"),
    ],
)
def test_refused_handshakes(start_guarded, target, headers, code):
    assert _refusal(start_guarded(), target, headers)["error_code"] == code


# Threads of other users


def test_a_foreign_thread_is_an_error_chunk_and_the_socket_goes_on(start_guarded):
    service = start_guarded()
    body = invocation("mine", config={"thread_id": "alices"})
    assert service.post("/v1/graph/invoke", body, headers=bearer("alice")).status == 200
    socket = _open(service, headers=bearer("bob"))
    resume = {
        "invoke_type": "resume",
        "tool_result": [{"role": "tool", "content": "x"}],
        "config": {"thread_id": "alices"},
    }
    for frame in (body, resume):
        socket.send_json(frame)
        error, done = socket.read_run()
        assert error["event"] == "error"
        assert error["data"]["reason"] == "Not authorized to stream graph"
        assert done["data"]["status"] == "done"
    socket.send_json(invocation("own", config={"thread_id": "bobs"}))
    assert socket.read_run()[0]["event"] == "message"
    socket.send(close_frame(1000))
    assert socket.is_closed_with(1000)
    history = service.get("/v1/threads/alices/messages", headers=bearer("alice")).json()
    assert len(history["data"]["messages"]) == 2


def test_two_names_of_threads_are_refused(start_guarded):
    socket = _open(start_guarded(), headers=bearer())
    socket.send_json(invocation("x", config={"thread_id": "a"}, thread_id="b"))
    error, _ = socket.read_run()
    assert "differs" in error["data"]["reason"]


# Limits at the handshake


def _limited(requests, **other):
    return {"rate_limit": {"requests": requests, "window": 3600} | other}


def test_a_handshake_uses_the_bucket_of_requests(start_guarded):
    service = start_guarded(settings=_limited(4))
    for _ in range(3):
        assert service.get("/v1/graph", headers=bearer()).status == 200
    socket = _open(service, headers=bearer())
    assert socket.reply.header("X-RateLimit-Remaining") == "0"
    assert service.get("/v1/graph", headers=bearer()).status == 429
    # Messages on the socket are not counted.
    for _ in range(3):
        socket.send_json(invocation("x"))
        assert socket.read_run()


@pytest.mark.parametrize("by", ["ip", "user"])
def test_a_handshake_over_the_limit_is_no_open_connection(start_guarded, by):
    service = start_guarded(
        settings=_limited(2, by=by) | {"websocket": {"max_connections": 2}}, workers=1
    )
    kept = [_open(service, headers=bearer("alice"))]
    assert service.get("/v1/graph", headers=bearer("alice")).status == 200
    for _ in range(3):
        with service.connect() as connection:
            connection.request("GET", _TARGET, handshake_headers() + bearer("alice"))
            reply = connection.read_reply()
        assert reply.status == 429 and reply.header("X-WS-Close-Code") == "1013"
        assert int(reply.header("Retry-After")) >= 1
        assert reply.json()["error"]["code"] == "RATE_LIMIT_EXCEEDED"
    if by == "user":  # the second place was not used
        kept.append(_open(service, headers=bearer("bob")))
        with service.connect() as connection:
            connection.request("GET", _TARGET, handshake_headers() + bearer("carol"))
            assert connection.read_reply().status == 503


def test_places_of_killed_workers_are_free_again(start_guarded):
    service = start_guarded(settings={"websocket": {"max_connections": 2}}, workers=1)
    for _ in range(2):
        kept = [_open(service, headers=bearer()) for _ in range(2)]
        with service.connect() as connection:
            connection.request("GET", _TARGET, handshake_headers() + bearer())
            assert connection.read_reply().status == 503
        service.kill_worker()
        for socket in kept:
            assert socket.is_closed_by_server()
    kept = [_open(service, headers=bearer()) for _ in range(2)]
