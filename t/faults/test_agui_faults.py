"""kill -9 of the worker in the middle of a run of AG-UI: a client that comes back gets the whole
answer, and no message has pieces of two attempts."""

import pytest

from harness.agents import DEMO
from harness.agui import PATH, events, messages_of, of_type, parse, run_input, types, user, verify
from harness.http1 import ConnectionClosed
from harness.stream import is_done
from harness.waiting import wait_until

_CONTINUE = {"config": {"on_disconnect": "continue"}}



@pytest.fixture
def start(make_service, provider):
    def started(workers):
        models = {"default": {"provider": "openai", "model": "m", "base_url": provider.base_url}}
        service = make_service(DEMO | {"models": models}, workers=workers).start()
        service.error_log.allow(r"exited on signal 9")
        return service

    return started


def _read_rest(pieces, body=b""):
    """The events of a response whose beginning has been read, and whether it came to its end."""
    try:
        for piece in pieces:
            body += piece
    except ConnectionClosed:
        pass
    whole = body[: body.rfind(b"\n\n") + 2].decode()
    found = parse(whole)
    return found, bool(found) and found[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")


def _joined(service, question, thread):
    try:
        reply = service.post(PATH, run_input(question, thread=thread))
    except (ConnectionClosed, ConnectionError):
        return None
    if reply.status != 200:
        return None
    found = parse(reply.text)
    return events(reply) if found and found[-1]["type"] == "RUN_FINISHED" else None


def test_the_answer_survives_its_worker(start, provider):
    service = start(workers=1)
    question = user("go", "u1")
    with service.connect() as connection:
        connection.request("POST", PATH, [], run_input(question, run="r1", forwardedProps=_CONTINUE))
        pieces = connection.body_pieces(connection.read_head())
        beginning = next(pieces)  # nginx may send it after the model was asked
        provider.wait_for_waiting(1)
        service.kill_worker()
        found, ended = _read_rest(pieces, beginning)
    assert not ended and "RUN_STARTED" in types(found)
    provider.open_gate()
    found = wait_until(lambda: _joined(service, question, "t"), "the run is joined")
    assert found[0]["runId"] == "r1"
    assert [m["content"] for m in messages_of(found)] == ["go", provider.text]
    (run,) = service.get("/v1/threads/t/runs").json()["data"]["runs"]
    assert run["status"] == "done" and run["attempt"] > 1, run
    # The run is the same on the native routes.
    lines = service.get("/v1/threads/t/runs/r1/stream", headers=[("Accept", "application/x-ndjson")]).lines()
    assert is_done(lines[-1])


def test_begun_on_chat_completions_killed_and_joined(start, provider):
    """Begun on another façade, whose worker dies; read on the native stream and by AG-UI."""
    service = start(workers=1)
    body = {"model": "support", "stream": True, "messages": [{"role": "user", "content": "go"}],
            "metadata": {"thread_id": "t"}}
    with service.connect() as connection:
        connection.request("POST", "/openai/v1/chat/completions", [("Idempotency-Key", "k")], body)
        provider.wait_for_waiting(1)
        service.kill_worker()
    provider.open_gate()

    def joined():
        try:
            reply = service.post(PATH, run_input(thread="t"))
        except (ConnectionClosed, ConnectionError):
            return None
        return reply if reply.status == 200 and "RUN_FINISHED" in reply.text else None

    found = events(wait_until(joined, "the run is joined"))
    assert [m["content"] for m in messages_of(found)] == ["go", provider.text]
    run_id = found[0]["runId"]
    path = f"/v1/threads/t/runs/{run_id}/stream"
    lines = service.get(path, headers=[("Accept", "application/x-ndjson")]).lines()
    assert lines[-2]["message"]["content"][0]["text"] == provider.text and is_done(lines[-1])


def test_no_message_mixes_two_attempts(start, provider):
    """Readers in other workers have a part of an answer that dies with its worker: it is removed, and the
    answer of the next attempt is another message."""
    service = start(workers=2)
    threads = [f"t{number}" for number in range(8)]
    questions = {thread: user("go") for thread in threads}
    connections = {thread: service.connect() for thread in threads}
    for thread, connection in connections.items():
        body = run_input(questions[thread], thread=thread, forwardedProps=_CONTINUE)
        connection.request("POST", PATH, [], body)
    replies = {thread: connection.read_head() for thread, connection in connections.items()}
    provider.wait_for_waiting(len(threads))
    service.kill_worker()
    provider.open_gate()
    for thread, connection in connections.items():
        found, ended = _read_rest(connection.body_pieces(replies[thread]))
        connection.close()
        if ended:
            verify(found)
            answers = [m for m in messages_of(found) if m["role"] == "assistant"]
            assert [m["content"] for m in answers] == [provider.text]
            for event in of_type(found, "CUSTOM"):
                assert event["name"] == "agent-graph:retrying" and event["value"]["attempt"] > 1
        whole = wait_until(lambda t=thread: _joined(service, questions[t], t), "the run is joined")
        assert messages_of(whole)[-1]["content"] == provider.text
