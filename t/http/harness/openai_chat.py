"""Chat Completions on the wire: requests, and the events of a streamed answer."""

import json

PATH = "/openai/v1/chat/completions"


def chat(*messages, **fields):
    """The body of a request; a text is a message of the user."""
    listed = [{"role": "user", "content": m} if isinstance(m, str) else m for m in messages]
    return {"model": "support", "messages": listed} | fields


def tool(name, **properties):
    """A tool of the client."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": "A tool.", "parameters": schema}}


def events(reply):
    """The JSON of each event; the last one must be [DONE], which is left out."""
    assert reply.status == 200, reply.text
    assert reply.header("Content-Type") == "text/event-stream"
    assert reply.text.endswith("data: [DONE]\n\n"), reply.text
    found = [event for event in reply.text.split("\n\n") if event and not event.startswith(":")]
    assert all(event.startswith("data: ") and "\n" not in event for event in found), reply.text
    return [json.loads(event.removeprefix("data: ")) for event in found[:-1]]


def content(chunks):
    """The text that the deltas make up."""
    return "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c["choices"])


def answer(reply):
    """The message of an answer that is one object."""
    assert reply.status == 200, reply.text
    assert reply.header("Content-Type") == "application/json"
    completion = reply.json()
    assert completion["object"] == "chat.completion" and len(completion["choices"]) == 1
    return completion["choices"][0]["message"]


def error(reply):
    """The error object of a refusal."""
    assert reply.status >= 400, reply.text
    assert reply.header("Content-Type") == "application/json"
    found = reply.json()["error"]
    assert found.keys() == {"message", "type", "param", "code"}, found
    assert found["message"] and isinstance(found["message"], str)
    return found
