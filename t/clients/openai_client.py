"""What users of the package `openai` do. Usage: openai_client.py SCENARIO BASE_URL KEY; prints the
result as JSON."""

import json
import sys

import openai

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


def main():
    scenario, base_url, key = sys.argv[1:]
    client = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0)
    print(json.dumps({name: globals()[name](client) for name in scenario.split(",")}))


main()
