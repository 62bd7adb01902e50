"""A thread belongs to no host: each request for it may go to another one."""

import concurrent.futures

from harness.agents import DEMO, asking
from harness.messages import text_of, user
from harness.run_stream import Reader, RunStream, wait_for_result
from harness.service import invocation
from harness.waiting import wait_until


def _messages(service, thread_id):
    reply = service.get(f"/v1/threads/{thread_id}/messages?limit=100")
    assert reply.status == 200, reply.text
    return reply.json()["data"]["messages"]


def test_a_conversation_over_all_hosts(start_hosts):
    hosts = start_hosts(DEMO, count=3)
    served = set()
    for number in range(9):
        reply = hosts.balancer.invoke(f"Remember {number}", config={"thread_id": "t"})
        assert reply.status == 200, reply.text
        served.add(reply.header("X-Served-By"))
    assert served == {"host0", "host1", "host2"}
    for host in hosts:
        messages = _messages(host, "t")
        assert [text_of(one) for one in messages if one["role"] == "user"] == [
            f"Remember {number}" for number in range(9)
        ]
        threads = host.get("/v1/threads").json()["data"]["threads"]
        assert [thread["thread_id"] for thread in threads] == ["t"]


def test_state_that_another_host_has_written(start_hosts):
    hosts = start_hosts(DEMO)
    assert hosts[0].invoke("hello", config={"thread_id": "t"}).status == 200
    reply = hosts[1].request("PUT", "/v1/threads/t/state", {"state": {"colour": "green"}})
    assert reply.status == 200, reply.text
    assert hosts[0].get("/v1/threads/t/state").json()["data"]["state"]["colour"] == "green"
    reply = hosts[0].post("/v1/threads/t/messages", {"messages": [user("and this", message_id="m")]})
    assert reply.status == 200, reply.text
    assert _messages(hosts[1], "t")[-1]["message_id"] == "m"
    assert hosts[1].request("DELETE", "/v1/threads/t", {}).status == 200
    assert hosts[0].get("/v1/threads/t").status == 404
    assert hosts[0].get("/v1/threads").json()["data"]["threads"] == []


def test_many_threads_at_once(start_hosts):
    """Writers of all hosts come between each other, and nothing that was acknowledged is lost."""
    hosts = start_hosts(DEMO, count=3)

    def talk(thread):
        for number in range(5):
            reply = hosts.balancer.invoke(f"{thread} {number}", config={"thread_id": thread})
            assert reply.status == 200, reply.text

    threads = [f"t{number}" for number in range(12)]
    with concurrent.futures.ThreadPoolExecutor(len(threads)) as pool:
        list(pool.map(talk, threads))
    for thread in threads:
        asked = [text_of(one) for one in _messages(hosts[1], thread) if one["role"] == "user"]
        assert asked == [f"{thread} {number}" for number in range(5)]


def test_one_run_at_a_time_on_all_hosts(start_hosts, provider):
    """The second request of a thread waits for the first, which runs on another host."""
    hosts = start_hosts(asking(provider))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        first = pool.submit(hosts[0].invoke, "first", config={"thread_id": "t", "run_id": "r1"})
        provider.wait_for_waiting(1)
        second = pool.submit(hosts[1].invoke, "second", config={"thread_id": "t", "run_id": "r2"})
        wait_until(lambda: _queued(hosts[0], "t") == ["r2"], "the second run waits")
        assert provider.waiting == 1
        provider.open_gate()
        assert first.result().status == second.result().status == 200
    asked = [text_of(one) for one in _messages(hosts[0], "t") if one["role"] == "user"]
    assert asked == ["first", "second"]


def _queued(service, thread_id):
    state = service.get(f"/v1/threads/{thread_id}/state").json()["data"]
    return state["state"]["execution_meta"].get("queued_runs", [])


def test_a_busy_thread_is_refused_by_the_other_host(start_hosts, provider):
    hosts = start_hosts(asking(provider) | {"busy_thread": "reject"})
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(hosts[0].invoke, "first", config={"thread_id": "t"})
        provider.wait_for_waiting(1)
        assert hosts[1].invoke("second", config={"thread_id": "t"}).status == 409
        provider.open_gate()
        assert first.result().status == 200


def test_another_host_stops_a_run(start_hosts, provider):
    hosts = start_hosts(asking(provider))
    stream = hosts[0].stream("go", config={"thread_id": "t"})
    provider.wait_for_waiting(1)
    reply = hosts[1].post("/v1/graph/stop", {"thread_id": "t", "config": {"cancel": True}})
    assert reply.status == 200, reply.text
    chunks = stream.read_all()
    assert chunks[-1]["data"]["outcome"] == "stopped", chunks[-1]
    wait_until(lambda: provider.aborted == 1, "the model's connection is closed")
    # The thread is free on every host.
    provider.open_gate()
    assert hosts[1].invoke("again", config={"thread_id": "t"}).status == 200


def test_another_host_deletes_the_thread_of_a_run(start_hosts, provider):
    hosts = start_hosts(asking(provider))
    config = {"thread_id": "t", "run_id": "r"}
    assert hosts[0].post("/v1/graph/runs", invocation("go", config=config)).status == 202
    provider.wait_for_waiting(1)
    assert hosts[1].request("DELETE", "/v1/threads/t", {}).status == 200
    wait_until(lambda: provider.aborted == 1, "the run of the deleted thread ends")
    for host in hosts:
        assert host.get("/v1/threads/t").status == 404


def test_a_repeated_request_at_another_host(start_hosts, provider):
    """An Idempotency-Key is one of all hosts: the model is asked once."""
    hosts = start_hosts(asking(provider))
    provider.open_gate()
    body = invocation("go", config={"thread_id": "t"})
    headers = [("Idempotency-Key", "k1")]
    first = hosts[0].post("/v1/graph/invoke", body, headers=headers)
    second = hosts[1].post("/v1/graph/invoke", body, headers=headers)
    assert first.status == second.status == 200, second.text
    assert first.json()["data"]["messages"] == second.json()["data"]["messages"]
    assert provider.finished == 1


def test_a_run_is_read_and_awaited_at_another_host(start_hosts, provider):
    """The other host reads the log in the database, which has whole messages."""
    hosts = start_hosts(asking(provider))
    config = {"thread_id": "t", "run_id": "r"}
    assert hosts[0].post("/v1/graph/runs", invocation("go", config=config)).status == 202
    provider.wait_for_waiting(1)
    with RunStream(hosts[1].port, "/v1/threads/t/runs/r/stream") as stream:
        assert stream.reply.status == 200
        provider.open_gate()
        assert stream.read_to_end()
        reader = Reader()
        reader.take(stream.events)
        reader.check(provider.text)
    reply = wait_for_result(hosts[1], "t")
    assert text_of(reply.json()["data"]["messages"][-1]) == provider.text
