"""The third-party mock of model providers, and services whose only model it is."""

import json

from .stream import is_done

KEY = "key-that-nobody-may-see"
_USAGE = {
    "prompt_tokens": 20,
    "completion_tokens": 5,
    "total_tokens": 25,
    "prompt_tokens_details": {"cached_tokens": 16},
    "completion_tokens_details": {"reasoning_tokens": 3},
}
MODEL_FIXTURES = [
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
        "response": {"error": {"message": f"no such model, {KEY}"}, "status": 400},
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


def mock_models(start_mock_provider, **options):
    return start_mock_provider(MODEL_FIXTURES, chunk_size=5, **options)


def serve_sample_agent(start_service, base_url, *, graph="support.json", nginx=None, **model):
    """Starts the sample agent with one model."""
    model = {"provider": "openai", "model": "m", "base_url": base_url, "api_key": KEY} | model
    return start_service(
        {"agent": f"graphs/{graph}:app", "models": {"default": model}}, **(nginx or {})
    )


def assert_keeps_key(service, *replies):
    for reply in replies:
        assert KEY not in reply
    assert KEY not in (service.directory / "logs" / "error.log").read_text()


def failure_of(service, text):
    """Returns the error message of both an invoke and a stream, which must be equal."""
    invoked = service.invoke(text)
    assert invoked.status == 500, invoked.text
    error = invoked.json()["error"]
    assert error["code"] == "MODEL_ERROR"
    lines = service.stream(text).read_all()
    assert is_done(lines[-1])
    assert [line["event"] for line in lines].count("error") == 1 and lines[-2]["event"] == "error"
    assert lines[-2]["data"]["reason"] == error["message"]
    assert_keeps_key(service, invoked.text, json.dumps(lines))
    return error["message"]
