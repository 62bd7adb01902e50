"""HTTP tools and the tools of a third-party MCP server, through a real nginx."""

import json
import re
import threading

import pytest

from harness import http1
from harness.http_service import HttpService
from harness.ports import free_port
from harness.tool_graph import asks, call_tools, tool_graph
from harness.waiting import wait_until

_SECRET = "token-that-nobody-may-see"
_ORDER = {
    "name": "get_order",
    "description": "One order.",
    "url": "${SHOP}/orders/{order_id}?fields={fields}",
    "headers": {"Authorization": "Bearer ${SHOP_TOKEN}"},
    "parameters": {
        "type": "object",
        "properties": {
            "order_id": {"type": "string"},
            "fields": {"type": "string"},
            "limit": {"type": "integer"},
        },
    },
    "result": "/order",
}
_CANCEL = {
    "name": "cancel_order",
    "description": "Cancels an order.",
    "method": "POST",
    "url": "${SHOP}/orders/{order_id}/cancel",
    "parameters": {
        "type": "object",
        "properties": {"order_id": {"type": "string"}, "reason": {"type": "string"}},
    },
}


def _settings(mock, environment="", **other):
    model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
    return {"agent": "tools.json:app", "env": ".env", "models": {"default": model}} | other


def _offered(mock):
    """Returns the names of the tools in the newest request to the model."""
    newest = mock.chat_requests()[-1]
    return [tool["function"]["name"] for tool in newest["body"].get("tools", [])]


@pytest.fixture
def shop():
    def answer(_, path, __):
        if path.startswith("/orders/lost"):
            return 404, "text/plain", f"no such order ({_SECRET})"
        return 200, "application/json", json.dumps({"order": {"state": "sent", "path": path}})

    service = HttpService(answer)
    yield service
    service.close()


@pytest.fixture
def serve(make_service):
    """serve(mock, shop_url, tools=[…], mcp_servers=[…]) starts an agent with these tools."""

    def start(mock, shop_url="http://127.0.0.1:1", nginx=None, **tools_node):
        service = make_service(
            _settings(mock), files={"tools.json": json.dumps(tool_graph(**tools_node))}, **(nginx or {})
        )
        service.write(".env", f"SHOP={shop_url}\nSHOP_TOKEN={_SECRET}\n")
        return service.start()

    return start


# HTTP tools


def test_http_tools(serve, start_mock_provider, shop):
    mock = start_mock_provider(
        asks(
            "orders",
            ("get_order", {"order_id": "7", "fields": "a b", "limit": 2, "made_up": "x"}),
            ("get_order", {"order_id": "a/b?x=1#", "fields": "&y=2"}),
            ("get_order", {"order_id": "lost"}),
            ("get_order", {"order_id": ".."}),
            ("cancel_order", {"order_id": "7", "reason": "late"}),
        )
    )
    service = serve(mock, shop.url, tools=["calculator", _ORDER, _CANCEL])
    results = call_tools(service, "orders")
    assert _offered(mock) == ["calculator", "get_order", "cancel_order"]
    assert results[0] == ({"state": "sent", "path": "/orders/7?fields=a%20b&limit=2"}, False)
    assert results[1][0]["path"] == "/orders/a%2Fb%3Fx%3D1%23?fields=%26y%3D2"
    assert results[2] == ("the service answered HTTP 404: no such order (***)", True)
    assert results[3] == (
        'the argument "order_id" must not hold "." or ".." as a component of a path', True)
    assert results[4][1] is False

    assert len(shop.requests) == 4, "the refused call never left"
    posted = [request for request in shop.requests if request["method"] == "POST"][0]
    assert posted["path"] == "/orders/7/cancel" and posted["body"] == {"reason": "late"}
    assert re.fullmatch("[0-9a-f]{32}", posted["headers"]["idempotency-key"])
    gotten = [request for request in shop.requests if request["method"] == "GET"]
    assert all(r["headers"]["authorization"] == f"Bearer {_SECRET}" for r in gotten)
    log = (service.directory / "logs" / "error.log").read_text()
    assert _SECRET not in log + json.dumps(results)


def test_no_argument_leads_to_another_path_of_the_service(serve, start_nginx, start_mock_provider):
    """The service is a plain nginx, which decodes a path before it resolves it."""
    backend = start_nginx(
        server="location / { return 404; }"
        ' location /admin { default_type text/plain; return 200 "admin"; }'
        ' location /orders/ { default_type application/json;'
        " return 200 '{\"order\": \"$uri\"}'; }"
    )
    hostile = ["../admin", "x/../../admin", "./../admin", "..", ".", "a/..", "../", "/../../admin",
               "..;/admin", "..?x", "a/..#x", "..\\admin", "%2e%2e%2fadmin", "..%2fadmin", "%2e%2e/admin",
               "%252e%252e%252fadmin", "x%5c..%5cadmin", "../admin\u0000", "..\n/admin"]
    harmless = ["7", "a/b", "a..b", "...", "..x?y", "50%", "caf\u00e9 & co", "?x", "#x", "/admin"]
    calls = [("get_order", {"order_id": value}) for value in hostile + harmless]
    mock = start_mock_provider(asks("orders", *calls))
    url = f"http://127.0.0.1:{backend.port}"
    assert http1.fetch(backend.port, "GET", "/orders/..%2Fadmin").text == "admin"
    results = call_tools(serve(mock, url, tools=[_ORDER]), "orders")
    for value, (output, failed) in zip(hostile, results):
        assert failed and output.startswith('the argument "order_id" must not'), (value, output)
    for value, result in zip(harmless, results[len(hostile):], strict=True):
        assert result == ("/orders/" + value.lstrip("/"), False)
    log = backend.directory / "logs" / "access.log"
    wait_until(lambda: len(log.read_text().splitlines()) > len(harmless), "the calls are logged")
    assert len(log.read_text().splitlines()) == 1 + len(harmless), "the refused calls never left"


def test_arguments_cannot_make_a_url_without_end(serve, start_mock_provider, shop):
    mock = start_mock_provider(asks("long", ("get_order", {"order_id": "7" * 70_000})))
    [(output, failed)] = call_tools(serve(mock, shop.url, tools=[_ORDER]), "long")
    assert failed and "longer than 65536 bytes" in output
    assert not shop.requests


def test_agents_are_told_of_tools_with_their_tags(serve, start_mock_provider, start_mcp_server):
    mock = start_mock_provider(asks("hello"))
    everything = _server(start_mcp_server(), prefix="ev_")
    tools_node = {
        "tools": ["calculator", _ORDER | {"tags": ["shop", "read"]}, _CANCEL | {"tags": ["shop"]}],
        "mcp_servers": [everything | {"tools": ["echo"], "tags": ["read", "demo"]}],
    }
    service = serve(mock, **tools_node)
    [node] = service.get("/v1/graph/tools").json()["data"]["nodes"]
    assert {tool["name"]: tool["tags"] for tool in node["tools"]} == {
        "calculator": [],
        "get_order": ["shop", "read"],
        "cancel_order": ["shop"],
        "ev_echo": ["read", "demo"],
    }
    graph = tool_graph(**tools_node)
    for tags, offered in [
        (["shop"], ["get_order", "cancel_order"]),
        (["read"], ["get_order", "ev_echo"]),
        (["demo", "shop"], ["get_order", "cancel_order", "ev_echo"]),
        ([], ["calculator", "get_order", "cancel_order", "ev_echo"]),
        (["nobody's"], []),
    ]:
        graph["app"]["nodes"][0]["tools_tags"] = tags
        service.write("tools.json", json.dumps(graph))
        service.reload()
        assert service.invoke("hello").status == 200
        assert _offered(mock) == offered


def test_a_place_in_a_thread_has_an_idempotency_key_of_its_own(serve, start_mock_provider, shop):
    """Clients choose the ids of threads and messages: the header must contain no line breaks of
    them, and equal message ids in two threads must give different values."""
    mock = start_mock_provider(asks("x", ("cancel_order", {"order_id": "7"})))
    service = serve(mock, shop.url, tools=[_CANCEL])
    service.write(
        "tools.json",
        json.dumps(
            {
                "app": {
                    "nodes": [
                        {"name": "TOOLS", "type": "tools", "tools": [_CANCEL]},
                        {"name": "BYE", "type": "reply", "text": "bye"},
                    ],
                    "edges": [
                        {"from": "START", "to": "TOOLS"},
                        {"from": "TOOLS", "to": "BYE"},
                    ],
                }
            }
        ),
    )
    service.reload()
    calls = {
        "message_id": "m\r\nX-Evil: 1",
        "role": "assistant",
        "content": [
            {"type": "tool_call", "id": f"c{i}", "name": "cancel_order", "args": {"order_id": "7"}}
            for i in range(2)
        ],
    }
    for thread in ("one", "two\r\nX-Evil: 2"):
        body = {"messages": [calls], "config": {"thread_id": thread}}
        reply = service.post("/v1/graph/invoke", body)
        assert reply.status == 200, reply.text
    keys = [request["headers"]["idempotency-key"] for request in shop.requests]
    assert len(keys) == 4 and len(set(keys)) == 4
    assert all(re.fullmatch("[0-9a-f]{32}", key) for key in keys)
    assert not any("x-evil" in request["headers"] for request in shop.requests)


def test_many_calls_of_one_host_overlap(serve, start_mock_provider):
    """The service answers only after fifty requests have arrived."""
    everybody = threading.Barrier(50)

    def answer(_, path, __):
        everybody.wait(120)
        return 200, "application/json", json.dumps({"order": path})

    service = HttpService(answer)
    try:
        calls = [("get_order", {"order_id": str(i)}) for i in range(50)]
        results = call_tools(
            serve(start_mock_provider(asks("all", *calls)), service.url, tools=[_ORDER]), "all"
        )
        assert results == [(f"/orders/{i}", False) for i in range(50)]
    finally:
        service.close()


def test_a_service_that_is_down(serve, start_mock_provider):
    mock = start_mock_provider(asks("orders", ("get_order", {"order_id": "7"})))
    results = call_tools(serve(mock, f"http://127.0.0.1:{free_port()}", tools=[_ORDER]), "orders")
    assert results == [("the service failed: the server could not be connected", True)]


def test_a_variable_that_is_not_set_is_found_by_the_check(make_service, start_mock_provider):
    mock = start_mock_provider([])
    service = make_service(_settings(mock), files={"tools.json": json.dumps(tool_graph(tools=[_ORDER]))})
    service.write(".env", "SHOP=http://127.0.0.1:1\n")
    printed = service.refusal()
    assert (
        'tools.json: app: node "TOOLS", tool "get_order": headers.Authorization: '
        "environment variable SHOP_TOKEN is not set"
    ) in printed


# MCP


def _server(server, **other):
    """It may need longer to answer than the few seconds that a run waits for its tools."""
    return {"name": "everything", "url": server.url, "discovery_timeout_ms": 60000} | other


def test_mcp_tools(serve, start_mock_provider, start_mcp_server):
    server = start_mcp_server()
    mock = start_mock_provider(
        asks("ask", ("ev_echo", {"message": "hi"}), ("ev_get-sum", {"a": 2, "b": 3}))
        + asks("wrong", ("ev_get-sum", {"a": "x"}))
        + asks("slowly", ("ev_trigger-long-running-operation", {"duration": 1, "steps": 2}))
    )
    service = serve(mock, mcp_servers=[_server(server, prefix="ev_")])
    assert call_tools(service, "ask") == [("Echo: hi", False), ("The sum of 2 and 3 is 5.", False)]
    offered = _offered(mock)
    assert {"ev_echo", "ev_get-sum"} <= set(offered) and len(set(offered)) == len(offered)
    [(output, failed)] = call_tools(service, "wrong")
    assert failed, output
    [(output, failed)] = call_tools(service, "slowly")
    assert not failed and "completed" in output


def test_some_mcp_tools_and_several_servers(serve, start_mock_provider, start_mcp_server):
    """The tools of a server that is down are missing; there is no other effect."""
    server = start_mcp_server()
    mock = start_mock_provider(asks("ask", ("echo", {"message": "hi"})))
    down = {"name": "down", "url": f"http://127.0.0.1:{free_port()}/mcp"}
    service = serve(
        mock,
        tools=["calculator"],
        mcp_servers=[down, _server(server, tools=["echo"])],
    )
    assert call_tools(service, "ask") == [("Echo: hi", False)]
    assert _offered(mock) == ["calculator", "echo"]
    service.wait_for_log("MCP server down: contributes no tools")


def test_an_mcp_server_that_goes_and_returns(serve, start_mock_provider, start_mcp_server):
    server = start_mcp_server()
    mock = start_mock_provider(asks("ask", ("echo", {"message": "hi"})) + asks("nothing"))
    service = serve(
        mock,
        nginx={"workers": 1},
        tools=["calculator"],
        mcp_servers=[_server(server, tools=["echo"])],
    )
    assert call_tools(service, "ask") == [("Echo: hi", False)]
    server.close()

    def offered():
        assert service.invoke("nothing").status == 200
        return _offered(mock)

    wait_until(lambda: offered() == ["calculator"], "the tools of the server are gone")
    start_mcp_server(server.port)
    wait_until(lambda: offered() == ["calculator", "echo"], "the tools are back")
    assert call_tools(service, "ask") == [("Echo: hi", False)]


def test_an_mcp_session_that_was_lost(serve, start_mock_provider, start_mcp_server):
    """The server restarts between two calls without a notification."""
    server = start_mcp_server()
    mock = start_mock_provider(asks("ask", ("echo", {"message": "hi"})))
    service = serve(
        mock,
        nginx={"workers": 1},
        mcp_servers=[_server(server, tools=["echo"])],
    )
    assert call_tools(service, "ask") == [("Echo: hi", False)]
    server.close()
    start_mcp_server(server.port)
    wait_until(lambda: call_tools(service, "ask") == [("Echo: hi", False)], "calls work again")


def test_a_worker_leaves_in_time(serve, start_mock_provider, start_mcp_server):
    """The listening connection does not delay a worker's exit, and the session is ended."""
    server = start_mcp_server()
    mock = start_mock_provider(asks("ask", ("echo", {"message": "hi"})))
    service = serve(
        mock,
        nginx={"workers": 1},
        mcp_servers=[_server(server)],
    )

    def session_ends():
        listening = server.log.count("Establishing new SSE stream")
        if not service.processes():
            service.start()
        assert call_tools(service, "ask") == [("Echo: hi", False)]
        wait_until(lambda: server.log.count("Establishing new SSE stream") > listening, "the worker listens")
        service.quit()
        service.wait_until_gone()
        assert http1.fetch(server.port, "GET", "/mcp").status == 400  # so it has read what came before
        return "session termination" in server.log

    # A worker that leaves ends its session if it can within a second.
    wait_until(session_ends, "the session has ended")
