"""Services whose memory a test watches: the status page behind a port of its own, and the memory of
the worker processes."""

import contextlib
from concurrent.futures import ThreadPoolExecutor

from . import processes
from .http1 import fetch
from .ports import free_port
from .waiting import wait_until

MIB = 1024 * 1024
# A worker that has nothing to do has fewer.
IDLE_BYTES = 24 * MIB
# Some runs go on without their request.
_RUNS_SECONDS = 120
# Memory beside what is counted: see docs/operations.md.
SHARE = 1.5


def start_watched(start_service, settings, *, workers=1, **configuration):
    """Starts a service that answers GET / and GET /metrics of `status_port` with its status."""
    port = free_port()
    status = (
        f"server {{ listen 127.0.0.1:{port}; location / {{ agent_graph_status format=json; }}"
        " location /metrics { agent_graph_status format=prometheus; } }"
    )
    service = start_service(settings, workers=workers, http=status, **configuration)
    service.status_port = port
    return service


def status_of(service):
    (status,) = fetch(service.status_port, "GET", "/").json()["services"]
    return status


def at_once(count, send):
    """Calls send(number) in `count` threads; returns the results."""
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(send, range(count)))


@contextlib.contextmanager
def peaks_within(service, bound):
    """Asserts that no worker takes more private memory during the block than the documents allow
    for limits.buffered_bytes_max `bound`, and that all of it is given back."""
    workers = [worker.pid for worker in service.workers()]
    before = {pid: processes.resident_bytes(pid) for pid in workers}
    files = {pid: processes.file_bytes(pid) for pid in workers}
    assert max(before.values()) < IDLE_BYTES
    yield
    wait_until(lambda: status_of(service)["memory_bytes"] == 0, "all runs have ended", _RUNS_SECONDS)
    for pid in workers:
        grown = processes.private_peak_bytes(pid, files[pid]) - before[pid]
        assert grown < SHARE * bound, f"{grown / MIB:.1f} MiB at a bound of {bound / MIB:.0f}"
    wait_until_returned(service)


def wait_until_returned(service):
    wait_until(lambda: status_of(service)["memory_bytes"] == 0, "no request holds memory")
    for worker in service.workers():
        wait_until(
            lambda: processes.resident_bytes(worker.pid) < IDLE_BYTES, "memory is given back"
        )
