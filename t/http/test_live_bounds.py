"""Limits of a client's frames in a live session: their size and how many may wait."""

import json

import pytest

from harness.live import LIVE, LiveClient, begin_session
from harness.waiting import wait_until
from harness.websocket import BINARY, PING, PONG, TEXT, fragments, frame

_MIB = 1024 * 1024
_QUEUE = 1000


def _text_frame(size):
    """Returns a frame of exactly `size` bytes, and its text."""
    text = "x" * (size - len(json.dumps({"type": "text", "text": ""})))
    return json.dumps({"type": "text", "text": text}), text


@pytest.mark.parametrize("pieces", [1, 5])
def test_a_mebibyte_passes_and_not_a_byte_more(start_service, live_provider, pieces):
    service = start_service(live_provider.settings())
    client, connection = begin_session(service, live_provider)
    client.send(fragments(BINARY, b"\1" * _MIB, pieces))
    assert connection.received_sound() == b"\1" * _MIB
    client.send(fragments(BINARY, b"\2" * (_MIB + 1), pieces))
    client.send(frame(BINARY, b"\3" * 2))
    assert connection.received_sound() == b"\3" * 2
    client.send(fragments(TEXT, _text_frame(_MIB + 1)[0], pieces))
    payload, text = _text_frame(_MIB)
    assert len(payload) == _MIB
    client.send(fragments(TEXT, payload, pieces))
    (turn,) = connection.receive_until("clientContent")["turns"]
    assert turn["parts"] == [{"text": text}]
    lines = service.error_log.lines("a websocket message of more than 1048576 bytes was dropped")
    assert len(lines) == 2 and all("[warn]" in line for line in lines)
    assert client.events == []


@pytest.mark.parametrize("count, size", [(8, _MIB), (100, _MIB // 4), (_QUEUE, 32_000)])
def test_frames_of_every_size_wait(start_service, live_provider, count, size):
    """The provider accepts the session only after all of them have been read."""
    service = start_service(live_provider.settings(), workers=1)
    # Created first, because the provider must not delay the session for long.
    pieces = [index.to_bytes(2, "little") * (size // 2) for index in range(count)]
    flood = b"".join(frame(BINARY, piece) for piece in pieces) + frame(PING, "read")
    client = LiveClient(service.port).start()
    connection = live_provider.accept()
    connection.receive_until("setup")
    client.send(flood)
    assert client.read_frame().opcode == PONG
    connection.send({"setupComplete": {}})
    for piece in pieces:
        assert connection.received_sound() == piece


@pytest.mark.parametrize("count, size", [(8, _MIB), (_QUEUE, 30_000), (_QUEUE, 100)])
def test_text_of_every_size_waits(start_service, live_provider, count, size):
    """As above, for frames of text."""
    service = start_service(live_provider.settings(), workers=1)
    frames = [_text_frame(size - index % 7) for index in range(count)]
    flood = b"".join(frame(TEXT, payload) for payload, _ in frames) + frame(PING, "read")
    client = LiveClient(service.port).start()
    connection = live_provider.accept()
    connection.receive_until("setup")
    client.send(flood)
    assert client.read_frame().opcode == PONG
    connection.send({"setupComplete": {}})
    for _, text in frames:
        (turn,) = connection.receive_until("clientContent")["turns"]
        assert turn["parts"] == [{"text": text}]


def test_the_oldest_frame_goes_when_no_sound_waits(start_service, live_provider):
    status = "location = /status.json { agent_graph_status format=json; }"
    service = start_service(live_provider.settings(), workers=1, server=status)
    words = [str(number) for number in range(_QUEUE + 2)]
    client = LiveClient(service.port).start()
    connection = live_provider.accept()
    connection.receive_until("setup")
    client.send(b"".join(frame(TEXT, json.dumps({"type": "text", "text": word})) for word in words))

    def dropped():
        return service.get("/status.json").json()["services"][0]["live_drops"]["upstream"]

    wait_until(lambda: dropped() == 2, "two frames had to go")
    connection.send({"setupComplete": {}})
    sent = [connection.receive_until("clientContent") for _ in range(_QUEUE)]
    assert [content["turns"][-1]["parts"][0]["text"] for content in sent] == words[2:]


def test_the_first_frame_counts_while_its_session_lasts(start_service):
    """Its texts stay in memory, also in the configuration of the model's connection."""
    service = start_service(LIVE | {"limits": {"buffered_bytes_max": _MIB}}, workers=1)
    large = "x" * 400_000
    assert service.invoke(large).status == 422, "there is room; the graph is live"
    client = LiveClient(service.port).start(system_prompt="p" * 300_000, modalities="TEXT")
    client.type("hi")
    client.read_turn()
    assert service.invoke(large).status == 503
    client.send_json({"type": "close"})
    client.read_to_end()
    wait_until(lambda: service.invoke(large).status == 422, "there is room again")
