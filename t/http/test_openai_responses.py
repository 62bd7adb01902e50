"""The façade for clients of OpenAI's Responses API, as it is on the wire."""

import json

import pytest

from harness.agents import DEMO, asking
from harness.messages import texts
from harness.openai_chat import error
from harness.openai_responses import PATH, ask, completed, deltas, events, events_in, output_text
from harness.tool_graph import asks, tool_graph
from harness.waiting import wait_until

_WEATHER = {
    "type": "function", "name": "get_weather", "description": "A tool.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


@pytest.fixture
def service(start_service):
    return start_service(DEMO)


@pytest.fixture
def with_tools(make_service, start_mock_provider):
    """An agent whose model calls the tool that the user names."""
    mock = start_mock_provider(
        [
            *asks("weather", ("get_weather", {"city": "Oslo"})),
            *asks("sum", ("calculator", {"expression": "6*7"}), id_prefix="sum"),
            {"match": {"userMessage": "long"}, "response": {"content": "cut", "finishReason": "length"}},
            {"match": {"userMessage": "think"}, "response": {"content": "so", "reasoning": "because"}},
            {"match": {"userMessage": "plain"}, "response": {"content": "fine"}},
        ]
    )
    graph = tool_graph(tools=["calculator"])
    graph["app"]["name"] = "support"
    model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
    started = make_service(
        {"agent": "graph.json:app", "models": {"default": model}}, files={"graph.json": json.dumps(graph)}
    ).start()
    started.mock = mock
    return started


def _sent_to_model(service):
    entries = [e for e in service.mock.requests() if e["path"].endswith("/chat/completions")]
    return entries[-1]["body"]


def _threads(service):
    return service.get("/v1/threads").json()["data"]["threads"]


# Answers


def test_an_answer_repeats_its_request_and_can_be_read_again(service):
    body = ask("Ahoy", instructions="Be brief", metadata={"order": "17"}, temperature=0.5, max_output_tokens=99)
    response = completed(service.post(PATH, body))
    assert output_text(response) == "You said: Ahoy"
    assert response["id"].startswith("resp_") and response["model"] == "support"
    for name in ("instructions", "metadata", "temperature", "max_output_tokens"):
        assert response[name] == body[name]
    assert response["parallel_tool_calls"] is True and response["tools"] == [] and response["error"] is None
    usage = response["usage"]
    assert usage["input_tokens"] + usage["output_tokens"] == usage["total_tokens"] > 0
    again = service.get(f"{PATH}/{response['id']}").json()
    for name in ("created_at", "completed_at"):  # a second may have passed between two clocks
        assert abs(again.pop(name) - response.pop(name)) <= 1
    assert again == response


def test_the_events_lead_to_the_response(service):
    datas = events(service.post(PATH, ask("one two three", stream=True)))
    types = [data["type"].removeprefix("response.") for data in datas]
    assert types[:4] == ["created", "in_progress", "output_item.added", "content_part.added"]
    assert types[-4:] == ["output_text.done", "content_part.done", "output_item.done", "completed"]
    assert set(types[4:-4]) == {"output_text.delta"}
    final = datas[-1]["response"]
    assert deltas(datas) == output_text(final) == "You said: one two three"
    assert datas[-2]["item"] == final["output"][0] and datas[0]["response"]["status"] == "in_progress"
    assert {data["item_id"] for data in datas[3:-2]} == {final["output"][0]["id"]}


def test_a_model_may_think_first(with_tools):
    datas = events(with_tools.post(PATH, ask("think", stream=True)))
    types = [data["type"].removeprefix("response.") for data in datas]
    assert types.index("reasoning_summary_part.added") < types.index("reasoning_summary_text.delta")
    reasoning, message = datas[-1]["response"]["output"]
    assert reasoning["type"] == "reasoning" and reasoning["summary"][0]["text"] == "because"
    assert message["content"][0]["text"] == "so"
    done = [data["output_index"] for data in datas if data["type"] == "response.output_item.done"]
    assert done == [0, 1]


def test_an_answer_that_was_cut_is_incomplete(with_tools):
    response = with_tools.post(PATH, ask("long")).json()
    assert response["status"] == "incomplete"
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}
    assert events(with_tools.post(PATH, ask("long", stream=True)))[-1]["type"] == "response.incomplete"


def test_a_run_that_fails_is_an_error_or_a_failed_response(make_service):
    models = {"default": {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1", "retries_max": 0}}
    service = make_service(DEMO | {"models": models}).start()
    service.error_log.allow(r"model")
    refused = service.post(PATH, ask("hello"))
    assert refused.status >= 500 and error(refused)["type"] == "server_error"
    assert refused.header("x-should-retry") == "false"
    failed = events(service.post(PATH, ask("hello", stream=True)))[-1]
    assert failed["type"] == "response.failed" and failed["response"]["error"]["message"]
    assert service.get(f"{PATH}/{failed['response']['id']}").json()["status"] == "failed"


# Input of clients


def test_parts_and_items_of_all_kinds_are_understood(service):
    image = {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"}
    file = {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,aGk="}
    items = [
        {"role": "developer", "content": "be brief"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}, image, file]},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "nice"}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": ""},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "7"}]},
        {"role": "user", "content": "Ahoy"},
    ]
    response = completed(service.post(PATH, ask(items)))
    assert output_text(response) == "You said: Ahoy"
    listed = service.get(f"{PATH}/{response['id']}/input_items?order=asc&limit=100").json()
    kinds = [(item["type"], item.get("role")) for item in listed["data"]]
    assert kinds == [
        ("message", "system"), ("message", "user"), ("function_call", None), ("message", "assistant"),
        ("function_call_output", None), ("message", "user"),
    ]
    assert [part["type"] for part in listed["data"][1]["content"]] == ["input_text", "input_image", "input_file"]
    newest = service.get(f"{PATH}/{response['id']}/input_items?limit=2").json()
    assert newest["has_more"] and newest["data"] == listed["data"][:-3:-1]
    rest = service.get(f"{PATH}/{response['id']}/input_items?limit=20&after={newest['last_id']}").json()
    assert not rest["has_more"] and len(rest["data"]) == 4


def test_the_clients_tools_are_called_and_their_results_go_on(with_tools):
    datas = events(with_tools.post(PATH, ask("weather", tools=[_WEATHER], stream=True)))
    (call,) = datas[-1]["response"]["output"]
    assert call["type"] == "function_call" and call["name"] == "get_weather"
    assert json.loads(call["arguments"]) == {"city": "Oslo"}
    pieces = [d["delta"] for d in datas if d["type"] == "response.function_call_arguments.delta"]
    assert "".join(pieces) == call["arguments"]
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}
    first_id = datas[-1]["response"]["id"]
    # By the response, by references to stored items, with everything again, or in a branch.
    for body in (
        ask([result], previous_response_id=first_id, tools=[_WEATHER]),
        ask([{"role": "user", "content": "weather"}, {"type": "item_reference", "id": call["id"]}, result],
            tools=[_WEATHER]),
        ask([{"role": "user", "content": "weather"}, call, result], tools=[_WEATHER], store=False),
        ask([result], previous_response_id=first_id, tools=[_WEATHER]),
    ):
        response = completed(with_tools.post(PATH, body))
        assert output_text(response) == "done", body
        told = [m["role"] for m in _sent_to_model(with_tools)["messages"]]
        assert told == ["user", "assistant", "tool"], body


def test_offers_of_other_kinds_of_tools_are_ignored(with_tools):
    tools = [
        {"type": "web_search", "external_web_access": False},
        {"type": "namespace", "name": "agents", "description": "Other agents.", "tools": [_WEATHER]},
        _WEATHER,
    ]
    response = completed(with_tools.post(PATH, ask("weather", tools=tools)))
    assert [item["type"] for item in response["output"]] == ["function_call"]
    assert response["tools"] == tools
    offered = [tool["function"]["name"] for tool in _sent_to_model(with_tools)["tools"]]
    assert offered == ["calculator", "get_weather"]


def test_the_agents_own_tools_are_hidden(with_tools):
    response = completed(with_tools.post(PATH, ask("sum")))
    assert [item["type"] for item in response["output"]] == ["message"] and output_text(response) == "done"


def test_parameters_reach_the_model(with_tools):
    body = ask(
        "plain", instructions="Talk like a pirate", temperature=0.25, top_p=0.5, max_output_tokens=50,
        reasoning={"effort": "low"}, parallel_tool_calls=False, tools=[_WEATHER],
        tool_choice={"type": "function", "name": "get_weather"},
        text={"format": {"type": "json_schema", "name": "a", "strict": True, "schema": {"type": "object"}}},
    )
    completed(with_tools.post(PATH, body))
    sent = _sent_to_model(with_tools)
    assert sent["messages"][0] == {"role": "system", "content": "Talk like a pirate"}
    assert (sent["temperature"], sent["top_p"], sent["max_tokens"]) == (0.25, 0.5, 50)
    assert sent["reasoning_effort"] == "low" and sent["parallel_tool_calls"] is False
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "get_weather"}}
    assert sent["response_format"]["json_schema"] == {"name": "a", "strict": True, "schema": {"type": "object"}}
    messages = with_tools.get(f"/v1/threads/{_threads(with_tools)[0]['thread_id']}/messages").json()["data"]
    assert texts(messages["messages"]) == ["plain", "fine"], "instructions are not a part of the conversation"


def test_a_limit_only_lowers_what_is_configured(make_service, start_mock_provider):
    mock = start_mock_provider([{"match": {"userMessage": "plain"}, "response": {"content": "fine"}}])
    model = {"provider": "openai", "model": "m", "base_url": mock.base_url, "parameters": {"max_tokens": 30}}
    service = make_service(DEMO | {"models": {"default": model}}).start()
    for wanted, sent in ((10, 10), (1000, 30)):
        completed(service.post(PATH, ask("plain", max_output_tokens=wanted)))
        assert mock.requests()[-1]["body"]["max_tokens"] == sent


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": []}, "input"),
        ({"input": [{"type": "web_search_call", "id": "ws_1"}]}, "input[0].type"),
        ({"input": [{"role": "robot", "content": "x"}]}, "input[0].role"),
        ({"input": [{"role": "user", "content": [{"type": "x"}]}]}, "input[0].content[0].type"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input[0].id"),
        ({"tools": [{"type": "web_search"}], "tool_choice": {"type": "web_search"}}, "tool_choice"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"tools": [_WEATHER, _WEATHER]}, "tools[1].name"),
        ({"tool_choice": {"type": "function", "name": "f"}}, "tool_choice"),
        ({"tools": [{"type": "namespace", "name": "f"}],
          "tool_choice": {"type": "function", "name": "f"}}, "tool_choice"),
        ({"text": {"format": {"type": "json_object"}}}, "text.format"),
        ({"text": {"format": {"type": "xml"}}}, "text.format.type"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"include": ["message.output_text.logprobs"]}, "include"),
        ({"prompt": {"id": "p"}}, "prompt"),
        ({"background": True, "store": False}, "background"),
        ({"conversation": "t", "previous_response_id": "resp_1"}, "previous_response_id"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"truncation": "some"}, "truncation"),
        ({"temperature": "hot"}, "temperature"),
    ],
)
def test_a_refusal_names_the_parameter(service, fields, param):
    refused = service.post(PATH, ask("hello") | fields)
    assert refused.status == 400, refused.text
    assert error(refused)["param"] == param


def test_harmless_parameters_are_ignored(service):
    body = ask(
        "hello", user="u", service_tier="auto", truncation="auto", prompt_cache_key="k", safety_identifier="s",
        include=["reasoning.encrypted_content", "file_search_call.results"], top_logprobs=0, unknown={"a": 1},
        stream_options={"include_obfuscation": False}, text={"format": {"type": "text"}, "verbosity": "low"},
        reasoning={"effort": "low", "summary": "auto"}, max_tool_calls=5, tool_choice="auto", tools=[],
    )
    assert output_text(completed(service.post(PATH, body))) == "You said: hello"


def test_a_client_that_sends_the_input_of_the_previous_response_again(with_tools):
    """Semantic Kernel names the previous response and repeats all that it has sent before."""
    said = {"role": "user", "content": [{"type": "input_text", "text": "weather"}]}
    first = completed(with_tools.post(PATH, ask([said], tools=[_WEATHER])))
    (call,) = first["output"]
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}
    again = ask([said, result], previous_response_id=first["id"], tools=[_WEATHER])
    second = completed(with_tools.post(PATH, again))
    assert output_text(second) == "done"
    third = ask([said, result, {"role": "user", "content": "plain"}], previous_response_id=second["id"])
    assert output_text(completed(with_tools.post(PATH, third))) == "fine"
    told = [message["role"] for message in _sent_to_model(with_tools)["messages"]]
    assert told == ["user", "assistant", "tool", "assistant", "user"]
    # The same in a branch of the conversation.
    assert output_text(completed(with_tools.post(PATH, again))) == "done"
    assert [message["role"] for message in _sent_to_model(with_tools)["messages"]] == told[:3]


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


@pytest.mark.parametrize("response_id", ["x", "resp_", "resp_1", "resp_!!", "resp_" + "A" * 5000, "chatcmpl-1"])
def test_an_unknown_id_is_not_found(service, response_id):
    assert service.get(f"{PATH}/{response_id}").status == 404


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
    # There is no event for it: the stream ends.
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
