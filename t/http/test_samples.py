"""The sample graphs, in both forms, tested end to end with a third-party mock of a provider."""

import json

import pytest

from harness import environment
from harness.messages import texts
from harness.service import invocation
from harness.stream import is_done
from harness.websocket import WebSocket

_THREAD = {"thread_id": "t"}


def _call(name, call_id, **arguments):
    return {"name": name, "id": call_id, "arguments": json.dumps(arguments)}


def _serve(start_service, mock, graph):
    model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
    return start_service({"agent": f"graphs/{graph}:app", "models": {"default": model}})


def _ask(service, text, **more):
    reply = service.invoke(text, config=_THREAD, response_granularity="full", **more)
    assert reply.status == 200, reply.text
    return reply.json()["data"]


def _trace(service):
    return service.get("/v1/observability/t").json()["data"]["run"]


def _spans(run, kind):
    return [span["name"] for span in run["spans"] if span["kind"] == kind]


def _blocks(messages, kind):
    return [block for message in messages for block in message["content"] if block["type"] == kind]


@pytest.mark.parametrize("graph", sorted(path.name for path in environment.GRAPH_DOCUMENTS.glob("*.json")))
def test_clients_can_draw_each_sample(start_service, graph):
    """The clients first place the nodes and then connect those that edges name."""
    service = start_service({"agent": f"graphs/{graph}:app"})
    data = service.get("/v1/graph").json()["data"]
    names = [node["name"] for node in data["nodes"]]
    assert names[0] == "__start__" and names[-1] == "__end__"
    for list_, count in (("nodes", "node_count"), ("edges", "edge_count")):
        ids = [entry["id"] for entry in data[list_]]
        assert len(ids) == len(set(ids)) == data["info"][count]
    for edge in data["edges"]:
        assert edge["source"] in names and edge["target"] in names, edge
    tools = service.get("/v1/graph/tools").json()["data"]
    assert tools["node_count"] == len(tools["nodes"])
    assert {node["node_name"] for node in tools["nodes"]} <= set(names) - {"__start__", "__end__"}


# ReAct


@pytest.mark.parametrize(
    "graph, calls, outputs",
    [
        (
            "react.json",
            [
                _call("calculator", "c1", expression="6*7"),
                _call("calculator", "c2", expression="2^10"),
                _call("calculator", "c3", expression="1/0"),
            ],
            [42, 1024, None],
        ),
        (
            "react.so",
            [
                _call("distance", "c1", **{"from": "Oslo", "to": "Rome"}),
                _call("km_to_miles", "c2", km=1000),
                _call("distance", "c3", **{"from": "", "to": "Rome"}),
            ],
            [{"from": "Oslo", "to": "Rome", "km": 800}, {"miles": 621.371}, None],
        ),
    ],
)
def test_react_makes_parallel_calls(start_service, start_mock_provider, graph, calls, outputs):
    mock = start_mock_provider(
        [
            {"match": {"hasToolResult": False}, "response": {"toolCalls": calls}},
            {"match": {"hasToolResult": True}, "response": {"content": "That is all."}},
        ]
    )
    service = _serve(start_service, mock, graph)
    lines = service.post("/v1/graph/stream", invocation("go", config=_THREAD)).lines()
    assert is_done(lines[-1]) and not any(line["event"] == "error" for line in lines)
    messages = [line["message"] for line in lines if line["message"] and not line["message"]["delta"]]
    results = _blocks(messages, "tool_result")
    assert [result["call_id"] for result in results] == ["c1", "c2", "c3"]
    assert [result["is_error"] for result in results] == [False, False, True]
    assert [result["output"] for result in results][:2] == outputs[:2]
    assert texts(messages)[-1] == "That is all."
    run = _trace(service)
    assert _spans(run, "tool") == [f"tool: {call['name']}" for call in calls]
    assert run["llm_calls"] == 2 and run["tool_calls"] == 3
    info = service.get("/v1/graph").json()["data"]["info"]
    assert info["context_type"] == "SummaryContext"


# Supervisor


def _team(tools):
    """The supervisor asks both specialists in turn; each uses its tool once."""
    lead, math, time = "You lead a team", "You are the mathematician", "You are the timekeeper"
    replies = [
        (lead, 0, {"content": "mathematician"}),
        (lead, 1, {"content": "Timekeeper: timekeeper"}),
        (lead, 2, {"content": "done"}),
        (math, 0, {"toolCalls": [_call(tools[0], "c1", expression="6*7", a=6, b=7)]}),
        (math, 1, {"content": "It is 42."}),
        (time, 0, {"toolCalls": [_call(tools[1], "c2")]}),
        (time, 1, {"content": "And it is late."}),
    ]
    return [
        {"match": {"systemMessage": who, "sequenceIndex": index}, "response": response}
        for who, index, response in replies
    ]


@pytest.mark.parametrize(
    "graph, tools",
    [
        ("supervisor.json", ("calculator", "current_time")),
        ("supervisor.so", ("multiply", "today")),
    ],
)
def test_supervisor_asks_both_specialists(start_service, start_mock_provider, graph, tools):
    mock = start_mock_provider(_team(tools))
    service = _serve(start_service, mock, graph)
    nodes = {node["name"] for node in service.get("/v1/graph").json()["data"]["nodes"]}
    assert nodes == {
        "__start__",
        "SUPERVISOR",
        "MATH/AGENT",
        "MATH/TOOLS",
        "TIME/AGENT",
        "TIME/TOOLS",
        "__end__",
    }
    data = _ask(service, "What is 6 * 7, and what is the time?")
    said = [text for text in texts(data["messages"]) if text]
    assert said == ["What is 6 * 7, and what is the time?", "It is 42.", "And it is late."]
    results = _blocks(data["messages"], "tool_result")
    assert results[0]["output"] == 42 and not any(result["is_error"] for result in results)
    assert data["state"]["next"] == "done"
    run = _trace(service)
    assert _spans(run, "tool") == [f"tool: {name}" for name in tools]
    assert run["iterations"] == 5
    # Each specialist gets only its own tools, the supervisor gets none.
    for request in mock.requests():
        body = request["body"]
        prompt = next(m["content"] for m in body["messages"] if m["role"] == "system")
        offered = [tool["function"]["name"] for tool in body.get("tools", [])]
        expected = {"You lead": [], "You are the m": [tools[0]], "You are the t": [tools[1]]}
        assert offered == next(v for k, v in expected.items() if prompt.startswith(k))


def test_what_a_supervisor_decides_is_not_streamed(start_service, start_mock_provider):
    mock = start_mock_provider(_team(("calculator", "current_time")))
    service = _serve(start_service, mock, "supervisor.json")
    lines = service.post("/v1/graph/stream", invocation("go", config=_THREAD)).lines()
    assert is_done(lines[-1])
    nodes = {line["metadata"]["node"] for line in lines if line["message"]}
    assert nodes == {"MATH/AGENT", "MATH/TOOLS", "TIME/AGENT", "TIME/TOOLS"}


# Human approval


@pytest.mark.parametrize(
    "graph, call, paused_at",
    [
        ("approval.json", _call("calculator", "c1", expression="6*7"), "APPROVAL"),
        ("approval.so", _call("transfer", "c1", to="Ada", amount=42), "ASK"),
    ],
)
@pytest.mark.parametrize("answer", ["yes", "no"])
def test_approval(start_service, start_mock_provider, graph, call, paused_at, answer):
    mock = start_mock_provider(
        [
            {"match": {"userMessage": "please"}, "response": {"toolCalls": [call]}},
            {"match": {"userMessage": "yes"}, "response": {"content": "Done."}},
            {"match": {"userMessage": "no"}, "response": {"content": "Then not."}},
        ]
    )
    service = _serve(start_service, mock, graph)
    paused = _ask(service, "please")
    meta = paused["state"]["execution_meta"]
    assert meta["is_interrupted"] and meta["interrupt"]["node"] == paused_at
    if paused_at == "ASK":
        assert meta["interrupt"]["data"]["calls"] == [
            {"tool": "transfer", "arguments": {"to": "Ada", "amount": 42}}
        ]
    assert _blocks(paused["messages"], "tool_result") == []
    assert _spans(_trace(service), "tool") == []
    service.quit()  # a person may take a long time to answer
    service.wait_until_gone()
    service.start()
    resumed = _ask(service, answer)
    assert not resumed["state"]["execution_meta"]["is_interrupted"]
    (result,) = _blocks(resumed["messages"], "tool_result")
    assert result["call_id"] == "c1" and result["is_error"] == (answer == "no")
    if answer == "no":
        assert result["output"] == {"error": "the user did not allow this"}
    assert len(_spans(_trace(service), "tool")) == (answer == "yes")
    assert texts(resumed["messages"])[-1] == ("Done." if answer == "yes" else "Then not.")
    # The model received the call with its result, followed by the answer.
    roles = [message["role"] for message in mock.requests()[-1]["body"]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user"]


# Client-side tools


@pytest.mark.parametrize(
    "graph, local, output",
    [
        ("remote.json", _call("calculator", "c1", expression="6*7"), 42),
        (
            "remote.so",
            _call("distance", "c1", from_latitude=52.52, from_longitude=13.4,
                  to_latitude=48.86, to_longitude=2.35),
            {"km": 877},
        ),
    ],
)
@pytest.mark.parametrize("route", ["invoke", "ws"])
def test_the_client_is_asked(start_service, start_mock_provider, graph, local, output, route):
    calls = [local, _call("get_location", "c2", precise=True)]
    mock = start_mock_provider(
        [
            {"match": {"hasToolResult": False}, "response": {"toolCalls": calls}},
            {"match": {"hasToolResult": True}, "response": {"content": "You are in Berlin."}},
        ]
    )
    service = _serve(start_service, mock, graph)
    tools = service.get("/v1/graph/tools").json()["data"]["nodes"][0]["tools"]
    assert {tool["name"]: tool["source"] for tool in tools} == {
        local["name"]: "local",
        "get_location": "remote",
    }
    paused = _ask(service, "where am I?")
    assert paused["state"]["execution_meta"]["is_interrupted"]
    (asked,) = _blocks(paused["messages"], "remote_tool_call")
    assert (asked["id"], asked["name"], asked["args"]) == ("c2", "get_location", {"precise": True})
    (result,) = _blocks(paused["messages"], "tool_result")
    assert (result["call_id"], result["output"]) == ("c1", output)
    block = {"type": "tool_result", "call_id": "c2", "output": {"city": "Berlin"}}
    answer = [{"role": "tool", "message_id": "0", "content": [block]}]
    if route == "invoke":
        reply = service.post("/v1/graph/invoke", {"messages": answer, "config": _THREAD})
        messages = reply.json()["data"]["messages"]
        assert _blocks(messages, "remote_tool_call") == []
    else:
        with WebSocket(service.port) as socket:
            socket.upgrade()
            socket.send_json({"invoke_type": "resume", "tool_result": answer, "config": _THREAD})
            messages = [chunk["message"] for chunk in socket.read_run() if chunk["message"]]
        messages = [message for message in messages if not message["delta"]]
    assert texts(messages)[-1] == "You are in Berlin."
    told = [m for m in mock.requests()[-1]["body"]["messages"] if m["role"] == "tool"]
    assert [m["tool_call_id"] for m in told] == ["c1", "c2"]
