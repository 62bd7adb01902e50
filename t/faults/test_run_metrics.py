"""The status page counts what happens to accepted runs."""

import re

import pytest

from harness.agents import DEMO
from harness.service import invocation
from harness.waiting import wait_until

_PAGE = "location = /metrics { agent_graph_status format=prometheus; }"


@pytest.fixture
def service(make_service, gated_provider):
    models = {"default": {"provider": "openai", "model": "m", "base_url": gated_provider.base_url}}
    return make_service(DEMO | {"models": models}, server=_PAGE, workers=2).start()


def _value(service, name):
    found = re.search(rf'^{name}{{service="test"}} (\S+)$', service.get("/metrics").text, re.MULTILINE)
    assert found, name
    return float(found[1])


def _start(service, run_id):
    body = invocation("go", config={"thread_id": "t", "run_id": run_id})
    assert service.post("/v1/graph/runs", body).status == 202


def test_continued_runs_followers_and_waits_are_shown(service, gated_provider):
    for name in ("runs_continued_total", "runs_poisoned_total", "unknown_effects_total", "followers"):
        assert _value(service, f"agent_graph_{name}") == 0
    _start(service, "r1")
    gated_provider.wait_for_waiting(1)
    _start(service, "r2")  # waits for its thread
    wait_until(lambda: _value(service, "agent_graph_oldest_queued_run_seconds") > 0, "the wait is shown")
    with service.connect() as follower:
        follower.request("GET", "/v1/threads/t/runs/r1/stream")
        wait_until(lambda: _value(service, "agent_graph_followers") == 1, "the follower is shown")
    service.kill_workers()
    wait_until(lambda: _value(service, "agent_graph_runs_continued_total") >= 1, "the run is continued")
    gated_provider.open_gate()
    for run_id in ("r1", "r2"):
        wait_until(
            lambda run_id=run_id: service.get(f"/v1/threads/t/runs/{run_id}").json()["data"]["status"] == "done",
            f"{run_id} is done",
        )
    wait_until(lambda: _value(service, "agent_graph_oldest_queued_run_seconds") == 0, "nothing waits")
    assert _value(service, "agent_graph_runs_poisoned_total") == 0
