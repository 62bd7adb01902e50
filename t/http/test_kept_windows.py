"""Turns of workers that keep the windows of their threads: each works with the thread as it is stored,
whoever has changed it since the worker's last turn."""

import random

import pytest
from harness.agents import behaviour
from harness.messages import texts, user

_STATE = "/v1/threads/t/state"


def _data(reply, status=200):
    assert reply.status == status, reply.text
    return reply.json()["data"]


def _context(service):
    return _data(service.get(_STATE))["state"]["context"]


def _put(service, *messages):
    return _data(service.request("PUT", _STATE, {"state": {"context": list(messages)}}))


def _turn(service, text):
    """A turn on a connection of its own, so that either worker may get it. Its answer shows its window."""
    before = _context(service)
    after = _data(service.invoke(text, config={"thread_id": "t"}))["messages"]
    assert after[: len(before)] == before
    assert texts(after[len(before) :]) == [text, f"echo: {text}"]
    assert _context(service) == after


def _replace(service, chance):
    message = chance.choice(_context(service))
    _put(service, user(f"changed {chance.random()}", message_id=message["message_id"]))


def _add(service, chance):
    _put(service, user(f"added {chance.random()}"))


def _delete(service, chance):
    message_id = chance.choice(_context(service))["message_id"]
    reply = service.request("DELETE", f"/v1/threads/t/messages/{message_id}", {})
    assert reply.status == 200, reply.text


def _begin_again(service, _):
    assert service.request("DELETE", "/v1/threads/t", {}).status == 200
    assert service.invoke("begin", config={"thread_id": "t"}).status == 200


def _clear(service, _):
    assert service.request("DELETE", _STATE, {}).status == 200
    assert service.invoke("fresh", config={"thread_id": "t"}).status == 200


@pytest.mark.parametrize("change", [_replace, _add, _delete, _begin_again, _clear])
def test_each_turn_sees_what_others_have_changed(start_service, change):
    service = start_service(behaviour("echo"), workers=2)
    chance = random.Random(change.__name__)
    assert service.invoke("first", config={"thread_id": "t"}).status == 200
    for number in range(12):
        for turn in range(chance.randrange(1, 4)):
            _turn(service, f"turn {number} {turn}")
        change(service, chance)
    _turn(service, "last")


def test_a_reload_and_a_new_state_server_change_nothing(start_service):
    service = start_service(behaviour("echo"), workers=2)
    service.error_log.allow(r"exited on signal 9")
    assert service.invoke("first", config={"thread_id": "t"}).status == 200
    for number in range(4):
        for turn in range(3):
            _turn(service, f"turn {number} {turn}")
        if number % 2 == 0:
            terms = service.state_terms()
            service.kill(service.cache_manager().pid)
            service.wait_for_state(terms)
        else:
            service.reload()
    _turn(service, "last")


def test_messages_leave_a_full_window(start_service):
    service = start_service(behaviour("echo") | {"window_max": 4}, workers=2)
    for number in range(12):
        reply = _data(service.invoke(f"turn {number}", config={"thread_id": "t"}))
        expected = [f"turn {number - 1}", f"echo: turn {number - 1}"] if number > 0 else []
        assert texts(reply["messages"])[-4:] == [*expected, f"turn {number}", f"echo: turn {number}"]
        assert texts(_context(service)) == texts(reply["messages"])[-4:]
