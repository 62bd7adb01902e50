"""State that an earlier version has stored is read, and its runs go on; see earlier_state.py."""

import os
import pwd
import shutil

import pytest

from earlier_state import SAMPLES, make_service
from harness.messages import texts
from harness.nginx import WORKER_USER


@pytest.fixture(params=sorted(path.name for path in SAMPLES.iterdir()))
def service(request, directory, instances, gated_provider):
    gated_provider.open_gate()
    found = make_service(directory / "nginx", gated_provider)
    instances.append(found)
    state = found.directory / "state" / "test"
    shutil.copytree(SAMPLES / request.param, state / "db")
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


def test_its_runs_end(service, gated_provider):
    """The run in progress keeps what its first node did; the run that waited for it is executed."""
    reply = service.get("/v1/threads/begun/runs/r3/wait")
    assert reply.status == 200, reply.text
    assert _messages(service, "begun") == ["slowly", "first", "later", "first", gated_provider.text]
    record = service.get("/v1/threads/begun/runs/r2").json()["data"]
    assert (record["status"], record["reason"]) == ("error", "worker_lost")
    assert service.get("/v1/threads/begun/runs/r3").json()["data"]["status"] == "done"
    state = service.get("/v1/threads/begun/state").json()["data"]["state"]
    assert state["visits"] == ["FIRST", "FIRST"]
