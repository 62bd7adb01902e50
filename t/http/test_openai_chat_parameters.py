"""Parameters of chat completions: those that reach the model, are ignored, or are refused."""

import pytest

from harness.agents import DEMO
from harness.openai_chat import PATH, answer, chat, error, tool
from harness.tool_graph import serve_with_mock, tool_graph

_WEATHER = tool("get_weather", city={"type": "string"})


@pytest.fixture
def service(start_service):
    return start_service(DEMO)


@pytest.fixture
def with_mock(make_service, start_mock_provider):
    """An agent with tools, whose model is a mock."""
    mock = start_mock_provider([{"match": {"userMessage": "plain"}, "response": {"content": "fine"}}])
    return serve_with_mock(make_service, mock, tool_graph(tools=["calculator"]))


def test_parameters_of_sampling_are_accepted(service):
    ignored = {
        "temperature": 0.2, "top_p": 1, "max_tokens": 99, "max_completion_tokens": 99, "seed": 7, "user": "u",
        "presence_penalty": 0, "frequency_penalty": 0, "store": False, "parallel_tool_calls": True,
        "service_tier": "auto", "n": 1, "logprobs": False, "stop": None, "tools": [], "tool_choice": "auto",
        "response_format": {"type": "text"}, "unknown": {"a": 1}, "metadata": {"purpose": "test"},
    }
    assert answer(service.post(PATH, chat("hello", **ignored)))["content"] == "You said: hello"


def test_parameters_reach_the_model(with_mock):
    schema = {"name": "a", "strict": True, "schema": {"type": "object"}}
    chosen = {
        "temperature": 0.25, "top_p": 0.5, "seed": 7, "stop": ["\n"], "presence_penalty": 0.5,
        "frequency_penalty": 0.25, "reasoning_effort": "low", "parallel_tool_calls": False,
        "response_format": {"type": "json_schema", "json_schema": schema},
    }
    limits = {"max_tokens": 9, "max_completion_tokens": 8}
    choice = {"type": "function", "function": {"name": "get_weather"}}
    answer(with_mock.post(PATH, chat("plain", tools=[_WEATHER], tool_choice=choice, **chosen, **limits)))
    sent = with_mock.mock.requests()[-1]["body"]
    assert {name: sent[name] for name in chosen} == chosen
    assert sent["max_tokens"] == 8 and sent["tool_choice"] == choice
    answer(with_mock.post(PATH, chat("plain", response_format={"type": "json_object"}, tool_choice="required")))
    sent = with_mock.mock.requests()[-1]["body"]
    assert sent["response_format"] == {"type": "json_object"} and sent["tool_choice"] == "required"


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
        ("reasoning_effort", 5, "reasoning_effort"),
        ("parallel_tool_calls", "false", "parallel_tool_calls"),
        ("presence_penalty", {"a": 1}, "presence_penalty"),
        ("frequency_penalty", 3, "frequency_penalty"),
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
        (chat("a", {"role": "tool", "tool_call_id": "c", "content": "x"}), "messages"),
    ],
)
def test_bad_input_names_the_field(service, body, param):
    reply = service.post(PATH, body)
    assert reply.status == 400, reply.text
    assert error(reply)["param"] == param, reply.text


def test_a_body_that_is_no_json(service):
    assert error(service.post(PATH, "{"))["type"] == "invalid_request_error"
    assert error(service.post(PATH, ""))["message"] == "a JSON object is required"
