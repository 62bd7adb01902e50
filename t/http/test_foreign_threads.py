"""Two users with tokens: every route, every façade and every kind of answer that could touch a thread of another
user refuses to, and leaves the thread as it was."""

import json

import pytest

from harness import agui
from harness.agents import DEMO, behaviour
from harness.mcp_client import Stateless, result_of
from harness.openai_chat import PATH as CHAT
from harness.openai_chat import chat
from harness.openai_responses import PATH as RESPONSES
from harness.openai_responses import ask
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.tool_graph import asks
from harness.websocket import WebSocket

_ALICE, _BOB = bearer("alice"), bearer("bob")
_WORDS = "words of Alice"
_GUARDED = {"auth": "jwt", "env": "secrets.env", "authorization": "ownership"}
_NATIVE = "/v1/threads/{thread_id}"


@pytest.fixture
def serve(start_service):
    def start(settings):
        return start_service(settings | _GUARDED, files={"secrets.env": JWT_ENVIRONMENT}, workers=2)

    return start


def _said(text, **config):
    return {"messages": [{"role": "user", "content": text}], "config": config}


def _state(service, thread):
    """Alice's thread, with its state, messages and runs, to compare."""
    return [
        service.get(f"/v1/threads/{thread}{part}", headers=_ALICE).json()["data"]
        for part in ("", "/state", "/messages", "/runs")
    ]


# Routes that name a thread in their path, with a body for those that take one.
_BY_PATH = {
    ("GET", _NATIVE): None,
    ("DELETE", _NATIVE): {},
    ("GET", _NATIVE + "/state"): None,
    ("PUT", _NATIVE + "/state"): {"state": {"context": []}},
    ("DELETE", _NATIVE + "/state"): None,
    ("GET", _NATIVE + "/messages"): None,
    ("POST", _NATIVE + "/messages"): {"messages": [{"role": "user", "content": "x"}]},
    ("GET", _NATIVE + "/messages/{message_id}"): None,
    ("DELETE", _NATIVE + "/messages/{message_id}"): {},
    ("GET", _NATIVE + "/runs"): None,
    ("GET", _NATIVE + "/runs/{run_id}"): None,
    ("GET", _NATIVE + "/runs/{run_id}/wait"): None,
    ("GET", _NATIVE + "/runs/{run_id}/stream"): None,
    ("POST", _NATIVE + "/runs/{run_id}/cancel"): {},
    ("GET", "/v1/observability/{thread_id}"): None,
}
# Routes that name it in their body.
_BY_BODY = {
    "/v1/graph/invoke": _said("x", thread_id="{thread_id}"),
    "/v1/graph/stream": _said("x", thread_id="{thread_id}"),
    "/v1/graph/runs": _said("x", thread_id="{thread_id}", run_id="of-bob"),
    "/v1/graph/stop": {"thread_id": "{thread_id}"},
    "/v1/graph/fix": {"thread_id": "{thread_id}"},
}


def _filled(value, names):
    text = json.dumps(value)
    for name, known in names.items():
        text = text.replace("{" + name + "}", known)
    return json.loads(text)


def test_every_native_route(serve):
    service = serve(DEMO)
    assert service.post("/v1/graph/invoke", _said(_WORDS, thread_id="t"), headers=_ALICE).status == 200
    before = _state(service, "t")
    messages, runs = before[2]["messages"], before[3]["runs"]
    names = {"thread_id": "t", "message_id": messages[0]["message_id"], "run_id": runs[0]["run_id"]}
    described = {
        (method.upper(), path)
        for path, methods in service.get("/openapi.json").json()["paths"].items()
        for method in methods
        if "{thread_id}" in path
    }
    assert described == _BY_PATH.keys(), "each route that names a thread is tried"
    attempts = [*_BY_PATH.items(), *((("POST", path), body) for path, body in _BY_BODY.items())]
    for (method, pattern), body in attempts:
        path, filled = _filled(pattern, names), _filled(body, names)
        for who in (_BOB, []):
            reply = service.request(method, path, filled, headers=who)
            assert reply.status in (401, 403, 404), (method, path, reply.text)
            assert _WORDS not in reply.text, (method, path)
    assert _state(service, "t") == before


@pytest.mark.parametrize("kind", ["fresh", "resume"])
def test_sockets(serve, kind):
    service = serve(DEMO)
    assert service.post("/v1/graph/invoke", _said(_WORDS, thread_id="t"), headers=_ALICE).status == 200
    before = _state(service, "t")
    with WebSocket(service.port).upgrade(**dict(_BOB)) as socket:
        key = "messages" if kind == "fresh" else "tool_result"
        socket.send_json({"invoke_type": kind, key: [_result("call_1")], "config": {"thread_id": "t"}})
        chunks = socket.read_run()
        assert _WORDS not in json.dumps(chunks)
        assert chunks[0]["event"] == "error", chunks
    assert _state(service, "t") == before


# Threads that wait for an answer


def _result(call_id, output="bob was here"):
    block = {"type": "tool_result", "call_id": call_id, "output": output, "status": "completed", "is_error": False}
    return {"role": "tool", "message_id": "0", "content": [block]}


@pytest.fixture
def waiting(serve, start_mock_provider):
    """A thread of Alice that waits for the result of a tool of her program: (service, call, response)."""
    mock = start_mock_provider([*asks("one", ("place", {"name": "Rome"}), id_prefix="call_one")])
    model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
    service = serve({"agent": DEMO["agent"], "models": {"default": model}})
    place = {"type": "function", "name": "place", "parameters": {"type": "object"}}
    response = service.post(RESPONSES, ask("one", tools=[place], conversation="t"), headers=_ALICE)
    assert response.status == 200, response.text
    (call,) = [item for item in response.json()["output"] if item["type"] == "function_call"]
    return service, call["call_id"], response.json()["id"]


def test_nobody_gives_the_result_of_a_tool_of_another_user(waiting):
    service, call, response = waiting
    before = _state(service, "t")
    said = {"role": "tool", "tool_call_id": call, "content": "bob was here"}
    output = {"type": "function_call_output", "call_id": call, "output": "bob was here"}
    front = {"id": "m9", "role": "tool", "toolCallId": call, "content": "bob was here"}
    native = {"messages": [_result(call)]}
    attempts = [
        ("/v1/graph/invoke", native), ("/v1/graph/invoke", native | {"config": {"thread_id": "t"}}),
        ("/v1/graph/stream", native | {"config": {"thread_id": "t"}}),
        ("/v1/graph/runs", native | {"config": {"thread_id": "t", "run_id": "of-bob"}}),
        (CHAT, chat(said)), (CHAT, chat(said, metadata={"thread_id": "t"})),
        (RESPONSES, ask([output])), (RESPONSES, ask([output], conversation="t")),
        (RESPONSES, ask([output], previous_response_id=response)),
        (RESPONSES, ask([output], metadata={"thread_id": "t"})),
        (agui.PATH, agui.run_input(front)), ("/v1/graph/fix", {"thread_id": "t"}),
        ("/v1/graph/stop", {"thread_id": "t"}),
    ]
    for path, body in attempts:
        reply = service.post(path, body, headers=_BOB)
        assert reply.status in (400, 403, 404, 422), (path, body, reply.text)
        assert "Rome" not in reply.text, path
    called = Stateless(service, _BOB).call("support", {"message": "x", "thread_id": "t"})
    assert result_of(called)["isError"] and "Rome" not in called.text
    assert _state(service, "t") == before
    done = service.post(RESPONSES, ask([output | {"output": "sunny"}], previous_response_id=response), headers=_ALICE)
    assert done.status == 200, done.text
    messages = service.get("/v1/threads/t/messages", headers=_ALICE).text
    assert "sunny" in messages and "bob was here" not in messages


def test_nobody_answers_the_question_to_another_user(serve):
    service = serve(behaviour("asking"))
    asked = agui.events(service.post(agui.PATH, agui.run_input(agui.user("pay", "u1")), headers=_ALICE))
    (interrupt,) = asked[-1]["outcome"]["interrupts"]
    before = _state(service, "t")
    yes = [agui.answer_to(interrupt, "yes")]
    attempts = [
        (agui.PATH, agui.run_input(resume=yes)), (agui.PATH, agui.run_input(agui.user("yes"), resume=yes)),
        ("/v1/graph/invoke", _said("yes", thread_id="t")), (CHAT, chat("yes", metadata={"thread_id": "t"})),
        (RESPONSES, ask("yes", conversation="t")),
    ]
    for path, body in attempts:
        reply = service.post(path, body, headers=_BOB)
        assert reply.status in (403, 404), (path, reply.text)
    # The service does not know the interrupt's id on a thread of Bob's own.
    own = agui.events(service.post(agui.PATH, agui.run_input(resume=yes, thread="of-bob"), headers=_BOB))
    assert own[-1]["code"] == "UNKNOWN_INTERRUPT", own
    assert _state(service, "t") == before
    done = agui.events(service.post(agui.PATH, agui.run_input(resume=yes), headers=_ALICE))
    assert agui.text(done) == "you said yes"
