"""Requests of other protocols that follow a run: what they keep of its answer, and of the state, counts
as memory of the worker."""

import contextlib

import pytest

from harness.agents import asking
from harness.agui import PATH as AGUI
from harness.agui import run_input
from harness.agui import user as agui_user
from harness.gated_provider import GatedProvider
from harness.messages import user
from harness.openai_chat import PATH as CHAT
from harness.openai_responses import PATH as RESPONSES
from harness.openai_responses import ask
from harness.waiting import wait_until
from harness.worker_memory import MIB, start_watched, status_of

_FOLLOWERS = 8
_WORD = "x" * MIB


@pytest.fixture
def provider():
    provider = GatedProvider(words=(_WORD, "."))
    yield provider
    provider.close()


@pytest.fixture
def service(start_service, provider):
    return start_watched(start_service, asking(provider))


def _wait_until_held(service, size):
    wait_until(lambda: status_of(service)["memory_bytes"] > size, f"{size / MIB:.0f} MiB are counted")


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_an_answer_that_is_collected(service, provider, path):
    bodies = {CHAT: {"model": "support", "messages": [user("go")]}, RESPONSES: ask("go")}
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(service.connect()) for _ in range(_FOLLOWERS)]
        for connection in connections:
            connection.request("POST", path, [("Idempotency-Key", "k")], bodies[path])
        provider.wait_for_waiting(1)
        if path == RESPONSES:  # a chat completion that is one object takes whole messages only
            _wait_until_held(service, 3 * _FOLLOWERS * MIB)
        provider.open_gate()
        assert {connection.read_reply().status for connection in connections
} == {200}
    wait_until(lambda: status_of(service)["memory_bytes"] == 0, "all is given back")


def test_the_state_of_a_thread(service, provider):
    """Readers of AG-UI keep the state as it is and as the client has it."""
    fields = {"field": ["y" * 900_000] * 4}
    assert service.post("/v1/threads/t/messages", {"messages": [user("hi")]}).status == 200
    assert service.request("PUT", "/v1/threads/t/state", {"state": fields}).status == 200
    question = agui_user("go", "u1")
    props = {"config": {"on_disconnect": "continue"}}
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(service.connect()) for _ in range(1 + _FOLLOWERS)]
        for number, connection in enumerate(connections):
            body = run_input(question, run=f"r{number}", forwardedProps=props if number == 0 else {})
            connection.request("POST", AGUI, [], body)
            if number == 0:
                provider.wait_for_waiting(1)
            text = ""
            pieces = connection.body_pieces(connection.read_head())
            while "STATE_SNAPSHOT" not in text or "\n\n" not in text.split("STATE_SNAPSHOT")[1]:
                text += next(pieces).decode()
        _wait_until_held(service, len(connections) * 7 * MIB)
        provider.open_gate()
    wait_until(lambda: status_of(service)["memory_bytes"] == 0, "all is given back")
