"""Live sessions whose provider disconnects: with a warning, without one, and silently."""

import pytest

from harness.connect_proxy import ConnectProxy
from harness.live import LiveClient, begin_session, transcript, types, wait_for_messages
from harness.messages import texts
from harness.waiting import wait_until


@pytest.fixture
def service(start_service, live_provider):
    return start_service(live_provider.settings())


def test_the_next_connection_is_there_before_the_turn_ends(service, live_provider):
    client, connection = begin_session(service, live_provider)
    connection.give_handle("h1")
    connection.say("I am", b"\0" * 480)
    client.read_to("output_transcript")
    connection.send({"goAway": {"timeLeft": "50s"}})
    assert client.read_to("go_away")[-1]["time_left"] == "50s"
    following = live_provider.accept()  # while the old one is still open
    client.type("one more thing")
    connection.receive_until("clientContent")
    connection.send({"serverContent": {"interrupted": True}})
    assert following.messages.empty()
    connection.give_handle("h2")
    client.read_to("session_update")
    connection.say(" done")
    connection.complete_turn()
    client.read_turn()
    # The old connection ends, and then the new one sends the handle from which it continues.
    connection.receive_until_end()
    assert following.accept_setup()["sessionResumption"] == {"handle": "h2"}
    following.say("here")
    following.complete_turn()
    assert transcript(client.read_turn()) == "here"
    assert not live_provider.has_connection()


def test_sound_of_the_change_is_kept(service, live_provider):
    client, connection = begin_session(service, live_provider)
    connection.send({"goAway": {"timeLeft": "50s"}})
    following = live_provider.accept()
    following.receive_until("setup")
    client.say(b"\1" * 3200)
    client.type("and text")
    following.send({"setupComplete": {}})
    assert following.received_sound() == b"\1" * 3200
    assert following.receive_until("clientContent")["turns"][0]["parts"] == [{"text": "and text"}]


def test_a_provider_that_warns_and_is_silent(service, live_provider):
    client, connection = begin_session(service, live_provider, thread_id="silent")
    connection.say("I will not", b"\0" * 480)
    client.read_to("output_transcript")
    connection.send({"goAway": {"timeLeft": "2.5s"}})
    following = live_provider.accept()
    following.accept_setup()
    client.type("hello?")
    said = [following.receive_until("clientContent")["turns"][-1]["parts"] for _ in range(2)]
    assert said == [[{"text": "I will not"}], [{"text": "hello?"}]]


def test_a_provider_that_warns_and_breaks_off(service, live_provider):
    client, connection = begin_session(service, live_provider, thread_id="broken")
    connection.give_handle("h")
    client.read_to("session_update")
    connection.hear("tell me")
    connection.say("Once upon")
    client.read_to("output_transcript")
    connection.send({"goAway": {"timeLeft": "50s"}})
    client.read_to("go_away")
    following = live_provider.accept()
    connection.abort()
    assert types(client.read_turn())[-1] == "turn_complete"
    assert following.accept_setup()["sessionResumption"] == {"handle": "h"}
    following.say(" a time")
    following.complete_turn()
    assert transcript(client.read_turn()) == " a time"
    assert texts(wait_for_messages(service, "broken", 3)) == ["tell me", "Once upon", " a time"]


@pytest.mark.parametrize("how", ["broken", "left in time"])
def test_a_question_is_not_lost_with_its_connection(service, live_provider, how):
    client, connection = begin_session(service, live_provider)
    connection.give_handle("h")
    client.read_to("session_update")
    client.type("a question")
    connection.receive_until("clientContent")
    if how == "broken":
        connection.abort()
    else:
        connection.send({"goAway": {"timeLeft": "2.5s"}})
    following = live_provider.accept()
    assert following.accept_setup()["sessionResumption"] == {"handle": "h"}
    assert following.receive_until("clientContent") == {
        "turns": [{"role": "user", "parts": [{"text": "a question"}]}],
        "turnComplete": True,
    }
    client.send_json({"type": "close"})
    following.say("an answer")
    following.complete_turn()
    assert transcript(client.read_to_end()) == "an answer"


def test_a_prepared_connection_that_fails_harms_nobody(service, live_provider):
    client, connection = begin_session(service, live_provider)
    connection.say("I am", b"\0" * 480)
    client.read_to("output_transcript")
    connection.send({"goAway": {"timeLeft": "50s"}})
    live_provider.accept().close(1007, "not now")
    wait_until(lambda: service.error_log.lines("not now"), "the session knows")
    connection.say(" still here")
    connection.complete_turn()
    assert transcript(client.read_turn()).endswith(" still here")
    live_provider.accept().accept_setup()


def test_a_handle_that_is_refused_once_more(service, live_provider):
    """The provider still counts the old connection as open, so the new one gets the conversation as
    text."""
    client, connection = begin_session(service, live_provider, thread_id="refused")
    connection.give_handle("h")
    connection.hear("my name is Ada")
    connection.say("Hello Ada")
    connection.complete_turn()
    client.read_turn()
    connection.send({"goAway": {"timeLeft": "50s"}})
    following = live_provider.accept()
    assert following.receive_until("setup")["sessionResumption"] == {"handle": "h"}
    following.close(1007, "the handle is in use")
    again = live_provider.accept()
    assert again.accept_setup()["sessionResumption"] == {}
    turns = again.receive_until("clientContent")["turns"]
    assert [turn["parts"][0]["text"] for turn in turns] == ["my name is Ada", "Hello Ada"]


def test_a_handle_is_told_once(service, live_provider):
    client, connection = begin_session(service, live_provider)
    for handle in ("h", "h", "i"):
        connection.give_handle(handle)
    connection.say("end")
    connection.complete_turn()
    events = client.read_turn()
    while len([e for e in client.events if e["type"] == "session_update"]) < 2:
        events.append(client.read_event())
    told = [e["resumption_handle"] for e in client.events if e["type"] == "session_update"]
    assert told == ["h", "i"]


def test_a_provider_that_sends_everybody_away_is_given_up(service, live_provider):
    client = LiveClient(service.port).start()
    for _ in range(6):
        connection = live_provider.accept()
        connection.accept_setup()
        connection.send({"goAway": {"timeLeft": "0s"}})
    events = client.read_to_end()
    assert (events[-1]["code"], events[-1]["fatal"]) == ("reconnect_failed", True)
    assert client.closed_with == 1011


def test_a_provider_that_answers_no_ping_is_left(service, live_provider):
    client, connection = begin_session(service, live_provider)
    connection.give_handle("h")
    client.read_to("session_update")
    connection.fall_silent()
    following = live_provider.accept()
    assert following.accept_setup()["sessionResumption"] == {"handle": "h"}
    following.say("back")
    following.complete_turn()
    assert transcript(client.read_turn()) == "back"


def test_the_provider_is_reached_through_a_proxy(make_service, live_provider):
    """No server of this name exists, so only the proxy can have connected."""
    with ConnectProxy(live_provider.port) as proxy:
        settings = live_provider.settings(base_url="http://model.invalid:1234/v1beta")
        service = make_service(settings | {"env": ".env"})
        service.write(".env", f"HTTP_PROXY=http://127.0.0.1:{proxy.port}\n")
        service.start()
        client, connection = begin_session(service, live_provider)
        connection.say("through")
        connection.complete_turn()
        assert transcript(client.read_turn()) == "through"
        assert proxy.asked == ["model.invalid:1234"]
