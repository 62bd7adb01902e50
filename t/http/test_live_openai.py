"""Turns of a live session with OpenAI, which the test simulates."""

import base64
import json

import pytest

from harness.live import OUTPUT_RATE, LiveClient, transcript, types, wait_for_messages
from harness.messages import texts


@pytest.fixture
def service(start_service, live_provider):
    base_url = f"http://127.0.0.1:{live_provider.port}/v1"
    return start_service(live_provider.settings(provider="openai", base_url=base_url))


@pytest.fixture
def session(service, live_provider):
    """Returns a client and the provider's end of its session, on thread t."""
    client = LiveClient(service.port).start(thread_id="t")
    connection = live_provider.accept()
    connection.accept_session()
    return client, connection


def _begin(connection, response_id):
    connection.send({"type": "response.created", "response": {"id": response_id}})


def _say(connection, response_id, words):
    piece = {"response_id": response_id, "item_id": response_id, "delta": words}
    connection.send({"type": "response.output_audio_transcript.delta"} | piece)


def _end(connection, response_id, *output, **other):
    response = {"id": response_id, "status": "completed", "output": list(output)} | other
    connection.send({"type": "response.done", "response": response})


def _refuse(connection):
    error = {"code": "conversation_already_has_active_response", "message": "one at a time"}
    connection.send({"type": "error", "error": error})


def _call(name, **arguments):
    call = {"type": "function_call", "call_id": "c1", "name": name}
    return call | {"arguments": json.dumps(arguments)}


def test_two_texts_are_both_answered(session):
    client, connection = session
    client.type("first")
    connection.receive_type("response.create")
    client.type("second")
    connection.receive_type("response.create")
    client.send_json({"type": "close"})
    _begin(connection, "r1")
    _refuse(connection)
    _say(connection, "r1", "One.")
    _end(connection, "r1")
    assert transcript(client.read_turn()) == "One."
    connection.receive_type("response.create")
    _begin(connection, "r2")
    _say(connection, "r2", "Two.")
    _end(connection, "r2")
    assert transcript(client.read_to_end()) == "Two."
    assert client.closed_with == 1000


def test_a_result_that_comes_into_another_answer_is_spoken_of(session):
    client, connection = session
    client.type("add")
    connection.receive_type("response.create")
    _begin(connection, "r1")
    _end(connection, "r1", _call("calculator", expression="1+1"))
    _begin(connection, "r2")  # the provider's own response to speech that came meanwhile
    connection.receive_type("response.create")
    _refuse(connection)
    _say(connection, "r2", "One moment.")
    _end(connection, "r2")
    assert transcript(client.read_turn()) == "One moment."
    connection.receive_type("response.create")


def test_arguments_that_were_cut_off_run_no_tool(session):
    client, connection = session
    client.type("how late is it?")
    connection.receive_type("response.create")
    _begin(connection, "r1")
    _end(connection, "r1", _call("current_time") | {"arguments": '{"zon'}, status="incomplete")
    call, result = client.read_to("tool_result")
    assert call["args"] == {}
    fault = {"error": 'the arguments of "current_time" are not a JSON object'}
    assert result["result"] == {"result": fault}
    told = connection.receive_type("conversation.item.create")["item"]
    assert json.loads(told["output"]) == fault
    connection.receive_type("response.create")


def test_an_interruption_may_be_answered_with_nothing(session):
    client, connection = session
    _begin(connection, "r1")
    _say(connection, "r1", "Once upon")
    client.read_to("output_transcript")
    connection.send({"type": "input_audio_buffer.speech_started"})
    client.read_to("interrupted")
    for kind in ("speech_stopped", "committed"):
        connection.send({"type": f"input_audio_buffer.{kind}"})
    said = {"item_id": "i1", "transcript": "Stop."}
    connection.send({"type": "conversation.item.input_audio_transcription.completed"} | said)
    _end(connection, "r1", status="cancelled")
    _begin(connection, "r2")
    failure = {"error": {"code": "quota", "message": "no more"}}
    _end(connection, "r2", status="failed", status_details=failure)
    events = client.read_turn()
    assert types(events)[-2:] == ["error", "turn_complete"]
    client.send_json({"type": "close"})
    assert client.read_to_end() == []
    assert client.closed_with == 1000


def test_an_interruption_cuts_words_before_a_call_where_they_were_heard(session):
    client, connection = session

    def speak(response_id, seconds, words):
        _begin(connection, response_id)
        _say(connection, response_id, words)
        second = base64.b64encode(bytes(2 * OUTPUT_RATE)).decode()
        piece = {"response_id": response_id, "item_id": response_id, "delta": second}
        for _ in range(seconds):
            connection.send({"type": "response.output_audio.delta"} | piece)

    speak("r1", 60, "Let me look.")
    _end(connection, "r1", _call("calculator", expression="1+1"))
    client.read_to("tool_result")
    speak("r2", 10, "Two.")
    client.read_to("output_transcript")
    connection.send({"type": "input_audio_buffer.speech_started"})
    client.read_to("interrupted")
    cuts = [connection.receive_type("conversation.item.truncate") for _ in range(2)]
    assert [cut["item_id"] for cut in cuts] == ["r1", "r2"]
    assert 0 <= cuts[0]["audio_end_ms"] < 60_000
    assert cuts[1]["audio_end_ms"] == 0


def test_late_words_stand_before_the_call_that_they_asked_for(session, service):
    client, connection = session
    for kind in ("speech_started", "speech_stopped", "committed"):
        connection.send({"type": f"input_audio_buffer.{kind}"})
    _begin(connection, "r1")
    _end(connection, "r1", _call("calculator", expression="1+1"))
    client.read_to("tool_result")
    said = {"item_id": "i1", "transcript": "What is one and one?"}
    connection.send({"type": "conversation.item.input_audio_transcription.completed"} | said)
    _begin(connection, "r2")
    _say(connection, "r2", "Two.")
    _end(connection, "r2")
    client.read_turn()
    messages = wait_for_messages(service, "t", 4)
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert texts(messages)[0::3] == ["What is one and one?", "Two."]


def _utter(connection, *item_ids):
    """The user speaks once for each item."""
    for item_id in item_ids:
        for kind in ("speech_started", "speech_stopped", "committed"):
            connection.send({"type": f"input_audio_buffer.{kind}", "item_id": item_id})


def _transcribe(connection, kind, item_id, **words):
    kind = f"conversation.item.input_audio_transcription.{kind}"
    connection.send({"type": kind, "item_id": item_id} | words)


def test_words_of_two_utterances_stand_before_the_answer_to_both(session, service):
    client, connection = session
    _utter(connection, "i1", "i2")
    _transcribe(connection, "completed", "i1", transcript="One and one.")
    _begin(connection, "r1")
    _say(connection, "r1", "Four.")
    _end(connection, "r1")
    client.read_turn()
    _transcribe(connection, "delta", "i2", delta="And ")
    client.read_to("input_transcript")
    client.send_json({"type": "close"})
    _transcribe(connection, "completed", "i2", transcript="And two?")
    assert transcript(client.read_to_end(), "input") == "two?"
    assert client.closed_with == 1000
    messages = wait_for_messages(service, "t", 3)
    assert texts(messages) == ["One and one.", "And two?", "Four."]


def test_words_that_come_in_another_order_stand_in_their_places(session, service):
    client, connection = session
    _utter(connection, "i1", "i2")
    _transcribe(connection, "delta", "i1", delta="One ")
    _transcribe(connection, "completed", "i2", transcript="And two?")
    _transcribe(connection, "completed", "i1", transcript="One and one.")
    _begin(connection, "r1")
    _say(connection, "r1", "Four.")
    _end(connection, "r1")
    assert transcript(client.read_turn(), "input") == "One and one.And two?"
    assert texts(wait_for_messages(service, "t", 3)) == ["One and one.", "And two?", "Four."]
