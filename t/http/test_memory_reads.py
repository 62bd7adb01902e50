"""Reads and changes of the state of a large thread, several at once: they take turns when the worker
has no memory for all of them."""

import json

import pytest

from harness import environment
from harness.agents import DEMO
from harness.agui import PATH, parse, run_input
from harness.http1 import Connection
from harness.messages import user
from harness.openai_chat import error
from harness.openai_responses import PATH as RESPONSES
from harness.openai_responses import ask, completed, response_id
from harness.waiting import wait_until
from harness.worker_memory import MIB, at_once, peaks_within, start_watched, status_of

pytestmark = pytest.mark.skipif(
    bool(environment.SANITIZER), reason="a sanitizer's allocator, shadow and quarantine are not ours"
)

_BOUND = 192 * MIB
_READS = 6
_THREAD = "/v1/threads/large"


def _create_large_thread(service):
    """Makes a state of 34 MiB, about the largest that a thread can have over HTTP."""
    messages = {"messages": [user("x" * 1_000_000) for _ in range(8)]}
    for _ in range(4):
        assert service.post(f"{_THREAD}/messages", messages).status == 200
    fields = {"field": ["y" * 900_000] * 4}
    reply = service.request("PUT", f"{_THREAD}/state", {"state": fields})
    assert reply.status == 200, reply.text[:300]


def _answered(replies):
    """Returns the replies that are not refused because others had the memory for half a minute."""
    assert {reply.status for reply in replies} <= {200, 503}
    return [reply for reply in replies if reply.status == 200]


@pytest.fixture
def service(start_service):
    service = start_watched(start_service, DEMO | {"limits": {"buffered_bytes_max": _BOUND}})
    _create_large_thread(service)
    _begin_anew(service)
    return service


def _begin_anew(service):
    """Replaces the worker, whose peak was that of earlier requests."""
    service.reload()
    assert service.invoke("hi").status == 200


def test_reads_of_a_large_state_take_turns(service):
    with peaks_within(service, _BOUND):
        replies = at_once(_READS, lambda _: service.get(f"{_THREAD}/state"))
    (state, *_) = [reply.json()["data"]["state"] for reply in _answered(replies)]
    assert len(state["context"]) == 32 and len(state["field"]) == 4


def test_pages_that_are_not_read_leave_memory_for_others(service):
    """Otherwise clients that do not read could take all memory of the worker, for send_timeout."""
    clients = [Connection(service.port, receive_buffer=4096) for _ in range(40)]
    for client in clients:
        client.request("GET", f"{_THREAD}/messages?limit=100")
    wait_until(lambda: status_of(service)["memory_waiting"] > 0, "pages wait for memory")
    assert service.invoke("hello").status == 200
    assert status_of(service)["buffered_bytes"] <= _BOUND
    for client in clients:
        client.close()


def test_changes_of_a_large_state_take_turns(service):
    with peaks_within(service, _BOUND):
        replies = at_once(
            _READS,
            lambda number: service.request("PUT", f"{_THREAD}/state", {"state": {"n": number}}),
        )
    assert len(_answered(replies)) > 0


def test_results_of_a_run_on_a_large_thread_take_turns(service):
    config = {"thread_id": "large", "run_id": "r"}
    accepted = service.post("/v1/graph/runs", {"messages": [user("hi")], "config": config})
    assert accepted.status == 202, accepted.text
    result = f"{_THREAD}/runs/r/wait"
    assert service.get(result).status == 200
    _begin_anew(service)
    with peaks_within(service, _BOUND):
        replies = at_once(_READS, lambda _: service.get(result))
    assert len(_answered(replies)) > 0


def test_branches_of_a_large_conversation_take_turns(service):
    """Responses that follow another one than the latest begin with a copy of the conversation."""
    for run_id in ("first", "second"):
        config = {"thread_id": "large", "run_id": run_id}
        assert service.post("/v1/graph/runs", {"messages": [user("hi")], "config": config}).status == 202
        assert service.get(f"{_THREAD}/runs/{run_id}/wait").status == 200
    _begin_anew(service)
    body = ask("hello", previous_response_id=response_id("large", "first"), store=False)
    with peaks_within(service, _BOUND):
        replies = at_once(_READS, lambda _: service.post(RESPONSES, body))
    assert len(_answered(replies)) > 0


def test_evaluation_reports_take_turns(start_service):
    cases = [{"eval_id": f"c{number}", "actual_response": "x" * 200} for number in range(10_000)]
    report = json.dumps({"eval_set_id": "s", "results": cases})
    files = {f"eval_reports/r{number}.json": report for number in range(2)}
    bound = 64 * MIB
    settings = DEMO | {"limits": {"buffered_bytes_max": bound}}
    service = start_watched(start_service, settings, files=files)
    runs = service.get("/v1/evals/runs").json()["data"]["runs"]
    assert [run["run"] for run in runs] == ["#2", "#1"]
    _begin_anew(service)
    with peaks_within(service, bound):
        replies = at_once(12, lambda _: service.get(f"/v1/evals/runs/{runs[0]['id']}"))
    (run, *_) = [reply.json()["data"] for reply in _answered(replies)]
    assert len(run["cases"]) == 10_000


def _reference_to_large_item(service):
    stored = completed(service.post(RESPONSES, ask("x" * 900_000)))
    (item,) = service.get(f"{RESPONSES}/{stored['id']}/input_items").json()["data"]
    return {"type": "item_reference", "id": item["id"]}


def test_messages_that_a_request_refers_to_count(service):
    """A small request may refer to a large item many times."""
    body = ask([_reference_to_large_item(service)] * 300, store=False)
    _begin_anew(service)
    with peaks_within(service, _BOUND):
        replies = at_once(3, lambda _: service.post(RESPONSES, body))
    assert {reply.status for reply in replies} <= {400, 503}
    (refused, *_) = [error(reply) for reply in replies if reply.status == 400]
    assert refused["param"] == "input[74].id" and "limits.run_bytes_max" in refused["message"]


def _check_pages(service, path):
    """The items, 12, come in two pages, although the limit is larger."""
    for order in ("asc", "desc"):
        first = service.get(f"{path}?limit=100&order={order}").json()
        assert first["has_more"] is True and 0 < len(first["data"]) < 12
        rest = service.get(f"{path}?limit=100&order={order}&after={first['last_id']}").json()
        assert rest["has_more"] is False and len(first["data"]) + len(rest["data"]) == 12


def test_pages_of_input_items_have_a_size(service):
    asked = [_reference_to_large_item(service)] * 11 + [user("hi")]
    stored = completed(service.post(RESPONSES, ask(asked)))
    _check_pages(service, f"{RESPONSES}/{stored['id']}/input_items")


def test_pages_of_a_conversation_have_a_size(service):
    items = [_reference_to_large_item(service)] * 11 + [user("hi")]
    conversation = service.post("/openai/v1/conversations", {"items": items}).json()["id"]
    _check_pages(service, f"/openai/v1/conversations/{conversation}/items")


def test_snapshots_of_a_large_thread_take_turns(service):
    """Clients of AG-UI that read the thread without a run."""
    with peaks_within(service, _BOUND):
        replies = at_once(_READS, lambda _: service.post(PATH, run_input(thread="large")))
    (events, *_) = [parse(reply.text) for reply in _answered(replies)]
    (snapshot,) = [event for event in events if event["type"] == "STATE_SNAPSHOT"]
    assert len(snapshot["snapshot"]["field"]) == 4
