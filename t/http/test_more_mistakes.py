"""More usual mistakes, of people who come from other programs or read a provider's page: each gives one
line that says what is wrong, where, and what to do."""

import json
import re

import pytest

from harness.agents import DEMO
from harness.command import command
from harness.http_service import HttpService

pytestmark = pytest.mark.one_host("the configuration of one nginx is checked")


def _model(**other):
    return DEMO | {"models": {"default": {"provider": "openai", "model": "m", "api_key": "k"} | other}}


def _embedding(**other):
    return DEMO | {"embedding": {"provider": "openai", "model": "m", "api_key": "k"} | other}


def _line(service):
    printed = service.refusal()
    (line,) = [line for line in printed.splitlines() if "[emerg]" in line]
    return line


@pytest.mark.parametrize("settings, words", [
    # Addresses that the pages of providers show.
    (_model(base_url="https://api.openai.com"),
     "models.default.base_url: must be https://api.openai.com/v1, or may be left out"),
    (_model(provider="anthropic", base_url="https://api.anthropic.com/"),
     "models.default.base_url: must be https://api.anthropic.com/v1, or may be left out"),
    (_model(provider="gemini", base_url="https://generativelanguage.googleapis.com"),
     "models.default.base_url: must be https://generativelanguage.googleapis.com/v1beta, or may be left out"),
    (_model(base_url="http://127.0.0.1:8080/v1/responses"),
     "models.default.base_url: must end before /responses, because the service adds the rest"),
    (_model(base_url="http://127.0.0.1:8080/v1/completions"), "base_url: must end before /completions, because"),
    (_embedding(base_url="https://api.openai.com/v1/embeddings"),
     "embedding.base_url: must end before /embeddings, because the service adds the rest"),
    (_embedding(base_url="https://api.openai.com"), "embedding.base_url: must be https://api.openai.com/v1, or may be left"),
    # Names that are nearly right.
    (_model(provider="OpenAI"), '"OpenAI" is not one of demo, openai, anthropic, gemini; did you mean openai?'),
    (DEMO | {"checkpointer": "postgresql"}, "is not one of leveldb, memory, postgres, none; did you mean postgres?"),
    (_model(max_retries=3), "models.default.max_retries: unknown key; did you mean retries_max?"),
    (DEMO | {"agent": "graphs/support.json:app:main"}, "agent: must be <module>:<attribute>, such as graphs/support.so:app"),
    # Keys that belong in the graph.
    (DEMO | {"system_prompt": "Be brief."},
     'system_prompt: belongs in the graph, which is the file that "agent" names'),
    (DEMO | {"tools": ["calculator"]}, 'tools: belongs in the graph, which is the file that "agent" names'),
    (DEMO | {"mcpServers": {}}, 'mcpServers: belongs in the graph, which is the file that "agent" names'),
])  # fmt: skip
def test_in_service_json(make_service, settings, words):
    line = _line(make_service(settings))
    assert "service.json: " in line and words in line


_MAIN = {"name": "MAIN", "type": "agent"}
_TOOLS = {"name": "TOOLS", "type": "tools", "tools": ["calculator"]}
_IN, _OUT = {"from": "START", "to": "MAIN"}, {"from": "MAIN", "to": "END"}


@pytest.mark.parametrize("nodes, edges, words", [
    ([_MAIN, _TOOLS], [_IN, {"from": "MAIN", "to": "TOOLS"}, {"from": "TOOLS", "to": "END"}],
     'app.edges.1.to: the node "MAIN" knows no tools: it needs "tool_node": "TOOLS"'),
    ([_MAIN], [["START", "MAIN"], ["MAIN", "END"]],
     'app.edges.0: must be an object, such as {"from": "START", "to": "MAIN"}'),
    ([_MAIN | {"temperature": 0.2}], [_IN, _OUT],
     'app.nodes.0.temperature: unknown key; it belongs in parameters: {"temperature": …}'),
    ([_MAIN | {"tool_node": "TOOLS"}, _TOOLS], [_IN, _OUT], 'node "TOOLS" cannot be reached: no edges lead to it from START'),
])  # fmt: skip
def test_in_a_graph(make_service, nodes, edges, words):
    graph = json.dumps({"app": {"nodes": nodes, "edges": edges}})
    assert words in _line(make_service(DEMO | {"agent": "own.json:app"}, files={"own.json": graph}))


def test_a_graph_with_the_keys_of_another_library(make_service):
    graph = json.dumps({"app": {"nodes": [_MAIN], "edges": [_OUT], "entry_point": "MAIN"}})
    line = _line(make_service(DEMO | {"agent": "own.json:app"}, files={"own.json": graph}))
    assert "app.entry_point: unknown key; the edge from START leads to the first node" in line


def test_an_agent_may_always_go_on_to_its_own_tools(make_service):
    edges = [_IN, {"from": "MAIN", "to": "TOOLS"}, {"from": "TOOLS", "to": "END"}]
    graph = json.dumps({"app": {"nodes": [_MAIN | {"tool_node": "TOOLS"}, _TOOLS], "edges": edges}})
    service = make_service(DEMO | {"agent": "own.json:app"}, files={"own.json": graph})
    accepted, printed = service.test_configuration()
    assert accepted, printed


def _told(*arguments, code):
    """The only line that `agent-graph` prints."""
    printed = command(*arguments, code=code)
    assert printed.count("\n") == 1, printed
    return printed


def test_commands(directory):
    empty = directory / "empty"
    empty.mkdir()
    assert "service.json: does not exist; `agent-graph init DIRECTORY` makes" in _told("check", empty, code=1)
    folder = directory / "agent"
    command("init", folder)
    assert f"service.json: is a file; name its folder, {folder}" in _told("run", folder / "service.json", code=1)
    assert 'there is no command "chekc"; did you mean check? `agent-graph --help`' in _told("chekc", folder, code=2)
    graph = json.loads((folder / "agent.json").read_text())["app"]
    (folder / "bare.json").write_text(json.dumps(graph))
    assert 'the graph needs a name: {"app": {...}}' in _told("check", folder / "bare.json", code=1)
    for agent, words in ({}, "agent: is missing; it names the graph"), ({"agent": ["a"]}, "agent: must be a string"):
        (folder / "service.json").write_text(json.dumps({"models": {}} | agent))
        assert words in _told("check", folder, code=1)


@pytest.mark.parametrize("path, advice", [
    ("", "check model and base_url, which may lack a path like /v1)"),
    ("/v2", "check model and base_url)"),
])  # fmt: skip
def test_a_base_url_without_v1(start_service, path, advice):
    """Some servers with OpenAI's API have no /v1, so only an answer shows that it is missing."""
    provider = HttpService(lambda *_: (404, "text/plain", "404 page not found"))
    service = start_service(_model(base_url=provider.url + path, retries_max=0))
    service.error_log.allow(r"\[error\]")
    assert service.invoke("hello").status == 500
    provider.close()
    service.wait_for_log(re.escape(advice))
