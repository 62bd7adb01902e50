"""A raw RFC 6455 client: the test chooses every frame that is sent, valid or not, and every
received frame is checked."""

import dataclasses
import json
import struct

from . import http1

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
_MASK = bytes.fromhex("37fa213d")


def handshake_headers(**changed):
    """Returns the headers of a valid handshake. A keyword replaces one, None omits it; underscores
    stand for hyphens."""
    headers = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": KEY,
        "Sec-WebSocket-Version": "13",
    }
    for name, value in changed.items():
        name = name.replace("_", "-")
        known = next((key for key in headers if key.lower() == name.lower()), name)
        headers[known] = value
    return [(name, value) for name, value in headers.items() if value is not None]


def frame(opcode, payload=b"", *, final=True, reserved=0, masked=True, length=None):
    """`length`: the length that the frame announces, if it is to be wrong."""
    payload = payload.encode() if isinstance(payload, str) else payload
    size = len(payload) if length is None else length
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
    return head + _MASK + mask_bytes(payload)


def fragments(opcode, payload, count):
    """Returns one message in `count` frames."""
    payload = payload.encode() if isinstance(payload, str) else payload
    size = -(-len(payload) // count)
    return b"".join(
        frame(CONTINUATION if i else opcode, payload[i * size : (i + 1) * size], final=i == count - 1)
        for i in range(count)
    )


def mask_bytes(payload):
    """XORs payload and key as two large integers, which is fast enough for messages of
    megabytes."""
    key = (_MASK * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(payload) ^ int.from_bytes(key)).to_bytes(len(payload))


def close_frame(code=None, reason=b""):
    return frame(CLOSE, b"" if code is None else struct.pack(">H", code) + reason)


@dataclasses.dataclass
class Frame:
    opcode: int
    payload: bytes

    def json(self):
        assert self.opcode == TEXT, self
        return json.loads(self.payload.decode())

    @property
    def close_code(self):
        assert self.opcode == CLOSE, self
        return struct.unpack(">H", self.payload[:2])[0] if self.payload else None

    @property
    def reason(self):
        return self.payload[2:].decode()


class WebSocket(http1.Connection):
    """`upgrade` sends a handshake and expects status 101; `early` is sent in the same segment."""

    def upgrade(self, target="/v1/graph/ws", early=b"", **headers):
        return self.upgrade_with(target, handshake_headers(**headers), early)

    def upgrade_with(self, target, headers, early=b""):
        """The same with all headers given by the caller."""
        self.send(http1.request_bytes("GET", target, headers) + early)
        self.reply = self.read_head()
        assert self.reply.status == 101, self.reply
        assert self.reply.header("Upgrade").lower() == "websocket"
        assert self.reply.header("Connection").lower() == "upgrade"
        assert self.reply.header("Sec-WebSocket-Accept") == ACCEPT
        return self

    def send_json(self, value):
        self.send(frame(TEXT, json.dumps(value)))

    def read_frame(self):
        first, second = self.read_exactly(2)
        assert first & 0xF0 == 0x80, f"first byte {first:#x}: fragmented, or reserved bits set"
        assert second < 0x80, "the server masks its frames"
        size = second
        if size == 126:
            (size,) = struct.unpack(">H", self.read_exactly(2))
            assert size > 125
        elif size == 127:
            (size,) = struct.unpack(">Q", self.read_exactly(8))
            assert size > 65535
        return Frame(first & 0x0F, self.read_exactly(size))

    def read_json(self):
        """Reads a message and answers pings before it, which come when the machine is slow."""
        while (received := self.read_frame()).opcode == PING:
            self.send(frame(PONG, received.payload))
        return received.json()

    def read_run(self):
        """Reads the chunks of one run; `done` is the last one."""
        chunks = [self.read_json()]
        while (chunks[-1]["data"] or {}).get("status") != "done":
            chunks.append(self.read_json())
        return chunks

    def read_close(self):
        """Reads the server's Close frame, which only pings may precede. They come when the machine is
        slow."""
        while (closing := self.read_frame()).opcode == PING:
            pass
        assert closing.opcode == CLOSE, closing
        return closing

    def agrees_to_close(self, code):
        """Answers the server's Close, for which the server waits; returns true if it closes
        then."""
        assert self.read_close().close_code == code
        self.send(close_frame(code))
        return self.is_closed_by_server()

    def is_closed_with(self, code):
        assert self.read_close().close_code == code
        return self.is_closed_by_server()
