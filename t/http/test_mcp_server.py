"""The agent as a server of the Model Context Protocol: the messages of both eras."""

import base64
import json
import secrets

import pytest

from harness import http1
from harness.admin import state_of
from harness.agents import DEMO, behaviour
from harness.mcp_client import (
    FORMS,
    PATH,
    SESSION,
    STATELESS,
    Client,
    Session,
    Stateless,
    error_of,
    messages_of,
    request,
    result_of,
)
from harness.uploads import uploaded
from harness.waiting import wait_until

_INFO = "io.modelcontextprotocol/serverInfo"


@pytest.fixture
def service(start_service):
    return start_service(DEMO, workers=2)


@pytest.fixture(params=["stateless", "session"])
def client(request, service):
    return Stateless(service) if request.param == "stateless" else Session(service)


# Answers


def test_the_agent_is_a_tool(client):
    [tool] = result_of(client.ask("tools/list"))["tools"]
    assert tool["name"] == "support" and "support" in tool["description"]
    assert tool["inputSchema"]["type"] == "object" and tool["inputSchema"]["required"] == ["message"]
    first = client.answer("hello", "support")
    assert first["answer"] == "You said: hello" and first["status"] == "done"
    second = client.answer("and again", "support", thread_id=first["thread_id"])
    assert second["thread_id"] == first["thread_id"] and second["run_id"] != first["run_id"]
    result = result_of(client.call("support", {"message": "hello"}))
    assert result["content"][0] == {"type": "text", "text": "You said: hello"}
    assert json.loads(result["content"][1]["text"])["thread_id"] == result["structuredContent"]["thread_id"]


def test_threads_are_resources(service, client):
    thread_id = client.answer("hello", "support")["thread_id"]
    [listed] = result_of(client.ask("resources/list"))["resources"]
    assert listed["uri"] == f"agent-graph://threads/{thread_id}" and listed["name"] == thread_id
    [content] = result_of(client.ask("resources/read", {"uri": listed["uri"]}))["contents"]
    assert content["uri"] == listed["uri"] and content["mimeType"] == "application/json"
    conversation = json.loads(content["text"])
    assert conversation["thread_id"] == thread_id
    assert [m["role"] for m in conversation["messages"]] == ["user", "assistant"]
    [template] = result_of(client.ask("resources/templates/list"))["resourceTemplates"]
    assert template["uriTemplate"] == "agent-graph://threads/{thread_id}{?cursor}"


def test_a_long_list_has_pages(service, client):
    for number in range(101):
        assert service.request("PUT", f"/v1/threads/t{number}/state", {"state": {}}).status == 200
    first = result_of(client.ask("resources/list"))
    second = result_of(client.ask("resources/list", {"cursor": first["nextCursor"]}))
    assert len(first["resources"]) == 100 and len(second["resources"]) == 1
    assert "nextCursor" not in second
    assert error_of(client.ask("resources/list", {"cursor": "x"}))["code"] == -32602


def test_results_have_the_members_of_their_era(client):
    client.answer("hello", "support")
    uri = result_of(client.ask("resources/list"))["resources"][0]["uri"]
    stateless = isinstance(client, Stateless)
    listings = [
        result_of(client.ask(method, params))
        for method, params in (
            ("tools/list", None), ("resources/list", None), ("resources/templates/list", None),
            ("resources/read", {"uri": uri}),
        )
    ]
    for result in [*listings, result_of(client.call("support", {"message": "x"}))]:
        assert (result.get("resultType") == "complete") is stateless
        assert (_INFO in result.get("_meta", {})) is stateless
        assert None not in result.values()
    for listing in listings:
        assert (listing.get("cacheScope") == "private" and listing.get("ttlMs") == 0) is stateless


def test_a_session_begins_with_initialize(service):
    for asked, agreed in ((SESSION, SESSION), ("2025-06-18", "2025-06-18"), ("2025-03-26", "2025-03-26"),
                          ("2024-11-05", "2024-11-05"), ("1999-01-01", SESSION), (STATELESS, SESSION)):
        begun = Session(service, revision=asked).begun if asked == agreed else Client(service).post(
            request("initialize", {"protocolVersion": asked, "capabilities": {}}))
        result = result_of(begun)
        assert result["protocolVersion"] == agreed
        assert result["serverInfo"]["name"] == "support"
        assert result["capabilities"] == {"tools": {}, "resources": {}, "prompts": {}}
        assert "resultType" not in result
        assert begun.header("Mcp-Session-Id").isascii()
    assert error_of(Client(service).post(request("initialize")))["code"] == -32602


def test_discover_says_what_the_server_is(service):
    result = result_of(Stateless(service).ask("server/discover"))
    assert result["supportedVersions"][0] == STATELESS and SESSION in result["supportedVersions"]
    assert result["capabilities"] == {"tools": {}, "resources": {}, "prompts": {}}
    assert result["ttlMs"] == 0 and result["cacheScope"] == "private"
    assert result["_meta"][_INFO]["name"] == "support"


def test_ids_and_tokens_keep_their_type(client):
    for number, id in enumerate((7, "7", 0, "")):
        messages = messages_of(
            client.ask("tools/call", {"name": "support", "arguments": {"message": "hello"}}, id=id,
                       meta={"progressToken": id})
        )
        assert messages[-1]["id"] == id and type(messages[-1]["id"]) is type(id), number
        reports = [m["params"] for m in messages[:-1] if m["method"] == "notifications/progress"]
        assert reports and all(r["progressToken"] == id and type(r["progressToken"]) is type(id) for r in reports)
        assert [r["progress"] for r in reports] == sorted({r["progress"] for r in reports})
    without = messages_of(client.call("support", {"message": "What time is it in Tokyo?"}))
    assert len(without) == 1


def test_progress_names_the_tools_of_the_agent(start_service):
    dialog = {"provider": "demo", "parameters": {"dialog": True}}
    service = start_service(DEMO | {"models": {"default": dialog}})
    for client in (Stateless(service), Session(service)):
        _check_progress(client)


def _check_progress(client):
    messages = messages_of(
        client.ask("tools/call", {"name": "support", "arguments": {"message": "What time is it in Tokyo?"}},
                   meta={"progressToken": "p"})
    )
    assert "calls current_time" in [m["params"]["message"] for m in messages[:-1]]


def test_a_client_that_takes_no_events_gets_an_object(service):
    client = Stateless(service)
    body = client.body("tools/call", {"name": "support", "arguments": {"message": "hello"}})
    headers = [h for h in client.headers("tools/call", {"name": "support"}) if h[0] != "Accept"]
    reply = client.post(body, [*headers, ("Accept", "application/json")])
    assert reply.header("Content-Type") == "application/json"
    assert result_of(reply)["structuredContent"]["answer"] == "You said: hello"


def test_files_of_an_answer_are_content(start_service):
    service = start_service(behaviour("showing_files"))
    file_id = uploaded(service, b"hello")["file_id"]
    for client in (Stateless(service), Session(service)):
        link, own, _ = result_of(client.call("showing_files", {"message": file_id}))["content"]
        assert link["type"] == "resource_link" and link["name"] == "file"
        assert link["uri"] == f"http://localhost/v1/files/{file_id}"  # as the request says
        assert service.get(link["uri"].removeprefix("http://localhost")).body == b"hello"
        assert own["resource"]["blob"] == "aGk=" and own["resource"]["mimeType"] == "text/plain"
    old = Session(service, revision="2025-03-26")
    text, _, _ = result_of(old.call("showing_files", {"message": file_id}))["content"]
    assert text == {"type": "text", "text": f"file: {link['uri']}"}


# Refusals


def test_arguments_that_do_not_fit_are_failed_results(client):
    for arguments, problem in (
        ({}, "message: must be a text"), ({"message": " "}, "message: must not be blank"),
        ({"message": 1}, "message: must be a text"), ({"message": "x", "thread_id": {}}, "thread_id:"),
        ({"message": "x", "thread_id": "a/../b"}, "thread_id:"),
    ):
        result = result_of(client.call("support", arguments))
        assert result["isError"] is True and result["content"][0]["text"].startswith(problem), result
    for params in ({}, {"name": 1}, {"name": "other"}, {"name": "support", "arguments": []}):
        reply = client.ask("tools/call", params)
        assert error_of(reply)["code"] == -32602


def test_a_failed_run_is_a_failed_result(start_service):
    settings = DEMO | {"models": {"default": {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1"}}}
    service = start_service(settings)
    for client in (Stateless(service), Session(service)):
        result = result_of(client.call("support", {"message": "hello"}))
        assert result["isError"] is True and result["content"][0]["text"]


@pytest.mark.leveldb("a table of its database")
def test_an_error_of_the_service_has_the_id_of_the_request(start_service):
    service = start_service(DEMO)
    text = secrets.token_hex(4000)
    thread_id = Stateless(service).answer(text, "support")["thread_id"]
    service.stop()
    service.wait_until_gone()
    service.start()  # its log becomes a table
    service.stop()
    service.wait_until_gone()
    [table] = (state_of(service) / "db").glob("*.ldb")
    damaged = table.read_bytes().replace(text[-100:].encode(), b"x" * 100)
    assert damaged != table.read_bytes()
    table.write_bytes(damaged)
    service.start()
    reply = Stateless(service).call("support", {"message": "again", "thread_id": thread_id}, id="mine")
    assert error_of(reply)["code"] == -32603 and messages_of(reply)[-1]["id"] == "mine"


def test_a_resource_that_is_not_there(client):
    code = -32602 if isinstance(client, Stateless) else -32002
    for uri in ("agent-graph://threads/none", "file:///etc/passwd", "agent-graph://threads/", "x" * 5000):
        error = error_of(client.ask("resources/read", {"uri": uri}))
        assert error["code"] == code and error["data"] == {"uri": uri}
    assert error_of(client.ask("resources/read"))["code"] == -32602


def test_unknown_methods(service):
    stateless, session = Stateless(service), Session(service)
    for method in ("initialize", "ping", "foo/bar", "logging/setLevel", "subscriptions/listen", "prompts/get"):
        assert error_of(stateless.ask(method), 404)["code"] == -32601
    assert result_of(session.ask("ping")) == {}
    assert result_of(session.ask("prompts/list")) == {"prompts": []}
    for method in ("foo/bar", "server/discover", "prompts/get"):
        assert error_of(session.ask(method))["code"] == -32601


def test_headers_must_say_what_the_body_says(service):
    client = Stateless(service)
    params = {"name": "support", "arguments": {"message": "hello"}}
    right = dict(client.headers("tools/call", params))
    body = client.body("tools/call", params, id="mine")
    for name, value in (
        ("Mcp-Method", "tools/list"), ("Mcp-Method", None), ("Mcp-Method", "Tools/Call"), ("Mcp-Name", "other"),
        ("Mcp-Name", None), ("MCP-Protocol-Version", "2025-11-25"), ("MCP-Protocol-Version", None),
    ):
        headers = [(n, v) for n, v in (right | {name: value}).items() if v is not None]
        reply = client.post(body, headers)
        assert error_of(reply, 400)["code"] == -32020 and reply.json()["id"] == "mine", (name, value)
    encoded = base64.b64encode(b"support").decode()
    for value in ("  support ", f"=?base64?{encoded}?="):
        assert result_of(client.post(body, list((right | {"Mcp-Name": value}).items())))


def test_revisions_that_are_not_spoken(service):
    client = Stateless(service)
    prefix = "io.modelcontextprotocol/"
    body = client.body("tools/list", meta={prefix + "protocolVersion": "2099-01-01"})
    headers = [("MCP-Protocol-Version", "2099-01-01"), ("Mcp-Method", "tools/list")]
    error = error_of(client.post(body, headers), 400)
    assert error["code"] == -32022 and error["data"]["requested"] == "2099-01-01"
    assert STATELESS in error["data"]["supported"]
    assert error_of(client.post(body, client.headers("tools/list")), 400)["code"] == -32020
    session = Session(service)
    session.revision = "2099-01-01"
    assert session.ask("ping").status == 400


def test_every_request_of_the_stateless_era_describes_its_client(service):
    client = Stateless(service)
    headers = client.headers("tools/list")
    prefix = "io.modelcontextprotocol/"
    for meta in (None, {}, {prefix + "protocolVersion": STATELESS},
                 {prefix + "protocolVersion": STATELESS, prefix + "clientCapabilities": 1},
                 {prefix + "clientCapabilities": {}}):
        params = {} if meta is None else {"_meta": meta}
        assert error_of(client.post(request("tools/list", params), headers), 400)["code"] == -32602


def test_what_is_not_a_message(service):
    client = Client(service)
    text = [("Content-Type", "application/json")]
    for body, code in (
        ("{", -32700), ("", -32600), ("[]", -32600), ("1", -32600), ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        ("{}", -32600), ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        ('{"jsonrpc":"2.0","id":1,"method":1}', -32600), ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600),
        ('{"jsonrpc":"2.0","id":1}', -32600), ('{"jsonrpc":"2.0","id":"' + "x" * 5000 + '","method":"ping"}', -32600),
    ):
        reply = client.post(body.encode(), text)
        assert error_of(reply, 400)["code"] == code, body
        assert reply.json()["id"] is None
    for kind in ("text/plain", "application/jsonx", ""):
        assert client.post(json.dumps(request("ping")), [("Content-Type", kind)]).status == 415


def test_notifications_are_accepted(service):
    for client in (Client(service), Session(service)):
        headers = client.headers() if isinstance(client, Session) else [("MCP-Protocol-Version", STATELESS)]
        for method in ("notifications/initialized", "notifications/cancelled", "notifications/other"):
            reply = client.post({"jsonrpc": "2.0", "method": method, "params": {"requestId": 9}}, headers)
            assert reply.status == 202 and reply.body == b""


# Where it is served


def test_without_a_checkpointer_there_are_no_sessions_and_no_resources(start_service):
    service = start_service(DEMO | {"checkpointer": "none"})
    reply = Client(service).post(request("initialize", {"protocolVersion": SESSION, "capabilities": {}}))
    assert result_of(reply)["capabilities"] == {"tools": {}, "prompts": {}}
    assert reply.header("Mcp-Session-Id") is None
    call = request("tools/call", {"name": "support", "arguments": {"message": "hello"}})
    found = result_of(Client(service).post(call, [("MCP-Protocol-Version", SESSION)]))["structuredContent"]
    assert found["answer"] == "You said: hello" and "thread_id" not in found
    stateless = Stateless(service, capabilities=FORMS)
    assert stateless.answer("hello", "support")["answer"] == "You said: hello"
    assert error_of(stateless.ask("resources/list"), 404)["code"] == -32601
    assert service.request("DELETE", PATH).status == 405


def test_it_can_be_moved_and_switched_off(start_service):
    settings = DEMO | {"facades": {"mcp": {"path": "/tools/agent", "description": "Knows everything."}}}
    moved = start_service(settings, prefix="/support/")
    client = Stateless(moved, path="/tools/agent")
    assert result_of(client.ask("tools/list"))["tools"][0]["description"] == "Knows everything."
    assert moved.post(PATH, request("ping")).status == 404
    assert "/tools/agent" in moved.get("/openapi.json").json()["paths"]
    for settings in (DEMO | {"facades": {"mcp": False}}, DEMO | {"env": "secrets.env"}):
        off = start_service(settings, files={"secrets.env": "MODE=production\n"})
        off.error_log.allow(r"MODE is production")
        assert off.post(PATH, request("ping")).status == 404


def test_errors_of_nginx_have_the_form_of_the_protocol(start_service):
    service = start_service(
        DEMO,
        http="limit_req_zone $remote_addr zone=slow:1m rate=1r/m;\n",
        server="""
        location /small/ { agent_graph test; client_max_body_size 10; }
        location /closed/ { agent_graph test; deny all; }
        location /limited/ { agent_graph test; limit_req zone=slow; limit_req_status 429; }
        """,
    )

    def ask(prefix, method="POST", path=PATH):
        return http1.fetch(service.port, method, prefix + path, [], request("ping"))

    assert error_of(ask("/small"), 413)["code"] == -32000
    assert error_of(ask("/closed"), 403)["code"] == -32000
    ask("/limited")
    limited = ask("/limited")
    assert error_of(limited, 429)["code"] == -32000
    assert error_of(ask("", "PUT"), 405) and error_of(ask("", path="/mcp/x"), 404)


def test_requests_are_counted_under_their_own_name(start_service):
    service = start_service(DEMO, server="location = /metrics { agent_graph_status format=prometheus; }")
    Stateless(service).answer("hello", "support")
    # nginx counts a request when it has ended, which may be after the client has its reply.
    wait_until(
        lambda: 'route="mcp"' in http1.fetch(service.port, "GET", "/metrics").text, "the request is counted"
    )
