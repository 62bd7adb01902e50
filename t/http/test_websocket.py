"""WS /v1/graph/ws and /v1/graph/live against a real nginx, at the level of the protocol."""

import asyncio
import json
import ssl
import subprocess

import pytest
import websockets

from harness import http1
from harness.agents import DEMO
from harness.graph_socket import TARGET, final_text, gated_settings, open_socket
from harness.service import invocation
from harness.waiting import wait_until
from harness.websocket import BINARY, CLOSE, TEXT, WebSocket, close_frame, frame, handshake_headers


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
@pytest.mark.parametrize("target", [TARGET, "/v1/graph/live"])
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
        reply = service.request(method, TARGET, headers=handshake_headers())
        assert reply.status == 405 and "GET" in reply.header("Allow")
    assert service.request("GET", TARGET, headers=handshake_headers(), version="HTTP/1.0").status == 400


def test_handshake_lists_and_subprotocols(start_service):
    service = start_service(DEMO | {"websocket": {"bearer_protocols": ["other-bearer"]}})
    socket = open_socket(service, Connection="keep-alive, Upgrade", Upgrade="foo, WebSocket")
    assert socket.reply.header("Sec-WebSocket-Protocol") is None
    assert socket.reply.header("X-Request-ID")
    for offer, chosen in [
        ("service-bearer, token", "service-bearer"),
        ("other-bearer, token", "other-bearer"),
        ("service-bearer", "service-bearer"),
        ("chat", None),
    ]:
        socket = open_socket(service, Sec_WebSocket_Protocol=offer)
        assert socket.reply.header("Sec-WebSocket-Protocol") == chosen


def test_origin_is_bound_by_cors(start_service):
    service = start_service(DEMO | {"cors": {"origins": ["https://app.example"]}})
    open_socket(service, Origin="https://app.example")
    open_socket(service)
    reply = service.get(TARGET, headers=handshake_headers(Origin="https://evil.example"))
    assert reply.status == 403 and reply.header("X-WS-Close-Code") == "1008"


def test_connection_cap(start_service):
    service = start_service(DEMO | {"websocket": {"max_connections": 2}}, workers=1)
    first, second = open_socket(service), open_socket(service)
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
    socket.send(http1.request_bytes("GET", TARGET, handshake_headers()))
    return socket.read_head().status == 101


def test_many_runs_on_one_socket(start_service):
    service = start_service(DEMO)
    socket = open_socket(service)
    socket.send_json(invocation("hello one"))
    chunks = socket.read_run()
    thread = chunks[0]["thread_id"]
    assert thread and all(chunk["thread_id"] == thread for chunk in chunks)
    assert chunks[0]["metadata"]["is_new_thread"] is True
    assert "hello one" in final_text(chunks)
    # Sent without waiting for answers: they run one after the other.
    for text in ("two", "three"):
        socket.send_json(invocation(text, config={"thread_id": thread}))
    for text in ("two", "three"):
        chunks = socket.read_run()
        assert chunks[0]["metadata"]["is_new_thread"] is False
        assert text in final_text(chunks)
    socket.send(close_frame(1000))
    assert socket.is_closed_with(1000)


def test_chunks_equal_those_of_the_http_stream(start_service):
    service = start_service(DEMO)
    request = invocation("same", response_granularity="full")
    socket = open_socket(service)
    socket.send_json(request)
    shapes = [(c["event"], sorted(c)) for c in socket.read_run()]
    lines = service.post("/v1/graph/stream", request).lines()
    assert shapes == [(c["event"], sorted(c)) for c in lines]


@pytest.mark.parametrize(
    "bad", [frame(TEXT, "no json"), frame(BINARY, b"{}"), frame(TEXT, "[1]"), frame(TEXT, '"x"')]
)
def test_no_object_gets_one_error_chunk(start_service, bad):
    socket = open_socket(start_service(DEMO))
    socket.send(bad)
    chunk = socket.read_json()
    assert chunk["event"] == "error" and chunk["data"]["reason"]
    socket.send_json(invocation("works"))
    assert "works" in final_text(socket.read_run())


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
    socket = open_socket(start_service(DEMO))
    socket.send_json(bad)
    error, done = socket.read_run()
    assert error["event"] == "error" and error["data"]["reason"]
    assert done["event"] == "updates"
    socket.send_json(invocation("works"))
    assert "works" in final_text(socket.read_run())


def test_close_during_a_run_cancels_it(start_service, gated_provider):
    service = start_service(gated_settings(gated_provider))
    socket = open_socket(service)
    socket.send_json(invocation("x"))
    gated_provider.wait_for_waiting(1)
    socket.send(close_frame(1000))
    frames = []
    while not frames or frames[-1].opcode != CLOSE:
        frames.append(socket.read_frame())
    assert frames[-1].close_code == 1000
    wait_until(lambda: gated_provider.aborted == 1, "the model call is aborted")


def test_abort_during_a_run_cancels_it(start_service, gated_provider):
    service = start_service(gated_settings(gated_provider))
    socket = open_socket(service)
    socket.send_json(invocation("x"))
    gated_provider.wait_for_waiting(1)
    socket.reset()
    wait_until(lambda: gated_provider.aborted == 1, "the model call is aborted")


def test_run_past_its_deadline_leaves_the_socket_open(start_service, gated_provider):
    service = start_service(
        gated_settings(gated_provider), location="agent_graph_run_timeout 300ms;"
    )
    socket = open_socket(service)
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
    assert gated_provider.text in final_text(chunks)


def test_live_route_of_a_graph_that_is_not_live(start_service):
    service = start_service(DEMO)
    socket = WebSocket(service.port).upgrade("/v1/graph/live")
    event = socket.read_json()
    assert event["type"] == "error" and event["code"] == "not_live" and event["fatal"] is True
    assert socket.read_close().close_code == 1008
    socket.send(close_frame(1008))
    assert socket.is_closed_by_server()


def test_reload_closes_idle_sockets_and_lets_runs_finish(start_service, gated_provider):
    service = start_service(
        gated_settings(gated_provider), http="agent_graph_shutdown_jitter 300ms;", workers=1
    )
    idle = [open_socket(service) for _ in range(5)]
    busy = open_socket(service)
    busy.send_json(invocation("x"))
    gated_provider.wait_for_waiting(1)
    service.reload()
    for socket in idle:
        closing = socket.read_close()
        assert closing.close_code == 1001 and closing.reason
        socket.send(close_frame(1001))
        assert socket.is_closed_by_server()
    gated_provider.open_gate()
    assert gated_provider.text in final_text(busy.read_run())
    assert busy.read_close().close_code == 1001
    busy.send(close_frame(1001))
    assert busy.is_closed_by_server()
    wait_until(lambda: not service.draining_workers(), "the old worker has gone")


def test_a_client_that_sends_ahead_does_not_keep_a_leaving_worker(start_service, gated_provider):
    service = start_service(gated_settings(gated_provider), workers=1)
    socket = open_socket(service)
    for _ in range(3):
        socket.send_json(invocation("x"))
    gated_provider.wait_for_waiting(1)
    service.reload()
    socket.send_json(invocation("y"))
    gated_provider.open_gate()
    assert gated_provider.text in final_text(socket.read_run())
    assert socket.agrees_to_close(1001)
    wait_until(lambda: not service.draining_workers(), "the old worker has gone")


async def _talk(url, context=None):
    # Without the limits of time that the package has.
    patient = dict.fromkeys(("open_timeout", "ping_interval", "close_timeout"))
    async with websockets.connect(url, ssl=context, subprotocols=["service-bearer"], **patient) as socket:
        assert socket.subprotocol == "service-bearer"
        for size in (10, 70_000):
            await socket.send(json.dumps(invocation("w" * size)))
            chunks = [json.loads(await socket.recv())]
            while (chunks[-1]["data"] or {}).get("status") != "done":
                chunks.append(json.loads(await socket.recv()))
            assert "w" * size in final_text(chunks)
        await (await socket.ping())
    assert socket.close_code == 1000


def test_with_python_websockets(start_service):
    service = start_service(DEMO)
    asyncio.run(_talk(f"ws://127.0.0.1:{service.port}{TARGET}"))


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
    asyncio.run(_talk(f"wss://127.0.0.1:{service.port}{TARGET}", context))


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

    socket = open_socket(service)
    socket.send(close_frame(4000))
    assert socket.is_closed_with(4000)
    socket.close()
    assert logged(1) == "101 ok 4000"
    open_socket(service).reset()
    assert logged(2) == "101 client_abort 1006"
    socket = WebSocket(service.port).upgrade("/v1/graph/live")
    socket.read_frame()
    socket.read_close()
    socket.send(close_frame(1008))
    socket.close()
    assert logged(3) == "101 rejected 1008"
