"""Data that clients and models send while the database does not answer takes bounded memory."""

import contextlib

import pytest

from harness import environment, processes
from harness.agents import DEMO, asking
from harness.gated_provider import GatedProvider
from harness.messages import user
from harness.waiting import wait_until
from harness.worker_memory import MIB, at_once, peaks_within, start_watched

pytestmark = pytest.mark.skipif(
    bool(environment.SANITIZER), reason="a sanitizer's allocator, shadow and quarantine are not ours"
)

_BOUND = 64 * MIB  # limits.buffered_bytes_max
_RUNS = 8  # together their replies would take one and a half times the bound
# The state server reads at most 16 MiB of requests of one worker before it has executed them. It keeps
# each of them three times: as it was received, as rows, and as SQL.
_SERVER_BYTES = 3 * 16 * MIB


def _start(start_service, settings, database):
    checkpointer = {"type": "postgres", "url": database.url}
    limits = {"buffered_bytes_max": _BOUND}
    service = start_watched(start_service, settings | {"checkpointer": checkpointer, "limits": limits})
    service.error_log.allow(r"state of .* is not available")
    wait_until(lambda: _is_ready(service), "the service is ready")
    return service


def _is_ready(service):
    return service.get("/ready").status == 200


@contextlib.contextmanager
def _bounded_outage(service, server):
    """The database is frozen during the block. Neither the worker nor the state server takes more
    memory than it may."""
    (state_server,) = service.cache_managers()
    files = processes.file_bytes(state_server.pid)
    before = processes.private_peak_bytes(state_server.pid)
    with peaks_within(service, _BOUND):
        server.freeze()
        try:
            yield
        finally:
            server.thaw()
        wait_until(lambda: _is_ready(service), "the service is ready again")
    assert processes.private_peak_bytes(state_server.pid, files) < before + _SERVER_BYTES


@pytest.mark.parametrize("clients, bytes", [(30, 8_000_000), (60, 400_000)])
def test_requests_during_an_outage(start_service, postgres_server, clients, bytes):
    service = _start(start_service, DEMO, postgres_server.create())
    body = {"messages": [user("x" * (bytes // 8)) for _ in range(8)]}
    with _bounded_outage(service, postgres_server):
        replies = at_once(clients, lambda n: service.post(f"/v1/threads/t{n}/messages", body))
        assert {reply.status for reply in replies} == {503}
        assert all(reply.header("Retry-After") for reply in replies)


def test_replies_of_models_during_an_outage(start_service, postgres_server):
    """Each model sends 4 MB. Their runs go on until there is no more memory, and end when the state
    has not answered for too long."""
    provider = GatedProvider(words=["x"] + ["y" * 16_384] * 256)
    try:
        service = _start(start_service, asking(provider), postgres_server.create())
        streams = [service.stream("go", config={"thread_id": f"t{n}"}) for n in range(_RUNS)]
        provider.wait_for_waiting(_RUNS)
        with _bounded_outage(service, postgres_server):
            provider.open_gate()
            at_once(_RUNS, lambda n: streams[n].is_whole())  # or cut off
    finally:
        provider.close()
