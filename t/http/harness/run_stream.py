"""Reads the stream of a run as a browser's EventSource does, at the test's own pace."""

import dataclasses
import json

from .http1 import Connection, ConnectionClosed
from .messages import text_of
from .stream import is_done
from .waiting import wait_until


@dataclasses.dataclass
class Event:
    id: str
    name: str
    chunk: dict

    @property
    def message(self):
        return self.chunk["message"]

    @property
    def is_done(self):
        return is_done(self.chunk)


class RunStream:
    """GET …/stream from a cursor on. `events` are those that were read."""

    def __init__(self, port, target, after=None, headers=(), method="GET", body=None):
        self.connection = Connection(port)
        headers = list(headers)
        if after is not None:
            headers.append(("Last-Event-ID", after))
        self.connection.request(method, target, headers, body)
        self.reply = self.connection.read_head()
        self._pieces = self.connection.body_pieces(self.reply)
        self._rest = b""
        self._ready = []
        self.events = []
        self.heartbeats = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def read(self):
        """Returns the next event, or None at the end of the body. A cut body raises
        ConnectionClosed."""
        while not self._ready:
            piece = next(self._pieces, None)
            if piece is None:
                assert self._rest == b"", f"unterminated event {self._rest!r}"
                return None
            *whole, self._rest = (self._rest + piece).split(b"\n\n")
            self._ready += [event for block in whole if (event := self._parse(block.decode()))]
        self.events.append(self._ready.pop(0))
        return self.events[-1]

    def _parse(self, block):
        if block.startswith(":"):
            self.heartbeats += 1
            return None
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        assert set(fields) <= {"id", "event", "data"}, block
        chunk = json.loads(fields["data"])
        assert fields["event"] == chunk["event"]
        return Event(fields.get("id", ""), fields["event"], chunk)

    def read_until(self, condition):
        while event := self.read():
            if condition(event):
                return event
        raise AssertionError("the stream ended before that")

    def read_to_end(self):
        """Reads until the body ends or is cut; returns true if it ended with `done`."""
        try:
            while self.read():
                pass
        except ConnectionClosed:
            return False
        return bool(self.events) and self.events[-1].is_done

    @property
    def last_id(self):
        return next((event.id for event in reversed(self.events) if event.id), None)

    def close(self):
        self.connection.close()


class Reader:
    """A client that puts the events of several connections together."""

    def __init__(self):
        self.pieces = {}  # text by message id
        self.thoughts = {}  # reasoning by message id
        self.messages = {}
        self.cursors = []
        self.resets = 0
        self.done = 0

    def take(self, events):
        for event in events:
            if event.id:
                self.cursors.append(event.id)
            data = event.chunk["data"] or {}
            if data.get("status") == "retrying":
                self._reset(data["reset"])
            elif event.is_done:
                self.done += 1
            elif event.message and event.message["delta"]:
                id = event.message["message_id"]
                assert id not in self.messages, "a piece came after its message"
                self.pieces[id] = self.pieces.get(id, "") + text_of(event.message)
                self.thoughts[id] = self.thoughts.get(id, "") + (event.message["reasoning"] or "")
            elif event.message:
                assert event.message["message_id"] not in self.messages, "a message came twice"
                self.messages[event.message["message_id"]] = text_of(event.message)

    def _reset(self, message_id):
        """Discards the pieces of a message that is void; None: of all that are not complete."""
        self.resets += 1
        void = {message_id} if message_id else set(self.pieces) - set(self.messages)
        for id in void:
            self.pieces.pop(id, None)
            self.thoughts.pop(id, None)

    @property
    def position(self):
        """The cursor at which a connection continues; None: at the beginning."""
        return self.cursors[-1] if self.cursors else None

    def check(self, *texts, thoughts=None):
        """The reader has each message once, and the same by its pieces, if it has pieces of it."""
        assert list(self.messages.values()) == list(texts)
        for id, text in self.pieces.items():
            assert text in ("", self.messages[id]), (text, self.messages[id])
            assert thoughts is None or self.thoughts[id] in ("", thoughts), self.thoughts[id]
        assert self.done == 1
        assert self.cursors == sorted(self.cursors)


def wait_for_result(service, thread_id, run_id="r"):
    """The reply of GET …/wait, asked again whenever a worker dies before it answers."""

    def result():
        try:
            return service.get(f"/v1/threads/{thread_id}/runs/{run_id}/wait")
        except (ConnectionClosed, ConnectionError):
            return None

    return wait_until(result, f"a worker has the result of run {run_id} of {thread_id}")
