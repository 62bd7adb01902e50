"""Tools that the client executes: how they are declared and set up, and how a run waits for
them."""

import json

import pytest

from harness.agents import DEMO
from harness.messages import texts, user
from harness.stream import is_done
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.tool_graph import asks, tool_graph
from harness.websocket import WebSocket

_WEATHER = {
    "name": "get_weather",
    "description": "The weather at a place, as the client knows it.",
    "parameters": {
        "type": "object",
        "properties": {"location": {"type": "string"}},
        "required": ["location"],
    },
}
_SETUP = {"tools": [{"node_name": "TOOLS"} | _WEATHER]}


def _asks(text, *calls):
    return asks(text, *calls, id_prefix=f"call_{text}")


_FIXTURES = [
    *_asks("one", ("get_weather", {"location": "Rome"})),
    *_asks("two", ("get_weather", {"location": "Rome"}), ("get_weather", {"location": "Oslo"})),
    *_asks("mixed", ("calculator", {"expression": "6*7"}), ("get_weather", {"location": "Rome"})),
    *_asks("wrong", ("get_weather", {"place": 7})),
    {"match": {"userMessage": "never mind"}, "response": {"content": "fine"}},
]


def _nested(document, within):
    """Makes the graph `app` of the document a subgraph of others."""
    for level, node in enumerate(reversed(within)):
        document[f"inner{level}"] = document["app"]
        document["app"] = {
            "nodes": [{"name": node, "type": "graph", "graph": f"inner{level}"}],
            "edges": [{"from": "START", "to": node}],
        }
    return document


@pytest.fixture
def serve(make_service, start_mock_provider):
    """serve() starts an agent whose tool node declares a remote tool; `within` lists the nodes of
    the subgraphs around it, outermost first."""

    def start(settings=None, within=(), **tools_node):
        mock = start_mock_provider(_FIXTURES)
        model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
        tools_node = tools_node or {"tools": ["calculator"], "remote_tools": [_WEATHER]}
        service = make_service(
            {"agent": "graph.json:app", "models": {"default": model}} | (settings or {}),
            files={"graph.json": json.dumps(_nested(tool_graph(**tools_node), within))},
        ).start()
        service.mock = mock
        return service

    return start


def _blocks(messages, kind):
    return [b for message in messages for b in message["content"] if b["type"] == kind]


def _result(call, output, **fields):
    block = {"type": "tool_result", "call_id": call["id"], "output": output}
    return {"role": "tool", "message_id": "0", "content": [block | {"status": "completed"} | fields]}


def _pending(state):
    return [call["id"] for call in state["execution_meta"]["interrupt"]["data"]["remote_tool_calls"]]


# Pause and resume


def test_invoke_pauses_and_resumes(serve):
    service = serve()
    reply = service.invoke("one", config={"thread_id": "t"}, response_granularity="full")
    assert reply.status == 200, reply.text
    data = reply.json()["data"]
    [call] = _blocks(data["messages"], "remote_tool_call")
    assert call["name"] == "get_weather" and call["args"] == {"location": "Rome"}
    assert call["tool_type"] == "remote"
    [announced] = [m for m in data["messages"] if _blocks([m], "remote_tool_call")]
    assert announced["role"] == "tool" and announced["metadata"]["is_remote"] is True
    meta = data["state"]["execution_meta"]
    assert meta["is_interrupted"] is True and meta["is_running"] is False
    assert meta["interrupt"]["node"] == "TOOLS"
    assert _pending(data["state"]) == [call["id"]]

    body = {"messages": [_result(call, {"degrees": 24})], "config": {"thread_id": "t"}}
    data = service.post("/v1/graph/invoke", body | {"response_granularity": "full"}).json()["data"]
    assert texts(data["messages"])[-1] == "done"
    assert _blocks(data["messages"], "remote_tool_call") == [], "the client would run it again"
    [result] = _blocks(data["messages"], "tool_result")
    assert result["call_id"] == call["id"] and result["output"] == {"degrees": 24}
    assert data["state"]["execution_meta"].get("interrupt") is None
    told = service.mock.messages()
    assert [message["role"] for message in told] == ["user", "assistant", "tool"]
    assert told[-1]["tool_call_id"] == call["id"] and "24" in told[-1]["content"]

    again = service.invoke("never mind", config={"thread_id": "t"}).json()["data"]
    assert texts(again["messages"])[-1] == "fine"


def test_a_call_whose_announcement_was_deleted_still_takes_a_result(serve):
    """The assistant's call stays in the conversation, so the model needs a result for it."""
    service = serve()
    data = service.invoke("one", config={"thread_id": "t"}).json()["data"]
    [call] = _blocks(data["messages"], "remote_tool_call")
    [announced] = [m["message_id"] for m in data["messages"] if _blocks([m], "remote_tool_call")]
    assert service.request("DELETE", f"/v1/threads/t/messages/{announced}").status == 200
    state = service.get("/v1/threads/t/state").json()["data"]["state"]
    assert state["execution_meta"]["is_interrupted"] is False

    body = {"messages": [_result(call, "sunny")], "config": {"thread_id": "t"}}
    assert texts(service.post("/v1/graph/invoke", body).json()["data"]["messages"])[-1] == "done"
    assert [message["role"] for message in service.mock.messages()] == ["user", "assistant", "tool"]
    assert service.post("/v1/graph/invoke", body).status == 422


def test_stream_announces_each_call_once(serve):
    service = serve()
    chunks = service.stream("two", config={"thread_id": "t"}).read_all()
    assert is_done(chunks[-1])
    messages = [chunk["message"] for chunk in chunks if chunk["event"] == "message"]
    calls = _blocks(messages, "remote_tool_call")
    assert [call["args"]["location"] for call in calls] == ["Rome", "Oslo"]
    body = {"messages": [_result(call, "warm") for call in calls], "config": {"thread_id": "t"}}
    reply = service.post("/v1/graph/stream", body)
    chunks = [json.loads(line) for line in reply.text.splitlines()]
    messages = [chunk["message"] for chunk in chunks if chunk["event"] == "message"]
    assert [b["call_id"] for b in _blocks(messages, "tool_result")] == [c["id"] for c in calls]
    assert _blocks(messages, "remote_tool_call") == []
    assert texts(messages)[-1] == "done" and is_done(chunks[-1])


def test_resume_over_a_socket_with_plain_text(serve):
    """A result without an id answers the only pending call."""
    service = serve()
    with WebSocket(service.port).upgrade() as socket:
        socket.send_json({"messages": [user("one")], "config": {"thread_id": "t"}})
        chunks = socket.read_run()
        [call] = _blocks([c["message"] for c in chunks if c["message"]], "remote_tool_call")
        resume = {
            "invoke_type": "resume",
            "tool_result": [{"role": "tool", "content": "24 degrees"}],
            "config": {"thread_id": "t"},
        }
        socket.send_json(resume)
        chunks = socket.read_run()
        messages = [chunk["message"] for chunk in chunks if chunk["message"]]
        [result] = _blocks(messages, "tool_result")
        assert result["call_id"] == call["id"] and result["output"] == "24 degrees"
        assert texts(messages)[-1] == "done"

        socket.send_json(resume)  # no call is pending any more
        chunks = socket.read_run()
        assert [chunk["event"] for chunk in chunks] == ["error", "updates"]
        assert "no tool call waits for a result" in chunks[0]["data"]["reason"]


def test_local_and_remote_calls_together(serve):
    service = serve()
    data = service.invoke("mixed", config={"thread_id": "t"}).json()["data"]
    [local] = _blocks(data["messages"], "tool_result")
    assert local["output"] == 42
    [call] = _blocks(data["messages"], "remote_tool_call")
    body = {"messages": [_result(call, "sunny")], "config": {"thread_id": "t"}}
    data = service.post("/v1/graph/invoke", body).json()["data"]
    assert texts(data["messages"])[-1] == "done"
    assert [r["output"] for r in _blocks(data["messages"], "tool_result")] == [42, "sunny"]


def test_answers_that_come_one_by_one(serve):
    service = serve()
    data = service.invoke("two", config={"thread_id": "t"}).json()["data"]
    first, second = _blocks(data["messages"], "remote_tool_call")
    body = {"messages": [_result(second, "cold")], "config": {"thread_id": "t"}}
    data = service.post("/v1/graph/invoke", body | {"response_granularity": "full"}).json()["data"]
    assert _blocks(data["messages"], "remote_tool_call") == [first], "the one that still waits"
    assert _pending(data["state"]) == [first["id"]]
    text = {"role": "tool", "content": "warm"}  # only one is left to answer
    data = service.post(
        "/v1/graph/invoke", {"messages": [text], "config": {"thread_id": "t"}}
    ).json()["data"]
    assert texts(data["messages"])[-1] == "done"


def test_results_that_no_call_waits_for(serve):
    """Such results are refused and change nothing: the thread still waits."""
    service = serve()
    data = service.invoke("two", config={"thread_id": "t"}).json()["data"]
    calls = _blocks(data["messages"], "remote_tool_call")

    def refusal(messages, **config):
        reply = service.post("/v1/graph/invoke", {"messages": messages, "config": config})
        assert reply.status == 422, reply.text
        return reply.json()["detail"]

    assert "made_up" in refusal([_result({"id": "made_up"}, 1)], thread_id="t")
    assert "must name in call_id" in refusal([{"role": "tool", "content": "x"}], thread_id="t")
    twice = [_result(calls[0], 1), _result(calls[0], 2)]
    assert calls[0]["id"] in refusal(twice, thread_id="t")
    assert calls[0]["id"] in refusal([_result(calls[0], 1)], thread_id="unknown")
    assert "made_up" in refusal([_result({"id": "made_up"}, 1)])
    assert service.get("/v1/threads/unknown").status == 404
    assert [t["thread_id"] for t in service.get("/v1/threads").json()["data"]["threads"]] == ["t"]

    state = service.get("/v1/threads/t/state").json()["data"]["state"]
    assert _pending(state) == [call["id"] for call in calls]
    body = {"messages": [_result(call, 1) for call in calls], "config": {"thread_id": "t"}}
    assert texts(service.post("/v1/graph/invoke", body).json()["data"]["messages"])[-1] == "done"


_SOON = pytest.mark.one_host("other hosts know a new tool within a second")


@pytest.mark.parametrize("set_up", [False, pytest.param(True, marks=_SOON)])
@pytest.mark.parametrize("within", [["TEAM"], ["HOUSE", "TEAM"]])
def test_tools_of_a_subgraph(serve, within, set_up):
    node = "/".join([*within, "TOOLS"])
    service = serve(within=within, **({"tools": ["calculator"]} if set_up else {}))
    if set_up:
        reply = service.post("/v1/graph/setup", {"tools": [{"node_name": node} | _WEATHER]})
        assert reply.status == 200, reply.text
    reply = service.invoke("one", config={"thread_id": "t"}, response_granularity="full")
    assert reply.status == 200, reply.text
    data = reply.json()["data"]
    [call] = _blocks(data["messages"], "remote_tool_call")
    assert data["state"]["execution_meta"]["interrupt"]["node"] == node
    assert _pending(data["state"]) == [call["id"]]

    body = {"messages": [_result(call, "sunny")], "config": {"thread_id": "t"}}
    data = service.post("/v1/graph/invoke", body | {"response_granularity": "full"}).json()["data"]
    assert texts(data["messages"])[-1] == "done"
    assert data["state"]["execution_meta"].get("interrupt") is None
    assert [message["role"] for message in service.mock.messages()] == ["user", "assistant", "tool"]


def test_a_client_that_goes_on_without_the_call(serve):
    service = serve()
    service.invoke("one", config={"thread_id": "t"})
    data = service.invoke("never mind", config={"thread_id": "t"}).json()["data"]
    assert texts(data["messages"])[-1] == "fine"
    [result] = _blocks(data["messages"], "tool_result")
    assert result["is_error"] and "went on without" in result["output"]["error"]
    assert _blocks(data["messages"], "remote_tool_call") == []


def test_a_failed_call_of_the_client(serve):
    service = serve()
    data = service.invoke("one", config={"thread_id": "t"}).json()["data"]
    [call] = _blocks(data["messages"], "remote_tool_call")
    failed = _result(call, {"error": "no permission"}, status="failed", is_error=True)
    body = {"messages": [failed], "config": {"thread_id": "t"}}
    data = service.post("/v1/graph/invoke", body).json()["data"]
    [result] = _blocks(data["messages"], "tool_result")
    assert result["is_error"] and texts(data["messages"])[-1] == "done"


def test_wrong_arguments_never_reach_the_client(serve):
    data = serve().invoke("wrong").json()["data"]
    assert _blocks(data["messages"], "remote_tool_call") == []
    [result] = _blocks(data["messages"], "tool_result")
    assert result["is_error"] and "location: is missing" in result["output"]["error"]
    assert texts(data["messages"])[-1] == "done"


def test_a_paused_thread_survives_its_worker(serve):
    service = serve()
    data = service.invoke("one", config={"thread_id": "t"}).json()["data"]
    [call] = _blocks(data["messages"], "remote_tool_call")
    for _ in range(2):
        service.kill_worker()
    body = {"messages": [_result(call, "sunny")], "config": {"thread_id": "t"}}
    assert texts(service.post("/v1/graph/invoke", body).json()["data"]["messages"])[-1] == "done"


# Setup


def _tools(service, **other):
    return service.get("/v1/graph/tools", **other).json()["data"]


def _names(data, source):
    return [t["name"] for node in data["nodes"] for t in node["tools"] if t["source"] == source]


def test_set_up_reaches_every_worker_until_a_restart(serve):
    service = serve(tools=["calculator"])
    assert _names(_tools(service), "remote") == []
    reply = service.post("/v1/graph/setup", _SETUP)
    assert reply.status == 200, reply.text
    data = reply.json()["data"]
    assert data["success"] is True and data["registered_tools"] == 1 and data["message"]
    for _ in range(20):  # separate connections, so that both workers are asked
        assert _names(_tools(service), "remote") == ["get_weather"]
    for index in range(8):
        data = service.invoke("one", config={"thread_id": f"t{index}"}).json()["data"]
        assert len(_blocks(data["messages"], "remote_tool_call")) == 1

    other = {"node_name": "TOOLS", "name": "other", "description": "", "parameters": {}}
    assert service.post("/v1/graph/setup", {"tools": [other]}).status == 200
    assert _names(_tools(service), "remote") == ["other"], "the node's tools are replaced"
    service.kill_worker()
    service.reload()
    assert _names(_tools(service), "remote") == ["other"]

    service.quit()
    service.wait_until_gone()
    service.start()
    assert _names(_tools(service), "remote") == []


def test_set_up_validates(serve):
    service = serve()

    def refusal(tools):
        reply = service.post("/v1/graph/setup", {"tools": tools})
        assert reply.status == 422, reply.text
        return [(d["loc"], d["msg"]) for d in reply.json()["error"]["details"]]

    good = _SETUP["tools"][0]
    assert refusal([good | {"node_name": "NOBODY"}]) == [
        (["body", "tools", "0", "node_name"], 'there is no node "NOBODY"')
    ]
    assert "no tool node" in refusal([good | {"node_name": "MAIN"}])[0][1]
    assert refusal([good | {"name": "a b"}])[0][0][-1] == "name"
    assert "tool of its own" in refusal([good | {"name": "calculator"}])[0][1]
    assert refusal([good, good])[0] == (["body", "tools", "1", "name"], "is a duplicate")
    assert refusal([good | {"parameters": {"type": "text"}}])[0][0][-1] == "parameters"
    assert refusal([good | {"parameters": 5}])[0][0][-1] == "parameters"
    assert 'include "object"' in refusal([good | {"parameters": {"type": "array"}}])[0][1]
    assert refusal([7])[0][0] == ["body", "tools", "0"]
    assert refusal([{}])[0] == (["body", "tools", "0", "node_name"], "is required")
    assert service.post("/v1/graph/setup", {}).status == 422
    assert _names(_tools(service), "remote") == ["get_weather"], "nothing has changed"
    assert service.post("/v1/graph/setup", {"tools": []}).json()["data"]["registered_tools"] == 0


def test_set_up_is_for_development(make_service):
    def refusal(settings, environment, headers=()):
        service = make_service(DEMO | {"env": ".env"} | settings)
        service.write(".env", environment)
        reply = service.start().post("/v1/graph/setup", _SETUP, headers=headers)
        assert reply.status == 403, reply.text
        return reply.json()["detail"]

    production = refusal({}, "MODE=production\n")
    authenticated = refusal({"auth": "jwt"}, JWT_ENVIRONMENT, bearer())
    assert "MODE is production" in production
    assert "authentication is configured" in authenticated


# service.json


def test_remote_tools_of_service_json(serve):
    declared = {"node": "TOOLS", **_WEATHER}
    service = serve({"remote_tools": [declared]}, tools=["calculator"])
    data = _tools(service)
    assert _names(data, "remote") == ["get_weather"]
    data = service.invoke("one").json()["data"]
    assert len(_blocks(data["messages"], "remote_tool_call")) == 1


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"node": "NOBODY"}, 'remote_tools.0.node: there is no node "NOBODY"'),
        ({"node": "MAIN"}, 'remote_tools.0.node: "MAIN" is no tool node'),
        ({"parameters": {"type": "x"}}, "remote_tools.0.parameters: type: must be one of"),
        ({"parameters": {"type": "array"}},
         'remote_tools.0.parameters: type: must be or include "object"'),
        ({"name": "current_time"}, "remote_tools.0.name: the node has a tool of its own"),
        ({"colour": "red"}, "remote_tools.0.colour: unknown key"),
    ],
)
def test_mistakes_in_service_json(make_service, changed, problem):
    settings = DEMO | {"remote_tools": [{"node": "TOOL", **_WEATHER} | changed]}
    service = make_service(settings)
    assert problem in service.refusal()
