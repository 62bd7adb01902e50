"""Fields of a declarative graph's state and how their values meet, over several runs."""

import json

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


def test_a_value_of_another_kind_ends_the_run_and_says_so(start_service):
    """And leaves nothing of its node, however often that is tried."""
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
