"""Failures of a provider with OpenAI's protocol: refusals, broken replies, silence, retries."""

import time

import pytest

from harness.messages import texts
from harness.model_mock import MODEL_FIXTURES, failure_of
from harness.stream import is_done
from harness.waiting import wait_until


# Errors that retries resolve


def test_rate_limit_with_retry_after(serve_model, start_mock_provider):
    refusal = {"error": {"message": "slow down"}, "status": 429, "retryAfter": 1}
    mock = start_mock_provider(
        [
            {"match": {"userMessage": "hello", "sequenceIndex": 0}, "response": refusal},
            {"match": {"userMessage": "hello"}, "response": {"content": "Hello again"}},
        ]
    )
    started = time.monotonic()
    body = serve_model(mock.base_url).invoke("hello").json()
    assert texts(body["data"]["messages"])[-1] == "Hello again"
    assert time.monotonic() - started >= 1
    assert len(mock.chat_requests()) == 2


# Errors


def test_rate_limit_that_stays(serve_model, model_mock):
    service = serve_model(model_mock.base_url, retries_max=1)
    assert failure_of(service, "too often") == "the model provider answered HTTP 429: slow down"
    assert len(model_mock.chat_requests()) == 4, "two attempts of invoke, two of stream"


def test_refusal_keeps_the_key(serve_model, model_mock):
    assert failure_of(serve_model(model_mock.base_url), "bad request") == (
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
def test_chaos(serve_model, model_mock, chaos, message):
    service = serve_model(model_mock.base_url, retries_max=0)
    model_mock.set_chaos(**{chaos: 1.0})
    assert failure_of(service, "hello").startswith(message)
    model_mock.set_chaos(**{chaos: 0.0})
    assert service.invoke("hello").status == 200, "the service is as good as before"


def test_half_of_the_calls_fail(serve_model, model_mock):
    """Many concurrent runs with a provider that fails at random: each one ends, with success or an
    error."""
    service = serve_model(model_mock.base_url, retries_max=1)
    model_mock.set_chaos(dropRate=0.2, malformedRate=0.2, disconnectRate=0.2)
    streams = [service.stream("hello") for _ in range(30)]
    for stream in streams:
        assert stream.ended_with_done()
        failed = any(line.value["event"] == "error" for line in stream.lines)
        assert failed or stream.final_text() == "Hello there, how are you?"
        stream.close()


def test_cut_stream(serve_model, model_mock):
    message = failure_of(serve_model(model_mock.base_url), "cut")
    assert message in (
        "the model provider's reply broke off before its end",
        "the model provider failed: the server closed the connection too early",
    )


def test_html_in_place_of_an_answer(serve_model, start_nginx):
    page = start_nginx(
        server="location / { default_type text/html; return 500 '<html><h1>Oops</h1></html>'; }"
        " location /login/ { default_type text/html; return 200 '<html>Sign in</html>'; }"
    )
    service = serve_model(f"http://127.0.0.1:{page.port}/v1", retries_max=0)
    assert failure_of(service, "hello") == "the model provider answered HTTP 500"
    service = serve_model(f"http://127.0.0.1:{page.port}/login/v1", retries_max=0)
    assert failure_of(service, "hello") == "the model provider answered with HTML"


def test_provider_that_is_not_there(serve_model):
    assert failure_of(serve_model("http://127.0.0.1:1/v1", retries_max=0), "hello") == (
        "the model provider failed: the server could not be connected"
    )


def test_stalled_provider_runs_into_the_idle_timeout(serve_model, gated_provider):
    service = serve_model(gated_provider.base_url, idle_timeout_ms=200)
    assert failure_of(service, "hello") == (
        "the model provider failed: the server sent nothing for 200 ms"
    )
    wait_until(lambda: gated_provider.open_connections == 0, "both connections are closed")


def test_silent_provider_runs_into_the_first_byte_timeout(serve_model, start_mock_provider):
    mock = start_mock_provider(MODEL_FIXTURES, chaos_latency=20000)
    service = serve_model(mock.base_url, first_byte_timeout_ms=200, retries_max=0)
    assert failure_of(service, "hello") == (
        "the model provider failed: the server did not answer within 200 ms"
    )


def test_slow_drip_ends_with_the_run(serve_model, model_mock):
    service = serve_model(model_mock.base_url, nginx={"location": "agent_graph_run_timeout 1s;"})

    def has_pieces():
        lines = service.stream("drip").read_all()
        assert lines[-2]["event"] == "error" and is_done(lines[-1])
        return sum(line["event"] == "message" for line in lines) >= 2

    # A loaded machine may send none within the second that a run has.
    wait_until(has_pieces, "pieces come while it drips")


def test_abort_ends_the_call(serve_model, gated_provider):
    service = serve_model(gated_provider.base_url)
    stream = service.stream("hello")
    gated_provider.wait_for_waiting(1)
    stream.close()
    wait_until(lambda: gated_provider.aborted == 1, "the provider's connection is closed")
