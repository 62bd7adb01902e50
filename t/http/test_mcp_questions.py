"""The agent as a server of the Model Context Protocol: questions to the user of the client, and the
tools of the graph that clients may call themselves."""

import itertools
import json
import threading

import pytest

from harness.http_service import HttpService
from harness.mcp_client import FORMS, PATH, Session, Stateless, error_of, request, result_of
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.tool_graph import asks, tool_graph

_FIXTURES = [*asks("register", ("register", {})), {"match": {"userMessage": "fine"}, "response": {"content": "ok"}}]

# A schema without a type, with schemas that are no objects.
_LOOSE = {
    "name": "loose", "description": "Takes anything.", "url": "http://127.0.0.1:9/", "tags": ["shared"],
    "parameters": {"properties": {"any": True, "none": False, "text": {"type": "string"}}, "required": ["text"]},
}


@pytest.fixture
def http_service():
    """http_service(answer) starts a target for HTTP tools."""
    started = []

    def start(answer):
        started.append(HttpService(answer))
        return started[-1]

    yield start
    for service in started:
        service.close()


@pytest.fixture
def serve(make_service, start_mock_provider, start_mcp_peer):
    """serve(tools=…) starts a service whose agent has the tools of an MCP server."""

    def start(files=None, http="", tools=("calculator", _LOOSE), **other):
        mock = start_mock_provider(_FIXTURES)
        peer = start_mcp_peer(eras=["stateless"])
        graph = tool_graph(tools=list(tools), mcp_servers=[{"name": "peer", "url": peer.url, "tags": ["shared"]}])
        settings = {
            "agent": "graph.json:app",
            "models": {"default": {"provider": "openai", "model": "m", "base_url": mock.base_url}},
            "facades": {"mcp": {"tools": ["shared"]}},
        }
        files = {"graph.json": json.dumps(graph)} | (files or {})
        return make_service(settings | other, files=files, workers=2, http=http).start()

    return start


def _accept(**content):
    return {"action": "accept", "content": content}


def _agent(message="register", **more):
    return {"name": "app", "arguments": {"message": message} | more}


# The stateless era


def _repeat(client, params, asked, answers, **other):
    more = {"requestState": asked["requestState"], "inputResponses": answers} | other
    return client.ask("tools/call", params | more)


def _asked(reply):
    result = result_of(reply)
    assert result["resultType"] == "input_required", result
    return result


@pytest.mark.parametrize("params", [_agent(), {"name": "register", "arguments": {}}], ids=["agent", "tool"])
def test_a_question_and_its_answer(serve, params):
    client = Stateless(serve(), capabilities=FORMS)
    for number in range(4):  # whichever worker gets the request
        asked = _asked(client.ask("tools/call", params))
        [(key, question)] = asked["inputRequests"].items()
        assert question["method"] == "elicitation/create"
        assert question["params"]["message"] == "Who are you?" and question["params"]["mode"] == "form"
        assert question["params"]["requestedSchema"]["required"] == ["name"]
        # Without the answer it is asked again.
        for answers in ({}, {"other": _accept(name="Bob")}):
            again = _asked(_repeat(client, params, asked, answers))
            assert again["inputRequests"] == asked["inputRequests"]
        done = result_of(_repeat(client, params, again, {key: _accept(name="Bob"), "more": _accept()}))
        assert done["resultType"] == "complete" and not done.get("isError")
        expected = "done" if params["name"] == "app" else 'registered {"name":"Bob","plan":"free"}'
        assert done["content"][0]["text"] == expected


def test_an_answer_that_does_not_fit_or_is_no_answer(serve):
    client = Stateless(serve(), capabilities=FORMS)
    for params in (_agent(), {"name": "register", "arguments": {}}):
        asked = _asked(client.ask("tools/call", params))
        [key] = asked["inputRequests"]
        short = result_of(_repeat(client, params, asked, {key: _accept(name="B")}))
        assert short["isError"] and "at least 2" in short["content"][0]["text"]
        for answers in (1, {key: 1}, {key: {"action": "maybe"}}, {key: _accept() | {"content": 1}}):
            assert error_of(_repeat(client, params, asked, answers))["code"] == -32602
        declined = result_of(_repeat(client, params, asked, {key: {"action": "decline"}}))
        assert declined["content"][0]["text"] in ("done", "decline")


def test_the_state_belongs_to_its_call_and_its_user(serve):
    service = serve(files={"secrets.env": JWT_ENVIRONMENT}, auth="jwt", env="secrets.env", authorization="ownership")
    alice, bob = (Stateless(service, bearer(user), FORMS) for user in ("alice", "bob"))
    params = _agent()
    asked = _asked(alice.ask("tools/call", params))
    [key] = asked["inputRequests"]
    answers = {key: _accept(name="Bob")}
    state = asked["requestState"]
    refused = [
        (bob, params, state), (alice, _agent("register", thread_id="t"), state),
        (alice, {"name": "register", "arguments": {}}, state), (alice, params, state[:-2] + "AA"),
        (alice, params, ""), (alice, params, 1), (alice, params, "A" * 100_000),
    ]
    for client, call, other in refused:
        assert error_of(_repeat(client, call, asked, answers, requestState=other))["code"] == -32602
    assert result_of(_repeat(alice, params, asked, answers))["content"][0]["text"] == "done"
    # The state was used already.
    assert result_of(_repeat(alice, params, asked, answers))["isError"] is True


def test_a_client_that_cannot_ask(serve):
    service = serve()
    for client in (Stateless(service), Session(service), Stateless(service, capabilities={"elicitation": {"url": {}}})):
        found = result_of(client.ask("tools/call", _agent()))
        structured = found["structuredContent"]
        assert structured["status"] == "interrupted" and not found.get("isError")
        [elicitation] = structured["interrupt"]["data"]["elicitations"]
        assert elicitation["message"] == "Who are you?"
        # The thread is as usable as always.
        assert client.answer("fine", thread_id=structured["thread_id"])["answer"] == "ok"
        direct = client.call("register", {})
        if isinstance(client, Stateless):
            error = error_of(direct, 400)
            assert error["code"] == -32021
            assert error["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}
        else:
            assert result_of(direct)["isError"] is True


# Sessions


@pytest.mark.parametrize("params", [_agent(), {"name": "register", "arguments": {}}], ids=["agent", "tool"])
def test_a_question_on_the_stream_of_the_call(serve, params):
    service = serve()
    session = Session(service, capabilities={"elicitation": {}})
    for number in range(4):
        stream = session.open("tools/call", params)
        events = iter(stream.next, None)
        question = next(e.message for e in events if e.message and e.message.get("method") == "elicitation/create")
        assert question["params"]["message"] == "Who are you?"
        assert session.respond(question["id"], _accept(name="Bob")).status == 202
        # The first answer counts. Later ones, and answers to unknown questions, are ignored.
        assert session.respond(question["id"], {"action": "cancel"}).status == 202
        assert session.respond("x", {"action": "cancel"}).status == 202
        assert session.respond(7, {"action": "cancel"}).status == 202
        [response] = stream.rest()
        expected = "done" if params["name"] == "app" else 'registered {"name":"Bob","plan":"free"}'
        assert response["result"]["content"][0]["text"] == expected


def test_a_client_comes_back_to_a_question(serve):
    service = serve()
    session = Session(service, capabilities=FORMS)
    stream = session.open("tools/call", _agent())
    first = stream.next()
    question = stream.next()
    stream.close()
    service.kill_worker()
    [same] = [session.reopen(first.id).next()]
    assert same.message == question.message
    behind = session.reopen(question.id)
    assert session.respond(question.message["id"], _accept(name="Bob")).status == 202
    [response] = behind.rest()
    assert response["result"]["content"][0]["text"] == "done"
    assert session.reopen(question.id).rest() == [response]


def test_a_question_of_a_call_that_is_cancelled(serve):
    session = Session(serve(), capabilities=FORMS)
    stream = session.open("tools/call", _agent(), id="mine")
    stream.next()
    assert stream.next().message["method"] == "elicitation/create"
    assert session.notify("notifications/cancelled", {"requestId": "mine"}).status == 202
    assert stream.rest() == []


def test_a_tool_that_asks_ends_with_its_worker(serve):
    # Such a call is ended after the jitter, long before nginx closes its connection.
    service = serve(http="agent_graph_shutdown_jitter 2s;")
    session = Session(service, capabilities=FORMS)
    stream = session.open("tools/call", {"name": "register", "arguments": {}}, id="mine")
    assert stream.next().message["method"] == "elicitation/create"
    service.reload()
    [response] = stream.rest()
    assert response["id"] == "mine" and response["error"]["data"] == {"code": "SERVICE_UNAVAILABLE"}


# A graph that waits


def test_a_graph_that_waits_for_a_person(start_service):
    graph = {
        "app": {
            "nodes": [
                {"name": "FIRST", "type": "reply", "text": "first"},
                {"name": "SECOND", "type": "reply", "text": "second"},
            ],
            "edges": [{"from": "START", "to": "FIRST"}, {"from": "FIRST", "to": "SECOND"}],
            "interrupt_before": ["SECOND"],
        }
    }
    service = start_service({"agent": "steps.json:app"}, files={"steps.json": json.dumps(graph)})
    client = Stateless(service, capabilities=FORMS)
    params = _agent("hello")
    asked = _asked(client.ask("tools/call", params))
    [(key, question)] = asked["inputRequests"].items()
    assert "SECOND" in question["params"]["message"]
    declined = result_of(_repeat(client, params, asked, {key: {"action": "decline"}}))
    assert declined["structuredContent"]["status"] == "interrupted"
    done = result_of(_repeat(client, params, asked, {key: _accept(message="yes")}))
    assert done["structuredContent"]["status"] == "done" and done["content"][0]["text"] == "second"
    session = Session(service, capabilities=FORMS)
    stream = session.open("tools/call", params)
    question = next(e.message for e in iter(stream.next, None) if e.message)
    assert session.respond(question["id"], _accept(message="yes")).status == 202
    assert stream.rest()[-1]["result"]["content"][0]["text"] == "second"


_APPROVALS = {
    "app": {
        "nodes": [{"name": name, "type": "reply", "text": name.lower()} for name in ("PLAN", "STAGE", "DEPLOY")],
        "edges": [
            {"from": "START", "to": "PLAN"}, {"from": "PLAN", "to": "STAGE"}, {"from": "STAGE", "to": "DEPLOY"},
        ],
        "interrupt_before": ["STAGE", "DEPLOY"],
    }
}


def test_an_old_answer_is_not_given_to_another_pause(start_service):
    service = start_service({"agent": "steps.json:app"}, files={"steps.json": json.dumps(_APPROVALS)})
    client = Stateless(service, capabilities=FORMS)
    params = _agent("go")
    first = _asked(client.ask("tools/call", params))
    [(key, question)] = first["inputRequests"].items()
    assert "STAGE" in question["params"]["message"]
    second = _asked(_repeat(client, params, first, {key: _accept(message="yes")}))
    assert "DEPLOY" in second["inputRequests"][key]["params"]["message"]
    late = result_of(_repeat(client, params, first, {key: _accept(message="yes")}))
    assert late["isError"] and "no longer waits" in late["content"][0]["text"]
    done = result_of(_repeat(client, params, second, {key: _accept(message="yes")}))
    assert done["content"][0]["text"] == "deploy"


def test_an_answer_on_a_stream_is_for_its_own_pause(start_service):
    service = start_service({"agent": "steps.json:app"}, files={"steps.json": json.dumps(_APPROVALS)})
    session = Session(service, capabilities=FORMS)
    stream = session.open("tools/call", _agent("go", thread_id="t"))
    question = next(e.message for e in iter(stream.next, None) if e.message)
    # Another client answers first, so the thread now waits for the next approval.
    assert service.invoke("yes", config={"thread_id": "t"}).status == 200
    assert session.respond(question["id"], _accept(message="yes")).status == 202
    result = stream.rest()[-1]["result"]
    assert result["isError"] and "no longer waits" in result["content"][0]["text"]
    meta = service.get("/v1/threads/t/state").json()["data"]["state"]["execution_meta"]
    assert meta["is_interrupted"] and meta["interrupt"]["node"] == "DEPLOY"


# Questions of one call; the next one ends it.
_QUESTIONS_MAX = 64


def test_a_call_may_ask_many_questions(start_service):
    names = [f"STEP_{number}" for number in range(_QUESTIONS_MAX + 2)]
    graph = {
        "nodes": [{"name": name, "type": "reply", "text": name.lower()} for name in names],
        "edges": [{"from": "START", "to": names[0]}, *({"from": a, "to": b} for a, b in itertools.pairwise(names))],
        "interrupt_before": names[1:],
    }
    service = start_service({"agent": "steps.json:app"}, files={"steps.json": json.dumps({"app": graph})})
    session = Session(service, capabilities=FORMS)
    stream = session.open("tools/call", _agent("go"))
    first = stream.next()
    for name in names[1:-1]:
        question = stream.next().message
        assert name in question["params"]["message"]
        assert session.respond(question["id"], _accept(message="yes")).status == 202
    [response] = stream.rest()
    structured = response["result"]["structuredContent"]
    assert structured["status"] == "interrupted" and structured["interrupt"]["node"] == names[-1]
    # A client that comes back is led from run to run. What it has answered is not asked again.
    assert session.reopen(first.id).rest() == [response]
    # The thread still waits.
    done = session.answer("yes", thread_id=structured["thread_id"])
    assert done["status"] == "done" and done["answer"] == names[-1].lower()


# Tools of the graph


def test_only_tools_with_a_tag_are_offered(serve):
    for tags, names in ((["shared"], {"app", "register", "loose"}), (["other"], {"app"}), (["*"], {"app", "calculator"})):
        client = Stateless(serve(facades={"mcp": {"tools": tags}}))
        offered = {tool["name"]: tool for tool in result_of(client.ask("tools/list"))["tools"]}
        assert names <= offered.keys() and ("calculator" in offered) is (tags == ["*"])
        for schema in (tool["inputSchema"] for tool in offered.values()):
            assert schema["type"] == "object"
            assert all(isinstance(value, dict) for value in schema.get("properties", {}).values())
        if "loose" in offered:
            schema = offered["loose"]["inputSchema"]
            assert schema["properties"] == {"any": {}, "none": {"not": {}}, "text": {"type": "string"}}
            assert schema["required"] == ["text"]
        hidden = client.call("calculator", {"expression": "1+1"})
        if tags != ["*"]:
            assert error_of(hidden)["code"] == -32602
        else:
            assert "2" in result_of(hidden)["content"][0]["text"]
            wrong = result_of(client.call("calculator", {}))
            assert wrong["isError"] and "expression" in wrong["content"][0]["text"]


def test_arguments_come_from_the_body_only(serve):
    client = Stateless(serve())
    tools = result_of(client.ask("tools/list"))["tools"]
    [schema] = [tool["inputSchema"] for tool in tools if tool["name"] == "route"]
    # The server behind the graph wants the header Mcp-Param-Region from its own clients.
    assert schema["properties"]["region"] == {"type": "string"}
    assert result_of(client.call("route", {"region": "eu"}))["content"][0]["text"] == "routed to eu"


def test_a_cancelled_call_ends_its_tool(serve, http_service):
    entered, released = threading.Event(), threading.Event()

    def answer(*_):
        entered.set()
        released.wait()
        return 200, "application/json", "1"

    tool = _LOOSE | {"url": http_service(answer).url, "timeout_ms": 3_600_000}
    session = Session(serve(tools=[tool]))
    call = request("tools/call", {"name": "loose", "arguments": {"text": "x"}}, id="mine")
    try:
        with session.service.connect() as connection:
            connection.request("POST", PATH, session.headers(), call)
            entered.wait()
            assert session.notify("notifications/cancelled", {"requestId": "mine"}).status == 202
            reply = connection.read_reply()
        assert reply.status == 200 and reply.text == ""
    finally:
        released.set()


def test_a_list_that_only_looks_like_content_is_text(serve, http_service):
    found = [{"type": "image", "url": "https://example.com/a.png"}]
    peer = http_service(lambda *_: (200, "application/json", json.dumps(found)))
    tool = _LOOSE | {"url": peer.url}
    client = Stateless(serve(tools=[tool]))
    [block] = result_of(client.call("loose", {"text": "x"}))["content"]
    assert block["type"] == "text" and json.loads(block["text"]) == found


def test_content_of_tools_is_passed_on(start_service, start_mcp_server, start_mock_provider):
    everything = start_mcp_server()
    graph = tool_graph(mcp_servers=[{"name": "every", "url": everything.url, "tags": ["shared"]}])
    model = {"provider": "openai", "model": "m", "base_url": start_mock_provider([]).base_url}
    service = start_service(
        {"agent": "graph.json:app", "models": {"default": model}, "facades": {"mcp": {"tools": ["shared"]}}},
        files={"graph.json": json.dumps(graph)},
    )
    for client in (Stateless(service), Session(service)):
        image = result_of(client.call("get-tiny-image", {}))["content"]
        assert {"text", "image"} == {block["type"] for block in image}
        structured = result_of(client.call("get-structured-content", {"location": "New York"}))
        assert isinstance(structured["structuredContent"], dict)
        assert json.loads(structured["content"][0]["text"]) == structured["structuredContent"]
        assert result_of(client.call("echo", {"message": "hi"}))["content"][0]["text"] == "Echo: hi"
