"""The threads routes against a real nginx."""

import pytest

from harness.agents import behaviour
from harness.messages import texts, user
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.waiting import wait_until

_INVOKE = "/v1/graph/invoke"
_ECHO = behaviour("echo")


def _data(reply, status=200):
    assert reply.status == status, reply.text
    return reply.json()["data"]


def _run(service, thread_id, text="hi"):
    return _data(service.invoke(text, config={"thread_id": thread_id}))


def test_list_is_newest_first_and_paged(start_service):
    service = start_service(_ECHO)
    for name in ("a", "b", "c"):
        _run(service, name)
    _run(service, "a", "again")
    threads = _data(service.get("/v1/threads"))["threads"]
    assert [thread["thread_id"] for thread in threads] == ["a", "c", "b"]
    assert set(threads[0]) >= {
        "thread_id", "thread_name", "name", "user_id", "metadata", "created_at", "updated_at", "run_id",
    }
    page = _data(service.get("/v1/threads?offset=1&limit=1"))["threads"]
    assert [thread["thread_id"] for thread in page] == ["c"]
    first = _data(service.get("/v1/threads?limit=2"))
    rest = _data(service.get(f"/v1/threads?limit=2&cursor={first['next_cursor']}"))
    assert [thread["thread_id"] for thread in rest["threads"]] == ["b"]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize("route", ["/v1/threads", "/v1/threads/t/messages"])
def test_page_parameters(start_service, route):
    service = start_service(_ECHO)
    _run(service, "t")
    for query in ("limit=5000", "limit=1000", "offset=0", "search=", "limit=1&limit=2"):
        assert service.get(f"{route}?{query}").status == 200, query
    for query in ("limit=0", "limit=-1", "limit=abc", "offset=-1", "offset=x"):
        reply = service.get(f"{route}?{query}")
        assert reply.status == 422, query
        name = query.split("=")[0]
        assert reply.json()["error"]["details"][0]["loc"] == ["query", name]
    assert service.get(f"{route}?limit=99999999999999999999").status in (200, 422)


@pytest.mark.parametrize("route", ["/v1/threads", "/v1/threads/t/messages"])
def test_an_offset_beyond_everything_gives_an_empty_page(start_service, route):
    service = start_service(_ECHO)
    for _ in range(3):
        _run(service, "t")
    items = route.rsplit("/", 1)[1]
    for offset in (10**6, 10**18, 2**62, 2**63, 2**64 - 1, 2**64, 10**30):
        for query in ("", "&limit=1000", "&search=hi"):
            data = _data(service.get(f"{route}?offset={offset}{query}"))
            assert data[items] == [] and not data.get("next_cursor") and "next_offset" not in data


def test_an_offset_from_a_cursor_never_leads_back(start_service):
    service = start_service(_ECHO)
    for _ in range(3):
        _run(service, "t")
    first = _data(service.get("/v1/threads/t/messages?limit=1"))
    for cursor in (first["next_cursor"], f"{2**64 - 1}", f"{2**63}-{2**63}"):
        for offset in (5, 10**18, 2**64):
            data = _data(service.get(f"/v1/threads/t/messages?cursor={cursor}&offset={offset}"))
            assert data == {"messages": []}, (cursor, offset)


def _pages(service, query):
    """Returns the sizes of all pages of a list of messages, following next offsets."""
    sizes, offset = [], 0
    while offset is not None:
        data = _data(service.get(f"/v1/threads/t/messages?offset={offset}&{query}"))
        sizes.append(len(data["messages"]))
        assert sizes[-1] > 0 and data.get("next_offset", offset + sizes[-1]) == offset + sizes[-1]
        offset = data.get("next_offset")
    return sizes


def test_pages_of_messages_tell_where_to_go_on(start_service):
    service = start_service(_ECHO)
    messages = [user(f"m{n} {'odd' if n % 2 else 'even'}") for n in range(2000)]
    assert service.post("/v1/threads/t/messages", {"messages": messages}).status == 200
    assert _pages(service, "limit=999") == [999, 999, 2]
    assert _pages(service, "limit=1000") == [1000, 1000]
    assert _pages(service, "limit=400&search=odd") == [400, 400, 200]
    assert _pages(service, "limit=500&search=odd") == [500, 500]


def test_large_pages_of_messages_end_early_and_tell_it(start_service):
    service = start_service(_ECHO)
    for _ in range(2):
        messages = [user("x" * 950_000) for _ in range(5)]
        assert service.post("/v1/threads/t/messages", {"messages": messages}).status == 200
    assert _pages(service, "limit=100") == [8, 2]
    assert _pages(service, "limit=9") == [8, 2]
    assert _pages(service, "limit=8") == [8, 2]
    assert _pages(service, "limit=5") == [5, 5]


def test_limit_is_clamped(start_service):
    service = start_service(_ECHO)
    messages = [user(f"m{n}") for n in range(1001)]
    assert service.post("/v1/threads/t/messages", {"messages": messages}).status == 200
    assert len(_data(service.get("/v1/threads/t/messages"))["messages"]) == 100
    assert len(_data(service.get("/v1/threads/t/messages?limit=5000"))["messages"]) == 1000
    tail = _data(service.get("/v1/threads/t/messages?limit=5000&offset=1000"))["messages"]
    assert texts(tail) == ["m1000"]


def test_record_has_both_shapes(start_service):
    service = start_service(_ECHO)
    _run(service, "t")
    record = _data(service.get("/v1/threads/t"))["thread_data"]
    assert record["thread_id"] == record["thread"]["thread_id"] == "t"
    assert record["user_id"] is None and record["run_id"]


def test_unknown_thread(start_service):
    service = start_service(_ECHO)
    for method, tail in [
        ("GET", ""), ("DELETE", ""), ("GET", "/state"), ("DELETE", "/state"), ("GET", "/messages"),
        ("GET", "/messages/m"), ("DELETE", "/messages/m"),
    ]:
        body = {} if method == "DELETE" else None
        reply = service.request(method, f"/v1/threads/none{tail}", body)
        assert reply.status == 404, (method, tail)
        assert reply.json()["error"]["code"] == "RESOURCE_NOT_FOUND"


def test_writes_create_the_thread(start_service):
    service = start_service(_ECHO)
    assert _data(service.request("PUT", "/v1/threads/p/state", {"state": {"x": 1}}))["updated"] is True
    assert _data(service.post("/v1/threads/m/messages", {"messages": [user("x")]}))["success"] is True
    ids = {thread["thread_id"] for thread in _data(service.get("/v1/threads"))["threads"]}
    assert ids == {"p", "m"}


def test_delete_bodies(start_service):
    service = start_service(_ECHO)
    json_header = {"Content-Type": "application/json"}
    for body in ({}, {"config": {}}, {"config": {"thread_id": "other"}}):
        _run(service, "t")
        _run(service, "other")
        assert service.request("DELETE", "/v1/threads/t").status == 422
        assert service.request("DELETE", "/v1/threads/t", headers=json_header).status == 422
        assert _data(service.request("DELETE", "/v1/threads/t", body))["success"] is True
        assert service.get("/v1/threads/other").status == 200
    data = _run(service, "t")
    for headers, body in (({}, None), (json_header, None), ({}, {}), ({}, {"config": {}})):
        deleted = service.request("DELETE", "/v1/threads/t/state", body, headers=headers)
        assert _data(deleted)["deleted"] is True
    for message, headers in zip(data["messages"], ({}, json_header)):
        target = f"/v1/threads/t/messages/{message['message_id']}"
        assert _data(service.request("DELETE", target, headers=headers))["success"] is True
        assert service.get(target).status == 404


def test_a_deleted_thread_starts_anew(start_service):
    service = start_service(_ECHO)
    _run(service, "t")
    service.request("DELETE", "/v1/threads/t", {})
    again = _run(service, "t", "new")
    assert again["meta"]["is_new_thread"] is True
    assert texts(again["messages"]) == ["new", "echo: new"]


def test_put_state_merges(start_service):
    service = start_service(_ECHO)
    _run(service, "t")

    def put(state):
        data = _data(service.request("PUT", "/v1/threads/t/state", {"state": state, "config": {}}))
        assert data["updated"] is True
        assert data["state"] == _data(service.get("/v1/threads/t/state"))["state"]
        return data["state"]

    state = put({"profile": {"name": "Ada", "tags": ["a", "b"]}, "score": 1})
    assert state["visits"] == ["ECHO"] and state["score"] == 1
    state = put({"profile": {"tags": ["c"], "age": 36}, "score": None, "context_summary": "so far"})
    assert state["profile"] == {"name": "Ada", "tags": ["c"], "age": 36}
    assert state.get("score") is None and state["context_summary"] == "so far"
    known = state["context"][0]["message_id"]
    state = put({"context": [user("changed", message_id=known), user("added", message_id="new")],
                 "execution_meta": {"step": 99, "is_running": True}, "context_summary": None})
    assert texts(state["context"]) == ["changed", "echo: hi", "added"]
    assert state["execution_meta"]["is_running"] is False and state["execution_meta"]["step"] != 99
    assert state["context_summary"] is None


def test_delete_state_keeps_record_and_messages(start_service):
    service = start_service(_ECHO)
    _run(service, "t")
    service.request("PUT", "/v1/threads/t/state", {"state": {"score": 1, "context_summary": "s"}})
    data = _data(service.request("DELETE", "/v1/threads/t/state"))
    assert data["deleted"] is data["success"] is True
    state = _data(service.get("/v1/threads/t/state"))["state"]
    assert state["context"] == [] and state["context_summary"] is None and "score" not in state
    assert len(_data(service.get("/v1/threads/t/messages"))["messages"]) == 2
    assert service.get("/v1/threads/t").status == 200
    again = _data(service.invoke("fresh", config={"thread_id": "t"}, response_granularity="full"))
    assert texts(again["context"]) == ["fresh", "echo: fresh"]
    assert again["meta"]["is_new_thread"] is False


def test_a_thread_without_state_is_its_owners_still(start_service):
    settings = {"auth": "jwt", "env": "env", "authorization": "ownership"}
    service = start_service(_ECHO | settings, files={"env": JWT_ENVIRONMENT})
    alice, bob = bearer("alice"), bearer("bob")

    def invoke(text, headers):
        body = {"messages": [user(text)], "config": {"thread_id": "t"}, "response_granularity": "full"}
        return service.post(_INVOKE, body, headers=headers)

    for text in ("one", "two"):
        _data(invoke(text, alice))
        _data(service.request("DELETE", "/v1/threads/t/state", headers=alice))
        listed = _data(service.get("/v1/threads", headers=alice))["threads"]
        assert [(thread["thread_id"], thread["user_id"]) for thread in listed] == [("t", "alice")]
        assert _data(service.get("/v1/threads", headers=bob))["threads"] == []
        assert service.get("/v1/threads/t/state", headers=bob).status == 403
        assert invoke("mine now", bob).status == 403
    context = _data(invoke("three", alice))["context"]
    assert texts([message for message in context if message["role"] == "user"]) == ["three"]


def test_messages_are_added_read_searched_and_deleted(start_service):
    service = start_service(_ECHO)
    _run(service, "t", "needle one")
    added = service.post("/v1/threads/t/messages", {
        "config": {}, "metadata": {"topic": "x"},
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Second NEEDLE", "annotations": []}],
             "message_id": None, "delta": False, "timestamp": 1781611200250, "metadata": {},
             "usages": None, "raw": None, "tools_calls": None, "reasoning": ""},
            {"role": "assistant", "content": "hay", "message_id": "given"},
        ],
    })
    assert _data(added)["success"] is True
    messages = _data(service.get("/v1/threads/t/messages"))["messages"]
    assert texts(messages) == ["needle one", "echo: needle one", "Second NEEDLE", "hay"]
    assert messages[2]["timestamp"] == 1781611200.25
    found = _data(service.get("/v1/threads/t/messages?search=needle"))["messages"]
    assert texts(found) == ["needle one", "echo: needle one", "Second NEEDLE"]
    one = _data(service.get("/v1/threads/t/messages/given"))
    assert one["message_id"] == "given" and texts([one]) == ["hay"]
    assert _data(service.get("/v1/threads/t"))["thread_data"]["metadata"]["topic"] == "x"
    # Added messages are in the window of the next run; deleted ones are not.
    service.request("DELETE", f"/v1/threads/t/messages/{messages[0]['message_id']}")
    after = _run(service, "t", "last")
    assert texts(after["messages"])[-2:] == ["last", "echo: last"]
    assert "Second NEEDLE" in texts(after["messages"])
    assert "needle one" not in texts(after["messages"])
    for body in ({"messages": []}, {}, {"messages": [{"role": "king", "content": "x"}]}):
        assert service.post("/v1/threads/t/messages", body).status == 422


@pytest.mark.parametrize("method, target", [
    ("POST", "/v1/threads"), ("PUT", "/v1/threads/t"), ("POST", "/v1/threads/t/state"),
    ("PATCH", "/v1/threads/t/messages"), ("GET", _INVOKE),
])
def test_wrong_method(start_service, method, target):
    reply = start_service(_ECHO).request(method, target, {})
    assert reply.status == 405
    assert "OPTIONS" in reply.header("Allow") and method not in reply.header("Allow").split(", ")
    assert reply.json()["error"]["code"] == "METHOD_NOT_ALLOWED"


def test_threads_that_nothing_happens_on_go_when_the_settings_say_so(start_service):
    def serve(**checkpointer):
        service = start_service(behaviour("echo", checkpointer={"type": "leveldb"} | checkpointer))
        for thread_id in ("t", "busy"):
            assert service.invoke("hello", config={"thread_id": thread_id}).status == 200
        return service

    patient, forgetful = [serve(ttl=3600), serve()], serve(ttl=10)

    def gone():
        # Activity on a thread delays its expiry.
        assert forgetful.invoke("again", config={"thread_id": "busy"}).status == 200
        return forgetful.get("/v1/threads/t").status == 404

    wait_until(gone, "the thread has expired")
    listed = forgetful.get("/v1/threads").json()["data"]["threads"]
    assert [thread["thread_id"] for thread in listed] == ["busy"]
    assert forgetful.get("/v1/threads/t/messages").status == 404
    assert len(forgetful.get("/v1/threads/busy/messages").json()["data"]["messages"]) > 2
    for service in patient:
        assert service.get("/v1/threads/t").status == 200
