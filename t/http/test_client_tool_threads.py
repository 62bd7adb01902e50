"""Results of client tools and the threads that wait for them: found by the calls, and no longer
waiting once the calls are gone."""

import json

import pytest

from harness.agents import DEMO
from harness.messages import texts, user
from harness.stream import is_done
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.tool_graph import asks, tool_graph
from harness.websocket import WebSocket

_WEATHER = {
    "name": "get_weather",
    "description": "The weather at a place, as the client knows it.",
    "parameters": {"type": "object", "properties": {"location": {"type": "string"}}},
}
_FIXTURES = [
    *asks("one", ("get_weather", {"location": "Rome"}), id_prefix="call_one"),
    *asks(
        "two", ("get_weather", {"location": "Rome"}), ("get_weather", {"location": "Oslo"}),
        id_prefix="call_two",
    ),
    {"match": {"userMessage": "never mind"}, "response": {"content": "fine"}},
]
_INVOKE, _STREAM = "/v1/graph/invoke", "/v1/graph/stream"


@pytest.fixture
def serve(make_service, start_mock_provider):
    def start(settings=None, **other):
        mock = start_mock_provider(_FIXTURES)
        model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
        graph = tool_graph(tools=["calculator"], remote_tools=[_WEATHER])
        return make_service(
            {"agent": "graph.json:app", "models": {"default": model}} | (settings or {}),
            files={"graph.json": json.dumps(graph)} | other.pop("files", {}),
            **other,
        ).start()

    return start


def _data(reply, status=200):
    assert reply.status == status, reply.text
    return reply.json()["data"]


def _blocks(messages, kind):
    return [b for message in messages for b in message["content"] if b["type"] == kind]


def _result(call_id, output="sunny"):
    """As the TypeScript client sends it."""
    block = {"type": "tool_result", "call_id": call_id, "output": output, "status": "completed",
             "is_error": False}
    return {"role": "tool", "message_id": "0", "content": [block]}


def _ask(service, text="one", **other):
    """The first turn of a new chat; its thread and the calls it hands out."""
    data = _data(service.post(_INVOKE, {"messages": [user(text)], "config": {}}, **other))
    calls = [call["id"] for call in _blocks(data["messages"], "remote_tool_call")]
    return data["meta"]["thread_id"], calls


def _threads(service, **other):
    return [t["thread_id"] for t in _data(service.get("/v1/threads", **other))["threads"]]


def _meta(service, thread):
    return _data(service.get(f"/v1/threads/{thread}/state"))["state"]["execution_meta"]


# Found


def test_a_new_chat_goes_on_without_its_id(serve):
    service = serve()
    thread, (call,) = _ask(service)
    data = _data(service.post(_INVOKE, {"messages": [_result(call)], "config": {}}))
    assert data["meta"] | {"run_id": None} == {
        "thread_id": thread, "is_new_thread": False, "thread_name": None, "run_id": None,
        "outcome": "done",
    }
    assert texts(data["messages"])[-1] == "done"
    assert _threads(service) == [thread]
    again = service.post(_INVOKE, {"messages": [_result(call)]})
    assert again.status == 422 and "config.thread_id" in again.text, "it does not wait any more"
    assert _threads(service) == [thread]


def test_on_a_stream(serve):
    service = serve()
    thread, (call,) = _ask(service)
    reply = service.post(_STREAM, {"messages": [_result(call)]})
    chunks = [json.loads(line) for line in reply.text.splitlines()]
    assert {chunk["thread_id"] for chunk in chunks} == {thread}
    messages = [chunk["message"] for chunk in chunks if chunk["event"] == "message"]
    assert texts(messages)[-1] == "done" and is_done(chunks[-1])


@pytest.mark.parametrize("kind", ["fresh", "resume"])
def test_on_a_socket(serve, kind):
    service = serve()
    thread, (call,) = _ask(service)
    frame = {"invoke_type": kind, "messages" if kind == "fresh" else "tool_result": [_result(call)]}
    with WebSocket(service.port).upgrade() as socket:
        socket.send_json(frame | {"config": {}})
        chunks = socket.read_run()
        assert {chunk["thread_id"] for chunk in chunks} == {thread}
        assert texts([c["message"] for c in chunks if c["message"]])[-1] == "done"
        socket.send_json(frame | {"config": {}})
        (refusal, done) = socket.read_run()
        assert "thread_id" in refusal["data"]["reason"] and is_done(done)


def test_results_one_by_one_and_after_every_worker_has_gone(serve):
    service = serve()
    thread, (first, second) = _ask(service, "two")
    for _ in range(2):
        service.kill_worker()
    data = _data(service.post(_INVOKE, {"messages": [_result(second)]}))
    assert data["meta"]["thread_id"] == thread
    assert [call["id"] for call in _blocks(data["messages"], "remote_tool_call")] == [first]
    assert service.post(_INVOKE, {"messages": [_result(second)]}).status == 422
    data = _data(service.post(_INVOKE, {"messages": [_result(first)]}))
    assert data["meta"]["thread_id"] == thread and texts(data["messages"])[-1] == "done"


def test_one_of_several_is_not_guessed(serve):
    service = serve()
    # The model gives its calls the same ids in every conversation.
    threads = [_ask(service)[0] for _ in range(2)]
    reply = service.post(_INVOKE, {"messages": [_result("call_one_0")]})
    assert reply.status == 422
    assert reply.json()["detail"].startswith(
        "config.thread_id: must name the thread that waits for the result, because no thread or more"
        " than one does"
    ), reply.text
    assert sorted(_threads(service)) == sorted(threads)
    named = {"messages": [_result("call_one_0")], "config": {"thread_id": threads[0]}}
    assert texts(_data(service.post(_INVOKE, named))["messages"])[-1] == "done"
    data = _data(service.post(_INVOKE, {"messages": [_result("call_one_0")]}))
    assert data["meta"]["thread_id"] == threads[1], "the only one that is left"


def test_chats_with_the_demo_model_are_told_apart(start_service):
    service = start_service(DEMO | {"agent": "graphs/remote.json:app"})
    abandoned = _ask(service, "call get_location")[0]
    chats = [_ask(service, "call get_location") for _ in range(3)]
    for thread, (call,) in chats:
        data = _data(service.post(_INVOKE, {"messages": [_result(call)], "config": {}}))
        assert data["meta"]["thread_id"] == thread
        assert texts(data["messages"])[-1] == "sunny"
    assert _meta(service, abandoned)["is_interrupted"]


def test_nobody_answers_for_another(serve):
    settings = {"auth": "jwt", "env": "secrets.env", "authorization": "ownership"}
    service = serve(settings, files={"secrets.env": JWT_ENVIRONMENT})
    alice, bob = {"headers": bearer("alice")}, {"headers": bearer("bob")}
    thread, (call,) = _ask(service, **alice)
    reply = service.post(_INVOKE, {"messages": [_result(call)]}, **bob)
    unknown = service.post(_INVOKE, {"messages": [_result("call_none")]}, **bob)
    assert reply.status == unknown.status == 422
    assert reply.json()["detail"].replace(call, "") == unknown.json()["detail"].replace("call_none", "")
    other, _ = _ask(service, **bob)
    data = _data(service.post(_INVOKE, {"messages": [_result(call)]}, **alice))
    assert data["meta"]["thread_id"] == thread
    data = _data(service.post(_INVOKE, {"messages": [_result(call)]}, **bob))
    assert data["meta"]["thread_id"] == other


def test_a_thread_that_is_gone_is_not_found(serve):
    service = serve()
    thread, (call,) = _ask(service)
    assert service.request("DELETE", f"/v1/threads/{thread}", {}).status == 200
    assert service.post(_INVOKE, {"messages": [_result(call)]}).status == 422
    assert _threads(service) == []


# No longer waiting


def _fix(service, thread, _call):
    data = _data(service.post("/v1/graph/fix", {"thread_id": thread}))
    assert data["removed_count"] == 2
    assert data["state"]["execution_meta"]["is_interrupted"] is False


def _delete_state(service, thread, _call):
    assert service.request("DELETE", f"/v1/threads/{thread}/state").status == 200


def _clear_context(service, thread, _call):
    target = f"/v1/threads/{thread}/state"
    state = _data(service.request("PUT", target, {"state": {"context": None}}))["state"]
    assert state["execution_meta"]["is_interrupted"] is False


def _message_of(service, thread, call, kind):
    messages = _data(service.get(f"/v1/threads/{thread}/messages"))["messages"]
    (found,) = [m["message_id"] for m in messages if any(b["id"] == call for b in _blocks([m], kind))]
    return found


def _delete_call(service, thread, call):
    target = f"/v1/threads/{thread}/messages/{_message_of(service, thread, call, 'tool_call')}"
    assert service.request("DELETE", target, {}).status == 200


def _delete_handed_out(service, thread, call):
    target = f"/v1/threads/{thread}/messages/{_message_of(service, thread, call, 'remote_tool_call')}"
    assert service.request("DELETE", target, {}).status == 200


def _replace_call(service, thread, call):
    message = {"role": "assistant", "content": "changed my mind",
               "message_id": _message_of(service, thread, call, "tool_call")}
    target = f"/v1/threads/{thread}/state"
    assert service.request("PUT", target, {"state": {"context": [message]}}).status == 200


def _post_an_answer(service, thread, _call):
    body = {"messages": [{"role": "assistant", "content": "answered elsewhere"}]}
    assert service.post(f"/v1/threads/{thread}/messages", body).status == 200


@pytest.mark.parametrize(
    "remove",
    [_fix, _delete_state, _clear_context, _delete_call, _delete_handed_out, _replace_call, _post_an_answer],
)
def test_a_pause_whose_calls_are_gone_is_over(serve, remove):
    service = serve()
    thread, (call,) = _ask(service)
    assert _meta(service, thread)["is_interrupted"] is True
    remove(service, thread, call)
    meta = _meta(service, thread)
    assert meta["is_interrupted"] is False and "interrupt" not in meta
    assert meta["interrupted_node"] is meta["interrupt_data"] is None
    # Without its thread the result matches no call, and the next message is an ordinary turn.
    assert service.post(_INVOKE, {"messages": [_result(call)]}).status == 422
    data = _data(service.invoke("never mind", config={"thread_id": thread}, response_granularity="full"))
    assert texts(data["messages"])[-1] == "fine"
    assert data["state"]["execution_meta"]["current_node"] == "END"


def test_a_call_that_is_answered_from_outside_leaves_the_others(serve):
    service = serve()
    thread, (first, second) = _ask(service, "two")
    # One of two calls is answered by a message from outside of a run: the other call still waits.
    body = {"messages": [_result(first)]}
    assert service.post(f"/v1/threads/{thread}/messages", body).status == 200
    pending = _meta(service, thread)["interrupt"]["data"]["remote_tool_calls"]
    assert [call["id"] for call in pending] == [second]
    data = _data(service.post(_INVOKE, {"messages": [_result(second)]}))
    assert data["meta"]["thread_id"] == thread and texts(data["messages"])[-1] == "done"
    _data(service.post("/v1/graph/fix", {"thread_id": thread}))
