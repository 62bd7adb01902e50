"""A provider with OpenAI's protocol, played by a third-party mock: replies, usage, TLS."""

import json

import pytest

from harness.certificate import self_signed
from harness.messages import texts
from harness.model_mock import KEY, assert_keeps_key, failure_of
from harness.stream import is_done
from harness.waiting import wait_until

_GRAPHS = pytest.mark.parametrize("graph", ["support.json", "support.so"])


@_GRAPHS
def test_invoke_with_a_tool_call(serve_model, model_mock, graph):
    service = serve_model(model_mock.base_url, graph=graph, headers={"X-Team": "blue"})
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

    first, second = [request["body"] for request in model_mock.chat_requests()]
    assert first["model"] == "m" and first["stream"] is True
    assert first["stream_options"] == {"include_usage": True}
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert first["tools"][0]["function"]["name"] == "current_time"
    assert second["messages"][-2]["tool_calls"][0]["id"] == "call_time"
    assert second["messages"][-1]["tool_call_id"] == "call_time"
    headers = model_mock.chat_requests()[0]["headers"]
    assert headers["x-team"] == "blue"


@_GRAPHS
def test_stream_with_a_tool_call(serve_model, model_mock, graph):
    stream = serve_model(model_mock.base_url, graph=graph).stream("what time is it?")
    lines = stream.read_all()
    assert is_done(lines[-1]) and stream.final_text() == "It is about noon."
    messages = [line["message"] for line in lines if line["event"] == "message"]
    assert [message["role"] for message in messages if not message["delta"]] == [
        "assistant", "tool", "assistant",
    ]
    deltas = [message for message in messages if message["delta"]]
    assert len(deltas) > 2 and "".join(texts(deltas)) == "It is about noon."
    assert all(message["usages"] is None for message in deltas)


def test_usage_in_detail(serve_model, model_mock):
    """Uses OpenRouter, the only server simulated by model_mock that reports cached and reasoning
    tokens."""
    service = serve_model(model_mock.base_url.replace("/v1", "/api/v1"))
    usage = service.invoke("what time is it?").json()["data"]["messages"][-1]["usages"]
    assert (usage["cache_read_input_tokens"], usage["reasoning_tokens"]) == (16, 3)
    assert usage["total_tokens"] == 25


def test_a_piece_arrives_before_the_next_is_sent(serve_model, gated_provider):
    stream = serve_model(gated_provider.base_url).stream("hello")
    message = stream.read_until_event("message")["message"]
    assert message["delta"] and texts([message]) == ["one "]
    gated_provider.wait_for_waiting(1)  # and has not continued
    gated_provider.open_gate()
    assert stream.ended_with_done() and stream.final_text() == gated_provider.text


def test_reasoning(serve_model, model_mock):
    message = serve_model(model_mock.base_url).invoke("think").json()["data"]["messages"][-1]
    assert texts([message]) == ["Forty-two."]
    assert message["reasoning"] == "Six times seven."


def test_reply_that_is_not_streamed(serve_model, model_mock):
    service = serve_model(model_mock.base_url, parameters={"stream": False, "temperature": 0.5})
    assert texts(service.invoke("hello").json()["data"]["messages"])[-1] == "Hello there, how are you?"
    assert service.stream("hello").ended_with_done()
    request = model_mock.chat_requests()[0]["body"]
    assert request["temperature"] == 0.5 and "stream_options" not in request


@pytest.mark.one_host("the connections of one worker")
def test_connection_is_reused(serve_model, gated_provider):
    gated_provider.open_gate()
    service = serve_model(gated_provider.base_url, nginx={"workers": 1, "service_options": "threads=1"})

    def all_on_one():
        before = gated_provider.connections
        for _ in range(5):
            assert service.invoke("hello").status == 200
        return gated_provider.connections - before <= 1

    # A connection whose reply ends more than 100 ms after its last event is not used again.
    wait_until(all_on_one, "five calls share a connection")


def test_proxy_and_environment_file(model_mock, make_service):
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
    service.write(".env", f"MODEL_KEY={KEY}\nhttp_proxy=http://127.0.0.1:{model_mock.port}\n")
    service.start()
    assert service.invoke("hello").status == 200
    assert_keeps_key(service)


# TLS


@pytest.fixture
def secure_mock(directory, model_mock, start_nginx):
    """The mock behind TLS; yields its address and the path of the certificate."""
    certificate, key = self_signed(directory)
    nginx = start_nginx(
        listen="ssl",
        server=f'ssl_certificate "{certificate}"; ssl_certificate_key "{key}";'
        f" location / {{ proxy_pass http://127.0.0.1:{model_mock.port}; proxy_buffering off;"
        ' proxy_http_version 1.1; proxy_set_header Connection ""; }',
    )
    return f"https://127.0.0.1:{nginx.port}/v1", certificate


def test_secure_connection(make_service, secure_mock):
    base_url, certificate = secure_mock
    model = {"provider": "openai", "model": "m", "base_url": base_url, "api_key": KEY}
    service = make_service(
        {"agent": "graphs/support.json:app", "env": ".env", "models": {"default": model}}
    )
    service.write(".env", f"SSL_CERT_FILE={certificate}\n")
    service.start()
    for _ in range(3):
        assert service.stream("what time is it?").ended_with_done()
    assert texts(service.invoke("hello").json()["data"]["messages"])[-1].startswith("Hello")


def test_unknown_certificate(serve_model, secure_mock):
    service = serve_model(secure_mock[0])
    assert failure_of(service, "hello") == (
        "the model provider failed: the server's certificate was not accepted"
    )
    assert service.error_log.lines("check base_url and the server's certificate; SSL_CERT_FILE may name")
