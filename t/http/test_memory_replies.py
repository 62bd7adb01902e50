"""Replies of tools' services. They may be much larger than their text when they are parsed, and much
larger than what the run keeps of them. What a worker holds stays bounded."""

import json

import pytest

from harness import environment
from harness.http_service import HttpService
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
# What is appended to the tool, and the reply of its service.
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


@pytest.mark.parametrize("era", ["stateless", "session"])
def test_replies_of_mcp_servers(make_service, start_mock_provider, start_mcp_peer, era):
    peer = start_mcp_peer(eras=[era], values=45_000)
    mock = _mock(start_mock_provider, "list")
    server = {"name": "peer", "url": peer.url, "tools": ["list"], "timeout_ms": 120_000}
    outputs = _run_all(make_service, mock, {"mcp_servers": [server]})
    assert len(outputs[0]["values"]) == 45_000
