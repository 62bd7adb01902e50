"""Turns in a live session, with a provider that the test controls."""

import pytest

from harness.live import begin_session, transcript, types, wait_for_messages
from harness.messages import texts


@pytest.fixture
def session(start_service, live_provider):
    """A service and both ends of a session on thread t."""
    service = start_service(live_provider.settings())
    return service, *begin_session(service, live_provider, thread_id="t")


def _expect_no_answer_to_be_due(connection, live_provider):
    """If no answer is due, a connection that will end soon is replaced at once."""
    connection.send({"goAway": {"timeLeft": "900s"}})
    following = live_provider.accept()
    connection.receive_until_end()
    following.accept_setup()


def test_nothing_is_heard_of_an_answer_behind_the_text_that_cut_it_off(session):
    service, client, connection = session
    connection.say("Once upon", bytes(4800))
    client.read_to("output_transcript")
    client.type("stop")
    connection.receive_until("clientContent")
    connection.say(" a time", bytes(4800))  # was in flight
    connection.send({"serverContent": {"interrupted": True}})
    connection.complete_turn()
    assert types(client.read_turn()) == ["output_transcript", "interrupted", "turn_complete"]
    connection.say("As you like.")
    connection.complete_turn()
    assert transcript(client.read_turn()) == "As you like."
    messages = wait_for_messages(service, "t", 3)
    assert texts(messages) == ["Once upon", "stop", "As you like."]


def test_no_end_of_speech_is_answered_where_the_provider_listens_for_it(session, live_provider):
    _, client, connection = session
    client.send_json({"type": "activity_start"})
    client.send_json({"type": "activity_end"})
    client.say(bytes(3200))
    connection.received_sound()
    _expect_no_answer_to_be_due(connection, live_provider)


def test_words_that_come_after_their_answer_expect_no_other(session, live_provider):
    service, client, connection = session
    connection.say("Yes.")
    connection.complete_turn()
    connection.hear("really?")
    events = client.read_to("input_transcript")
    while not events[-1]["finished"]:
        events = client.read_to("input_transcript")
    assert set(texts(wait_for_messages(service, "t", 2))) == {"really?", "Yes."}
    _expect_no_answer_to_be_due(connection, live_provider)
