"""Published agent frameworks, unmodified, with the service as their model and as their server of tools."""

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
def run(make_service, start_mock_provider):
    """run(*scenarios) lets the frameworks talk to a service that wants tokens."""
    mock = start_mock_provider(_FIXTURES, chunk_size=4)
    model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
    service = make_service(
        {
            "agent": "graph.json:app", "models": {"default": model}, "auth": "jwt", "env": "secrets.env",
            "authorization": "ownership",
        },
        files={"graph.json": json.dumps(tool_graph(tools=["calculator"])), "secrets.env": JWT_ENVIRONMENT},
    ).start()

    def start(*scenarios):
        base_url = f"http://127.0.0.1:{service.port}/openai/v1"
        return run_client("frameworks_client.py", *scenarios, base_url=base_url, key=token("alice"))

    return start


def test_openai_agents_sdk(run):
    found = run("openai_agents_chat", "openai_agents_responses", "openai_agents_previous_response")
    for kind in ("chat", "responses"):
        assert found[f"openai_agents_{kind}"] == ["fine words", "done", "done", "done", "done", 3, True]
    assert found["openai_agents_previous_response"] == ["done", "fine words"]


def test_openai_agents_sdk_with_conversations(run):
    found = run("openai_agents_conversation")["openai_agents_conversation"]
    kinds = ["message", "function_call", "function_call_output", "message"] + ["message"] * 2
    assert found == [["done", "fine words"] * 2, kinds, kinds, True, True, 1, True]


def test_openai_agents_sdk_with_tools_of_the_service(run):
    assert run("openai_agents_mcp")["openai_agents_mcp"] == [["app"], "fine words", False]


def test_pydantic_ai(run):
    found = run("pydantic_ai_chat", "pydantic_ai_responses")
    for kind in ("chat", "responses"):
        assert found[f"pydantic_ai_{kind}"] == ["fine words", "done", "done", "fine words"]
