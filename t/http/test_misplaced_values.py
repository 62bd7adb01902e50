"""Values in the wrong form or in the wrong place: each gives one line that says what is wrong, where, and
what to do."""

import json
import os

import pytest

from harness.agents import DEMO

_SERVICE = "agent_graph_service test service.json"
_URL = "http://127.0.0.1:9000/orders"
_DATABASE = "postgresql://agent:pass@host/agents"


def _refusal(service):
    printed = service.refusal()
    (line,) = [line for line in printed.splitlines() if "[emerg]" in line]
    return line


def _openai(**other):
    return {"models": {"default": {"provider": "openai", "model": "m", "api_key": "k"} | other}}


def _postgres(**other):
    return {"checkpointer": {"type": "postgres", "url": _DATABASE} | other}


@pytest.mark.parametrize("settings, words", [
    ({"cors": "*"}, "cors: must be an object with keys such as origins or credentials"),
    ({"checkpointer": True}, "checkpointer: must be an object with keys such as type, url, sync or ttl"),
    ({"checkpointer": {"ttl": "7d"}}, "checkpointer.ttl: must be an integer from 1 to 3153600000, without quotes or a unit (seconds)"),
    ({"rate_limit": {"requests": 9, "window": 0}}, "rate_limit.window: must be an integer from 1 to 604800 (seconds)"),
    ({"models": [{"provider": "demo"}]}, 'models: must be an object, such as {"default": {"provider": "demo"}}'),
    (_openai(provider="ollama"), "another server with OpenAI's API, such as Ollama, is \"openai\" with its base_url"),
    (_openai(api_key="'sk-1'"), "models.default.api_key: must not begin with a quotation mark of its own"),
    (_postgres(url="localhost:5432"), "checkpointer.url: must start with postgresql:// or postgres://, such as postgresql://user:"),
    (_postgres(url="postgresql://agent:p@ss@host/agents"), "the password and the database written as %40 %2F"),
    (_postgres(url="postgresql://agent:pass@host:54320000/agents"), "checkpointer.url: must have a port from 1 to 65535"),
    (_postgres(sync="none"), 'checkpointer.sync: "none" is not for the type postgres'),
    ({"checkpointer": {"url": _DATABASE}}, "checkpointer.url: is only for the type postgres"),
    ({"media": {"storage_type": "pg"}}, "media.storage_type: \"pg\" is the database of the checkpointer; set checkpointer.type"),
    ({"media": {"storage_type": "local", "storage_path": "/etc/passwd"}}, "/etc/passwd is a file: name a folder in media.storage_path"),
    ({"media": {"storage_type": "local", "storage_path": "/proc/files"}}, "nginx's workers must be able to write in /proc"),
])  # fmt: skip
def test_in_service_json(make_service, settings, words):
    line = _refusal(make_service(DEMO | settings))
    assert "service.json: " in line and words in line


def _tool(**other):
    return {"tools": [{"name": "get_order", "description": "An order.", "url": _URL} | other]}


@pytest.mark.parametrize("node, words", [
    (_tool(result="order.state"), "app.nodes.1.tools.0.result: must be a JSON pointer, such as /data/items"),
    (_tool(url="${SHOP_URL}/orders"), "environment variable SHOP_URL is not set"),
    (_tool(headers=["Accept: text/plain"]), "app.nodes.1.tools.0.headers: must be an object"),
    ({"tools": [{"type": "function", "function": {"name": "get_order", "parameters": {}}}]},
     "app.nodes.1.tools.0.function: unknown key; name, description and parameters belong beside the url"),
    ({"mcp_servers": {"files": {"command": "npx"}}}, 'app.nodes.1.mcp_servers: must be an array, such as [{"name": "files"'),
    ({"mcp_servers": [{"name": "files", "command": "npx -y files"}]},
     "app.nodes.1.mcp_servers.0.command: must be a program alone; its arguments belong in args"),
])  # fmt: skip
def test_in_a_tool_node(make_service, node, words):
    nodes = [{"name": "MAIN", "type": "agent", "tool_node": "TOOLS"}, {"name": "TOOLS", "type": "tools"} | node]
    edges = [
        {"from": "START", "to": "MAIN"},
        {"from": "MAIN", "when": [{"tool_calls_pending": True, "to": "TOOLS"}], "otherwise": "END"},
        {"from": "TOOLS", "to": "MAIN"},
    ]
    graph = json.dumps({"app": {"nodes": nodes, "edges": edges}})
    line = _refusal(make_service(DEMO | {"agent": "own.json:app"}, files={"own.json": graph}))
    assert "own.json: " in line and words in line


@pytest.mark.parametrize("before, after, words", [
    (_SERVICE, f"{_SERVICE}; {_SERVICE}", 'service "test" is there twice: give each its own name in '),
    ("state=state/test", "state=conf", "other files are in it: name a folder that only this service uses"),
    ("state=state/test", "state=state/test state=other", '"state=other" is there twice'),
    ("agent_graph test;", "agent_graph test; agent_graph_run_timeout 0;", '"0" must be above 0'),
])  # fmt: skip
def test_in_nginx_conf(make_service, before, after, words):
    service = make_service(DEMO)
    (service.directory / "conf").chmod(0o755)
    service.configure(service.configuration.replace(before, after, 1))
    assert words in _refusal(service)


@pytest.mark.skipif(os.geteuid() != 0, reason="nginx of root gives its state folder to its workers")
def test_a_private_folder_of_root_is_not_given_to_the_workers(make_service):
    service = make_service(DEMO)
    home = service.directory / "home"
    home.mkdir(mode=0o700)
    (home / "key").write_text("secret")
    service.configure(service.configuration.replace("state=state/test", "state=home", 1))
    assert "belongs to root, and other files are in it" in _refusal(service)
    assert home.stat().st_uid == 0


@pytest.mark.parametrize("directive", ["agent_graph_docs", "agent_graph_ui"])
def test_a_folder_of_pages_that_is_missing(make_service, directive):
    service = make_service(DEMO, location=f"{directive} /no/pages;")
    accepted, printed = service.test_configuration()
    assert accepted
    assert f'"{directive}": the folder "/no/pages" cannot be read, so its pages will be plain' in printed
