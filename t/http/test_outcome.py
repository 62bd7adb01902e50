"""Every way to run a graph reports how the run ended, without asking for the state."""

import threading

import pytest

from harness.agents import behaviour
from harness.service import invocation
from harness.waiting import wait_until
from harness.websocket import WebSocket

_THREAD = {"thread_id": "t"}


def _invoke(service, request):
    return service.post("/v1/graph/invoke", request).json()["data"]["meta"]


def _stream(service, request):
    """Returns None if the time of the run was over before it began, because the machine is slow."""
    reply = service.post("/v1/graph/stream", request)
    return None if reply.status == 504 else reply.lines()[-1]["data"]


def _frame(service, request):
    with WebSocket(service.port) as socket:
        socket.upgrade()
        socket.send_json(request)
        return socket.read_run()[-1]["data"]


_ALL = {"invoke": _invoke, "stream": _stream, "websocket": _frame}
_STREAMED = {"stream": _stream, "websocket": _frame}


def _each(ways):
    return pytest.mark.parametrize("way", ways.values(), ids=ways.keys())


def _request(text="hello", **config):
    return invocation(text, config=_THREAD | config)


def _assert_status_stays(way, end):
    """Existing clients wait for this status, whatever the outcome is."""
    if way is not _invoke:
        assert end["status"] == "done"


@_each(_ALL)
def test_done(start_service, way):
    end = way(start_service(behaviour("echo")), _request())
    assert end["outcome"] == "done" and "interrupt" not in end
    _assert_status_stays(way, end)


@_each(_ALL)
def test_interrupted(start_service, way):
    service = start_service(behaviour("asking"))
    end = way(service, _request("delete"))
    assert end["outcome"] == "interrupted"
    assert end["interrupt"] == {
        "node": "ASK",
        "reason": "needs a yes",
        "status": "interrupted_after",
        "data": {"about": "delete"},
    }
    _assert_status_stays(way, end)
    end = way(service, _request("yes"))
    assert end["outcome"] == "done" and "interrupt" not in end


@_each(_ALL)
def test_a_pause_without_data(start_service, way):
    end = way(start_service(behaviour("pausing")), _request())
    assert end["interrupt"] == {
        "node": "SECOND",
        "reason": "before node SECOND",
        "status": "interrupted_before",
    }


@_each(_ALL)
def test_stopped(start_service, way):
    service = start_service(behaviour("sleeping"))
    ends = []
    run = threading.Thread(target=lambda: ends.append(way(service, _request(sleep_ms=600_000))))
    run.start()

    def stop():
        body = {"thread_id": "t", "config": {"cancel": True}}
        return service.post("/v1/graph/stop", body).json()["data"]["running"]

    wait_until(stop, "there is a run to stop")
    run.join()
    (end,) = ends
    assert end["outcome"] == "stopped" and "interrupt" not in end
    _assert_status_stays(way, end)


@_each(_STREAMED)
def test_failed(start_service, way):
    end = way(start_service(behaviour("throwing")), _request())
    assert end == {"status": "done", "outcome": "error"}


@_each(_STREAMED)
def test_timed_out(start_service, way):
    service = start_service(behaviour("sleeping"), location="agent_graph_run_timeout 2s;")
    end = wait_until(lambda: way(service, _request(sleep_ms=600_000)), "a run begins in time")
    assert end == {"status": "done", "outcome": "error"}


def test_a_failed_invocation_is_an_error_response(start_service):
    service = start_service(behaviour("throwing"))
    reply = service.post("/v1/graph/invoke", _request())
    assert reply.status == 500 and reply.json()["error"]["code"] == "GRAPH_ERROR"


def test_a_refused_frame_ends_with_an_error(start_service):
    end = _frame(start_service(behaviour("echo")), {"messages": [], "config": _THREAD})
    assert end == {"status": "done", "outcome": "error"}
