"""MCP servers of both eras, built with the protocol's own SDK."""

import json

import pytest

from harness.mcp_server import McpPeer
from harness.tool_graph import asks, call_tools, tool_graph
from harness.waiting import wait_until

_STATELESS = "2026-07-28"
_FIXTURES = [
    *asks("greet", ("greet", {"name": "you"})),
    *asks("route", ("route", {"region": "Zürich"})),
    *asks("grow", ("grow", {})),
    *asks("poll", ("poll", {})),
    *asks("nothing"),
]


@pytest.fixture
def serve(make_service, start_mock_provider):
    """serve(url=…) starts an agent with one MCP server with these keys."""

    def start(**server):
        mock = start_mock_provider(_FIXTURES)
        model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
        graph = tool_graph(mcp_servers=[{"name": "peer"} | server])
        settings = {"agent": "tools.json:app", "models": {"default": model}}
        files = {"tools.json": json.dumps(graph)}
        return make_service(settings, files=files, workers=1).start()

    return start


def _result(service, text):
    [(output, _)] = call_tools(service, text)
    return output


def _tools(service):
    [node] = service.get("/v1/graph/tools").json()["data"]["nodes"]
    return {tool["name"] for tool in node["tools"]}


def test_the_newest_era_that_a_server_has(serve, start_mcp_peer):
    both = start_mcp_peer()
    assert _result(serve(url=both.url), "greet") == "hello you, in the era stateless"
    assert all(r["mcp-protocol-version"] == _STATELESS for r in both.requests("POST"))
    assert not any("mcp-session-id" in request for request in both.requests())

    sessions = start_mcp_peer(eras=["session"])
    assert _result(serve(url=sessions.url), "greet") == "hello you, in the era session"
    assert sessions.requests("POST")[-1]["mcp-protocol-version"] == "2025-11-25"

    newest = start_mcp_peer(eras=["stateless"])
    assert _result(serve(url=newest.url), "greet") == "hello you, in the era stateless"


@pytest.mark.parametrize(("protocol", "era"), [(_STATELESS, "stateless"), ("2025-11-25", "session")])
def test_the_era_that_a_graph_names(serve, start_mcp_peer, protocol, era):
    server = start_mcp_peer()
    service = serve(url=server.url, protocol=protocol)
    assert _result(service, "greet") == f"hello you, in the era {era}"


def test_programs_of_both_eras(serve):
    assert _result(serve(**McpPeer.program()), "greet") == "hello you, in the era stateless"
    older = serve(**McpPeer.program(), protocol="2025-11-25")
    assert _result(older, "greet") == "hello you, in the era session"


def test_an_argument_in_a_header(serve, start_mcp_peer):
    """The SDK refuses a call whose header is missing or differs from the argument."""
    server = start_mcp_peer()
    assert _result(serve(url=server.url), "route") == "routed to Zürich"
    assert server.requests("POST")[-1]["mcp-param-region"] == "=?base64?WsO8cmljaA==?="


@pytest.mark.parametrize("eras", [["stateless"], ["session"]])
def test_changes_that_a_server_tells(serve, start_mcp_peer, eras):
    server = start_mcp_peer(eras=eras)
    service = serve(url=server.url)

    def offered():
        # Only workers that are already listening are notified.
        assert _result(service, "grow") == "grown"
        return "grown" in _tools(service)

    wait_until(offered, "the new tool is offered")


def test_a_stream_that_the_server_ends_in_the_middle(serve, start_mcp_peer):
    server = start_mcp_peer(eras=["session"], events=True)
    service = serve(url=server.url)
    assert _result(service, "poll") == "polled"
    assert any("last-event-id" in request for request in server.requests("GET"))


def test_a_revision_that_is_none(make_service, start_mock_provider):
    graph = tool_graph(mcp_servers=[{"name": "peer", "url": "http://h/", "protocol": "2024-01-01"}])
    service = make_service(
        {"agent": "tools.json:app", "models": {"default": {"provider": "demo"}}},
        files={"tools.json": json.dumps(graph)},
    )
    assert "mcp_servers.0.protocol: must be auto, 2026-07-28 or 2025-11-25" in service.refusal()
