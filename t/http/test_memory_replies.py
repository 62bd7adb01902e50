"""Replies of tools' services. Parsed, they may be much larger than their text, and much larger than the
part that the run keeps. The memory of a worker stays bounded."""

import json

import pytest

from harness import environment
from harness.http_service import HttpService
from harness.live import LiveClient
from harness.mcp_client import Stateless, result_of
from harness.mcp_server import McpPeer
from harness.tool_graph import asks, tool_graph
from harness.worker_memory import MIB, at_once, peaks_within, start_watched

pytestmark = pytest.mark.skipif(
    bool(environment.SANITIZER), reason="a sanitizer's allocator, shadow and quarantine are not ours"
)

_BOUND = 64 * MIB
_RUNS = 8
_CALLS = 6
_TOOL = {
    "name": "look_up",
    "description": "Looks something up.",
    "parameters": {"type": "object", "properties": {"key": {"type": "integer"}}},
    "reply_bytes_max": 4 * MIB,
    "timeout_ms": 120_000,
}
# Text that is appended to the tool, and the reply of its service.
_REPLIES = {
    "many values are left out": ({"result": "/kept"}, {"kept": 1, "rest": [{"a": ""}] * 45_000}),
    "a long text is left out": ({"result": "/kept"}, {"kept": 1, "rest": "x" * 3_900_000}),
    "many values are kept": ({}, [{"a": ""}] * 45_000),
    "a long text is kept": ({}, "x" * 900_000),
}


def _run_all(make_service, mock, tools_node):
    """Lets several runs call the tool several times each, at once."""
    settings = {
        "agent": "tools.json:app",
        "models": {"default": {"provider": "openai", "model": "m", "base_url": mock.base_url}},
        "limits": {"buffered_bytes_max": _BOUND},
    }
    files = {"tools.json": json.dumps(tool_graph(**tools_node))}
    service = start_watched(
        lambda *arguments, **options: make_service(*arguments, files=files, **options).start(), settings
    )
    assert service.invoke("nothing").status == 200
    with peaks_within(service, _BOUND):
        replies = at_once(_RUNS, lambda _: service.invoke("go"))
        assert {reply.status for reply in replies} == {200}, {reply.text[:300] for reply in replies}
    blocks = [
        block
        for reply in replies
        for message in reply.json()["data"]["messages"]
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    assert len(blocks) == _RUNS * _CALLS
    # A reply that gets no memory for half a minute fails its call.
    failed = {block["output"] for block in blocks if block["is_error"]}
    assert all("too little free memory" in text for text in failed), failed
    return [block["output"] for block in blocks if not block["is_error"]]


def _mock(start_mock_provider, tool):
    calls = [(tool, {"key": number}) for number in range(_CALLS)]
    return start_mock_provider(asks("go", *calls) + asks("nothing"))


@pytest.fixture
def start_http_service():
    services = []

    def start(text):
        services.append(HttpService(lambda *_: (200, "application/json", text)))
        return services[-1].url

    yield start
    for service in services:
        service.close()


@pytest.mark.parametrize("shape", _REPLIES)
def test_replies_of_http_services(make_service, start_mock_provider, start_http_service, shape):
    options, value = _REPLIES[shape]
    url = start_http_service(json.dumps(value, separators=(",", ":")))
    mock = _mock(start_mock_provider, "look_up")
    tool = _TOOL | options | {"url": url + "/{key}"}
    outputs = _run_all(make_service, mock, {"tools": [tool]})
    assert outputs[0] == (value["kept"] if "result" in options else value)


@pytest.mark.parametrize("era", ["stateless", "session", "program"])
def test_replies_of_mcp_servers(make_service, start_mock_provider, start_mcp_peer, era):
    if era == "program":
        peer = McpPeer.program(values=45_000)
    else:
        peer = {"url": start_mcp_peer(eras=[era], values=45_000).url}
    mock = _mock(start_mock_provider, "list")
    server = {"name": "peer", "tools": ["list"], "timeout_ms": 120_000} | peer
    outputs = _run_all(make_service, mock, {"mcp_servers": [server]})
    assert len(outputs[0]["values"]) == 45_000


# Calls without a run: those of clients of MCP, and those of a live model.

_LONG = _REPLIES["a long text is left out"]


def _graph_of_calls(url, agent):
    tool = _TOOL | _LONG[0] | {"url": url + "/{key}"}
    nodes = [agent | {"name": "MAIN", "tool_node": "TOOLS"}, {"name": "TOOLS", "type": "tools", "tools": [tool]}]
    edges = [{"from": "START", "to": "MAIN"}]
    if agent["type"] == "agent":
        edges += [
            {"from": "MAIN", "when": [{"tool_calls_pending": True, "to": "TOOLS"}], "otherwise": "END"},
            {"from": "TOOLS", "to": "MAIN"},
        ]
    return {"graph.json": json.dumps({"app": {"nodes": nodes, "edges": edges}})}


@pytest.fixture
def start_long_tool(make_service, start_http_service):
    """start_long_tool(agent, settings) starts a service whose tool gets long replies."""

    def start(agent, settings):
        files = _graph_of_calls(start_http_service(json.dumps(_LONG[1])), agent)
        settings |= {"agent": "graph.json:app", "limits": {"buffered_bytes_max": _BOUND}}
        return start_watched(
            lambda *arguments, **options: make_service(*arguments, files=files, **options).start(), settings
        )

    return start


def test_replies_of_calls_of_mcp_clients(start_long_tool):
    settings = {"models": {"default": {"provider": "demo"}}, "facades": {"mcp": {"tools": ["*"]}}}
    service = start_long_tool({"type": "agent"}, settings)
    calls = _RUNS * _CALLS
    with peaks_within(service, _BOUND):
        results = at_once(calls, lambda number: result_of(Stateless(service).call("look_up", {"key": number})))
    texts = [result["content"][0]["text"] for result in results if not result.get("isError")]
    failed = [result["content"][0]["text"] for result in results if result.get("isError")]
    assert texts and set(texts) == {"1"}
    assert all("too little free memory" in text for text in failed), failed


def test_replies_of_calls_of_live_models(start_long_tool, live_provider):
    service = start_long_tool({"type": "live_agent"}, live_provider.settings())
    calls = [{"id": f"c{number}", "name": "look_up", "args": {"key": number}} for number in range(_RUNS * _CALLS)]
    with peaks_within(service, _BOUND):
        client = LiveClient(service.port).start(thread_id="t")
        connection = live_provider.accept()
        connection.accept_setup()
        connection.send({"toolCall": {"functionCalls": calls}})
        answers = connection.receive_until("toolResponse")["functionResponses"]
        client.close()
    outputs = [answer["response"] for answer in answers]
    assert len(outputs) == len(calls)
    failed = [output for output in outputs if "error" in output]
    assert all("too little free memory" in json.dumps(output) for output in failed), failed
    assert len(failed) < len(calls)
