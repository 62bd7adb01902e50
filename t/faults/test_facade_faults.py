"""kill -9 of the worker of a run that one façade began: every other way reads the same run to its end."""

import json

import pytest

from harness import agui
from harness.facade_runs import BEGINNINGS, read_run
from harness.mcp_client import Stateless, result_of
from harness.messages import texts
from harness.openai_chat import PATH as CHAT
from harness.openai_chat import chat
from harness.openai_responses import PATH as RESPONSES
from harness.openai_responses import output_text, response_id
from harness.waiting import wait_until


@pytest.mark.parametrize("begin", BEGINNINGS)
def test_a_run_goes_on_and_is_read_everywhere(service, provider, begin):
    with service.connect() as connection:
        begin(service, connection)
        provider.wait_for_waiting(1)
        service.kill_worker()
    provider.open_gate()

    def ended():
        run = read_run(service)
        return run if run is not None and run["status"] == "done" else None

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
