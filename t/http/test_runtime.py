"""Retries, timeouts, subgraphs and context policies from the client's point of view."""

import json

import pytest

from harness.messages import texts
from harness.service import invocation
from harness.stream import is_done

_THREAD = {"thread_id": "t"}


def _openai(provider, **more):
    return {"provider": "openai", "model": "m", "base_url": provider.base_url, "api_key": "k"} | more


def _agent(**more):
    return {
        "nodes": [{"name": "MAIN", "type": "agent"} | more],
        "edges": [{"from": "START", "to": "MAIN"}],
    }


def _serve(start_service, document, **models):
    settings = {"agent": "graph.json:app", "models": models}
    return start_service(settings, files={"graph.json": json.dumps(document)})


def _ask(service, text):
    reply = service.invoke(text, config=_THREAD, response_granularity="full")
    assert reply.status == 200, reply.text
    return reply.json()["data"]


# Retries and timeouts


def test_a_node_is_tried_again(start_service, start_mock_provider):
    fails = {"error": {"message": "overloaded"}, "status": 503}
    mock = start_mock_provider(
        [
            {"match": {"userMessage": "x", "sequenceIndex": 0}, "response": fails},
            {"match": {"userMessage": "x", "sequenceIndex": 1}, "response": fails},
            {"match": {"userMessage": "x", "sequenceIndex": 2}, "response": {"content": "at last"}},
        ]
    )
    document = {"app": _agent(retry={"attempts": 3, "delay_ms": 1})}
    service = _serve(start_service, document, default=_openai(mock, retries_max=0))
    assert texts(_ask(service, "x")["messages"])[-1] == "at last"
    assert len(service.wait_for_log("attempt [12] of 3 failed", 2)) == 2
    run = service.get("/v1/observability/t").json()["data"]["run"]
    assert run["status"] == "done" and run["iterations"] == 1


def test_a_node_past_its_time_limit(start_service, gated_provider):
    document = {"app": _agent(timeout_ms=100)}
    service = _serve(start_service, document, default=_openai(gated_provider))
    reply = service.invoke("x", config=_THREAD)
    assert reply.status == 504 and reply.json()["error"]["code"] == "TIMEOUT"
    assert reply.json()["detail"] == 'node "MAIN" did not finish within 100 ms'
    lines = service.post("/v1/graph/stream", invocation("x", config=_THREAD)).lines()
    assert lines[-2]["data"]["code"] == "TIMEOUT" and is_done(lines[-1])
    assert 'node "MAIN"' in lines[-2]["data"]["reason"]
    state = service.get("/v1/threads/t/state").json()["data"]["state"]
    assert state["execution_meta"]["is_running"] is False
    assert state["execution_meta"]["status"] == "error"


# Subgraphs

_PLACES = {
    "app": {
        "nodes": [
            {"name": "IN", "type": "reply", "text": "in"},
            {"name": "TEAM", "type": "graph", "graph": "team"},
            {"name": "OUT", "type": "reply", "text": "out"},
        ],
        "edges": [
            {"from": "START", "to": "IN"},
            {"from": "IN", "to": "TEAM"},
            {"from": "TEAM", "to": "OUT"},
        ],
    },
    "team": {
        "nodes": [
            {"name": "A", "type": "reply", "text": "a", "set": {"visits": "A"}},
            {"name": "B", "type": "reply", "text": "b", "set": {"visits": "B"}},
        ],
        "edges": [{"from": "START", "to": "A"}, {"from": "A", "to": "B"}],
        "fields": {"visits": {"reducer": "append"}},
        "interrupt_before": ["B"],
    },
}


def test_a_subgraph_pauses_and_goes_on(start_service):
    service = _serve(start_service, _PLACES)
    graph = service.get("/v1/graph").json()["data"]
    assert [node["name"] for node in graph["nodes"]] == [
        "__start__",
        "IN",
        "TEAM/A",
        "TEAM/B",
        "OUT",
        "__end__",
    ]
    assert [(edge["source"], edge["target"]) for edge in graph["edges"]] == [
        ("__start__", "IN"),
        ("IN", "TEAM/A"),
        ("TEAM/A", "TEAM/B"),
        ("TEAM/B", "OUT"),
    ]
    assert graph["info"]["node_count"] == 6 and graph["info"]["edge_count"] == 4
    assert graph["info"]["interrupt_before"] == ["TEAM/B"]
    assert "visits" in graph["info"]["state_fields"]
    paused = _ask(service, "go")
    assert texts(paused["messages"]) == ["go", "in", "a"]
    assert paused["state"]["execution_meta"]["interrupt"]["node"] == "TEAM/B"
    resumed = _ask(service, "on")
    assert texts(resumed["messages"]) == ["go", "in", "a", "on", "b", "out"]
    assert resumed["state"]["visits"] == ["A", "B"]


def test_steps_of_a_subgraph_count(start_service):
    service = _serve(start_service, _PLACES)
    reply = service.invoke("go", recursion_limit=1)
    assert reply.status == 500 and reply.json()["error"]["code"] == "GRAPH_RECURSION_ERROR"


# Context policies


@pytest.mark.parametrize("limit", [{"messages_max": 4}, {"tokens_max": 100}])
def test_old_messages_become_a_summary(start_service, start_mock_provider, limit):
    mock = start_mock_provider(
        [
            {"match": {"systemMessage": "condense"}, "response": {"content": "they counted"}},
            {"match": {}, "response": {"content": "yes " * 20}},
        ]
    )
    document = {"app": _agent() | {"context": limit | {"summarize": True}}}
    service = _serve(start_service, document, default=_openai(mock))
    info = service.get("/v1/graph").json()["data"]["info"]
    assert info["context_type"] == "SummaryContext"
    asked = [f"number {i} " + "x" * 40 for i in range(6)]
    for text in asked:
        data = _ask(service, text)
    assert data["summary"] == data["state"]["context_summary"] == "they counted"
    assert 2 <= len(data["context"]) <= 4
    state = service.get("/v1/threads/t/state").json()["data"]["state"]
    assert state["context_summary"] == "they counted"
    assert texts(state["context"]) == texts(data["context"])
    # No message is lost.
    kept = service.get("/v1/threads/t/messages").json()["data"]["messages"]
    assert texts(kept)[::2] == asked
    # The model receives the summary instead.
    _ask(service, "and now?")
    chats = [r["body"]["messages"] for r in mock.requests() if "condense" not in str(r["body"])]
    assert "they counted" in chats[-1][0]["content"]
    assert all(len(chat) <= 6 for chat in chats)


def test_without_a_policy_there_is_no_context_type(start_service):
    service = _serve(start_service, _PLACES)
    assert service.get("/v1/graph").json()["data"]["info"]["context_type"] is None
