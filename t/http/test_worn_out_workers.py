"""Workers that have lost threads to functions that never return are replaced."""

import select

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


_LOST = r"(1[6-9]|[2-9]\d) user functions did not return by their deadline, so this worker exits"
_WAITS = f"{_LOST} as soon as"


def _has_reply(connection):
    return select.select([connection.socket], [], [], 0)[0]


def _wear_out(service, pid, connect=None):
    """Lets functions hang until the worker says that it is worn out. The number of calls varies: a lost
    function counts a second after its deadline, and one that a slow machine has not begun by its deadline
    never counts."""

    def worn_out():
        return service.error_log.lines(rf" {pid}#.*{_LOST}")

    def lose_another():
        with (connect or service.connect)() as connection:
            connection.request("POST", "/v1/graph/invoke", body=invocation("x"))
            # A worker that has just left its listening socket never answers.
            wait_until(lambda: _has_reply(connection) or worn_out(), "the call is answered")
            if _has_reply(connection):
                assert connection.read_reply().status == 504
        return worn_out()

    wait_until(lose_another, f"worker {pid} is worn out")


def test_a_worker_that_lost_its_threads_is_replaced(start_service):
    service = start_service(behaviour("hanging"), workers=1)
    old = service.only_worker().pid
    _wear_out(service, old)
    service.wait_for_workers(other_than={old})
    service.wait_for_log("did not stop: .*HANG")
    assert service.invoke("x").status == 504


def _hold(service, held_service):
    """A request in flight that has nothing to do with the service."""
    before = len(held_service.requests)
    connection = service.connect()
    connection.request("GET", "/held")
    wait_until(lambda: len(held_service.requests) > before, "the request is in flight")
    return connection


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
    _wear_out(service, old)
    assert service.error_log.lines(_WAITS)
    _connect_to(service, old).close()
    socket = WebSocket(service.port).upgrade()
    held_service.go_on.set()
    assert held.read_reply().text == "ok"
    held.close()
    _connect_to(service, old).close()
    socket.send(close_frame(1000))
    service.wait_for_workers(other_than={old})
    assert service.invoke("x").status == 504
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
    _wear_out(service, old, lambda: _connect_to(service, old))
    assert service.error_log.lines(_WAITS)
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
    _wear_out(service, first)
    wait_until(lambda: service.draining_workers(), "the first one leaves")
    processes.thaw(second)
    held.append(_hold(service, held_service))
    _wear_out(service, second)
    assert service.error_log.lines(rf" {second}#.*{_WAITS}")
    assert service.get("/pid").text == str(second), "it still accepts connections"
    assert [worker.pid for worker in service.workers()] == [second]
    held_service.go_on.set()
    for connection in held:
        assert connection.read_reply().text == "ok"
        connection.close()
    service.wait_for_workers(other_than={first, second})
