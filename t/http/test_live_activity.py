"""A client that marks the beginning and end of its speech: the model does not answer before the
end."""

import pytest
from harness.live import LIVE, PIECE, LiveClient, silence, speech, transcript, types

# With detection enabled, each of the pauses would end an utterance.
_TWO_SENTENCES = (speech(0.5) + silence(1.0)) * 2


def test_the_model_is_silent_until_the_end(start_service):
    service = start_service(LIVE)
    client = LiveClient(service.port).start(vad={"enabled": False}, modalities="TEXT")
    client.send_json({"type": "activity_start"})
    client.say(_TWO_SENTENCES)
    client.send_json({"type": "activity_end"})
    events = client.read_turn()
    assert transcript(events, "input") == "3.0 seconds of speech"
    assert transcript(events) == "You said: 3.0 seconds of speech"
    client.send_json({"type": "close"})
    assert set(types(client.read_to_end())) <= {"session_update"}


def test_openai_is_asked_for_an_answer_at_the_end(start_service, live_provider):
    service = start_service(live_provider.openai_settings())
    client = LiveClient(service.port).start(vad={"enabled": False})
    connection = live_provider.accept()
    session = connection.accept_session()
    assert session["audio"]["input"]["turn_detection"] is None
    client.send_json({"type": "activity_start"})
    client.say(_TWO_SENTENCES)
    client.send_json({"type": "activity_end"})
    sent = [connection.receive()["type"]]
    while sent[-1] != "response.create":
        sent.append(connection.receive()["type"])
    assert sent == [
        "input_audio_buffer.clear",
        *["input_audio_buffer.append"] * (len(_TWO_SENTENCES) // PIECE),
        "input_audio_buffer.commit",
        "response.create",
    ]


def test_sound_without_a_beginning_is_not_answered(start_service):
    service = start_service(LIVE)
    client = LiveClient(service.port).start(vad={"enabled": False}, modalities="TEXT")
    client.say(_TWO_SENTENCES)
    client.type("hi")
    events = client.read_turn()
    assert transcript(events, "input") == ""
    assert transcript(events) == "You said: hi"


@pytest.mark.parametrize("ended", [True, False])
def test_a_close_does_not_wait_for_the_answer_to_nothing(start_service, live_provider, ended):
    service = start_service(live_provider.openai_settings())
    client = LiveClient(service.port).start(vad={"enabled": False})
    connection = live_provider.accept()
    connection.accept_session()
    client.send_json({"type": "activity_start"})
    connection.receive_type("input_audio_buffer.clear")
    if ended:
        client.send_json({"type": "activity_end"})
    client.send_json({"type": "close"})
    # A client whose session waits for an answer is pinged before it ends.
    assert client.read_frame().close_code == 1000
