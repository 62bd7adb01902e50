"""How live sessions end, wait for their thread, and are refused."""

import contextlib
import itertools

import pytest
import websockets

from harness.live import (
    LIVE,
    LiveClient,
    begin_session,
    messages_of,
    transcript,
    wait_for_messages,
)
from harness.messages import texts
from harness.waiting import wait_until
from harness.websocket import close_frame


def test_closing_waits_for_the_answer(start_service, live_provider):
    service = start_service(live_provider.settings())
    client, connection = begin_session(service, live_provider, thread_id="drain")
    client.type("a question")
    client.send_json({"type": "close"})
    client.type("too late")
    connection.receive_until("clientContent")
    connection.say("the answer")
    connection.complete_turn()
    assert transcript(client.read_to_end()) == "the answer"
    assert client.closed_with == 1000


def test_a_client_that_goes_leaves_the_answer_in_the_thread(start_service, live_provider):
    service = start_service(live_provider.settings())
    threads = (f"gone{number}" for number in itertools.count())

    def is_running(thread_id):
        state = service.get(f"/v1/threads/{thread_id}/state").json()["data"]["state"]
        return state["execution_meta"]["is_running"]

    def is_kept():
        """False if the machine was so slow that the answer came after the five seconds that a session
        without a client waits for it."""
        thread_id = next(threads)
        client, connection = begin_session(service, live_provider, thread_id=thread_id)
        client.type("a question")
        client.send_json({"type": "close"})
        client.send(close_frame(1000))
        client.close()
        connection.receive_until("clientContent")
        with contextlib.suppress(websockets.ConnectionClosed):
            connection.say("the answer")
            connection.complete_turn()
        wait_until(lambda: not is_running(thread_id), "the session is over")
        return texts(messages_of(service, thread_id)) == ["a question", "the answer"]

    wait_until(is_kept, "an answer is kept")


@pytest.mark.parametrize("signal_name", ["HUP", "QUIT"])
def test_a_leaving_worker_sends_clients_to_the_next(start_service, live_provider, signal_name):
    service = start_service(live_provider.settings())
    client, connection = begin_session(service, live_provider, thread_id="moving")
    client.type("a question")
    connection.receive_until("clientContent")
    service.reload() if signal_name == "HUP" else service.quit()
    connection.say("the answer", b"\0" * 480)
    connection.give_handle("h")
    connection.complete_turn()
    events = client.read_to_end()
    assert transcript(events) == "the answer"
    assert not [e for e in events if e["type"] == "error"]
    assert client.closed_with == 1001
    if signal_name == "QUIT":
        return
    back = LiveClient(service.port).start(thread_id="moving")
    connection = live_provider.accept()
    assert connection.accept_setup()["sessionResumption"] == {"handle": "h"}
    connection.say("back")
    connection.complete_turn()
    assert transcript(back.read_turn()) == "back"


def test_a_session_that_begins_on_a_leaving_worker_is_sent_on_at_once(start_service):
    service = start_service(LIVE, http="agent_graph_shutdown_jitter 10h;", workers=1)
    client = LiveClient(service.port)
    client.upgrade("/v1/graph/live")
    service.reload()
    client.start_session(thread_id="late")
    assert client.read_to_end() == []
    assert client.closed_with == 1001
    client.send(close_frame(1001))
    wait_until(lambda: not service.draining_workers(), "the old worker has gone")


@pytest.mark.parametrize("told", [{}, {"resumption_handle": "h"}])
def test_a_killed_worker_costs_a_gap(start_service, live_provider, told):
    """The client reconnects with its thread and, if it kept one, with the handle."""
    service = start_service(live_provider.settings(), workers=1)
    client, connection = begin_session(service, live_provider, thread_id="killed")
    connection.give_handle("h")
    connection.hear("remember this")
    connection.say("I will")
    connection.complete_turn()
    client.read_turn()
    wait_for_messages(service, "killed", 2)
    service.kill_worker()
    back = LiveClient(service.port).start(thread_id="killed", **told)
    connection = live_provider.accept()
    assert connection.accept_setup()["sessionResumption"] == {"handle": "h"}
    connection.say("still here")
    connection.complete_turn()
    assert transcript(back.read_turn()) == "still here"
    kept = texts(wait_for_messages(service, "killed", 3))
    assert kept == ["remember this", "I will", "still here"]


def test_one_session_a_thread(start_service):
    service = start_service(LIVE | {"busy_thread": "reject"})
    client = LiveClient(service.port).start(thread_id="busy", modalities="TEXT")
    client.type("hi")
    client.read_turn()
    state = service.get("/v1/threads/busy/state").json()["data"]["state"]
    assert state["execution_meta"]["is_running"] is True
    second = LiveClient(service.port).start(thread_id="busy")
    (error,) = second.read_to_end()
    assert (error["code"], second.closed_with) == ("thread_busy", 1013)
    client.send_json({"type": "close"})
    client.read_to_end()
    third = LiveClient(service.port).start(thread_id="busy", modalities="TEXT")
    third.type("free again")
    third.read_turn()


def test_a_client_that_goes_while_it_waits_for_the_thread_leaves_the_queue(start_service):
    """Nobody answers a session that has not begun."""
    policy = {"policy": "enqueue", "queue_max": 1, "wait_ms_max": 3_600_000}
    service = start_service(LIVE | {"busy_thread": policy}, workers=2)
    client = LiveClient(service.port).start(thread_id="busy", modalities="TEXT")
    client.type("hi")
    client.read_turn()

    def queue():
        state = service.get("/v1/threads/busy/state").json()["data"]["state"]
        return state["execution_meta"]["queued_runs"]

    for end in (LiveClient.reset, LiveClient.close):
        waiting = LiveClient(service.port).start(thread_id="busy")
        wait_until(queue, "the session waits")
        end(waiting)
        wait_until(lambda: queue() == [], "its place is free")


@pytest.mark.parametrize("config", [{}, {"cancel": True}])
def test_a_stop_ends_the_session(start_service, config):
    service = start_service(LIVE)
    client = LiveClient(service.port).start(thread_id="stop", modalities="TEXT")
    client.type("hi")
    client.read_turn()
    reply = service.post("/v1/graph/stop", {"thread_id": "stop", "config": config})
    assert reply.json()["data"]["running"] is True
    error = client.read_to_end()[-1]
    assert (error["code"], error["fatal"], client.closed_with) == ("stopped", True, 1000)
    run = service.get("/v1/observability/stop").json()["data"]["run"]
    assert run["status"] == "stopped"
    state = service.get("/v1/threads/stop/state").json()["data"]["state"]
    assert state["execution_meta"]["stop_current_execution"] == "stopped"
    again = LiveClient(service.port).start(thread_id="stop", modalities="TEXT")
    again.type("and again")
    again.read_turn()


def test_a_session_that_waits_for_its_thread_can_be_stopped(start_service):
    service = start_service(LIVE)
    first = LiveClient(service.port).start(thread_id="one", modalities="TEXT")
    first.type("hi")
    first.read_turn()
    second = LiveClient(service.port).start(thread_id="one", modalities="TEXT")

    def waiting():
        state = service.get("/v1/threads/one/state").json()["data"]["state"]
        return state["execution_meta"]["queued_runs"]

    (run_id,) = wait_until(waiting, "the second session waits")
    service.post("/v1/graph/stop", {"thread_id": "one", "run_id": run_id})
    (error,) = second.read_to_end()
    assert (error["code"], error["fatal"], second.closed_with) == ("stopped", True, 1000)
    first.type("still here")
    first.read_turn()


def test_sessions_beyond_the_bound_are_refused(start_service):
    service = start_service(LIVE | {"limits": {"live_sessions_max": 1}}, workers=1)
    first = LiveClient(service.port).start(modalities="TEXT")
    first.type("hi")
    first.read_turn()
    second = LiveClient(service.port).start()
    (error,) = second.read_to_end()
    assert (error["code"], error["fatal"]) == ("too_many_sessions", True)
    assert second.closed_with == 1013
    first.type("still here")
    first.read_turn()


@pytest.mark.parametrize("store", ["none", "leveldb"])
def test_without_a_checkpointer(start_service, store):
    service = start_service(LIVE | {"checkpointer": "none", "store": store})
    client = LiveClient(service.port).start(modalities="TEXT")
    for _ in range(2):
        client.type('call calculator {"expression": "2+3"}')
        assert transcript(client.read_turn()) == "5"
    client.read_to("session_update")
    client.send_json({"type": "close"})
    client.read_to_end()
    assert client.closed_with == 1000


def test_how_long_sound_stays_in_the_service(start_service, live_provider):
    status = "location = /status.json { agent_graph_status format=json; }"
    service = start_service(live_provider.settings(), workers=1, server=status)
    client, connection = begin_session(service, live_provider)

    def converse():
        client.say(b"\1" * 3200)
        connection.received_sound()
        connection.say("hello", b"\0" * 480)
        connection.complete_turn()
        client.read_turn()
        return True

    def ways():
        counts = service.get("/status.json").json()["services"][0]
        return counts["live_frames_forwarded"], counts["live_forward_seconds"]

    converse()
    wait_until(lambda: ways()[0] == {"upstream": 1, "downstream": 1}, "both ways are counted")
    # A frame may take less than the microsecond in which times are counted.
    wait_until(lambda: converse() and min(ways()[1].values()) > 0, "both ways take time")
    assert set(ways()[1]) == {"upstream", "downstream"}
