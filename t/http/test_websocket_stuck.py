"""Close code 1011: the result for a socket when user code blocks its engine thread permanently."""

import contextlib

import pytest

from harness import environment
from harness.live import LIVE, LiveClient, types
from harness.service import invocation
from harness.stream import is_done
from harness.waiting import wait_until
from harness.websocket import CLOSE, WebSocket

_GRAPH = f"{environment.BUILD}/t/graphs/stuck.so"


@pytest.fixture
def start_stuck(start_service, directory):
    """start_stuck(export) starts a service with one engine thread. User code blocks it from the
    time it receives the path of the file `release` until that file exists."""
    release = directory / "release"

    def start(export, **settings):
        service = start_service(
            LIVE | {"agent": f"{_GRAPH}:{export}"} | settings,
            workers=1,
            service_options="threads=1",
            location="agent_graph_run_timeout 500ms;",
        )
        return service, release

    yield start
    release.touch()  # otherwise the worker could not exit


def test_a_run_that_does_not_end(start_stuck):
    service, release = start_stuck("node")
    socket = WebSocket(service.port).upgrade()

    def closing():
        """A run that a slow machine does not begin within its 500 ms just ends, and another one is asked for."""
        socket.send_json(invocation(str(release)))
        while (received := socket.read_frame()).opcode != CLOSE:
            if is_done(received.json()):
                return None
        return received

    closed = wait_until(closing, "a run blocks the thread")
    assert (closed.close_code, closed.reason) == (1011, "the run did not end")
    assert len(service.error_log.lines("the run did not end after its deadline")) == 1
    # Other requests are served again as soon as the thread is free.
    release.touch()
    wait_until(lambda: service.invoke(str(release)).status == 200, "a run ends within its 500 ms")
    assert WebSocket(service.port).upgrade()


def test_a_session_that_does_not_end(start_stuck):
    service, release = start_stuck("live")

    def talk(text):
        """Begins a session; returns its client with the events up to the first whole turn, or to the end. A
        session ends when nothing happens for 500 ms, as on a slow machine."""
        client = LiveClient(service.port).start(modalities="TEXT")
        with contextlib.suppress(ConnectionError):
            client.type(text)
        while (event := client.read_event()) is not None and event["type"] != "turn_complete":
            pass
        return client

    def is_held():
        client = talk('call hold {"until": "%s"}' % release)
        return getattr(client, "closed_with", None) == 1011 and client

    error = wait_until(is_held, "a tool blocks the thread").events[-1]
    assert (error["type"], error["code"], error["fatal"]) == ("error", "internal", True)
    release.touch()
    wait_until(lambda: types(talk("hi").events)[-1:] == ["turn_complete"], "a session has a turn")
