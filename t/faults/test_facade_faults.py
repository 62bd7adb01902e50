"""kill -9 of the worker of a run that one façade began: every other way reads the same run to its end."""

import json

import pytest

from harness import agui
from harness.http1 import ConnectionClosed
from harness.mcp_client import Session, Stateless, result_of
from harness.messages import texts
from harness.openai_chat import PATH as CHAT
from harness.openai_chat import chat
from harness.openai_responses import PATH as RESPONSES
from harness.openai_responses import ask, output_text, response_id
from harness.waiting import wait_until

# How the run on thread "t" begins, on an open connection.


def _natively(service, connection):
    body = {"messages": [{"role": "user", "content": "go"}], "config": {"thread_id": "t", "on_disconnect": "continue"}}
    connection.request("POST", "/v1/graph/stream", [], body)


def _by_chat(service, connection):
    body = chat("go", stream=True, metadata={"thread_id": "t"})
    connection.request("POST", CHAT, [("Idempotency-Key", "k")], body)


def _by_responses(service, connection):
    connection.request("POST", RESPONSES, [], ask("go", background=True, stream=True, conversation="t"))


def _by_agui(service, connection):
    go_on = {"config": {"on_disconnect": "continue"}}
    connection.request("POST", agui.PATH, [], agui.run_input("go", thread="t", forwardedProps=go_on))


def _by_mcp(service, connection):
    session = Session(service)
    call = {"name": "support", "arguments": {"message": "go", "thread_id": "t"}}
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}
    connection.request("POST", "/mcp", session.headers(), body)


@pytest.mark.parametrize("begin", [_natively, _by_chat, _by_responses, _by_agui, _by_mcp])
def test_a_run_goes_on_and_is_read_everywhere(service, provider, begin):
    with service.connect() as connection:
        begin(service, connection)
        provider.wait_for_waiting(1)
        service.kill_worker()
    provider.open_gate()

    def ended():
        try:
            (run,) = service.get("/v1/threads/t/runs").json()["data"]["runs"]
        except (ConnectionClosed, ConnectionError, KeyError):
            return None
        return run if run["status"] == "done" else None

    run = wait_until(ended, "the run has ended")
    assert run["attempt"] == 2
    run_id = run["run_id"]
    messages = service.get("/v1/threads/t/messages").json()["data"]["messages"]
    assert texts(messages) == ["go", provider.text]
    lines = service.get(f"/v1/threads/t/runs/{run_id}/stream", headers=[("Accept", "application/x-ndjson")]).lines()
    assert texts([line["message"] for line in lines if line["event"] == "message"])[-1] == provider.text
    joined = agui.events(service.post(agui.PATH, agui.run_input(thread="t")))
    assert [message["content"] for message in agui.messages_of(joined)] == ["go", provider.text]
    response = service.get(f"{RESPONSES}/{response_id('t', run_id)}")
    assert response.status == 200 and output_text(response.json()) == provider.text
    read = Stateless(service).ask("resources/read", {"uri": "agent-graph://threads/t"})
    assert provider.text in json.dumps(result_of(read))
    following = service.post(CHAT, chat("more", metadata={"thread_id": "t"}))
    assert following.status == 200, following.text
