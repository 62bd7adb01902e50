"""A live session after its client has closed it or has disconnected: what it still waits for, and
how long."""

import contextlib
import itertools

import pytest
import websockets

from harness.live import LiveClient, begin_session, messages_of, transcript
from harness.messages import texts
from harness.waiting import wait_until
from harness.websocket import CLOSE, PING, PONG, frame

_STATUS = "location = /status.json { agent_graph_status format=json; }"


@pytest.mark.parametrize("leave", [LiveClient.close, LiveClient.reset], ids=["end", "reset"])
def test_a_client_that_breaks_off_leaves_the_answer_in_the_thread(
    start_service, live_provider, leave
):
    service = start_service(live_provider.settings(), workers=1, server=_STATUS)
    threads = (f"gone{number}" for number in itertools.count())

    def counts():
        return service.get("/status.json").json()["services"][0]

    def is_kept():
        """False if the machine was so slow that the answer came after the five seconds that a session
        without a client waits for it."""
        thread_id = next(threads)
        client, connection = begin_session(service, live_provider, thread_id=thread_id)
        client.type("a question")
        connection.receive_until("clientContent")
        leave(client)
        wait_until(lambda: counts()["websockets"] == 0, "the client has gone")
        with contextlib.suppress(websockets.ConnectionClosed):
            connection.say("the answer", bytes(4800))
            connection.complete_turn()
        connection.receive_until_end()
        wait_until(lambda: counts()["live_sessions"] == 0, "the session is over")
        run = service.get(f"/v1/observability/{thread_id}").json()["data"]["run"]
        messages = texts(messages_of(service, thread_id))
        return (run["status"], messages) == ("done", ["a question", "the answer"])

    wait_until(is_kept, "an answer is kept")


def test_the_end_waits_for_half_a_minute(start_service, live_provider):
    """No answer comes. Two sockets show how long the session waits: one is pinged after 12 silent
    seconds, which happens before the session ends; the other after 60, which does not."""
    waiting = []
    for seconds in (12, 60):
        service = start_service(
            live_provider.settings(), location=f"agent_graph_ws_ping {seconds}s timeout=10m;"
        )
        client = LiveClient(service.port).start(thread_id="late")
        live_provider.accept().accept_setup()
        waiting.append((service, client))
    for _, client in waiting:
        client.type("a question that nobody answers")
        client.send_json({"type": "close"})
    seen = []
    for service, client in waiting:
        frames = [client.read_frame()]
        while frames[-1].opcode == PING:
            client.send(frame(PONG, frames[-1].payload))
            frames.append(client.read_frame())
        assert frames[-1].close_code == 1000
        seen.append({one.opcode for one in frames})
        assert texts(messages_of(service, "late")) == ["a question that nobody answers"]
    assert seen == [{PING, CLOSE}, {CLOSE}]


def test_a_silent_provider_does_not_keep_the_thread_of_a_client_that_has_gone(
    start_service, live_provider
):
    """Another client, that has closed its session before, still waits for its answer."""
    service = start_service(live_provider.settings(), workers=1, server=_STATUS)
    patient, answering = begin_session(service, live_provider, thread_id="patient")
    patient.type("a question")
    patient.send_json({"type": "close"})
    answering.receive_until("clientContent")
    gone, silent = begin_session(service, live_provider, thread_id="gone")
    gone.type("another question")
    silent.receive_until("clientContent")
    gone.reset()

    def sessions():
        return service.get("/status.json").json()["services"][0]["live_sessions"]

    wait_until(lambda: sessions() == 1, "the session without a client is over")
    back, connection = begin_session(service, live_provider, thread_id="gone")
    connection.say("hello again")
    connection.complete_turn()
    assert transcript(back.read_turn()) == "hello again"
    assert texts(messages_of(service, "gone"))[0] == "another question"
    answering.say("the answer")
    answering.complete_turn()
    assert transcript(patient.read_to_end()) == "the answer"
