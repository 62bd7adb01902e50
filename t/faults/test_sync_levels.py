"""Guarantees of checkpointer.sync, checked in the state server's system calls: when it answers, and
when a tool starts, nothing important is only in the page cache."""

import json
import re
import shutil
import signal
import subprocess

import pytest

from harness import environment
from harness.agents import behaviour
from harness.http_service import HttpService
from harness.messages import user
from harness.waiting import wait_until

pytestmark = [
    pytest.mark.leveldb("when its files are synced"),
    pytest.mark.skipif(
        not shutil.which("strace") or environment.SANITIZER != "", reason="needs strace"
    ),
]
_CALLS = {
    "write": re.compile(r"write(?:64|v)?\(\d+<[^>]*/db/\d+\.log>"),
    "sync": re.compile(r"(?:fsync|fdatasync)\(\d+<[^>]*/db/\d+\.log>\) += 0"),
    "answer": re.compile(r"send(?:to|msg)\("),
}


class Trace:
    """Traces the state server's operations on its log and its socket."""

    def __init__(self, service, path):
        owner = service.cache_manager()
        self._path = path
        self._told = open(path.with_suffix(".told"), "w+")
        calls = "trace=write,writev,fsync,fdatasync,sendto,sendmsg"
        self._strace = subprocess.Popen(
            ["strace", "-f", "-y", "-s", "0", "-e", calls, "-o", path, "-p", str(owner.pid)],
            stderr=self._told,
        )
        wait_until(self._attached, "strace is attached")

    def _attached(self):
        assert self._strace.poll() is None, "strace ended"
        self._told.seek(0)
        return "attached" in self._told.read()

    def steps(self):
        """The operations so far, in order: "write", "sync", "answer". A sync counts when it has
        ended, the others when they begin: strace may show calls of other threads in between."""
        found = []
        syncing = set()
        for line in self._path.read_text().splitlines():
            thread = line.split()[0]
            if re.search(r"(?:fsync|fdatasync)\(\d+<[^>]*/db/\d+\.log> ?<unfinished", line):
                syncing.add(thread)
            elif thread in syncing and re.search(r"<\.\.\. (?:fsync|fdatasync) resumed>\) += 0", line):
                syncing.remove(thread)
                found.append("sync")
            else:
                found += [name for name, call in _CALLS.items() if call.search(line)]
        return found

    def unsynced(self):
        """Returns the number of writes after the last sync."""
        steps = "".join(step[0] for step in self.steps())
        return steps.rpartition("s")[2].count("w")

    def close(self):
        self._strace.send_signal(signal.SIGINT)
        self._strace.wait(environment.PATIENCE)
        self._told.close()


@pytest.fixture
def traced(start_service, directory):
    traces = []

    def start(sync, settings, **other):
        settings = settings | {"checkpointer": {"type": "leveldb", "sync": sync}, "store": "leveldb"}
        service = start_service(settings, workers=1, **other)
        assert service.get("/v1/threads").status == 200  # the worker is connected
        traces.append(Trace(service, directory / "trace"))
        return service, traces[-1]

    yield start
    for trace in traces:
        trace.close()


def _answered_too_early(steps):
    """Counts answers of the state server before the write that they acknowledge was synced. Another
    write may follow during the sync, such as the deletion of a deleted thread's rows."""
    parts = "".join(step[0] for step in steps).split("a")[:-1]
    return sum("w" in part and "s" not in part[part.index("w") :] for part in parts)


def _acknowledged_writes(service):
    """Makes every acknowledged write except runs."""
    body = {"messages": [user("hello", message_id="m1")]}
    assert service.post("/v1/threads/t/messages", body).status == 200
    assert service.request("PUT", "/v1/threads/t/state", {"state": {"context_summary": "s"}}).status == 200
    reply = service.post("/v1/store/memories", {"content": "tea"})
    assert reply.status == 200
    memory = reply.json()["data"]["memory_id"]
    assert service.request("PUT", f"/v1/store/memories/{memory}", {"content": "coffee"}).status == 200
    assert service.request("DELETE", f"/v1/store/memories/{memory}", {}).status == 200
    assert service.request("DELETE", "/v1/threads/t/messages/m1").status == 200
    assert service.request("DELETE", "/v1/threads/t/state").status == 200
    assert service.request("DELETE", "/v1/threads/t", {}).status == 200


@pytest.mark.parametrize("sync", ["run", "always"])
def test_nothing_is_acknowledged_before_it_is_on_the_disk(traced, sync):
    service, trace = traced(sync, behaviour("echo"))
    assert service.invoke("hello", config={"thread_id": "run"}).status == 200
    before = trace.steps()
    assert before.count("sync") >= 1
    assert trace.unsynced() == 0
    # The deletion at their end removes rows later, so these come last.
    _acknowledged_writes(service)
    steps = trace.steps()[len(before) :]
    assert steps.count("sync") >= 8 and steps.count("write") >= 8
    assert _answered_too_early(steps) == 0, steps


def test_without_syncs_nothing_waits_for_the_disk(traced):
    service, trace = traced("none", behaviour("echo"))
    _acknowledged_writes(service)
    assert service.invoke("hello", config={"thread_id": "run"}).status == 200
    steps = trace.steps()
    assert steps.count("write") >= 9 and "sync" not in steps


class _Tools(HttpService):
    """Records how much was not on disk when each tool was called."""

    def __init__(self):
        self.trace = None
        self.unsynced = {}
        super().__init__(self._answer)

    def _answer(self, _, path, __):
        self.unsynced[path] = self.trace.unsynced()
        return 200, "application/json", "{}"


@pytest.fixture
def tools():
    server = _Tools()
    yield server
    server.close()


def _graph(tools):
    def tool(name, **other):
        return {"name": name, "method": "POST", "url": f"{tools.url}/{name}",
                "parameters": {"type": "object", "properties": {}}} | other

    return {"app": {
        "nodes": [
            {"name": "MAIN", "type": "agent", "tool_node": "TOOLS"},
            {"name": "TOOLS", "type": "tools", "tools": [tool("order"), tool("look", idempotent=True)]},
        ],
        "edges": [
            {"from": "START", "to": "MAIN"},
            {"from": "MAIN", "when": [{"tool_calls_pending": True, "to": "TOOLS"}], "otherwise": "END"},
            {"from": "TOOLS", "to": "MAIN"},
        ],
    }}


@pytest.mark.parametrize(
    "sync, name, synced",
    [("run", "order", True), ("run", "look", False), ("always", "order", True),
     ("always", "look", True), ("none", "order", False)],
)
def test_what_a_tool_may_not_do_twice_is_on_the_disk_before_it_starts(
    traced, start_mock_provider, tools, sync, name, synced
):
    match = {"userMessage": "go"}
    call = {"name": name, "arguments": "{}", "id": "call_1"}
    mock = start_mock_provider([
        {"match": match | {"hasToolResult": True}, "response": {"content": "done"}},
        {"match": match, "response": {"toolCalls": [call]}},
    ])
    model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
    service, trace = traced(sync, {"agent": "graph.json:app", "models": {"default": model}},
                            files={"graph.json": json.dumps(_graph(tools))})
    tools.trace = trace
    reply = service.invoke("go", config={"thread_id": "t"})
    assert reply.status == 200, reply.text
    assert (tools.unsynced[f"/{name}"] == 0) == synced, trace.steps()
    if sync == "always":
        assert _answered_too_early(trace.steps()) == 0, trace.steps()
    else:
        assert (trace.unsynced() == 0) == (sync == "run")
