"""JSON with the maximum depth and number of values works in all later steps: fibers have small
stacks."""

import json

import pytest

from harness.agents import behaviour
from harness.service import invocation
from harness.tool_graph import tool_graph

_DEEPEST = 128  # maximum depth of a body


def _nested(levels, innermost):
    value = innermost
    for _ in range(levels):
        value = {"x": value}
    return value


def _put(service, path, body):
    return service.request("PUT", path, body)


def _state(service, thread):
    reply = service.get(f"/v1/threads/{thread}/state")
    assert reply.status == 200, reply.text[:500]
    return reply.json()["data"]["state"]


@pytest.fixture
def service(start_service):
    return start_service(behaviour("echo"))


def test_the_deepest_state_is_merged_read_and_carried_on(service):
    thread = "/v1/threads/deep/state"
    for innermost in ({"a": 1}, {"b": 2}):
        deep = _nested(_DEEPEST - 3, innermost)
        reply = _put(service, thread, {"state": {"custom": deep}})
        assert reply.status == 200, reply.text[:500]
    assert _state(service, "deep")["custom"] == _nested(_DEEPEST - 3, {"a": 1, "b": 2})
    too_deep = {"state": {"custom": _nested(_DEEPEST - 2, {"a": 1})}}
    assert _put(service, thread, too_deep).status == 422
    reply = service.post("/v1/graph/invoke", invocation("hi", config={"thread_id": "deep"}))
    assert reply.status == 200, reply.text[:500]
    assert _state(service, "deep")["custom"] == _nested(_DEEPEST - 3, {"a": 1, "b": 2})


def test_the_deepest_messages(service):
    content = [
        {"type": "tool_call", "id": "c", "name": "t", "args": _nested(_DEEPEST - 5, 1)},
        {"type": "annotation", "value": _nested(_DEEPEST - 5, 1)},
        {"type": "text", "text": "hi"},
    ]
    deep = {"role": "assistant", "content": content, "metadata": _nested(_DEEPEST - 3, 1)}
    body = {"messages": [deep] + invocation("hi")["messages"], "config": {"thread_id": "deep"}}
    reply = service.post("/v1/graph/invoke", body)
    assert reply.status == 200, reply.text[:500]
    for path in ("messages", "state"):
        reply = service.get(f"/v1/threads/deep/{path}")
        assert reply.status == 200 and '{"x":' * 120 in reply.text.replace(" ", "")
    assert service.post("/v1/graph/invoke", body).status == 200


def test_the_deepest_initial_state_and_config(service):
    body = invocation("hi") | {
        "initial_state": {"custom": _nested(_DEEPEST - 2, 1)},
        "config": {"thread_id": "deep", "custom": _nested(_DEEPEST - 2, 1)},
    }
    reply = service.post("/v1/graph/invoke", body)
    assert reply.status == 200, reply.text[:500]
    assert _state(service, "deep")["custom"] == _nested(_DEEPEST - 2, 1)


def test_a_state_grows_beyond_the_values_of_one_request(service):
    """Each request is within the limit of values but their sum is not; that must not make the
    thread unusable."""
    for name in ("one", "two"):
        reply = _put(service, "/v1/threads/wide/state", {"state": {name: [1] * 60_000}})
        assert reply.status == 200, reply.text[:500]
    state = _state(service, "wide")
    assert len(state["one"]) == len(state["two"]) == 60_000
    reply = service.post("/v1/graph/invoke", invocation("hi", config={"thread_id": "wide"}))
    assert reply.status == 200, reply.text[:500]
    reply = _put(service, "/v1/threads/wide/state", {"state": {"one": None}})
    assert reply.status == 200, reply.text[:500]
    state = _state(service, "wide")
    assert not state.get("one") and len(state["two"]) == 60_000


def test_schemas_that_a_client_sets_up(start_service):
    service = start_service(
        {"agent": "graph.json:app", "models": {"default": {"provider": "demo"}}},
        files={"graph.json": json.dumps(tool_graph(tools=["calculator"]))},
    )

    def set_up(schema):
        tool = {"node_name": "TOOLS", "name": "t", "description": "", "parameters": schema}
        return service.post("/v1/graph/setup", {"tools": [tool]})

    links = {f"a{i}": {"$ref": f"#/$defs/a{i + 1}"} for i in range(1800)}
    chain = {"$ref": "#/$defs/a0", "$defs": links | {"a1800": {"type": "object"}}}
    assert set_up(chain).status == 200
    assert set_up({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#"}}}).status == 200
    deep = True
    for _ in range(_DEEPEST - 4):
        deep = {"not": deep}
    assert set_up(deep).status == 200
    patterns = {f"^{i}": True for i in range(1000)}
    reply = set_up({"patternProperties": patterns})
    assert reply.status == 422 and "patterns" in reply.text
    reply = service.get("/v1/graph/tools")
    assert reply.status == 200 and reply.json()["data"]["nodes"][0]["tool_count"] == 2
