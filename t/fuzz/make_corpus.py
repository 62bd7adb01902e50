"""Writes the seeds of the fuzzers of binary formats to t/fuzz/corpus/. Run it after adding a
case."""
import pathlib
import struct

CORPUS = pathlib.Path(__file__).parent / "corpus"
KEY = bytes.fromhex("37fa213d")


def frame(opcode, payload=b"", final=True, reserved=0, masked=True):
    size = len(payload)
    mask = 0x80 if masked else 0
    head = bytes([(0x80 if final else 0) | reserved << 4 | opcode])
    if size < 126:
        head += bytes([mask | size])
    elif size < 65536:
        head += bytes([mask | 126]) + struct.pack(">H", size)
    else:
        head += bytes([mask | 127]) + struct.pack(">Q", size)
    if not masked:
        return head + payload
    return head + KEY + bytes(b ^ KEY[i % 4] for i, b in enumerate(payload))


WEBSOCKET = {
    "text": frame(1, b"Hello"),
    "text-126": frame(1, b"x" * 126),
    "binary-oversized": frame(2, b"y" * 400) + frame(1, b"next"),
    "binary-1k": frame(2, b"z" * 1024),
    "fragments": frame(1, b"a", False) + frame(9, b"p") + frame(0, "\u20ac".encode(), False) + frame(0, b"b"),
    "fragments-oversized": frame(2, b"a" * 300, False) + frame(0, b"b" * 300, False) + frame(0, b"c" * 300),
    "split-character": frame(1, b"\xe2\x82", False) + frame(0, b"\xac"),
    "bad-utf8": frame(1, b"ab\xf4\x90\x80\x80"),
    "ping-pong": frame(9, b"1") + frame(10) + frame(9, b"2"),
    "close": frame(8, struct.pack(">H", 1000) + b"bye") + frame(1, b"late"),
    "close-empty": frame(8),
    "close-one-byte": frame(8, b"\x03"),
    "close-bad-code": frame(8, struct.pack(">H", 1005)),
    "reserved": frame(1, b"x", reserved=4),
    "unmasked": frame(1, b"Hello", masked=False),
    "unknown-opcode": frame(3, b"x"),
}

HANDSHAKE = {
    "ordinary": b"upgrade:websocket\nconnection:Upgrade\nsec-websocket-key:dGhlIHNhbXBsZSBub25jZQ==\n"
    b"sec-websocket-version:13\nsec-websocket-protocol:service-bearer, token\n",
    "lists": b"upgrade:h2c, WebSocket\nconnection:keep-alive\nconnection:,upgrade\n"
    b"sec-websocket-key:dGhlIHNhbXBsZSBub25jZQ==\nsec-websocket-version:13\n",
    "old-version": b"upgrade:websocket\nconnection:upgrade\nsec-websocket-version:8\n",
}


def pack(value):
    """Encodes MessagePack as the state server's protocol uses it."""
    if value is None or isinstance(value, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, int):
        return bytes([value]) if value < 128 else b"\xcf" + struct.pack(">Q", value)
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, str):
        text = value.encode()
        return b"\xd9" + bytes([len(text)]) + text
    return bytes([0x90 | len(value)]) + b"".join(map(pack, value))


def message(*items):
    payload = pack(items)
    return struct.pack("<I", len(payload)) + payload


SCOPE = [1, "user"]
EMBEDDING = ["hash 256", "\x01\x02\x03\x04"]
RECORD = ["id", "user", "agent", "t", "episodic", "general", "tea", "{}", 1, 2]

STATE_PROTOCOL = {
    "hello": message(1, "agent-graph-state", 1, 1, "client", 7, 99, ["r1", "r2"]),
    "welcome": message(2, 1, 3),
    "refused": message(3, 5, "no"),
    "begin": message(4, 1, 0, 1, 1700000000000000, [SCOPE, "t", "r", 0, None]),
    "list-messages": message(4, 2, 1, 35, 5, [SCOPE, "t", [100, 0], ""]),
    "reply": message(5, 1, 0, "", "", [RECORD]),
    "two": message(9, 1) + message(11, "t"),
    "cut": message(10, "t", "r")[:-3],
    "too-long": struct.pack("<I", 2**31) + b"\x91\x01",
    "deep": struct.pack("<I", 4000) + b"\x91" * 4000,
    "store-memory": pack([SCOPE, RECORD, EMBEDDING]),
    "search": pack([SCOPE, [[["category", '"x"']]], "tea", EMBEDDING, 2, 0, 10, 0.5]),
    "hits": pack([[[RECORD, 0.25]]]),
}


def http2(kind, payload=b"", flags=0, stream=0):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def setting(name, value):
    return http2(4, struct.pack(">HI", name, value))


# HPACK: ":status: 200", a literal header, and ":status: 103" as a literal.
OK = b"\x88"
LINK = b"\x00\x04link\x01x"
EARLY = b"\x08\x03103" + LINK

HTTP2 = {
    "reply": http2(1, OK + LINK, 4, 1) + http2(0, b"data: hello\n\n", 0, 1) + http2(0, b"", 1, 1),
    "replies": b"".join(http2(1, OK, 4, n) for n in (1, 3, 5, 7)) + b"".join(
        http2(0, b"x" * 100, 1, n) for n in (7, 1, 5, 3)),
    "interim-trailers": http2(1, EARLY, 4, 1) + http2(1, OK, 4, 1) + http2(0, b"hello", 0, 1) + http2(1, LINK, 5, 1),
    "padded": http2(1, b"\x02" + OK + b"\0\0", 0x0C, 1) + http2(0, b"\x03hello\0\0\0", 9, 1),
    "continuation": http2(1, OK, 0, 1) + http2(9, LINK, 0, 1) + http2(9, LINK, 4, 1) + http2(0, b"hello", 1, 1),
    "continuation-missing": http2(1, OK, 0, 1) + http2(0, b"hello", 1, 1),
    "reset": http2(1, OK, 4, 3) + http2(0, b"hel", 0, 3) + http2(3, struct.pack(">I", 2), 0, 3),
    "refused": http2(3, struct.pack(">I", 7), 0, 1) + http2(3, struct.pack(">I", 13), 0, 5),
    "goaway": http2(7, struct.pack(">II", 2**31 - 1, 0)) + http2(7, struct.pack(">II", 3, 0)) + http2(1, OK, 5, 3),
    "goaway-error": http2(1, OK, 4, 1) + http2(7, struct.pack(">II", 1, 11) + b"calm down"),
    "settings": setting(3, 1) + setting(4, 10) + setting(5, 16384) + setting(4, 2**31 - 1) + http2(4, b"", 1),
    "settings-flood": setting(4, 65535) * 300,
    "settings-invalid": setting(4, 2**31),
    "ping-flood": http2(6, b"12345678") * 600,
    "windows": http2(8, struct.pack(">I", 1000), 0, 7) + http2(8, struct.pack(">I", 2**31 - 1)),
    "beyond-the-window": http2(1, OK, 4, 3) + http2(0, b"y" * 16000, 0, 3) * 5,
    "push": http2(5, struct.pack(">I", 2) + OK, 4, 1),
    "unknown-frame": http2(0xBE, b"grease", 0, 1) + http2(1, OK, 5, 1),
    "upper-case": http2(1, OK + b"\x00\x04LINK\x01x", 4, 1),
    "http1": b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
}

for folder, seeds, prefix in (("websocket", WEBSOCKET, b"\x05"), ("handshake", HANDSHAKE, b""),
                              ("http2", HTTP2, b"\x00"), ("state_protocol", STATE_PROTOCOL, b"")):
    (CORPUS / folder).mkdir(parents=True, exist_ok=True)
    for name, data in seeds.items():
        (CORPUS / folder / name).write_bytes(prefix + data)
