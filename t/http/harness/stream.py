"""Reads an NDJSON stream line by line and records when each line arrived."""

import dataclasses
import json
import time

from .http1 import Connection, ConnectionClosed
from .messages import text_of


@dataclasses.dataclass
class Line:
    value: dict
    text: bytes
    arrived: float


class Stream:
    """A streamed answer that is read at the test's own pace."""

    def __init__(self, port, target, body, headers=(), version="HTTP/1.1", receive_buffer=None):
        self.connection = Connection(port, receive_buffer=receive_buffer)
        self.connection.request("POST", target, headers, body, version)
        self.reply = None
        self.lines = []
        self._pieces = None
        self._rest = b""
        self._ready = []
        self.complete = False

    def read_head(self):
        self.reply = self.connection.read_head()
        self._pieces = self.connection.body_pieces(self.reply)
        return self.reply

    def read_line(self):
        """Returns the next line, or None at the regular end of the body. A truncated body raises
        ConnectionClosed."""
        if self.reply is None:
            self.read_head()
        while not self._ready:
            piece = next(self._pieces, None)
            if piece is None:
                self.complete = True
                assert self._rest == b"", f"unterminated last line {self._rest!r}"
                return None
            arrived = time.monotonic()
            *whole, self._rest = (self._rest + piece).split(b"\n")
            # An empty line is a heartbeat.
            self._ready += [Line(json.loads(text), text, arrived) for text in whole if text]
        line = self._ready.pop(0)
        self.lines.append(line)
        return line

    def read_all(self):
        while self.read_line() is not None:
            pass
        return [line.value for line in self.lines]

    def read_until_event(self, event):
        """Reads up to and including the first line of an event."""
        while line := self.read_line():
            if line.value.get("event") == event:
                return line.value
        raise AssertionError(f"the stream ended without {event}")

    def is_whole(self):
        """Reads the rest; returns true if the body ended correctly."""
        try:
            self.read_all()
        except ConnectionClosed:
            return False
        return self.complete

    def ended_with_done(self):
        """Reads the rest; returns true if the body is complete and its last chunk has the status
        "done"."""
        return self.is_whole() and bool(self.lines) and is_done(self.lines[-1].value)

    def final_text(self):
        """The text of the last complete message of the stream."""
        messages = [line.value["message"] for line in self.lines if line.value["event"] == "message"]
        whole = [message for message in messages if not message.get("delta")]
        return text_of(whole[-1])

    def close(self):
        self.connection.close()


def is_done(chunk):
    return chunk.get("event") == "updates" and (chunk.get("data") or {}).get("status") == "done"
