"""State that an earlier version has stored is read, and its runs go on; see earlier_state.py."""

import os
import pwd
import shutil

import pytest

from earlier_state import BEFORE_RUNS, NO_RECOVERY, SAMPLES, make_service
from harness.admin import admin, state_of
from harness.messages import texts
from harness.nginx import WORKER_USER
from harness.stream import is_done

pytestmark = pytest.mark.leveldb("folders that earlier versions wrote")

_NAMES = sorted(path.name for path in SAMPLES.iterdir())


@pytest.fixture(params=_NAMES)
def sample(request):
    return request.param


@pytest.fixture
def service(sample, directory, instances, gated_provider):
    gated_provider.open_gate()
    found = make_service(directory / "nginx", gated_provider, **NO_RECOVERY)
    instances.append(found)
    state = found.directory / "state" / "test"
    shutil.copytree(SAMPLES / sample, state / "db")
    _give_to_workers(state)
    return found.start()


def _give_to_workers(state):
    owner = pwd.getpwnam(WORKER_USER) if os.getuid() == 0 else None
    for path in [state, *state.rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
        if owner is not None:
            os.chown(path, owner.pw_uid, owner.pw_gid)


def _messages(service, thread_id):
    return texts(service.get(f"/v1/threads/{thread_id}/messages").json()["data"]["messages"])


def test_its_threads_are_read_and_continued(service, gated_provider):
    answer = gated_provider.text
    assert _messages(service, "finished") == ["hello", "first", answer]
    state = service.get("/v1/threads/finished/state").json()["data"]["state"]
    assert state["visits"] == ["FIRST"]
    reply = service.invoke("again", config={"thread_id": "finished"}, response_granularity="full")
    assert reply.status == 200, reply.text
    assert reply.json()["data"]["state"]["visits"] == ["FIRST", "FIRST"]


def test_its_paused_thread_resumes(service):
    reply = service.invoke("yes", config={"thread_id": "paused"}, response_granularity="full")
    data = reply.json()["data"]
    assert texts(data["messages"]) == ["please", "first", "yes", "second"]
    assert data["state"]["visits"] == ["FIRST", "SECOND"]


def test_its_run_in_progress_ends(service, sample):
    """The run keeps the effects of its first node, except for a field whose value is not in the log. In the
    sample of the version before records of runs it has no record."""
    before_runs = sample == BEFORE_RUNS
    reply = service.invoke("again", config={"thread_id": "begun"}, response_granularity="full")
    assert reply.status == 200, reply.text
    visits = reply.json()["data"]["state"]["visits"]
    assert visits == ["FIRST"] * (1 if before_runs else 3)
    assert _messages(service, "begun")[:2] == ["slowly", "first"]
    if before_runs:
        assert service.get("/v1/threads/begun/runs/r2").status == 404
        return
    record = service.get("/v1/threads/begun/runs/r2").json()["data"]
    assert (record["status"], record["reason"]) == ("error", "worker_lost")
    stream = service.get("/v1/threads/begun/runs/r2/stream", headers={"Accept": "application/x-ndjson"})
    assert stream.status == 200 and is_done(stream.lines()[-1])


def test_its_rows_are_verified(service):
    for thread in ("finished", "paused", "begun"):
        assert service.get(f"/v1/threads/{thread}/runs").status == 200
    assert "3 threads, 0 memories, 0 problems" in admin("verify", state_of(service))


@pytest.mark.parametrize("sample", [name for name in _NAMES if name != BEFORE_RUNS])
def test_its_accepted_run_is_executed(service, gated_provider):
    """The accepted run waited for the run that was in progress."""
    reply = service.get("/v1/threads/begun/runs/r3/wait")
    assert reply.status == 200, reply.text
    assert _messages(service, "begun") == ["slowly", "first", "later", "first", gated_provider.text]
    record = service.get("/v1/threads/begun/runs/r2").json()["data"]
    assert (record["status"], record["reason"]) == ("error", "worker_lost")
    assert service.get("/v1/threads/begun/runs/r3").json()["data"]["status"] == "done"
    state = service.get("/v1/threads/begun/state").json()["data"]["state"]
    assert state["visits"] == ["FIRST", "FIRST"]
