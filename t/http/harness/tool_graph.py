"""Agents as declarative graphs, with tools and without, and fixtures of the mock that call the tools."""

import json

from .messages import texts, tool_results


def tool_graph(**tools_node):
    """The graph `app`: an agent MAIN and its node TOOLS with these keys. MCP servers have the longest
    time that a graph may give them, because on a busy machine they are slow."""
    if "mcp_servers" in tools_node:
        servers = [{"discovery_timeout_ms": 60_000} | server for server in tools_node["mcp_servers"]]
        tools_node = tools_node | {"mcp_servers": servers}
    return {
        "app": {
            "nodes": [
                {"name": "MAIN", "type": "agent", "tool_node": "TOOLS"},
                {"name": "TOOLS", "type": "tools"} | tools_node,
            ],
            "edges": [
                {"from": "START", "to": "MAIN"},
                {
                    "from": "MAIN",
                    "when": [{"tool_calls_pending": True, "to": "TOOLS"}],
                    "otherwise": "END",
                },
                {"from": "TOOLS", "to": "MAIN"},
            ],
        }
    }


def asking_graph(**tools_node):
    """The same, but before each call the run pauses, and the user's next message allows it."""
    graph = tool_graph(**tools_node)
    app = graph["app"]
    app["nodes"].append({"name": "ASK", "type": "reply"})
    app["edges"][1]["when"][0]["to"] = "ASK"
    app["edges"].append({"from": "ASK", "to": "TOOLS"})
    app["interrupt_before"] = ["ASK"]
    return graph


PLAIN_GRAPH = {
    "app": {
        "nodes": [{"name": "MAIN", "type": "agent"}],
        "edges": [{"from": "START", "to": "MAIN"}, {"from": "MAIN", "to": "END"}],
    }
}


def serve_with_mock(make_service, mock, graph, **settings):
    """Starts the agent `support` with this graph and one model, the mock. `service.mock` is the mock."""
    model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
    service = make_service(
        {"agent": "graph.json:app", "models": {"default": model}} | settings,
        files={"graph.json": json.dumps({"app": graph["app"] | {"name": "support"}})},
    ).start()
    service.mock = mock
    return service


def asks(text, *calls, id_prefix="call"):
    """Fixtures of the mock: it answers `text` with these calls, and their results with "done".
    Arguments that are a text are sent as they are."""
    tool_calls = [
        {"name": name, "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
         "id": f"{id_prefix}_{index}"}
        for index, (name, arguments) in enumerate(calls)
    ]
    match = {"userMessage": text}
    return [
        {"match": match | {"hasToolResult": True}, "response": {"content": "done"}},
        {"match": match, "response": {"toolCalls": tool_calls} if calls else {"content": "done"}},
    ]


def call_tools(service, text):
    """Sends `text`, which makes the mock call tools (see `asks`). Returns `(output, is_error)` of
    each result, in the order of the calls."""
    reply = service.invoke(text)
    assert reply.status == 200, reply.text
    messages = reply.json()["data"]["messages"]
    assert texts(messages)[-1] == "done"
    return [(block["output"], block["is_error"]) for block in tool_results(messages)]
