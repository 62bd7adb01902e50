"""Chat completions with tools: those of the client, and those of the agent."""

import pytest

from harness.openai_chat import PATH, answer, chat, error, events, tool
from harness.tool_graph import PLAIN_GRAPH, asking_graph, asks, serve_with_mock, tool_graph

_WEATHER = tool("get_weather", city={"type": "string"})


@pytest.fixture
def with_tools(make_service, start_mock_provider):
    """with_tools(graph) starts an agent whose model calls the tool that the user names."""

    def start(graph=None, **settings):
        mock = start_mock_provider(
            [
                *asks("weather", ("get_weather", {"city": "Oslo"})),
                *asks("two", ("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Rome"}), id_prefix="two"),
                *asks("sum", ("calculator", {"expression": "6*7"}), id_prefix="sum"),
                *asks("both", ("calculator", {"expression": "6*7"}), ("get_weather", {"city": "Rome"}),
                      id_prefix="both"),
                *asks("broken", ("get_weather", '{"city": Oslo')),
                {"match": {"userMessage": "plain"}, "response": {"content": "fine"}},
            ]
        )
        return serve_with_mock(make_service, mock, graph or tool_graph(tools=["calculator"]), **settings)

    return start


@pytest.mark.parametrize("graph", [None, PLAIN_GRAPH], ids=["tool node", "no tool node"])
def test_the_client_executes_its_tools(with_tools, graph):
    service = with_tools(graph)
    message = answer(service.post(PATH, chat("weather", tools=[_WEATHER])))
    assert message["content"] is None
    (call,) = message["tool_calls"]
    assert call == {
        "id": "call_0", "type": "function",
        "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'},
    }
    chunks = events(service.post(PATH, chat("weather", tools=[_WEATHER], stream=True)))
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert [d["tool_calls"] for d in deltas if "tool_calls" in d] == [[{"index": 0} | call]]
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"

    result = {"role": "tool", "tool_call_id": call["id"], "content": "sunny"}
    history = chat("weather", message, result, tools=[_WEATHER])
    assert answer(service.post(PATH, history))["content"] == "done"
    assert [m["role"] for m in service.mock.messages()] == ["user", "assistant", "tool"]
    assert service.mock.messages()[-1]["content"] == "sunny"
    assert service.get("/v1/threads").json()["data"]["threads"] == []


def test_a_call_whose_arguments_are_no_object_is_for_the_model(with_tools):
    """Models write such arguments now and then, and can correct them."""
    service = with_tools()
    assert answer(service.post(PATH, chat("broken", tools=[_WEATHER])))["content"] == "done"
    call, result = service.mock.messages()[-2:]
    assert call["tool_calls"][0]["function"]["arguments"] == '{"INVALID_JSON":"{\\"city\\": Oslo"}'
    assert "not a JSON object" in result["content"]


def test_arguments_that_are_no_object_go_to_a_client_and_back(with_tools):
    """Without a tool node nothing checks the calls of the client's tools. It gets what the model wrote, as from
    OpenAI, and its next request has it, too."""
    service = with_tools(PLAIN_GRAPH)
    message = answer(service.post(PATH, chat("broken", tools=[_WEATHER])))
    (call,) = message["tool_calls"]
    assert call["function"]["arguments"] == '{"city": Oslo'
    result = {"role": "tool", "tool_call_id": call["id"], "content": "no JSON"}
    assert answer(service.post(PATH, chat("broken", message, result, tools=[_WEATHER])))["content"] == "done"

    tool_of_responses = {"type": "function"} | _WEATHER["function"]
    request = {"model": "support", "input": "broken", "tools": [tool_of_responses]}
    response = service.post("/openai/v1/responses", request).json()
    (item,) = response["output"]
    assert item["arguments"] == '{"city": Oslo'
    output = {"type": "function_call_output", "call_id": item["call_id"], "output": "no JSON"}
    request["input"] = [{"role": "user", "content": "broken"}, item, output]
    response = service.post("/openai/v1/responses", request).json()
    assert response["output"][0]["content"][0]["text"] == "done"


@pytest.mark.parametrize("stream", [False, True])
def test_the_client_gets_a_call_when_the_user_has_allowed_it(with_tools, stream):
    service = with_tools(asking_graph(tools=["calculator"]))

    def reply_to(message):
        """The reason to finish, the ids of the calls, and whether the agent asks."""
        body = chat(message, metadata={"thread_id": "t"}, tools=[_WEATHER], stream=stream)
        reply = service.post(PATH, body)
        chunks = events(reply) if stream else [reply.json()]
        choices = [chunk["choices"][0] for chunk in chunks]
        calls = [call["id"] for choice in choices
                 for call in choice["delta" if stream else "message"].get("tool_calls", [])]
        return choices[-1]["finish_reason"], calls, "interrupt" in chunks[-1]

    assert reply_to("weather") == ("stop", [], True)
    assert reply_to("plain yes") == ("tool_calls", ["call_0"], False)
    result = {"role": "tool", "tool_call_id": "call_0", "content": "sunny"}
    assert reply_to(result) == ("stop", [], False)


def test_parallel_calls_have_an_index(with_tools):
    service = with_tools()
    chunks = events(service.post(PATH, chat("two", tools=[_WEATHER], stream=True)))
    calls = [d["tool_calls"][0] for c in chunks if "tool_calls" in (d := c["choices"][0]["delta"])]
    assert [(call["index"], call["id"]) for call in calls] == [(0, "two_0"), (1, "two_1")]


def test_a_tool_may_be_explained_at_length(with_tools):
    service = with_tools()
    long = _WEATHER | {"function": _WEATHER["function"] | {"description": "On rain. " * 4000}}
    message = answer(service.post(PATH, chat("weather", tools=[long])))
    assert [call["function"]["name"] for call in message["tool_calls"]] == ["get_weather"]
    assert long["function"] in [offer["function"] for offer in service.mock.requests()[-1]["body"]["tools"]]


def test_a_demanded_call_is_made_once(with_tools):
    """The first answer of the model must be a call; the agent then goes on as always."""
    service = with_tools()
    assert answer(service.post(PATH, chat("sum", tool_choice="required")))["content"] == "done"
    bodies = [entry["body"] for entry in service.mock.chat_requests()]
    assert [body.get("tool_choice") for body in bodies] == ["required", None]


def test_a_demanded_call_is_one_of_the_client(with_tools):
    """The client cannot know the agent's own tools, which are offered again afterwards."""
    service = with_tools()
    first = answer(service.post(PATH, chat("weather", tools=[_WEATHER], tool_choice="required")))
    (call,) = first["tool_calls"]
    result = {"role": "tool", "tool_call_id": call["id"], "content": "sunny"}
    messages = chat("weather", tools=[_WEATHER]) | {"messages": [{"role": "user", "content": "weather"}, first, result]}
    assert answer(service.post(PATH, messages))["content"] == "done"
    bodies = [entry["body"] for entry in service.mock.chat_requests()]
    offered = [{tool["function"]["name"] for tool in body["tools"]} for body in bodies]
    assert offered == [{"get_weather"}, {"calculator", "get_weather"}]
    assert [body.get("tool_choice") for body in bodies] == ["required", None]


def test_tools_of_the_agent_are_hidden(with_tools):
    service = with_tools()
    message = answer(service.post(PATH, chat("sum", tools=[_WEATHER])))
    assert message == {"role": "assistant", "content": "done", "refusal": None}
    message = answer(service.post(PATH, chat("both", tools=[_WEATHER])))
    assert [call["id"] for call in message["tool_calls"]] == ["both_1"]
    reply = service.post(PATH, chat("sum", tools=[tool("calculator")]))
    assert error(reply)["param"] == "tools[0].function.name"


@pytest.mark.parametrize("where, key", [("reasoning", "reasoning_content"), ("content", "content")])
def test_tools_of_the_agent_are_shown_if_configured(with_tools, where, key):
    service = with_tools(facades={"openai": {"show_tools": where}})
    shown = answer(service.post(PATH, chat("sum")))[key]
    assert "calculator" in shown and "-> 42" in shown
    chunks = events(service.post(PATH, chat("sum", stream=True)))
    assert "".join(c["choices"][0]["delta"].get(key) or "" for c in chunks) == shown


def test_declared_tools_of_other_clients_are_not_offered(with_tools):
    declared = {"name": "locate", "description": "Where the client is.", "parameters": {"type": "object"}}
    service = with_tools(tool_graph(tools=["calculator"], remote_tools=[declared]))
    for fields, names in (({}, {"calculator"}), ({"tools": [_WEATHER]}, {"calculator", "get_weather"}),
                          ({"tools": [_WEATHER], "tool_choice": "none"}, {"calculator"})):
        assert answer(service.post(PATH, chat("plain", **fields)))["content"] == "fine"
        offered = service.mock.requests()[-1]["body"]["tools"]
        assert {entry["function"]["name"] for entry in offered} == names


def test_only_allowed_tools_are_offered(with_tools):
    service = with_tools()
    named = [{"type": "function", "function": {"name": "get_weather"}}]
    for mode, chosen in (("auto", None), ("required", "required")):
        choice = {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": named}}
        answer(service.post(PATH, chat("plain", tools=[_WEATHER, tool("other")], tool_choice=choice)))
        sent = service.mock.requests()[-1]["body"]
        assert "other" not in {entry["function"]["name"] for entry in sent["tools"]}
        assert "get_weather" in {entry["function"]["name"] for entry in sent["tools"]}
        assert sent.get("tool_choice") == chosen


def test_results_go_to_the_thread_that_waits(with_tools):
    service = with_tools()
    fields = {"tools": [_WEATHER], "metadata": {"thread_id": "t"}}
    message = answer(service.post(PATH, chat("weather", **fields)))
    result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "sunny"}
    # Only the result is new; a client may also send the conversation before it.
    assert answer(service.post(PATH, chat("weather", message, result, **fields)))["content"] == "done"
    assert [m["role"] for m in service.mock.messages()] == ["user", "assistant", "tool"]
    unknown = {"role": "tool", "tool_call_id": "made_up", "content": "x"}
    refused = service.post(PATH, chat(unknown, **fields))
    assert refused.status == 400 and "made_up" in error(refused)["message"]


def test_a_repeated_request_has_the_tools_of_the_client(with_tools):
    service = with_tools()
    for _ in range(2):
        reply = service.post(PATH, chat("weather", tools=[_WEATHER]), headers=[("Idempotency-Key", "k")])
        assert [call["id"] for call in answer(reply)["tool_calls"]] == ["call_0"]
