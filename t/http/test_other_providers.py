"""Anthropic and Gemini, played by a third-party mock in their own protocols."""

import pytest

from harness.messages import texts
from harness.model_mock import failure_of, mock_models
from harness.stream import is_done

_GRAPHS = pytest.mark.parametrize("graph", ["support.json", "support.so"])
_OTHERS = pytest.mark.parametrize("provider", ["anthropic", "gemini"])
_ALL = pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
_PATHS = {"openai": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}


@pytest.fixture
def serve_provider(serve_model, model_mock):
    """serve_provider(name, …) starts the sample agent with that provider, simulated by the mock."""

    def start(provider, **other):
        base_url = model_mock.base_url.removesuffix("/v1") + _PATHS[provider]
        return serve_model(base_url, provider=provider, **other)

    return start


def _model_requests(mock):
    return [entry for entry in mock.requests() if not entry["path"].startswith("/__aimock")]


@_OTHERS
@_GRAPHS
def test_tool_call_of_other_providers(serve_provider, model_mock, provider, graph):
    service = serve_provider(provider, graph=graph)
    messages = service.invoke("what time is it?").json()["data"]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]
    call, result = messages[1]["content"][0], messages[2]["content"][0]
    assert (call["type"], call["id"], call["name"]) == ("tool_call", "call_time", "current_time")
    assert (result["type"], result["call_id"]) == ("tool_result", "call_time")
    assert texts(messages)[3] == "It is about noon."
    usage = messages[3]["usages"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (20, 5, 25)

    stream = service.stream("what time is it?")
    lines = stream.read_all()
    assert is_done(lines[-1]) and stream.final_text() == "It is about noon."
    deltas = [
        line["message"]
        for line in lines
        if line["event"] == "message" and line["message"]["delta"]
    ]
    assert len(deltas) > 2 and "".join(texts(deltas)) == "It is about noon."


def test_what_anthropic_is_sent(serve_provider, model_mock):
    service = serve_provider("anthropic")
    assert texts(service.invoke("weigh").json()["data"]["messages"])[-1] == "It is time."
    first, second = _model_requests(model_mock)
    assert first["path"] == second["path"] == "/v1/messages"
    roles = [message["role"] for message in second["body"]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool"]
    assert first["headers"]["anthropic-version"] == "2023-06-01"
    assert "authorization" not in first["headers"]


def test_reasoning_goes_back_to_anthropic_as_it_came(start_mock_provider, serve_model):
    """The mock is strict: with thinking enabled it rejects a turn without its reasoning."""
    mock = mock_models(start_mock_provider, strict=True)
    service = serve_model(
        mock.base_url,
        provider="anthropic",
        model="claude-sonnet-4-5",
        parameters={"thinking": {"type": "enabled", "budget_tokens": 1024}},
    )
    messages = service.invoke("weigh").json()["data"]["messages"]
    assert texts(messages)[-1] == "It is time."
    assert messages[1]["reasoning"] == "The time decides."
    thought = messages[1]["content"]
    assert [block["type"] for block in thought] == [
        "reasoning", "reasoning", "tool_call", "tool_call",
    ]


@_ALL
def test_reasoning_of_all_providers(serve_provider, provider):
    service = serve_provider(provider)
    message = service.invoke("think").json()["data"]["messages"][-1]
    assert texts([message]) == ["Forty-two."]
    assert message["reasoning"] == "Six times seven."
    deltas = [
        line["message"]["reasoning"]
        for line in service.stream("think").read_all()
        if line["event"] == "message" and line["message"]["delta"]
    ]
    assert "".join(filter(None, deltas)) == "Six times seven."


@_ALL
@pytest.mark.parametrize(
    "text, reason", [("hello", "stop"), ("on and on", "length"), ("unspeakable", "content_filter")]
)
def test_stop_reasons_of_all_providers(serve_provider, provider, text, reason):
    message = serve_provider(provider).invoke(text).json()["data"]["messages"][-1]
    assert message["metadata"]["stop_reason"] == reason


@_OTHERS
def test_reply_of_other_providers_that_is_not_streamed(serve_provider, provider):
    service = serve_provider(provider, parameters={"stream": False, "temperature": 0.5})
    assert texts(service.invoke("hello").json()["data"]["messages"])[-1].startswith("Hello there")
    assert service.stream("what time is it?").ended_with_done()


@_OTHERS
@pytest.mark.parametrize(
    "chaos, message",
    [
        ("dropRate", "the model provider answered HTTP 500"),
        ("rateLimitRate", "the model provider answered HTTP 429"),
        ("malformedRate", "the model provider sent a malformed chunk"),
        ("disconnectRate", "the model provider failed: the server closed the connection too early"),
    ],
)
def test_chaos_of_other_providers(serve_provider, model_mock, provider, chaos, message):
    service = serve_provider(provider, retries_max=0)
    model_mock.set_chaos(**{chaos: 1.0})
    assert failure_of(service, "hello").startswith(message)
    model_mock.set_chaos(**{chaos: 0.0})
    assert service.invoke("hello").status == 200, "the service is as good as before"


@_OTHERS
def test_failures_of_other_providers(serve_provider, provider):
    service = serve_provider(provider, retries_max=1)
    assert failure_of(service, "too often") == "the model provider answered HTTP 429: slow down"
    assert failure_of(service, "bad request") == (
        "the model provider answered HTTP 400: no such model, ***"
    )
    assert failure_of(service, "cut") in (
        "the model provider's reply broke off before its end",
        "the model provider failed: the server closed the connection too early",
    )


@_OTHERS
def test_half_of_the_calls_of_other_providers_fail(serve_provider, model_mock, provider):
    service = serve_provider(provider, retries_max=1)
    model_mock.set_chaos(dropRate=0.2, malformedRate=0.2, disconnectRate=0.2)
    streams = [service.stream("hello") for _ in range(30)]
    for stream in streams:
        assert stream.ended_with_done()
        failed = any(line.value["event"] == "error" for line in stream.lines)
        assert failed or stream.final_text() == "Hello there, how are you?"
        stream.close()
