"""config.budget: what a run may use."""

import pytest

from harness.agents import DEMO
from harness.graph_socket import open_socket
from harness.messages import text_of
from harness.service import invocation

# The model `demo` counts words.
_PRICED = DEMO | {
    "models": {"default": {"provider": "demo", "price": {"input": 1_000_000, "output": 500_000}}}
}


def _config(run_id, **budget):
    return {"thread_id": "t", "run_id": run_id, "budget": budget}


def test_a_run_beyond_its_budget_ends_as_an_error(start_service):
    service = start_service(DEMO, workers=2)
    reply = service.invoke("one two three", config=_config("r1", tokens=1))
    assert reply.status == 402, reply.text
    error = reply.json()["error"]
    assert error["code"] == "BUDGET_EXCEEDED"
    assert error["message"] == "the run has used up its budget of 1 tokens"
    record = service.get("/v1/threads/t/runs/r1").json()["data"]
    assert (record["status"], record["reason"]) == ("error", "BUDGET_EXCEEDED")
    assert record["usage"]["model_calls"] == 1
    # The text that the model has written stays.
    messages = service.get("/v1/threads/t/messages").json()["data"]["messages"]
    assert [text_of(m) for m in messages] == ["one two three", "You said: one two three"]
    assert service.invoke("again", config={"thread_id": "t"}).status == 200


def test_streams_and_sockets_tell_the_reason(start_service):
    service = start_service(DEMO)
    chunks = service.stream("one two three", config=_config("r1", tokens=1)).read_all()
    errors = [c["data"] for c in chunks if c["event"] == "error"]
    assert [e["code"] for e in errors] == ["BUDGET_EXCEEDED"]
    assert chunks[-1]["data"]["outcome"] == "error"
    with open_socket(service) as socket:
        socket.send_json(invocation("one two", config=_config("r2", tokens=1)))
        chunks = socket.read_run()
    assert [c["data"]["code"] for c in chunks if c["event"] == "error"] == ["BUDGET_EXCEEDED"]


def test_an_accepted_run_keeps_its_budget(start_service):
    service = start_service(DEMO)
    body = invocation('call current_time {"utc_offset_minutes": 0}', config=_config("r1", model_calls=1))
    assert service.post("/v1/graph/runs", body).status == 202
    waited = service.get("/v1/threads/t/runs/r1/wait")
    assert (waited.status, waited.json()["error"]["code"]) == (402, "BUDGET_EXCEEDED")
    usage = service.get("/v1/threads/t/runs/r1").json()["data"]["usage"]
    assert (usage["model_calls"], usage["tool_calls"]) == (1, 1)


def test_costs_are_counted_with_the_price_of_the_model(start_service):
    service = start_service(_PRICED)
    assert service.invoke("one two", config=_config("r1", cost_usd=1000)).status == 200
    cost = service.get("/v1/threads/t/runs/r1").json()["data"]["usage"]["cost_usd"]
    usage = service.get("/v1/threads/t/runs/r1").json()["data"]["usage"]
    assert cost == usage["input_tokens"] + usage["output_tokens"] / 2
    reply = service.invoke("one two", config=_config("r2", cost_usd=0.5))
    assert (reply.status, reply.json()["error"]["code"]) == (402, "BUDGET_EXCEEDED")


def test_a_cost_needs_a_price(start_service):
    service = start_service(DEMO)
    reply = service.invoke("x", config=_config("r1", cost_usd=1))
    assert reply.status == 422
    detail = reply.json()["error"]["details"][0]
    assert detail["loc"] == ["body", "config", "budget", "cost_usd"]
    assert "price" in detail["msg"] and "service.json" in detail["msg"]


@pytest.mark.parametrize("route", ["/v1/graph/invoke", "/v1/graph/stream", "/v1/graph/runs"])
def test_budgets_that_mean_nothing_are_refused(start_service, route):
    service = start_service(_PRICED)
    limits = ("tokens", "seconds", "model_calls", "tool_calls", "cost_usd")
    bad = [(name, value) for name in limits for value in (0, -1, "1", True)]
    bad += [(name, 1.5) for name in limits[:4]]
    bad += [("token", 5)]  # misspelled
    for name, value in bad:
        reply = service.post(route, invocation("x", config={"thread_id": "t", "budget": {name: value}}))
        assert reply.status == 422, (name, value)
        loc = reply.json()["error"]["details"][0]["loc"]
        assert loc == ["body", "config", "budget", name], (name, value)
    assert service.post(route, invocation("x", config={"budget": 5})).status == 422
    assert service.get("/v1/threads/t").status == 404
