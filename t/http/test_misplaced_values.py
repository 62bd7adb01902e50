"""Values in the wrong form or in the wrong place: each gives one line that says what is wrong, where, and
what to do."""

import json
import os
import subprocess

import pytest

from harness import environment
from harness.agents import DEMO

_SERVICE = "agent_graph_service test service.json"
_URL = "http://127.0.0.1:9000/orders"
_DATABASE = "postgresql://agent:pass@host/agents"


def _refusal(service):
    printed = service.refusal()
    (line,) = [line for line in printed.splitlines() if "[emerg]" in line]
    return line


def _refusal_of_graph(make_service, *nodes):
    """Returns the line that refuses the agent MAIN with its tools TOOLS."""
    edges = [
        {"from": "START", "to": "MAIN"},
        {"from": "MAIN", "when": [{"tool_calls_pending": True, "to": "TOOLS"}], "otherwise": "END"},
        {"from": "TOOLS", "to": "MAIN"},
    ]
    graph = json.dumps({"app": {"nodes": nodes, "edges": edges}})
    return _refusal(make_service(DEMO | {"agent": "own.json:app"}, files={"own.json": graph}))


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
    ({"media": {"storage_type": "local", "storage_path": "/etc/passwd"}}, "/etc/passwd is a file: name a folder in media.storage_path"),
    ({"media": {"storage_type": "local", "storage_path": "/proc/files"}}, "nginx's workers must be able to write in /proc"),
    ({"port": 8000}, "service.json: port: belongs in nginx.conf: listen"),
    ({"log_level": "debug"}, "service.json: log_level: belongs in nginx.conf: error_log"),
    ({"app": {"nodes": [], "edges": []}}, "app: is a graph, which belongs in a file of its own"),
    (_openai(api_key="$OPENAI_API_KEY"), "models.default.api_key: a variable needs braces: ${OPENAI_API_KEY}"),
    ({"agent": "graphs/support.yaml:app"}, "agent: graphs/support.yaml cannot be read: write the graph in JSON or C++"),
    ({"agent": "graphs/support:app"}, "agent: the file needs its ending: graphs/support.json:app"),
    ({"agent": "graphs/support.json: app"}, "such as graphs/support.so:app, without blanks"),
])  # fmt: skip
def test_in_service_json(make_service, settings, words):
    line = _refusal(make_service(DEMO | settings))
    assert "service.json: " in line and words in line


@pytest.mark.leveldb("settings that need the type postgres")
@pytest.mark.parametrize("settings, words", [
    ({"checkpointer": {"url": _DATABASE}}, "checkpointer.url: is only for the type postgres"),
    ({"media": {"storage_type": "pg"}}, "media.storage_type: \"pg\" is the database of the checkpointer; set checkpointer.type"),
])  # fmt: skip
def test_a_setting_of_postgresql_without_it(make_service, settings, words):
    assert words in _refusal(make_service(DEMO | settings))


@pytest.mark.parametrize("text, words", [
    ('{"agent": "graphs/support.json:app", "auth": None}', "1:46: not valid JSON: JSON has true, false and null"),
    ('{"agent": "graphs\\support.json:app"}', "not valid JSON: a backslash in a text is written twice"),
    ("{\u201cagent\u201d: \u201cgraphs/support.json:app\u201d}", "1:2: not valid JSON: texts need straight double quotes"),
    ("agent: graphs/support.json:app\n", "1:1: not valid JSON: a JSON file begins with {"),
])  # fmt: skip
def test_in_the_text_of_service_json(make_service, text, words):
    service = make_service(DEMO)
    service.write("service.json", text)
    line = _refusal(service)
    assert "service.json:1:" in line and words in line


def _tool(**other):
    return {"tools": [{"name": "get_order", "description": "An order.", "url": _URL} | other]}


@pytest.mark.parametrize("node, words", [
    (_tool(result="order.state"), "app.nodes.1.tools.0.result: must be a JSON pointer, such as /data/items"),
    (_tool(url="${SHOP_URL}/orders"), "environment variable SHOP_URL is not set"),
    (_tool(headers={"Authorization": "Bearer $SHOP_KEY"}), "a variable needs braces: ${SHOP_KEY}"),
    (_tool(headers=["Accept: text/plain"]), "app.nodes.1.tools.0.headers: must be an object"),
    ({"tools": [{"type": "function", "function": {"name": "get_order", "parameters": {}}}]},
     "app.nodes.1.tools.0.function: unknown key; name, description and parameters belong beside the url"),
    ({"mcp_servers": {"files": {"command": "npx"}}}, 'app.nodes.1.mcp_servers: must be an array, such as [{"name": "files"'),
    ({"mcp_servers": [{"name": "files", "command": "npx -y files"}]},
     "app.nodes.1.mcp_servers.0.command: must be a program alone; its arguments belong in args"),
])  # fmt: skip
def test_in_a_tool_node(make_service, node, words):
    nodes = [{"name": "MAIN", "type": "agent", "tool_node": "TOOLS"}, {"name": "TOOLS", "type": "tools"} | node]
    line = _refusal_of_graph(make_service, *nodes)
    assert "own.json: " in line and words in line


def test_a_graph_without_a_name(make_service):
    node = {"name": "MAIN", "type": "agent"}
    edges = [{"from": "START", "to": "MAIN"}, {"from": "MAIN", "to": "END"}]
    graph = json.dumps({"nodes": [node], "edges": edges})
    line = _refusal(make_service(DEMO | {"agent": "own.json:app"}, files={"own.json": graph}))
    assert 'own.json: the graph needs a name: {"app": {...}}' in line


def test_an_agent_without_the_tools_that_its_edge_leads_to(make_service):
    nodes = [{"name": "MAIN", "type": "agent"}, {"name": "TOOLS", "type": "tools", "tools": ["calculator"]}]
    line = _refusal_of_graph(make_service, *nodes)
    assert 'app.edges.1.when.0.to: the node "MAIN" knows no tools: it needs "tool_node": "TOOLS"' in line


@pytest.mark.parametrize("before, after, words", [
    ("state=state/test", "state=~/state", '"state=~/state" begins with "~", which nginx does not expand'),
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
    # Without a user in nginx.conf, the workers run as the user that nginx was built with.
    without_user = [environment.NGINX_BINARY, "-p", f"{service.directory}/", "-c", "conf/nginx.conf", "-t"]
    refused = subprocess.run(without_user, capture_output=True, text=True, timeout=environment.PATIENCE, check=False)
    assert "belongs to root, and other files are in it" in refused.stderr, refused
    assert home.stat().st_uid == 0


@pytest.mark.parametrize("directive", ["agent_graph_docs", "agent_graph_ui"])
def test_a_folder_of_pages_that_is_missing(make_service, directive):
    service = make_service(DEMO, location=f"{directive} /no/pages;")
    accepted, printed = service.test_configuration()
    assert accepted
    assert f'"{directive}": the folder "/no/pages" cannot be read, so its pages will be plain' in printed
