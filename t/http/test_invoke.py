"""POST /v1/graph/invoke against a real nginx."""

import threading

import pytest

from harness.agents import DEMO, behaviour
from harness.messages import texts, user

_INVOKE = "/v1/graph/invoke"


def _data(reply):
    assert reply.status == 200, reply.text
    return reply.json()["data"]


def test_every_message_is_appended_in_order_and_the_last_is_the_input(start_service):
    service = start_service(behaviour("echo"))
    sent = [user("one"), {"role": "assistant", "content": "between"}, user("two")]
    data = _data(service.post(_INVOKE, {"messages": sent}))
    assert texts(data["messages"]) == ["one", "between", "two", "echo: two"]
    ids = [message["message_id"] for message in data["messages"]]
    assert all(isinstance(i, str) and i for i in ids) and len(set(ids)) == 4
    listed = service.get(f"/v1/threads/{data['meta']['thread_id']}/messages").json()["data"]
    assert [message["message_id"] for message in listed["messages"]] == ids


def test_answer_has_both_envelopes(start_service):
    reply = start_service(DEMO).invoke("hello")
    body = reply.json()
    assert body["success"] is True and body["message"] == body["metadata"]["message"]
    assert body["timestamp"] == body["metadata"]["timestamp"]
    assert body["metadata"]["request_id"] == reply.header("X-Request-ID")
    assert set(body["data"]) == {"messages", "state", "context", "summary", "meta"}
    message = body["data"]["messages"][-1]
    assert set(message) >= {
        "message_id", "role", "content", "delta", "tools_calls", "reasoning", "timestamp",
        "metadata", "usages", "raw",
    }
    assert message["content"][0]["type"] == "text"


@pytest.mark.parametrize("granularity", ["low", "partial", "full", None])
def test_granularity(start_service, granularity):
    service = start_service(behaviour("echo"))
    more = {"response_granularity": granularity} if granularity else {}
    data = _data(service.invoke("hi", **more))
    shows_state = granularity in ("partial", "full")
    assert (data["state"] is not None) == shows_state
    assert (data["context"] is not None) == shows_state
    assert data["summary"] is None
    if shows_state:
        assert texts(data["state"]["context"]) == texts(data["context"]) == ["hi", "echo: hi"]
        assert data["state"]["visits"] == ["ECHO"]
        assert data["state"]["execution_meta"]["is_running"] is False


def test_summary_is_shown_at_full_only(start_service):
    service = start_service(behaviour("echo"))
    service.request("PUT", "/v1/threads/t/state", {"state": {"context_summary": "before"}})
    shown = {
        granularity: _data(
            service.invoke("x", config={"thread_id": "t"}, response_granularity=granularity)
        )["summary"]
        for granularity in ("low", "partial", "full")
    }
    assert shown == {"low": None, "partial": None, "full": "before"}


def test_second_turn_returns_both(start_service):
    service = start_service(DEMO)
    first = _data(service.invoke("one"))
    assert first["meta"]["is_new_thread"] is True
    config = {"thread_id": first["meta"]["thread_id"]}
    for _ in range(4):  # on either worker
        again = _data(service.invoke("more", config=config))
        assert again["meta"]["is_new_thread"] is False
    assert texts(again["messages"])[:2] == ["one", "You said: one"]
    assert len(again["messages"]) == 10


def test_new_threads_are_recognised_after_a_restart(start_service):
    service = start_service(DEMO)
    assert _data(service.invoke("one", config={"thread_id": "t"}))["meta"]["is_new_thread"] is True
    service.quit()
    service.wait_until_gone()
    service.start()
    assert _data(service.invoke("two", config={"thread_id": "t"}))["meta"]["is_new_thread"] is False


@pytest.mark.parametrize("thread_id", ["  ", "", None])
def test_blank_thread_id_generates_one(start_service, thread_id):
    service = start_service(DEMO)
    first, second = (
        _data(service.invoke("x", config={"thread_id": thread_id}))["meta"] for _ in range(2)
    )
    assert first["thread_id"].strip() and first["thread_id"] != second["thread_id"]
    assert first["is_new_thread"] and second["is_new_thread"]


def test_placeholder_ids_are_replaced(start_service):
    service = start_service(behaviour("echo"))
    config = {"thread_id": "t"}
    sent = [user(f"m{n}", **fields) for n, fields in enumerate(
        [{"message_id": 0}, {"message_id": "0"}, {"message_id": ""}, {"message_id": None}, {}])]
    data = _data(service.post(_INVOKE, {"messages": sent, "config": config}))
    ids = [message["message_id"] for message in data["messages"]]
    assert len(set(ids)) == 6 and "0" not in ids and "" not in ids
    for text in ("first", "second"):
        sent = [user(text, message_id="0")]
        data = _data(service.post(_INVOKE, {"messages": sent, "config": config}))
    assert [t for t in texts(data["messages"]) if t in ("first", "second")] == ["first", "second"]


@pytest.mark.parametrize(
    "fields, location",
    [
        ({"recursion_limit": 0}, "recursion_limit"),
        ({"recursion_limit": 101}, "recursion_limit"),
        ({"recursion_limit": "many"}, "recursion_limit"),
        ({"response_granularity": "medium"}, "response_granularity"),
        ({"config": []}, "config"),
        ({"initial_state": 5}, "initial_state"),
        ({"messages": []}, "messages"),
        ({"messages": None}, "messages"),
    ],
)
def test_fields_are_checked(start_service, fields, location):
    service = start_service(DEMO)
    for route in (_INVOKE, "/v1/graph/stream"):
        reply = service.post(route, {"messages": [user("x")]} | fields)
        assert reply.status == 422 and reply.header("Content-Type") == "application/json"
        body = reply.json()
        assert location in body["detail"]
        assert body["error"]["details"][0]["loc"] == ["body", location]


@pytest.mark.parametrize("limit", [1, 100])
def test_bounds_of_the_recursion_limit_run(start_service, limit):
    assert start_service(behaviour("echo")).invoke("x", recursion_limit=limit).status == 200


def test_recursion_limit(start_service):
    reply = start_service(behaviour("endless")).invoke("x", recursion_limit=3)
    assert reply.status == 500
    assert reply.json()["error"]["code"] == "GRAPH_RECURSION_ERROR"


def test_failing_node_is_500_and_the_thread_goes_on(start_service):
    service = start_service(behaviour("throwing"))
    for _ in range(3):
        reply = service.invoke("x", config={"thread_id": "t"})
        assert reply.status == 500
        assert reply.json()["error"]["code"] == "GRAPH_ERROR"
    state = service.get("/v1/threads/t/state").json()["data"]["state"]
    assert state["execution_meta"]["is_running"] is False


def test_messages_that_hold_nothing_for_a_model_are_422(start_service):
    service = start_service(DEMO)
    call = {"type": "tool_call", "id": "c", "name": "x"}
    result = {"type": "tool_result", "call_id": "c", "output": "x"}
    reply = service.post(_INVOKE, {"messages": [{"role": "user", "content": [call, result]}]})
    assert reply.status == 422
    assert "nothing that a model could answer" in reply.json()["detail"]


def test_tool_call(start_service):
    data = _data(start_service(DEMO).invoke("call current_time"))
    roles = [message["role"] for message in data["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant"]
    calls = data["messages"][1]["tools_calls"]
    assert calls[0]["type"] == "function" and calls[0]["function"]["name"] == "current_time"
    result = data["messages"][2]["content"][0]
    assert result["type"] == "tool_result" and result["call_id"] == calls[0]["id"]
    assert result["is_error"] is False


def test_runs_of_one_thread_queue_up(start_service):
    service = start_service(behaviour("sleeping"))
    replies = []

    def run():
        replies.append(service.invoke("x", config={"thread_id": "t", "sleep_ms": 200}))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [reply.status for reply in replies] == [200, 200]
    sizes = sorted(len(reply.json()["data"]["messages"]) for reply in replies)
    assert sizes == [2, 4]


def test_a_busy_thread_is_409_when_configured(start_service):
    service = start_service(behaviour("sleeping", busy_thread="reject"))
    stream = service.stream("x", config={"thread_id": "t", "sleep_ms": 20000})
    assert stream.read_head().status == 200
    reply = service.invoke("x", config={"thread_id": "t"})
    assert reply.status == 409
    assert reply.json()["error"]["code"] == "THREAD_BUSY"
    stream.close()


def test_without_a_checkpointer(start_service):
    service = start_service(behaviour("echo", checkpointer={"type": "none"}))
    meta = _data(service.invoke("x"))["meta"]
    assert meta["thread_id"]
    assert service.stream("x").ended_with_done()
    for method, target in [
        ("GET", "/v1/threads"), ("GET", "/v1/threads/t"), ("DELETE", "/v1/threads/t"),
        ("GET", "/v1/threads/t/state"), ("PUT", "/v1/threads/t/state"),
        ("GET", "/v1/threads/t/messages"), ("POST", "/v1/threads/t/messages"),
    ]:
        reply = service.request(method, target, {} if method != "GET" else None)
        assert reply.status == 503, target
        assert reply.json()["detail"] == "checkpointer not configured"


@pytest.mark.leveldb("the name of the checkpointer")
@pytest.mark.parametrize("type_", ["leveldb", "memory", "none"])
def test_graph_info(start_service, type_):
    service = start_service(behaviour("echo", checkpointer={"type": type_}))
    data = service.get("/v1/graph").json()["data"]
    info = data["info"]
    assert info["checkpointer"] is (type_ != "none")
    assert info["checkpointer_type"] == (None if type_ == "none" else type_)
    assert [node["name"] for node in data["nodes"]] == ["__start__", "ECHO", "__end__"]
    assert info["node_count"] == len(data["nodes"])
    assert info["edge_count"] == len(data["edges"]) == 2
    assert data["edges"][0]["source"] == "__start__" and data["edges"][0]["target"] == "ECHO"
    assert info["state_fields"] == ["context", "context_summary", "execution_meta", "visits"]
    assert info["is_realtime"] is False and info["publisher"] is False and info["store"] is False
    assert info["id_type"] == "string" and info["context_type"] is None
    assert isinstance(info["id_generator"], str) and isinstance(info["state_type"], str)


@pytest.mark.parametrize("prefix", ["/", "/support/"])
def test_state_schema_routes_with_its_colon(start_service, prefix):
    service = start_service(behaviour("echo"), prefix=prefix)
    for target in ("/v1/graph:StateSchema", "/v1/graph%3aStateSchema"):
        schema = _data(service.get(target))
        assert schema["type"] == "object"
        assert set(schema["properties"]) >= {"context", "context_summary", "execution_meta", "visits"}
    assert service.get("/v1/graph:Other").status == 404
    assert service.post("/v1/graph:StateSchema", {}).status == 405


def test_bodies_of_every_size_arrive_whole(start_service):
    service = start_service(behaviour("echo"))
    for size in (10, 20_000, 70_000, 900_000):
        text = "é" * (size // 2)
        assert texts(_data(service.invoke(text))["messages"])[1] == "echo: " + text


def test_chunked_and_split_bodies(start_service):
    service = start_service(behaviour("echo"))
    with service.connect() as connection:
        body = b'{"messages":[{"role":"user","content":"chunked"}]}'
        connection.send(b"POST /v1/graph/invoke HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        for start in range(0, len(body), 7):
            piece = body[start : start + 7]
            connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        connection.send(b"0\r\n\r\n")
        assert texts(_data(connection.read_reply())["messages"])[0] == "chunked"
        connection.send_split(
            b"POST /v1/graph/invoke HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s"
            % (len(body), body)
        )
        assert _data(connection.read_reply())["meta"]["thread_id"]


def test_reserved_config_keys_do_no_harm(start_service):
    config = {"user": {"user_id": "root"}, "user_id": "root", "authz": {"scope": "none"}, "_x": 1}
    data = _data(start_service(DEMO).invoke("x", config=config | {"run_id": "run-7"}))
    thread = data["meta"]["thread_id"]
    assert data["meta"]["run_id"] == "run-7" and thread
