"""kill -9 of a whole host: its runs go on elsewhere, and readers that come back through haproxy with
their cursor have everything once."""

import concurrent.futures

import pytest

from harness.agents import asking
from harness.http1 import ConnectionClosed
from harness.run_stream import Reader, RunStream, wait_for_result
from harness.service import invocation
from harness.waiting import wait_until

_CLIENTS = 32  # that begin, and then read, at once


def _begin(port, number):
    """Begins a run that does not depend on its client, and reads its first pieces."""
    config = {"thread_id": f"t{number}", "run_id": "r", "on_disconnect": "continue"}
    stream = RunStream(
        port, "/v1/graph/stream?framing=sse", method="POST", body=invocation("go", config=config)
    )
    stream.read()
    return stream


def _read_on(balancer, number, stream):
    reader = Reader()

    def take(source):
        whole = source.read_to_end()
        reader.take(source.events)
        source.close()
        return whole

    def again():
        try:
            path = f"/v1/threads/t{number}/runs/r/stream"
            source = RunStream(balancer.port, path, after=reader.position)
        except (ConnectionClosed, ConnectionError):
            return False
        if source.reply.status in (502, 503):  # haproxy has not noticed yet
            source.close()
            return False
        return source.reply.status == 204 or take(source)

    if not take(stream):
        wait_until(again, f"the reader of run {number} has everything", timeout=60)
    return reader


@pytest.mark.parametrize("count, runs", [(2, 24), (3, 300)])
def test_runs_of_a_killed_host_finish_elsewhere(start_hosts, provider, count, runs):
    hosts = start_hosts(asking(provider), count=count)
    with concurrent.futures.ThreadPoolExecutor(_CLIENTS) as pool:
        streams = list(pool.map(lambda number: _begin(hosts.balancer.port, number), range(runs)))
        provider.wait_for_waiting(runs)
        hosts.kill(0)
        provider.open_gate()
        readers = list(
            pool.map(lambda number: _read_on(hosts.balancer, number, streams[number]), range(runs))
        )
    for reader in readers:
        reader.check(provider.text)
    attempts = set()
    for number in range(runs):
        record = hosts[1].get(f"/v1/threads/t{number}/runs/r").json()["data"]
        assert record["status"] == "done", record
        attempts.add(record["attempt"])
    # Runs of the killed host have further attempts: a worker that died first left its runs to another
    # one of the same host for a moment.
    assert min(attempts) == 1 and max(attempts) > 1, attempts


def test_a_run_in_the_background_outlives_two_hosts(start_hosts, make_provider):
    providers = [make_provider() for _ in range(3)]  # each host asks its own
    hosts = start_hosts(lambda number: asking(providers[number]), count=3)
    config = {"thread_id": "t", "run_id": "r"}
    assert hosts[0].post("/v1/graph/runs", invocation("go", config=config)).status == 202
    alive = [0, 1, 2]
    for _ in range(2):
        here = wait_until(
            lambda: [number for number in alive if providers[number].waiting], "a host asks the model"
        )
        hosts.kill(here[0])
        alive.remove(here[0])
    (last,) = alive
    providers[last].wait_for_waiting(1)
    providers[last].open_gate()
    reply = wait_for_result(hosts[last], "t")
    assert reply.status == 200, reply.text
    assert reply.json()["data"]["messages"][-1]["content"][0]["text"] == providers[last].text


def test_a_direct_run_of_a_killed_host_is_lost_and_its_thread_is_free(start_hosts, provider):
    hosts = start_hosts(asking(provider))
    with hosts[0].connect() as connection:
        config = {"thread_id": "t", "run_id": "r"}
        connection.request("POST", "/v1/graph/stream", [], invocation("go", config=config))
        provider.wait_for_waiting(1)
        hosts.kill(0)
    record = wait_until(
        lambda: (run := hosts[1].get("/v1/threads/t/runs/r").json()["data"])["status"] == "error"
        and run,
        "the run is lost",
    )
    assert record["reason"] == "worker_lost"
    provider.open_gate()
    assert hosts[1].invoke("again", config={"thread_id": "t"}).status == 200


def test_a_host_that_comes_back_serves_what_others_wrote(start_hosts, provider):
    provider.open_gate()
    hosts = start_hosts(asking(provider))
    assert hosts[0].invoke("one", config={"thread_id": "t"}).status == 200
    hosts.kill(0)
    assert hosts[1].invoke("two", config={"thread_id": "t"}).status == 200
    hosts[0].start()
    hosts.balancer.wait_for_hosts([0, 1])
    messages = hosts[0].get("/v1/threads/t/messages").json()["data"]["messages"]
    assert [one["content"][0]["text"] for one in messages if one["role"] == "user"] == ["one", "two"]
    assert hosts[0].invoke("three", config={"thread_id": "t"}).status == 200
