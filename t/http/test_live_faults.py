"""Reasons for which the event loop itself ends a live session, reported by a fatal event, and data
that it drops instead."""

import pytest

from harness.live import LIVE, OUTPUT_RATE, LiveClient, begin_session, transcript
from harness.waiting import wait_until
from harness.websocket import BINARY, CONTINUATION, PING, PONG, TEXT, frame

_ROOM = 1024 * 1024
_MUCH = 100_000  # more than the worker may have freed since it had no room


def _drops(service):
    return service.get("/status.json").json()["services"][0]["live_drops"]


class _FullWorker:
    """A worker without room, because one client does not read its model's output. `client` and
    `connection` are both ends of another session on it; `newcomer` has not begun a session yet."""

    def __init__(self, service, live_provider):
        self.service = service
        self._deaf = LiveClient(service.port, receive_buffer=4096).start()
        self._talkative = live_provider.accept()
        self._talkative.accept_setup()
        self.client, self.connection = begin_session(service, live_provider)
        self.newcomer = LiveClient(service.port)
        self.newcomer.upgrade("/v1/graph/live")
        wait_until(self._fill, "there is no room for more sound")

    def _fill(self):
        self._talkative.say("word", bytes(2 * OUTPUT_RATE))
        return _drops(self.service)["downstream"] >= 5

    def free(self):
        """Reads the pending output; returns when the worker has room."""
        self._talkative.complete_turn()
        self._deaf.read_turn()
        wait_until(lambda: self.service.invoke("x" * (_ROOM // 2)).status == 422, "there is room")

    def wait_for_lost(self, count):
        wait_until(lambda: _drops(self.service)["upstream"] == count, f"{count} frames are lost")


@pytest.fixture
def full_worker(start_service, live_provider):
    service = start_service(
        live_provider.settings() | {"limits": {"buffered_bytes_max": _ROOM}},
        workers=1,
        listen="sndbuf=64k",
        server="location = /status.json { agent_graph_status format=json; }",
    )
    return _FullWorker(service, live_provider)


def test_sound_that_has_no_room_is_lost_and_the_session_goes_on(full_worker):
    client, connection = full_worker.client, full_worker.connection
    client.send(frame(BINARY, b"\1" * _MUCH))
    full_worker.wait_for_lost(1)
    # The answer to the ping shows that everything before it has been read.
    client.send(frame(BINARY, b"\1" * _MUCH, final=False) + frame(PING, "read"))
    assert client.read_frame().opcode == PONG
    client.send(frame(CONTINUATION, b"\1" * 2))
    full_worker.wait_for_lost(2)
    full_worker.free()
    client.send(frame(BINARY, b"\2" * 3200))
    assert connection.received_sound() == b"\2" * 3200
    client.type("still there?")
    connection.receive_until("clientContent")
    connection.say("yes")
    connection.complete_turn()
    assert transcript(client.read_turn()) == "yes"
    assert not full_worker.service.error_log.lines("was dropped")  # no message was too large


def _ended_for_want_of_room(client):
    (error,) = client.read_to_end()
    assert (error["type"], error["code"], error["fatal"]) == ("error", "server_busy", True)
    return client.closed_with == 1013


@pytest.mark.parametrize("final", [True, False])
def test_a_text_that_has_no_room_ends_the_session(full_worker, final):
    full_worker.client.send(frame(TEXT, '{"type":"text","text":"%s"}' % ("x" * _MUCH), final=final))
    assert _ended_for_want_of_room(full_worker.client)


@pytest.mark.parametrize("opcode", [TEXT, BINARY])
def test_a_session_that_has_no_room_to_begin_is_told(full_worker, opcode):
    full_worker.newcomer.events = []
    full_worker.newcomer.send(frame(opcode, b" " * _MUCH))
    assert _ended_for_want_of_room(full_worker.newcomer)


def test_a_message_that_never_ends_ends_the_session(start_service):
    service = start_service(LIVE, location="agent_graph_run_timeout 3s;")  # it limits the handshake, too
    client = LiveClient(service.port)
    client.upgrade("/v1/graph/live")
    client.events = []
    client.send(frame(TEXT, "{", final=False))
    (error,) = client.read_to_end()
    assert (error["type"], error["code"], error["fatal"]) == ("error", "message_timeout", True)
    assert client.closed_with == 1008
