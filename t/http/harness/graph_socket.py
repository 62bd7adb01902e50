"""WebSockets to /v1/graph/ws."""

from . import http1
from .messages import text_of
from .websocket import WebSocket, handshake_headers

TARGET = "/v1/graph/ws"


def open_socket(service, **headers):
    return WebSocket(service.port).upgrade(service.prefix + TARGET, **headers)


def try_to_open(service):
    """Returns an open socket, or None after a refusal."""
    socket = WebSocket(service.port)
    socket.send(http1.request_bytes("GET", TARGET, handshake_headers()))
    if (reply := socket.read_head()).status == 101:
        return socket
    assert reply.status == 503 and reply.header("X-WS-Close-Code") == "1013"
    return None


def gated_settings(provider):
    model = {"provider": "openai", "model": "gated", "base_url": provider.base_url, "api_key": "key"}
    return {"agent": "graphs/support.json:app", "models": {"default": model}}


def final_text(chunks):
    messages = [c["message"] for c in chunks if c["event"] == "message" and c["message"]]
    final = [m for m in messages if m["role"] == "assistant" and not m.get("delta")]
    return text_of(final[-1])
