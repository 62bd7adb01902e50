"""Frames that the client has not read when its session ends."""

import pytest

from harness.http1 import ConnectionClosed
from harness.live import LiveClient
from harness.waiting import wait_until
from harness.websocket import CLOSE

_STATUS = "location = /status.json { agent_graph_status format=json; }"


def _status_of(service):
    return service.get("/status.json").json()["services"][0]


@pytest.fixture
def stalled(start_service, live_provider):
    """stalled(TIME) returns a service with the given timeout of closing handshakes, and the client of
    a session that has ended: the client has closed it, and has read nothing of the answer."""

    def start(close_timeout):
        service = start_service(
            live_provider.settings(),
            workers=1,
            listen="sndbuf=4k",
            location=f"send_timeout 10h; agent_graph_ws_ping off; agent_graph_ws_close_timeout {close_timeout};",
            server=_STATUS,
        )
        client = LiveClient(service.port, receive_buffer=4096).start()
        connection = live_provider.accept()
        connection.accept_setup()
        client.type("a question")
        client.send_json({"type": "close"})
        connection.receive_until("clientContent")
        for _ in range(2):
            connection.say("word " * 1000, b"\1" * 48_000)
        connection.complete_turn()
        wait_until(lambda: _status_of(service)["live_sessions"] == 0, "the session is over")
        return service, client

    return start


def test_unsent_frames_are_counted_until_they_are_read(stalled):
    service, client = stalled("10h")
    status = _status_of(service)
    assert status["websockets"] == 1 and status["memory_bytes"] > 0
    client.read_to_end()
    assert client.closed_with == 1000
    client.close()
    wait_until(lambda: _status_of(service)["memory_bytes"] == 0, "no frame is left")


def test_a_client_that_does_not_read_is_given_up(stalled):
    service, client = stalled("200ms")
    wait_until(lambda: _status_of(service)["websockets"] == 0, "the client has lost its socket")
    wait_until(lambda: _status_of(service)["memory_bytes"] == 0, "no frame is left")
    frames = []
    with pytest.raises(ConnectionClosed):
        while True:
            frames.append(client.read_frame())
    assert CLOSE not in [one.opcode for one in frames]


def test_a_client_that_does_not_read_does_not_keep_a_leaving_worker(stalled):
    service, client = stalled("200ms")
    service.reload()
    wait_until(lambda: not service.draining_workers(), "the old worker has gone")
    client.close()
