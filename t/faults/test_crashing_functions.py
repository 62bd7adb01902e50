"""A function of the graph that crashes its worker: error.log names the run and the node."""

import contextlib

import pytest

from harness.agents import behaviour
from harness.http1 import ConnectionClosed
from harness.service import invocation
from harness.waiting import wait_until

_INVOKED = "the run ends as worker_lost, because only runs in the background are continued"
_POISONED = "the run ends as poisoned, because its user code has crashed its workers repeatedly"


def _lines(service):
    return service.error_log.lines(r"\[error\].* process \d+ died while it executed ")


def _crashing(make_service, name):
    service = make_service(behaviour(name), workers=1).start()
    service.error_log.allow(r"exited on signal 11")
    return service


@pytest.mark.parametrize(
    "name, place",
    [("crashing", "user code in node CRASH of"), ("crashing_on_fiber", "the first functions of")],
)
def test_the_log_names_the_run_of_a_client(make_service, name, place):
    service = _crashing(make_service, name)
    body = invocation("go", config={"thread_id": "t", "run_id": "r"})
    with pytest.raises(ConnectionClosed):
        service.post("/v1/graph/invoke", body)
    (line,) = wait_until(lambda: _lines(service), "the run is reported")
    assert f"{place} run r of thread t: {_INVOKED}" in line
    process = line.split(" process ")[1].split()[0]
    death = rf"worker process {process} exited on signal 11"
    wait_until(lambda: service.error_log.lines(death), "nginx names the same process")


def test_the_log_names_a_run_in_the_background_until_it_is_poisoned(make_service):
    service = _crashing(make_service, "crashing")
    body = invocation("go", config={"thread_id": "t", "run_id": "r"})
    with contextlib.suppress(ConnectionClosed):  # the worker may die before it answers
        service.post("/v1/graph/runs", body)
    lines = wait_until(lambda: len(_lines(service)) == 3 and _lines(service), "it is poisoned")
    for line in lines:
        assert "user code in node CRASH of run r of thread t: " in line
    assert [line.split(": ")[-1] for line in lines] == ["a worker continues the run"] * 2 + [_POISONED]
