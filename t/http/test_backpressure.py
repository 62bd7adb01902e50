"""Clients that read slowly: the model's provider is slowed down, memory stays bounded, and other
clients are not affected."""

import pytest

from harness import environment, processes
from harness.gated_provider import GatedProvider
from harness.waiting import wait_until

_STREAMS = 100 if environment.SANITIZER else 1000
_CHUNK = "x" * 16 * 1024
_CHUNKS = 240
# A stream's credit (256 KiB), and the reply so far as kept by the provider's client and the run.
# 1,005 KiB were measured; the allocator's rounding varies.
_BYTES_PER_STREAM = 1280 * 1024
_UNCHANGED_LOOKS = 50


@pytest.fixture
def large_provider():
    provider = GatedProvider([_CHUNK] * _CHUNKS, before_gate=None, send_buffer=64 * 1024)
    yield provider
    provider.close()


def _wait_until_stalled(provider):
    """Waits until the provider has sent nothing for some time, because all buffers are full."""
    seen = {"sent": -1, "looks": 0}

    def stalled():
        sent = provider.sent_bytes
        seen["looks"] = seen["looks"] + 1 if sent == seen["sent"] else 0
        seen["sent"] = sent
        return seen["looks"] >= _UNCHANGED_LOOKS

    wait_until(stalled, "the provider is blocked")


def test_a_thousand_slow_readers(start_service, large_provider):
    model = {"provider": "openai", "model": "m", "base_url": large_provider.base_url, "api_key": "k"}
    model["first_byte_timeout_ms"] = 600_000  # the provider begins a thousand streams at once
    # A small send buffer, because the kernel would otherwise take much of the stream and hide our
    # own limits.
    service = start_service(
        {"agent": "graphs/support.json:app", "models": {"default": model}},
        listen="sndbuf=64k",
        location="send_timeout 10m;",  # all streams must stall first, however long that takes
    )

    before = sum(processes.resident_bytes(worker.pid) for worker in service.workers())
    streams = [service.stream("much", receive_buffer=4096) for _ in range(_STREAMS)]
    for stream in streams:
        assert stream.read_head().status == 200
    _wait_until_stalled(large_provider)
    assert large_provider.sent_bytes < _STREAMS * len(_CHUNK) * _CHUNKS / 2
    after = sum(processes.resident_bytes(worker.pid) for worker in service.workers())
    # Skipped under a sanitizer: its shadow memory and quarantine would be counted.
    if not environment.SANITIZER:
        assert after - before < _STREAMS * _BYTES_PER_STREAM

    # Other requests are served while a thousand streams wait.
    assert service.get("/ping").status == 200
    assert service.get("/v1/graph").status == 200

    for stream in streams[10:]:
        stream.close()
    wait_until(lambda: large_provider.open_connections <= 10, "abandoned model calls end")
    for stream in streams[:10]:
        assert stream.ended_with_done()
        assert stream.final_text() == _CHUNK * _CHUNKS
