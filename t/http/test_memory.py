"""The memory of a worker: bounded while many large requests and slow readers are at work, and
given back when they are gone."""

import pytest

from harness import environment, processes
from harness.agents import DEMO
from harness.http1 import fetch
from harness.messages import user
from harness.waiting import wait_until
from harness.worker_memory import (
    MIB,
    SHARE,
    at_once,
    peaks_within,
    start_watched,
    status_of,
    wait_until_returned,
)

pytestmark = pytest.mark.skipif(
    bool(environment.SANITIZER), reason="a sanitizer's allocator, shadow and quarantine are not ours"
)

_BOUND = 256 * MIB  # limits.buffered_bytes_max
_RUN_BYTES = 64 * 1024  # a run that holds no text


@pytest.mark.parametrize(
    "target, location, fields",
    [
        ("/v1/graph/invoke", "", {}),
        ("/v1/graph/invoke", "client_body_buffer_size 16m;", {}),
        ("/v1/graph/invoke", "", {"response_granularity": "full"}),
        ("/v1/graph/stream", "", {}),
        ("/v1/threads/t{number}/messages", "", {}),
    ],
)
def test_large_requests_take_turns(start_service, target, location, fields):
    service = start_watched(start_service, DEMO, location=location)
    assert service.invoke("hi").status == 200
    body = {"messages": [user("x" * 1_000_000) for _ in range(8)]} | fields
    with peaks_within(service, _BOUND):
        # 240 of the 256 MiB of text that are allowed.
        replies = at_once(30, lambda number: service.post(target.format(number=number), body))
        statuses = {reply.status for reply in replies}
        # A request that gets no memory for half a minute is refused.
        assert 200 in statuses and statuses <= {200, 503}


@pytest.mark.parametrize("granularity", ["low", "full"])
def test_small_requests_to_large_threads_take_turns(start_service, granularity):
    service = start_watched(start_service, DEMO)
    stored = {"messages": [user("x" * 1_000_000) for _ in range(8)]}
    for number in range(30):
        assert service.post(f"/v1/threads/t{number}/messages", stored).status == 200
    service.reload()  # resets the worker's peak

    def ask(number):
        config = {"thread_id": f"t{number}"}
        return service.invoke("hi", config=config, response_granularity=granularity).status

    with peaks_within(service, _BOUND):
        statuses = set(at_once(30, ask))
        assert 200 in statuses and statuses <= {200, 503}
    # A refused run has left its thread.
    assert {ask(number) for number in range(3)} == {200}


def test_a_large_request_waits_for_memory(start_service, gated_provider):
    model = {"provider": "openai", "model": "m", "base_url": gated_provider.base_url, "api_key": "k"}
    limits = {"buffered_bytes_max": 8 * MIB}
    service = start_watched(
        start_service, {"agent": "graphs/support.json:app", "models": {"default": model}, "limits": limits}
    )
    first = service.stream("x" * 1_000_000)
    gated_provider.wait_for_waiting(1)
    second = service.stream("x" * 1_000_000)
    wait_until(lambda: status_of(service)["memory_waiting"] == 1, "the second waits for memory")
    assert status_of(service)["memory_bytes"] <= 8 * MIB
    metrics = fetch(service.status_port, "GET", "/metrics").text
    assert 'agent_graph_memory_waiting{service="test"} 1' in metrics
    # A small one does not wait behind it.
    small = service.stream("x" * 5000)
    gated_provider.wait_for_waiting(2)
    assert status_of(service)["memory_waiting"] == 1
    gated_provider.open_gate()
    for stream in (first, second, small):
        assert stream.ended_with_done()
    wait_until_returned(service)


def test_slow_readers_hold_what_is_counted(start_service):
    streams_count, credit = 300, 256 * 1024
    model = {"provider": "demo", "parameters": {"delay_ms": 5}}
    service = start_watched(
        start_service,
        {"agent": "graphs/support.json:app", "models": {"default": model}},
        listen="sndbuf=64k",
        location="send_timeout 10m;",  # however long it takes until all have stalled
    )
    assert service.invoke("hi").status == 200
    worker = service.only_worker()
    before = processes.resident_bytes(worker.pid)
    # The lines of its stream are much larger than the kernel's buffers and the credit together.
    text = " ".join(f"word{number}" for number in range(2500))
    streams = [service.stream(text, receive_buffer=4096) for _ in range(streams_count)]
    for stream in streams:
        assert stream.read_head().status == 200
    wait_until(
        lambda: status_of(service)["buffered_bytes"] > 0.9 * streams_count * credit,
        "the streams have used up their credit",
        60,
    )
    counted = status_of(service)["memory_bytes"]
    grown = processes.resident_bytes(worker.pid) - before
    assert grown < SHARE * (counted + streams_count * _RUN_BYTES)
    assert grown < SHARE * streams_count * (credit + 6 * len(text) + _RUN_BYTES)
    for stream in streams:
        stream.close()
    wait_until_returned(service)
