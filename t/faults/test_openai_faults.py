"""kill -9 of the worker in the middle of a chat completion with an Idempotency-Key, or of a background
response: the answer is produced all the same, and the client that comes back gets it, once."""

import json
import threading

import pytest

from harness.agents import DEMO
from harness.http1 import ConnectionClosed
from harness.messages import texts
from harness.openai_chat import PATH, answer, chat, content, events
from harness.openai_responses import PATH as RESPONSES
from harness.openai_responses import ask, deltas, events_in, output_text
from harness.openai_responses import events as response_events
from harness.stream import is_done
from harness.waiting import wait_until

_KEY = [("Idempotency-Key", "k")]


def _ask(service, body, replies):
    try:
        replies.append(service.post(PATH, body, headers=_KEY))
    except (ConnectionClosed, ConnectionError):
        replies.append(None)


@pytest.mark.parametrize("stream", [False, True], ids=["object", "stream"])
def test_the_answer_survives_its_worker(service, provider, stream):
    body = chat("go", stream=stream)
    cut = []
    first = threading.Thread(target=_ask, args=(service, body, cut))
    first.start()
    provider.wait_for_waiting(1)
    service.kill_worker()
    first.join()
    assert cut == [None] or cut[0].status >= 500, "the connection has gone with its worker"
    provider.open_gate()

    def whole_answer():
        replies = []
        _ask(service, body, replies)
        reply = replies[0]
        if reply is None or reply.status != 200 or "[DONE]" not in reply.text and stream:
            return None
        return content(events(reply)) if stream else answer(reply)["content"]

    assert wait_until(whole_answer, "the repeated request is answered") == provider.text
    assert whole_answer() == provider.text, "once more, the same"
    (thread,) = service.get("/v1/threads").json()["data"]["threads"]
    (run,) = service.get(f"/v1/threads/{thread['thread_id']}/runs").json()["data"]["runs"]
    assert run["status"] == "done" and run["attempt"] > 1, run
    # The run is the same on the native routes.
    path = f"/v1/threads/{thread['thread_id']}/runs/{run['run_id']}/stream"
    lines = service.get(path, headers=[("Accept", "application/x-ndjson")]).lines()
    whole = [line["message"] for line in lines if line["message"] and not line["message"].get("delta")]
    assert texts(whole) == [provider.text] and is_done(lines[-1])


def _read(connection, reply):
    """The text of the deltas, and whether the stream came to its end."""
    body = b""
    try:
        for piece in connection.body_pieces(reply):
            body += piece
    except ConnectionClosed:
        pass
    lines = [line for line in body.decode().split("\n\n") if line.startswith("data: {") and line.endswith("}")]
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines]
    return content([c for c in chunks if "choices" in c]), body.endswith(b"data: [DONE]\n\n")


def test_no_stream_mixes_two_attempts(make_service, provider):
    """A reader in another worker has a part of the answer that dies with its worker: the part cannot be
    taken back, so that the stream ends without [DONE], and the repeated request has the whole answer."""
    models = {"default": {"provider": "openai", "model": "m", "base_url": provider.base_url}}
    service = make_service(DEMO | {"models": models}, workers=2).start()
    service.error_log.allow(r"exited on signal 9")
    body = chat("go", stream=True)
    keys = [[("Idempotency-Key", f"k{number}")] for number in range(8)]
    connections = [service.connect() for _ in keys]
    for connection, key in zip(connections, keys, strict=True):
        connection.request("POST", PATH, key, body)
    replies = [connection.read_head() for connection in connections]
    provider.wait_for_waiting(len(keys))
    service.kill_worker()
    provider.open_gate()
    for connection, reply in zip(connections, replies, strict=True):
        text, whole = _read(connection, reply)
        assert text == provider.text if whole else provider.text.startswith(text), text
        connection.close()

    def whole_answer(key):
        reply = service.post(PATH, body, headers=key)
        return reply.status == 200 and "[DONE]" in reply.text and content(events(reply))

    for key in keys:
        assert wait_until(lambda key=key: whole_answer(key), "the repeated request is answered") == provider.text


def test_an_answer_that_is_one_object_takes_the_next_attempt(make_service, provider):
    """A request in another worker has shown nothing of the part that dies with its worker."""
    models = {"default": {"provider": "openai", "model": "m", "base_url": provider.base_url}}
    service = make_service(DEMO | {"models": models}, workers=2).start()
    service.error_log.allow(r"exited on signal 9")
    connections = [service.connect() for _ in range(8)]
    for number, connection in enumerate(connections):
        connection.request("POST", PATH, [("Idempotency-Key", f"k{number}")], chat("go"))
    provider.wait_for_waiting(len(connections))
    service.kill_worker()
    provider.open_gate()
    for connection in connections:
        try:
            reply = connection.read_reply()
        except (ConnectionClosed, ConnectionError):
            continue  # the connection was one of the worker that died
        assert answer(reply)["content"] == provider.text
        connection.close()


def _whole_events(body):
    """The data of the events that have arrived whole."""
    text = body.decode(errors="ignore")
    return [data for _, data in events_in(text[: text.rfind("\n\n") + 2])]


def _read_until_cut(connection, reply, until=None):
    """The events of a stream up to its end, or up to the first one whose type is `until`."""
    body = b""
    try:
        for piece in connection.body_pieces(reply):
            body += piece
            found = _whole_events(body)
            if until and any(data["type"] == until for data in found):
                return found
    except ConnectionClosed:
        pass
    return _whole_events(body)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_background_response_survives_its_worker(make_service, provider, workers):
    """A client that reconnects with the number of its last event gets exactly the rest, from any worker. A
    client that reads all events gets the same ones."""
    models = {"default": {"provider": "openai", "model": "m", "base_url": provider.base_url}}
    service = make_service(DEMO | {"models": models}, workers=workers).start()
    service.error_log.allow(r"exited on signal 9")
    connections = [service.connect() for _ in range(4)]
    streams = []
    for connection in connections:
        connection.request("POST", RESPONSES, [], ask("go", background=True, stream=True))
        streams.append(connection.read_head())
    provider.wait_for_waiting(len(connections))
    seen = [
        _read_until_cut(connection, reply, "response.output_text.delta")
        for connection, reply in zip(connections, streams, strict=True)
    ]
    service.kill_worker()
    provider.open_gate()
    for connection, beginning in zip(connections, seen, strict=True):
        connection.close()
        path = f"{RESPONSES}/{beginning[0]['response']['id']}"

        def rest_of(path=path, after=len(beginning) - 1):
            try:
                reply = service.get(f"{path}?stream=true&starting_after={after}")
            except (ConnectionClosed, ConnectionError):
                return None
            found = [data for _, data in events_in(reply.text)] if reply.status == 200 else []
            return found if found and found[-1]["type"] == "response.completed" else None

        whole = beginning + wait_until(rest_of, "the rest of the response is there")
        assert [data["sequence_number"] for data in whole] == list(range(len(whole)))
        final = whole[-1]["response"]
        assert output_text(final) == provider.text
        last_item = final["output"][-1]["id"]
        assert deltas([data for data in whole if data.get("item_id") == last_item]) == provider.text
        assert response_events(service.get(f"{path}?stream=true")) == whole
        assert service.get(path).json() == final
