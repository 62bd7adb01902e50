"""Files in the requests of runs that outlive their client."""

import base64
import random

import pytest

from harness.admin import state_of
from harness.agents import DEMO, behaviour
from harness.messages import user

_ECHO = behaviour("echo")
_RANDOM = random.Random(3)
_SMALL, _LARGE = _RANDOM.randbytes(60_000), _RANDOM.randbytes(70_000)
_KEY = {"Idempotency-Key": "photo-1"}


def _image(data):
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    return {"role": "user", "content": [{"type": "text", "text": "look"},
                                        {"type": "image", "media": {"kind": "url", "url": url}}]}


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


@pytest.mark.local_files
def test_a_request_that_is_sent_again_stores_its_file_once(start_service):
    service = start_service(_ECHO)
    for _ in range(3):
        reply = service.post("/v1/graph/invoke", _body(_image(_LARGE)), headers=_KEY)
        assert reply.status == 200, reply.text
    assert len([*(state_of(service) / "uploads").glob("??/??/*.json")]) == 1


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
