"""Workers that have lost threads to functions that never return are replaced."""

import uuid

import pytest

from harness import processes
from harness.agents import behaviour
from harness.service import invocation
from harness.waiting import wait_until
from harness.websocket import WebSocket, close_frame

pytestmark = pytest.mark.one_host("the processes of one nginx")


@pytest.fixture
def hanging_service(start_service, held_service):
    """Starts a service whose functions hang; requests to /held wait for `held_service`."""

    def start(**configuration):
        return start_service(
            behaviour("hanging"),
            server=f"location = /held {{ proxy_pass {held_service.url}; }}\n"
            "location = /pid { return 200 $pid; }\n"
            "location = /status { agent_graph_status; }",
            **configuration,
        )

    return start


def _hang(service, connect=None):
    """Lets one function hang. A slow machine may not begin it by its deadline, after 100 ms: then it never
    begins, and another one is asked for."""
    begun = None
    while begun is None or not begun.exists():
        begun = service.directory / "temp" / f"hangs-{uuid.uuid4()}"
        with (connect or service.connect)() as connection:
            connection.request("POST", "/v1/graph/invoke", body=invocation(str(begun)))
            assert connection.read_reply().status == 504


def test_a_worker_that_lost_its_threads_is_replaced(start_service):
    service = start_service(behaviour("hanging"), workers=1)
    old = {worker.pid for worker in service.workers()}
    for _ in range(15):
        _hang(service)
    assert {worker.pid for worker in service.workers()} == old
    _hang(service)
    service.wait_for_workers(other_than=old)
    service.wait_for_log("16 user functions did not return by their deadline, so this worker exits")
    service.wait_for_log("did not stop: .*HANG")
    assert service.invoke("hello").status == 504


def _hold(service, held_service):
    """A request in flight that has nothing to do with the service."""
    before = len(held_service.requests)
    connection = service.connect()
    connection.request("GET", "/held")
    wait_until(lambda: len(held_service.requests) > before, "the request is in flight")
    return connection


def _wear_out(service):
    for _ in range(16):
        _hang(service)


_WAITS = "16 user functions did not return by their deadline, so this worker exits as soon as"


def _connect_to(service, pid):
    """A connection to that worker."""
    while processes.is_alive(pid):
        connection = service.connect()
        connection.request("GET", "/pid")
        if connection.read_reply().text == str(pid):
            return connection
        connection.close()
    pytest.fail(f"worker {pid} has left")


def test_a_worn_out_worker_that_is_alone_leaves_when_it_is_idle(hanging_service, held_service):
    service = hanging_service(workers=1, location="agent_graph_ws_ping off;")
    old = service.only_worker().pid
    held = _hold(service, held_service)
    idle = _connect_to(service, old)
    _wear_out(service)
    service.wait_for_log(_WAITS)
    _connect_to(service, old).close()
    socket = WebSocket(service.port).upgrade()
    held_service.go_on.set()
    assert held.read_reply().text == "ok"
    held.close()
    _connect_to(service, old).close()
    socket.send(close_frame(1000))
    service.wait_for_workers(other_than={old})
    assert service.invoke("hello").status == 504
    idle.close()


def test_a_worn_out_worker_with_its_own_sockets_leaves_when_it_is_idle(
    hanging_service, held_service
):
    # With reuseport the kernel also gives connections to the sockets of a worker that leaves.
    service = hanging_service(workers=2, listen="reuseport")
    old = service.workers()[0].pid
    held = _connect_to(service, old)
    held.request("GET", "/held")
    wait_until(lambda: held_service.requests, "the request is in flight")
    for _ in range(16):
        _hang(service, lambda: _connect_to(service, old))
    service.wait_for_log(_WAITS)
    _connect_to(service, old).close()
    held_service.go_on.set()
    assert held.read_reply().text == "ok"
    held.close()
    wait_until(lambda: old not in {worker.pid for worker in service.workers()}, "it leaves")
    service.wait_for_workers()


def test_worn_out_workers_do_not_all_leave_at_once(hanging_service, held_service):
    service = hanging_service(workers=2)
    first, second = (worker.pid for worker in service.workers())
    # A worker that shows the status page has reported that it accepts connections.
    reports = _connect_to(service, second)
    reports.request("GET", "/status")
    assert reports.read_reply().status == 200
    reports.close()
    processes.freeze(second)
    held = [_hold(service, held_service)]
    _wear_out(service)
    service.wait_for_log(rf"{first}#.* 16 user functions did not return by their deadline")
    wait_until(lambda: service.draining_workers(), "the first one leaves")
    processes.thaw(second)
    held.append(_hold(service, held_service))
    _wear_out(service)
    service.wait_for_log(rf"{second}#.* {_WAITS}")
    assert service.get("/pid").text == str(second), "it still accepts connections"
    assert [worker.pid for worker in service.workers()] == [second]
    held_service.go_on.set()
    for connection in held:
        assert connection.read_reply().text == "ok"
        connection.close()
    service.wait_for_workers(other_than={first, second})
