"""AG-UI on the wire: requests, and the events of a response, which must follow the protocol's rules."""

import json
import uuid

PATH = "/agui"


def user(text, message_id=None):
    return {"id": message_id or str(uuid.uuid4()), "role": "user", "content": text}


def run_input(*messages, thread="t", run=None, **fields):
    """The body of a request of a client of version 1.0; a text is a message of the user."""
    return {
        "threadId": thread,
        "runId": run or str(uuid.uuid4()),
        "protocolVersion": "1.0",
        "messages": [user(m) if isinstance(m, str) else m for m in messages],
        "state": {},
        "tools": [],
        "context": [],
        "forwardedProps": {},
    } | fields


def answer_to(interrupt, payload=None, status="resolved"):
    """An entry of `resume`."""
    entry = {"interruptId": interrupt["id"], "status": status}
    return entry if payload is None else entry | {"payload": payload}


def tool(name, **properties):
    """A tool of the client."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": "A tool.", "parameters": schema}


def parse(text):
    """The events of a response that has come to its end."""
    assert "\r" not in text and (text == "" or text.endswith("\n\n")), text[-200:]
    frames = [frame for frame in text.split("\n\n") if frame and not frame.startswith(":")]
    assert all(frame.startswith("data: ") and "\n" not in frame for frame in frames), text
    return [json.loads(frame.removeprefix("data: ")) for frame in frames]


def events(reply):
    """The events of a whole response, after a check of the protocol's rules."""
    assert reply.status == 200, reply.text
    assert reply.header("Content-Type") == "text/event-stream"
    found = parse(reply.text)
    verify(found)
    return found


def types(found):
    return [event["type"] for event in found]


def of_type(found, kind):
    return [event for event in found if event["type"] == kind]


def text(found):
    """The text that the deltas make up."""
    return "".join(event["delta"] for event in of_type(found, "TEXT_MESSAGE_CONTENT"))


def error(reply):
    """The error of a request that was refused before its stream began."""
    assert reply.status >= 400, reply.text
    assert reply.header("Content-Type") == "application/json"
    found = reply.json()
    assert found["type"] == "RUN_ERROR" and found["message"] and found["code"]
    return found


def messages_of(found):
    """The messages of a client that had none before."""
    messages = []
    for event in found:
        kind = event["type"]
        if kind == "MESSAGES_SNAPSHOT":
            messages = [dict(message) for message in event["messages"]]
        elif kind == "TEXT_MESSAGE_START":
            _message(messages, event["messageId"])
        elif kind == "TEXT_MESSAGE_CONTENT":
            message = _message(messages, event["messageId"])
            message["content"] = message.get("content", "") + event["delta"]
        elif kind == "TOOL_CALL_START":
            function = {"name": event["toolCallName"], "arguments": ""}
            call = {"id": event["toolCallId"], "type": "function", "function": function}
            _message(messages, event["parentMessageId"]).setdefault("toolCalls", []).append(call)
        elif kind == "TOOL_CALL_ARGS":
            calls = [c for m in messages for c in m.get("toolCalls", []) if c["id"] == event["toolCallId"]]
            calls[0]["function"]["arguments"] += event["delta"]
        elif kind == "TOOL_CALL_RESULT":
            members = ("toolCallId", "content")
            messages.append({"id": event["messageId"], "role": "tool"} | {m: event[m] for m in members})
    return messages


def _message(messages, message_id):
    for message in messages:
        if message["id"] == message_id:
            return message
    messages.append({"id": message_id, "role": "assistant"})
    return messages[-1]


# The rules that clients enforce

_SPANS = {  # opening event: (member with the id, events in it, closing event)
    "TEXT_MESSAGE": ("messageId", "TEXT_MESSAGE_CONTENT"),
    "TOOL_CALL": ("toolCallId", "TOOL_CALL_ARGS"),
    "REASONING": ("messageId", None),
    "REASONING_MESSAGE": ("messageId", "REASONING_MESSAGE_CONTENT"),
}


def verify(found):
    """Fails unless the events are those of one run that a client accepts."""
    assert found and found[0]["type"] in ("RUN_STARTED", "RUN_ERROR"), found[:1]
    assert types(found).count("RUN_STARTED") <= 1
    assert found[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR"), found[-1]
    is_open = {kind: set() for kind in _SPANS} | {"STEP": set()}
    closed = {kind: set() for kind in _SPANS}
    for index, event in enumerate(found):
        _no_null(event)
        assert isinstance(event.get("timestamp", 0), int)
        kind = event["type"]
        if kind in ("RUN_FINISHED", "RUN_ERROR"):
            assert index == len(found) - 1, f"events behind {kind}"
        if kind == "RUN_FINISHED":
            assert not any(is_open.values()), is_open
            assert event["threadId"] == found[0]["threadId"] and event["runId"] == found[0]["runId"]
        if kind == "STEP_STARTED":
            assert event["stepName"] not in is_open["STEP"]
            is_open["STEP"].add(event["stepName"])
        if kind == "STEP_FINISHED":
            is_open["STEP"].remove(event["stepName"])
        for span, (member, piece) in _SPANS.items():
            if kind == span + "_START":
                assert event[member] not in is_open[span] | closed[span], event
                is_open[span].add(event[member])
            if kind == span + "_END":
                is_open[span].remove(event[member])
                closed[span].add(event[member])
            if kind == piece:
                assert event[member] in is_open[span] and event["delta"], event


_OPAQUE = ("snapshot", "delta", "value", "metadata", "payload", "responseSchema")  # any JSON


def _no_null(value):
    assert value is not None, "null stands for an absent member"
    if isinstance(value, dict):
        for name, member in value.items():
            if name not in _OPAQUE:
                _no_null(member)
    elif isinstance(value, list):
        for member in value:
            _no_null(member)
