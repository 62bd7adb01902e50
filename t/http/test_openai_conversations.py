"""OpenAI's Conversations API: threads as conversations, and their messages as items."""

import json

import pytest

from harness.agents import DEMO, asking
from harness.messages import texts
from harness.openai_chat import error
from harness.openai_responses import PATH as RESPONSES
from harness.openai_responses import ask, completed
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.tool_graph import asks, serve_with_mock, tool_graph
from harness.waiting import wait_until

PATH = "/openai/v1/conversations"
_WEATHER = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}}
_CALL = {"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": "{}"}


@pytest.fixture
def service(start_service):
    return start_service(DEMO)


def _user(text):
    return {"role": "user", "content": text}


def _created(service, **body):
    reply = service.post(PATH, body)
    assert reply.status == 200, reply.text
    return reply.json()


def _items(service, conversation, query=""):
    reply = service.get(f"{PATH}/{conversation}/items{query}")
    assert reply.status == 200, reply.text
    return reply.json()


def _texts(items):
    return [item["content"][0]["text"] for item in items]


# Conversations


def test_a_conversation_is_a_thread(service):
    conversation = _created(service, metadata={"topic": "rain"}, items=[_user("one")])
    assert conversation["object"] == "conversation" and conversation["metadata"] == {"topic": "rain"}
    path = f"{PATH}/{conversation['id']}"
    assert service.get(path).json() == conversation
    native = f"/v1/threads/{conversation['id']}"
    assert service.get(native).json()["data"]["thread_data"]["metadata"] == {"topic": "rain"}
    response = completed(service.post(RESPONSES, ask("two", conversation=conversation["id"])))
    assert response["conversation"] == {"id": conversation["id"]}
    messages = service.get(f"{native}/messages").json()["data"]["messages"]
    assert texts(messages) == ["one", "two", "You said: two"]
    listed = _items(service, conversation["id"], "?order=asc")
    assert _texts(listed["data"]) == ["one", "two", "You said: two"]
    assert listed["data"][-1]["id"] == response["output"][0]["id"]
    gone = service.request("DELETE", path)
    assert gone.json() == {"id": conversation["id"], "object": "conversation.deleted", "deleted": True}
    assert service.get(native).status == 404
    for reply in (service.get(path), service.get(f"{path}/items"), service.request("DELETE", path),
                  service.get(f"{RESPONSES}/{response['id']}"), service.post(path, {"metadata": {}}),
                  service.post(f"{path}/items", {"items": [_user("x")]})):
        assert reply.status == 404 and error(reply)["type"] == "invalid_request_error", reply.text
    assert service.get("/v1/threads").json()["data"]["threads"] == [], "nothing has created it again"


def test_a_thread_of_another_route_is_a_conversation(service):
    completed(service.post(RESPONSES, ask("one", conversation="talk")))
    assert service.get(f"{PATH}/talk").json()["metadata"] == {}
    assert _texts(_items(service, "talk")["data"]) == ["You said: one", "one"]


def test_a_conversation_may_begin_empty(service):
    for body in (None, {}, {"items": [], "metadata": None}):
        reply = service.request("POST", PATH, None if body is None else json.dumps(body))
        assert reply.status == 200, reply.text
        empty = _items(service, reply.json()["id"])
        assert empty == {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}


def test_metadata_is_replaced(service):
    conversation = _created(service, metadata={"topic": "rain", "user": "Ada"})
    path = f"{PATH}/{conversation['id']}"
    native = f"/v1/threads/{conversation['id']}/messages"
    body = {"messages": [{"role": "user", "content": "x"}], "metadata": {"size": 3, "topic": "snow"}}
    assert service.post(native, body).status == 200
    assert service.get(path).json()["metadata"] == {"topic": "snow", "user": "Ada"}
    changed = service.post(path, {"metadata": {"topic": "sun"}}).json()
    assert changed == conversation | {"metadata": {"topic": "sun"}}
    assert service.post(path, {"metadata": None}).json()["metadata"] == {}
    thread = service.get(f"/v1/threads/{conversation['id']}").json()["data"]["thread_data"]
    assert thread["metadata"] == {"size": 3}, "only texts are metadata of the conversation"


def test_a_deleted_response_stays_deleted_when_metadata_changes(service):
    conversation = _created(service)["id"]
    response = completed(service.post(RESPONSES, ask("one", conversation=conversation)))
    assert service.request("DELETE", f"{RESPONSES}/{response['id']}").status == 200
    assert service.post(f"{PATH}/{conversation}", {"metadata": {"a": "b"}}).json()["metadata"] == {"a": "b"}
    assert service.get(f"{RESPONSES}/{response['id']}").status == 404


# Items


def test_items_come_in_pages_in_both_orders(service):
    conversation = _created(service, items=[_user(f"number {number}") for number in range(20)])["id"]
    added = service.post(f"{PATH}/{conversation}/items", {"items": [_user("number 20"), _user("number 21")]})
    assert _texts(added.json()["data"]) == ["number 20", "number 21"]
    expected = [f"number {number}" for number in range(22)]
    for order, wanted in (("asc", expected), ("desc", expected[::-1])):
        found, after = [], ""
        while True:
            page = _items(service, conversation, f"?order={order}&limit=5{after}")
            assert page["first_id"] == page["data"][0]["id"] and page["last_id"] == page["data"][-1]["id"]
            found += page["data"]
            if not page["has_more"]:
                break
            after = f"&after={page['last_id']}"
        assert _texts(found) == wanted
        assert _items(service, conversation, f"?order={order}&after={found[-1]['id']}")["data"] == []
    newest = _items(service, conversation)
    assert len(newest["data"]) == 20 and newest["has_more"] is True
    assert newest["data"][0]["id"] == added.json()["last_id"]


def test_items_of_one_message_can_be_on_two_pages(service):
    answer = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Oslo?"}]},
        {"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": "{}"},
    ]
    result = {"type": "function_call_output", "call_id": "c", "output": "sunny"}
    conversation = _created(service)["id"]
    added = service.post(f"{PATH}/{conversation}/items", {"items": [_user("weather"), *answer, result]}).json()
    types = ["message", "reasoning", "message", "function_call", "function_call_output"]
    assert [item["type"] for item in added["data"]] == types
    for order, wanted in (("asc", added["data"]), ("desc", added["data"][::-1])):
        found, after = [], ""
        for _ in wanted:
            page = _items(service, conversation, f"?order={order}&limit=1{after}")
            found += page["data"]
            after = f"&after={page['last_id']}"
        assert found == wanted and page["has_more"] is False
    path = f"{PATH}/{conversation}"
    for item in added["data"]:
        assert service.get(f"{path}/items/{item['id']}").json() == item
    # The items of one message go together.
    deleted = service.request("DELETE", f"{path}/items/{added['data'][2]['id']}")
    assert deleted.status == 200 and deleted.json() == service.get(path).json()
    left = _items(service, conversation, "?order=asc")["data"]
    assert left == [added["data"][0], added["data"][4]]
    for item in added["data"][1:4]:
        for method in ("GET", "DELETE"):
            assert service.request(method, f"{path}/items/{item['id']}").status == 404
    gone = service.get(f"{path}/items?after={added['data'][1]['id']}")
    assert gone.status == 400 and error(gone)["param"] == "after"


def test_the_agent_sees_items_that_were_added(make_service, start_mock_provider):
    mock = start_mock_provider([{"match": {"userMessage": "and now"}, "response": {"content": "fine"}}])
    service = serve_with_mock(make_service, mock, tool_graph(tools=["calculator"]))
    conversation = _created(service, items=[_user("my name is Ada")])["id"]
    service.post(f"{PATH}/{conversation}/items", {"items": [{"role": "assistant", "content": "Hello Ada"}]})
    completed(service.post(RESPONSES, ask("and now", conversation=conversation)))
    asked = [message for message in mock.messages() if message["role"] != "system"]
    assert [message["content"] for message in asked] == ["my name is Ada", "Hello Ada", "and now"]


def test_items_can_be_added_while_a_run_is_in_flight(start_service, gated_provider):
    service = start_service(asking(gated_provider))
    conversation = _created(service)["id"]
    gated_provider.close_gate()
    response = service.post(RESPONSES, ask("one", conversation=conversation, background=True)).json()
    gated_provider.wait_for_waiting(1)
    assert service.post(f"{PATH}/{conversation}/items", {"items": [_user("two")]}).status == 200
    gated_provider.open_gate()
    wait_until(
        lambda: service.get(f"{RESPONSES}/{response['id']}").json()["status"] == "completed",
        "the response is completed",
    )
    listed = _items(service, conversation, "?order=asc")["data"]
    assert _texts(listed) == ["one", "two", gated_provider.text]


def test_a_call_of_the_client_is_listed_once(make_service, start_mock_provider):
    """The thread keeps it twice: in the answer of the model, and in the message that hands it out."""
    mock = start_mock_provider(asks("weather", ("get_weather", {"city": "Oslo"})))
    service = serve_with_mock(make_service, mock, tool_graph(tools=["calculator"]))
    conversation = _created(service)["id"]
    (call,) = completed(service.post(RESPONSES, ask("weather", conversation=conversation, tools=[_WEATHER])))["output"]
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}
    completed(service.post(RESPONSES, ask([result], conversation=conversation, tools=[_WEATHER])))
    listed = _items(service, conversation, "?order=asc")["data"]
    assert [item["type"] for item in listed] == ["message", "function_call", "function_call_output", "message"]
    assert listed[1]["call_id"] == call["call_id"]
    assert service.get(f"{PATH}/{conversation}/items/{call['id']}").json()["call_id"] == call["call_id"]


@pytest.mark.parametrize("named_by", ["response", "list"])
def test_a_deleted_call_of_the_client_leaves_no_copy(make_service, start_mock_provider, named_by):
    mock = start_mock_provider(asks("weather", ("get_weather", {"city": "Oslo"})))
    service = serve_with_mock(make_service, mock, tool_graph(tools=["calculator"]))
    conversation = _created(service)["id"]
    (call,) = completed(service.post(RESPONSES, ask("weather", conversation=conversation, tools=[_WEATHER])))["output"]
    ids = {"response": call["id"], "list": _items(service, conversation)["first_id"]}
    assert service.request("DELETE", f"{PATH}/{conversation}/items/{ids[named_by]}").status == 200
    assert [item["type"] for item in _items(service, conversation)["data"]] == ["message"]
    for item in ids.values():
        assert service.get(f"{PATH}/{conversation}/items/{item}").status == 404
    messages = service.get(f"/v1/threads/{conversation}/messages").json()["data"]["messages"]
    assert [message["role"] for message in messages] == ["user"]


def test_calls_with_the_same_id_do_not_repeat_a_page(service):
    conversation = _created(service, items=[_CALL, _CALL, _user("x")])["id"]
    first = _items(service, conversation, "?order=asc&limit=1")
    second = _items(service, conversation, f"?order=asc&limit=1&after={first['last_id']}")
    assert second["data"][0]["type"] == "message" and second["has_more"] is False


def test_items_may_refer_to_others(service):
    first = _created(service, items=[_user("one")])["id"]
    (item,) = _items(service, first)["data"]
    copy = _created(service, items=[{"type": "item_reference", "id": item["id"]}])["id"]
    assert _texts(_items(service, copy)["data"]) == ["one"]
    other = service.get(f"{PATH}/{copy}/items/{item['id']}")
    assert other.status == 404, "the item is of another conversation"


def test_what_is_refused(service):
    conversation = _created(service)["id"]
    path = f"{PATH}/{conversation}"
    many = [_user("x")] * 21
    for target, body, param in (
        (PATH, {"items": many}, "items"),
        (PATH, {"items": "text"}, "items"),
        (PATH, {"items": ["text"]}, "items[0]"),
        (PATH, {"items": [_user("x"), {"role": "robot", "content": "x"}]}, "items[1].role"),
        (PATH, {"metadata": "text"}, "metadata"),
        (PATH, {"metadata": {"a": 1}}, "metadata.a"),
        (PATH, {"metadata": {"a": "x" * 513}}, "metadata.a"),
        (PATH, {"metadata": {str(number): "" for number in range(17)}}, "metadata"),
        (PATH, {"metadata": {"deleted_responses": "x"}}, "metadata.deleted_responses"),
        (path, {}, "metadata"),
        (path, {"metadata": {"x" * 65: "x"}}, "metadata"),
        (f"{path}/items", {}, "items"),
        (f"{path}/items", {"items": []}, "items"),
        (f"{path}/items", {"items": many}, "items"),
        (f"{path}/items", {"items": [{"type": "web_search_call"}]}, "items[0].type"),
        (f"{path}/items", {"items": [{"type": "item_reference", "id": "msg_x"}]}, "items[0].id"),
        (f"{path}/items", {"items": [_CALL | {"call_id": ""}]}, "items[0].call_id"),
        (f"{path}/items", {"items": [_CALL | {"name": ""}]}, "items[0].name"),
        (f"{path}/items", {"items": [{"type": "function_call_output", "call_id": "", "output": "x"}]},
         "items[0].call_id"),
    ):
        refused = service.post(target, body)
        assert refused.status == 400 and error(refused)["param"] == param, (body, refused.text)
    for query, param in (("limit=0", "limit"), ("limit=101", "limit"), ("order=up", "order"),
                         ("after=msg_x", "after")):
        refused = service.get(f"{path}/items?{query}")
        assert refused.status == 400 and error(refused)["param"] == param, refused.text
    assert service.get(f"{PATH}/nowhere/items?after=msg_x").status == 404
    assert service.get(f"{path}/items/msg_x").status == 404
    assert service.get(f"{PATH}/0").status == 400
    assert len(service.get("/v1/threads").json()["data"]["threads"]) == 1
    assert _items(service, conversation)["data"] == []


def test_without_a_checkpointer_there_are_none(start_service):
    service = start_service(DEMO | {"checkpointer": {"type": "none"}})
    for reply in (service.post(PATH, {}), service.get(f"{PATH}/x"), service.get(f"{PATH}/x/items")):
        assert reply.status == 503 and error(reply)["code"] == "not_configured", reply.text
        assert reply.header("x-should-retry") == "false"


# Users


def test_a_conversation_is_its_users_own(start_service):
    """Whatever the other user tries, the answer is that of a conversation that never existed."""
    settings = DEMO | {"auth": "jwt", "env": "secrets.env", "authorization": "ownership"}
    service = start_service(settings, files={"secrets.env": JWT_ENVIRONMENT})
    alice, bob = bearer("alice"), bearer("bob")
    created = service.post(PATH, {"items": [_user("secret")], "metadata": {"a": "secret"}}, headers=alice)
    conversation = created.json()["id"]
    item = service.get(f"{PATH}/{conversation}/items", headers=alice).json()["data"][0]["id"]
    for method, tail, body in (
        ("GET", "", None), ("POST", "", {"metadata": {}}), ("DELETE", "", None), ("GET", "/items", None),
        ("GET", f"/items?after={item}", None), ("POST", "/items", {"items": [_user("x")]}),
        ("GET", f"/items/{item}", None), ("DELETE", f"/items/{item}", None),
        # What is wrong with a request does not tell the two apart either.
        ("POST", "", "{"), ("POST", "", {}), ("POST", "", {"metadata": 1}), ("GET", "/items?limit=0", None),
        ("POST", "/items", "{"), ("POST", "/items", {}), ("POST", "/items", {"items": [{"type": "unknown"}]}),
    ):
        refused = service.request(method, f"{PATH}/{conversation}{tail}", body, headers=bob)
        unknown = service.request(method, f"{PATH}/nowhere{tail}", body, headers=bob)
        assert refused.status == 404 and refused.text == unknown.text, (method, tail, refused.text)
    copied = service.post(PATH, {"items": [{"type": "item_reference", "id": item}]}, headers=bob)
    assert copied.status == 400 and "secret" not in copied.text
    found = service.get(f"{PATH}/{conversation}", headers=alice).json()
    assert found == created.json()
    listed = service.get(f"{PATH}/{conversation}/items", headers=alice).json()["data"]
    assert [entry["id"] for entry in listed] == [item]
