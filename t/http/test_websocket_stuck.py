"""Close code 1011: the result for a socket when user code blocks its engine thread permanently."""

import pytest

from harness import environment
from harness.live import LIVE, LiveClient, types
from harness.service import invocation
from harness.waiting import wait_until
from harness.websocket import WebSocket

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
    socket.send_json(invocation(str(release)))
    closed = socket.read_close()
    assert (closed.close_code, closed.reason) == (1011, "the run did not end")
    assert len(service.error_log.lines("the run did not end after its deadline")) == 1
    # Other requests are served again as soon as the thread is free.
    release.touch()
    wait_until(lambda: service.invoke(str(release)).status == 200, "a run ends within its 500 ms")
    assert WebSocket(service.port).upgrade()


def test_a_session_that_does_not_end(start_stuck):
    service, release = start_stuck("live")
    client = LiveClient(service.port).start(modalities="TEXT")
    client.type('call hold {"until": "%s"}' % release)
    error = client.read_to_end()[-1]
    assert (error["type"], error["code"], error["fatal"]) == ("error", "internal", True)
    assert client.closed_with == 1011
    release.touch()
    again = LiveClient(service.port).start(modalities="TEXT")
    again.type("hi")
    assert types(again.read_turn())[-1] == "turn_complete"
