"""Messages of a realtime provider, as the client of a live session receives them."""

import array

import pytest

from harness.live import (
    OUTPUT_RATE,
    LiveClient,
    begin_session,
    speech,
    transcript,
    wait_for_messages,
)
from harness.messages import texts
from harness.voice import loudness, seconds


def _pitch(pcm, rate):
    """Returns the number of half periods per second."""
    samples = array.array("h", pcm)
    changes = sum((a < 0) != (b < 0) for a, b in zip(samples, samples[1:]))
    return changes * rate / len(samples)


@pytest.mark.parametrize("rate", [8000, 16000, 48000])
def test_sound_of_another_rate_comes_at_the_clients(start_service, live_provider, rate):
    service = start_service(live_provider.settings())
    client, connection = begin_session(service, live_provider)
    spoken = speech(1.0, rate)
    for at in range(0, len(spoken), rate // 5):
        connection.say(pcm=spoken[at : at + rate // 5], rate=rate)
    connection.complete_turn()
    client.read_turn()
    assert seconds(client.sound, OUTPUT_RATE) == pytest.approx(1.0, abs=0.01)
    assert loudness(client.sound) == pytest.approx(loudness(spoken), rel=0.05)
    assert _pitch(client.sound, OUTPUT_RATE) == pytest.approx(_pitch(spoken, rate), rel=0.05)


@pytest.mark.parametrize("told, shown", [("9.5s", "9.500s"), ("2.25s", "2.250s"), ("60s", "60s")])
def test_the_time_that_a_connection_has_left(start_service, live_provider, told, shown):
    client, connection = begin_session(start_service(live_provider.settings()), live_provider)
    connection.send({"goAway": {"timeLeft": told}})
    assert client.read_event() == {"type": "go_away", "time_left": shown}


# OpenAI's protocol


@pytest.fixture
def spoken_with(start_service, live_provider):
    """A service and both ends of a session on thread t."""
    service = start_service(live_provider.openai_settings())
    client = LiveClient(service.port).start(thread_id="t")
    connection = live_provider.accept()
    connection.accept_session()
    return service, client, connection


def test_an_error_without_a_code(spoken_with):
    _, client, connection = spoken_with
    connection.send({"type": "error", "error": {"message": "hm"}})
    error = {"type": "error", "code": None, "message": "hm", "fatal": False}
    assert client.read_event() == error
    connection.send({"type": "response.created", "response": {"id": "r1"}})
    connection.send({"type": "response.done", "response": {"id": "r1", "status": "completed"}})
    client.read_turn()


@pytest.mark.parametrize(
    "pieces, whole, kept",
    [
        (["It is", " fif"], "It is fifteen degrees.", "It is fifteen degrees."),
        ([], "It is fifteen degrees.", "It is fifteen degrees."),
        (["It is fifteen degrees."], "It is fifteen degrees.", "It is fifteen degrees."),
        # Text that was sent cannot be taken back and is not repeated.
        (["It is fifty", " degrees."], "It is fifteen degrees.", "It is fifty degrees."),
        (["It is fifteen degrees."], "", "It is fifteen degrees."),
    ],
)
def test_a_transcript_that_is_corrected_at_its_end(spoken_with, pieces, whole, kept):
    service, client, connection = spoken_with
    client.say(speech(0.1))
    connection.send({"type": "input_audio_buffer.committed", "item_id": "i1"})
    for piece in pieces:
        heard = {"type": "conversation.item.input_audio_transcription.delta", "item_id": "i1"}
        connection.send(heard | {"delta": piece})
    heard = {"type": "conversation.item.input_audio_transcription.completed", "item_id": "i1"}
    connection.send(heard | {"transcript": whole})
    connection.send({"type": "response.created", "response": {"id": "r1"}})
    place = {"response_id": "r1", "item_id": "a1"}
    for piece in pieces:
        said = {"type": "response.output_audio_transcript.delta", "delta": piece}
        connection.send(said | place)
    connection.send({"type": "response.output_audio_transcript.done", "transcript": whole} | place)
    connection.send({"type": "response.done", "response": {"id": "r1", "status": "completed"}})
    events = client.read_turn()
    for side in ("input", "output"):
        assert transcript(events, side) == kept
        told = [e["finished"] for e in events if e["type"] == f"{side}_transcript"]
        assert told[-1] is True and told.count(True) == 1
    assert texts(wait_for_messages(service, "t", 2)) == [kept, kept]
