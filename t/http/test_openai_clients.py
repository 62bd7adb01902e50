"""Published clients of OpenAI's API, unmodified, against the service: what they send is accepted, and
they understand every answer."""

import json

import pytest

from harness.clients import run_client
from harness.tokens import JWT_ENVIRONMENT, token
from harness.tool_graph import asks, tool_graph

_FIXTURES = [
    *asks("weather", ("get_weather", {"city": "Oslo"})),
    {"match": {"userMessage": "plain"}, "response": {"content": "fine words"}},
]


@pytest.fixture
def service(make_service, start_mock_provider):
    mock = start_mock_provider(_FIXTURES, chunk_size=4)
    model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
    return make_service(
        {
            "agent": "graph.json:app", "models": {"default": model}, "auth": "jwt", "env": "secrets.env",
            "authorization": "ownership",
        },
        files={"graph.json": json.dumps(tool_graph(tools=["calculator"])), "secrets.env": JWT_ENVIRONMENT},
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


def test_langchain(run):
    found = run("langchain_client.py", "answer", "stream", "tools")
    assert found["answer"] == ["fine words", True, "stop"]
    assert found["stream"] == ["fine words", "stop", True]
    assert found["tools"] == ["get_weather", {"city": "Oslo"}, "done"]


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


def test_vercel_ai_sdk(run):
    found = run("vercel_client.mjs", "answer", "stream", "tools", "errors")
    for provider in ("openai", "compatible"):
        assert found[f"{provider} answer"] == ["fine words", "stop", True]
        assert found[f"{provider} stream"] == ["fine words", "stop"]
        assert found[f"{provider} tools"] == ["done", ["Oslo"], ["tool-calls", "stop"]]
        name, status, message = found[f"{provider} errors"]
        assert (name, status) == ("AI_APICallError", 400) and message.startswith("stop: ")
