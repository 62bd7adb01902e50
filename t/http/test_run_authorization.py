"""Before each attempt of an accepted run its user is authorized again."""

import contextlib

import pytest

from harness.agents import DEMO
from harness.service import invocation
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.waiting import wait_until

_FILES = {"secrets.env": JWT_ENVIRONMENT}
_READER = ["checkpointer:read"]
_WRITER = [*_READER, "graph:invoke"]


def _settings(provider, scopes):
    return DEMO | {
        "models": {"default": {"provider": "openai", "model": "m", "base_url": provider.base_url}},
        "env": "secrets.env",
        "auth": {"method": "jwt", "persist_claims": ["roles"]},
        "authorization": {"backend": "rbac", "roles": {"clerk": scopes}},
    }


@pytest.mark.one_host("the only worker is killed")
def test_runs_whose_user_lost_the_permission_are_not_executed(start_service, gated_provider):
    service = start_service(_settings(gated_provider, _WRITER), files=_FILES, workers=1)
    service.error_log.allow(r"exited on signal 9")
    clerk = bearer("alice", roles=["clerk"])

    def start(run_id):
        body = invocation("go", config={"thread_id": "t", "run_id": run_id})
        return service.post("/v1/graph/runs", body, headers=clerk)

    def record(run_id):
        return service.get(f"/v1/threads/t/runs/{run_id}", headers=clerk).json()["data"]

    assert start("begun").status == 202
    gated_provider.wait_for_waiting(1)
    assert start("waits").status == 202
    [old] = service.workers()
    service.write_settings(_settings(gated_provider, _READER))
    service.reload()
    with contextlib.suppress(ProcessLookupError):  # it has handed its run over, and has left
        service.kill(old.pid)  # the run that it had begun needs another attempt
    for run_id in ("begun", "waits"):
        wait_until(lambda name=run_id: record(name)["status"] == "error", f"{run_id} has ended")
        assert record(run_id)["reason"] == "forbidden"
        waited = service.get(f"/v1/threads/t/runs/{run_id}/wait", headers=clerk)
        assert (waited.status, waited.json()["error"]["code"]) == (403, "PERMISSION_ERROR")
    assert start("new").status == 403
