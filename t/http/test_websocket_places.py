"""Who gets a WebSocket at all: how many there may be, and the rate limit before a live session."""

import pytest

from harness.agents import DEMO
from harness.live import LIVE, LiveClient
from harness.websocket import WebSocket, handshake_headers

_LIVE_TARGET = "/v1/graph/live"


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


def test_a_live_handshake_over_the_rate_limit_is_refused(start_service):
    service = start_service(LIVE | {"rate_limit": {"requests": 2, "window": 60}})
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
