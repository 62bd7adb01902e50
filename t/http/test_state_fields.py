"""Fields of a declarative graph's state and how updates are merged, over several runs."""

import json

import jsonschema

from harness.agents import DEMO
from harness.messages import texts
from harness.service import invocation

_FIELDS = {
    "count": {"reducer": "sum"},
    "least": {"reducer": "min"},
    "most": {"reducer": "max", "default": 2},
    "seen": {"reducer": "union"},
    "all": {"reducer": "append"},
    "notes": {"reducer": "merge", "default": {"kept": True}},
}


def _graph(first, second, fields=None):
    return {
        "app": {
            "nodes": [
                {"name": "A", "type": "reply", "text": "a", "set": first},
                {"name": "B", "type": "reply", "text": "b", "set": second},
            ],
            "edges": [{"from": "START", "to": "A"}, {"from": "A", "to": "B"}],
            "fields": fields or _FIELDS,
        }
    }


def _start(start_service, graph):
    return start_service({"agent": "graph.json:app"}, files={"graph.json": json.dumps(graph)})


def test_values_meet_as_their_field_says(start_service):
    graph = _graph(
        {"count": 1, "least": 5, "most": 1, "seen": ["x"], "all": ["x"], "notes": {"a": {"b": 1}}},
        {"count": 2, "least": 4, "most": 3, "seen": ["x", "y"], "all": "x", "notes": {"a": {"c": 2}}},
    )
    service = _start(start_service, graph)
    for runs in (1, 2):
        reply = service.post(
            "/v1/graph/invoke",
            invocation("hi", config={"thread_id": "t"}, response_granularity="full"),
        )
        assert reply.status == 200, reply.text
        state = reply.json()["data"]["state"]
        assert {name: state[name] for name in _FIELDS} == {
            "count": 3 * runs,
            "least": 4,
            "most": 3,
            "seen": ["x", "y"],
            "all": ["x", "x"] * runs,
            "notes": {"kept": True, "a": {"b": 1, "c": 2}},
        }
    properties = service.get("/v1/graph:StateSchema").json()["data"]["properties"]
    assert properties["count"] | {"title": ""} == {"title": "", "type": "number", "default": 0}
    assert properties["seen"]["type"] == "array" and properties["notes"]["type"] == "object"
    assert "type" not in properties["least"], "null until there is a value"


_MEDIA = {"kind": "url", "url": "https://example.com/x", "mime_type": "image/png"}
_BLOCKS = [
    {"type": "text", "text": "hi", "annotations": [{"url": "https://example.com", "title": "x"}]},
    {"type": "image", "media": _MEDIA | {"width": 3, "height": 4}, "alt_text": "x", "bbox": [0, 0.5]},
    {"type": "audio", "media": _MEDIA, "transcript": "x", "sample_rate": 16000, "channels": 1},
    {"type": "video", "media": _MEDIA, "thumbnail": _MEDIA},
    {"type": "document", "media": _MEDIA, "pages": [1, 2], "excerpt": "x"},
    {"type": "data", "mime_type": "application/json", "data_base64": "e30="},
    {"type": "tool_call", "id": "c", "name": "t", "args": {"a": 1}},
    {"type": "remote_tool_call", "id": "r", "name": "t", "args": {}, "tool_type": "remote"},
    {"type": "tool_result", "call_id": "c", "output": [1], "is_error": False, "status": "completed"},
    {"type": "reasoning", "summary": "x", "details": ["y"]},
    {"type": "annotation", "kind": "citation", "refs": [{"file_id": "f", "page": 1}], "spans": [[0, 2]]},
    {"type": "error", "message": "x", "code": "E", "data": {"a": 1}},
]


def test_the_schema_describes_the_state_and_each_kind_of_block(start_service):
    service = start_service(DEMO)
    schema = service.get("/v1/graph:StateSchema").json()["data"]
    jsonschema.Draft202012Validator.check_schema(schema)
    state = jsonschema.Draft202012Validator(schema)
    service.invoke("hello", config={"thread_id": "t"})
    messages = [{"role": "assistant", "content": [block]} for block in _BLOCKS]
    added = service.post("/v1/threads/t/messages", {"messages": messages})
    assert added.status == 200, added.text
    stored = service.get("/v1/threads/t/state").json()["data"]["state"]
    assert [message["content"][0]["type"] for message in stored["context"][-len(_BLOCKS) :]] == [
        block["type"] for block in _BLOCKS
    ]
    assert [error.message for error in state.iter_errors(stored)] == []
    # A schema that accepts everything would be useless.
    described = {name: kind for name, kind in schema["$defs"].items() if name.endswith("Block")}
    types = {kind["properties"]["type"]["const"] for kind in described.values()}
    assert types == {block["type"] for block in _BLOCKS}
    wrong = stored | {"context": [stored["context"][0] | {"content": [{"type": "nonsense"}]}]}
    assert list(state.iter_errors(wrong))


def test_a_value_of_another_kind_ends_the_run_and_says_so(start_service):
    """The failed node leaves no updates, however often it is tried."""
    graph = _graph({"count": 1, "all": ["x"]}, {"all": ["y"], "most": 5, "count": "one"})
    service = _start(start_service, graph)
    for tries in (1, 2):
        body = invocation("hi", config={"thread_id": "t"})
        reply = service.post("/v1/graph/invoke", body)
        assert reply.status == 500
        assert reply.json()["detail"] == 'state field "count": the update is no number'
        state = service.get("/v1/threads/t/state").json()["data"]["state"]
        assert texts(state["context"]) == ["hi", "a"] * tries
        assert (state["count"], state["all"], state["most"]) == (tries, ["x"] * tries, 2)
