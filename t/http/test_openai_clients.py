"""Published clients of OpenAI's API, unmodified, against the service: what they send is accepted, and
they understand every answer."""

import json

import pytest

from harness.clients import run_client
from harness.tokens import JWT_ENVIRONMENT, token
from harness.tool_graph import PLAIN_GRAPH, asks, tool_graph

_FIXTURES = [
    *asks("weather", ("get_weather", {"city": "Oslo"})),
    {"match": {"userMessage": "plain"}, "response": {"content": "fine words"}},
    {"match": {"userMessage": "json"}, "response": {"content": '{"name":"Ada"}'}},
]


@pytest.fixture
def service(make_service, start_mock_provider, request):
    mock = start_mock_provider(_FIXTURES, chunk_size=4)
    model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
    graph = getattr(request, "param", None) or tool_graph(tools=["calculator"])
    return make_service(
        {
            "agent": "graph.json:app", "models": {"default": model}, "auth": "jwt", "env": "secrets.env",
            "authorization": "ownership",
        },
        files={"graph.json": json.dumps(graph), "secrets.env": JWT_ENVIRONMENT},
    ).start()


@pytest.fixture
def run(service):
    """run(script, *scenarios) lets a client talk to the service."""

    def start(script, *scenarios, user="alice"):
        base_url = f"http://127.0.0.1:{service.port}/openai/v1"
        return run_client(script, *scenarios, base_url=base_url, key=token(user))

    return start


def test_openai_python(run):
    scenarios = ("models", "answer", "stream", "accumulated_stream", "tools", "threads", "images", "errors",
                 "repeated")
    found = run("openai_client.py", *scenarios)
    assert found["models"] == ["app", "app"]
    assert found["answer"] == ["fine words", "stop", True]
    assert found["stream"] == ["fine words", 1, True]
    assert found["accumulated_stream"] == ["fine words", "stop"]
    assert found["tools"] == ["tool_calls", "get_weather", {"city": "Oslo"}, "done"]
    assert found["threads"] == ["fine words"] * 3
    assert found["images"] == "fine words"
    assert found["errors"] == {
        "n": ["BadRequestError", "n", "unsupported_parameter", True],
        "messages": ["BadRequestError", "messages", "validation_error", True],
        "role": ["BadRequestError", "messages[0].role", "validation_error", True],
        "model": ["NotFoundError", "model", "model_not_found", True],
        "key": ["AuthenticationError", "invalid_api_key"],
    }
    assert len(set(found["repeated"])) == 1
    # The thread that Alice has used is not Bob's.
    other = run("openai_client.py", "foreign_thread", "answer", user="bob")
    assert other == {"foreign_thread": "PermissionDeniedError", "answer": ["fine words", "stop", True]}


def test_openai_python_responses(run):
    scenarios = ("response", "response_stream", "response_helper", "response_tools", "response_background",
                 "response_cancelled", "response_items", "response_conversation", "response_parsed",
                 "response_errors")
    found = run("openai_client.py", *scenarios)
    assert found["response"] == ["fine words", "completed", True, "fine words"]
    assert found["response_stream"] == ["fine words", "fine words", "response.created", "response.completed"]
    assert found["response_helper"] == ["fine words", "completed"]
    assert found["response_tools"] == ["function_call", "get_weather", {"city": "Oslo"}, "done"]
    assert found["response_background"] == [True, "fine words", True, "fine words"]
    assert found["response_cancelled"] == [True, True, None, "resource_not_found"]
    assert found["response_items"] == ["plain", "plain"]
    assert found["response_conversation"] == ["python-talk"] * 2
    # It is a conversation, which is not Bob's.
    assert run("openai_client.py", "foreign_conversation", user="bob")["foreign_conversation"] == ["NotFoundError"] * 4
    assert found["response_parsed"] == ["Ada", "Ada"]
    assert found["response_errors"] == {
        "input": ["BadRequestError", "input", "validation_error"],
        "model": ["NotFoundError", "model", "model_not_found"],
        "previous": ["NotFoundError", "previous_response_id", "previous_response_not_found"],
        "tool": ["BadRequestError", "tool_choice", "validation_error"],
    }


def test_langchain(run):
    found = run("langchain_client.py", "answer", "stream", "tools", "responses", "responses_chained")
    assert found["answer"] == ["fine words", True, "stop"]
    assert found["stream"] == ["fine words", "stop", True]
    assert found["tools"] == ["get_weather", {"city": "Oslo"}, "done"]
    assert found["responses"] == ["fine words", True, "fine words", found["tools"]]
    assert found["responses_chained"] == "fine words"


def test_openai_node(run):
    scenarios = ("models", "answer", "stream", "accumulated_stream", "tools", "aborted_stream", "errors")
    found = run("openai_client.mjs", *scenarios)
    assert found["models"] == ["app", "app"]
    assert found["answer"] == ["fine words", "stop", True]
    assert found["stream"] == ["fine words", 1]
    assert found["accumulated_stream"] == ["fine words", "stop"]
    assert found["tools"] == ["done", ["Oslo"]]
    assert found["aborted_stream"] is True
    assert found["errors"] == {
        "n": ["BadRequestError", 400, "n"],
        "role": ["BadRequestError", 400, "messages[0].role"],
        "model": ["NotFoundError", 404, "model"],
    }


def test_openai_node_responses(run):
    scenarios = ("response", "response_helper", "response_tools", "response_background", "response_cancelled",
                 "response_items")
    found = run("openai_client.mjs", *scenarios)
    assert found["response"] == ["fine words", "fine words", "completed"]
    assert found["response_helper"] == ["fine words", "fine words"]
    assert found["response_tools"] == ["function_call", {"city": "Oslo"}, "done"]
    assert found["response_background"] == [True, "fine words", True, "fine words"]
    assert found["response_cancelled"] == [True, 404, "resource_not_found"]
    assert found["response_items"] == ["plain", "plain"]


def test_openai_conversations(run):
    found = run("openai_client.py", "conversation", "conversation_items", "conversation_errors")
    deleted = [True, True, "conversation.deleted"]
    assert found["conversation"] == [True, "fine words", True, {"topic": "sun"}, True, deleted]
    kinds = ["Message", "ResponseFunctionToolCallItem", "ResponseFunctionToolCallOutputItem", "Message"]
    assert found["conversation_items"] == [kinds, True, True, ["input_text", "input_image"], True, 3]
    assert found["conversation_errors"] == {
        "role": ["BadRequestError", "items[0].role", "validation_error"],
        "many": ["BadRequestError", "items", "validation_error"],
        "metadata": ["BadRequestError", "metadata.a", "validation_error"],
        "after": ["BadRequestError", "after", "validation_error"],
        "unknown": ["NotFoundError", None, "resource_not_found"],
        "item": ["NotFoundError", None, "resource_not_found"],
    }
    node = run("openai_client.mjs", "conversation")["conversation"]
    assert node == [True, ["one", "two", "plain", "fine words"], "fine words", {"topic": "sun"}, True, 404]


def test_vercel_ai_sdk(run):
    found = run("vercel_client.mjs", "answer", "stream", "tools", "errors")
    for provider in ("openai", "responses", "compatible"):
        assert found[f"{provider} answer"] == ["fine words", "stop", True]
        assert found[f"{provider} stream"] == ["fine words", "stop"]
        assert found[f"{provider} tools"] == ["done", ["Oslo"], ["tool-calls", "stop"]]
        name, status, message = found[f"{provider} errors"] or ["", 0, ""]
        if provider != "responses":  # which has no stop texts
            assert (name, status) == ("AI_APICallError", 400) and message.startswith("stop: ")


@pytest.mark.parametrize("service", [PLAIN_GRAPH], ids=["no tool node"], indirect=True)
def test_tools_of_clients_of_an_agent_without_tools(run):
    found = run("openai_client.py", "tools", "response_tools")
    assert found["tools"] == ["tool_calls", "get_weather", {"city": "Oslo"}, "done"]
    assert found["response_tools"] == ["function_call", "get_weather", {"city": "Oslo"}, "done"]
    found = run("vercel_client.mjs", "tools")
    for provider in ("openai", "responses", "compatible"):
        assert found[f"{provider} tools"] == ["done", ["Oslo"], ["tool-calls", "stop"]]
