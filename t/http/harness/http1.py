"""A raw HTTP/1.1 client: the test chooses every byte that is sent, and every received byte is
checked."""

import dataclasses
import json
import socket
import struct

from . import environment

_RECEIVE_BYTES = 65536
_HEAD_BYTES_MAX = 65536


@dataclasses.dataclass
class Reply:
    status: int
    headers: list
    body: bytes = b""
    version: str = "HTTP/1.1"
    reason: str = ""  # empty in HTTP/2

    def header_values(self, name):
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def header(self, name):
        """The value of a header that may occur at most once."""
        values = self.header_values(name)
        assert len(values) <= 1, f"{name} appears {len(values)} times: {values}"
        return values[0] if values else None

    @property
    def text(self):
        return self.body.decode()

    def json(self):
        return json.loads(self.body)

    def lines(self):
        """The JSON values of an NDJSON body; each line must be complete."""
        assert self.body == b"" or self.body.endswith(b"\n"), "the last line is not terminated"
        return [json.loads(line) for line in self.body.split(b"\n")[:-1]]


class ConnectionClosed(Exception):
    """The peer closed or reset the connection before the answer was complete."""


def request_bytes(method, target, headers=(), body=None, version="HTTP/1.1"):
    """Returns a request as bytes. A dict or list body is sent as JSON; Host and Content-Length are
    added if missing."""
    headers = list(headers.items() if isinstance(headers, dict) else headers)
    names = {name.lower() for name, _ in headers}
    if isinstance(body, (dict, list)):
        body = json.dumps(body).encode()
        if "content-type" not in names:
            headers.append(("Content-Type", "application/json"))
    elif isinstance(body, str):
        body = body.encode()
    if "host" not in names:
        headers.insert(0, ("Host", "localhost"))
    if body is not None and not names & {"content-length", "transfer-encoding"}:
        headers.append(("Content-Length", str(len(body))))
    head = f"{method} {target} {version}\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers)
    return head.encode("latin-1") + b"\r\n" + (body or b"")


class Connection:
    """One TCP connection. A small `receive_buffer` limits the client's window, as for a slow
    reader."""

    def __init__(self, port, receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(environment.PATIENCE)
        self.socket.connect(("127.0.0.1", port))
        # Not bytes: appending copies them, which makes a reader of large replies slow.
        self._received = bytearray()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # Sending

    def send(self, data):
        self.socket.sendall(data)

    def send_split(self, data, size=1):
        """Sends `size` bytes per segment, so that the server sees every possible split."""
        for start in range(0, len(data), size):
            self.socket.sendall(data[start : start + size])

    def request(self, method, target, headers=(), body=None, version="HTTP/1.1"):
        self.send(request_bytes(method, target, headers, body, version))

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def close(self):
        self.socket.close()

    def reset(self):
        """Closes with RST instead of FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    # Receiving

    def _receive(self):
        try:
            data = self.socket.recv(_RECEIVE_BYTES)
        except ConnectionResetError as error:
            raise ConnectionClosed("reset by the server") from error
        if not data:
            raise ConnectionClosed("closed by the server")
        self._received += data

    def _take(self, size):
        found = bytes(self._received[:size])
        del self._received[:size]
        return found

    def read_until(self, mark):
        while mark not in self._received:
            self._receive()
        found = self._take(self._received.index(mark))
        self._take(len(mark))
        return found

    def read_exactly(self, size):
        while len(self._received) < size:
            self._receive()
        return self._take(size)

    def read_to_end(self):
        try:
            while True:
                self._receive()
        except ConnectionClosed:
            return self._take(len(self._received))

    def is_closed_by_server(self):
        """Waits until the server closes; fails if bytes arrive before that."""
        return self.read_to_end() == b""

    def read_head(self):
        head = self.read_until(b"\r\n\r\n")
        assert len(head) <= _HEAD_BYTES_MAX
        first, *rest = head.decode("latin-1").split("\r\n")
        version, status, reason = first.split(" ", 2)
        assert reason, f"no reason phrase in {first!r}"
        headers = []
        for line in rest:
            name, separator, value = line.partition(":")
            assert separator and name == name.strip(), f"bad header line {line!r}"
            headers.append((name, value.strip()))
        return Reply(int(status), headers, version=version, reason=reason)

    def read_chunk(self):
        """Reads one chunk of a chunked body; b"" is the last one."""
        size = int(self.read_until(b"\r\n").split(b";")[0], 16)
        data = self.read_exactly(size)
        assert self.read_exactly(2) == b"\r\n", "a chunk does not end in CRLF"
        return data

    def body_pieces(self, reply, method="GET"):
        """Yields the body as it arrives: chunk by chunk, or as received."""
        if method == "HEAD" or reply.status in (204, 304):
            return
        if (reply.header("Transfer-Encoding") or "").lower() == "chunked":
            while piece := self.read_chunk():
                yield piece
        elif (length := reply.header("Content-Length")) is not None:
            yield self.read_exactly(int(length))
        else:
            while True:
                if self._received:
                    yield self._take(len(self._received))
                try:
                    self._receive()
                except ConnectionClosed:
                    return

    def read_reply(self, method="GET"):
        reply = self.read_head()
        reply.body = b"".join(self.body_pieces(reply, method))
        return reply


def fetch(port, method, target, headers=(), body=None, version="HTTP/1.1"):
    """Sends one request on a new connection."""
    with Connection(port) as connection:
        connection.request(method, target, headers, body, version)
        return connection.read_reply(method)
