"""Files inside messages: a file that is too large for a message is stored like an upload."""

import base64
import json
import random

import pytest

from harness.agents import behaviour
from harness.messages import texts, user
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.websocket import TEXT, WebSocket, frame

_ECHO = behaviour("echo")
_GUARDED = behaviour("echo", auth="jwt", env="secrets.env")
_FILES = {"secrets.env": JWT_ENVIRONMENT}
_LARGE = random.Random(1).randbytes(5_000_000)


def _image(data, *, as_url=True):
    encoded = base64.b64encode(data).decode()
    if as_url:
        return {"type": "image", "media": {"kind": "url", "url": f"data:image/png;base64,{encoded}"}}
    return {"type": "image", "media": {"kind": "data", "data_base64": encoded, "mime_type": "image/png",
                                       "filename": "photo.png"}}


def _with(block, thread_id="t"):
    message = {"role": "user", "content": [{"type": "text", "text": "look"}, block]}
    return {"messages": [message], "config": {"thread_id": thread_id}}


def _beginning_with(body):
    """Returns a request with the same messages in the initial state, before another message."""
    return {"messages": [user("hi")], "initial_state": {"context": body["messages"]},
            "config": body["config"]}


def _kept(service, thread_id="t", headers=()):
    """Returns the image of the latest message that has one."""
    reply = service.get(f"/v1/threads/{thread_id}/messages", headers=headers)
    images = [block["media"] for message in reply.json()["data"]["messages"]
              for block in message["content"] if block["type"] == "image"]
    return images[-1]


@pytest.mark.parametrize("as_url", [True, False])
def test_a_large_image_is_stored_and_referred_to(start_service, as_url):
    service = start_service(_ECHO)
    block = _image(_LARGE, as_url=as_url)
    for thread_id, send in {
        "invoke": lambda body: service.post("/v1/graph/invoke", body),
        "stream": lambda body: service.post("/v1/graph/stream", body),
        "append": lambda body: service.post("/v1/threads/append/messages", body),
        "put": lambda body: service.request(
            "PUT", "/v1/threads/put/state", {"state": {"context": body["messages"]}}),
        "initial": lambda body: service.post("/v1/graph/invoke", _beginning_with(body)),
    }.items():
        assert send(_with(block, thread_id)).status == 200, thread_id
        media = _kept(service, thread_id)
        assert media["kind"] == "file_id" and media["mime_type"] == "image/png"
        assert media["size_bytes"] == len(_LARGE)
        assert media.get("filename") == (None if as_url else "photo.png")
        file = service.get(f"/v1/files/{media['file_id']}")
        assert file.status == 200 and file.body == _LARGE
        assert file.header("Content-Type") == "image/png"
    with WebSocket(service.port) as socket:
        socket.upgrade()
        socket.send_json(_with(block, "socket"))
        assert [chunk["event"] for chunk in socket.read_run()] == ["message", "updates"]
    assert _kept(service, "socket")["kind"] == "file_id"


def test_a_small_image_stays_in_its_message(start_service):
    service = start_service(_ECHO)
    block = _image(b"\x89PNG", as_url=True)
    assert service.post("/v1/graph/invoke", _with(block)).status == 200
    assert _kept(service)["url"] == block["media"]["url"]


def test_a_stored_image_is_the_callers(start_service):
    service = start_service(_GUARDED | {"authorization": "allow_all"}, files=_FILES)
    reply = service.post("/v1/graph/invoke", _with(_image(_LARGE)), headers=bearer("alice"))
    assert reply.status == 200
    path = f"/v1/files/{_kept(service, headers=bearer('alice'))['file_id']}"
    assert service.get(path, headers=bearer("alice")).status == 200
    assert service.get(path, headers=bearer("bob")).status == 404


def test_the_rules_of_uploads_hold(start_service):
    service = start_service(_ECHO | {"media": {"allowed_content_types": ["audio/*"]}})
    assert service.post("/v1/graph/invoke", _with(_image(_LARGE))).status == 415
    service = start_service(_ECHO | {"media": {"max_size_mb": 4}})
    assert service.post("/v1/graph/invoke", _with(_image(_LARGE))).status == 413
    # A file without an owner could not be read.
    service = start_service(_ECHO | {"media": {"require_owner": True}})
    assert service.post("/v1/graph/invoke", _with(_image(_LARGE))).status == 422


def test_what_is_no_file_is_bounded(start_service):
    service = start_service(_ECHO)
    block = _image(_LARGE)
    block["media"]["url"] += "!"
    reply = service.post("/v1/graph/invoke", _with(block))
    assert reply.status == 422
    assert reply.json()["error"]["details"][0]["loc"] == ["body"]
    block = {"type": "text", "text": "x" * 1_100_000}
    assert service.post("/v1/graph/invoke", _with(block)).status == 422
    both = _with(_image(_LARGE))
    both["messages"][0]["content"].append(block)
    assert service.post("/v1/graph/invoke", both).status == 422
    reply = service.post("/v1/graph/invoke", _beginning_with(both))
    assert reply.status == 422
    assert reply.json()["error"]["details"][0]["loc"] == ["body", "initial_state", "context", "0"]


def test_a_model_is_shown_the_image(start_service, start_mock_provider):
    mock = start_mock_provider([{"match": {}, "response": {"content": "A cat."}}])
    model = {"provider": "openai", "model": "m", "api_key": "k", "base_url": mock.base_url}
    service = start_service({"agent": "graphs/support.json:app", "models": {"default": model},
                             "limits": {"message_bytes_max": 4096}})
    data = _LARGE[:20_000]
    reply = service.post("/v1/graph/invoke", _with(_image(data)))
    assert texts(reply.json()["data"]["messages"])[-1] == "A cat."
    assert _kept(service)["kind"] == "file_id"
    sent = json.dumps(mock.requests()[-1]["body"])
    assert "data:image/png;base64," + base64.b64encode(data).decode() in sent


def test_a_frame_has_room_for_as_much_as_a_body(start_service):
    """The limit is 10 MiB by default, on a socket and over HTTP; a file may be nearly all of it."""
    service = start_service(_ECHO)
    most = 10 << 20
    image = random.Random(2).randbytes((most - 1000) // 4 * 3)
    whole = json.dumps(_with(_image(image)))
    whole += " " * (most - len(whole))
    with WebSocket(service.port) as socket:
        socket.upgrade()
        socket.send(frame(TEXT, whole))
        assert "error" not in [chunk["event"] for chunk in socket.read_run()]
        assert service.get(f"/v1/files/{_kept(service)['file_id']}").body == image
        socket.send(frame(TEXT, b"", length=most + 1))
        assert socket.is_closed_with(1009)
    assert service.post("/v1/graph/invoke", whole).status == 200
    assert service.post("/v1/graph/invoke", whole + " ").status == 413
