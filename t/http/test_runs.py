"""Runs in the background: POST /v1/graph/runs, their records, wait and cancel, in every worker."""

import pytest

from harness.agents import DEMO, behaviour
from harness.messages import user
from harness.openapi import OpenApi
from harness.service import invocation
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.waiting import wait_until

_RUNS = "/v1/graph/runs"
_GUARDED = DEMO | {"auth": "jwt", "env": "secrets.env", "authorization": "ownership"}
_FILES = {"secrets.env": JWT_ENVIRONMENT}


def _start(service, text="hi", thread_id="t", run_id=None, headers=(), **fields):
    config = {"thread_id": thread_id} | ({"run_id": run_id} if run_id else {})
    return service.post(_RUNS, invocation(text, config=config, **fields), headers=headers)


def _path(run_id, thread_id="t"):
    return f"/v1/threads/{thread_id}/runs/{run_id}"


@pytest.fixture
def gated(start_service, gated_provider):
    """A service whose model waits at a gate."""
    models = {"default": {"provider": "openai", "model": "m", "base_url": gated_provider.base_url}}
    return start_service(DEMO | {"models": models}, workers=2)


def test_a_run_is_accepted_and_its_result_waited_for(start_service):
    service = start_service(DEMO, workers=3)
    reply = _start(service, run_id="r1")
    assert reply.status == 202, reply.text
    data = reply.json()["data"]
    assert data["run_id"] == "r1" and data["thread_id"] == "t"
    assert data["status"] in ("queued", "running", "done")
    assert reply.header("Location") == _path("r1") + "/stream"
    for _ in range(6):  # in whichever worker
        done = service.get(_path("r1") + "/wait")
        assert done.status == 200, done.text
        texts = [m["content"][0]["text"] for m in done.json()["data"]["messages"]]
        assert texts == ["hi", "You said: hi"]
        assert done.json()["data"]["meta"]["run_id"] == "r1"
        assert done.json()["data"]["meta"]["is_new_thread"] is True
        record = service.get(_path("r1")).json()["data"]
        assert record["status"] == "done" and record["attempt"] == 1
        assert record["created_at"] <= record["started_at"] <= record["finished_at"]
        assert isinstance(record["usage"], dict)


def test_location_has_the_prefix(start_service):
    service = start_service(DEMO, prefix="/support/")
    reply = _start(service, thread_id="a/b c", run_id="r1")
    assert reply.header("Location") == "/support/v1/threads/a%2Fb%20c/runs/r1/stream"
    assert service.get("/v1/threads/a%2Fb%20c/runs/r1/wait").status == 200


def test_a_thread_is_made_for_a_run_without_one(start_service):
    service = start_service(DEMO)
    data = service.post(_RUNS, invocation("hi")).json()["data"]
    done = service.get(_path(data["run_id"], data["thread_id"]) + "/wait").json()["data"]
    assert done["meta"]["is_new_thread"] is True


def test_refusals_come_before_acceptance(start_service):
    service = start_service(DEMO)
    for body in (
        {},
        {"messages": []},
        invocation("x", recursion_limit=0),
        invocation("x", config={"thread_id": "t", "on_disconnect": "perhaps"}),
        invocation("x", config={"thread_id": "t", "secrets": {"token": "s"}}),
        invocation("x", initial_state=[]),
        {"messages": [{"role": "tool", "content": [{"type": "tool_result", "call_id": "c", "output": 1}]}],
         "config": {"thread_id": "t"}},
    ):
        assert service.post(_RUNS, body).status == 422, body
    file = {"type": "image", "media": {"kind": "file_id", "file_id": "0" * 32}}
    lost = {"messages": [{"role": "user", "content": [file]}], "config": {"thread_id": "t"}}
    assert service.post(_RUNS, lost).status == 404
    assert service.get("/v1/threads/t").status == 404


def test_without_a_checkpointer_nothing_is_accepted(start_service):
    service = start_service(DEMO | {"checkpointer": "none"})
    assert _start(service).status == 503
    assert _start(service).json()["error"]["code"] == "NOT_CONFIGURED"
    assert service.get("/v1/threads/t/runs").status == 503
    assert service.post(_path("r") + "/cancel").status == 503
    keyed = service.post("/v1/graph/invoke", invocation("x"), headers={"Idempotency-Key": "k"})
    assert keyed.status == 503
    assert service.invoke("x").status == 200


def test_runs_are_listed_the_newest_first(start_service):
    service = start_service(DEMO, workers=2)
    for number in range(3):
        assert _start(service, run_id=f"r{number}").status == 202
        assert service.get(_path(f"r{number}") + "/wait").status == 200
    runs = service.get("/v1/threads/t/runs").json()["data"]
    assert [run["run_id"] for run in runs["runs"]] == ["r2", "r1", "r0"]
    assert runs["next_cursor"] is None
    page = service.get("/v1/threads/t/runs?limit=2").json()["data"]
    assert [run["run_id"] for run in page["runs"]] == ["r2", "r1"]
    rest = service.get(f"/v1/threads/t/runs?limit=2&cursor={page['next_cursor']}").json()["data"]
    assert [run["run_id"] for run in rest["runs"]] == ["r0"]
    assert len(service.get("/v1/threads/t/runs?status=done").json()["data"]["runs"]) == 3
    assert service.get("/v1/threads/t/runs?status=queued").json()["data"]["runs"] == []
    refused = service.get("/v1/threads/t/runs?status=asleep")
    assert refused.status == 422
    assert refused.json()["error"]["details"][0]["loc"] == ["query", "status"]


def test_what_is_not_there_is_not_found(start_service):
    service = start_service(_GUARDED, files=_FILES)
    alice, bob = bearer("alice"), bearer("bob")
    assert _start(service, run_id="r1", headers=alice).status == 202
    assert service.get(_path("r1") + "/wait", headers=alice).status == 200
    unknown = service.get("/v1/threads/nowhere/runs/r1", headers=bob)
    for method, path in (
        ("GET", _path("r1")),
        ("GET", _path("r1") + "/wait"),
        ("GET", _path("r1") + "/stream"),
        ("POST", _path("r1") + "/cancel"),
        ("GET", "/v1/threads/t/runs"),
    ):
        foreign = service.request(method, path, headers=bob)
        missing = service.request(method, path.replace("/t/", "/nowhere/"), headers=bob)
        assert foreign.status == missing.status, path
        assert foreign.json()["detail"] == missing.json()["detail"], path
    assert unknown.status == service.get(_path("r1"), headers=bob).status
    for path in (_path("r2"), _path("r2") + "/wait", _path("r2") + "/stream"):
        assert service.get(path, headers=alice).status == 404, path
    assert service.post(_path("r2") + "/cancel", headers=alice).status == 404


def test_wait_ends_at_its_timeout(gated, gated_provider):
    assert _start(gated, run_id="r1").status == 202
    gated_provider.wait_for_waiting(1)
    pending = gated.get(_path("r1") + "/wait?timeout=0")
    assert pending.status == 202 and pending.json()["data"]["status"] == "running"
    for timeout in ("-1", "x", "301"):
        assert gated.get(_path("r1") + f"/wait?timeout={timeout}").status == 422
    gated_provider.open_gate()
    assert gated.get(_path("r1") + "/wait").status == 200


def test_cancel_ends_runs_in_flight_and_queued(gated, gated_provider):
    assert _start(gated, run_id="r1").status == 202
    gated_provider.wait_for_waiting(1)
    assert _start(gated, run_id="r2").json()["data"]["status"] == "queued"
    for run_id in ("r2", "r1"):
        reply = gated.post(_path(run_id) + "/cancel")
        assert reply.status == 200, reply.text
        assert reply.json()["data"]["run"]["run_id"] == run_id
        wait_until(
            lambda run_id=run_id: gated.get(_path(run_id)).json()["data"]["status"] == "stopped",
            f"{run_id} is stopped",
        )
    again = gated.post(_path("r1") + "/cancel").json()["data"]
    assert again["cancelling"] is False and again["run"]["status"] == "stopped"
    assert gated.get(_path("r1") + "/wait").status == 200


def test_cancel_ends_a_run_that_waits_in_its_worker(start_service, gated_provider):
    """A worker executes only some accepted runs at once; further ones wait in it."""
    models = {"default": {"provider": "openai", "model": "m", "base_url": gated_provider.base_url}}
    service = start_service(DEMO | {"models": models, "limits": {"runs_max": 4}}, workers=1)
    assert _start(service, run_id="r1", thread_id="a").status == 202
    gated_provider.wait_for_waiting(1)
    assert _start(service, run_id="r2", thread_id="b").status == 202
    # It may have stopped before the answer.
    assert service.post(_path("r2", "b") + "/cancel").status == 200
    stopped = service.get(_path("r2", "b") + "/wait?timeout=30")
    assert stopped.status == 200, stopped.text
    assert service.get(_path("r2", "b")).json()["data"]["status"] == "stopped"
    assert service.get(_path("r1", "a")).json()["data"]["status"] == "running"
    gated_provider.open_gate()
    assert service.get(_path("r1", "a") + "/wait").status == 200


def test_queued_runs_do_not_bring_a_deleted_thread_back(start_service):
    """The worker may be about to begin a run of the thread."""
    service = start_service(DEMO, workers=2)
    for number in range(30):
        thread_id = f"t{number}"
        for _ in range(3):
            assert _start(service, thread_id=thread_id).status == 202
        assert service.request("DELETE", f"/v1/threads/{thread_id}", {}).status == 200
    # Workers begin their runs in order, so the deleted ones come before these.
    later = [_start(service, thread_id=f"later{number}").json()["data"] for number in range(10)]
    for run in later:
        assert service.get(_path(run["run_id"], run["thread_id"]) + "/wait").status == 200
    left = {thread["thread_id"] for thread in service.get("/v1/threads").json()["data"]["threads"]}
    assert left == {run["thread_id"] for run in later}


def test_a_failed_run_is_waited_for_as_invoke_fails(start_service):
    service = start_service(behaviour("throwing"))
    direct = service.invoke("x", config={"thread_id": "d"})
    _start(service, run_id="r1")
    waited = service.get(_path("r1") + "/wait")
    assert (waited.status, waited.json()["error"]["code"]) == (direct.status, direct.json()["error"]["code"])
    assert service.get(_path("r1")).json()["data"]["status"] == "error"


def test_a_refused_run_is_waited_for_as_invoke_refused_it(start_service):
    """The record of the run is kept, because only the loaded thread shows that the request is wrong."""
    service = start_service(DEMO)
    assert service.invoke("x", config={"thread_id": "t"}).status == 200
    block = {"type": "tool_result", "call_id": "of-nobody", "output": "x"}
    body = {"messages": [{"role": "tool", "content": [block]}], "config": {"thread_id": "t", "run_id": "r1"}}
    direct = service.post("/v1/graph/invoke", body)
    waited = service.get(_path("r1") + "/wait")
    assert direct.status == waited.status == 422, waited.text
    assert direct.json()["error"]["code"] == waited.json()["error"]["code"]
    lines = service.get(_path("r1") + "/stream", headers=[("Accept", "application/x-ndjson")]).lines()
    assert [line["data"]["code"] for line in lines if line["event"] == "error"] == ["VALIDATION_ERROR"]


def test_a_result_stays_the_same_when_the_thread_goes_on(start_service):
    service = start_service(DEMO)
    _start(service, "first", run_id="r1")
    first = service.get(_path("r1") + "/wait").json()["data"]["messages"]
    _start(service, "second", run_id="r2")
    assert len(service.get(_path("r2") + "/wait").json()["data"]["messages"]) == 4
    assert service.get(_path("r1") + "/wait").json()["data"]["messages"] == first


@pytest.mark.parametrize("change", ["messages", "state"])
def test_a_result_stays_the_same_when_a_client_changes_the_thread(start_service, change):
    service = start_service(DEMO)
    key = {"Idempotency-Key": "k"}
    body = invocation("first", config={"thread_id": "t", "run_id": "r1"})
    own = ["first", "You said: first"]
    assert _texts(service.post("/v1/graph/invoke", body, headers=key)) == own
    if change == "messages":
        added = {"messages": [user("added")]}
        assert service.post("/v1/threads/t/messages", added).status == 200
    else:
        assert service.request("DELETE", "/v1/threads/t/state").status == 200
    assert _texts(service.post("/v1/graph/invoke", body, headers=key)) == own
    assert _texts(service.get(_path("r1") + "/wait")) == own


def _texts(reply):
    assert reply.status == 200, reply.text
    return [m["content"][0]["text"] for m in reply.json()["data"]["messages"]]


@pytest.mark.parametrize("lose", ["window", "state"])
def test_a_result_that_has_left_the_conversation_is_that_of_its_run(start_service, lose):
    """Also when a request is repeated with its key."""
    service = start_service(DEMO | {"window_max": 4 if lose == "window" else 100})
    key = {"Idempotency-Key": "k"}
    body = invocation("first", config={"thread_id": "t", "run_id": "r1"})
    own = ["first", "You said: first"]
    assert _texts(service.post("/v1/graph/invoke", body, headers=key)) == own
    if lose == "state":
        assert service.request("DELETE", "/v1/threads/t/state").status == 200
    for number in range(2, 5):
        _start(service, f"turn {number}", run_id=f"r{number}")
        service.get(_path(f"r{number}") + "/wait")
    assert _texts(service.get(_path("r1") + "/wait")) == own
    assert _texts(service.post("/v1/graph/invoke", body, headers=key)) == own
    # Messages that were deleted are no part of it.
    stored = service.get("/v1/threads/t/messages").json()["data"]["messages"]
    assert service.request("DELETE", f"/v1/threads/t/messages/{stored[0]['message_id']}").status == 200
    assert _texts(service.get(_path("r1") + "/wait")) == own[1:]


def test_a_run_that_ended_in_the_queue_has_no_messages(gated, gated_provider):
    _start(gated, run_id="r1")
    gated_provider.wait_for_waiting(1)
    _start(gated, "never", run_id="r2")
    assert gated.post(_path("r2") + "/cancel").status == 200
    gated_provider.open_gate()
    assert len(_texts(gated.get(_path("r1") + "/wait"))) == 2
    reply = gated.get(_path("r2") + "/wait")
    assert _texts(reply) == [] and reply.json()["data"]["meta"]["outcome"] == "stopped"
def test_a_result_that_is_no_longer_kept_is_gone(start_service):
    service = start_service(DEMO)
    # A thread keeps at most 64 MiB of logs, beyond those of its latest runs.
    state = {"notes": "x" * 1_500_000}
    for number in range(52):
        config = {"thread_id": "t", "run_id": f"r{number}"}
        assert service.invoke("hi", config=config, initial_state=state).status == 200
    assert service.get(_path("r0")).json()["data"]["status"] == "done"
    for target in (_path("r0") + "/wait", _path("r0") + "/stream"):
        gone = service.get(target)
        assert (gone.status, gone.json()["error"]["code"]) == (410, "GONE"), target
    assert service.get(_path("r51") + "/wait").status == 200
    assert service.get(_path("r40") + "/wait").status == 200


def test_runs_of_clients_have_the_same_members(start_service):
    service = start_service(DEMO)
    _start(service, run_id="r1")
    accepted = service.get(_path("r1") + "/wait") and service.get(_path("r1")).json()["data"]
    assert service.invoke("hi", config={"thread_id": "t", "run_id": "r2"}).status == 200
    direct = service.get(_path("r2")).json()["data"]
    assert direct["graph_hash"] == accepted["graph_hash"] is not None
    assert {name for name, value in direct.items() if value is None} == {"reason", "resumes"}


def test_answers_of_direct_runs_name_their_stream(start_service):
    service = start_service(DEMO)
    reply = service.invoke("hi", config={"thread_id": "t", "run_id": "r1"})
    assert reply.header("Location") == _path("r1") + "/stream"
    stream = service.stream("hi", config={"thread_id": "t", "run_id": "r2"}).read_head()
    assert stream.header("Location") == _path("r2") + "/stream"
    alone = start_service(DEMO | {"checkpointer": "none"})
    assert alone.invoke("hi").header("Location") is None


def test_answers_are_what_the_document_says(start_service):
    service = start_service(DEMO)
    openapi = OpenApi(service.get("/openapi.json").json())

    def check(method, path, body=None, query="", status=200, **headers):
        target = path.format(thread_id="t", run_id="r1") + query
        reply = service.request(method, target, body, headers=headers)
        assert reply.status == status, reply.text
        openapi.check_answer(method, path, reply)

    run = "/v1/threads/{thread_id}/runs/{run_id}"
    body = invocation("hi", config={"thread_id": "t", "run_id": "r1"})
    check("POST", _RUNS, body, status=202)
    check("POST", _RUNS, {}, status=422)
    check("POST", _RUNS, body, status=409)  # the thread has this run already
    check("GET", run + "/wait")
    check("GET", run + "/wait", query="?timeout=x", status=422)
    check("GET", run)
    check("GET", "/v1/threads/{thread_id}/runs")
    check("GET", run + "/stream", Accept="application/x-ndjson")
    check("GET", run + "/stream", query="?after=x", status=400)
    check("POST", run + "/cancel")
    check("POST", run + "/cancel", {"config": 1}, status=422)
