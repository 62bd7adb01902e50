"""Reads and changes of the state of a large thread, several at once: they take turns when the worker
has no memory for all of them."""

import pytest

from harness import environment
from harness.agents import DEMO
from harness.messages import user
from harness.worker_memory import MIB, at_once, peaks_within, start_watched

pytestmark = pytest.mark.skipif(
    bool(environment.SANITIZER), reason="a sanitizer's allocator, shadow and quarantine are not ours"
)

_BOUND = 256 * MIB  # limits.buffered_bytes_max
_THREAD = "/v1/threads/large"


def _create_large_thread(service):
    """Makes a state of nearly 40 MiB, the largest that a thread can have over HTTP."""
    messages = {"messages": [user("x" * 1_000_000) for _ in range(8)]}
    for _ in range(4):
        assert service.post(f"{_THREAD}/messages", messages).status == 200
    fields = {f"field{number}": [{"a": ""}] * 40_000 for number in range(8)}
    for name, value in fields.items():
        reply = service.request("PUT", f"{_THREAD}/state", {"state": {name: value}})
        assert reply.status == 200, reply.text[:300]


@pytest.fixture
def service(start_service):
    service = start_watched(start_service, DEMO)
    _create_large_thread(service)
    service.reload()  # the worker's peak begins anew
    assert service.invoke("hi").status == 200
    return service


def test_reads_of_a_large_state_take_turns(service):
    with peaks_within(service, _BOUND):
        replies = at_once(8, lambda _: service.get(f"{_THREAD}/state"))
        assert {reply.status for reply in replies} == {200}
        assert len({len(reply.body) for reply in replies}) == 1
    state = replies[0].json()["data"]["state"]
    assert len(state["context"]) == 32 and len(state["field7"]) == 40_000


def test_changes_of_a_large_state_take_turns(service):
    with peaks_within(service, _BOUND):
        replies = at_once(
            8,
            lambda number: service.request("PUT", f"{_THREAD}/state", {"state": {"n": number}}),
        )
        assert {reply.status for reply in replies} == {200}


def test_results_of_a_run_on_a_large_thread_take_turns(service):
    config = {"thread_id": "large", "run_id": "r"}
    accepted = service.post("/v1/graph/runs", {"messages": [user("hi")], "config": config})
    assert accepted.status == 202, accepted.text
    result = f"{_THREAD}/runs/r/wait"
    assert service.get(result).status == 200
    with peaks_within(service, _BOUND):
        assert {reply.status for reply in at_once(8, lambda _: service.get(result))} == {200}
