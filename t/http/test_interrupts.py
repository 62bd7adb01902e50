"""Runs that pause and resume, in both forms of a graph, with every way to run one."""

import json

import pytest

from harness.agents import behaviour
from harness.messages import texts
from harness.service import invocation
from harness.stream import is_done
from harness.websocket import WebSocket

_STEPS = {
    "nodes": [
        {"name": "FIRST", "type": "reply", "text": "first", "set": {"visits": "FIRST"}},
        {"name": "SECOND", "type": "reply", "text": "second", "set": {"visits": "SECOND"}},
    ],
    "edges": [{"from": "START", "to": "FIRST"}, {"from": "FIRST", "to": "SECOND"}],
    "fields": {"visits": {"reducer": "append"}},
}
_DOCUMENT = {
    "before": _STEPS | {"interrupt_before": ["SECOND"]},
    "after": _STEPS | {"interrupt_after": ["FIRST"]},
}


@pytest.fixture(params=["compiled", "declarative"])
def serve(request, start_service):
    """serve("before") or serve("after"): two steps with a pause in between, in both forms."""

    def start(kind):
        if request.param == "declarative":
            return start_service(
                {"agent": "steps.json:" + kind}, files={"steps.json": json.dumps(_DOCUMENT)}
            )
        return start_service(behaviour({"before": "pausing", "after": "pausing_after"}[kind]))

    return start


def _run(service, text, **more):
    reply = service.invoke(
        text, config={"thread_id": "t"}, response_granularity="full", **more
    )
    assert reply.status == 200, reply.text
    return reply.json()["data"]


def _stored_meta(service):
    return service.get("/v1/threads/t/state").json()["data"]["state"]["execution_meta"]


def _assert_paused(meta, node, status, reason=None):
    assert meta["is_interrupted"] is True and meta["is_running"] is False
    interrupt = meta["interrupt"]
    assert (interrupt["node"], interrupt["status"]) == (node, status)
    assert interrupt["reason"] if reason is None else interrupt["reason"] == reason
    assert meta["interrupted_node"] == node and meta["interrupt_reason"] == interrupt["reason"]
    assert meta["status"] == status


def _assert_not_paused(meta):
    assert meta["is_interrupted"] is False and "interrupt" not in meta
    assert meta["interrupted_node"] is None and meta["status"] == "completed"


@pytest.mark.parametrize("kind, node", [("before", "SECOND"), ("after", "FIRST")])
def test_invoke_pauses_and_the_next_one_resumes(serve, kind, node):
    service = serve(kind)
    paused = _run(service, "go")
    assert texts(paused["messages"]) == ["go", "first"]
    _assert_paused(paused["state"]["execution_meta"], node, "interrupted_" + kind)
    _assert_paused(_stored_meta(service), node, "interrupted_" + kind)
    trace = service.get("/v1/observability/t").json()["data"]["run"]
    assert trace["status"] == "done"
    resumed = _run(service, "on")
    assert texts(resumed["messages"]) == ["go", "first", "on", "second"]
    assert resumed["state"]["visits"] == ["FIRST", "SECOND"]
    _assert_not_paused(resumed["state"]["execution_meta"])
    _assert_not_paused(_stored_meta(service))


@pytest.mark.parametrize("kind, node", [("before", "SECOND"), ("after", "FIRST")])
def test_stream_and_ws_pause_without_an_error(serve, kind, node):
    service = serve(kind)
    request = invocation("go", config={"thread_id": "t"}, response_granularity="partial")
    lines = service.post("/v1/graph/stream", request).lines()
    assert not any(line["event"] == "error" for line in lines) and is_done(lines[-1])
    _assert_paused(lines[-1]["state"]["execution_meta"], node, "interrupted_" + kind)
    with WebSocket(service.port) as socket:
        socket.upgrade()
        socket.send_json(request)
        chunks = socket.read_run()
    assert texts([chunk["message"] for chunk in chunks if chunk["message"]]) == ["second"]
    _assert_not_paused(chunks[-1]["state"]["execution_meta"])


def test_a_pause_survives_a_restart(serve):
    service = serve("before")
    _run(service, "go")
    service.quit()
    service.wait_until_gone()
    service.start()
    _assert_paused(_stored_meta(service), "SECOND", "interrupted_before")
    assert texts(_run(service, "on")["messages"])[-1] == "second"


def test_clearing_the_state_forgets_the_pause(serve):
    service = serve("before")
    _run(service, "go")
    assert service.request("DELETE", "/v1/threads/t/state").status == 200
    again = _run(service, "anew")
    assert texts(again["messages"]) == ["anew", "first"]


def test_a_node_asks_by_itself(start_service):
    service = start_service(behaviour("asking"))
    paused = _run(service, "delete")
    meta = paused["state"]["execution_meta"]
    _assert_paused(meta, "ASK", "interrupted_after", "needs a yes")
    assert meta["interrupt"]["data"] == meta["interrupt_data"] == {"about": "delete"}
    resumed = _run(service, "yes")
    assert texts(resumed["messages"]) == ["delete", "Really?", "yes", "you said yes"]
    _assert_not_paused(resumed["state"]["execution_meta"])


def test_a_reply_asks_by_itself(start_service):
    document = {
        "app": {
            "nodes": [
                {"name": "ASK", "type": "reply", "text": "Really?", "pause": "needs a yes"},
                {"name": "ACT", "type": "reply", "text": "done"},
            ],
            "edges": [{"from": "START", "to": "ASK"}, {"from": "ASK", "to": "ACT"}],
        }
    }
    service = start_service({"agent": "ask.json:app"}, files={"ask.json": json.dumps(document)})
    paused = _run(service, "delete")
    _assert_paused(paused["state"]["execution_meta"], "ASK", "interrupted_after", "needs a yes")
    assert texts(_run(service, "yes")["messages"])[-1] == "done"
