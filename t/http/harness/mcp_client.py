"""A client of the Model Context Protocol that chooses every header and member itself, in both eras."""

import dataclasses
import itertools
import json

from .http1 import Connection

PATH = "/mcp"
STATELESS = "2026-07-28"
SESSION = "2025-11-25"
_META = "io.modelcontextprotocol/"
_BOTH_FORMS = ("Accept", "application/json, text/event-stream")
FORMS = {"elicitation": {"form": {}}}


@dataclasses.dataclass
class Event:
    """One server-sent event; `message` is None if its data is empty."""

    id: str
    message: dict


def read_events(text):
    """The events of a stream, without comments."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if "data" in fields:
            data = fields["data"]
            found.append(Event(fields.get("id", ""), json.loads(data) if data else None))
    return found


def messages_of(reply):
    """The messages of a response: those of its events, or the only one."""
    if reply.header("Content-Type") == "text/event-stream":
        return [event.message for event in read_events(reply.text) if event.message is not None]
    assert reply.header("Content-Type") == "application/json", reply.text
    return [reply.json()]


def request(method, params=None, id=1):
    body = {"jsonrpc": "2.0", "id": id, "method": method}
    return body if params is None else body | {"params": params}


def result_of(reply):
    """The result of a request that succeeded."""
    assert reply.status == 200, reply.text
    last = messages_of(reply)[-1]
    assert last["jsonrpc"] == "2.0" and "error" not in last, last
    return last["result"]


def error_of(reply, status=200):
    """The error of a request that was refused."""
    assert reply.status == status, reply.text
    last = messages_of(reply)[-1]
    assert last.keys() == {"jsonrpc", "id", "error"}, last
    return last["error"]


class Client:
    """Base of the clients of both eras. `headers` are sent with every request."""

    def __init__(self, service, headers=(), capabilities=None, path=PATH):
        self.service = service
        self.path = path
        self.capabilities = capabilities or {}
        self._own = list(headers)
        self._ids = itertools.count(1)

    def post(self, body, headers=()):
        return self.service.post(self.path, body, headers=[*self._own, *headers])

    def call(self, name, arguments, **more):
        return self.ask("tools/call", {"name": name, "arguments": arguments}, **more)

    def answer(self, message, name="app", **arguments):
        """Calls the agent and returns the structured content of its answer."""
        result = result_of(self.call(name, {"message": message} | arguments))
        assert not result.get("isError"), result
        return result["structuredContent"]


class Stateless(Client):
    def body(self, method, params=None, *, id=None, meta=None):
        meta = {
            _META + "protocolVersion": STATELESS,
            _META + "clientCapabilities": self.capabilities,
        } | (meta or {})
        return request(method, (params or {}) | {"_meta": meta}, next(self._ids) if id is None else id)

    def headers(self, method, params=None):
        found = [_BOTH_FORMS, ("MCP-Protocol-Version", STATELESS), ("Mcp-Method", method)]
        name = (params or {}).get("uri" if method == "resources/read" else "name")
        return [*found, ("Mcp-Name", name)] if name is not None else found

    def ask(self, method, params=None, *, id=None, meta=None):
        return self.post(self.body(method, params, id=id, meta=meta), self.headers(method, params))


class Session(Client):
    """Begins a session."""

    def __init__(self, service, headers=(), capabilities=None, path=PATH, revision=SESSION):
        super().__init__(service, headers, capabilities, path)
        self.revision = revision
        self.id = None
        self.begun = self.ask(
            "initialize",
            {
                "protocolVersion": revision,
                "capabilities": self.capabilities,
                "clientInfo": {"name": "test", "version": "1"},
            },
        )
        self.id = self.begun.header("Mcp-Session-Id")
        assert self.notify("notifications/initialized").status == 202

    def headers(self):
        if self.id is None:
            return [_BOTH_FORMS]
        return [_BOTH_FORMS, ("MCP-Protocol-Version", self.revision), ("Mcp-Session-Id", self.id)]

    def ask(self, method, params=None, *, id=None, meta=None):
        if meta is not None:
            params = (params or {}) | {"_meta": meta}
        return self.post(request(method, params, next(self._ids) if id is None else id), self.headers())

    def notify(self, method, params=None):
        body = {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})
        return self.post(body, self.headers())

    def respond(self, id, result):
        return self.post({"jsonrpc": "2.0", "id": id, "result": result}, self.headers())

    def resume(self, event_id):
        return self.service.get(self.path, headers=[*self._own, *self.headers(), ("Last-Event-ID", event_id)])

    def delete(self):
        return self.service.request("DELETE", self.path, headers=[*self._own, *self.headers()])

    def open(self, method, params, *, id=None, meta=None):
        """Sends a request whose stream the test reads event by event."""
        if meta is not None:
            params = params | {"_meta": meta}
        body = request(method, params, next(self._ids) if id is None else id)
        return EventStream(self.service, "POST", self.path, [*self._own, *self.headers()], body)

    def reopen(self, event_id):
        headers = [*self._own, *self.headers(), ("Last-Event-ID", event_id)]
        return EventStream(self.service, "GET", self.path, headers)


class EventStream:
    """A stream of events that is read at the test's own pace."""

    def __init__(self, service, method, path, headers, body=None):
        self.connection = Connection(service.port)
        self.connection.request(method, service.prefix + path, headers, body)
        self.reply = self.connection.read_head()
        self._pieces = self.connection.body_pieces(self.reply)
        self._text = ""
        self.last_id = None

    def next(self):
        """Returns the next event; None at the end of the stream."""
        while True:
            block, separator, rest = self._text.partition("\n\n")
            if separator:
                self._text = rest
                if events := read_events(block):
                    self.last_id = events[0].id
                    return events[0]
                continue
            piece = next(self._pieces, None)
            if piece is None:
                return None
            self._text += piece.decode()

    def rest(self):
        """The messages up to the end."""
        found = []
        while event := self.next():
            if event.message is not None:
                found.append(event.message)
        return found

    def close(self):
        self.connection.close()
