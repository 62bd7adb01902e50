"""The model providers, with a third-party mock and its fault injection, through a real nginx."""

import json
import time

import pytest

from harness.certificate import self_signed
from harness.messages import texts
from harness.stream import is_done
from harness.waiting import wait_until

_KEY = "key-that-nobody-may-see"
_GRAPHS = pytest.mark.parametrize("graph", ["support.json", "support.so"])
_USAGE = {
    "prompt_tokens": 20,
    "completion_tokens": 5,
    "total_tokens": 25,
    "prompt_tokens_details": {"cached_tokens": 16},
    "completion_tokens_details": {"reasoning_tokens": 3},
}
_FIXTURES = [
    {
        "match": {"userMessage": "what time", "hasToolResult": False},
        "response": {
            "toolCalls": [
                {"name": "current_time", "arguments": '{"utc_offset_minutes":60}', "id": "call_time"}
            ]
        },
    },
    {
        "match": {"userMessage": "what time", "hasToolResult": True},
        "response": {"content": "It is about noon.", "usage": _USAGE},
    },
    {
        "match": {"userMessage": "weigh", "hasToolResult": False},
        "response": {
            "toolCalls": [
                {"name": "current_time", "arguments": "{}", "id": "call_one"},
                {"name": "current_time", "arguments": '{"utc_offset_minutes":60}', "id": "call_two"},
            ],
            "reasoning": "The time decides.",
            "reasoningSignature": "c2lnbmVk",
            "redactedThinking": ["aGlkZGVu"],
        },
    },
    {
        "match": {"userMessage": "weigh", "hasToolResult": True},
        "response": {"content": "It is time."},
    },
    {
        "match": {"userMessage": "think"},
        "response": {"content": "Forty-two.", "reasoning": "Six times seven."},
    },
    {
        "match": {"userMessage": "on and on"},
        "response": {"content": "And then", "finishReason": "length"},
    },
    {
        "match": {"userMessage": "unspeakable"},
        "response": {"content": "I had rather", "finishReason": "content_filter"},
    },
    {
        "match": {"userMessage": "too often"},
        "response": {"error": {"message": "slow down", "type": "rate_limit"}, "status": 429,
                     "retryAfter": 0},
    },
    {
        "match": {"userMessage": "bad request"},
        "response": {"error": {"message": f"no such model, {_KEY}"}, "status": 400},
    },
    {
        "match": {"userMessage": "cut"},
        "response": {"content": "This text never arrives as a whole."},
        "truncateAfterChunks": 3,
    },
    {
        "match": {"userMessage": "drip"},
        "response": {"content": "drop " * 200},
        "latency": 100,
    },
    {"match": {"userMessage": "hello"}, "response": {"content": "Hello there, how are you?"}},
]


@pytest.fixture
def mock(start_mock_provider):
    return start_mock_provider(_FIXTURES, chunk_size=5)


@pytest.fixture
def serve(start_service):
    """serve(base_url, retries_max=…) starts the sample agent with one model."""

    def start(base_url, *, graph="support.json", nginx=None, **model):
        model = {"provider": "openai", "model": "m", "base_url": base_url, "api_key": _KEY} | model
        return start_service(
            {"agent": f"graphs/{graph}:app", "models": {"default": model}}, **(nginx or {})
        )

    return start


def _chat_requests(mock):
    return [entry for entry in mock.requests() if entry["path"].endswith("/chat/completions")]


def _assert_keeps_key(service, *replies):
    for reply in replies:
        assert _KEY not in reply
    assert _KEY not in (service.directory / "logs" / "error.log").read_text()


def _failure_of(service, text):
    """Returns the error message of both an invoke and a stream, which must be equal."""
    invoked = service.invoke(text)
    assert invoked.status == 500, invoked.text
    error = invoked.json()["error"]
    assert error["code"] == "MODEL_ERROR"
    lines = service.stream(text).read_all()
    assert is_done(lines[-1])
    assert [line["event"] for line in lines].count("error") == 1 and lines[-2]["event"] == "error"
    assert lines[-2]["data"]["reason"] == error["message"]
    _assert_keeps_key(service, invoked.text, json.dumps(lines))
    return error["message"]


# Success


@_GRAPHS
def test_invoke_with_a_tool_call(serve, mock, graph):
    service = serve(mock.base_url, graph=graph, headers={"X-Team": "blue"})
    body = service.invoke("what time is it?").json()
    messages = body["data"]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]
    call = messages[1]["content"][0]
    assert (call["type"], call["id"], call["name"]) == ("tool_call", "call_time", "current_time")
    result = messages[2]["content"][0]
    assert (result["type"], result["call_id"]) == ("tool_result", "call_time")
    assert '"utc_offset_minutes": 60' in json.dumps(result)
    assert texts(messages)[3] == "It is about noon."
    usage = messages[3]["usages"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (20, 5, 25)

    first, second = [request["body"] for request in _chat_requests(mock)]
    assert first["model"] == "m" and first["stream"] is True
    assert first["stream_options"] == {"include_usage": True}
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert first["tools"][0]["function"]["name"] == "current_time"
    assert second["messages"][-2]["tool_calls"][0]["id"] == "call_time"
    assert second["messages"][-1]["tool_call_id"] == "call_time"
    headers = _chat_requests(mock)[0]["headers"]
    assert headers["x-team"] == "blue"


@_GRAPHS
def test_stream_with_a_tool_call(serve, mock, graph):
    stream = serve(mock.base_url, graph=graph).stream("what time is it?")
    lines = stream.read_all()
    assert is_done(lines[-1]) and stream.final_text() == "It is about noon."
    messages = [line["message"] for line in lines if line["event"] == "message"]
    assert [message["role"] for message in messages if not message["delta"]] == [
        "assistant", "tool", "assistant",
    ]
    deltas = [message for message in messages if message["delta"]]
    assert len(deltas) > 2 and "".join(texts(deltas)) == "It is about noon."
    assert all(message["usages"] is None for message in deltas)


def test_usage_in_detail(serve, mock):
    """Of the servers that the mock simulates, only OpenRouter reports cached and reasoning
    tokens."""
    service = serve(mock.base_url.replace("/v1", "/api/v1"))
    usage = service.invoke("what time is it?").json()["data"]["messages"][-1]["usages"]
    assert (usage["cache_read_input_tokens"], usage["reasoning_tokens"]) == (16, 3)
    assert usage["total_tokens"] == 25


def test_a_piece_arrives_before_the_next_is_sent(serve, gated_provider):
    stream = serve(gated_provider.base_url).stream("hello")
    message = stream.read_until_event("message")["message"]
    assert message["delta"] and texts([message]) == ["one "]
    gated_provider.wait_for_waiting(1)  # and has not continued
    gated_provider.open_gate()
    assert stream.ended_with_done() and stream.final_text() == gated_provider.text


def test_reasoning(serve, mock):
    message = serve(mock.base_url).invoke("think").json()["data"]["messages"][-1]
    assert texts([message]) == ["Forty-two."]
    assert message["reasoning"] == "Six times seven."


def test_reply_that_is_not_streamed(serve, mock):
    service = serve(mock.base_url, parameters={"stream": False, "temperature": 0.5})
    assert texts(service.invoke("hello").json()["data"]["messages"])[-1] == "Hello there, how are you?"
    assert service.stream("hello").ended_with_done()
    request = _chat_requests(mock)[0]["body"]
    assert request["temperature"] == 0.5 and "stream_options" not in request


def test_connection_is_reused(serve, gated_provider):
    gated_provider.open_gate()
    service = serve(gated_provider.base_url, nginx={"workers": 1, "service_options": "threads=1"})
    for _ in range(5):
        assert service.invoke("hello").status == 200
    assert gated_provider.open_connections == 1


def test_proxy_and_environment_file(mock, make_service):
    service = make_service(
        {
            "agent": "graphs/support.json:app",
            "env": ".env",
            "models": {
                "default": {
                    "provider": "openai",
                    "model": "m",
                    "base_url": "http://model.invalid/v1",
                    "api_key": "${MODEL_KEY}",
                }
            },
        }
    )
    service.write(".env", f"MODEL_KEY={_KEY}\nhttp_proxy=http://127.0.0.1:{mock.port}\n")
    service.start()
    assert service.invoke("hello").status == 200
    _assert_keeps_key(service)


# Errors that retries resolve


def test_rate_limit_with_retry_after(serve, start_mock_provider):
    refusal = {"error": {"message": "slow down"}, "status": 429, "retryAfter": 1}
    mock = start_mock_provider(
        [
            {"match": {"userMessage": "hello", "sequenceIndex": 0}, "response": refusal},
            {"match": {"userMessage": "hello"}, "response": {"content": "Hello again"}},
        ]
    )
    started = time.monotonic()
    body = serve(mock.base_url).invoke("hello").json()
    assert texts(body["data"]["messages"])[-1] == "Hello again"
    assert time.monotonic() - started >= 1
    assert len(_chat_requests(mock)) == 2


# Errors


def test_rate_limit_that_stays(serve, mock):
    service = serve(mock.base_url, retries_max=1)
    assert _failure_of(service, "too often") == "the model provider answered HTTP 429: slow down"
    assert len(_chat_requests(mock)) == 4, "two attempts of invoke, two of stream"


def test_refusal_keeps_the_key(serve, mock):
    assert _failure_of(serve(mock.base_url), "bad request") == (
        "the model provider answered HTTP 400: no such model, ***"
    )


@pytest.mark.parametrize(
    "chaos, message",
    [
        ("dropRate", "the model provider answered HTTP 500"),
        ("rateLimitRate", "the model provider answered HTTP 429"),
        ("malformedRate", "the model provider sent a malformed chunk"),
        ("disconnectRate", "the model provider failed: the server closed the connection too early"),
    ],
)
def test_chaos(serve, mock, chaos, message):
    service = serve(mock.base_url, retries_max=0)
    mock.set_chaos(**{chaos: 1.0})
    assert _failure_of(service, "hello").startswith(message)
    mock.set_chaos(**{chaos: 0.0})
    assert service.invoke("hello").status == 200, "the service is as good as before"


def test_half_of_the_calls_fail(serve, mock):
    """Many concurrent runs with a provider that fails at random: each one ends, with success or an
    error."""
    service = serve(mock.base_url, retries_max=1)
    mock.set_chaos(dropRate=0.2, malformedRate=0.2, disconnectRate=0.2)
    streams = [service.stream("hello") for _ in range(30)]
    for stream in streams:
        assert stream.ended_with_done()
        failed = any(line.value["event"] == "error" for line in stream.lines)
        assert failed or stream.final_text() == "Hello there, how are you?"
        stream.close()


def test_cut_stream(serve, mock):
    message = _failure_of(serve(mock.base_url), "cut")
    assert message in (
        "the model provider's reply broke off before its end",
        "the model provider failed: the server closed the connection too early",
    )


def test_html_in_place_of_an_answer(serve, start_nginx):
    page = start_nginx(
        server="location / { default_type text/html; return 500 '<html><h1>Oops</h1></html>'; }"
        " location /login/ { default_type text/html; return 200 '<html>Sign in</html>'; }"
    )
    service = serve(f"http://127.0.0.1:{page.port}/v1", retries_max=0)
    assert _failure_of(service, "hello") == "the model provider answered HTTP 500"
    service = serve(f"http://127.0.0.1:{page.port}/login/v1", retries_max=0)
    assert _failure_of(service, "hello") == "the model provider answered with HTML"


def test_provider_that_is_not_there(serve):
    assert _failure_of(serve("http://127.0.0.1:1/v1", retries_max=0), "hello") == (
        "the model provider failed: the server could not be connected"
    )


def test_stalled_provider_runs_into_the_idle_timeout(serve, gated_provider):
    service = serve(gated_provider.base_url, idle_timeout_ms=200)
    assert _failure_of(service, "hello") == (
        "the model provider failed: the server sent nothing for 200 ms"
    )
    wait_until(lambda: gated_provider.open_connections == 0, "both connections are closed")


def test_silent_provider_runs_into_the_first_byte_timeout(serve, start_mock_provider):
    mock = start_mock_provider(_FIXTURES, chaos_latency=20000)
    service = serve(mock.base_url, first_byte_timeout_ms=200, retries_max=0)
    assert _failure_of(service, "hello") == (
        "the model provider failed: the server did not answer within 200 ms"
    )


def test_slow_drip_ends_with_the_run(serve, mock):
    service = serve(mock.base_url, nginx={"location": "agent_graph_run_timeout 1s;"})

    def has_pieces():
        lines = service.stream("drip").read_all()
        assert lines[-2]["event"] == "error" and is_done(lines[-1])
        return sum(line["event"] == "message" for line in lines) >= 2

    # A loaded machine may send none within the second that a run has.
    wait_until(has_pieces, "pieces come while it drips")


def test_abort_ends_the_call(serve, gated_provider):
    service = serve(gated_provider.base_url)
    stream = service.stream("hello")
    gated_provider.wait_for_waiting(1)
    stream.close()
    wait_until(lambda: gated_provider.aborted == 1, "the provider's connection is closed")


# Anthropic and Gemini: the same tests in their own protocols

_OTHERS = pytest.mark.parametrize("provider", ["anthropic", "gemini"])
_ALL = pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
_PATHS = {"openai": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}


@pytest.fixture
def serve_provider(serve, mock):
    """serve_provider(name, …) starts the sample agent with that provider, simulated by the mock."""

    def start(provider, **other):
        base_url = mock.base_url.removesuffix("/v1") + _PATHS[provider]
        return serve(base_url, provider=provider, **other)

    return start


def _model_requests(mock):
    return [entry for entry in mock.requests() if not entry["path"].startswith("/__aimock")]


@_OTHERS
@_GRAPHS
def test_tool_call_of_other_providers(serve_provider, mock, provider, graph):
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


def test_what_anthropic_is_sent(serve_provider, mock):
    service = serve_provider("anthropic")
    assert texts(service.invoke("weigh").json()["data"]["messages"])[-1] == "It is time."
    first, second = _model_requests(mock)
    assert first["path"] == second["path"] == "/v1/messages"
    roles = [message["role"] for message in second["body"]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool"]
    assert first["headers"]["anthropic-version"] == "2023-06-01"
    assert "authorization" not in first["headers"]


def test_reasoning_goes_back_to_anthropic_as_it_came(start_mock_provider, serve):
    """The mock is strict: with thinking enabled it rejects a turn without its reasoning."""
    mock = start_mock_provider(_FIXTURES, chunk_size=5, strict=True)
    service = serve(
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
def test_chaos_of_other_providers(serve_provider, mock, provider, chaos, message):
    service = serve_provider(provider, retries_max=0)
    mock.set_chaos(**{chaos: 1.0})
    assert _failure_of(service, "hello").startswith(message)
    mock.set_chaos(**{chaos: 0.0})
    assert service.invoke("hello").status == 200, "the service is as good as before"


@_OTHERS
def test_failures_of_other_providers(serve_provider, provider):
    service = serve_provider(provider, retries_max=1)
    assert _failure_of(service, "too often") == "the model provider answered HTTP 429: slow down"
    assert _failure_of(service, "bad request") == (
        "the model provider answered HTTP 400: no such model, ***"
    )
    assert _failure_of(service, "cut") in (
        "the model provider's reply broke off before its end",
        "the model provider failed: the server closed the connection too early",
    )


@_OTHERS
def test_half_of_the_calls_of_other_providers_fail(serve_provider, mock, provider):
    service = serve_provider(provider, retries_max=1)
    mock.set_chaos(dropRate=0.2, malformedRate=0.2, disconnectRate=0.2)
    streams = [service.stream("hello") for _ in range(30)]
    for stream in streams:
        assert stream.ended_with_done()
        failed = any(line.value["event"] == "error" for line in stream.lines)
        assert failed or stream.final_text() == "Hello there, how are you?"
        stream.close()


# TLS


@pytest.fixture
def secure_mock(directory, mock, start_nginx):
    """The mock behind TLS; yields its address and the path of the certificate."""
    certificate, key = self_signed(directory)
    nginx = start_nginx(
        listen="ssl",
        server=f'ssl_certificate "{certificate}"; ssl_certificate_key "{key}";'
        f" location / {{ proxy_pass http://127.0.0.1:{mock.port}; proxy_buffering off;"
        ' proxy_http_version 1.1; proxy_set_header Connection ""; }',
    )
    return f"https://127.0.0.1:{nginx.port}/v1", certificate


def test_secure_connection(make_service, secure_mock):
    base_url, certificate = secure_mock
    model = {"provider": "openai", "model": "m", "base_url": base_url, "api_key": _KEY}
    service = make_service(
        {"agent": "graphs/support.json:app", "env": ".env", "models": {"default": model}}
    )
    service.write(".env", f"SSL_CERT_FILE={certificate}\n")
    service.start()
    for _ in range(3):
        assert service.stream("what time is it?").ended_with_done()
    assert texts(service.invoke("hello").json()["data"]["messages"])[-1].startswith("Hello")


def test_unknown_certificate(serve, secure_mock):
    assert _failure_of(serve(secure_mock[0]), "hello") == (
        "the model provider failed: the server's certificate was not accepted"
    )
