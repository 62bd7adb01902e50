"""A worker is stopped (SIGSTOP) in the middle of a run. Its lease expires at the run's deadline,
and all that it writes after it continues (SIGCONT) is fenced off."""

import json
import os
import threading

import pytest

from harness import processes
from harness.http1 import ConnectionClosed
from harness.messages import texts
from harness.stream import is_done
from harness.waiting import wait_until

_THREAD = {"thread_id": "t"}
_GRAPH = {
    "app": {
        "nodes": [
            {"name": "MAIN", "type": "agent"},
            {"name": "NOTE", "type": "reply", "text": "noted", "set": {"by": "run"}},
        ],
        "edges": [{"from": "START", "to": "MAIN"}, {"from": "MAIN", "to": "NOTE"}],
        "fields": {"by": {}},
    }
}
_RUN_TIMEOUT = 13  # longer than it takes to detect an unresponsive process


@pytest.fixture
def service(start_service, gated_provider):
    model = {"provider": "openai", "model": "m", "base_url": gated_provider.base_url, "api_key": "k"}
    service = start_service(
        {"agent": "graph.json:app", "models": {"default": model}},
        files={"graph.json": json.dumps(_GRAPH)},
        location=f"agent_graph_run_timeout {_RUN_TIMEOUT}s;",
        server="location /unhurried/ { agent_graph test; }",
    )
    service.error_log.allow(r"\[crit\].* does not answer")
    return service


def _inode_of_peer(local_port, remote_port):
    """Returns the inode of the server's socket of a local connection."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        for line in list(table)[1:]:
            fields = line.split()
            ports = [int(fields[i].split(":")[1], 16) for i in (1, 2)]
            if ports == [remote_port, local_port]:
                return fields[9]
    return None


def _holds(pid, inode):
    folder = f"/proc/{pid}/fd"
    for fd in os.listdir(folder):
        try:
            if os.readlink(f"{folder}/{fd}") == f"socket:[{inode}]":
                return True
        except OSError:
            continue
    return False


def _worker_of(service, connection):
    inode = _inode_of_peer(connection.socket.getsockname()[1], service.port)
    (worker,) = [process.pid for process in service.workers() if _holds(process.pid, inode)]
    return worker


def _state(service):
    return service.get("/v1/threads/t/state").json()["data"]["state"]


def _messages(service):
    return texts(service.get("/v1/threads/t/messages").json()["data"]["messages"])


class _Waiting(threading.Thread):
    """A run that waits for the busy thread."""

    def __init__(self, service, **config):
        super().__init__()
        self._service = service
        self._config = config
        self.reply = None
        self.start()

    def run(self):
        body = {
            "messages": [{"role": "user", "content": "second"}],
            "config": _THREAD | {"run_id": "second"} | self._config,
        }
        self.reply = self._service.post("/unhurried/v1/graph/invoke", body)


@pytest.mark.parametrize("route", ["invoke", "stream"])
def test_its_thread_is_free_after_the_deadline_and_it_is_fenced(service, gated_provider, route):
    connection = service.connect()
    body = {"messages": [{"role": "user", "content": "first"}], "config": _THREAD | {"run_id": "first"}}
    connection.request("POST", f"/v1/graph/{route}", [], body)
    gated_provider.wait_for_waiting(1)
    worker = _worker_of(service, connection)
    processes.freeze(worker)
    try:
        gated_provider.open_gate()
        waiting = _Waiting(service)
        wait_until(
            lambda: _state(service)["execution_meta"]["queued_runs"] == ["second"], "the run is queued"
        )
        # A stop request is answered and recorded although the worker cannot execute it.
        stopped = service.post("/v1/graph/stop", {"thread_id": "t", "run_id": "first"})
        assert stopped.status == 200 and stopped.json()["data"]["running"] is True
        assert _state(service)["execution_meta"]["is_stopped_requested"] is True
        assert _messages(service) == ["first"]

        waiting.join()
        assert waiting.reply.status == 200, waiting.reply.text
        (line,) = service.wait_for_log(r"\[crit\]")
        assert f"process {worker} does not answer" in line
        expected = ["first", "second", gated_provider.text, "noted"]
        assert _messages(service) == expected
    finally:
        processes.thaw(worker)

    # Its client receives an error, and its result is not stored.
    reply = connection.read_reply()
    if route == "invoke":
        assert reply.status >= 400, reply.text
    else:
        chunks = reply.lines()
        assert [c["event"] for c in chunks if c["event"] in ("error", "updates")] == ["error", "updates"]
        whole = [c["message"] for c in chunks if c["event"] == "message" and not c["message"]["delta"]]
        assert whole == [] and is_done(chunks[-1])
    assert service.invoke("third", config=_THREAD).status == 200
    assert _messages(service) == [*expected, "third", gated_provider.text, "noted"]
    assert texts(_state(service)["context"]) == _messages(service)


def test_its_death_frees_the_thread_at_once(service, gated_provider):
    """The lease is released at once, long before the run's deadline."""
    connection = service.connect()
    body = {"messages": [{"role": "user", "content": "first"}], "config": _THREAD}
    connection.request("POST", "/unhurried/v1/graph/invoke", [], body)
    gated_provider.wait_for_waiting(1)
    worker = _worker_of(service, connection)
    processes.freeze(worker)
    gated_provider.open_gate()
    waiting = _Waiting(service)
    wait_until(
        lambda: _state(service)["execution_meta"]["queued_runs"] == ["second"], "the run is queued"
    )
    service.error_log.allow(rf"worker process {worker} exited on signal 9")
    service.kill(worker)
    waiting.join()
    assert waiting.reply.status == 200, waiting.reply.text
    with pytest.raises(ConnectionClosed):
        connection.read_reply()


def test_a_worker_that_goes_on_in_time_has_lost_nothing(service, gated_provider):
    stream = service.stream("first", config=_THREAD)
    stream.read_until_event("message")
    gated_provider.wait_for_waiting(1)
    worker = _worker_of(service, stream.connection)
    processes.freeze(worker)
    try:
        reply = service.post(
            "/v1/graph/stop", {"thread_id": "t", "run_id": "another"}
        )
        assert reply.status == 200
    finally:
        processes.thaw(worker)
    gated_provider.open_gate()
    assert is_done(stream.read_all()[-1])
    assert _messages(service) == ["first", gated_provider.text, "noted"]
    assert _state(service)["by"] == "run"
