"""Users who know each other's ids of threads, messages, runs, files and memories, and try them over
every route of every host: nothing of others is read, changed or inferred."""

import collections
import json
import re
import urllib.parse
import uuid

import pytest

from harness.agents import behaviour
from harness.crowd import ROLES, Crowd
from harness.messages import user
from harness.openai_responses import message_item_id, response_id
from harness.openapi import Generator, OpenApi
from harness.service import invocation
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.uploads import uploaded
from harness.websocket import WebSocket, handshake_headers

_SECRET = "canary-of-alice"
_SETTINGS = behaviour("echo") | {
    "auth": "jwt", "env": "secrets.env", "store": "postgres", "embedding": "hash",
    "authorization": "ownership",
}
_FILES = {"secrets.env": JWT_ENVIRONMENT}
_BODIES = 4  # for each route and host
# Names of fields whose values are ids of these kinds.
_NAMES = {"threadId": "thread_id", "conversation": "thread_id", "runId": "run_id", "parentRunId": "run_id",
          "previous_response_id": "response_id"}
# Reports of evaluations, which belong to no user.
_WITHOUT_USERS = {"/v1/evals/runs/{run_id}"}
_OF_ITS_REQUEST = re.compile(r'"(request_id|timestamp|created_at|id)": ?("[^"]*"|\d+)')


def _ids_of_alice(host):
    """Makes one thing of each kind and returns their ids."""
    headers = bearer("alice")

    def post(path, body):
        reply = host.post(path, body, headers=headers)
        assert reply.status == 200, reply.text
        return reply.json()["data"]

    config = {"thread_id": "alices", "run_id": "alices-run"}
    post("/v1/graph/invoke", invocation(_SECRET, config=config))
    post("/v1/threads/alices/messages", {"messages": [user(_SECRET, message_id="alices-message")]})
    # A thread of its own: bob makes one of the unknown thread_id.
    post("/v1/threads/alices-conversation/messages", {"messages": [user(_SECRET, message_id="alices-item")]})
    memory = post("/v1/store/memories", {"content": _SECRET})["memory_id"]
    file = uploaded(host, _SECRET.encode(), headers=headers)["file_id"]
    return {"thread_id": "alices", "run_id": "alices-run", "message_id": "alices-message",
            "memory_id": memory, "file_id": file, "response_id": response_id("alices", "alices-run"),
            "conversation_id": "alices-conversation", "item_id": message_item_id("alices-conversation", "alices-item")}


def _unknown(ids):
    """Ids of the same forms that nothing has."""
    return {name: response_id("nobodys", "nobodys-run") if name == "response_id"
            else message_item_id("nobodys-conversation", "nobodys-item") if name == "item_id"
            else str(uuid.uuid4()) if name in ("memory_id", "file_id")
            else value.replace("alices", "nobodys") for name, value in ids.items()}


def _things_of_alice(host, ids):
    paths = ("/v1/threads/{thread_id}", "/v1/threads/{thread_id}/state",
             "/v1/threads/{thread_id}/messages?limit=100", "/v1/threads/{thread_id}/runs/{run_id}",
             "/v1/files/{file_id}", "/openai/v1/conversations/{conversation_id}/items/{item_id}")
    found = [host.get(path.format_map(ids), headers=bearer("alice")) for path in paths]
    found.append(
        host.post(f"/v1/store/memories/{ids['memory_id']}", {}, headers=bearer("alice"))
    )
    assert all(reply.status == 200 for reply in found), [reply.text for reply in found]
    return [reply.json().get("data", reply.json()) if reply.body[:1] == b"{" else reply.body for reply in found]


def _with_ids(value, ids):
    """The value with these ids wherever a field of this API or of a façade names one."""
    if isinstance(value, dict):
        found = {name: ids.get(_NAMES.get(name, name)) or _with_ids(member, ids)
                 for name, member in value.items()}
        if "metadata" in found:  # here a client of another protocol names a thread
            found["metadata"] = {"thread_id": ids["thread_id"]}
        return found
    if isinstance(value, list):
        return [_with_ids(member, ids) for member in value]
    return value


def _answer(reply, ids):
    """The part of a reply that could tell something about an id."""
    text = reply.body.decode(errors="replace")
    for name, value in ids.items():
        text = text.replace(value, name)
    return reply.status, _OF_ITS_REQUEST.sub("", text)


def test_ids_of_another_user_on_every_route(start_hosts):
    hosts = start_hosts(_SETTINGS, files=_FILES)
    ids = _ids_of_alice(hosts[0])
    unknown = _unknown(ids)
    before = _things_of_alice(hosts[1], ids)
    openapi = OpenApi(hosts[0].get("/openapi.json").json())
    generator = Generator(openapi, seed=1)
    tried = collections.Counter()

    def ask(host, method, path, body, known):
        target = re.sub(r"\{(\w+)\}", lambda name: urllib.parse.quote(known.get(name[1], "x"), safe=""), path)
        body = body and _with_ids(body, known)
        reply = host.request(method, target, body, headers=bearer("bob"))
        assert _SECRET not in reply.body.decode(errors="replace"), (method, target, reply.text)
        return reply

    for method, path, operation in openapi.operations():
        if "x-permission" not in operation or "x-websocket" in operation:
            continue
        schema = openapi.body_schema(operation)
        for host in hosts:
            for _ in range(_BODIES if schema else 1):
                body = schema and generator.value(schema)
                reply = ask(host, method, path, body, ids)
                if "{" in path:
                    other = ask(host, method, path, body, unknown)
                    # A thread of another user is refused, and one that does not exist is not found. Any
                    # other id of alice gets the very answer of an id that does not exist.
                    if not (reply.status == 403 and "{thread_id}" in path):
                        assert _answer(reply, ids) == _answer(other, unknown), (method, path, body)
                    tried[path] += reply.status in (403, 404)
            if "{" in path:
                # What is wrong with a request does not tell them apart either.
                for query, body in (("", schema and "{"), ("?limit=0&order=x&after=x", schema and {})):
                    reply = ask(host, method, path + query, body, ids)
                    if not (reply.status == 403 and "{thread_id}" in path):
                        other = ask(host, method, path + query, body, unknown)
                        assert _answer(reply, ids) == _answer(other, unknown), (method, path, query, body)
    assert {path for _, path, _ in openapi.operations() if re.search("_id}", path)} <= (
        {path for path, count in tried.items() if count} | _WITHOUT_USERS
    )
    for host in hosts:
        assert _things_of_alice(host, ids) == before


def test_ids_of_another_user_on_sockets(start_hosts):
    hosts = start_hosts(_SETTINGS, files=_FILES)
    ids = _ids_of_alice(hosts[0])
    before = _things_of_alice(hosts[0], ids)
    config = {"thread_id": ids["thread_id"], "run_id": ids["run_id"]}
    for host in hosts:
        with WebSocket(host.port) as socket:
            socket.upgrade_with("/v1/graph/ws", handshake_headers() + bearer("bob"), b"")
            socket.send_json(invocation("hello", config=config))
            refused = socket.read_run()
        assert _SECRET not in json.dumps(refused)
        assert refused[0]["data"]["reason"] == "Not authorized to stream graph", refused
    for host in hosts:
        assert _things_of_alice(host, ids) == before


@pytest.mark.parametrize("seed", range(2))
def test_users_who_try_everything(start_hosts, seed):
    settings = _SETTINGS | {
        "authorization": {"type": "rbac", "roles": ROLES, "default_scopes": ["config:read"]}
    }
    hosts = start_hosts(settings, count=3, files=_FILES)
    crowd = Crowd(hosts.balancer, seed, is_live=False)
    for _ in range(300):
        crowd.act()
    assert crowd.statuses.get(200, 0) > 30, crowd.statuses
    assert crowd.statuses.get(403, 0) > 6, crowd.statuses
    assert not {status for status in crowd.statuses if status >= 500 and status != 503}
