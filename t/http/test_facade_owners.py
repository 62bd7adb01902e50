"""Two users with tokens on every façade: whichever way a thread has begun, no other way leads another user to
it, and no id of one façade is a way around the guard of another."""

import base64
import json

import pytest

from harness import agui
from harness.agents import DEMO
from harness.mcp_client import Stateless
from harness.messages import texts
from harness.openai_chat import PATH as CHAT
from harness.openai_chat import chat
from harness.openai_responses import PATH as RESPONSES
from harness.openai_responses import ask, response_id
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.uploads import uploaded

_ALICE, _BOB = bearer("alice"), bearer("bob")
_WORDS = "words of Alice"


@pytest.fixture
def service(start_service):
    settings = DEMO | {"auth": "jwt", "env": "secrets.env", "authorization": "ownership"}
    return start_service(settings, files={"secrets.env": JWT_ENVIRONMENT}, workers=2)


# How Alice begins; each returns the id of the thread.


def _natively(service):
    body = {"messages": [{"role": "user", "content": _WORDS}], "config": {"thread_id": "native"}}
    assert service.post("/v1/graph/invoke", body, headers=_ALICE).status == 200
    return "native"


def _by_chat(service):
    reply = service.post(CHAT, chat(_WORDS), headers=[*_ALICE, ("X-Thread-Id", "chat")])
    assert reply.status == 200, reply.text
    return "chat"


def _by_responses(service):
    reply = service.post(RESPONSES, ask(_WORDS), headers=_ALICE)
    assert reply.status == 200, reply.text
    named = reply.json()["id"].removeprefix("resp_")
    return base64.urlsafe_b64decode(named + "=" * (-len(named) % 4)).decode().split("\0")[0]


def _by_agui(service):
    agui.events(service.post(agui.PATH, agui.run_input(_WORDS, thread="front"), headers=_ALICE))
    return "front"


def _by_mcp(service):
    return Stateless(service, _ALICE).answer(_WORDS, "support")["thread_id"]


def _attempts(service, thread, run):
    """Returns the attempts of Bob, as (name, reply)."""
    native = f"/v1/threads/{thread}"
    for path in (native, f"{native}/messages", f"{native}/state", f"{native}/runs", f"{native}/runs/{run}",
                 f"{native}/runs/{run}/stream", f"{native}/runs/{run}/wait", f"/v1/observability/{thread}"):
        yield path, service.get(path, headers=_BOB)
    yield "cancel", service.post(f"{native}/runs/{run}/cancel", {}, headers=_BOB)
    yield "delete", service.request("DELETE", native, {}, headers=_BOB)
    yield "chat", service.post(CHAT, chat("x", metadata={"thread_id": thread}), headers=_BOB)
    yield "chat by header", service.post(CHAT, chat("x"), headers=[*_BOB, ("X-Thread-Id", thread)])
    forged = response_id(thread, run)
    for method, tail in (("GET", ""), ("GET", "?stream=true"), ("GET", "/input_items"), ("POST", "/cancel"),
                         ("DELETE", "")):
        yield f"{method} response{tail}", service.request(method, f"{RESPONSES}/{forged}{tail}", headers=_BOB)
    for fields in ({"previous_response_id": forged}, {"conversation": thread}, {"metadata": {"thread_id": thread}}):
        yield f"response {fields}", service.post(RESPONSES, ask("x") | fields, headers=_BOB)
    conversation = f"/openai/v1/conversations/{thread}"
    for method, tail, body in (("GET", "", None), ("GET", "/items", None), ("POST", "", {"metadata": {"a": "b"}}),
                               ("POST", "/items", {"items": [{"role": "user", "content": "x"}]}),
                               ("DELETE", "", None)):
        yield f"{method} conversation{tail}", service.request(method, conversation + tail, body, headers=_BOB)
    for messages in ((), ("x",)):
        body = agui.run_input(*messages, thread=thread, run=run)
        yield f"agui {messages}", service.post(agui.PATH, body, headers=_BOB)
    client = Stateless(service, _BOB)
    yield "mcp call", client.call("support", {"message": "x", "thread_id": thread})
    yield "mcp resource", client.ask("resources/read", {"uri": f"agent-graph://threads/{thread}"})


@pytest.mark.parametrize("begin", [_natively, _by_chat, _by_responses, _by_agui, _by_mcp])
def test_nobody_reaches_the_thread_of_another_user(service, begin):
    thread = begin(service)
    (run,) = service.get(f"/v1/threads/{thread}/runs", headers=_ALICE).json()["data"]["runs"]
    for what, reply in _attempts(service, thread, run["run_id"]):
        assert _WORDS not in reply.text, what
        if what.startswith("mcp"):
            refused = json.loads(reply.text)
            assert "error" in refused or refused["result"]["isError"], (what, reply.text)
        else:
            assert reply.status in (403, 404), (what, reply.text)
    for path in ("/v1/threads", "/v1/threads?search=words"):
        assert service.get(path, headers=_BOB).json()["data"]["threads"] == []
    messages = service.get(f"/v1/threads/{thread}/messages", headers=_ALICE).json()["data"]["messages"]
    assert texts(messages) == [_WORDS, f"You said: {_WORDS}"]


def _with_file(file_id, name):
    """Requests that name the file, one for each façade, as (path, body)."""
    part = {"type": "document", "media": {"kind": "file_id", "file_id": file_id}}
    text = {"type": "text", "text": "what is in it?"}
    message = {"role": "user", "content": [text, part]}
    yield "/v1/graph/invoke", {"messages": [message], "config": {"thread_id": f"{name}-native"}}
    yield CHAT, chat({"role": "user", "content": [text, {"type": "file", "file": {"file_id": file_id}}]})
    asked = [{"role": "user", "content": [{"type": "input_file", "file_id": file_id}]}]
    yield RESPONSES, ask(asked)
    source = {"type": "document", "source": {"type": "file", "value": file_id}}
    front = {"id": "m1", "role": "user", "content": [text, source]}
    yield agui.PATH, agui.run_input(front, thread=f"{name}-front")


def test_nobody_uses_the_file_of_another_user(service):
    """A file of Alice is for Bob one that does not exist, on every façade."""
    file_id = uploaded(service, _WORDS.encode(), "words.txt", "text/plain", headers=_ALICE)["file_id"]
    unknown = "0" * len(file_id)
    for (path, body), (_, other) in zip(_with_file(file_id, "bob"), _with_file(unknown, "bob"), strict=True):
        refused = service.post(path, body, headers=_BOB)
        assert 400 <= refused.status < 500, (path, refused.text)
        assert _WORDS not in refused.text
        assert refused.status == service.post(path, other, headers=_BOB).status, path
    for path, body in _with_file(file_id, "alice"):
        assert service.post(path, body, headers=_ALICE).status == 200, path


@pytest.mark.parametrize("path", ["/v1/graph/invoke", CHAT, RESPONSES, agui.PATH])
def test_a_key_leads_nobody_to_the_answer_of_another_user(service, path):
    """The same key and the same words of two users are two runs on two threads."""

    def body_of(name):
        if path == CHAT:
            return chat(_WORDS)
        if path == RESPONSES:
            return ask(_WORDS)
        if path == agui.PATH:
            return agui.run_input(agui.user(_WORDS, "m1"), thread=f"{name}-t", run="r")
        return {"messages": [{"role": "user", "content": _WORDS}]}

    key = ("Idempotency-Key", "same")
    for name, user in (("alice", _ALICE), ("bob", _BOB)):
        reply = service.post(path, body_of(name), headers=[*user, key])
        assert reply.status == 200, reply.text
    owned = [
        {thread["thread_id"] for thread in service.get("/v1/threads", headers=user).json()["data"]["threads"]}
        for user in (_ALICE, _BOB)
    ]
    assert [len(threads) for threads in owned] == [1, 1] and not owned[0] & owned[1], owned
