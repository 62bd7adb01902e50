"""The façade for clients of OpenAI's API: models and chat completions, as they are on the wire."""

import json

import pytest

from harness.agents import DEMO, behaviour
from harness.messages import texts
from harness.openai_chat import PATH, answer, chat, content, error, events, tool
from harness.tool_graph import asks, tool_graph
from harness.waiting import wait_until

_WEATHER = tool("get_weather", city={"type": "string"})
_PLAIN_GRAPH = {
    "app": {
        "nodes": [{"name": "MAIN", "type": "agent"}],
        "edges": [{"from": "START", "to": "MAIN"}, {"from": "MAIN", "to": "END"}],
    }
}


@pytest.fixture
def service(start_service):
    return start_service(DEMO)


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
                {"match": {"userMessage": "long"}, "response": {"content": "cut", "finishReason": "length"}},
                {"match": {"userMessage": "plain"}, "response": {"content": "fine"}},
            ]
        )
        model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
        graph = graph or tool_graph(tools=["calculator"])
        graph["app"]["name"] = "support"
        service = make_service(
            {"agent": "graph.json:app", "models": {"default": model}} | settings,
            files={"graph.json": json.dumps(graph)},
        ).start()
        service.mock = mock
        return service

    return start


def _told(service):
    """Returns the latest messages that the model received."""
    return service.mock.chat_requests()[-1]["body"]["messages"]


def _threads(service):
    return [t["thread_id"] for t in service.get("/v1/threads").json()["data"]["threads"]]


# Models


def test_the_agent_is_a_model(service):
    models = service.get("/openai/v1/models").json()
    assert models["object"] == "list"
    (model,) = models["data"]
    assert model["id"] == "support" and model["object"] == "model"
    assert service.get("/openai/v1/models/support").json() == model
    refused = service.get("/openai/v1/models/org%2Fm")
    assert refused.status == 404
    assert error(refused)["code"] == "model_not_found" and "org/m" in error(refused)["message"]


# Answers


def test_an_answer_is_one_object(service):
    reply = service.post(PATH, chat("hello"))
    assert answer(reply) == {"role": "assistant", "content": "You said: hello", "refusal": None}
    completion = reply.json()
    assert completion["model"] == "support" and completion["id"].startswith("chatcmpl-")
    assert completion["choices"][0]["finish_reason"] == "stop"
    usage = completion["usage"]
    assert usage["prompt_tokens"] > 0 and usage["completion_tokens"] > 0
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


@pytest.mark.parametrize("include_usage", [False, True])
def test_a_stream_has_the_events_that_clients_need(service, include_usage):
    options = {"stream_options": {"include_usage": True}} if include_usage else {}
    # Clients ask for JSON also when they stream.
    reply = service.post(PATH, chat("hello", stream=True, **options), headers=[("Accept", "application/json")])
    chunks = events(reply)
    assert content(chunks) == "You said: hello"
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert all(chunk["object"] == "chat.completion.chunk" for chunk in chunks)
    usages = [chunk for chunk in chunks if chunk.get("usage")]
    if include_usage:
        assert usages == [chunks.pop()] and usages[0]["choices"] == []
        assert usages[0]["usage"]["total_tokens"] > 0
    else:
        assert usages == []
    choices = [chunk["choices"][0] for chunk in chunks]
    assert all(choice["index"] == 0 for choice in choices)
    assert [c["delta"].get("role") for c in choices] == ["assistant"] + [None] * (len(choices) - 1)
    assert [c["finish_reason"] for c in choices] == [None] * (len(choices) - 1) + ["stop"]
    assert choices[-1]["delta"] == {}


def test_the_messages_are_the_whole_conversation(with_tools):
    service = with_tools(_PLAIN_GRAPH)
    history = [
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "one"}]},
        {"role": "assistant", "content": "two"},
        "plain",
    ]
    assert answer(service.post(PATH, chat(*history)))["content"] == "fine"
    told = _told(service)
    assert [m["role"] for m in told] == ["system", "user", "assistant", "user"]
    assert _threads(service) == [], "nothing is stored"


def test_images_reach_the_model(with_tools):
    service = with_tools(_PLAIN_GRAPH)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "low"}}
    pdf = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}}
    parts = [{"type": "text", "text": "plain"}, image, pdf]
    assert answer(service.post(PATH, chat({"role": "user", "content": parts})))["content"] == "fine"
    (message,) = _told(service)
    assert [part["type"] for part in message["content"]] == ["text", "image_url", "file"]
    assert message["content"][1]["image_url"]["url"] == "data:image/png;base64,aGk="
    assert message["content"][2]["file"]["filename"] == "a.pdf"


def test_the_reason_of_the_model_is_passed_on(with_tools):
    service = with_tools(_PLAIN_GRAPH)
    completion = service.post(PATH, chat("long")).json()
    assert completion["choices"][0]["finish_reason"] == "length"
    assert events(service.post(PATH, chat("long", stream=True)))[-1]["choices"][0]["finish_reason"] == "length"


def test_parameters_of_sampling_are_accepted(service):
    ignored = {
        "temperature": 0.2, "top_p": 1, "max_tokens": 99, "max_completion_tokens": 99, "seed": 7, "user": "u",
        "presence_penalty": 0, "frequency_penalty": 0, "store": False, "parallel_tool_calls": True,
        "service_tier": "auto", "n": 1, "logprobs": False, "stop": None, "tools": [], "tool_choice": "auto",
        "response_format": {"type": "text"}, "unknown": {"a": 1}, "metadata": {"purpose": "test"},
    }
    assert answer(service.post(PATH, chat("hello", **ignored)))["content"] == "You said: hello"


def test_parameters_reach_the_model(with_tools):
    service = with_tools()
    schema = {"name": "a", "strict": True, "schema": {"type": "object"}}
    chosen = {
        "temperature": 0.25, "top_p": 0.5, "seed": 7, "stop": ["\n"], "presence_penalty": 0.5,
        "frequency_penalty": 0.25, "reasoning_effort": "low", "parallel_tool_calls": False,
        "response_format": {"type": "json_schema", "json_schema": schema},
    }
    limits = {"max_tokens": 9, "max_completion_tokens": 8}
    choice = {"type": "function", "function": {"name": "get_weather"}}
    answer(service.post(PATH, chat("plain", tools=[_WEATHER], tool_choice=choice, **chosen, **limits)))
    sent = service.mock.requests()[-1]["body"]
    assert {name: sent[name] for name in chosen} == chosen
    assert sent["max_tokens"] == 8 and sent["tool_choice"] == choice
    answer(service.post(PATH, chat("plain", response_format={"type": "json_object"}, tool_choice="required")))
    sent = service.mock.requests()[-1]["body"]
    assert sent["response_format"] == {"type": "json_object"} and sent["tool_choice"] == "required"


def test_a_demanded_call_is_made_once(with_tools):
    """The first answer of the model must be a call; the agent then goes on as always."""
    service = with_tools()
    assert answer(service.post(PATH, chat("sum", tool_choice="required")))["content"] == "done"
    bodies = [e["body"] for e in service.mock.requests() if e["path"].endswith("/chat/completions")]
    assert [body.get("tool_choice") for body in bodies] == ["required", None]


def test_a_demanded_call_is_one_of_the_client(with_tools):
    """The client cannot know the agent's own tools, which are offered again afterwards."""
    service = with_tools()
    first = answer(service.post(PATH, chat("weather", tools=[_WEATHER], tool_choice="required")))
    (call,) = first["tool_calls"]
    result = {"role": "tool", "tool_call_id": call["id"], "content": "sunny"}
    messages = chat("weather", tools=[_WEATHER]) | {"messages": [{"role": "user", "content": "weather"}, first, result]}
    assert answer(service.post(PATH, messages))["content"] == "done"
    bodies = [e["body"] for e in service.mock.requests() if e["path"].endswith("/chat/completions")]
    offered = [{tool["function"]["name"] for tool in body["tools"]} for body in bodies]
    assert offered == [{"get_weather"}, {"calculator", "get_weather"}]
    assert [body.get("tool_choice") for body in bodies] == ["required", None]


def test_the_client_may_end_the_answer_early(service):
    cut = service.post(PATH, chat("one two three", max_tokens=3)).json()["choices"][0]
    assert (cut["message"]["content"], cut["finish_reason"]) == ("You said: one", "length")
    assert answer(service.post(PATH, chat("one two three", stop=[" two"])))["content"] == "You said: one"


@pytest.mark.parametrize(
    "parameter, value, param",
    [
        ("stop", ["a", "b", "c", "d", "e"], "stop"),
        ("stop", [1], "stop"),
        ("tool_choice", {"type": "function", "function": {"name": "f"}}, "tool_choice"),
        ("tool_choice", "sometimes", "tool_choice"),
        ("response_format", {"type": "xml"}, "response_format.type"),
        ("response_format", {"type": "json_schema"}, "response_format.json_schema"),
        ("response_format", {"type": "json_schema", "json_schema": {"name": "a"}},
         "response_format.json_schema.schema"),
        ("temperature", "hot", "temperature"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(service, parameter, value, param):
    refused = service.post(PATH, chat("hello", **{parameter: value}))
    assert refused.status == 400 and error(refused)["param"] == param


@pytest.mark.parametrize(
    "parameter, value",
    [
        ("n", 2),
        ("logprobs", True),
        ("top_logprobs", 3),
        ("logit_bias", {"50256": -100}),
        ("response_format", {"type": "json_object"}),
        ("modalities", ["text", "audio"]),
        ("functions", [{"name": "f"}]),
    ],
)
def test_parameters_that_would_change_the_answer_are_refused(service, parameter, value):
    reply = service.post(PATH, chat("hello", **{parameter: value}))
    assert reply.status == 400
    found = error(reply)
    assert found["param"] == parameter and found["type"] == "invalid_request_error"
    assert found["code"] == "unsupported_parameter"


@pytest.mark.parametrize(
    "body, param",
    [
        ({}, "model"),
        ({"model": "support"}, "messages"),
        ({"model": "support", "messages": []}, "messages"),
        ({"model": "support", "messages": "hi"}, "messages"),
        (chat({"role": "robot", "content": "x"}), "messages[0].role"),
        (chat("a", {"role": "user", "content": [{"type": "video"}]}), "messages[1].content[0].type"),
        (chat("a", stream="yes"), "stream"),
        (chat("a", tools=[{"type": "function", "function": {"name": "a b"}}]), "tools[0].function.name"),
        (chat("a", tools=[_WEATHER, _WEATHER]), "tools[1].function.name"),
        (chat("a", metadata={"thread_id": "../x"}), "metadata.thread_id"),
    ],
)
def test_bad_input_names_the_field(service, body, param):
    reply = service.post(PATH, body)
    assert reply.status == 400, reply.text
    assert error(reply)["param"] == param, reply.text


def test_a_body_that_is_no_json(service):
    assert error(service.post(PATH, "{"))["type"] == "invalid_request_error"
    assert error(service.post(PATH, ""))["message"] == "a JSON object is required"


def test_another_model_is_refused(service):
    reply = service.post(PATH, chat("hello", model="gpt-5"))
    assert reply.status == 404 and error(reply)["code"] == "model_not_found"


def test_a_run_that_fails_before_its_first_word_has_a_status(start_service):
    service = start_service(behaviour("throwing"))
    service.error_log.allow(r"node is broken|request .*: ")
    for stream in (False, True):
        reply = service.post(PATH, chat("hello", model="throwing", stream=stream))
        assert reply.status == 500, reply.text
        assert error(reply)["type"] == "server_error"
        assert reply.header("x-should-retry") == "false"


# Tools of the client


@pytest.mark.parametrize("graph", [None, _PLAIN_GRAPH], ids=["tool node", "no tool node"])
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
    assert [m["role"] for m in _told(service)] == ["user", "assistant", "tool"]
    assert _told(service)[-1]["content"] == "sunny"
    assert _threads(service) == []


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


# Threads


@pytest.mark.parametrize("by_header", [False, True])
def test_a_thread_keeps_the_conversation(with_tools, by_header):
    service = with_tools(_PLAIN_GRAPH)
    fields = {} if by_header else {"metadata": {"thread_id": "t"}}
    headers = [("X-Thread-Id", "t")] if by_header else []
    reply = service.post(PATH, chat("plain", **fields), headers=headers)
    assert answer(reply)["content"] == "fine" and reply.header("X-Thread-Id") == "t"
    # The client's version of the past is ignored: the thread has it.
    forged = [{"role": "user", "content": "forged"}, {"role": "assistant", "content": "forged"}]
    assert answer(service.post(PATH, chat(*forged, "plain", **fields), headers=headers))["content"] == "fine"
    assert [m["content"] for m in _told(service)] == ["plain", "fine", "plain"]
    messages = service.get("/v1/threads/t/messages").json()["data"]["messages"]
    assert texts(messages) == ["plain", "fine", "plain", "fine"]


def test_results_go_to_the_thread_that_waits(with_tools):
    service = with_tools()
    fields = {"tools": [_WEATHER], "metadata": {"thread_id": "t"}}
    message = answer(service.post(PATH, chat("weather", **fields)))
    result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "sunny"}
    # Only the result is new; a client may also send the conversation before it.
    assert answer(service.post(PATH, chat("weather", message, result, **fields)))["content"] == "done"
    assert [m["role"] for m in _told(service)] == ["user", "assistant", "tool"]
    unknown = {"role": "tool", "tool_call_id": "made_up", "content": "x"}
    refused = service.post(PATH, chat(unknown, **fields))
    assert refused.status == 400 and "made_up" in error(refused)["message"]


def test_a_thread_that_has_everything_gets_nothing_new(service):
    body = chat("a", {"role": "assistant", "content": "b"}, metadata={"thread_id": "t"})
    assert error(service.post(PATH, body))["param"] == "messages"
    other = service.post(PATH, chat("a", metadata={"thread_id": "t"}), headers=[("X-Thread-Id", "u")])
    assert error(other)["param"] == "metadata.thread_id"


def test_an_interrupt_ends_the_answer_and_goes_on_with_the_thread(start_service):
    service = start_service(behaviour("asking"))
    fields = {"model": "asking", "metadata": {"thread_id": "t"}}
    completion = service.post(PATH, chat("pay", **fields)).json()
    assert completion["choices"][0]["message"]["content"] == "Really?"
    assert completion["choices"][0]["finish_reason"] == "stop"
    assert completion["interrupt"]["reason"] == "needs a yes"
    assert completion["interrupt"]["data"] == {"about": "pay"}
    streamed = events(service.post(PATH, chat("pay", model="asking", stream=True)))
    assert streamed[-1]["choices"][0]["finish_reason"] == "stop"
    assert streamed[-1]["interrupt"] == completion["interrupt"]
    assert answer(service.post(PATH, chat("yes", **fields)))["content"] == "you said yes"


def test_a_conversation_goes_on_over_the_native_routes(service):
    service.post(PATH, chat("one", metadata={"thread_id": "t"}))
    data = service.invoke("two", config={"thread_id": "t"}).json()["data"]
    assert texts(data["messages"]) == ["one", "You said: one", "two", "You said: two"]


# Connections and repeated requests


def test_a_client_that_leaves_ends_its_run(make_service, gated_provider):
    models = {"default": {"provider": "openai", "model": "m", "base_url": gated_provider.base_url}}
    service = make_service(DEMO | {"models": models}).start()
    with service.connect() as connection:
        connection.request("POST", PATH, [], chat("go", stream=True))
        assert connection.read_head().status == 200
        gated_provider.wait_for_waiting(1)
    wait_until(lambda: gated_provider.aborted == 1, "the provider's connection is closed")


def test_a_repeated_request_gets_the_same_answer(start_service):
    service = start_service(DEMO, workers=3)
    key = [("Idempotency-Key", "k1")]
    replies = [service.post(PATH, chat("hello"), headers=key) for _ in range(4)]
    assert {answer(reply)["content"] for reply in replies} == {"You said: hello"}
    assert len({reply.json()["id"] for reply in replies}) == 1
    streamed = [("Idempotency-Key", "k2")]
    for _ in range(2):
        chunks = events(service.post(PATH, chat("hello", stream=True), headers=streamed))
        assert content(chunks) == "You said: hello"
        assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    other = service.post(PATH, chat("other"), headers=key)
    assert other.status == 422 and error(other)["code"] == "idempotency_mismatch"
    thread = service.post(PATH, chat("hello"), headers=[*key, ("X-Thread-Id", "t")])
    assert thread.status == 422, "the thread is a part of the request"


def test_a_repeated_request_has_the_tools_of_the_client(with_tools):
    service = with_tools()
    for _ in range(2):
        reply = service.post(PATH, chat("weather", tools=[_WEATHER]), headers=[("Idempotency-Key", "k")])
        assert [call["id"] for call in answer(reply)["tool_calls"]] == ["call_0"]
