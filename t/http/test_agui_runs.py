"""AG-UI: errors, and runs whose clients leave, come back, or read what others have begun."""

import pytest

from harness.agents import DEMO
from harness.agui import PATH, error, events, messages_of, of_type, run_input, text, tool, types, user
from harness.waiting import wait_until

_REASONING = {"id": "r1", "role": "reasoning", "content": "hm"}


@pytest.fixture
def service(start_service):
    return start_service(DEMO)


def _post(service, *messages, **fields):
    return events(service.post(PATH, run_input(*messages, **fields)))


def _outcome(found):
    assert found[-1]["type"] == "RUN_FINISHED", found[-1]
    return found[-1].get("outcome")


# Errors


@pytest.mark.parametrize(
    "change, place",
    [
        ({"threadId": None}, "threadId"),
        ({"threadId": "a/../b"}, "threadId"),
        ({"runId": "a b"}, "runId"),
        ({"messages": None}, "messages"),
        ({"messages": [{"id": "u", "role": "robot", "content": "x"}]}, "messages.0.role"),
        ({"messages": [{"id": "u", "role": "user"}]}, "messages.0.content"),
        ({"messages": [{"id": "u", "role": "user", "content": [{"type": "smell"}]}]}, "messages.0.content.0.type"),
        ({"messages": [{"id": "u", "role": "tool", "content": "x"}]}, "messages.0.toolCallId"),
        ({"tools": [{"description": "x"}]}, "tools.0.name"),
        ({"tools": [tool("a"), tool("a")]}, "tools.1.name"),
        ({"context": [{"value": "x"}]}, "context.0.description"),
        ({"resume": [{"interruptId": "i", "status": "maybe"}]}, "resume.0.status"),
        ({"forwardedProps": {"config": {"on_busy": "panic"}}}, "forwardedProps.config.on_busy"),
        ({"forwardedProps": {"config": {"budget": {"token": 1}}}}, "forwardedProps.config.budget.token"),
    ],
)
def test_bad_input_names_the_field(service, change, place):
    reply = service.post(PATH, run_input("hello") | change)
    assert reply.status == 422, reply.text
    assert error(reply)["details"][0]["loc"] == ["body", *place.split(".")]
    assert place.split(".")[0] in error(reply)["message"]


def test_null_and_unknown_members_are_accepted(service):
    body = run_input("hello", tools=None, context=None, resume=None, parentRunId=None, later={"x": 1})
    body["messages"][0]["name"] = None
    assert text(events(service.post(PATH, body))) == "You said: hello"


def test_a_body_that_is_no_json(service):
    reply = service.post(PATH, b"{", headers=[("Content-Type", "application/json")])
    assert 400 <= reply.status < 500 and error(reply)


def test_a_run_that_fails_ends_with_its_error(start_service):
    service = start_service(DEMO | {"models": {"default": {"provider": "openai", "model": "m",
                                                           "base_url": "http://127.0.0.1:9/v1"}}})
    service.error_log.allow(r"")
    question = user("hello")
    found = _post(service, question)
    assert types(found)[0] == "RUN_STARTED" and found[-1]["type"] == "RUN_ERROR"
    assert found[-1]["code"] and found[-1]["message"]
    again = _post(service, question)
    assert again[-1]["type"] == "RUN_ERROR"
    assert len(service.get("/v1/threads/t/runs").json()["data"]["runs"]) == 2, "the client tries again"
    again = _post(service, question, _REASONING)
    assert again[-1]["type"] == "RUN_ERROR"
    assert len(service.get("/v1/threads/t/runs").json()["data"]["runs"]) == 3, "also with what it has seen"




# Connections and repeated requests


@pytest.mark.parametrize("version, kind", [("1.0", "RUN_FINISHED"), (None, "RUN_ERROR")])
def test_a_run_that_was_stopped(make_service, gated_provider, version, kind):
    models = {"default": {"provider": "openai", "model": "m", "base_url": gated_provider.base_url}}
    service = make_service(DEMO | {"models": models}).start()
    with service.connect() as connection:
        connection.request("POST", PATH, [], run_input("go", protocolVersion=version, run="r"))
        reply = connection.read_head()
        gated_provider.wait_for_waiting(1)
        assert service.post("/v1/threads/t/runs/r/cancel", {}).status == 200
        reply.body = b"".join(connection.body_pieces(reply))
    found = events(reply)
    assert found[-1]["type"] == kind
    if version:
        assert _outcome(found) == {"type": "cancelled"}


def test_a_client_that_leaves_ends_its_run(make_service, gated_provider):
    models = {"default": {"provider": "openai", "model": "m", "base_url": gated_provider.base_url}}
    service = make_service(DEMO | {"models": models}).start()
    with service.connect() as connection:
        connection.request("POST", PATH, [], run_input("go"))
        assert connection.read_head().status == 200
        gated_provider.wait_for_waiting(1)
    wait_until(lambda: gated_provider.aborted == 1, "the provider's connection is closed")


@pytest.mark.parametrize("chosen", ["by the request", "by the service"])
def test_a_run_that_goes_on_is_joined(make_service, gated_provider, chosen):
    models = {"default": {"provider": "openai", "model": "m", "base_url": gated_provider.base_url}}
    facade = {"facades": {"agui": {"on_disconnect": "continue"}}} if chosen == "by the service" else {}
    props = {} if facade else {"config": {"on_disconnect": "continue"}}
    service = make_service(DEMO | {"models": models} | facade, workers=2).start()
    question = user("go", "u1")
    body = run_input(question, forwardedProps=props, run="r1")
    with service.connect() as connection:
        connection.request("POST", PATH, [], body)
        assert connection.read_head().status == 200
        gated_provider.wait_for_waiting(1)
    # With another run id, and with what the client has of the answer.
    partial = {"id": "partial", "role": "assistant", "content": "o"}
    seen = [[], [partial], [_REASONING], [_REASONING, partial]]
    connections = [service.connect() for _ in seen]
    for messages, connection in zip(seen, connections, strict=True):
        connection.request("POST", PATH, [], run_input(question, *messages))
    replies = [connection.read_head() for connection in connections]
    gated_provider.open_gate()
    for connection, reply in zip(connections, replies, strict=True):
        reply.body = b"".join(connection.body_pieces(reply))
        connection.close()
        found = events(reply)
        assert found[0]["runId"] == "r1", "the run's own id"
        first = of_type(found, "MESSAGES_SNAPSHOT")[0]["messages"]
        assert [m["id"] for m in first] == ["u1"], "what is complete"
        assert messages_of(found)[-1]["content"] == gated_provider.text
        assert _outcome(found) == {"type": "success"}


def test_a_repeated_request_gets_the_same_run(start_service):
    service = start_service(DEMO, workers=3)
    key = [("Idempotency-Key", "k1")]
    body = run_input("hello", run="r1")
    for _ in range(3):
        found = events(service.post(PATH, body, headers=key))
        assert messages_of(found)[-1]["content"] == "You said: hello" and found[0]["runId"] == "r1"
    assert len(service.get("/v1/threads/t/runs").json()["data"]["runs"]) == 1
    other = service.post(PATH, run_input("other", run="r2"), headers=key)
    assert other.status == 422 and error(other)["code"] == "IDEMPOTENCY_MISMATCH"


# Reading


def test_a_request_with_nothing_new_reads_the_thread(service):
    answer = service.post("/openai/v1/chat/completions", {
        "model": "support", "messages": [{"role": "user", "content": "ahoy"}], "metadata": {"thread_id": "t"}})
    assert answer.status == 200
    found = _post(service)
    assert [m["content"] for m in messages_of(found)] == ["ahoy", "You said: ahoy"]
    assert _outcome(found) == {"type": "success"} and not of_type(found, "TEXT_MESSAGE_START")
    assert types(_post(service, *messages_of(found)))[-1] == "RUN_FINISHED"
    assert len(service.get("/v1/threads/t/runs").json()["data"]["runs"]) == 1, "no run was begun"
    # A thread without runs.
    service.post("/v1/threads/notes/messages", {"messages": [{"role": "user", "content": "a note"}]})
    assert [m["content"] for m in messages_of(_post(service, thread="notes"))] == ["a note"]
    assert service.post(PATH, run_input(thread="none")).status == 404


def test_a_long_thread_is_read_from_its_newest_messages(service):
    for page in range(3):
        messages = [{"role": "user", "content": f"m{page * 500 + n}"} for n in range(500)]
        assert service.post("/v1/threads/t/messages", {"messages": messages}).status == 200
    read = messages_of(_post(service))
    assert len(read) == 1000 and read[-1]["content"] == "m1499"


# Long threads


def _append(service, messages):
    for first in range(0, len(messages), 500):
        body = [{"role": "user", "content": m["content"], "message_id": m["id"]} for m in messages[first : first + 500]]
        assert service.post("/v1/threads/t/messages", {"messages": body}).status == 200


def test_a_client_of_a_long_thread_keeps_its_older_messages(service):
    """The service lists the newest messages only, and a list removes those that it lacks."""
    history = [user(f"m{number}", f"id{number}") for number in range(1100)]
    _append(service, history)
    _append(service, [user("said elsewhere", "other")])
    found = _post(service, *history, user("two", "u2"))
    (*_, snapshot) = [event["messages"] for event in of_type(found, "MESSAGES_SNAPSHOT")]
    assert [m["id"] for m in snapshot] == [*(m["id"] for m in history), "other", "u2"]
    assert text(found) == "You said: two"


def test_a_client_gets_the_messages_of_a_large_thread_once(start_service):
    service = start_service(DEMO | {"limits": {"message_bytes_max": 500_000}})
    for number in range(12):
        _append(service, [user("x" * 450_000, f"id{number}")])
    read = _post(service)
    shown = messages_of(read)
    assert 1 < len(shown) < 12
    found = _post(service, *shown, user("two", "u2"))
    assert text(found) == "You said: two" and not of_type(found, "MESSAGES_SNAPSHOT")
