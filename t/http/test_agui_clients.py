"""Published clients of AG-UI, unmodified and with their verifier on, against the service; and a validator of
the protocol over all kinds of streams."""

import json
import subprocess

import pytest

from harness import environment
from harness.agents import behaviour
from harness.agui import PATH, answer_to, events, of_type, run_input, tool, user
from harness.clients import INSTALLED, run_client
from harness.tokens import JWT_ENVIRONMENT, token
from harness.tool_graph import asks, tool_graph

_FIXTURES = [
    *asks("weather", ("get_weather", {"city": "Oslo"})),
    *asks("sum", ("calculator", {"expression": "6*7"}), id_prefix="sum"),
    {"match": {"userMessage": "think"}, "response": {"content": "deep", "reasoning": "hm, so"}},
    {"match": {"userMessage": "plain"}, "response": {"content": "fine words"}},
    {"match": {"userMessage": "fail"}, "response": {"error": {"message": "broken", "type": "server_error"},
                                                     "status": 400}},
]
_VERSIONS = ("current", "earlier")
_GUARDED = {"auth": "jwt", "env": "secrets.env", "authorization": "ownership"}


@pytest.fixture
def serve(make_service, start_mock_provider):
    def start(**settings):
        mock = start_mock_provider(_FIXTURES, chunk_size=4)
        model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
        service = make_service(
            {"agent": "graph.json:app", "models": {"default": model}} | settings,
            files={"graph.json": json.dumps(tool_graph(tools=["calculator"])), "secrets.env": JWT_ENVIRONMENT},
        ).start()
        service.error_log.allow(r"graph stream|broken|POST /agui")
        return service

    return start


def _run(service, *scenarios, key="unused"):
    return run_client("agui_client.mjs", *scenarios, base_url=f"http://127.0.0.1:{service.port}", key=key)


def test_chat_tools_and_errors(serve):
    service = serve(**_GUARDED)
    scenarios = ("chat", "streaming", "reasoning", "tools", "server_tools", "errors")
    found = _run(service, *scenarios, key=token("alice"))
    for version in _VERSIONS:
        assert found[f"{version} chat"] == [["fine words"] * 2, ["user", "assistant"] * 2]
        assert found[f"{version} streaming"] == [True, "fine words", "RUN_STARTED", "RUN_FINISHED"]
        assert found[f"{version} reasoning"] == [["reasoning", "hm, so"], ["assistant", "deep"]]
        assert found[f"{version} tools"] == [
            "get_weather", {"city": "Oslo"}, "done", None, ["user", "assistant", "tool", "assistant"]]
        assert found[f"{version} server_tools"] == ["user", "assistant", "tool", "assistant"]
        failed, last, refused = found[f"{version} errors"]
        assert failed and last == "RUN_ERROR" and refused


def test_interrupts(start_service):
    service = start_service({"agent": "graphs/approval.json:app", "models": {"default": {"provider": "demo"}}})
    found = _run(service, "interrupt")
    for version in _VERSIONS:
        outcome, reason, refused, thrown, roles, calculated = found[f"{version} interrupt"]
        assert (outcome, reason, refused, thrown) == ("interrupt", "confirmation", True, None)
        assert roles[:2] == ["user", "assistant"] and "tool" in roles and calculated


def test_state(start_service):
    graph = {"app": {
        "nodes": [{"name": "A", "type": "reply", "text": "a",
                   "set": {"count": 1, "plan": {"done": ["a long text that is not repeated"]}}},
                  {"name": "B", "type": "reply", "text": "b", "set": {"count": 1}}],
        "edges": [{"from": "START", "to": "A"}, {"from": "A", "to": "B"}],
        "fields": {"count": {"reducer": "sum"}, "plan": {"reducer": "merge"}}}}
    service = start_service({"agent": "g.json:app"}, files={"g.json": json.dumps(graph)})
    found = _run(service, "state")
    for version in _VERSIONS:
        state, has_snapshot, has_delta = found[f"{version} state"]
        assert state == {"title": "May", "count": 4, "plan": {"done": ["a long text that is not repeated"]}}
        assert has_snapshot and has_delta


def test_leaving_and_joining(make_service, gated_provider):
    model = {"provider": "openai", "model": "m", "base_url": gated_provider.base_url}
    service = make_service({"agent": "graphs/support.json:app", "models": {"default": model}}, workers=2).start()
    found = _run(service, "abort", "cut")
    assert found["current abort"] and found["earlier abort"]
    gated_provider.open_gate()
    for version in _VERSIONS:
        thread, question, _ = found[f"{version} cut"]
        joined = _run(service, f"join={thread} {question}")
        for joiner in _VERSIONS:
            thrown, messages, last = joined[f"{joiner} join"]
            assert thrown is None and last == "RUN_FINISHED"
            assert messages == [["user", "gated"], ["assistant", gated_provider.text]]


def test_a_thread_of_another_facade_is_read(serve):
    service = serve()
    body = {"model": "app", "messages": [{"role": "user", "content": "plain"}], "metadata": {"thread_id": "t"}}
    assert service.post("/openai/v1/chat/completions", body).status == 200
    found = _run(service, "read=t")
    for version in _VERSIONS:
        assert found[f"{version} read"] == [["user", "plain"], ["assistant", "fine words"]]


# The validator and the types of the protocol's Python package


def _validate(reply):
    found = events(reply)
    script = """
import sys, json
from pydantic import TypeAdapter
from ag_ui.core import Event
adapter = TypeAdapter(Event)
for line in sys.stdin.read().split("\\n\\n"):
    if line.startswith("data: "): adapter.validate_json(line.removeprefix("data: "))
"""
    variables = {"PYTHONPATH": str(INSTALLED / "python"), "PATH": "/usr/bin:/bin"}
    for command in (["-m", "ag_ui_validate.cli", "-"], ["-c", script]):
        done = subprocess.run(
            ["/usr/bin/python3", *command], input=reply.text, env=variables, capture_output=True, text=True,
            timeout=environment.PATIENCE,
        )
        assert done.returncode == 0, f"{command[0]}:\n{done.stdout}\n{done.stderr}\n{reply.text}"
    return found


def test_a_validator_accepts_every_kind_of_run(serve, start_service):
    service = serve()
    for question, fields in (("plain", {}), ("think", {}), ("sum", {}), ("fail", {}),
                             ("weather", {"tools": [tool("get_weather", city={"type": "string"})]})):
        for on_disconnect in ("cancel", "continue"):
            props = {"config": {"on_disconnect": on_disconnect}}
            thread = f"{question}-{on_disconnect}"
            body = run_input(question, thread=thread, forwardedProps=props, state={"title": "May"}, **fields)
            _validate(service.post(PATH, body))
            _validate(service.post(PATH, run_input(thread=thread)))
    paused = start_service(behaviour("asking"))
    question = user("pay")
    found = _validate(paused.post(PATH, run_input(question)))
    (interrupt,) = of_type(found, "RUN_FINISHED")[0]["outcome"]["interrupts"]
    _validate(paused.post(PATH, run_input(question, "x")))
    _validate(paused.post(PATH, run_input(question, resume=[answer_to(interrupt, "yes")])))
