"""The façade for clients of OpenAI's Responses API, as it is on the wire."""

import json
import time

import pytest

from harness.agents import DEMO
from harness.messages import texts
from harness.openai_chat import error
from harness.openai_responses import PATH, ask, completed, deltas, events, output_text
from harness.tool_graph import PLAIN_GRAPH, asking_graph, asks, serve_with_mock, tool_graph

_WEATHER = {
    "type": "function", "name": "get_weather", "description": "A tool.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


@pytest.fixture
def service(start_service):
    return start_service(DEMO)


@pytest.fixture
def with_tools(make_service, start_mock_provider, request):
    """An agent whose model calls the tool that the user names. A test may choose its graph."""
    mock = start_mock_provider(
        [
            *asks("weather", ("get_weather", {"city": "Oslo"})),
            *asks("sum", ("calculator", {"expression": "6*7"}), id_prefix="sum"),
            {"match": {"userMessage": "long"}, "response": {"content": "cut", "finishReason": "length"}},
            {"match": {"userMessage": "think"}, "response": {"content": "so", "reasoning": "because"}},
            {"match": {"userMessage": "Attached"}, "response": {"content": "seen"}},
            {"match": {"userMessage": "plain"}, "response": {"content": "fine"}},
        ]
    )
    graph = getattr(request, "param", None) or tool_graph(tools=["calculator"])
    return serve_with_mock(make_service, mock, graph)


_WITH_EACH_GRAPH = pytest.mark.parametrize(
    "with_tools", [None, PLAIN_GRAPH], ids=["tool node", "no tool node"], indirect=True
)


# Answers


def test_an_answer_repeats_its_request_and_can_be_read_again(service):
    body = ask("Ahoy", instructions="Be brief", metadata={"order": "17"}, temperature=0.5, max_output_tokens=99)
    began = time.time()
    response = completed(service.post(PATH, body))
    ended = time.time()
    assert output_text(response) == "You said: Ahoy"
    assert response["id"].startswith("resp_") and response["model"] == "support"
    for name in ("instructions", "metadata", "temperature", "max_output_tokens"):
        assert response[name] == body[name]
    assert response["parallel_tool_calls"] is True and response["tools"] == [] and response["error"] is None
    usage = response["usage"]
    assert usage["input_tokens"] + usage["output_tokens"] == usage["total_tokens"] > 0
    again = service.get(f"{PATH}/{response['id']}").json()
    # The record of the run has times of its own; all of them are within the request.
    for found in (response, again):
        assert int(began) <= found.pop("created_at") <= found.pop("completed_at") <= ended + 1
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
        {"type": "function_call_output", "call_id": "c1",
         "output": [{"type": "input_text", "text": "7"}, {"type": "input_text", "text": "8"}]},
        {"role": "user", "content": "Ahoy"},
    ]
    response = completed(service.post(PATH, ask(items)))
    assert output_text(response) == "You said: Ahoy"
    listed = service.get(f"{PATH}/{response['id']}/input_items?order=asc&limit=100").json()
    kinds = [(item["type"], item.get("role")) for item in listed["data"]]
    assert kinds == [
        ("message", "system"), ("message", "user"), ("reasoning", None), ("message", "assistant"), ("function_call", None),
        ("function_call_output", None), ("message", "user"),
    ]
    assert [part["type"] for part in listed["data"][1]["content"]] == ["input_text", "input_image", "input_file"]
    assert listed["data"][2]["summary"] == [{"type": "summary_text", "text": "hm"}]
    assert listed["data"][5]["output"] == "7\n8"
    newest = service.get(f"{PATH}/{response['id']}/input_items?limit=2").json()
    assert newest["has_more"] and newest["data"] == listed["data"][:-3:-1]
    rest = service.get(f"{PATH}/{response['id']}/input_items?limit=20&after={newest['last_id']}").json()
    assert not rest["has_more"] and len(rest["data"]) == 5


@_WITH_EACH_GRAPH
def test_the_clients_tools_are_called_and_their_results_go_on(with_tools):
    datas = events(with_tools.post(PATH, ask("weather", tools=[_WEATHER], stream=True)))
    (call,) = datas[-1]["response"]["output"]
    assert call["type"] == "function_call" and call["name"] == "get_weather"
    assert json.loads(call["arguments"]) == {"city": "Oslo"}
    pieces = [d["delta"] for d in datas if d["type"] == "response.function_call_arguments.delta"]
    assert "".join(pieces) == call["arguments"]
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}
    first_id = datas[-1]["response"]["id"]
    assert with_tools.get(f"{PATH}/{first_id}").json()["output"] == [call]
    # The client continues the response, refers to its items, sends everything again, or continues the
    # same response once more, which makes a branch.
    for body in (
        ask([result], previous_response_id=first_id, tools=[_WEATHER], store=False),
        ask([result], previous_response_id=first_id, tools=[_WEATHER]),
        ask([{"role": "user", "content": "weather"}, {"type": "item_reference", "id": call["id"]}, result],
            tools=[_WEATHER]),
        ask([{"role": "user", "content": "weather"}, call, result], tools=[_WEATHER], store=False),
        ask([result], previous_response_id=first_id, tools=[_WEATHER]),
    ):
        response = completed(with_tools.post(PATH, body))
        assert output_text(response) == "done", body
        told = [m["role"] for m in with_tools.mock.messages()]
        assert told == ["user", "assistant", "tool"], body


@_WITH_EACH_GRAPH
def test_a_background_response_has_the_calls_of_the_client(with_tools):
    """Also if its tools are too large to be kept in the log."""
    large = _WEATHER | {"description": "x" * 65_536}
    datas = events(with_tools.post(PATH, ask("weather", tools=[large], background=True, stream=True)))
    (call,) = datas[-1]["response"]["output"]
    assert call["name"] == "get_weather"
    response_id = datas[-1]["response"]["id"]
    response = with_tools.get(f"{PATH}/{response_id}").json()
    assert response["output"] == [call] and [tool["name"] for tool in response["tools"]] == ["get_weather"]
    assert events(with_tools.get(f"{PATH}/{response_id}?stream=true")) == datas


@pytest.mark.parametrize("with_tools", [asking_graph(tools=["calculator"])], ids=["asks"], indirect=True)
def test_the_client_gets_a_call_when_the_user_has_allowed_it(with_tools):
    asking = completed(with_tools.post(PATH, ask("weather", tools=[_WEATHER])))
    assert asking["output"] == [] and asking["interrupt"]["node"] == "ASK"
    allowed = completed(with_tools.post(PATH, ask("plain yes", tools=[_WEATHER], previous_response_id=asking["id"])))
    (call,) = allowed["output"]
    assert call["type"] == "function_call" and "interrupt" not in allowed


def test_images_in_the_results_of_tools_reach_the_model(with_tools):
    first = completed(with_tools.post(PATH, ask("weather", tools=[_WEATHER])))
    image = {"type": "input_image", "image_url": "data:image/png;base64,aGk="}
    for output, text in (([image], "The result is attached below."),
                         ([{"type": "input_text", "text": "a map"}, image], "a map")):
        result = {"type": "function_call_output", "call_id": first["output"][0]["call_id"], "output": output}
        body = ask([result], previous_response_id=first["id"], tools=[_WEATHER])
        assert output_text(completed(with_tools.post(PATH, body))) == "seen"
        *_, shown, attached = with_tools.mock.messages()
        assert shown["role"] == "tool" and shown["content"] in (text, json.dumps(text))
        assert attached["role"] == "user"
        assert [part["type"] for part in attached["content"]] == ["text", "image_url"]


def test_images_follow_the_last_of_parallel_results(service):
    image = {"type": "input_image", "image_url": "data:image/png;base64,aGk="}
    calls = [{"type": "function_call", "call_id": call, "name": "f", "arguments": ""} for call in ("c1", "c2")]
    results = [
        {"type": "function_call_output", "call_id": "c1", "output": [image]},
        {"type": "function_call_output", "call_id": "c2", "output": "x"},
    ]
    asked = [{"role": "user", "content": "look"}, *calls, *results, {"role": "user", "content": "Ahoy"}]
    response = completed(service.post(PATH, ask(asked)))
    listed = service.get(f"{PATH}/{response['id']}/input_items?order=asc").json()["data"]
    assert [item["type"] for item in listed] == [
        "message", "function_call", "function_call", "function_call_output", "function_call_output", "message", "message",
    ]
    assert [part["type"] for part in listed[5]["content"]] == ["input_text", "input_image"]


def test_offers_of_other_kinds_of_tools_are_ignored(with_tools):
    tools = [
        {"type": "web_search", "external_web_access": False},
        {"type": "namespace", "name": "agents", "description": "Other agents.", "tools": [_WEATHER]},
        _WEATHER,
    ]
    response = completed(with_tools.post(PATH, ask("weather", tools=tools)))
    assert [item["type"] for item in response["output"]] == ["function_call"]
    assert response["tools"] == tools
    offered = [tool["function"]["name"] for tool in with_tools.mock.chat_requests()[-1]["body"]["tools"]]
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
    sent = with_tools.mock.chat_requests()[-1]["body"]
    assert sent["messages"][0] == {"role": "system", "content": "Talk like a pirate"}
    assert (sent["temperature"], sent["top_p"], sent["max_tokens"]) == (0.25, 0.5, 50)
    assert sent["reasoning_effort"] == "low" and sent["parallel_tool_calls"] is False
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "get_weather"}}
    assert sent["response_format"]["json_schema"] == {"name": "a", "strict": True, "schema": {"type": "object"}}
    assert not sent.keys() & {"seed", "presence_penalty"}, "parameters of chat completions"
    (thread,) = with_tools.get("/v1/threads").json()["data"]["threads"]
    messages = with_tools.get(f"/v1/threads/{thread['thread_id']}/messages").json()["data"]["messages"]
    assert texts(messages) == ["plain", "fine"], "instructions are not a part of the conversation"


def test_a_limit_only_lowers_what_is_configured(make_service, start_mock_provider):
    mock = start_mock_provider([{"match": {"userMessage": "plain"}, "response": {"content": "fine"}}])
    model = {"provider": "openai", "model": "m", "base_url": mock.base_url, "parameters": {"max_tokens": 30}}
    service = make_service(DEMO | {"models": {"default": model}}).start()
    for wanted, sent in ((10, 10), (1000, 30), (10.0, 10), (100000.0, 30)):
        completed(service.post(PATH, ask("plain", max_output_tokens=wanted)))
        limit = mock.requests()[-1]["body"]["max_tokens"]
        assert limit == sent and isinstance(limit, int)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": []}, "input"),
        ({"input": [{"type": "web_search_call", "id": "ws_1"}]}, "input[0].type"),
        ({"input": [{"role": "robot", "content": "x"}]}, "input[0].role"),
        ({"input": [{"role": "user", "content": [{"type": "x"}]}]}, "input[0].content[0].type"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input[0].id"),
        ({"input": [{"id": "msg_1"}]}, "input[0].id"),
        ({"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]}, "input"),
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
        ({"instructions": "x" * (1024 * 1024 + 1)}, "instructions"),
        ({"tools": [_WEATHER | {"name": f"t{number}"} for number in range(1025)]}, "tools"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
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
    told = [message["role"] for message in with_tools.mock.messages()]
    assert told == ["user", "assistant", "tool", "assistant", "user"]
    # The same in a branch of the conversation.
    assert output_text(completed(with_tools.post(PATH, again))) == "done"
    assert [message["role"] for message in with_tools.mock.messages()] == told[:3]
