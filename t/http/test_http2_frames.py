"""Illegal sequences of HTTP/2 frames in one of our locations: nginx ends the connection or stream
exactly as in a location without the module, and keeps serving other requests."""

import concurrent.futures
import contextlib
import functools
import socket
import struct

import hpack

from harness import environment, http2
from harness.agents import DEMO
from harness.service import invocation

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _PRIORITY, _RST, _SETTINGS, _PUSH, _PING, _GOAWAY, _WINDOW, _CONTINUATION = range(10)
_END_STREAM, _END_HEADERS, _PADDED = 0x1, 0x4, 0x8
# One sequence leaves the request incomplete until nginx times out. All others are complete long before.
_STOCK = "        client_header_timeout 10s; location /stock/ { client_max_body_size 26m; proxy_pass http://127.0.0.1:1; }"


def _frame(kind, flags=0, stream=0, payload=b"", length=None):
    size = len(payload) if length is None else length
    return struct.pack(">I", size)[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def _head(*extra, leave_out=()):
    """Returns a function that encodes the header block for a target path."""

    def encode(target):
        fields = [(":method", "POST"), (":scheme", "http"), (":path", target), (":authority", "a")]
        fields = [field for field in fields if field[0] not in leave_out]
        return hpack.Encoder().encode([*fields, *extra], huffman=False)

    return encode


def _open(flags=_END_HEADERS, stream=1, head=None):
    """Returns a function that makes the HEADERS frame of a request for a target path."""
    block = head or _head()
    return lambda target: _frame(_HEADERS, flags, stream, block(target))


def _raw(data):
    return lambda target: data


_BODY = b'{"messages":[{"role":"user","content":"x"}]}'

# Frames that follow the preface and the client's SETTINGS.
_SEQUENCES = {
    "data on no stream": [_raw(_frame(_DATA, 0, 0, b"x"))],
    "data on an idle stream": [_raw(_frame(_DATA, 0, 5, b"x"))],
    "data behind the end": [_open(_END_HEADERS | _END_STREAM), _raw(_frame(_DATA, _END_STREAM, 1, _BODY))],
    "headers on no stream": [_open(stream=0)],
    "headers on an even stream": [_open(stream=2)],
    "a stream number that goes back": [_open(stream=5), _open(stream=3)],
    "padding beyond the frame": [_open(), _raw(_frame(_DATA, _PADDED, 1, b"\xff" + b"x"))],
    "padding of headers beyond the frame": [_raw(_frame(_HEADERS, _END_HEADERS | _PADDED, 1, b"\xff\x82"))],
    "no continuation of headers": [_open(flags=0), _raw(_frame(_PING, 0, 0, b"x" * 8))],
    "continuation of nothing": [_raw(_frame(_CONTINUATION, _END_HEADERS, 1, b"\x82"))],
    "continuation of another stream": [_open(flags=0), _raw(_frame(_CONTINUATION, _END_HEADERS, 3, b"\x82"))],
    "an impossible header block": [_raw(_frame(_HEADERS, _END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff"))],
    "a frame beyond the size": [_raw(_frame(_DATA, 0, 1, length=0xFFFFFF))],
    "priority of a wrong size": [_open(), _raw(_frame(_PRIORITY, 0, 1, b"abc"))],
    "a stream that depends on itself": [_open(), _raw(_frame(_PRIORITY, 0, 1, struct.pack(">IB", 1, 0)))],
    "reset of a wrong size": [_open(), _raw(_frame(_RST, 0, 1, b"abc"))],
    "reset of no stream": [_raw(_frame(_RST, 0, 0, struct.pack(">I", 8)))],
    "settings of a wrong size": [_raw(_frame(_SETTINGS, 0, 0, b"abc"))],
    "settings on a stream": [_raw(_frame(_SETTINGS, 0, 1))],
    "a window beyond the largest": [_raw(_frame(_SETTINGS, 0, 0, struct.pack(">HI", 4, 0xFFFFFFFF)))],
    "acknowledged settings with content": [_raw(_frame(_SETTINGS, 1, 0, struct.pack(">HI", 4, 1)))],
    "a push": [_open(), _raw(_frame(_PUSH, _END_HEADERS, 1, struct.pack(">I", 2)))],
    "a ping of a wrong size": [_raw(_frame(_PING, 0, 0, b"abc"))],
    "a ping on a stream": [_raw(_frame(_PING, 0, 1, b"x" * 8))],
    "a window update of nothing": [_raw(_frame(_WINDOW, 0, 0, struct.pack(">I", 0)))],
    "a window update of nothing on a stream": [_open(), _raw(_frame(_WINDOW, 0, 1, struct.pack(">I", 0)))],
    "a window that overflows": [_raw(_frame(_WINDOW, 0, 0, struct.pack(">I", 0x7FFFFFFF)))],
    "a stream's window that overflows": [_open(), _raw(_frame(_WINDOW, 0, 1, struct.pack(">I", 0x7FFFFFFF)))],
    "a window update of a wrong size": [_raw(_frame(_WINDOW, 0, 0, b"abc"))],
    "no method": [_open(head=_head(leave_out=(":method",)))],
    "no path": [_open(head=_head(leave_out=(":path",)))],
    "upper case in a name": [_open(head=_head(("X-Upper", "1")))],
    "more than was announced": [
        _open(head=_head(("content-length", "3"))), _raw(_frame(_DATA, _END_STREAM, 1, _BODY)),
    ],
    "less than was announced": [
        _open(head=_head(("content-length", "300"))), _raw(_frame(_DATA, _END_STREAM, 1, _BODY)),
    ],
    "an unknown frame": [_raw(_frame(0xEE, 0xFF, 1, b"what"))],
    "a goodbye": [_raw(_frame(_GOAWAY, 0, 0, struct.pack(">II", 0, 0)))],
}


def _frames(connection):
    """Yields the server's frames until it closes, as (kind, flags, stream, payload)."""
    received = b""
    while True:
        while len(received) >= 9 and len(received) >= 9 + int.from_bytes(received[:3]):
            size = int.from_bytes(received[:3])
            yield received[3], received[4], struct.unpack(">I", received[5:9])[0], received[9 : 9 + size]
            received = received[9 + size :]
        try:
            data = connection.recv(65536)
        except ConnectionResetError:
            return
        if not data:
            return
        received += data


def _verdict(kind, stream, payload):
    """Returns the error for the connection or a stream; None for other frames, including
    answers."""
    if kind == _GOAWAY:
        return "goaway", struct.unpack(">I", payload[4:8])[0]
    if kind == _RST:
        return "reset", stream, struct.unpack(">I", payload)[0]
    return None


def _play(port, sequence, target):
    """Returns the server's errors until it sends GOAWAY, closes, or has answered two pings that
    follow the sequence: if the client closed at once, the server might not have written yet."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(environment.PATIENCE)
        verdicts = []
        pings = [b"behind 1", b"behind 2"]
        with contextlib.suppress(ConnectionError):
            steps = b"".join(step(target) for step in sequence)
            connection.sendall(_PREFACE + _frame(_SETTINGS) + steps + _frame(_PING, payload=pings[0]))
            for kind, _, stream, payload in _frames(connection):
                verdict = _verdict(kind, stream, payload)
                verdicts += [verdict] if verdict else []
                if kind == _GOAWAY:
                    break
                if kind == _PING and payload == pings[0]:
                    pings.pop(0)
                    if not pings:
                        break
                    connection.sendall(_frame(_PING, payload=pings[0]))
        return verdicts


def test_illegal_frames_are_answered_as_by_nginx_alone(start_service):
    service = start_service(DEMO, server=_STOCK, http2=True, workers=1)
    worker = service.only_worker()
    targets = ("/stock/", "/v1/graph/invoke")
    with concurrent.futures.ThreadPoolExecutor(len(targets)) as pool:
        verdicts = {
            name: list(pool.map(functools.partial(_play, service.http2_port, steps), targets))
            for name, steps in _SEQUENCES.items()
        }
    assert {name: pair for name, pair in verdicts.items() if pair[0] != pair[1]} == {}
    # Most sequences cause an error that nginx reports.
    assert sum(pair[0] not in ([], [("goaway", 0)]) for pair in verdicts.values()) > 20
    reply = http2.fetch(service.http2_port, "POST", "/v1/graph/invoke", body=invocation("x"))
    assert reply.status == 200
    assert [one.pid for one in service.workers()] == [worker.pid]
