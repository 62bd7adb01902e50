"""config.on_busy: what a request does on a thread that has a run in flight."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.agents import DEMO
from harness.graph_socket import open_socket
from harness.messages import text_of
from harness.service import invocation
from harness.waiting import wait_until

_ROUTES = ("/v1/graph/invoke", "/v1/graph/stream", "/v1/graph/runs")


@pytest.fixture
def busy(start_service, gated_provider):
    """A service with a run of thread t in flight, whose model waits at a gate."""
    models = {"default": {"provider": "openai", "model": "m", "base_url": gated_provider.base_url}}
    service = start_service(DEMO | {"models": models}, workers=2)
    assert _start(service, "first", "r1").status == 202
    gated_provider.wait_for_waiting(1)
    return service


def _start(service, text, run_id, **config):
    config = {"thread_id": "t", "run_id": run_id} | config
    return service.post("/v1/graph/runs", invocation(text, config=config))


def _run(service, run_id):
    return service.get(f"/v1/threads/t/runs/{run_id}").json()["data"]


def test_reject_answers_409_at_once(busy):
    body = invocation("second", config={"thread_id": "t", "run_id": "r2", "on_busy": "reject"})
    for route in _ROUTES:
        reply = busy.post(route, body)
        assert (reply.status, reply.json()["error"]["code"]) == (409, "THREAD_BUSY"), route
    with open_socket(busy) as socket:
        socket.send_json(body)
        chunks = socket.read_run()
    assert chunks[0]["event"] == "error" and chunks[0]["data"]["code"] == "THREAD_BUSY"
    assert busy.get("/v1/threads/t/runs/r2").status == 404
    assert _run(busy, "r1")["status"] == "running"


def test_interrupt_stops_the_run_in_flight_and_goes_first(busy, gated_provider):
    assert _start(busy, "second", "r2", on_busy="enqueue").json()["data"]["status"] == "queued"
    assert _start(busy, "third", "r3", on_busy="interrupt").status == 202
    wait_until(lambda: _run(busy, "r1")["status"] == "stopped", "the first run is stopped")
    gated_provider.open_gate()
    for run_id in ("r3", "r2"):
        assert busy.get(f"/v1/threads/t/runs/{run_id}/wait").status == 200
    messages = busy.get("/v1/threads/t/messages").json()["data"]["messages"]
    answer = gated_provider.text
    assert [text_of(m) for m in messages] == ["first", "third", answer, "second", answer]
    assert _run(busy, "r2")["status"] == _run(busy, "r3")["status"] == "done"


@pytest.mark.parametrize("route", _ROUTES[:2])
def test_interrupt_by_a_connected_client(busy, gated_provider, route):
    body = invocation("second", config={"thread_id": "t", "run_id": "r2", "on_busy": "interrupt"})
    with ThreadPoolExecutor(1) as pool:
        reply = pool.submit(busy.post, route, body)
        wait_until(lambda: _run(busy, "r1")["status"] == "stopped", "the first run is stopped")
        gated_provider.open_gate()
        assert reply.result().status == 200
    assert _run(busy, "r2")["status"] == "done"


def test_interrupt_over_a_websocket(busy, gated_provider):
    with open_socket(busy) as socket:
        socket.send_json(
            invocation("second", config={"thread_id": "t", "run_id": "r2", "on_busy": "interrupt"})
        )
        wait_until(lambda: _run(busy, "r1")["status"] == "stopped", "the first run is stopped")
        gated_provider.open_gate()
        assert socket.read_run()[-1]["data"]["outcome"] == "done"


def test_other_values_are_refused_with_their_path(start_service):
    service = start_service(DEMO)
    for value in ("wait", "", 1, {}):
        body = invocation("x", config={"thread_id": "t", "on_busy": value})
        for route in _ROUTES:
            reply = service.post(route, body)
            assert reply.status == 422, (route, value)
            assert reply.json()["error"]["details"][0]["loc"] == ["body", "config", "on_busy"]
    assert service.get("/v1/threads/t").status == 404


@pytest.mark.parametrize("route", _ROUTES[:2])
def test_a_run_that_waits_too_long_times_out(start_service, gated_provider, route):
    models = {"default": {"provider": "openai", "model": "m", "base_url": gated_provider.base_url}}
    service = start_service(
        DEMO | {"models": models},
        location="agent_graph_run_timeout 1s;",
        server="location /unhurried/ { agent_graph test; agent_graph_run_timeout 1h; }",
    )
    body = invocation("first", config={"thread_id": "t", "run_id": "r1"})
    assert service.post("/unhurried/v1/graph/runs", body).status == 202
    gated_provider.wait_for_waiting(1)
    reply = service.post(route, invocation("second", config={"thread_id": "t", "run_id": "r2"}))
    assert (reply.status, reply.json()["error"]["code"]) == (504, "TIMEOUT")
    wait_until(lambda: service.get("/v1/threads/t/runs/r2").status == 404, "the run waits no more")
    assert _run(service, "r1")["status"] == "running"
    gated_provider.open_gate()
    assert service.get("/v1/threads/t/runs/r1/wait").status == 200
