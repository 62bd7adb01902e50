"""The first frame of a live session: each of its fields, and invalid values."""

import uuid

import pytest

from harness.live import LIVE, LiveClient, begin_session, wait_for_messages
from harness.messages import texts

_DETECTION = {
    "silence_duration_ms": 250,
    "prefix_padding_ms": 40,
    "start_sensitivity": "high",
    "end_sensitivity": "low",
}


@pytest.mark.parametrize(
    "field, value",
    [
        ("model", 5),
        ("model", ["gpt-realtime"]),
        ("model", "a\nb"),
        ("voice", {}),
        ("voice", True),
        ("system_prompt", 5),
        ("system_prompt", ["Be kind."]),
        ("tools_tags", "clock"),
        ("tools_tags", [5]),
        ("vad", 5),
        ("vad", []),
        ("vad.enabled", "no"),
        ("vad.silence_duration_ms", "500"),
        ("vad.silence_duration_ms", -1),
        ("vad.prefix_padding_ms", True),
        ("vad.start_sensitivity", "medium"),
        ("vad.end_sensitivity", 1),
        ("resumption_handle", 5),
    ],
)
def test_values_of_another_kind_are_refused(start_service, field, value):
    service = start_service(LIVE)
    name, _, member = field.partition(".")
    client = LiveClient(service.port).start(**{name: {member: value} if member else value})
    (error,) = client.read_to_end()
    assert (error["type"], error["code"], error["fatal"]) == ("error", "invalid_config", True)
    assert error["message"].startswith(f"{field}: ")
    assert client.closed_with == 1003
    assert service.get("/v1/threads").json()["data"]["threads"] == []


def test_null_keeps_what_the_agent_has(start_service, live_provider):
    service = start_service(live_provider.settings())
    fields = ("model", "voice", "modalities", "system_prompt", "tools_tags", "vad", "thread_id")
    setups = []
    for init in ({}, dict.fromkeys(fields)):
        client = LiveClient(service.port).start(**init)
        setups.append(live_provider.accept().accept_setup())
        client.close()
    assert setups[0] == setups[1]


def test_a_session_without_a_thread_gets_one_with_a_uuid(start_service, live_provider):
    service = start_service(live_provider.settings())
    for count in (1, 2):
        client, connection = begin_session(service, live_provider)
        connection.hear("hello")
        connection.say("hello to you")
        connection.complete_turn()
        client.read_turn()
        client.send_json({"type": "close"})
        client.read_to_end()
        ids = [t["thread_id"] for t in service.get("/v1/threads").json()["data"]["threads"]]
        assert len(set(ids)) == count
        for thread_id in ids:
            assert str(uuid.UUID(thread_id)) == thread_id and uuid.UUID(thread_id).version == 4
            assert texts(wait_for_messages(service, thread_id, 2)) == ["hello", "hello to you"]
            assert thread_id not in str(client.events)


def test_gemini_is_told_how_speech_is_found(start_service, live_provider):
    service = start_service(live_provider.settings())
    client = LiveClient(service.port).start(vad=_DETECTION)
    setup = live_provider.accept().accept_setup()
    client.close()
    assert setup["realtimeInputConfig"]["automaticActivityDetection"] == {
        "silenceDurationMs": 250,
        "prefixPaddingMs": 40,
        "startOfSpeechSensitivity": "START_SENSITIVITY_HIGH",
        "endOfSpeechSensitivity": "END_SENSITIVITY_LOW",
    }


# OpenAI has only one threshold, for the beginning of speech.
@pytest.mark.parametrize("sensitivity, threshold", [("high", 0.3), ("START_SENSITIVITY_LOW", 0.7)])
def test_openai_is_told_how_speech_is_found(start_service, live_provider, sensitivity, threshold):
    service = start_service(live_provider.openai_settings())
    client = LiveClient(service.port).start(vad=_DETECTION | {"start_sensitivity": sensitivity})
    session = live_provider.accept().accept_session()
    client.close()
    assert session["audio"]["input"]["turn_detection"] == {
        "type": "server_vad",
        "silence_duration_ms": 250,
        "prefix_padding_ms": 40,
        "threshold": threshold,
    }
