"""Live sessions with speech: how it is distinguished from silence, and what providers receive."""

import base64
import re

import pytest

from harness.live import LIVE, OUTPUT_RATE, LiveClient, begin_session, silence, transcript
from harness.voice import loudness, seconds, spoken

_SENTENCE = "Good morning. What will the weather be like today?"


def _heard(events):
    (length,) = re.fullmatch(r"(\d+\.\d) seconds of speech", transcript(events, "input")).groups()
    return float(length)


@pytest.mark.parametrize("voice, noise", [("en", 0), ("en+f3", 0), ("de", 0), ("en", 0.02)])
def test_a_sentence_is_one_utterance(start_service, voice, noise):
    service = start_service(LIVE)
    client = LiveClient(service.port).start(modalities="TEXT")
    sentence = spoken(_SENTENCE, voice, noise)
    client.say(silence(0.5) + sentence + silence(1.0))
    heard = _heard(client.read_turn())
    assert seconds(sentence) - 1.0 < heard <= seconds(sentence) + 0.1
    client.say(spoken("And tomorrow?", voice) + silence(1.0))
    assert 0 < _heard(client.read_turn()) < heard


def test_a_voice_interrupts_the_answer(start_service):
    service = start_service(LIVE)
    client = LiveClient(service.port).start()
    client.type("a long story with very many words " * 50)
    client.read_to("output_transcript")
    client.say(spoken("Stop, please."))
    client.read_to("interrupted")


def test_gemini_hears_what_was_said(start_service, live_provider):
    service = start_service(live_provider.settings())
    client, connection = begin_session(service, live_provider)
    sentence = spoken(_SENTENCE)
    client.say(sentence)
    heard = b""
    while len(heard) < len(sentence):
        heard += connection.received_sound()
    assert heard == sentence


def test_openai_hears_it_at_its_own_rate(start_service, live_provider):
    service = start_service(live_provider.openai_settings())
    client = LiveClient(service.port).start()
    connection = live_provider.accept()
    connection.accept_session()
    sentence = spoken(_SENTENCE)
    client.say(sentence)
    heard = b""
    while seconds(heard, OUTPUT_RATE) < seconds(sentence) - 0.01:
        heard += base64.b64decode(connection.receive_type("input_audio_buffer.append")["audio"])
    assert seconds(heard, OUTPUT_RATE) == pytest.approx(seconds(sentence), abs=0.01)
    assert loudness(heard) == pytest.approx(loudness(sentence), rel=0.05)
