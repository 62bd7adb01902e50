"""The Responses API on the wire: requests, and the numbered events of a streamed response."""

import base64
import json

PATH = "/openai/v1/responses"
_ENDS = {"response.completed", "response.incomplete", "response.failed"}


def ask(asked, **fields):
    return {"model": "support", "input": asked} | fields


def _object_id(prefix, *parts):
    return prefix + base64.urlsafe_b64encode("\0".join(parts).encode()).rstrip(b"=").decode()


def response_id(thread_id, run_id):
    """The id of the response that is this run."""
    return _object_id("resp_", thread_id, run_id)


def message_item_id(thread_id, message_id):
    """The id of the item that is the text of this message."""
    return _object_id("msg_", thread_id, message_id, "")


def events_in(text):
    """The events of a stream, or of a part of one, as (name, data)."""
    found = []
    for block in text.split("\n\n"):
        if not block or block.startswith(":"):
            continue
        name, _, data = block.partition("\n")
        assert name.startswith("event: ") and data.startswith("data: "), block
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def events(reply):
    """The data of each event of a whole stream, which has no gap, no unknown order and one end."""
    assert reply.status == 200, reply.text
    assert reply.header("Content-Type") == "text/event-stream"
    found = events_in(reply.text)
    assert [name for name, _ in found] == [data["type"] for _, data in found]
    datas = [data for _, data in found]
    assert [data["sequence_number"] for data in datas] == list(range(len(datas)))
    assert datas[0]["type"] == "response.created"
    assert [data["type"] in _ENDS for data in datas] == [False] * (len(datas) - 1) + [True]
    return datas


def deltas(datas):
    return "".join(data["delta"] for data in datas if data["type"] == "response.output_text.delta")


def output_text(response):
    """The texts of all messages of a response."""
    parts = [part for item in response["output"] if item["type"] == "message" for part in item["content"]]
    assert all(part["type"] == "output_text" and part["annotations"] == [] for part in parts)
    return "".join(part["text"] for part in parts)


def completed(reply):
    """The response of an answer that is one object and has not failed."""
    assert reply.status == 200, reply.text
    response = reply.json()
    assert response["object"] == "response" and response["status"] == "completed", response
    assert all(item["id"] and item["status"] == "completed" for item in response["output"])
    return response
