"""Published clients of the Model Context Protocol, unmodified, against the agent as a server: they
agree on a revision, and understand every answer."""

import concurrent.futures
import json

import pytest

from harness.clients import run_client
from harness.mcp_client import PATH
from harness.tokens import JWT_ENVIRONMENT, token
from harness.tool_graph import asks, tool_graph

_FIXTURES = [
    *asks("register", ("register", {})),
    {"match": {"userMessage": "plain"}, "response": {"content": "fine words"}},
    {"match": {"userMessage": "slow"}, "response": {"content": "never mind"}, "latency": 5000},
]
_COMMON = {
    "answer": ["fine words", True],
    "resources": [True, 2],
    "errors": {"arguments": True, "tool": -32602, "resource": -32602},
}


def _service(make_service, model, **graph_keys):
    graph = tool_graph(tools=["calculator"], **graph_keys)
    return make_service(
        {
            "agent": "graph.json:app", "models": {"default": model}, "auth": "jwt", "env": "secrets.env",
            "authorization": "ownership",
        },
        files={"graph.json": json.dumps(graph), "secrets.env": JWT_ENVIRONMENT}, workers=2,
    ).start()


@pytest.fixture
def service(make_service, start_mock_provider, start_mcp_peer):
    mock = start_mock_provider(_FIXTURES)
    peer = start_mcp_peer(eras=["stateless"])
    model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
    return _service(make_service, model, mcp_servers=[{"name": "peer", "url": peer.url}])


def _run(service, script, *scenarios, user="alice", key=None):
    url = f"http://127.0.0.1:{service.port}{PATH}"
    return run_client(script, *scenarios, base_url=url, key=key or token(user))


def _own_thread(service, user="alice"):
    """A thread with the name of its user."""
    body = {"messages": [{"role": "user", "content": "plain"}], "config": {"thread_id": user}}
    reply = service.post("/v1/graph/invoke", body, headers=[("Authorization", f"Bearer {token(user)}")])
    assert reply.status == 200, reply.text


def test_python(service):
    found = _run(service, "mcp_client.py", "handshake", "progress", "question", *_COMMON)
    assert found.pop("handshake") == {"auto": ["2026-07-28", ["app"]], "legacy": ["2025-11-25", ["app"]]}
    answers, reports = found.pop("progress")
    assert answers == ["fine words"] * 2 and reports[0] == 1 and len(reports) >= 2
    assert found.pop("question") == ["done", "done"]
    assert found == _COMMON
    _own_thread(service)
    assert _run(service, "mcp_client.py", "foreign_thread", user="bob")["foreign_thread"] == [True, 0]


def test_node_with_the_newest_revision(service):
    found = _run(service, "mcp_client.mjs", "handshake", "progress", "question", *_COMMON)
    assert found.pop("handshake") == {
        "auto": ["2026-07-28", ["app"]], "legacy": ["2025-11-25", ["app"]],
        "2026-07-28": ["2026-07-28", ["app"]],
    }
    assert found.pop("progress") == ["fine words", [1]]
    assert found.pop("question") == "done"
    assert found == _COMMON
    assert _run(service, "mcp_client.mjs", "refused", key="nonsense")["refused"] != "connected"


def test_node_with_sessions(service):
    scenarios = ("handshake", "progress", "question", "cancelled", "ended")
    found = _run(service, "mcp_sdk_client.mjs", *scenarios, *_COMMON)
    assert found.pop("handshake") == ["app", ["app"]]
    assert found.pop("progress") == ["fine words", [1]]
    assert found.pop("question") == "done"
    assert "enough" in found.pop("cancelled")
    assert found.pop("ended") == "no session"
    found["errors"]["resource"] = {-32002: -32602}.get(found["errors"]["resource"])
    assert found == _COMMON
    _own_thread(service)
    assert _run(service, "mcp_sdk_client.mjs", "foreign_thread", user="bob")["foreign_thread"] == [True, 0]


def test_through_a_bridge(service):
    found = _run(service, "mcp_bridge_client.mjs", "handshake", "answer", "question")
    assert found == {"handshake": ["app", ["app"]], "answer": _COMMON["answer"], "question": "done"}


def test_a_client_survives_a_killed_worker(make_service, gated_provider):
    """The worker dies in the middle of the answer; the client resumes the stream by itself."""
    model = {"provider": "openai", "model": "m", "base_url": gated_provider.base_url}
    service = _service(make_service, model)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        running = pool.submit(_run, service, "mcp_sdk_client.mjs", "survives")
        gated_provider.wait_for_waiting(1)
        for worker in service.workers():
            service.kill_worker(worker.pid)
        gated_provider.open_gate()
        assert running.result()["survives"] == [gated_provider.text, False]
