"""kill -9 of the worker in the middle of a chat completion with an Idempotency-Key: the answer is
produced all the same, and the client that repeats its request gets it, once."""

import threading

import pytest

from harness.agents import DEMO
from harness.gated_provider import GatedProvider
from harness.http1 import ConnectionClosed
from harness.messages import texts
from harness.openai_chat import PATH, answer, chat, content, events
from harness.stream import is_done
from harness.waiting import wait_until

_KEY = [("Idempotency-Key", "k")]


@pytest.fixture
def provider():
    gated = GatedProvider(words=tuple(f"word{number} " for number in range(20)), before_gate=5)
    yield gated
    gated.close()


@pytest.fixture
def service(make_service, provider):
    models = {"default": {"provider": "openai", "model": "m", "base_url": provider.base_url}}
    started = make_service(DEMO | {"models": models}, workers=1).start()
    started.error_log.allow(r"exited on signal 9")
    return started


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
