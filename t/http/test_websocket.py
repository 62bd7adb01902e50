"""WS /v1/graph/ws and /v1/graph/live against a real nginx, at the level of the protocol."""

import asyncio
import json
import ssl
import subprocess
import threading

import pytest
import websockets

from harness import http1
from harness.agents import DEMO
from harness.gated_provider import GatedProvider
from harness.messages import text_of
from harness.service import invocation
from harness.waiting import wait_until
from harness.websocket import (
    BINARY,
    CLOSE,
    PING,
    PONG,
    TEXT,
    WebSocket,
    close_frame,
    frame,
    handshake_headers,
)

_TARGET = "/v1/graph/ws"


def _open(service, **headers):
    return WebSocket(service.port).upgrade(service.prefix + _TARGET, **headers)


def _gated(provider):
    model = {"provider": "openai", "model": "gated", "base_url": provider.base_url, "api_key": "key"}
    return {"agent": "graphs/support.json:app", "models": {"default": model}}


def _final_text(chunks):
    messages = [c["message"] for c in chunks if c["event"] == "message" and c["message"]]
    final = [m for m in messages if m["role"] == "assistant" and not m.get("delta")]
    return text_of(final[-1])


# Handshake


@pytest.mark.parametrize(
    "changed, status",
    [
        ({"Upgrade": None}, 426),
        ({"Upgrade": "h2c"}, 426),
        ({"Connection": "keep-alive"}, 400),
        ({"Sec_WebSocket_Version": "8"}, 426),
        ({"Sec_WebSocket_Version": None}, 426),
        ({"Sec_WebSocket_Key": None}, 400),
        ({"Sec_WebSocket_Key": "c2hvcnQ="}, 400),
        ({"Content_Length": "3"}, 400),
    ],
)
@pytest.mark.parametrize("target", [_TARGET, "/v1/graph/live"])
def test_bad_handshakes(start_service, target, changed, status):
    service = start_service(DEMO)
    with service.connect() as connection:
        connection.request("GET", target, handshake_headers(**changed))
        connection.send(b"abc" if "Content_Length" in changed else b"")
        reply = connection.read_reply()
    assert reply.status == status, reply.text
    assert reply.json()["error"]["code"] == ("UPGRADE_REQUIRED" if status == 426 else "BAD_REQUEST")
    if status == 426:
        assert reply.header("Sec-WebSocket-Version") == "13"


def test_only_get_over_http11(start_service):
    service = start_service(DEMO)
    for method in ("POST", "HEAD"):
        reply = service.request(method, _TARGET, headers=handshake_headers())
        assert reply.status == 405 and "GET" in reply.header("Allow")
    assert service.request("GET", _TARGET, headers=handshake_headers(), version="HTTP/1.0").status == 400


def test_handshake_lists_and_subprotocols(start_service):
    service = start_service(DEMO | {"websocket": {"bearer_protocols": ["other-bearer"]}})
    socket = _open(service, Connection="keep-alive, Upgrade", Upgrade="foo, WebSocket")
    assert socket.reply.header("Sec-WebSocket-Protocol") is None
    assert socket.reply.header("X-Request-ID")
    for offer, chosen in [
        ("service-bearer, token", "service-bearer"),
        ("other-bearer, token", "other-bearer"),
        ("service-bearer", "service-bearer"),
        ("chat", None),
    ]:
        socket = _open(service, Sec_WebSocket_Protocol=offer)
        assert socket.reply.header("Sec-WebSocket-Protocol") == chosen


def test_origin_is_bound_by_cors(start_service):
    service = start_service(DEMO | {"cors": {"origins": ["https://app.example"]}})
    _open(service, Origin="https://app.example")
    _open(service)
    reply = service.get(_TARGET, headers=handshake_headers(Origin="https://evil.example"))
    assert reply.status == 403 and reply.header("X-WS-Close-Code") == "1008"


def test_connection_cap(start_service):
    service = start_service(DEMO | {"websocket": {"max_connections": 2}}, workers=1)
    first, second = _open(service), _open(service)
    reply = service.get("/v1/graph/live", headers=handshake_headers())
    assert reply.status == 503 and reply.header("X-WS-Close-Code") == "1013"
    assert reply.header("Retry-After")
    assert service.get("/ping").status == 200
    first.send(close_frame(1000))
    assert first.is_closed_with(1000)
    second.reset()
    kept = []
    for _ in range(2):
        wait_until(lambda: _can_open(service, kept), "a place is free")
    assert not _can_open(service, kept)


def _can_open(service, kept):
    socket = WebSocket(service.port)
    kept.append(socket)
    socket.send(http1.request_bytes("GET", _TARGET, handshake_headers()))
    return socket.read_head().status == 101


# Runs


def test_many_runs_on_one_socket(start_service):
    service = start_service(DEMO)
    socket = _open(service)
    socket.send_json(invocation("hello one"))
    chunks = socket.read_run()
    thread = chunks[0]["thread_id"]
    assert thread and all(chunk["thread_id"] == thread for chunk in chunks)
    assert chunks[0]["metadata"]["is_new_thread"] is True
    assert "hello one" in _final_text(chunks)
    # Sent without waiting for answers: they run one after the other.
    for text in ("two", "three"):
        socket.send_json(invocation(text, config={"thread_id": thread}))
    for text in ("two", "three"):
        chunks = socket.read_run()
        assert chunks[0]["metadata"]["is_new_thread"] is False
        assert text in _final_text(chunks)
    socket.send(close_frame(1000))
    assert socket.is_closed_with(1000)


def test_chunks_equal_those_of_the_http_stream(start_service):
    service = start_service(DEMO)
    request = invocation("same", response_granularity="full")
    socket = _open(service)
    socket.send_json(request)
    shapes = [(c["event"], sorted(c)) for c in socket.read_run()]
    lines = service.post("/v1/graph/stream", request).lines()
    assert shapes == [(c["event"], sorted(c)) for c in lines]


@pytest.mark.parametrize(
    "bad", [frame(TEXT, "no json"), frame(BINARY, b"{}"), frame(TEXT, "[1]"), frame(TEXT, '"x"')]
)
def test_no_object_gets_one_error_chunk(start_service, bad):
    socket = _open(start_service(DEMO))
    socket.send(bad)
    chunk = socket.read_json()
    assert chunk["event"] == "error" and chunk["data"]["reason"]
    socket.send_json(invocation("works"))
    assert "works" in _final_text(socket.read_run())


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"messages": []},
        {"invoke_type": "resume", "tool_result": [{"role": "tool", "content": "x"}]},
        {"invoke_type": "resume", "config": {"thread_id": "t"}},
        {"invoke_type": "later", "messages": [{"role": "user", "content": "x"}]},
        {"messages": [{"role": "user", "content": "x"}], "recursion_limit": 0},
    ],
)
def test_refused_request_gets_error_and_done(start_service, bad):
    socket = _open(start_service(DEMO))
    socket.send_json(bad)
    error, done = socket.read_run()
    assert error["event"] == "error" and error["data"]["reason"]
    assert done["event"] == "updates"
    socket.send_json(invocation("works"))
    assert "works" in _final_text(socket.read_run())


def test_close_during_a_run_cancels_it(start_service, gated_provider):
    service = start_service(_gated(gated_provider))
    socket = _open(service)
    socket.send_json(invocation("x"))
    gated_provider.wait_for_waiting(1)
    socket.send(close_frame(1000))
    frames = []
    while not frames or frames[-1].opcode != CLOSE:
        frames.append(socket.read_frame())
    assert frames[-1].close_code == 1000
    wait_until(lambda: gated_provider.aborted == 1, "the model call is aborted")


def test_abort_during_a_run_cancels_it(start_service, gated_provider):
    service = start_service(_gated(gated_provider))
    socket = _open(service)
    socket.send_json(invocation("x"))
    gated_provider.wait_for_waiting(1)
    socket.reset()
    wait_until(lambda: gated_provider.aborted == 1, "the model call is aborted")


def test_run_past_its_deadline_leaves_the_socket_open(start_service, gated_provider):
    service = start_service(
        _gated(gated_provider), location="agent_graph_run_timeout 300ms;"
    )
    socket = _open(service)
    socket.send_json(invocation("x"))
    chunks = socket.read_run()
    assert any(chunk["event"] == "error" for chunk in chunks)
    gated_provider.open_gate()

    def runs_again():
        # A run with a limit of 300 ms may need more on a loaded machine.
        socket.send_json(invocation("again"))
        chunks = socket.read_run()
        return not any(chunk["event"] == "error" for chunk in chunks) and chunks

    chunks = wait_until(runs_again, "a run ends in time")
    assert gated_provider.text in _final_text(chunks)


def test_live_route_of_a_graph_that_is_not_live(start_service):
    service = start_service(DEMO)
    socket = WebSocket(service.port).upgrade("/v1/graph/live")
    event = socket.read_json()
    assert event["type"] == "error" and event["code"] == "not_live" and event["fatal"] is True
    assert socket.read_close().close_code == 1008
    socket.send(close_frame(1008))
    assert socket.is_closed_by_server()


# The protocol


def test_frames_glued_to_the_handshake(start_service):
    service = start_service(DEMO)
    early = frame(PING, "early") + frame(TEXT, json.dumps(invocation("first")))
    socket = WebSocket(service.port).upgrade(early=early)
    first = socket.read_frame()
    assert (first.opcode, first.payload) == (PONG, b"early")
    assert "first" in _final_text(socket.read_run())


def test_any_cut_of_the_bytes(start_service):
    socket = _open(start_service(DEMO))
    text = json.dumps(invocation("caf\u00e9 \u20ac"), ensure_ascii=False).encode()
    data = b"".join(
        frame(TEXT if i == 0 else 0, text[i : i + 7], final=i + 7 >= len(text))
        + frame(PING, str(i))
        for i in range(0, len(text), 7)
    )
    socket.send_split(data, 5)
    answers = []
    while True:
        answer = socket.read_frame()
        if answer.opcode == PONG:
            continue
        answers.append(answer.json())
        if (answers[-1]["data"] or {}).get("status") == "done":
            break
    assert "caf\u00e9 \u20ac" in _final_text(answers)


@pytest.mark.parametrize(
    "data, code",
    [
        (frame(TEXT, "x", masked=False), 1002),
        (frame(TEXT, "x", reserved=4), 1002),
        (frame(3, "x"), 1002),
        (frame(11, "x"), 1002),
        (frame(0, "x"), 1002),
        (frame(TEXT, "x", final=False) + frame(TEXT, "y"), 1002),
        (frame(PING, "x", final=False), 1002),
        (frame(PING, b"x" * 126), 1002),
        (frame(TEXT, b"\xff"), 1007),
        (frame(TEXT, b"\xe2\x82", final=False) + frame(0, b"x"), 1007),
        (frame(CLOSE, b"\x03"), 1002),
        (close_frame(1005), 1002),
        (close_frame(1000, b"\xff"), 1007),
        (frame(TEXT, b"", length=20 << 20), 1009),
        (frame(TEXT, b"", length=(1 << 63) - 1), 1009),
        (close_frame(), 1000),
        (close_frame(1000, b"bye"), 1000),
        (close_frame(4321), 4321),
    ],
)
def test_rules_and_close_codes(start_service, data, code):
    socket = _open(start_service(DEMO))
    socket.send(data)
    assert socket.is_closed_with(code)


def test_message_limit_is_that_of_the_location(start_service):
    service = start_service(DEMO, location="agent_graph_ws_max_message 4k;")
    socket = _open(service)
    socket.send(frame(TEXT, b" " * 3000, final=False) + frame(0, b"", length=1200))
    assert socket.is_closed_with(1009)


def test_large_message_in_fragments(start_service):
    service = start_service(DEMO)
    socket = _open(service)
    text = json.dumps(invocation("z" * 300_000)).encode()
    for i in range(0, len(text), 4000):
        socket.send(frame(TEXT if i == 0 else 0, text[i : i + 4000], final=i + 4000 >= len(text)))
    assert "z" * 300_000 in _final_text(socket.read_run())


def test_server_pings_and_gives_up_on_silence(start_service):
    service = start_service(
        DEMO,
        location="agent_graph_ws_ping 200ms timeout=10m;",
        server="location /hasty/ { agent_graph test; agent_graph_ws_ping 200ms timeout=400ms; }",
    )
    socket = _open(service)
    for _ in range(3):
        ping = socket.read_frame()
        assert ping.opcode == PING
        socket.send(frame(PONG, ping.payload))
    silent = WebSocket(service.port).upgrade("/hasty" + _TARGET)
    assert silent.read_frame().opcode == PING
    assert silent.is_closed_by_server()
    socket.send_json(invocation("still here"))
    while (answer := socket.read_frame()).opcode == PING:
        pass
    assert answer.opcode == TEXT


def test_peer_that_does_not_answer_a_close(start_service):
    service = start_service(DEMO, location="agent_graph_ws_close_timeout 200ms;")
    socket = WebSocket(service.port).upgrade("/v1/graph/live")
    assert socket.read_json()["code"] == "not_live"
    assert socket.is_closed_with(1008)


def test_flood_of_frames_waits_its_turn(start_service, gated_provider):
    """Far more messages than the mailbox holds, while a run keeps the engine busy."""
    service = start_service(_gated(gated_provider))
    socket = _open(service)
    socket.send_json(invocation("x"))
    gated_provider.wait_for_waiting(1)
    bad = frame(TEXT, "[" + "1," * 4000 + "1]")
    count = 200
    sender = threading.Thread(target=lambda: [socket.send(bad) for _ in range(count)])
    sender.start()
    gated_provider.open_gate()
    assert socket.read_run()[-1]["data"]["status"] == "done"
    for _ in range(count):
        assert socket.read_json()["event"] == "error"
    sender.join()
    socket.send_json(invocation("y"))
    assert gated_provider.text in _final_text(socket.read_run())


def test_slow_reader_holds_the_provider_back(start_service):
    provider = GatedProvider(["x" * 16384] * 250, before_gate=None, send_buffer=64 * 1024)
    try:
        service = start_service(_gated(provider), listen="sndbuf=64k")
        socket = WebSocket(service.port, receive_buffer=4096).upgrade()
        socket.send_json(invocation("much"))
        seen = [-1, 0]

        def stalled():
            seen[1] = seen[1] + 1 if provider.sent_bytes == seen[0] else 0
            seen[0] = provider.sent_bytes
            return seen[1] > 50

        wait_until(stalled, "the provider is blocked")
        assert provider.sent_bytes < len(provider.text)
        assert _final_text(socket.read_run()) == provider.text
    finally:
        provider.close()


def test_messages_are_bounded_over_all_sockets(start_service, gated_provider):
    settings = _gated(gated_provider) | {"limits": {"buffered_bytes_max": 1024 * 1024}}
    service = start_service(settings, workers=1)
    first, second = _open(service), _open(service)
    whole = frame(TEXT, json.dumps(invocation("x" * 700_000)))
    first.send(whole[:600_000])
    # Incomplete messages count as buffered, for other requests, too.
    wait_until(lambda: service.invoke("x" * 600_000).status == 503, "the message is read")
    second.send(whole[:600_000])
    closed = second.read_close()
    assert closed.close_code == 1013 and closed.reason == "the server is busy"
    first.send(whole[600_000:])
    gated_provider.wait_for_waiting(1)
    # A message that is being processed counts, too.
    assert service.invoke("x" * 600_000).status == 503
    gated_provider.open_gate()
    assert first.read_run()[-1]["data"]["status"] == "done"
    wait_until(lambda: service.invoke("x" * 600_000).status == 200, "there is room again")


# Reload


def test_reload_closes_idle_sockets_and_lets_runs_finish(start_service, gated_provider):
    service = start_service(
        _gated(gated_provider), http="agent_graph_shutdown_jitter 300ms;", workers=1
    )
    idle = [_open(service) for _ in range(5)]
    busy = _open(service)
    busy.send_json(invocation("x"))
    gated_provider.wait_for_waiting(1)
    service.reload()
    for socket in idle:
        closing = socket.read_close()
        assert closing.close_code == 1001 and closing.reason
        socket.send(close_frame(1001))
        assert socket.is_closed_by_server()
    gated_provider.open_gate()
    assert gated_provider.text in _final_text(busy.read_run())
    assert busy.read_close().close_code == 1001
    busy.send(close_frame(1001))
    assert busy.is_closed_by_server()
    wait_until(lambda: not service.draining_workers(), "the old worker has gone")


# Another implementation, and TLS


async def _talk(url, context=None):
    async with websockets.connect(url, ssl=context, subprotocols=["service-bearer"]) as socket:
        assert socket.subprotocol == "service-bearer"
        for size in (10, 70_000):
            await socket.send(json.dumps(invocation("w" * size)))
            chunks = [json.loads(await socket.recv())]
            while (chunks[-1]["data"] or {}).get("status") != "done":
                chunks.append(json.loads(await socket.recv()))
            assert "w" * size in _final_text(chunks)
        await (await socket.ping())
    assert socket.close_code == 1000


def test_with_python_websockets(start_service):
    service = start_service(DEMO)
    asyncio.run(_talk(f"ws://127.0.0.1:{service.port}{_TARGET}"))


def test_over_tls(make_service):
    service = make_service(
        DEMO, listen="ssl", server="ssl_certificate cert.pem; ssl_certificate_key key.pem;"
    )
    subprocess.run(
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
        "-keyout key.pem -out cert.pem".split(),
        cwd=service.directory / "conf",
        check=True,
        capture_output=True,
    )
    service.start()
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    asyncio.run(_talk(f"wss://127.0.0.1:{service.port}{_TARGET}", context))


def test_access_log_tells_how_it_ended(start_service):
    service = start_service(
        DEMO,
        http="log_format ws '$status $agent_graph_outcome $agent_graph_ws_close_code';\n",
        location="access_log logs/ws.log ws;",
        workers=1,
    )
    log = service.directory / "logs" / "ws.log"

    def logged(count):
        wait_until(lambda: log.exists() and len(log.read_text().splitlines()) >= count, "it is logged")
        return log.read_text().splitlines()[-1]

    socket = _open(service)
    socket.send(close_frame(4000))
    assert socket.is_closed_with(4000)
    socket.close()
    assert logged(1) == "101 ok 4000"
    _open(service).reset()
    assert logged(2) == "101 client_abort 1006"
    socket = WebSocket(service.port).upgrade("/v1/graph/live")
    socket.read_frame()
    socket.read_close()
    socket.send(close_frame(1008))
    socket.close()
    assert logged(3) == "101 rejected 1008"
