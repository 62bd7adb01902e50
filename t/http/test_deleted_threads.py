"""A thread that is deleted while a run of it is followed: each façade says why the answer ends."""

import json

import pytest

from harness import agui
from harness.agents import asking
from harness.facade_runs import by_agui, by_chat, by_mcp, by_responses
from harness.mcp_client import result_of
from harness.openai_responses import events_in


def _chat_error(text):
    frames = [frame.removeprefix("data: ") for frame in text.split("\n\n") if frame.startswith("data: ")]
    assert "[DONE]" not in frames
    return json.loads(frames[-1])["error"]


def _response_error(text):
    name, last = events_in(text)[-1]
    assert name == "response.failed"
    return last["response"]["error"]


def _agui_error(text):
    last = agui.parse(text)[-1]
    assert last["type"] == "RUN_ERROR"
    return last


@pytest.mark.parametrize(
    "begin, error_of",
    [(by_chat, _chat_error), (by_responses, _response_error), (by_agui, _agui_error)],
)
def test_the_answer_ends_because_the_thread_was_deleted(start_service, gated_provider, begin, error_of):
    service, provider = start_service(asking(gated_provider)), gated_provider
    with service.connect() as connection:
        begin(service, connection)
        provider.wait_for_waiting(1)
        reply = connection.read_head()  # before the first piece an error may come without a stream
        assert service.request("DELETE", "/v1/threads/t", {}).status == 200
        found = error_of(b"".join(connection.body_pieces(reply)).decode())
    provider.open_gate()
    assert found["code"].lower() == "gone" and found["message"] == "the thread was deleted"


def test_the_call_of_the_agent_fails_because_the_thread_was_deleted(start_service, gated_provider):
    service, provider = start_service(asking(gated_provider)), gated_provider
    with service.connect() as connection:
        by_mcp(service, connection)
        provider.wait_for_waiting(1)
        assert service.request("DELETE", "/v1/threads/t", {}).status == 200
        result = result_of(connection.read_reply())
    provider.open_gate()
    assert result["isError"] and result["content"][0]["text"] == "the thread was deleted"
