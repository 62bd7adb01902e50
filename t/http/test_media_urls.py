"""URLs of images, audio and documents in messages, which are sent to a model's endpoint."""

import json

import pytest

from harness.agents import behaviour
from harness.messages import user
from harness.websocket import WebSocket

_MODEL = {"agent": "graphs/support.json:app"}
_PRODUCTION = {"production.env": "MODE=production\n"}
_HOSTILE = [
    "file:///etc/passwd", "gopher://127.0.0.1:6379/_x", "ftp://example.com/a", "/v1/files/x",
    "http://user@example.com/", "http://example.com\\@127.0.0.1/", "http://0x7f000001/",
    "http://2130706433/", "http://0177.0.0.1/", "http://127.1/", "http://%31%32%37.0.0.1/",
]
_PRIVATE = [
    "http://127.0.0.1/", "http://127.0.0.1./", "http://10.0.0.1/", "http://169.254.169.254/latest",
    "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://[fe80::1]/", "http://[fd00::1]/",
    "http://[64:ff9b::7f00:1]/", "http://localhost/", "http://redis:6379/",
    "http://metadata.google.internal/",
]
_PUBLIC = "https://example.com/cat.png"


def _block(url, flat=False):
    media = {"kind": "url", "url": url}
    return {"type": "image"} | (media if flat else {"media": media})


def _message(url, flat=False):
    return {"role": "user", "content": [{"type": "text", "text": "look"}, _block(url, flat)]}


def _over_websocket(service, body):
    with WebSocket(service.port) as socket:
        socket.upgrade()
        socket.send_json(body)
        return socket.read_json()


# Ways for messages to enter: the request, and the place of the messages in it.
_WAYS = {
    "invoke": (lambda s, m: s.post("/v1/graph/invoke", {"messages": m}), ["messages"]),
    "stream": (lambda s, m: s.post("/v1/graph/stream", {"messages": m}), ["messages"]),
    "initial": (
        lambda s, m: s.post("/v1/graph/invoke",
                            {"messages": [user("hi")], "initial_state": {"context": m}}),
        ["initial_state", "context"]),
    "append": (lambda s, m: s.post("/v1/threads/t/messages", {"messages": m}), ["messages"]),
    "put": (
        lambda s, m: s.request("PUT", "/v1/threads/t/state", {"state": {"context": m}}),
        ["state", "context"]),
}


@pytest.mark.parametrize("way", _WAYS)
def test_a_url_that_is_not_allowed_is_refused_with_its_path(start_service, way):
    service = start_service(behaviour("echo"))
    send, where = _WAYS[way]
    for url in _HOSTILE:
        for flat in (False, True):
            reply = send(service, [user("first"), _message(url, flat)])
            assert reply.status == 422, (url, reply.text)
            [detail] = reply.json()["error"]["details"]
            block = ["body", *where, "1", "content", "1"]
            assert detail["loc"] == block + (["url"] if flat else ["media", "url"]), url
    for url in [_PUBLIC, "data:image/png;base64,QUJD"]:
        assert send(service, [_message(url)]).status == 200, url


def test_on_a_websocket_too(start_service):
    service = start_service(behaviour("echo"))
    for url in _HOSTILE[:3]:
        error = _over_websocket(service, {"messages": [_message(url)]})
        assert "messages.0.content.1.media.url" in json.dumps(error), error


def test_in_memories_too(start_service):
    service = start_service(behaviour("echo", store="memory", checkpointer="memory", embedding="hash"))
    for content, where in [
        ([{"type": "text", "text": "a cat"}, _block(_HOSTILE[0])], ["content", "1"]),
        (_message(_HOSTILE[0]), ["content", "content", "1"]),
    ]:
        reply = service.post("/v1/store/memories", {"content": content})
        assert reply.status == 422, reply.text
        assert reply.json()["error"]["details"][0]["loc"] == ["body", *where, "media", "url"]
    reply = service.post("/v1/store/memories", {"content": [{"type": "text", "text": "a"}, _block(_PUBLIC)]})
    assert reply.status == 200


def test_private_networks_are_closed_in_production_alone(start_service):
    for settings, files, expected in [
        (behaviour("echo"), {}, 200),
        (behaviour("echo", env="production.env"), _PRODUCTION, 422),
        (behaviour("echo", env="production.env", media={"url_allow": ["private", "*"]}), _PRODUCTION, 200),
        (behaviour("echo", media={"url_deny": ["private"]}), {}, 422),
    ]:
        service = start_service(settings, files=files, workers=1)
        for url in _PRIVATE:
            reply = service.post("/v1/graph/invoke", {"messages": [_message(url)]})
            assert reply.status == expected, (url, reply.text)
        assert service.post("/v1/graph/invoke", {"messages": [_message(_PUBLIC)]}).status == 200
        service.stop()


def test_the_model_sees_the_urls_that_are_allowed(start_service, start_mock_provider):
    mock = start_mock_provider([{"match": {"userMessage": "look"}, "response": {"content": "a cat"}}])
    model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
    settings = _MODEL | {"models": {"default": model}, "media": {"url_allow": "example.com, *.example.org"}}
    service = start_service(settings)
    assert service.post("/v1/graph/invoke", {"messages": [_message(_PUBLIC)]}).status == 200
    reply = service.post("/v1/graph/invoke", {"messages": [_message("https://example.net/cat.png")]})
    assert reply.status == 422 and "does not allow" in reply.text
    [request] = mock.chat_requests()
    assert _PUBLIC in json.dumps(request["body"])


def test_a_mistake_in_the_lists_is_told(make_service):
    service = make_service(behaviour("echo", media={"url_deny": ["https://example.com"]}))
    assert "media.url_deny.0: is not a host" in service.refusal()
