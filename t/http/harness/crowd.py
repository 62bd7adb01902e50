"""Users who know each other's ids and try everything with them."""

import contextlib
import json
import random
import re
import urllib.parse

from .http1 import ConnectionClosed
from .live import LiveClient
from .openapi import Generator, OpenApi
from .tokens import bearer
from .uploads import file_form
from .websocket import WebSocket, handshake_headers

_USERS = ("alice", "bob", "carol")
_THREADS = ("shared-1", "shared-2", "shared-3")
_IDS = ("message_id", "memory_id", "file_id", "run_id")
# Ids of the objects of OpenAI's API in answers.
_OBJECTS = {"response_id": r'"id": ?"(resp_[^"]+)"', "item_id": r'"id": ?"((?:msg|rs|fc|fco)_[^"]+)"',
            "conversation_id": r'"id": ?"([^"]+)", ?"object": ?"conversation"'}
_CANARY = re.compile(r"canary-(\w+?)-")
# Fields of requests whose texts may appear in answers.
_SHOWN = {"text", "content", "context_summary", "filename", "category", "description", "summary"}

# Even a user with all permissions must not see texts of others.
ROLES = {
    "admin": ["*"],
    "user": ["graph:invoke", "graph:stream", "graph:read", "checkpointer:read", "checkpointer:write",
             "store:read", "store:write", "files:upload", "files:read"],
    "reader": ["graph:read", "checkpointer:read", "store:read", "files:read"],
}


class Crowd:
    """Users who know each other's ids and send anything that the interface accepts."""

    def __init__(self, service, seed, is_live):
        self.service = service
        self.is_live = is_live
        self.openapi = OpenApi(service.get("/openapi.json").json())
        self.random = random.Random(seed)
        self.generator = Generator(self.openapi, seed)
        self.operations = [
            (method, path, operation)
            for method, path, operation in self.openapi.operations()
            if "x-permission" in operation
        ]
        unknown = {name: ["unknown"] for name in (*_IDS, "model", *_OBJECTS)}
        self.known = unknown | {"thread_id": list(_THREADS), "conversation_id": list(_THREADS)}
        self.statuses = {}
        self.turns = 0  # in live sessions

    def act(self):
        user = self.random.choice(_USERS)
        method, path, operation = self.random.choice(self.operations)
        headers = bearer(user, roles=[self.random.choice(list(ROLES))])
        if "x-websocket" in operation:
            if path == "/v1/graph/live" and self.is_live:
                self._live(user, headers)
            elif path == "/v1/graph/ws" and not self.is_live:
                self._over_socket(user, operation, headers)
            return
        target = re.sub(r"\{(\w+)\}", lambda name: self._id(name[1]), path)
        if operation.get("parameters", [{}])[-1].get("in") == "query":
            target += self.random.choice(["", "?limit=100", "?search=canary", "?search=alice"])
        schema = self.openapi.body_schema(operation)
        body = schema and self._marked(self.generator.value(schema), user)
        if path == "/v1/files/upload":
            more, body = file_form(self._canary(user).encode())
            headers += list(more.items())
        reply = self.service.request(method, target, body, headers=headers)
        self.statuses[reply.status] = self.statuses.get(reply.status, 0) + 1
        self._check(user, f"{method} {target} {body}", reply.body.decode(errors="replace"))

    def _id(self, name):
        return urllib.parse.quote(self.random.choice(self.known[name]), safe="")

    def _over_socket(self, user, operation, headers):
        frame = self.generator.value(operation["x-websocket"]["clientFrame"])
        with WebSocket(self.service.port) as socket:
            socket.request("GET", "/v1/graph/ws", handshake_headers() + headers)
            if socket.read_head().status != 101:  # the role lacks the permission
                return
            socket.send_json(self._marked(frame, user))
            self._check(user, f"WS {frame}", json.dumps(socket.read_run()))

    def _live(self, user, headers):
        with LiveClient(self.service.port) as client:
            client.request("GET", "/v1/graph/live", handshake_headers() + headers)
            if client.read_head().status != 101:  # the role lacks the permission
                return
            thread_id = self.random.choice(_THREADS)
            # If its thread is refused, it may be closed before it has received the message.
            with contextlib.suppress(ConnectionError, ConnectionClosed):
                client.start_session(thread_id=thread_id, modalities="TEXT")
                client.type(self._canary(user))
                while event := client.read_event():
                    if event["type"] == "turn_complete":
                        self.turns += 1
                        client.send_json({"type": "close"})
            self._check(user, f"LIVE {thread_id}", json.dumps(client.events))

    def _marked(self, value, user, key=None):
        """Returns the value with the user's canary in its texts and with ids of threads that all
        users know."""
        if isinstance(value, dict):
            marked = {name: self._marked(member, user, name) for name, member in value.items()}
            for name in ("thread_id", "threadId"):
                if name in marked:
                    marked[name] = self.random.choice(_THREADS)
            if "previous_response_id" in marked:
                marked["previous_response_id"] = self.random.choice(self.known["response_id"])
            if key in ("metadata", "state", "initial_state"):
                marked["note"] = self._canary(user)
            if key == "metadata":  # here a client of another protocol names a thread
                marked["thread_id"] = self.random.choice(_THREADS)
            return marked
        if isinstance(value, list):
            return [self._marked(entry, user, key) for entry in value]
        if isinstance(value, str) and key in _SHOWN:
            return self._canary(user)
        return value

    def _canary(self, user):
        return f"canary-{user}-{self.random.randrange(10**6)}"

    def _check(self, user, request, text):
        others = set(_CANARY.findall(text)) - {user}
        assert not others, f"{user} sees what {others} wrote: {request}\n{text}"
        for name in _IDS:
            for found in re.findall(rf'"{name}": ?"([^"]+)"', text):
                self._learn(name, found)
        for name, pattern in _OBJECTS.items():
            for found in re.findall(pattern, text):
                self._learn(name, found)

    def _learn(self, name, value):
        self.known[name] = (self.known[name] + [value])[-30:]
