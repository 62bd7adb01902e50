"""What users of the package `openai` do. Usage: openai_client.py SCENARIO BASE_URL KEY; prints the
result as JSON."""

import json
import sys

import openai
import pydantic

_WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def _user(text):
    return {"role": "user", "content": text}


def models(client):
    return [model.id for model in client.models.list()] + [client.models.retrieve("app").id]


def answer(client):
    completion = client.chat.completions.create(model="app", messages=[_user("plain")])
    choice = completion.choices[0]
    return [choice.message.content, choice.finish_reason, completion.usage.total_tokens > 0]


def stream(client):
    options = {"include_usage": True}
    chunks = list(
        client.chat.completions.create(
            model="app", messages=[_user("plain")], stream=True, stream_options=options
        )
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    return [text, [chunk.usage is not None for chunk in chunks].count(True), chunks[-1].usage.total_tokens > 0]


def accumulated_stream(client):
    """The helper that puts the chunks together is strict about their form."""
    with client.chat.completions.stream(model="app", messages=[_user("plain")]) as events:
        final = events.get_final_completion()
    return [final.choices[0].message.content, final.choices[0].finish_reason]


def tools(client):
    """A tool of the user, whose call is streamed and whose result goes back."""
    messages = [_user("weather")]
    with client.chat.completions.stream(model="app", messages=messages, tools=[_WEATHER]) as events:
        final = events.get_final_completion()
    message = final.choices[0].message
    call = message.tool_calls[0]
    messages += [
        message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}),
        {"role": "tool", "tool_call_id": call.id, "content": "sunny"},
    ]
    last = client.chat.completions.create(model="app", messages=messages, tools=[_WEATHER])
    return [
        final.choices[0].finish_reason,
        call.function.name,
        json.loads(call.function.arguments),
        last.choices[0].message.content,
    ]


def threads(client):
    answers = [
        client.chat.completions.create(
            model="app", messages=[_user(text)], metadata={"thread_id": "python"}
        ).choices[0].message.content
        for text in ("plain", "plain")
    ]
    headers = {"X-Thread-Id": "python"}
    last = client.chat.completions.create(model="app", messages=[_user("plain")], extra_headers=headers)
    return answers + [last.choices[0].message.content]


def images(client):
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    content = [{"type": "text", "text": "plain"}, part]
    completion = client.chat.completions.create(model="app", messages=[{"role": "user", "content": content}])
    return completion.choices[0].message.content


def errors(client):
    found = {}
    for name, parameters in (
        ("n", {"model": "app", "messages": [_user("plain")], "n": 2}),
        ("messages", {"model": "app", "messages": []}),
        ("role", {"model": "app", "messages": [{"role": "robot", "content": "x"}]}),
        ("model", {"model": "other", "messages": [_user("plain")]}),
    ):
        try:
            client.chat.completions.create(**parameters)
        except openai.APIStatusError as error:
            found[name] = [type(error).__name__, error.param, error.code, error.request_id is not None]
    try:
        client.with_options(api_key="wrong").models.list()
    except openai.APIStatusError as error:
        found["key"] = [type(error).__name__, error.code]
    return found


def foreign_thread(client):
    try:
        client.chat.completions.create(
            model="app", messages=[_user("plain")], metadata={"thread_id": "python"}
        )
    except openai.APIStatusError as error:
        return type(error).__name__


def repeated(client):
    """Two requests with one key are one run."""
    headers = {"Idempotency-Key": "python-1"}
    return [
        client.chat.completions.create(model="app", messages=[_user("plain")], extra_headers=headers).id
        for _ in range(2)
    ]


# Responses

_FLAT_WEATHER = {"type": "function"} | _WEATHER["function"]


def response(client):
    found = client.responses.create(model="app", input="plain", metadata={"order": "17"})
    again = client.responses.retrieve(found.id)
    return [found.output_text, found.status, found.usage.total_tokens > 0, again.output_text]


def response_stream(client):
    events = list(client.responses.create(model="app", input="plain", stream=True))
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    return [text, events[-1].response.output_text, events[0].type, events[-1].type]


def response_helper(client):
    """The helper that puts the events together is strict about their order."""
    with client.responses.stream(model="app", input="plain") as events:
        for _ in events:
            pass
        return [events.get_final_response().output_text, events.get_final_response().status]


def response_tools(client):
    """The call is streamed, and its result follows the response that made it."""
    with client.responses.stream(model="app", input="weather", tools=[_FLAT_WEATHER]) as events:
        first = events.get_final_response()
    (call,) = first.output
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
    last = client.responses.create(
        model="app", input=[result], previous_response_id=first.id, tools=[_FLAT_WEATHER]
    )
    return [call.type, call.name, json.loads(call.arguments), last.output_text]


def response_background(client):
    """The connection is cut in the middle of the answer; the events behind the last one that came are
    read with another one."""
    first = []
    stream = client.responses.create(model="app", input="plain", background=True, stream=True)
    for event in stream:
        first.append(event)
        if event.type == "response.output_text.delta":
            break
    stream.close()
    response_id = first[0].response.id
    rest = list(client.responses.retrieve(response_id, stream=True, starting_after=first[-1].sequence_number))
    numbers = [event.sequence_number for event in first + rest]
    text = "".join(e.delta for e in first + rest if e.type == "response.output_text.delta")
    with client.responses.stream(response_id=response_id, starting_after=first[-1].sequence_number) as events:
        helped = [event.sequence_number for event in events]
        final = events.get_final_response()
    return [numbers == list(range(len(numbers))), text, helped == numbers[len(first):], final.output_text]


def response_cancelled(client):
    found = client.responses.create(model="app", input="plain", background=True)
    cancelled = client.responses.cancel(found.id)
    deleted = client.responses.delete(found.id)
    try:
        client.responses.retrieve(found.id)
    except openai.NotFoundError as error:
        return [found.status in ("queued", "in_progress"), cancelled.status in ("cancelled", "completed"),
                deleted, error.code]


def response_items(client):
    found = client.responses.create(model="app", input=[_user("plain"), _user("plain")])
    items = list(client.responses.input_items.list(found.id, limit=1, order="asc"))
    return [item.content[0].text for item in items]


def response_conversation(client):
    answers = [client.responses.create(model="app", input="plain", conversation="python-talk") for _ in range(2)]
    return [answer.conversation.id for answer in answers]


def conversation(client):
    made = client.conversations.create(metadata={"topic": "rain"}, items=[_user("plain")])
    answer = client.responses.create(model="app", input="plain", conversation=made.id)
    found = client.conversations.retrieve(made.id)
    changed = client.conversations.update(made.id, metadata={"topic": "sun"})
    deleted = client.conversations.delete(made.id)
    return [found == made, answer.output_text, answer.conversation.id == made.id, changed.metadata,
            changed.created_at == made.created_at, [deleted.id == made.id, deleted.deleted, deleted.object]]


def conversation_items(client):
    made = client.conversations.create()
    image = {"type": "input_image", "image_url": "data:image/png;base64,aGVsbG8=", "detail": "auto"}
    added = client.conversations.items.create(
        made.id,
        items=[
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "weather"}, image]},
            {"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "sunny"},
            {"type": "message", "role": "assistant", "content": "done"},
        ],
        include=["message.input_image.image_url"],
    )
    oldest_first = list(client.conversations.items.list(made.id, limit=1, order="asc"))
    newest_first = list(client.conversations.items.list(made.id, limit=3))
    asked = client.conversations.items.retrieve(added.first_id, conversation_id=made.id)
    after = client.conversations.items.delete(added.last_id, conversation_id=made.id)
    kinds = [type(item).__name__ for item in oldest_first]
    return [kinds, added.data == oldest_first == newest_first[::-1], asked == oldest_first[0],
            [part.type for part in asked.content], after == made,
            len(list(client.conversations.items.list(made.id)))]


def conversation_errors(client):
    made = client.conversations.create()
    found = {}
    for name, call in (
        ("role", lambda: client.conversations.create(items=[{"role": "robot", "content": "plain"}])),
        ("many", lambda: client.conversations.items.create(made.id, items=[_user("plain")] * 21)),
        ("metadata", lambda: client.conversations.update(made.id, metadata={"a": "x" * 513})),
        ("after", lambda: list(client.conversations.items.list(made.id, after="msg_x"))),
        ("unknown", lambda: client.conversations.retrieve("conv_x")),
        ("item", lambda: client.conversations.items.retrieve("msg_x", conversation_id=made.id)),
    ):
        try:
            call()
        except openai.APIStatusError as error:
            found[name] = [type(error).__name__, error.param, error.code]
    return found


def foreign_conversation(client):
    found = []
    for call in (
        lambda: client.conversations.retrieve("python-talk"),
        lambda: client.conversations.items.list("python-talk"),
        lambda: client.conversations.items.create("python-talk", items=[_user("plain")]),
        lambda: client.conversations.delete("python-talk"),
    ):
        try:
            call()
        except openai.APIStatusError as error:
            found.append(type(error).__name__)
    return found


class Person(pydantic.BaseModel):
    name: str


def response_parsed(client):
    parsed = client.responses.parse(model="app", input="json", text_format=Person)
    completion = client.chat.completions.parse(model="app", messages=[_user("json")], response_format=Person)
    return [parsed.output_parsed.name, completion.choices[0].message.parsed.name]


def response_errors(client):
    found = {}
    for name, parameters in (
        ("input", {"model": "app", "input": []}),
        ("model", {"model": "other", "input": "plain"}),
        ("previous", {"model": "app", "input": "plain", "previous_response_id": "resp_x"}),
        ("tool", {"model": "app", "input": "plain", "tools": [{"type": "web_search"}],
                  "tool_choice": {"type": "web_search"}}),
    ):
        try:
            client.responses.create(**parameters)
        except openai.APIStatusError as error:
            found[name] = [type(error).__name__, error.param, error.code]
    return found


def main():
    scenario, base_url, key = sys.argv[1:]
    client = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0)
    print(json.dumps({name: globals()[name](client) for name in scenario.split(",")}))


main()
