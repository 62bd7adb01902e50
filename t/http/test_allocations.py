"""User code that allocates without end costs its run; the worker goes on."""

import pytest

from harness import environment, processes
from harness.agents import allocating, texts
from harness.stream import is_done
from harness.waiting import wait_until

pytestmark = pytest.mark.skipif(
    environment.SANITIZER != "", reason="a sanitizer has operators new of its own"
)

_BYTES_MAX = 64 * 1024 * 1024
_BOUND = f"it would hold more than {_BYTES_MAX} bytes (limits.function_bytes_max)"
# What may stay with the allocator's arenas; what the functions took is more.
_SLACK_BYTES = _BYTES_MAX // 2


@pytest.fixture
def start(start_service):
    def start(export, files=None, **settings):
        limits = {"function_bytes_max": _BYTES_MAX}
        return start_service(allocating(export, limits=limits, **settings), files=files)

    return start


def _last_text(reply):
    assert reply.status == 200, reply.text
    return texts(reply.json()["data"]["messages"])[-1]


def _workers(service):
    return {process.pid for process in service.workers()}


def _resident_bytes(service):
    return sum(processes.resident_bytes(pid) for pid in _workers(service))


@pytest.mark.parametrize("export", ["blocking", "non_blocking", "predicate", "reducer"])
def test_a_function_that_allocates_without_end_costs_its_run_only(start, export):
    service = start(export)
    assert _last_text(service.invoke("modest")) == "modest"
    workers = _workers(service)
    before = _resident_bytes(service)
    for text in ("without end", "huge", "json"):
        reply = service.invoke(text)
        assert reply.status == 500, reply.text
        assert reply.json()["error"]["code"] == "GRAPH_ERROR"
        assert _BOUND in reply.json()["detail"]
        assert _last_text(service.invoke("modest")) == "modest"
    assert _workers(service) == workers
    wait_until(
        lambda: _resident_bytes(service) < before + _SLACK_BYTES, "the memory has come back"
    )


def test_a_stream_names_the_bound_in_production_too(start):
    service = start(
        "blocking", env="production.env", files={"production.env": "MODE=production\n"}
    )
    lines = service.stream("huge").read_all()
    assert _BOUND in lines[-2]["data"]["reason"] and is_done(lines[-1])


def test_a_tool_that_allocates_without_end_gives_a_failed_result(start):
    service = start("tool")
    workers = _workers(service)
    reply = service.invoke("without end")
    assert reply.status == 200, reply.text
    result = reply.json()["data"]["messages"][-1]["content"][0]
    assert result["is_error"] and _BOUND in str(result)
    assert _workers(service) == workers


def test_what_was_freed_does_not_count(start):
    assert _last_text(start("churn").invoke("x")) == str(1000 * 1_000_000)


def test_nobody_else_s_operators_are_in_the_way(start):
    service = start("blocking")
    assert _last_text(service.invoke("modest")) == "modest"
    assert not service.error_log.lines("function_bytes_max")
