"""Writes the seeds of the WebSocket fuzzers into t/fuzz/corpus/; run it after adding a case."""
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

for folder, seeds, prefix in (("websocket", WEBSOCKET, b"\x05"), ("handshake", HANDSHAKE, b"")):
    (CORPUS / folder).mkdir(parents=True, exist_ok=True)
    for name, data in seeds.items():
        (CORPUS / folder / name).write_bytes(prefix + data)
