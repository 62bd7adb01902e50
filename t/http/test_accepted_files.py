"""Files in the requests of runs that outlive their client."""

import base64
import random

import pytest

from harness import agui, openai_chat, openai_responses
from harness.admin import state_of
from harness.agents import DEMO, behaviour
from harness.agui import run_input
from harness.messages import user
from harness.openai_chat import chat
from harness.openai_responses import ask
from harness.uploads import uploaded

_ECHO = behaviour("echo")
_RANDOM = random.Random(3)
_SMALL, _LARGE = _RANDOM.randbytes(60_000), _RANDOM.randbytes(70_000)
_OVER_MESSAGE = _RANDOM.randbytes(1_200_000)  # its message is larger than limits.message_bytes_max
_KEY = {"Idempotency-Key": "photo-1"}


def _url(data):
    return "data:image/png;base64," + base64.b64encode(data).decode()


def _image(data):
    media = {"kind": "url", "url": _url(data)}
    return {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image", "media": media}]}


def _body(message, thread_id="t", run_id="r", **fields):
    return {"messages": [message], "config": {"thread_id": thread_id, "run_id": run_id}, **fields}


def _accept(service, *body, **fields):
    reply = service.post("/v1/graph/runs", _body(*body, **fields))
    assert reply.status == 202, reply.text


def _ended(service, thread_id="t", run_id="r"):
    """Waits for the run's end and returns its record."""
    service.get(f"/v1/threads/{thread_id}/runs/{run_id}/wait")
    return service.get(f"/v1/threads/{thread_id}/runs/{run_id}").json()["data"]


def _kept(service, thread_id="t"):
    """Returns the images of the thread's messages."""
    messages = service.get(f"/v1/threads/{thread_id}/messages").json()["data"]["messages"]
    return [block["media"] for message in messages for block in message["content"]
            if block["type"] == "image"]


def test_a_large_file_is_stored_before_the_run_is_accepted(start_service):
    service = start_service(_ECHO)
    for thread_id, data, kind in (("small", _SMALL, "url"), ("large", _LARGE, "file_id")):
        _accept(service, _image(data), thread_id)
        assert _ended(service, thread_id)["status"] == "done"
        assert {media["kind"] for media in _kept(service, thread_id)} == {kind}
    media = _kept(service, "large")[0]
    assert media["mime_type"] == "image/png"
    assert service.get(f"/v1/files/{media['file_id']}").body == _LARGE
    # A run that ends with its connection keeps the file where it is.
    assert service.post("/v1/graph/invoke", _body(_image(_LARGE), "direct")).status == 200
    assert {media["kind"] for media in _kept(service, "direct")} == {"url"}


def test_the_initial_context_is_no_other_place(start_service):
    service = start_service(_ECHO)
    _accept(service, user("hi"), initial_state={"context": [_image(_LARGE)]})
    assert _ended(service)["status"] == "done"
    assert {media["kind"] for media in _kept(service)} == {"file_id"}


@pytest.mark.parametrize("media", [{"allowed_content_types": ["audio/*"]}, {"max_size_mb": 0.05},
                                   {"require_owner": True}, {"storage_type": "memory"}], ids=str)
def test_a_file_that_is_no_upload_stays_in_its_message(start_service, media):
    service = start_service(_ECHO | {"media": media})
    _accept(service, _image(_LARGE))
    assert _ended(service)["status"] == "done"
    assert {media["kind"] for media in _kept(service)} == {"url"}


def _uploads(service):
    return [*(state_of(service) / "uploads").glob("??/??/*.json")]


@pytest.mark.local_files
@pytest.mark.parametrize("data", [_LARGE, _OVER_MESSAGE], ids=len)
def test_a_request_that_is_sent_again_stores_its_file_once(start_service, data):
    service = start_service(_ECHO)
    for _ in range(3):
        reply = service.post("/v1/graph/invoke", _body(_image(data)), headers=_KEY)
        assert reply.status == 200, reply.text
    assert len(_uploads(service)) == 1


def _to_chat(url):
    return chat({"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]})


def _to_responses(url):
    return ask([{"role": "user", "content": [{"type": "input_image", "image_url": url}]}])


def _to_agui(url):
    parts = [{"type": "image", "source": {"type": "url", "value": url}}]
    return run_input({"id": "u1", "role": "user", "content": parts}, run="r")


@pytest.mark.local_files
@pytest.mark.parametrize(("path", "make_body"), [
    (openai_chat.PATH, _to_chat), (openai_responses.PATH, _to_responses), (agui.PATH, _to_agui),
], ids=["chat", "responses", "agui"])
def test_so_does_a_request_of_a_facade(start_service, path, make_body):
    service = start_service(DEMO)
    body = make_body(_url(_OVER_MESSAGE))
    for _ in range(2):
        reply = service.post(path, body, headers=_KEY)
        assert reply.status == 200, reply.text
    assert len(_uploads(service)) == 1


@pytest.mark.local_files
def test_a_request_that_is_sent_again_needs_its_file_no_more(start_service):
    service = start_service(_ECHO)
    media = {"kind": "file_id", "file_id": uploaded(service, _LARGE, "a.png", "image/png")["file_id"]}
    body = _body({"role": "user", "content": [{"type": "image", "media": media}]})
    first = service.post("/v1/graph/invoke", body, headers=_KEY)
    assert first.status == 200, first.text
    for file in (state_of(service) / "uploads").glob("??/??/*"):
        file.unlink()
    again = service.post("/v1/graph/invoke", body, headers=_KEY)
    assert again.status == 200 and again.json()["data"] == first.json()["data"]
    assert service.post("/v1/graph/invoke", body).status == 404


def test_a_large_request_is_sent_again(start_service):
    """Its run keeps references to its files, without which it would be too large to be kept."""
    service = start_service(_ECHO | {"limits": {"json_bytes_max": 32 << 20}})
    body = _body(user("hi")) | {"messages": [_image(_RANDOM.randbytes(750_000)) for _ in range(18)]}
    replies = [service.post("/v1/graph/runs", body, headers=_KEY) for _ in range(2)]
    assert [reply.status for reply in replies] == [202, 202], replies[1].text


@pytest.mark.local_files
def test_a_run_whose_file_is_gone_ends(start_service, gated_provider):
    models = {"default": {"provider": "openai", "model": "m", "base_url": gated_provider.base_url}}
    service = start_service(DEMO | {"models": models})
    _accept(service, user("first"), "t", "holder")
    gated_provider.wait_for_waiting(1)
    _accept(service, _image(_LARGE), "t", "late")
    for file in (state_of(service) / "uploads").glob("??/??/*"):
        file.unlink()
    gated_provider.open_gate()
    assert _ended(service, run_id="holder")["status"] == "done"
    record = _ended(service, run_id="late")
    assert (record["status"], record["reason"]) == ("error", "FILE_GONE")
    # The file of an earlier run is gone as well, but does not end this one: the model gets its name.
    _accept(service, user("what was it?"), "t", "next")
    assert _ended(service, run_id="next")["status"] == "done"
