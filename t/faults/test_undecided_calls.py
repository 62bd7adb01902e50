"""kill -9 of a worker in the middle of a tool call that must not run twice: with
`"unknown_effects": "interrupt"` the run pauses, and the client decides."""

import json

import pytest

from harness.agui import PATH, answer_to, events, of_type, run_input, text
from harness.command import command
from harness.messages import texts
from harness.service import invocation
from harness.tool_graph import asks, tool_graph
from harness.waiting import wait_until

_RUN = "/v1/threads/t/runs/lost"



@pytest.fixture
def undecided(make_service, start_mock_provider, shop):
    """A service whose thread t waits for a decision about the call of a worker that died."""
    mock = start_mock_provider(asks("order", ("order", {})))
    model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
    tool = {"name": "order", "method": "POST", "url": f"{shop.url}/order", "parameters": {"type": "object"}}
    service = make_service(
        {
            "agent": "graph.json:app",
            "models": {"default": model},
            "recovery": {"unknown_effects": "interrupt"},
        },
        files={"graph.json": json.dumps(tool_graph(tools=[tool]))},
        workers=1,
    ).start()
    body = invocation("order", config={"thread_id": "t", "run_id": "lost"})
    assert service.post("/v1/graph/runs", body).status == 202
    wait_until(shop.held.is_set, "the call is held")
    service.kill_worker()
    wait_until(
        lambda: service.get(_RUN).json()["data"]["status"] == "interrupted", "the run has paused", timeout=60
    )
    return service


def _decide(service, *decisions, thread="t", headers=()):
    body = {"tool_decisions": list(decisions), "config": {"thread_id": thread}}
    return service.post("/v1/graph/invoke", body, headers=headers)


def _result(reply):
    assert reply.status == 200, reply.text
    messages = reply.json()["data"]["messages"]
    assert texts(messages)[-1] == "done"
    [result] = [b for m in messages for b in m["content"] if b["type"] == "tool_result"]
    return result


def test_the_client_is_asked_and_nothing_is_repeated(undecided, shop):
    waited = undecided.get(_RUN + "/wait").json()["data"]
    [call] = waited["meta"]["interrupt"]["data"]["undecided_tool_calls"]
    assert call == {"call_id": "call_0", "tool": "order", "arguments": {}}
    assert shop.orders == 1


def test_retry(undecided, shop):
    result = _result(_decide(undecided, {"call_id": "call_0", "action": "retry"}))
    assert result["output"] == {"order": 2} and shop.orders == 2


def test_a_decision_that_is_sent_again_is_taken_once(undecided, shop):
    key = {"Idempotency-Key": "decision-1"}
    replies = [_decide(undecided, {"call_id": "call_0", "action": "retry"}, headers=key) for _ in range(2)]
    for reply in replies:
        assert _result(reply)["output"] == {"order": 2} and shop.orders == 2


def test_skip(undecided, shop):
    result = _result(_decide(undecided, {"call_id": "call_0", "action": "skip"}))
    assert result["is_error"] and "unknown" in result["output"]["error"] and shop.orders == 1


def test_result(undecided, shop):
    decision = {"call_id": "call_0", "action": "result", "result": {"order": 1}}
    result = _result(_decide(undecided, decision))
    assert result["output"] == {"order": 1} and not result["is_error"] and shop.orders == 1


def test_bad_decisions_are_refused_with_their_path(undecided, shop):
    for decision, place in (
        ({"call_id": "call_9", "action": "skip"}, "call_id"),
        ({"call_id": "call_0", "action": "perhaps"}, "action"),
        ({"call_id": "call_0", "action": "result"}, "result"),
    ):
        reply = _decide(undecided, decision)
        assert reply.status == 422, reply.text
        assert reply.json()["error"]["details"][0]["loc"] == ["body", "tool_decisions", "0", place]
    assert _decide(undecided, {"call_id": "call_0", "action": "skip"}, thread="other").status == 422
    assert undecided.get(_RUN).json()["data"]["status"] == "interrupted" and shop.orders == 1


def test_the_terminal_asks_for_a_decision(undecided, shop):
    url = f"http://127.0.0.1:{undecided.port}"
    printed = command("chat", "--url", url, "--thread", "t", text="yes, go on\nretry\n")
    assert "? It is not known whether this call has taken effect: order {} (call_0)\n" in printed
    assert "Enter retry, skip, or result and its JSON." in printed
    assert '<- result: {"order":2}' in printed and printed.endswith("done\n") and shop.orders == 2


def test_a_client_of_agui_decides(undecided, shop):
    found = events(undecided.post(PATH, run_input()))
    (interrupt,) = found[-1]["outcome"]["interrupts"]
    assert interrupt["reason"] == "agent-graph:undecided_tool_call" and interrupt["toolCallId"] == "call_0"
    assert interrupt["metadata"] == {"tool": "order", "arguments": {}}
    resume = [answer_to(interrupt, {"action": "result", "result": {"order": 1}})]
    found = events(undecided.post(PATH, run_input(resume=resume)))
    (result,) = of_type(found, "TOOL_CALL_RESULT")
    assert json.loads(result["content"]) == {"order": 1} and text(found) == "done" and shop.orders == 1
