"""Live sessions with the realtime servers of a third-party mock: OpenAI and Gemini."""

import base64

import pytest

from harness.live import LIVE, LiveClient, messages_of, transcript, types
from harness.messages import text_of

_SOUND = bytes(range(256)) * 40
_FIXTURES = [
    {
        "match": {"userMessage": "add", "hasToolResult": False},
        "response": {
            "toolCalls": [{"name": "calculator", "arguments": '{"expression":"2+3"}', "id": "call_1"}]
        },
    },
    {
        "match": {"userMessage": "add", "hasToolResult": True},
        "response": {"content": "It is five."},
    },
    {
        "match": {"userMessage": "play"},
        "response": {
            "audio": {"b64Json": base64.b64encode(_SOUND).decode(), "contentType": "audio/pcm;rate=24000"},
            "content": "Listen.",
        },
    },
    {
        "match": {"userMessage": "break"},
        "response": {"error": {"message": "no more", "type": "quota"}, "status": 429},
    },
    {"match": {"userMessage": "hello"}, "response": {"content": "Hello to you, too."}},
]


def _settings(mock, provider):
    base = mock.base_url if provider == "openai" else mock.base_url + "beta"
    model = {"provider": provider, "model": "live-model", "base_url": base, "api_key": "key"}
    return LIVE | {"models": {"default": model}}


@pytest.fixture(params=["openai", "gemini"])
def service(request, start_service, start_mock_provider):
    return start_service(_settings(start_mock_provider(_FIXTURES), request.param))


def _texts(service, thread_id):
    return [(m["role"], text_of(m)) for m in messages_of(service, thread_id)]


def test_a_conversation(service):
    client = LiveClient(service.port).start(thread_id="t", modalities="TEXT")
    client.type("hello")
    events = client.read_turn()
    assert transcript(events) == "Hello to you, too."
    assert [e["finished"] for e in events if e["type"] == "output_transcript"].count(True) == 1
    client.say(b"\0" * 3200)
    client.type("hello again")
    assert transcript(client.read_turn()) == "Hello to you, too."
    client.send_json({"type": "close"})
    client.read_to_end()
    assert client.closed_with == 1000
    assert _texts(service, "t") == [
        ("user", "hello"),
        ("assistant", "Hello to you, too."),
        ("user", "hello again"),
        ("assistant", "Hello to you, too."),
    ]


def test_a_tool(service):
    client = LiveClient(service.port).start(thread_id="t", modalities="TEXT")
    client.type("add two and three")
    events = client.read_to("tool_result")
    while "It is five." not in transcript(events):
        events += client.read_turn()
    call, result = (next(e for e in events if e["type"] == t) for t in ("tool_call", "tool_result"))
    assert call == {
        "type": "tool_call",
        "id": "call_1",
        "name": "calculator",
        "args": {"expression": "2+3"},
    }
    assert result == {"type": "tool_result", "id": "call_1", "result": {"result": 5}}
    assert types(events)[-1] == "turn_complete"


def test_errors_of_the_provider(service):
    client = LiveClient(service.port).start(modalities="TEXT")
    client.type("break")
    error = client.read_to("error")[-1]
    assert error["fatal"] is False and error["message"] == "no more"
    client.type("hello")
    events = []
    while "Hello to you, too." not in transcript(events):
        events += client.read_turn()


def test_sound(start_service, start_mock_provider):
    service = start_service(_settings(start_mock_provider(_FIXTURES), "gemini"))
    client = LiveClient(service.port).start()
    client.type("play something")
    events = client.read_turn()
    assert client.sound == _SOUND
    assert transcript(events) == "Listen."
