"""Limits of opening WebSockets: their number, and the rate limit before a live session."""

import concurrent.futures
import os

import pytest

from harness import environment, http1
from harness.agents import DEMO
from harness.graph_socket import try_to_open
from harness.live import LIVE, LiveClient
from harness.service import invocation
from harness.waiting import wait_until
from harness.websocket import PING, PONG, WebSocket, close_frame, frame, handshake_headers

_LIVE_TARGET = "/v1/graph/live"
_TOTAL = 5
_DESCRIPTORS = 200
# The tests do not read their sockets, so they answer no pings, and nginx would close the sockets.
_QUIET = "agent_graph_ws_ping off;"


def _is_open(socket):
    try:
        socket.send(frame(PING))
        return socket.read_frame().opcode == PONG
    except (OSError, http1.ConnectionClosed):
        return False


def _descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def _crowd(service):
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        return [socket for socket in pool.map(try_to_open, [service] * 64) if socket]


@pytest.mark.parametrize(
    "block",
    [
        {"websocket": {"max_connections": 0}},
        {"websocket": {"max_connections": None}},
        {"websocket": {}},
        {"websocket": None},
        {},
    ],
)
def test_without_a_cap_there_may_be_any_number(start_service, block):
    service = start_service(DEMO | block, workers=1)
    kept = [WebSocket(service.port).upgrade() for _ in range(300)]
    for socket in (kept[0], kept[-1]):
        socket.send_json([])
        assert socket.read_json()["event"] == "error"


def test_a_total_is_of_all_workers(start_service):
    service = start_service(DEMO | {"websocket": {"max_connections_total": _TOTAL}}, workers=4, location=_QUIET)
    kept = _crowd(service)
    assert len(kept) == _TOTAL
    with service.connect() as connection:
        connection.request("GET", _LIVE_TARGET, handshake_headers())
        assert connection.read_reply().status == 503
    kept.pop().send(close_frame(1000))

    def take_the_place():
        kept.append(try_to_open(service))
        return kept[-1] or kept.pop()

    wait_until(take_the_place, "the place is free")
    assert not _crowd(service)


def test_places_of_a_killed_worker_are_free_again(start_service):
    service = start_service(DEMO | {"websocket": {"max_connections_total": _TOTAL}}, workers=2, location=_QUIET)
    kept = _crowd(service)
    assert len(kept) == _TOTAL
    for _ in range(4):
        service.kill_worker()
        kept = [socket for socket in kept if _is_open(socket)]
        kept += _crowd(service)
        assert len(kept) == _TOTAL


def test_a_socket_that_a_reload_leaves_to_finish_counts(start_service, gated_provider):
    model = {"provider": "openai", "model": "gated", "base_url": gated_provider.base_url, "api_key": "k"}
    service = start_service(
        {
            "agent": "graphs/support.json:app",
            "models": {"default": model},
            "websocket": {"max_connections_total": _TOTAL},
        },
        workers=2,
        location=_QUIET,
    )
    busy = try_to_open(service)
    busy.send_json(invocation("x"))
    gated_provider.wait_for_waiting(1)
    service.reload()
    kept = _crowd(service)
    assert len(kept) == _TOTAL - 1
    gated_provider.open_gate()
    assert busy.read_run()[-1]["data"]["status"] == "done"


@pytest.mark.skipif(
    environment.SANITIZER == "address",
    reason="UBSan reports each call of a virtual function when it has no descriptors to look at the object",
)
def test_a_worker_without_descriptors_keeps_its_row(start_service):
    service = start_service(
        DEMO | {"websocket": {"max_connections_total": _TOTAL}},
        workers=1,
        descriptors=_DESCRIPTORS,
        location=_QUIET,
        http="client_header_timeout 10m;",  # however long it takes to open the idle connections
        server="location = /status.json { agent_graph_status format=json; }",
    )
    (pid,) = {worker.pid for worker in service.workers()}
    kept = [try_to_open(service) for _ in range(_TOTAL)]
    idle = []
    while (used := _descriptors(pid)) < _DESCRIPTORS - 1:
        idle.append(service.connect())
        wait_until(lambda used=used: _descriptors(pid) > used, "the connection is accepted")
    # Uses the last descriptor, and makes the worker search for rows of dead processes.
    assert try_to_open(service) is None
    for connection in idle:
        connection.close()
    wait_until(lambda: _descriptors(pid) < _DESCRIPTORS - len(idle) // 2, "there is room again")
    (row,) = service.get("/status.json").json()["services"][0]["rows"]
    assert row["pid"] == pid
    assert all(_is_open(socket) for socket in kept)
    assert try_to_open(service) is None


def test_a_worker_without_a_status_row_gets_one_later(start_service, gated_provider):
    model = {"provider": "openai", "model": "gated", "base_url": gated_provider.base_url, "api_key": "k"}
    service = start_service(
        {
            "agent": "graphs/support.json:app",
            "models": {"default": model},
            "websocket": {"max_connections_total": 16},
        },
        workers=1,
        service_options="zone=test:32k",
    )
    busy = []
    while not service.error_log.lines("no status row is free.* refuses WebSockets"):
        busy.append(try_to_open(service))
        busy[-1].send_json(invocation("x"))
        gated_provider.wait_for_waiting(len(busy))
        service.reload()
    assert try_to_open(service) is None
    gated_provider.open_gate()
    for socket in busy:
        assert socket.read_run()[-1]["data"]["status"] == "done"
    wait_until(lambda: try_to_open(service), "the worker has a row")


def test_a_live_handshake_over_the_rate_limit_is_refused(start_service):
    service = start_service(LIVE | {"rate_limit": {"requests": 2, "window": 3600}})
    client = LiveClient(service.port).start(modalities="TEXT")
    assert client.reply.header("X-RateLimit-Remaining") == "1"
    assert service.get("/v1/graph").status == 200
    with service.connect() as connection:
        connection.request("GET", _LIVE_TARGET, handshake_headers())
        reply = connection.read_reply()
    assert reply.status == 429 and reply.header("X-WS-Close-Code") == "1013"
    assert int(reply.header("Retry-After")) >= 1
    assert reply.header("Content-Type") == "application/json"
    assert reply.json()["error"]["code"] == "RATE_LIMIT_EXCEEDED"
    client.type("frames are not counted")
    client.read_turn()
