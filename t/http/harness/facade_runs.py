"""A run that each façade can begin, on thread "t", so that it goes on without its connection."""

from . import agui
from .http1 import ConnectionClosed
from .mcp_client import Session
from .openai_chat import PATH as CHAT
from .openai_chat import chat
from .openai_responses import PATH as RESPONSES
from .openai_responses import ask


def natively(service, connection):
    body = {"messages": [{"role": "user", "content": "go"}], "config": {"thread_id": "t", "on_disconnect": "continue"}}
    connection.request("POST", "/v1/graph/stream", [], body)


def by_chat(service, connection):
    body = chat("go", stream=True, metadata={"thread_id": "t"})
    connection.request("POST", CHAT, [("Idempotency-Key", "k")], body)


def by_responses(service, connection):
    connection.request("POST", RESPONSES, [], ask("go", background=True, stream=True, conversation="t"))


def by_agui(service, connection):
    go_on = {"config": {"on_disconnect": "continue"}}
    connection.request("POST", agui.PATH, [], agui.run_input("go", thread="t", forwardedProps=go_on))


def by_mcp(service, connection):
    session = Session(service)
    call = {"name": "support", "arguments": {"message": "go", "thread_id": "t"}}
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}
    connection.request("POST", "/mcp", session.headers(), body)


BEGINNINGS = [natively, by_chat, by_responses, by_agui, by_mcp]


def read_run(service):
    """The only run of the thread, or None while its worker is away."""
    try:
        (run,) = service.get("/v1/threads/t/runs").json()["data"]["runs"]
    except (ConnectionClosed, ConnectionError, KeyError):
        return None
    return run
