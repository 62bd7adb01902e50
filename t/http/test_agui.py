"""The façade for clients of AG-UI: runs, their events and their messages, as they are on the wire."""

import json

import pytest

from harness.agents import DEMO
from harness.agui import PATH, error, events, messages_of, of_type, run_input, text, tool, types, user
from harness.messages import texts
from harness.service import invocation
from harness.tool_graph import asks, tool_graph

_WEATHER = tool("get_weather", city={"type": "string"})


@pytest.fixture
def service(start_service):
    return start_service(DEMO)


@pytest.fixture
def with_tools(make_service, start_mock_provider):
    """with_tools(graph) starts an agent whose model calls the tool that the user names."""

    def start(graph=None, **settings):
        mock = start_mock_provider(
            [
                *asks("weather", ("get_weather", {"city": "Oslo"})),
                *asks("two", ("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Rome"}), id_prefix="two"),
                *asks("both", ("get_weather", {"city": "Oslo"}), ("calculator", {"expression": "6*7"}),
                      id_prefix="both"),
                *asks("sum", ("calculator", {"expression": "6*7"}), id_prefix="sum"),
                {"match": {"userMessage": "think"}, "response": {"content": "deep", "reasoning": "hm, so"}},
                {"match": {"userMessage": "plain"}, "response": {"content": "fine words"}},
                {"match": {"userMessage": "Attached"}, "response": {"content": "seen"}},
            ],
            chunk_size=4,
        )
        model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
        service = make_service(
            {"agent": "graph.json:app", "models": {"default": model}} | settings,
            files={"graph.json": json.dumps(graph or tool_graph(tools=["calculator"]))},
        ).start()
        service.mock = mock
        return service

    return start


def _post(service, *messages, **fields):
    return events(service.post(PATH, run_input(*messages, **fields)))


def _outcome(found):
    assert found[-1]["type"] == "RUN_FINISHED", found[-1]
    return found[-1].get("outcome")


# Messages


def test_a_run_is_a_stream_of_events(service):
    found = _post(service, user("hello", "u1"), thread="t", run="run-1")
    first, last = found[0], found[-1]
    assert (first["type"], first["threadId"], first["runId"]) == ("RUN_STARTED", "t", "run-1")
    assert first["protocolVersion"] == "1.0"
    assert (last["type"], last["threadId"], last["runId"]) == ("RUN_FINISHED", "t", "run-1")
    assert _outcome(found) == {"type": "success"}
    assert text(found) == "You said: hello"
    assert len(of_type(found, "TEXT_MESSAGE_START")) == 1
    assert of_type(found, "STEP_STARTED")[0]["stepName"] == "MAIN"
    stored = service.get("/v1/threads/t/messages").json()["data"]["messages"]
    assert texts(stored) == ["hello", "You said: hello"] and stored[0]["message_id"] == "u1"
    assert stored[1]["message_id"] == of_type(found, "TEXT_MESSAGE_START")[0]["messageId"]


def test_the_thread_has_the_history_that_the_client_repeats(with_tools):
    service = with_tools()
    history = [user("plain")]
    ids = set()
    for turn in range(3):
        found = _post(service, *history)
        assert text(found) == "fine words" and "MESSAGES_SNAPSHOT" not in types(found)
        (answer,) = messages_of(found)
        assert answer["id"] not in ids
        ids.add(answer["id"])
        history += [answer, user(f"plain {turn}")]
    assert [m["content"] for m in service.mock.messages() if m["role"] != "system"] == [
        "plain", "fine words", "plain 0", "fine words", "plain 1"]


def test_a_new_thread_begins_with_the_history_of_the_client(with_tools):
    service = with_tools()
    history = [
        {"id": "s1", "role": "system", "content": "Be brief."},
        user("before"),
        {"id": "r1", "role": "reasoning", "content": "hm"},
        {"id": "a1", "role": "assistant", "content": "so it was"},
        {"id": "x1", "role": "activity", "activityType": "plot", "content": {}},
    ]
    assert text(_post(service, *history, "plain")) == "fine words"
    told = [m["content"] for m in service.mock.messages()]
    assert told[-4:] == ["Be brief.", "before", "so it was", "plain"]


def test_a_message_may_have_the_id_of_another_one_with_a_number(service):
    """The service numbers the results of a message like this, and a client its own messages."""
    history = messages_of(_post(service, user("first", "m"))) + [user("second", "m-2")]
    assert text(_post(service, user("first", "m"), *history)) == "You said: second"


def test_a_client_may_count_its_messages_from_0(service):
    first = user("hello", "0")
    answer = messages_of(_post(service, first))
    (snapshot,) = of_type(_post(service, first), "MESSAGES_SNAPSHOT")
    assert [message["id"] for message in snapshot["messages"]] == ["0", answer[-1]["id"]]


def test_an_id_that_the_thread_cannot_keep_is_refused(service):
    found = error(service.post(PATH, run_input(user("first", "m"), user("second", "a/../b"))))
    assert found["details"][0]["loc"] == ["body", "messages", "1", "id"]


def test_a_client_gets_what_was_said_elsewhere(service):
    service.invoke("one", config={"thread_id": "t"})
    found = _post(service, user("two", "u2"))
    # A client keeps the order of the messages that it has. So an empty snapshot first removes its new
    # message, which belongs behind the others.
    snapshots = [event["messages"] for event in of_type(found, "MESSAGES_SNAPSHOT")]
    assert snapshots[0] == [] and len(snapshots) == 2
    assert [m.get("content") for m in snapshots[1]] == ["one", "You said: one", "two"]
    assert snapshots[1][2]["id"] == "u2"
    assert text(found) == "You said: two"


def test_reasoning_comes_before_the_text(with_tools):
    service = with_tools()
    found = _post(service, "think")
    kinds = types(found)
    assert kinds.index("REASONING_END") < kinds.index("TEXT_MESSAGE_START")
    assert "".join(e["delta"] for e in of_type(found, "REASONING_MESSAGE_CONTENT")) == "hm, so"
    (start,) = of_type(found, "REASONING_MESSAGE_START")
    assert start["role"] == "reasoning"
    assert start["messageId"] != of_type(found, "TEXT_MESSAGE_START")[0]["messageId"]
    # A client that reads the thread later has the same reasoning under the same id.
    (snapshot,) = of_type(_post(service), "MESSAGES_SNAPSHOT")
    (reasoning,) = [m for m in snapshot["messages"] if m["role"] == "reasoning"]
    assert reasoning == {"id": start["messageId"], "role": "reasoning", "content": "hm, so"}


def test_images_reach_the_model(with_tools):
    service = with_tools()
    data = "iVBORw0KGgo="
    parts = [
        {"type": "text", "text": "plain"},
        {"type": "image", "source": {"type": "data", "value": data, "mimeType": "image/png"}},
        {"type": "image", "source": {"type": "url", "value": "https://example.com/cat.png"}},
        {"type": "binary", "mimeType": "image/png", "data": data},
    ]
    assert text(_post(service, {"id": "u1", "role": "user", "content": parts})) == "fine words"
    urls = [part["image_url"]["url"] for part in service.mock.messages()[-1]["content"] if part["type"] == "image_url"]
    inline = f"data:image/png;base64,{data}"
    assert urls == [inline, "https://example.com/cat.png", inline]
    (snapshot,) = of_type(_post(service), "MESSAGES_SNAPSHOT")
    assert snapshot["messages"][0]["content"][:3] == parts[:3]


# Tools


@pytest.mark.parametrize("graph", ["with tools", "without"])
def test_the_client_executes_its_tools(with_tools, graph):
    plain = {"app": {"nodes": [{"name": "MAIN", "type": "agent"}],
                     "edges": [{"from": "START", "to": "MAIN"}, {"from": "MAIN", "to": "END"}]}}
    service = with_tools(None if graph == "with tools" else plain)
    question = user("weather")
    found = _post(service, question, tools=[_WEATHER])
    (start,) = of_type(found, "TOOL_CALL_START")
    assert start["toolCallName"] == "get_weather"
    assert json.loads("".join(e["delta"] for e in of_type(found, "TOOL_CALL_ARGS"))) == {"city": "Oslo"}
    assert not of_type(found, "TOOL_CALL_RESULT")
    assert _outcome(found) == {"type": "success", "pendingToolCallIds": [start["toolCallId"]]}
    (call,) = messages_of(found)
    assert "content" not in call
    result = {"id": "r1", "role": "tool", "toolCallId": start["toolCallId"], "content": "rain"}
    found = _post(service, question, call, result, tools=[_WEATHER])
    assert text(found) == "done" and _outcome(found) == {"type": "success"}
    assert "MESSAGES_SNAPSHOT" not in types(found), "the client has everything"
    assert not of_type(found, "TOOL_CALL_RESULT"), "the client has its own result"
    assert service.mock.messages()[-1]["content"] in ("rain", '"rain"')


@pytest.mark.parametrize("checkpointer", ["leveldb", "none"])
def test_a_tool_of_the_client_may_return_an_image(with_tools, checkpointer):
    service = with_tools(checkpointer=checkpointer)
    question = user("weather")
    (call,) = messages_of(_post(service, question, tools=[_WEATHER]))
    image = {"type": "image", "source": {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}}
    for name, content in (("r1", [image]), ("r2", [{"type": "text", "text": "a map"}, image])):
        result = {"id": name, "role": "tool", "toolCallId": call["toolCalls"][0]["id"], "content": content}
        found = _post(service, question, call, result, tools=[_WEATHER], thread=name)
        assert text(found) == "seen", found
        attached = service.mock.messages()[-1]
        assert attached["role"] == "user" and [part["type"] for part in attached["content"]] == ["text", "image_url"]
        history = [question, call, result, *messages_of(found)]
        found = _post(service, *history, "plain", thread=name)
        assert text(found) == "fine words" and not of_type(found, "MESSAGES_SNAPSHOT"), "the client has everything"
        if checkpointer != "none":
            (snapshot,) = of_type(_post(service, thread=name), "MESSAGES_SNAPSHOT")
            assert snapshot["messages"][:4] == history, "the client gets back what it has sent"


def test_parallel_calls_have_their_own_events(with_tools):
    service = with_tools()
    question = user("two")
    found = _post(service, question, tools=[_WEATHER])
    calls = [event["toolCallId"] for event in of_type(found, "TOOL_CALL_START")]
    assert len(set(calls)) == 2 and _outcome(found)["pendingToolCallIds"] == calls
    results = [{"id": f"r{n}", "role": "tool", "toolCallId": call, "content": "x"} for n, call in enumerate(calls)]
    assert text(_post(service, question, *messages_of(found), *results, tools=[_WEATHER])) == "done"


def test_results_come_in_the_order_of_the_calls(with_tools):
    """The client's own result is new, although it stands before one that the agent has produced."""
    service = with_tools()
    question = user("both")
    found = _post(service, question, tools=[_WEATHER])
    (call, sum_call) = [event["toolCallId"] for event in of_type(found, "TOOL_CALL_START")]
    assert _outcome(found)["pendingToolCallIds"] == [call]
    answer, known = messages_of(found)
    assert known["toolCallId"] == sum_call
    result = {"id": f"{call}:tool", "role": "tool", "toolCallId": call, "content": "rain"}
    found = _post(service, question, answer, result, known, tools=[_WEATHER])
    assert text(found) == "done" and _outcome(found) == {"type": "success"}
    results = [m for m in service.mock.messages() if m["role"] == "tool"]
    assert sorted(m["tool_call_id"] for m in results) == sorted([call, sum_call])


def test_the_agents_own_tools_have_results(with_tools):
    service = with_tools()
    found = _post(service, "sum")
    (result,) = of_type(found, "TOOL_CALL_RESULT")
    kinds = types(found)
    assert kinds.index("TOOL_CALL_END") < kinds.index("TOOL_CALL_RESULT")
    assert result["toolCallId"] == of_type(found, "TOOL_CALL_START")[0]["toolCallId"]
    assert isinstance(result["content"], str) and "42" in result["content"]
    assert text(found) == "done" and _outcome(found) == {"type": "success"}
    assert [e["stepName"] for e in of_type(found, "STEP_STARTED")] == ["MAIN", "TOOLS", "MAIN"]
    (snapshot,) = of_type(_post(service), "MESSAGES_SNAPSHOT")
    shown = messages_of(found)
    assert snapshot["messages"][1:] == shown, "a reader gets what the stream has shown"


def test_context_and_properties_reach_the_graph(with_tools):
    service = with_tools()
    context = [{"description": "The page", "value": "Invoices of May"}]
    assert text(_post(service, "plain", context=context, forwardedProps={"theme": "dark"})) == "fine words"
    assert "Invoices of May" in json.dumps(service.mock.messages()), "the model is told"


# Limits and older clients


def test_a_budget_ends_the_run(with_tools):
    service = with_tools()
    found = _post(service, "sum", forwardedProps={"config": {"budget": {"model_calls": 1}}})
    assert found[-1]["type"] == "RUN_ERROR" and found[-1]["code"] == "BUDGET_EXCEEDED"
    assert found[-1]["usage"][0]["inputTokens"] >= 0


def test_usage_is_counted_by_model(with_tools):
    found = _post(with_tools(), "sum")
    (usage,) = found[-1]["usage"]
    assert usage["totalTokens"] == usage["inputTokens"] + usage["outputTokens"] > 0


def test_a_client_before_1_0_gets_the_old_subset(with_tools):
    service = with_tools()
    body = run_input("weather", tools=[_WEATHER])
    del body["protocolVersion"]
    found = events(service.post(PATH, body))
    assert "outcome" not in found[-1] and "protocolVersion" not in found[0]


# Without a checkpointer


def test_without_a_checkpointer_the_client_keeps_the_conversation(with_tools):
    service = with_tools(checkpointer={"type": "none"})
    found = _post(service, "weather", tools=[_WEATHER])
    (call,) = messages_of(found)
    pending = _outcome(found)["pendingToolCallIds"]
    result = {"id": "r1", "role": "tool", "toolCallId": pending[0], "content": "rain"}
    assert text(_post(service, "weather", call, result, tools=[_WEATHER])) == "done"
    assert service.post(PATH, run_input()).status == 422
    refused = service.post(PATH, run_input("plain"), headers=[("Idempotency-Key", "k")])
    assert refused.status == 503


def test_it_goes_on_over_the_native_routes(service):
    _post(service, "one")
    data = service.post("/v1/graph/invoke", invocation("two", config={"thread_id": "t"})).json()["data"]
    assert texts(data["messages"]) == ["one", "You said: one", "two", "You said: two"]
