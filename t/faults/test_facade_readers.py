"""A run that one façade began and whose worker died: every other façade watches it while it goes on, stops it,
and continues its conversation."""

import pytest

from harness import agui
from harness.facade_runs import BEGINNINGS, read_run
from harness.mcp_client import Session
from harness.messages import texts
from harness.openai_chat import PATH as CHAT
from harness.openai_chat import chat
from harness.openai_responses import PATH as RESPONSES
from harness.openai_responses import ask, events_in, response_id
from harness.waiting import wait_until

_NDJSON = [("Accept", "application/x-ndjson")]


def _continued(service, provider, begin):
    """Begins the run, kills its worker and returns the run's id when another one has it."""
    with service.connect() as connection:
        begin(service, connection)
        provider.wait_for_waiting(1)
        service.kill_worker()

    def second_attempt():
        run = read_run(service)
        return run if run is not None and run["attempt"] == 2 else None

    return wait_until(second_attempt, "another worker has the run")["run_id"]


def _is_done(service):
    run = read_run(service)
    return run is not None and run["status"] == "done"


@pytest.mark.parametrize("begin", BEGINNINGS)
def test_every_facade_watches_it(service, provider, begin):
    run = _continued(service, provider, begin)
    watched = (
        ("GET", f"/v1/threads/t/runs/{run}/stream", _NDJSON, None),
        ("POST", agui.PATH, [], agui.run_input(thread="t")),
        ("GET", f"{RESPONSES}/{response_id('t', run)}?stream=true", [], None),
    )
    connections = [service.connect() for _ in watched]
    for connection, (method, target, headers, body) in zip(connections, watched, strict=True):
        connection.request(method, target, headers, body)
    # The stream of a response exists for runs that were accepted, which all of these are.
    replies = [connection.read_head() for connection in connections]
    assert [reply.status for reply in replies] == [200, 200, 200]
    provider.open_gate()
    native, front, response = (
        b"".join(connection.body_pieces(reply)).decode()
        for connection, reply in zip(connections, replies, strict=True)
    )
    for connection in connections:
        connection.close()
    assert provider.text in native
    found = agui.parse(front)
    agui.verify(found)
    assert found[0]["runId"] == run
    assert agui.messages_of(found)[-1]["content"] == provider.text
    name, last = events_in(response)[-1]
    assert name == "response.completed" and last["response"]["id"] == response_id("t", run)


@pytest.mark.parametrize("stop", ["native", "response"])
@pytest.mark.parametrize("begin", BEGINNINGS)
def test_every_facade_stops_it(service, provider, begin, stop):
    run = _continued(service, provider, begin)
    native = f"/v1/threads/t/runs/{run}/cancel"
    path = native if stop == "native" else f"{RESPONSES}/{response_id('t', run)}/cancel"
    assert service.post(path, {}).status in (200, 202)
    stopped = wait_until(
        lambda: (found := read_run(service)) is not None and found["status"] not in ("running", "queued") and found,
        "the run has ended",
    )
    assert stopped["status"] == "stopped"
    provider.open_gate()


@pytest.mark.parametrize("begin", BEGINNINGS)
def test_every_facade_continues_the_conversation(service, provider, begin):
    _continued(service, provider, begin)
    provider.open_gate()
    wait_until(lambda: _is_done(service), "the run is done")
    body = {"messages": [{"role": "user", "content": "by native"}], "config": {"thread_id": "t"}}
    replies = [
        service.post("/v1/graph/invoke", body),
        service.post(CHAT, chat("by chat", metadata={"thread_id": "t"})),
        service.post(RESPONSES, ask("by responses", conversation="t")),
        service.post(agui.PATH, agui.run_input("by agui", thread="t")),
    ]
    assert [reply.status for reply in replies] == [200] * 4, [reply.text for reply in replies]
    assert Session(service).answer("by mcp", "support", thread_id="t")["thread_id"] == "t"
    messages = service.get("/v1/threads/t/messages").json()["data"]["messages"]
    said = [text for text in texts(messages) if text.startswith("by ")]
    assert said == ["by native", "by chat", "by responses", "by agui", "by mcp"]
