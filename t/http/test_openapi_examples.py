"""The descriptions and examples of the OpenAPI document. Whoever presses "Try it out" sends these
requests, so each of them works, in the order of a conversation, and is answered as its example says."""

import json
import re
import shutil

import pytest

from harness import agui, environment, http1
from harness.agents import DEMO
from harness.live import LIVE, LiveClient
from harness.openapi import OpenApi
from harness.uploads import file_form
from harness.websocket import WebSocket

_JSON = "application/json"
_FILE = b"Tea is served at five."
# Routes that need a session, or tokens; t/http/test_mcp_sessions.py and test_mcp_access.py use them.
_NOT_BY_ITSELF = {
    ("GET", "/mcp"), ("DELETE", "/mcp"), ("GET", "/mcp/.well-known/oauth-protected-resource"),
}
# Ids that the service generates: the route that generates one, and where it is in the response.
_MADE_IDS = {
    "memory_id": ("POST", "/v1/store/memories", lambda data: data["memory_id"]),
    "file_id": ("POST", "/v1/files/upload", lambda data: data["file_id"]),
    "run_id": ("GET", "/v1/evals/runs", lambda data: data["runs"][0]["id"]),
    "thread's run_id": ("POST", "/v1/graph/runs", lambda data: data["run_id"]),
    "conversation_id": ("POST", "/openai/v1/conversations", lambda conversation: conversation["id"]),
    "item_id": ("POST", "/openai/v1/conversations/{conversation_id}/items", lambda items: items["first_id"]),
    "response_id": ("POST", "/openai/v1/responses", lambda response: response["id"]),
}


@pytest.fixture
def service(make_service):
    service = make_service(DEMO | {"store": "leveldb", "embedding": "hash"})
    shutil.copytree(environment.ROOT / "t" / "http" / "reports", service.directory / "conf" / "eval_reports")
    return service.start()


@pytest.fixture
def openapi(service):
    return OpenApi(service.get("/openapi.json").json())


def _success(operation):
    """The response that the operation has first."""
    return next(iter(operation["responses"].values()))


def _example(operation, where):
    if where == "request":
        return operation.get("requestBody", {"content": {}})["content"].get(_JSON, {}).get("example")
    content = _success(operation).get("content", {})
    return next(iter(content.values())).get("example") if content else None


def _in_order(openapi):
    """The operations, those that create something first and those that remove it last."""
    rank = {"POST": 0, "PUT": 1, "GET": 2, "DELETE": 4}
    operations = [op for op in openapi.operations() if "x-websocket" not in op[2]]

    def key(entry):
        method, path, _ = entry
        # Messages and states go before their thread, and what is forgotten is there until the end.
        return (5 if path.endswith("/forget") else rank[method], -len(path) if method == "DELETE" else 0)

    return sorted(operations, key=key)


def _send(service, method, path, operation, ids):
    def value(match):
        name = match[1]
        if name == "run_id" and path.startswith("/v1/threads/"):
            name = "thread's run_id"
        shown = [p.get("example") for p in operation["parameters"] if p["name"] == match[1]]
        return shown[0] or ids[name]

    target = re.sub(r"\{(\w+)\}", value, path)
    if path == "/v1/files/upload":
        headers, body = file_form(_FILE, "note.txt")
        return service.request(method, target, body, headers=headers)
    body = _example(operation, "request")
    # One object per line, even if the route sends events by default.
    headers = [("Accept", "application/x-ndjson")] if path.endswith("/stream") else []
    if path == "/mcp":
        headers.append(("Content-Type", _JSON))
    return service.request(method, target, None if body is None else json.dumps(body), headers=headers)


def _data_of_events(described):
    """The objects in an example of server-sent events that all have one schema."""
    if "x-event" not in described:
        return []
    lines = described["example"].splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]


def test_every_operation_has_a_description_and_examples(openapi):
    texts = set()
    for method, path, operation in openapi.operations():
        name = f"{method} {path}"
        assert len(operation["description"]) > 40 and operation["description"].endswith("."), name
        assert operation["description"] not in texts, name
        texts.add(operation["description"])
        if "x-websocket" in operation:
            assert operation["x-websocket"]["example"], name
            continue
        schema = openapi.body_schema(operation)
        if schema is not None:
            openapi.validator(schema).validate(_example(operation, "request"))
        content = _success(operation).get("content", {})
        if "*/*" in content:  # the bytes of a file
            continue
        for kind, described in content.items():
            assert "example" in described, f"{name} {kind}"
            openapi.validator(described["schema"]).validate(described["example"])
            for event in _data_of_events(described):
                openapi.validator(described["x-event"]).validate(event)


def test_every_example_works(service, openapi):
    ids = {}
    for method, path, operation in _in_order(openapi):
        if (method, path) in _NOT_BY_ITSELF:
            continue
        reply = _send(service, method, path, operation, ids)
        assert str(reply.status) == next(iter(operation["responses"])), f"{method} {path}: {reply.text}"
        if "*/*" in _success(operation)["content"]:
            assert reply.body == _FILE
            continue
        if path == "/agui":
            shown = [event["type"] for event in agui.parse(_example(operation, "answer"))]
            found = [event["type"] for event in agui.events(reply) if not event["type"].startswith("STEP")]
            assert list(dict.fromkeys(found)) == shown  # the answer comes in pieces
            continue
        openapi.check_answer(method, path, reply)
        if "/stream" in path:
            example = _success(operation)["content"]["application/x-ndjson"]["example"]
            assert example.keys() == reply.lines()[0].keys()
            continue
        example = _example(operation, "answer")
        if example is None:
            continue
        assert example.keys() == reply.json().keys(), path
        is_facade = path.startswith(("/openai/", "/mcp"))  # it has no envelope
        data = reply.json() if is_facade else reply.json()["data"]
        if not is_facade and isinstance(data, dict) and path != "/v1/graph:StateSchema":
            assert example["data"].keys() == data.keys(), f"{method} {path}: {data}"
        for name, (made_by, made_at, find) in _MADE_IDS.items():
            if (method, path) == (made_by, made_at):
                ids[name] = find(data)
        if path == "/v1/graph/runs":  # what follows finds a thread without a run in flight
            assert service.get(f"/v1/threads/tour/runs/{data['run_id']}/wait").status == 200


def test_what_a_get_shows_exists_after_the_first_run(service, openapi):
    """The ids that are filled in belong to the example of /v1/graph/invoke."""
    paths = openapi.document["paths"]
    invoke = "/v1/graph/invoke"
    reply = _send(service, "POST", invoke, paths[invoke]["post"], {})
    assert reply.status == 200
    ids = {"thread's run_id": reply.json()["data"]["meta"]["run_id"]}
    for path, item in paths.items():
        if "get" in item and re.search(r"\{(thread|message)_id\}", path):
            assert _send(service, "GET", path, item["get"], ids).status == 200, path


def test_the_examples_of_sockets_work(service, openapi, start_service):
    operation = openapi.document["paths"]["/v1/graph/ws"]["get"]
    with WebSocket(service.port).upgrade() as socket:
        socket.send_json(operation["x-websocket"]["example"])
        assert {chunk["thread_id"] for chunk in socket.read_run()} == {"tour"}
    live = start_service(LIVE)
    described = http1.fetch(live.port, "GET", "/openapi.json").json()
    example = described["paths"]["/v1/graph/live"]["get"]["x-websocket"]["example"]
    client = LiveClient(live.port).start(**example)
    client.type("Hello")
    assert client.read_turn()
