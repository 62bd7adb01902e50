"""Idempotency-Key: a request that is sent again gets the run of the first one."""

import threading

import pytest

from harness.agents import DEMO, behaviour
from harness.messages import text_of
from harness.service import invocation
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.websocket import WebSocket

_KEY = {"Idempotency-Key": "order-17"}


def _body(text="hi", thread_id="t", **fields):
    return invocation(text, config={"thread_id": thread_id}, **fields)


def _runs(service, thread_id="t"):
    return service.get(f"/v1/threads/{thread_id}/runs").json()["data"]["runs"]


@pytest.mark.parametrize("route", ["invoke", "runs"])
def test_the_same_request_makes_one_run(start_service, route):
    service = start_service(DEMO, workers=3)
    replies = [service.post(f"/v1/graph/{route}", _body(), headers=_KEY) for _ in range(6)]
    assert len({reply.status for reply in replies}) == 1, [reply.text for reply in replies]
    assert replies[0].status == (200 if route == "invoke" else 202)
    assert len(_runs(service)) == 1
    assert len({reply.header("Location") for reply in replies}) == 1
    if route == "invoke":
        assert all(r.json()["data"]["messages"] == replies[0].json()["data"]["messages"] for r in replies)


def test_a_stream_is_repeated_from_its_start(start_service):
    service = start_service(DEMO, workers=2)
    texts = []
    for _ in range(3):
        stream = service.stream("hi", config={"thread_id": "t"}, headers=_KEY)
        assert stream.ended_with_done()
        texts.append(stream.final_text())
    assert texts == ["You said: hi"] * 3
    assert len(_runs(service)) == 1


def test_requests_at_the_same_time_make_one_run(start_service, gated_provider):
    models = {"default": {"provider": "openai", "model": "m", "base_url": gated_provider.base_url}}
    service = start_service(DEMO | {"models": models}, workers=2)
    replies = []
    threads = [
        threading.Thread(
            target=lambda: replies.append(service.post("/v1/graph/invoke", _body(), headers=_KEY))
        )
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    gated_provider.wait_for_waiting(1)
    gated_provider.open_gate()
    for thread in threads:
        thread.join()
    assert [reply.status for reply in replies] == [200] * 8
    assert gated_provider.finished == 1
    assert len(_runs(service)) == 1


def test_a_new_thread_is_made_once(start_service):
    service = start_service(DEMO)
    threads = {
        service.post("/v1/graph/invoke", invocation("hi"), headers=_KEY).json()["data"]["meta"]["thread_id"]
        for _ in range(3)
    }
    assert len(threads) == 1


def test_another_body_is_refused(start_service):
    service = start_service(DEMO)
    assert service.post("/v1/graph/invoke", _body("one"), headers=_KEY).status == 200
    reply = service.post("/v1/graph/invoke", _body("two"), headers=_KEY)
    assert reply.status == 422
    assert reply.json()["error"]["code"] == "IDEMPOTENCY_MISMATCH"
    # The order of members does not matter; another route has keys of its own.
    reordered = dict(reversed(_body("one").items()))
    assert service.post("/v1/graph/invoke", reordered, headers=_KEY).status == 200
    assert service.post("/v1/graph/runs", _body("two"), headers=_KEY).status == 202


def test_keys_belong_to_users(start_service):
    guarded = DEMO | {"auth": "jwt", "env": "secrets.env", "authorization": "ownership"}
    service = start_service(guarded, files={"secrets.env": JWT_ENVIRONMENT})
    for user in ("alice", "bob"):
        headers = [*bearer(user), ("Idempotency-Key", "k")]
        reply = service.post("/v1/graph/invoke", _body(user, thread_id=user), headers=headers)
        assert reply.status == 200, reply.text


def test_a_key_has_1_to_255_bytes(start_service):
    service = start_service(DEMO)
    for key in ("", "x" * 256):
        reply = service.post("/v1/graph/invoke", _body(), headers={"Idempotency-Key": key})
        assert reply.status == 422
        assert reply.json()["error"]["details"][0]["loc"] == ["header", "Idempotency-Key"]
    assert service.post("/v1/graph/invoke", _body(), headers={"Idempotency-Key": "x" * 255}).status == 200


def test_a_refused_request_keeps_no_key(start_service):
    service = start_service(DEMO)
    assert service.post("/v1/graph/invoke", _body(recursion_limit=0), headers=_KEY).status == 422
    assert service.post("/v1/graph/invoke", _body(), headers=_KEY).status == 200


def test_the_key_of_a_deleted_thread_is_gone(start_service):
    service = start_service(DEMO)
    assert service.post("/v1/graph/invoke", _body(), headers=_KEY).status == 200
    assert service.request("DELETE", "/v1/threads/t", {}).status == 200
    reply = service.post("/v1/graph/invoke", _body(), headers=_KEY)
    assert reply.status == 410
    assert reply.json()["error"]["code"] == "GONE"
    assert service.get("/v1/threads/t").status == 404


def test_a_failure_is_a_result(start_service):
    service = start_service(behaviour("throwing"))
    replies = [service.post("/v1/graph/invoke", _body(), headers=_KEY) for _ in range(2)]
    assert replies[0].status == replies[1].status == 500
    assert replies[0].json()["error"]["code"] == replies[1].json()["error"]["code"]
    assert len(_runs(service)) == 1


def test_frames_have_keys_too(start_service):
    service = start_service(DEMO, workers=2)
    frame = _body() | {"idempotency_key": "frame-1"}
    texts = []
    for _ in range(3):
        with WebSocket(service.port).upgrade() as socket:
            socket.send_json(frame)
            chunks = socket.read_run()
            texts.append([text_of(c["message"]) for c in chunks if c["message"] and not c["message"]["delta"]])
    assert texts == [["You said: hi"]] * 3
    assert len(_runs(service)) == 1
    with WebSocket(service.port).upgrade() as socket:
        socket.send_json(_body("other") | {"idempotency_key": "frame-1"})
        chunks = socket.read_run()
        assert chunks[0]["data"]["code"] == "IDEMPOTENCY_MISMATCH"
        socket.send_json(_body() | {"idempotency_key": "x" * 256})
        assert socket.read_run()[0]["data"]["code"] == "VALIDATION_ERROR"
