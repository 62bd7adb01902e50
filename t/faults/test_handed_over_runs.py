"""Runs in the background outlive more than one worker: a reload, the state server, all of nginx."""

import pytest

from harness.agents import asking
from harness.gated_provider import GatedProvider
from harness.run_stream import Reader, RunStream, wait_for_result
from harness.service import invocation
from harness.waiting import wait_until

_RUNS = 12
_WORDS = tuple(f"word{number} " for number in range(20))


@pytest.fixture
def provider():
    gated = GatedProvider(words=_WORDS, before_gate=5)
    yield gated
    gated.close()


@pytest.fixture
def serve(make_service, provider):
    def start(**other):
        service = make_service(asking(provider), workers=2, **other).start()
        for number in range(_RUNS):
            config = {"thread_id": f"t{number}", "run_id": "r"}
            reply = service.post("/v1/graph/runs", invocation("go", config=config))
            assert reply.status == 202, reply.text
        provider.wait_for_waiting(_RUNS)
        return service

    return start


def _wait_for_next_attempts(provider):
    """Other workers ask the model again."""
    wait_until(lambda: provider.aborted >= _RUNS, "the first attempts are over")
    provider.wait_for_waiting(_RUNS)


def _check_results(service, provider):
    """Each run has its whole answer, once."""
    for number in range(_RUNS):
        reply = wait_for_result(service, f"t{number}")
        assert reply.status == 200, reply.text
        messages = reply.json()["data"]["messages"]
        assert [message["role"] for message in messages] == ["user", "assistant"]
        assert messages[-1]["content"][0]["text"] == provider.text


def test_a_reload_hands_runs_over(serve, provider):
    """Model calls are cut at worker_shutdown_timeout."""
    service = serve(shutdown_timeout="1s")
    old = {worker.pid for worker in service.workers()}
    service.reload()
    _wait_for_next_attempts(provider)
    provider.open_gate()
    _check_results(service, provider)
    assert not old & {worker.pid for worker in service.workers()}


def test_runs_that_end_soon_stay_in_the_worker_that_leaves(serve, provider):
    service = serve()
    old = {worker.pid for worker in service.workers()}
    service.reload()
    assert old & {process.pid for process in service.processes()}, "old workers wait for their runs"
    provider.open_gate()
    _check_results(service, provider)
    for number in range(_RUNS):
        record = service.get(f"/v1/threads/t{number}/runs/r").json()["data"]
        assert record["attempt"] == 1, record
    assert provider.finished == _RUNS
    wait_until(
        lambda: not old & {process.pid for process in service.processes()}, "the old workers exit"
    )


def test_readers_of_a_worker_that_leaves_read_on_in_another_one(serve, provider):
    service = serve()
    streams = [RunStream(service.port, f"/v1/threads/t{n}/runs/r/stream") for n in range(_RUNS)]
    for stream in streams:
        stream.read()
    service.reload()
    provider.open_gate()
    for number, stream in enumerate(streams):
        reader = Reader()
        stream.read_to_end()
        reader.take(stream.events)
        while not reader.done:
            path = f"/v1/threads/t{number}/runs/r/stream"
            with RunStream(service.port, path, after=reader.position) as rest:
                rest.read_to_end()
                reader.take(rest.events)
        reader.check(provider.text)


def test_a_quit_and_a_start_continue_runs(serve, provider):
    service = serve(shutdown_timeout="1s")
    service.quit()
    service.wait_until_gone()
    service.start()
    _wait_for_next_attempts(provider)
    provider.open_gate()
    _check_results(service, provider)


def test_runs_survive_the_death_of_all_of_nginx(serve, provider):
    service = serve()
    service.error_log.allow(r"signal 9")
    service.kill_all()
    service.start()
    _wait_for_next_attempts(provider)
    provider.open_gate()
    _check_results(service, provider)


def test_runs_survive_the_state_server(serve, provider):
    service = serve()
    service.error_log.allow(r"signal 9")
    before = service.state_terms()
    service.kill(service.cache_manager().pid)
    service.wait_for_state(before)
    provider.open_gate()
    _check_results(service, provider)
    # The runs continued in the same worker.
    for number in range(_RUNS):
        record = service.get(f"/v1/threads/t{number}/runs/r").json()["data"]
        assert record["attempt"] == 1, record
