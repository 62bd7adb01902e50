"""The façade for clients of OpenAI's API: models and chat completions, as they are on the wire."""

import json

import pytest

from harness.agents import DEMO, asking, behaviour
from harness.messages import texts
from harness.openai_chat import PATH, answer, chat, content, error, events
from harness.tool_graph import PLAIN_GRAPH, serve_with_mock
from harness.waiting import wait_until


@pytest.fixture
def service(start_service):
    return start_service(DEMO)


@pytest.fixture
def plain(make_service, start_mock_provider):
    """An agent without tools."""
    mock = start_mock_provider(
        [
            {"match": {"userMessage": "long"}, "response": {"content": "cut", "finishReason": "length"}},
            {"match": {"userMessage": "plain"}, "response": {"content": "fine"}},
        ]
    )
    return serve_with_mock(make_service, mock, PLAIN_GRAPH)


# Models


def test_the_agent_is_a_model(service):
    models = service.get("/openai/v1/models").json()
    assert models["object"] == "list"
    (model,) = models["data"]
    assert model["id"] == "support" and model["object"] == "model"
    assert service.get("/openai/v1/models/support").json() == model
    refused = service.get("/openai/v1/models/org%2Fm")
    assert refused.status == 404
    assert error(refused)["code"] == "model_not_found" and "org/m" in error(refused)["message"]


# Answers


def test_an_answer_is_one_object(service):
    reply = service.post(PATH, chat("hello"))
    assert answer(reply) == {"role": "assistant", "content": "You said: hello", "refusal": None}
    completion = reply.json()
    assert completion["model"] == "support" and completion["id"].startswith("chatcmpl-")
    assert completion["choices"][0]["finish_reason"] == "stop"
    usage = completion["usage"]
    assert usage["prompt_tokens"] > 0 and usage["completion_tokens"] > 0
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


@pytest.mark.parametrize("include_usage", [False, True])
def test_a_stream_has_the_events_that_clients_need(service, include_usage):
    options = {"stream_options": {"include_usage": True}} if include_usage else {}
    # Clients ask for JSON also when they stream.
    reply = service.post(PATH, chat("hello", stream=True, **options), headers=[("Accept", "application/json")])
    chunks = events(reply)
    assert content(chunks) == "You said: hello"
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert all(chunk["object"] == "chat.completion.chunk" for chunk in chunks)
    usages = [chunk for chunk in chunks if chunk.get("usage")]
    if include_usage:
        assert usages == [chunks.pop()] and usages[0]["choices"] == []
        assert usages[0]["usage"]["total_tokens"] > 0
    else:
        assert usages == []
    choices = [chunk["choices"][0] for chunk in chunks]
    assert all(choice["index"] == 0 for choice in choices)
    assert [c["delta"].get("role") for c in choices] == ["assistant"] + [None] * (len(choices) - 1)
    assert [c["finish_reason"] for c in choices] == [None] * (len(choices) - 1) + ["stop"]
    assert choices[-1]["delta"] == {}


def test_the_messages_are_the_whole_conversation(plain):
    history = [
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "one"}]},
        {"role": "assistant", "content": "two"},
        "plain",
    ]
    assert answer(plain.post(PATH, chat(*history)))["content"] == "fine"
    told = plain.mock.messages()
    assert [m["role"] for m in told] == ["system", "user", "assistant", "user"]
    assert plain.get("/v1/threads").json()["data"]["threads"] == [], "nothing is stored"


def test_images_reach_the_model(plain):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "low"}}
    pdf = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}}
    parts = [{"type": "text", "text": "plain"}, image, pdf]
    assert answer(plain.post(PATH, chat({"role": "user", "content": parts})))["content"] == "fine"
    (message,) = plain.mock.messages()
    assert [part["type"] for part in message["content"]] == ["text", "image_url", "file"]
    assert message["content"][1]["image_url"]["url"] == "data:image/png;base64,aGk="
    assert message["content"][2]["file"]["filename"] == "a.pdf"


def test_the_reason_of_the_model_is_passed_on(plain):
    completion = plain.post(PATH, chat("long")).json()
    assert completion["choices"][0]["finish_reason"] == "length"
    assert events(plain.post(PATH, chat("long", stream=True)))[-1]["choices"][0]["finish_reason"] == "length"


def test_another_model_is_refused(service):
    reply = service.post(PATH, chat("hello", model="gpt-5"))
    assert reply.status == 404 and error(reply)["code"] == "model_not_found"


def test_a_run_that_fails_before_its_first_word_has_a_status(start_service):
    service = start_service(behaviour("throwing"))
    service.error_log.allow(r"node is broken|request .*: ")
    for stream in (False, True):
        reply = service.post(PATH, chat("hello", model="throwing", stream=stream))
        assert reply.status == 500, reply.text
        assert error(reply)["type"] == "server_error"
        assert reply.header("x-should-retry") == "false"


# Threads


@pytest.mark.parametrize("by_header", [False, True])
def test_a_thread_keeps_the_conversation(plain, by_header):
    fields = {} if by_header else {"metadata": {"thread_id": "t"}}
    headers = [("X-Thread-Id", "t")] if by_header else []
    reply = plain.post(PATH, chat("plain", **fields), headers=headers)
    assert answer(reply)["content"] == "fine" and reply.header("X-Thread-Id") == "t"
    # The client's version of the past is ignored: the thread has it.
    forged = [{"role": "user", "content": "forged"}, {"role": "assistant", "content": "forged"}]
    assert answer(plain.post(PATH, chat(*forged, "plain", **fields), headers=headers))["content"] == "fine"
    assert [m["content"] for m in plain.mock.messages()] == ["plain", "fine", "plain"]
    messages = plain.get("/v1/threads/t/messages").json()["data"]["messages"]
    assert texts(messages) == ["plain", "fine", "plain", "fine"]


def test_a_thread_that_has_everything_gets_nothing_new(service):
    body = chat("a", {"role": "assistant", "content": "b"}, metadata={"thread_id": "t"})
    assert error(service.post(PATH, body))["param"] == "messages"
    other = service.post(PATH, chat("a", metadata={"thread_id": "t"}), headers=[("X-Thread-Id", "u")])
    assert error(other)["param"] == "metadata.thread_id"


def test_an_interrupt_ends_the_answer_and_goes_on_with_the_thread(start_service):
    service = start_service(behaviour("asking"))
    fields = {"model": "asking", "metadata": {"thread_id": "t"}}
    completion = service.post(PATH, chat("pay", **fields)).json()
    assert completion["choices"][0]["message"]["content"] == "Really?"
    assert completion["choices"][0]["finish_reason"] == "stop"
    assert completion["interrupt"]["reason"] == "needs a yes"
    assert completion["interrupt"]["data"] == {"about": "pay"}
    streamed = events(service.post(PATH, chat("pay", model="asking", stream=True)))
    assert streamed[-1]["choices"][0]["finish_reason"] == "stop"
    assert streamed[-1]["interrupt"] == completion["interrupt"]
    assert answer(service.post(PATH, chat("yes", **fields)))["content"] == "you said yes"


def test_a_conversation_goes_on_over_the_native_routes(service):
    service.post(PATH, chat("one", metadata={"thread_id": "t"}))
    data = service.invoke("two", config={"thread_id": "t"}).json()["data"]
    assert texts(data["messages"]) == ["one", "You said: one", "two", "You said: two"]


# Connections and repeated requests


def test_a_client_that_leaves_ends_its_run(start_service, gated_provider):
    service = start_service(asking(gated_provider))
    with service.connect() as connection:
        connection.request("POST", PATH, [], chat("go", stream=True))
        assert connection.read_head().status == 200
        gated_provider.wait_for_waiting(1)
    wait_until(lambda: gated_provider.aborted == 1, "the provider's connection is closed")


@pytest.mark.parametrize("stream", [False, True])
def test_a_run_that_is_stopped_is_no_answer(start_service, gated_provider, stream):
    service = start_service(asking(gated_provider))
    with service.connect() as connection:
        connection.request("POST", PATH, [("X-Thread-Id", "t")], chat("go", stream=stream))
        gated_provider.wait_for_waiting(1)
        assert service.post("/v1/graph/stop", {"thread_id": "t", "config": {"cancel": True}}).status == 200
        reply = connection.read_reply()
    if not stream:
        assert reply.status == 503 and error(reply)["code"] == "cancelled"
        assert reply.header("x-should-retry") == "false"
        return
    assert "[DONE]" not in reply.text
    last = json.loads(reply.text.strip().rpartition("data: ")[2])
    assert last["error"]["code"] == "cancelled" and "stopped" in last["error"]["message"]


def test_a_repeated_request_gets_the_same_answer(start_service):
    service = start_service(DEMO, workers=3)
    key = [("Idempotency-Key", "k1")]
    replies = [service.post(PATH, chat("hello"), headers=key) for _ in range(4)]
    assert {answer(reply)["content"] for reply in replies} == {"You said: hello"}
    assert len({reply.json()["id"] for reply in replies}) == 1
    streamed = [("Idempotency-Key", "k2")]
    for _ in range(2):
        chunks = events(service.post(PATH, chat("hello", stream=True), headers=streamed))
        assert content(chunks) == "You said: hello"
        assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    other = service.post(PATH, chat("other"), headers=key)
    assert other.status == 422 and error(other)["code"] == "idempotency_mismatch"
    thread = service.post(PATH, chat("hello"), headers=[*key, ("X-Thread-Id", "t")])
    assert thread.status == 422, "the thread is a part of the request"
