"""Live sessions with faulty providers and clients, and with a state service that hangs."""

import contextlib

import websockets

from harness import processes
from harness.live import begin_session, transcript, types
from harness.waiting import wait_until

_MIB = 1024 * 1024


def test_broken_utf8_reaches_no_client(start_service, live_provider):
    client, connection = begin_session(start_service(live_provider.settings()), live_provider)
    # UTF-8 is checked only in text messages; this provider also sends binary ones.
    said = b'{"serverContent":{"outputTranscription":{"text":"a\xff\xc3b"}}}'
    connection.send_bytes(said)
    assert "a" in client.read_event()["text"]
    call = b'{"toolCall":{"functionCalls":[{"id":"c\xff","name":"calculator","args":{"x":"\xff"}}]}}'
    connection.send_bytes(call)
    assert types(client.read_to("tool_result"))[-2:] == ["tool_call", "tool_result"]


def test_a_message_beyond_the_bound_costs_the_connection(start_service, live_provider):
    service = start_service(live_provider.settings())
    client, connection = begin_session(service, live_provider)
    with contextlib.suppress(websockets.ConnectionClosed):  # possibly before all of it was sent
        connection.hear("x" * 5 * _MIB)
    following = live_provider.accept()
    following.accept_setup()
    following.say("go on")
    following.complete_turn()
    assert transcript(client.read_turn()) == "go on"
    assert "x" not in transcript(client.events, "input")


def test_no_client_sees_the_key(start_service, live_provider):
    settings = live_provider.settings(headers={"x-team": "the-other-key"})
    client, connection = begin_session(start_service(settings), live_provider)
    connection.send({"error": {"message": "secret-key of the-other-key is used up"}})
    assert client.read_to("error")[-1]["message"] == "*** of *** is used up"


def test_a_handle_beyond_the_bound_is_none(start_service, live_provider):
    client, connection = begin_session(start_service(live_provider.settings()), live_provider)
    connection.give_handle("h" * 65537)
    connection.give_handle("short")
    assert client.read_event() == {"type": "session_update", "resumption_handle": "short"}


def test_a_provider_that_does_not_answer_a_close_is_left(start_service, live_provider):
    client, connection = begin_session(start_service(live_provider.settings()), live_provider)
    connection.fall_silent()
    connection.send({"goAway": {"timeLeft": "50s"}})
    following = live_provider.accept()
    following.accept_setup()
    following.say("at last")
    following.complete_turn()
    assert transcript(client.read_turn()) == "at last"


def test_what_cannot_be_kept_does_not_pile_up(start_service, live_provider):
    """The state service hangs while a client writes more than fits."""
    service = start_service(live_provider.settings(), workers=1)
    client, connection = begin_session(service, live_provider, thread_id="piled")
    client.type("first")
    assert "first" in str(connection.receive())
    wait_until(lambda: service.get("/v1/threads/piled/messages").status == 200, "it is stored")
    helper = service.cache_manager()
    processes.freeze(helper.pid)
    try:
        # Sent one by one, because the oldest is dropped if they come faster than the provider
        # reads.
        for _ in range(8):
            client.type("x" * (_MIB - 100))
            assert "x" in str(connection.receive())
        client.type("x" * (_MIB - 100))
        events = client.read_to("error")
    finally:
        processes.thaw(helper.pid)
    assert (events[-1]["code"], events[-1]["fatal"]) == ("storage_unavailable", True)
    client.read_to_end()
    assert client.closed_with == 1011
