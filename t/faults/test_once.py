"""kill -9 of a worker in a node that is marked `once`: no other worker executes the node again."""

import json

import pytest

from harness.service import invocation
from harness.waiting import wait_until

_RUN = "/v1/threads/t/runs/r"


def _graph(once):
    return {
        "app": {
            "nodes": [
                {"name": "GREET", "type": "reply", "text": "Hello.", "set": {"greeted": True}},
                {"name": "MAIN", "type": "agent", "once": once},
            ],
            "edges": [{"from": "START", "to": "GREET"}, {"from": "GREET", "to": "MAIN"}],
        }
    }


@pytest.fixture
def killed(make_service, gated_provider):
    """Starts a run, and kills its worker while the model answers."""

    def start(once):
        model = {"provider": "openai", "model": "m", "base_url": gated_provider.base_url}
        service = make_service(
            {"agent": "graph.json:app", "models": {"default": model}},
            files={"graph.json": json.dumps(_graph(once))},
            workers=1,
        ).start()
        body = invocation("go", config={"thread_id": "t", "run_id": "r"})
        assert service.post("/v1/graph/runs", body).status == 202
        gated_provider.wait_for_waiting(1)
        service.kill_worker()
        gated_provider.open_gate()
        ended = ("done", "error")
        wait_until(
            lambda: service.get(_RUN).json()["data"]["status"] in ended, "the run has ended", timeout=60
        )
        return service

    return start


def test_a_node_that_runs_once_ends_the_run_with_its_worker(killed, gated_provider):
    service = killed(once=True)
    record = service.get(_RUN).json()["data"]
    assert (record["status"], record["reason"]) == ("error", "worker_lost")
    assert gated_provider.finished == 0, "the model was not asked again"
    # The effects of the nodes before stay.
    assert service.get("/v1/threads/t/state").json()["data"]["state"]["greeted"] is True
    failed = service.get(_RUN + "/wait")
    assert failed.status == 500 and "MAIN" in failed.json()["error"]["message"]


def test_other_nodes_are_executed_again(killed, gated_provider):
    service = killed(once=False)
    record = service.get(_RUN).json()["data"]
    assert (record["status"], record["attempt"]) == ("done", 2)
    assert gated_provider.finished == 1
