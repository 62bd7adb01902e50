"""Responses that are stored: conversations, responses in the background, and requests that are repeated."""

import concurrent.futures
import contextlib
import json

import pytest

from harness import processes
from harness.agents import DEMO, asking
from harness.messages import texts
from harness.openai_chat import error
from harness.openai_responses import PATH, ask, completed, deltas, events, events_in, output_text
from harness.run_stream import RunStream
from harness.service import invocation
from harness.waiting import wait_until

_WEATHER = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}}


@pytest.fixture
def service(start_service):
    return start_service(DEMO)


def _threads(service):
    return service.get("/v1/threads").json()["data"]["threads"]


# Conversations


def test_a_response_follows_another(service):
    first = completed(service.post(PATH, ask("one")))
    second = completed(service.post(PATH, ask("two", previous_response_id=first["id"])))
    (thread,) = _threads(service)
    page = service.get(f"/v1/threads/{thread['thread_id']}/messages").json()["data"]
    assert texts(page["messages"]) == ["one", "You said: one", "two", "You said: two"]
    # Another one that follows the first does not see the second.
    branch = completed(service.post(PATH, ask("three", previous_response_id=first["id"])))
    assert len(_threads(service)) == 2
    listed = service.get(f"{PATH}/{branch['id']}/input_items?order=asc").json()["data"]
    assert [item["content"][0]["text"] for item in listed] == ["one", "You said: one", "three"]
    assert second["previous_response_id"] == branch["previous_response_id"] == first["id"]


def test_a_branch_of_a_long_conversation_begins_with_a_message_of_the_user(start_service):
    """A window that begins with the result of a tool lacks its call, which no model takes."""
    service = start_service(DEMO | {"window_max": 3})
    call = {"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c", "output": "sunny"}
    asked = [{"role": "user", "content": "weather"}, call, result, {"role": "user", "content": "one"}]
    first = completed(service.post(PATH, ask(asked)))
    branch = completed(service.post(PATH, ask("two", previous_response_id=first["id"], store=False)))
    assert output_text(branch) == "You said: two"
    stored = [completed(service.post(PATH, ask(text, previous_response_id=first["id"]))) for text in ("x", "y")]
    listed = service.get(f"{PATH}/{stored[1]['id']}/input_items?order=asc").json()["data"]
    assert [item["content"][0]["text"] for item in listed] == ["one", "You said: one", "y"]


def test_a_branch_keeps_a_turn_that_is_longer_than_the_window(start_service):
    service = start_service(DEMO | {"window_max": 4})
    items = [{"role": "user", "content": "weather"}]
    for call_id in ("c1", "c2"):
        items.append({"type": "function_call", "call_id": call_id, "name": "get_weather", "arguments": "{}"})
        items.append({"type": "function_call_output", "call_id": call_id, "output": "sunny"})
    first = completed(service.post(PATH, ask(items)))
    stored = [completed(service.post(PATH, ask(text, previous_response_id=first["id"]))) for text in ("x", "y")]
    listed = service.get(f"{PATH}/{stored[1]['id']}/input_items?order=asc").json()["data"]
    turn = ["function_call", "function_call_output"] * 2
    assert [item["type"] for item in listed] == [*turn, "message", "message"]


def test_a_branch_of_a_conversation_that_no_run_can_hold_is_refused(start_service):
    """A thread whose state was deleted keeps its history, which may be of any size."""
    service = start_service(DEMO | {"limits": {"run_bytes_max": 65536}})
    for _ in range(4):
        response = completed(service.post(PATH, ask("x" * 20_000, conversation="talk")))
        assert service.request("DELETE", "/v1/threads/talk/state").status == 200
    refused = service.post(PATH, ask("more", previous_response_id=response["id"], store=False))
    assert refused.status == 400 and error(refused)["param"] == "previous_response_id", refused.text
    assert "limits.run_bytes_max" in error(refused)["message"]


def _continue_at_once(service, provider, asked):
    """Continues a new response with each of the texts, in workers that find all requests at once."""
    provider.open_gate()
    first = completed(service.post(PATH, ask("one")))
    provider.close_gate()
    workers = [worker.pid for worker in service.workers()]
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(service.connect()) for _ in asked]
        for worker in workers:
            processes.freeze(worker)
        for connection, text in zip(connections, asked, strict=True):
            connection.request("POST", PATH, [], ask(text, previous_response_id=first["id"]))
        for worker in workers:
            processes.thaw(worker)
        provider.wait_for_waiting(len(asked))  # none waits for the thread of another one
        provider.open_gate()
        return [completed(connection.read_reply()) for connection in connections]


def test_parallel_continuations_do_not_see_each_other(start_service, gated_provider):
    service, provider = start_service(asking(gated_provider), workers=2), gated_provider
    asked = [f"number {number}" for number in range(8)]
    for _ in range(8):
        responses = _continue_at_once(service, provider, asked)
        paths = [f"{PATH}/{response['id']}/input_items?order=asc" for response in responses]
        seen = [[item["content"][0]["text"] for item in service.get(path).json()["data"]] for path in paths]
        # One continues the thread, so that only its own message is its input.
        assert sorted(map(len, seen)) == [1] + [3] * (len(asked) - 1)
        for text, items in zip(asked, seen, strict=True):
            assert items in ([text], ["one", provider.text, text])


def test_a_conversation_is_a_thread(service):
    for text, named in (("one", "talk"), ("two", {"id": "talk"})):
        response = completed(service.post(PATH, ask(text, conversation=named)))
        assert response["conversation"] == {"id": "talk"}
    reply = service.post(PATH, ask("three", metadata={"thread_id": "talk"}))
    assert reply.header("X-Thread-Id") == "talk"
    page = service.get("/v1/threads/talk/messages").json()["data"]
    assert texts(page["messages"])[::2] == ["one", "two", "three"]


def test_what_is_not_stored_cannot_be_read(service):
    response = completed(service.post(PATH, ask("hello", store=False)))
    assert response["store"] is False and _threads(service) == []
    assert service.get(f"{PATH}/{response['id']}").status == 404
    refused = service.post(PATH, ask("more", previous_response_id=response["id"]))
    assert refused.status == 404 and error(refused)["code"] == "previous_response_not_found"
    # Neither is one that follows a response which is stored.
    stored = completed(service.post(PATH, ask("one")))
    follows = completed(service.post(PATH, ask("two", previous_response_id=stored["id"], store=False)))
    assert output_text(follows) == "You said: two"
    assert service.get(f"{PATH}/{follows['id']}").status == 404
    (thread,) = _threads(service)
    page = service.get(f"/v1/threads/{thread['thread_id']}/messages").json()["data"]
    assert texts(page["messages"]) == ["one", "You said: one"]


def test_a_deleted_response_is_gone(service):
    alone = completed(service.post(PATH, ask("one")))
    deleted = service.request("DELETE", f"{PATH}/{alone['id']}")
    assert deleted.json() == {"id": alone["id"], "object": "response", "deleted": True}
    assert _threads(service) == [], "nothing else uses its messages"
    first = completed(service.post(PATH, ask("one")))
    second = completed(service.post(PATH, ask("two", previous_response_id=first["id"])))
    assert service.request("DELETE", f"{PATH}/{first['id']}").status == 200
    for response_id in (alone["id"], first["id"]):
        for reply in (
            service.get(f"{PATH}/{response_id}"), service.request("DELETE", f"{PATH}/{response_id}"),
            service.get(f"{PATH}/{response_id}/input_items"), service.post(f"{PATH}/{response_id}/cancel"),
        ):
            assert reply.status == 404 and error(reply)["code"] == "resource_not_found"
    assert completed(service.get(f"{PATH}/{second['id']}"))["id"] == second["id"]


def _delete(service, *responses):
    for response in responses:
        reply = service.request("DELETE", f"{PATH}/{response['id']}")
        assert reply.status == 200 and reply.json()["deleted"] is True, reply.text


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_messages_are_gone_with_the_last_response_of_their_thread(service, order):
    chain = [completed(service.post(PATH, ask("one")))]
    for text in ("two", "three"):
        chain.append(completed(service.post(PATH, ask(text, previous_response_id=chain[-1]["id"]))))
    first, second, last = (chain[number] for number in order)
    _delete(service, first, second)
    (thread,) = _threads(service)
    assert completed(service.get(f"{PATH}/{last['id']}"))["id"] == last["id"]
    _delete(service, last)
    assert _threads(service) == []
    assert service.get(f"/v1/threads/{thread['thread_id']}/messages").status == 404


def test_responses_that_are_deleted_at_the_same_time_leave_nothing(start_service):
    service = start_service(DEMO, workers=2)
    for _ in range(5):
        chain = [completed(service.post(PATH, ask("one")))]
        for text in ("two", "three", "four"):
            chain.append(completed(service.post(PATH, ask(text, previous_response_id=chain[-1]["id"]))))
        with concurrent.futures.ThreadPoolExecutor(len(chain)) as pool:
            list(pool.map(lambda response: _delete(service, response), chain))
        assert _threads(service) == []


def test_a_conversation_outlives_its_responses(service):
    first = completed(service.post(PATH, ask("one", conversation="talk")))
    _delete(service, completed(service.post(PATH, ask("two", previous_response_id=first["id"]))), first)
    page = service.get("/v1/threads/talk/messages").json()["data"]
    assert texts(page["messages"])[::2] == ["one", "two"]
    # So does a thread that something else than responses uses.
    own = completed(service.post(PATH, ask("one")))
    thread = next(one["thread_id"] for one in _threads(service) if one["thread_id"] != "talk")
    assert service.invoke("more", config={"thread_id": thread}).status == 200
    _delete(service, own)
    assert len(service.get(f"/v1/threads/{thread}/messages").json()["data"]["messages"]) == 4


def test_a_response_in_flight_is_deleted_with_its_messages(start_service, gated_provider):
    service, provider = start_service(asking(gated_provider)), gated_provider
    response = service.post(PATH, ask("go", background=True)).json()
    provider.wait_for_waiting(1)
    _delete(service, response)
    assert _threads(service) == [] and service.get(f"{PATH}/{response['id']}").status == 404


def test_a_busy_worker_does_not_keep_the_messages_of_a_deleted_response(start_service, gated_provider):
    limits = {"runs_max": 2}  # one request may follow a run
    status = "location = /status.json { agent_graph_status format=json; }"
    service = start_service(asking(gated_provider) | {"limits": limits}, workers=1, server=status)
    gated_provider.open_gate()
    done = completed(service.post(PATH, ask("one")))
    gated_provider.close_gate()
    config = {"thread_id": "busy", "run_id": "r"}
    assert service.post("/v1/graph/runs", invocation("go", config=config)).status == 202
    with RunStream(service.port, "/v1/threads/busy/runs/r/stream"):
        wait_until(lambda: service.get("/status.json").json()["services"][0]["followers"] == 1, "it is followed")
        assert service.get(f"{PATH}/{done['id']}").status == 503
        _delete(service, done)
        assert [thread["thread_id"] for thread in _threads(service)] == ["busy"]
    gated_provider.open_gate()


def test_items_of_a_log_that_is_no_longer_kept_are_gone(start_service):
    service = start_service(DEMO)
    first = completed(service.post(PATH, ask("one", conversation="talk")))
    # A thread keeps at most 64 MiB of logs, beyond those of its latest runs.
    state = {"notes": "x" * 1_500_000}
    for _ in range(52):
        assert service.invoke("hi", config={"thread_id": "talk"}, initial_state=state).status == 200
    for path in ("", "/input_items"):
        gone = service.get(f"{PATH}/{first['id']}{path}")
        assert gone.status == 410 and error(gone)["code"] == "gone", gone.text
    _delete(service, first)
    assert service.get("/v1/threads/talk").status == 200


@pytest.mark.parametrize("response_id", ["x", "resp_", "resp_1", "resp_!!", "resp_" + "A" * 5000, "chatcmpl-1"])
def test_an_unknown_id_is_not_found(service, response_id):
    assert service.get(f"{PATH}/{response_id}").status == 404


def test_a_stored_response_is_read_with_its_encrypted_content(serve_model, model_mock):
    service = serve_model(model_mock.base_url, provider="anthropic")
    path = f"{PATH}/{completed(service.post(PATH, ask('think')))['id']}"

    def reasoning(*include):
        query = "&".join(f"include%5B%5D={value}" for value in include)
        (found,) = [item for item in completed(service.get(f"{path}?{query}"))["output"] if item["type"] == "reasoning"]
        return found

    assert "encrypted_content" not in reasoning() | reasoning("file_search_call.results")
    found = reasoning("file_search_call.results", "reasoning.encrypted_content")
    assert found["encrypted_content"] and found["summary"] == reasoning()["summary"]


# In the background


def test_a_background_response_is_there_at_once_and_ends_later(service):
    response = service.post(PATH, ask("Ahoy", background=True, tools=[_WEATHER])).json()
    assert response["status"] in ("queued", "in_progress") and response["output"] == []
    assert response["usage"] is None and response["background"] is True
    path = f"{PATH}/{response['id']}"
    done = wait_until(lambda: service.get(path).json()["status"] == "completed" and service.get(path).json(),
                      "the response is completed")
    assert output_text(done) == "You said: Ahoy" and done["tools"] == [_WEATHER]
    refused = service.get(f"{path}?stream=true&starting_after=x")
    assert refused.status == 400 and error(refused)["param"] == "starting_after"


def test_events_keep_their_numbers(service):
    reply = service.post(PATH, ask("one two three", background=True, stream=True))
    datas = events(reply)
    assert [data["type"] for data in datas[:3]] == ["response.created", "response.queued", "response.in_progress"]
    assert deltas(datas) == "You said: one two three"
    path = f"{PATH}/{datas[0]['response']['id']}?stream=true"
    assert service.get(path).text == reply.text, "every byte is the same"
    for after in range(len(datas)):
        rest = events_in(service.get(f"{path}&starting_after={after}").text)
        assert [data for _, data in rest] == datas[after + 1 :]
    late = service.get(f"{path}&starting_after=1000")
    assert late.status == 200 and late.text == ""


def test_only_background_responses_are_streamed_again_or_cancelled(service):
    response = completed(service.post(PATH, ask("hello")))
    for reply in (
        service.get(f"{PATH}/{response['id']}?stream=true"), service.post(f"{PATH}/{response['id']}/cancel"),
    ):
        assert reply.status == 400 and "background" in error(reply)["message"]


def test_a_background_response_is_cancelled(start_service, gated_provider):
    service, provider = start_service(asking(gated_provider)), gated_provider
    response = service.post(PATH, ask("go", background=True)).json()
    provider.wait_for_waiting(1)
    path = f"{PATH}/{response['id']}"
    for body in (None, {}):  # what clients send
        headers = [("Content-Type", "application/json")]
        cancelled = service.request("POST", f"{path}/cancel", None if body is None else json.dumps(body),
                                    headers=headers)
        assert cancelled.status == 200 and cancelled.json()["status"] == "cancelled", cancelled.text
    assert service.get(path).json()["status"] == "cancelled"
    # A cancelled response has no last event: the stream just ends.
    found = events_in(service.get(f"{path}?stream=true").text)
    assert [data["sequence_number"] for _, data in found] == list(range(len(found)))
    assert not {name for name, _ in found} & {"response.completed", "response.failed", "response.cancelled"}


def test_a_client_comes_back_while_the_response_goes_on(start_service, gated_provider):
    service, provider = start_service(asking(gated_provider)), gated_provider
    with service.connect() as connection:
        connection.request("POST", PATH, [], ask("go", background=True, stream=True))
        reply = connection.read_head()
        text = ""
        for piece in connection.body_pieces(reply):
            text += piece.decode()
            if "output_text.delta" in text:
                break
    seen = [data for _, data in events_in(text[: text.rindex("\n\n") + 2])]
    provider.open_gate()
    path = f"{PATH}/{seen[0]['response']['id']}?stream=true"
    rest = [data for _, data in events_in(service.get(f"{path}&starting_after={len(seen) - 1}").text)]
    whole = seen + rest
    assert [data["sequence_number"] for data in whole] == list(range(len(whole)))
    assert deltas(whole) == output_text(whole[-1]["response"]) == provider.text
    assert events(service.get(path)) == whole


def test_a_repeated_request_gets_the_same_response(service):
    key = [("Idempotency-Key", "k")]
    for fields in ({}, {"stream": True}, {"background": True}):
        body = ask("hello", **fields)
        headers = [("Idempotency-Key", f"k{len(fields)}{next(iter(fields), '')}")]
        first, second = (service.post(PATH, body, headers=headers) for _ in range(2))
        ids = [events(reply)[0]["response"]["id"] if "stream" in fields else reply.json()["id"]
               for reply in (first, second)]
        assert ids[0] == ids[1]
    service.post(PATH, ask("hello"), headers=key)
    other = service.post(PATH, ask("other"), headers=key)
    assert other.status == 422 and error(other)["code"] == "idempotency_mismatch"


def test_a_repeated_request_follows_the_response_that_it_has_followed(service):
    """Meanwhile that one was deleted, and so were the item that the request refers to."""
    first = completed(service.post(PATH, ask("one")))
    item = {"type": "item_reference", "id": first["output"][0]["id"]}
    (thread,) = _threads(service)
    thread_path = f"/v1/threads/{thread['thread_id']}"
    headers = [("Idempotency-Key", "k")]
    body = ask([item, {"role": "user", "content": "two"}], previous_response_id=first["id"])
    second = completed(service.post(PATH, body, headers=headers))
    messages = service.get(f"{thread_path}/messages").json()["data"]["messages"]
    for message in messages[:2]:
        removed = service.request("DELETE", f"{thread_path}/messages/{message['message_id']}")
        assert removed.status == 200, removed.text
    assert service.request("DELETE", f"{PATH}/{first['id']}").status == 200
    assert completed(service.post(PATH, body, headers=headers)) == second
    assert service.post(PATH, body).status == 400
    assert service.post(PATH, ask("x", previous_response_id=first["id"])).status == 404


def test_a_response_survives_a_restart(make_service):
    service = make_service(DEMO | {"checkpointer": "leveldb"}).start()
    response = completed(service.post(PATH, ask("Ahoy")))
    streamed = service.post(PATH, ask("Ahoy", background=True, stream=True)).text
    service.quit()
    service.wait_until_gone()
    service.start()
    assert output_text(completed(service.get(f"{PATH}/{response['id']}"))) == "You said: Ahoy"
    response_id = events_in(streamed)[0][1]["response"]["id"]
    assert service.get(f"{PATH}/{response_id}?stream=true").text == streamed


def test_without_a_checkpointer_nothing_is_stored(start_service):
    service = start_service(DEMO | {"checkpointer": "none"})
    response = completed(service.post(PATH, ask("hello")))
    assert response["store"] is False and service.get(f"{PATH}/{response['id']}").status == 503
    refused = service.post(PATH, ask("hello", background=True))
    assert refused.status == 503 and refused.header("x-should-retry") == "false"
