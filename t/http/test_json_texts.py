"""Every request body must be JSON exactly as RFC 8259 defines it."""

import json
import re

import pytest

from harness.agents import behaviour
from harness.json_cases import INVALID, OPEN, OPEN_BODIES, VALID

_INVOKE = "/v1/graph/invoke"
_MESSAGES = "/v1/threads/t/messages"
_JSON = {"Content-Type": "application/json"}


@pytest.fixture
def service(start_service):
    """One worker: it parses everything and must be the same process at the end."""
    service = start_service(behaviour("echo"), workers=1)
    worker = service.only_worker()
    yield service
    assert [process.pid for process in service.workers()] == [worker.pid]
    assert service.invoke("still here").status == 200


def _state_with(text):
    return b'{"messages": [{"role": "user", "content": "x"}], "initial_state": {"v": %s}}' % text


def _message_with(text, message_id):
    fields = b'"message_id": "%s", "metadata": {"v": %s}' % (message_id.encode(), text)
    return b'{"messages": [{"role": "user", "content": "x", %s}]}' % fields


def _told(reply):
    """Returns the refusal's message about the whole body; None if the problem is elsewhere."""
    assert reply.status == 422, reply.text
    (detail, *_) = reply.json()["error"]["details"]
    return detail["msg"] if detail["loc"] == ["body"] else None


def _is_no_json(reply):
    return re.search("not valid JSON|a JSON object is required", _told(reply) or "")


def _stored(service, message_id):
    reply = service.get(f"{_MESSAGES}/{message_id}")
    assert reply.status == 200, reply.text
    return reply.json()["data"]["metadata"]["v"]


def test_valid_texts_are_kept_as_they_are_meant(service):
    for name, text in VALID.items():
        reply = service.post(_INVOKE, _state_with(text), headers=_JSON)
        assert reply.status == 200, (name, reply.text)
        reply = service.post(_MESSAGES, _message_with(text, name), headers=_JSON)
        assert reply.status == 200, (name, reply.text)
        assert _stored(service, name) == json.loads(text), name


def test_invalid_texts_are_refused_wherever_they_are(service):
    for name, text in INVALID.items():
        for route, body in (
            (_INVOKE, text),
            (_INVOKE, _state_with(text)),
            (_MESSAGES, text),
            (_MESSAGES, _message_with(text, name)),
        ):
            reply = service.post(route, body, headers=_JSON)
            assert _is_no_json(reply), (name, reply.text)
    # None of them had an effect.
    assert service.get("/v1/threads/t").status == 404
    assert service.get("/v1/threads").json()["data"]["threads"] == []


def test_a_text_of_another_shape_is_not_called_invalid(service):
    for name, text in VALID.items():
        for route in (_INVOKE, _MESSAGES):
            assert not _is_no_json(service.post(route, text, headers=_JSON)), name


def test_open_texts_are_read_or_refused(service):
    for name, text in OPEN.items():
        for route, body in (
            (_INVOKE, text),
            (_INVOKE, _state_with(text)),
            (_MESSAGES, _message_with(text, name)),
        ):
            reply = service.post(route, body, headers=_JSON)
            assert reply.status in (200, 422), (name, reply.text)
            reply.json()  # and the error message is valid JSON, too
    for name, text in OPEN_BODIES.items():
        for route in (_INVOKE, _MESSAGES):
            reply = service.post(route, text, headers=_JSON)
            assert reply.status == 422, (name, reply.text)


def test_what_was_read_can_be_read_again(service):
    """A value that was accepted can always be returned in an answer."""
    kept = []
    for name, text in OPEN.items():
        if service.post(_MESSAGES, _message_with(text, name), headers=_JSON).status == 200:
            kept.append(name)
            _stored(service, name)
    listed = service.get(f"{_MESSAGES}?limit=1000").json()["data"]["messages"]
    assert [message["message_id"] for message in listed] == kept
