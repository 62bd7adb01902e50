"""kill -9 of the worker while many runs stream: every reader that comes back with its cursor, to any
worker, ends with the whole answer, each entry once."""

import concurrent.futures

import pytest

from harness.agents import asking
from harness.gated_provider import GatedProvider
from harness.http1 import ConnectionClosed
from harness.run_stream import Reader, RunStream, wait_for_result
from harness.service import invocation
from harness.waiting import wait_until

_RUNS = 24
_WORDS = tuple(f"word{number} " for number in range(40))


@pytest.fixture
def provider():
    gated = GatedProvider(words=_WORDS, before_gate=10)
    yield gated
    gated.close()


@pytest.fixture
def serve(make_service, provider):
    def start(**other):
        return make_service(asking(provider), **other).start()

    return start


def _begin(service, number):
    """Begins a run and reads its first pieces."""
    config = {"thread_id": f"t{number}", "run_id": "r", "on_disconnect": "continue"}
    stream = RunStream(
        service.port,
        "/v1/graph/stream?framing=sse",
        method="POST",
        body=invocation("go", config=config),
    )
    stream.read()
    return stream


def _finish(service, number, stream):
    """Reads on after the kill, with a new connection whenever the old one is cut."""
    reader = Reader()
    path = f"/v1/threads/t{number}/runs/r/stream"

    def read_rest(source):
        whole = source.read_to_end()
        reader.take(source.events)
        source.close()
        return whole

    done = read_rest(stream)

    def again():
        try:
            source = RunStream(service.port, path, after=reader.cursors[-1] if reader.cursors else None)
        except (ConnectionClosed, ConnectionError):
            return False
        return source.reply.status == 204 or read_rest(source)

    if not done:
        wait_until(again, f"the reader of run {number} has everything", timeout=60)
    return reader


@pytest.mark.parametrize("workers", [1, 3])
def test_readers_get_everything_when_the_worker_is_killed(serve, provider, workers):
    service = serve(workers=workers)
    with concurrent.futures.ThreadPoolExecutor(_RUNS) as pool:
        streams = list(pool.map(lambda number: _begin(service, number), range(_RUNS)))
        provider.wait_for_waiting(_RUNS)
        service.kill_workers()
        provider.open_gate()
        readers = list(pool.map(lambda number: _finish(service, number, streams[number]), range(_RUNS)))
    for reader in readers:
        reader.check(provider.text)
    for number in range(_RUNS):
        record = service.get(f"/v1/threads/t{number}/runs/r").json()["data"]
        assert record["status"] == "done", record
        assert record["attempt"] > 1, record


def test_direct_runs_end_with_their_worker(serve, provider):
    service = serve(workers=1)
    with service.connect() as connection:
        config = {"thread_id": "t", "run_id": "r"}
        connection.request("POST", "/v1/graph/stream", [], invocation("go", config=config))
        provider.wait_for_waiting(1)
        service.kill_worker()
    record = wait_until(
        lambda: (run := service.get("/v1/threads/t/runs/r").json()["data"])["status"] == "error" and run,
        "the run is lost",
    )
    assert record["reason"] == "worker_lost"


def test_a_background_run_finishes_without_a_client(serve, provider):
    service = serve(workers=2)
    config = {"thread_id": "t", "run_id": "r"}
    assert service.post("/v1/graph/runs", invocation("go", config=config)).status == 202
    provider.wait_for_waiting(1)
    service.kill_workers()
    provider.open_gate()

    reply = wait_for_result(service, "t")
    assert reply.status == 200, reply.text
    assert reply.json()["data"]["messages"][-1]["content"][0]["text"] == provider.text
