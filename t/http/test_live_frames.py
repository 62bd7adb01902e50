"""A client's frames in a live session: the first one and later ones."""

import json

import pytest

from harness.live import LIVE, LiveClient, begin_session, transcript, types, wait_for_messages
from harness.messages import text_of
from harness.waiting import wait_until
from harness.websocket import BINARY, TEXT, WebSocket, frame

_MIB = 1024 * 1024


@pytest.mark.parametrize(
    "first", [frame(TEXT, "hello"), frame(TEXT, "[]"), frame(TEXT, '"{}"'), frame(BINARY, b"{}")]
)
def test_first_frame_must_be_a_json_object(start_service, first):
    service = start_service(LIVE)
    socket = WebSocket(service.port).upgrade("/v1/graph/live")
    socket.send(first)
    error = socket.read_json()
    assert (error["type"], error["code"], error["fatal"]) == ("error", "invalid_config", True)
    assert socket.agrees_to_close(1003)


@pytest.mark.parametrize("modalities", [[], ["AUDIO", "TEXT"], ["VIDEO"], 5])
def test_unusable_modalities(start_service, modalities):
    service = start_service(LIVE)
    client = LiveClient(service.port).start(modalities=modalities)
    (error,) = client.read_to_end()
    assert (error["code"], error["fatal"], client.closed_with) == ("invalid_config", True, 1003)


@pytest.mark.parametrize("init", [{}, {"modalities": "AUDIO"}, {"modalities": ["TEXT"]}, {"later": 1}])
def test_usable_first_frames(start_service, init):
    service = start_service(LIVE)
    client = LiveClient(service.port).start(**init)
    client.type("hi")
    assert transcript(client.read_turn()) == "You said: hi"


@pytest.mark.parametrize("thread_id", [0, "-5", True, ["a"]])
def test_unusable_thread_ids(start_service, thread_id):
    service = start_service(LIVE)
    client = LiveClient(service.port).start(thread_id=thread_id)
    (error,) = client.read_to_end()
    assert (error["code"], client.closed_with) == ("invalid_config", 1003)


def test_a_generated_thread_is_kept_and_not_told(start_service):
    service = start_service(LIVE)
    client = LiveClient(service.port).start(thread_id=" ")
    client.type("hi")
    client.read_turn()
    (thread,) = service.get("/v1/threads").json()["data"]["threads"]
    assert thread["thread_id"] not in json.dumps(client.events)
    assert text_of(wait_for_messages(service, thread["thread_id"], 2)[1]) == "You said: hi"


def test_frames_without_meaning_are_ignored(start_service):
    service = start_service(LIVE)
    client = LiveClient(service.port).start(modalities="TEXT")
    for text in ("", "{", "[]", "5", "null", '{"type": "image"}', '{"type": ["text"]}', '{"text": "x"}'):
        client.send(frame(TEXT, text))
    client.send(frame(BINARY, b""))
    client.send(frame(BINARY, b"x"))
    client.type("still there?")
    assert transcript(client.read_turn()) == "You said: still there?"


def test_frames_over_a_mebibyte_are_dropped(start_service, live_provider):
    service = start_service(live_provider.settings())
    client, connection = begin_session(service, live_provider)
    client.send(frame(BINARY, b"\1" * _MIB))
    client.send(frame(BINARY, b"\2" * (_MIB + 2)))
    client.send(frame(TEXT, json.dumps({"type": "text", "text": "x" * _MIB})))
    client.send(frame(BINARY, b"\3" * 2))
    assert connection.received_sound() == b"\1" * _MIB
    assert connection.received_sound() == b"\3" * 2
    assert len(service.error_log.lines("more than 1048576 bytes was dropped")) == 2
    assert client.events == []


def test_a_text_of_a_mebibyte_is_answered(start_service):
    service = start_service(LIVE)
    client = LiveClient(service.port).start(modalities="TEXT")
    text = json.dumps({"type": "text", "text": "x" * (_MIB - 28)})
    assert len(text) == _MIB
    for _ in range(2):
        client.send(frame(TEXT, text))
        assert types(client.read_turn())[-1] == "turn_complete"


def test_the_oldest_sound_goes_when_the_provider_stalls(start_service, live_provider):
    status = "location = /status.json { agent_graph_status format=json; }"
    service = start_service(live_provider.settings(), workers=1, server=status)
    # Created first, because the provider must not delay the session for long.
    flood = b"".join(frame(BINARY, i.to_bytes(2, "little") * 1600) for i in range(1001))
    client = LiveClient(service.port).start()
    connection = live_provider.accept()
    connection.receive_until("setup")
    client.send(flood)
    client.type("last")
    wait_until(lambda: _dropped(service) >= 2, "two frames had to go")
    connection.send({"setupComplete": {}})
    assert connection.received_sound()[:2] == (2).to_bytes(2, "little")
    client.send_json({"type": "close"})
    for i in range(3, 1001):
        assert connection.received_sound()[:2] == i.to_bytes(2, "little")
    assert connection.receive_until("clientContent")["turns"][0]["parts"] == [{"text": "last"}]
    connection.say("bye")
    connection.complete_turn()
    events = client.read_to_end()
    assert transcript(events) == "bye"
    assert client.closed_with == 1000


def _dropped(service):
    status = service.get("/status.json").json()["services"][0]
    return status["live_drops"]["upstream"]
