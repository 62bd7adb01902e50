"""User code that allocates endlessly loses its run; the worker continues."""

import re

import pytest

from harness import environment, processes
from harness.agents import allocating
from harness.messages import texts
from harness.stream import is_done
from harness.waiting import wait_until

pytestmark = pytest.mark.skipif(
    environment.SANITIZER != "", reason="a sanitizer has operators new of its own"
)

_BYTES_MAX = 64 * 1024 * 1024
_BOUND = f"it would hold more than {_BYTES_MAX} bytes (limits.function_bytes_max)"
# Memory that the allocator's arenas may keep; the functions took more than that.
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


def _backend(name):
    return f"{environment.BUILD}/t/graphs/allocating.so:{name}"


def _start_guarded(start):
    return start(
        "blocking",
        auth={"method": "custom", "path": _backend("authentication")},
        authorization=_backend("authorization"),
    )


def _await_fault(service, of_whom, seen=0):
    """The failed allocation is reported only in the log; a refusal contains no details."""
    wait_until(
        lambda: len(service.error_log.lines(f"{of_whom}: .*{re.escape(_BOUND)}")) > seen,
        f"{of_whom} is in the log",
    )


def test_a_backend_that_allocates_without_end_costs_its_request(start):
    service = _start_guarded(start)
    workers = _workers(service)
    assert service.get("/v1/graph").status == 200
    before = _resident_bytes(service)
    refused = {"X-Authentication": (500, "INTERNAL_SERVER_ERROR"), "X-Authorization": (403, "PERMISSION_ERROR")}
    for header, (status, code) in refused.items():
        kind = header.removeprefix("X-").lower()
        for seen, wish in enumerate(("without end", "huge", "json")):
            reply = service.get("/v1/graph", headers=[(header, wish)])
            assert reply.status == status, reply.text
            assert reply.json()["error"]["code"] == code and _BOUND not in reply.text
            _await_fault(service, f"the {kind} backend failed", seen)
            request_id = reply.json()["metadata"]["request_id"]
            assert service.error_log.lines(f"request {request_id}: the {kind} backend failed")
            assert service.get("/v1/graph").status == 200
    assert _workers(service) == workers
    wait_until(
        lambda: _resident_bytes(service) < before + _SLACK_BYTES, "the memory has come back"
    )


def test_a_backend_that_allocates_without_end_to_forget_costs_nothing(start):
    service = _start_guarded(start)
    workers = _workers(service)
    service.invoke("modest", config={"thread_id": "without end"})
    assert service.request("DELETE", "/v1/threads/without%20end", {}).status == 200
    _await_fault(service, "evict of the authorization backend failed")
    assert service.get("/v1/graph").status == 200
    assert _workers(service) == workers
    service.quit()
    _await_fault(service, "close of the authorization backend failed")


def test_what_was_freed_does_not_count(start):
    assert _last_text(start("churn").invoke("x")) == str(1000 * 1_000_000)


def test_nobody_else_s_operators_are_in_the_way(start):
    service = start("blocking")
    assert _last_text(service.invoke("modest")) == "modest"
    assert not service.error_log.lines("function_bytes_max")
