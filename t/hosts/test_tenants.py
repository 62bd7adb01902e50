"""Users who know each other's ids of threads, messages, runs, files and memories, and try them over
every route of every host: nothing of others is read, changed or inferred."""

import re
import urllib.parse

import pytest

from harness.agents import behaviour
from harness.crowd import ROLES, Crowd
from harness.messages import user
from harness.openapi import Generator, OpenApi
from harness.service import invocation
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.uploads import uploaded

_SECRET = "canary-of-alice"
_SETTINGS = behaviour("echo") | {
    "auth": "jwt", "env": "secrets.env", "store": "postgres", "embedding": "hash",
    "authorization": "ownership",
}
_FILES = {"secrets.env": JWT_ENVIRONMENT}


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
    memory = post("/v1/store/memories", {"content": _SECRET})["memory_id"]
    file = uploaded(host, _SECRET.encode(), headers=headers)["file_id"]
    return {"thread_id": "alices", "run_id": "alices-run", "message_id": "alices-message",
            "memory_id": memory, "file_id": file}


def _things_of_alice(host, ids):
    paths = ("/v1/threads/{thread_id}", "/v1/threads/{thread_id}/state",
             "/v1/threads/{thread_id}/messages?limit=100", "/v1/threads/{thread_id}/runs/{run_id}",
             "/v1/files/{file_id}")
    found = [host.get(path.format_map(ids), headers=bearer("alice")) for path in paths]
    found.append(
        host.post(f"/v1/store/memories/{ids['memory_id']}", {}, headers=bearer("alice"))
    )
    assert all(reply.status == 200 for reply in found), [reply.text for reply in found]
    return [reply.json().get("data") if reply.body[:1] == b"{" else reply.body for reply in found]


def _with_ids(value, ids):
    if isinstance(value, dict):
        return {name: ids.get(name) or _with_ids(member, ids) for name, member in value.items()}
    if isinstance(value, list):
        return [_with_ids(member, ids) for member in value]
    return value


def test_ids_of_another_user_on_every_route(start_hosts):
    hosts = start_hosts(_SETTINGS, files=_FILES)
    ids = _ids_of_alice(hosts[0])
    before = _things_of_alice(hosts[1], ids)
    openapi = OpenApi(hosts[0].get("/openapi.json").json())
    generator = Generator(openapi, seed=1)
    tried = 0
    for method, path, operation in openapi.operations():
        if "x-permission" not in operation or "x-websocket" in operation:
            continue
        target = re.sub(
            r"\{(\w+)\}", lambda name: urllib.parse.quote(ids.get(name[1], "unknown")), path
        )
        schema = openapi.body_schema(operation)
        for host in hosts:
            body = schema and _with_ids(generator.value(schema), ids)
            reply = host.request(method, target, body, headers=bearer("bob"))
            assert _SECRET not in reply.body.decode(errors="replace"), (method, target, reply.text)
            if "{" in path:
                # An id of alice gets the same answer as an id that does not exist.
                other = re.sub(r"\{(\w+)\}", "0" * 32, path)
                unknown = host.request(method, other, body, headers=bearer("bob"))
                assert reply.status in (unknown.status, 403, 404, 422), (method, target, reply.text)
            tried += 1
    assert tried > 60
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
