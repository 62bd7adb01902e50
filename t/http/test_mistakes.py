"""Usual mistakes of people who set up a service: each gives one line that says what is wrong, where, and
what to do."""

import json
import pathlib
import re
import socket
import struct
import subprocess

import pytest

from harness import environment
from harness.agents import DEMO
from harness.command import command
from harness.http_service import HttpService
from harness.ports import free_port

pytestmark = pytest.mark.one_host("the configuration of one nginx is checked")

_SERVICE = "agent_graph_service test service.json"


def _openai(**other):
    return DEMO | {"models": {"default": {"provider": "openai", "model": "m"} | other}}


def _graph(*tools, **agent):
    """A graph with a tool node, as text."""
    nodes = [
        {"name": "MAIN", "type": "agent", "tool_node": "TOOLS"} | agent,
        {"name": "TOOLS", "type": "tools", "tools": list(tools)},
    ]
    edges = [
        {"from": "START", "to": "MAIN"},
        {"from": "MAIN", "when": [{"tool_calls_pending": True, "to": "TOOLS"}], "otherwise": "END"},
        {"from": "TOOLS", "to": "MAIN"},
    ]
    return json.dumps({"app": {"nodes": nodes, "edges": edges}})


def _order(url):
    parameters = {"type": "object", "properties": {"number": {"type": "string"}}}
    return {"name": "get_order", "description": "d", "url": url, "parameters": parameters}


def _line(printed):
    """The only line about an error."""
    lines = [line for line in printed.splitlines() if "[emerg]" in line]
    assert len(lines) == 1, printed
    return lines[0]


@pytest.mark.parametrize("settings, words", [
    ('{\n  "agent": "graphs/support.json:app",\n}', ["service.json:3:1: not valid JSON: the comma before it must go"]),
    ('{\n  "agent": "graphs/support.json:app"\n  "store": "none"\n}',
     ["service.json:3:3: not valid JSON: a comma is missing before it"]),
    ('{\n  // my agent\n  "agent": "graphs/support.json:app"\n}',
     ["service.json:2:3: not valid JSON: JSON has no comments"]),
    ("{'agent': 'graphs/support.json:app'}", ["service.json:1:2: not valid JSON: texts need double quotes"]),
    (DEMO | {"modles": {}}, ["service.json: modles: unknown key; did you mean models?"]),
    (_openai(base_ulr="http://x"), ["models.default.base_ulr: unknown key; did you mean base_url?"]),
    (_openai(), ["models.default: needs an api_key, or OPENAI_API_KEY in the environment"]),
    (_openai(api_key="${OPENAI_KEY}"), ["models.default.api_key: environment variable OPENAI_KEY is not set"]),
    (_openai(provider="opnai"), ['models.default.provider: "opnai" is not one of demo, openai']),
    (_openai(base_url="api.openai.com/v1"), ["models.default.base_url: must start with http:// or https://"]),
    (_openai(base_url="https://api.openai.com/v1/chat/completions", api_key="k"),
     ["models.default.base_url: must end before /chat/completions, because the service adds the rest"]),
    (DEMO | {"agent": "graphs/support.json"}, ["agent: must be <module>:<attribute>, such as"]),
    (DEMO | {"agent": "graphs/support.json:main"}, ['there is no graph "main"; the document has: app']),
    (DEMO | {"agent": "graphs/mine.cc:app"}, ["agent: graphs/mine.cc is source code: compile it, and name the .so"]),
    (DEMO | {"agent": "graphs/mine.so:app"}, ["graphs/mine.so: cannot be opened", "(compile it first)"]),
    (DEMO | {"agent": f"{environment.BUILD}/t/graphs/unresolved.so:app"},
     ["unresolved.so: cannot be loaded: undefined symbol", "compile it again"]),
    (DEMO | {"agent": "role.json:app"},
     ['role.json: app: node "MAIN" asks the model "large"', "`models` of service.json has default, demo"]),
    (DEMO | {"agent": "tool.json:app"},
     ['app.nodes.1.tools.0: there is no tool "calculater"; valid names: calculator']),
    (DEMO | {"agent": "scheme.json:app"}, ['tool "get_order": url: must begin with http:// or https://']),
    (DEMO | {"agent": "argument.json:app"},
     ["app.nodes.1.tools.0.url: the argument {id} is not among the parameters' properties"]),
    (DEMO | {"env": "mode.env"}, ['MODE: "prod" is not one of production, development']),
    (DEMO | {"env": "secrets.env"}, ["env: cannot read", "secrets.env: No such file or directory"]),
    (DEMO | {"auth": "jwt"}, ['auth: "jwt" needs JWT_SECRET_KEY in the environment']),
    (DEMO | {"auth": {"method": "jwt", "secret": "x"}},
     ['auth: "secret" is not written here: the environment, or the file that "env" names, has JWT_SECRET_KEY']),
    (_openai(provider="claude"), ["models.default.provider:", "did you mean anthropic?"]),
    (DEMO | {"auth": "jwt", "env": "jwt.env"}, ["auth: JWT_ALGORITHM is not one of HS256"]),
    (DEMO | {"cors": {"origins": ["https://app.example.com/"]}}, ["cors.origins: each origin is", "without a path"]),
    (_openai(api_key="k", first_byte_timeout_ms="10s"),
     ["models.default.first_byte_timeout_ms: must be an integer from 1 to"]),
])  # fmt: skip
def test_in_service_json(make_service, settings, words):
    service = make_service(settings, files={
        "mode.env": "MODE=prod\n",
        "jwt.env": f"JWT_ALGORITHM=HS265\nJWT_SECRET_KEY={'x' * 32}\n",
        "role.json": _graph(model="large"),
        "tool.json": _graph("calculater"),
        "scheme.json": _graph(_order("127.0.0.1:9000/orders/{number}")),
        "argument.json": _graph(_order("http://127.0.0.1:9000/orders/{id}")),
    })  # fmt: skip
    line = _line(service.refusal())
    assert "service.json" in line
    for word in words:
        assert word in line


_SUBGRAPH = {"name": "SUB", "type": "graph"}
_HALF = {"nodes": [{"name": "MAIN", "type": "agent"}], "edges": [{"from": "START", "to": "MAIN"}]}


@pytest.mark.parametrize("settings, words", [
    ('{"agent": "a.json:app",\n "agent": "graphs/support.json:app"}', ["service.json:2:2: agent: is there twice"]),
    ({"agent": "graphs/support.json:app", "model": {"provider": "demo"}}, ["model: unknown key; did you mean models?"]),
    (DEMO | {"rate_limit": {"requests": "100", "window": 60}}, ["rate_limit.requests: must be an integer from 1 to"]),
    (DEMO | {"env": "keys.yaml"}, ["keys.yaml: line 1 is not KEY=VALUE"]),
    (DEMO | {"agent": "circle.json:app"}, ['app.nodes.1.graph: graph "app" would be a part of itself']),
    (DEMO | {"agent": "text.so:app"}, ["text.so: is not a shared object"]),
    (DEMO | {"agent": "conf/graphs/support.json:app"}, ["conf/conf/graphs/support.json: cannot be opened: No such file"]),
])  # fmt: skip
def test_more_in_service_json(make_service, settings, words):
    circle = {"nodes": [*_HALF["nodes"], _SUBGRAPH | {"graph": "app"}], "edges": _HALF["edges"]}
    service = make_service(settings, files={
        "keys.yaml": "OPENAI_API_KEY: sk-1\n",
        "circle.json": json.dumps({"app": circle}),
        "text.so": "not a program",
    })  # fmt: skip
    line = _line(service.refusal())
    for word in words:
        assert word in line


@pytest.mark.parametrize("settings, words", [
    ({"models": DEMO["models"]}, ["agent: is missing; it names the graph as <module>:<attribute>"]),
    (DEMO | {"models": {"default": "gpt-4o"}}, ["models.default: must be an object, such as", '"provider": "openai"']),
    (DEMO | {"models": {"default": {"model": "gpt-4o"}}}, ["models.default: needs a provider: demo, openai"]),
    (_openai(api_key="k", temperature=0.2), ["models.default.temperature: unknown key; it belongs in parameters"]),
    (_openai(api_key="<your key>"), ["models.default.api_key: must not contain blanks or control characters"]),
    (DEMO | {"models": {"default": {"provider": "openai", "api_key": "k"}}}, ['needs the name of a model in "model"']),
    (DEMO | {"agent": "graphs/support.py:app"}, ["graphs/support.py is Python", "write the graph in JSON or C++"]),
    (DEMO | {"agent": "${GRAPH}"}, ["agent: environment variable GRAPH is not set"]),
    (DEMO | {"agent": "${GRAPH"}, ['agent: "${" without "}"']),
    (DEMO | {"agent": "program.so:app"}, ["program.so: cannot be loaded", "(link it with -shared)"]),
    (DEMO | {"checkpointer": {"type": "redis"}}, ['checkpointer.type: "redis" is not one of leveldb, memory, postgres, none']),
    (DEMO | {"media": {"storage_type": "s3"}}, ['media.storage_type: "s3" is not one of memory, local, pg, cloud']),
    (DEMO | {"auth": "apikey"}, ['auth: must be null, "jwt", "nginx" or {"method": "custom"']),
    (DEMO | {"auth": {"method": "custom", "path": "auth/keys.so:Keys"}}, ["auth.path: ", "auth/keys.so: cannot be opened"]),
    (DEMO | {"rate_limit": {"requests": 9, "window": 60, "backend": "redis"}}, ["redis backend needs a URL"]),
    (DEMO | {"redis": "localhost:6379"}, ["redis: must start with redis:// or unix://"]),
    (DEMO | {"cors": {"origins": ["*"], "credentials": True}}, ['cors: credentials need a list of origins, not "*"']),
    (DEMO | {"limits": {"json_bytes_max": "10m"}}, ["limits.json_bytes_max: must be an integer from 1024 to"]),
    (DEMO | {"facades": {"openapi": {}}}, ["facades.openapi: unknown key; did you mean openai?"]),
    (DEMO | {"env": "graphs"}, ["env: cannot read", "conf/graphs: it is a folder"]),
    (b"", ["service.json:1:1: not valid JSON: it ends too early"]),
    (json.dumps(DEMO).encode("utf-16"), ["not valid JSON: the file is UTF-16, save it as UTF-8"]),
    (b'{"agent": "\xe4"}', ["service.json:1:", "not valid JSON: this byte is not UTF-8: save the file as UTF-8"]),
])  # fmt: skip
def test_still_more_in_service_json(make_service, settings, words):
    service = make_service(DEMO, files={"program.so": pathlib.Path("/bin/true").read_bytes()})
    (service.directory / "conf" / "service.json").write_bytes(
        settings if isinstance(settings, bytes) else json.dumps(settings).encode()
    )
    line = _line(service.refusal())
    assert "service.json" in line
    for word in words:
        assert word in line


_MAIN = {"name": "MAIN", "type": "agent"}
_IN, _OUT = {"from": "START", "to": "MAIN"}, {"from": "MAIN", "to": "END"}
_TOOLS = {"name": "TOOLS", "type": "tools", "tools": ["calculator"]}
_TO_TOOLS = {"from": "MAIN", "when": [{"tool_calls_pending": True, "to": "TOOLS"}], "otherwise": "END"}


@pytest.mark.parametrize("nodes, edges, words", [
    ([_MAIN], [{"from": "START", "to": "MIAN"}, _OUT], 'app.edges.0.to: there is no node "MIAN"'),
    ([_MAIN], [{"from": "start", "to": "MAIN"}], 'app.edges.0.from: there is no node "start"; START and END are written in capitals'),
    ([_MAIN], [_IN, {"from": "MAIN", "to": "end"}], 'app.edges.1.to: there is no node "end"; START and END are written'),
    ([_MAIN], [_OUT], "app: no edge leaves START"),
    ([_MAIN, _MAIN], [_IN, _OUT], 'app.nodes.1.name: there is another node "MAIN"'),
    ([_MAIN | {"type": "agents"}], [_IN, _OUT], "app.nodes.0.type: must be one of agent, tools"),
    ([{"name": "MAIN"}], [_IN, _OUT], "app.nodes.0.type: is required"),
    ([_MAIN | {"prompt": "Hi"}], [_IN, _OUT], "app.nodes.0.prompt: unknown key; did you mean system_prompt?"),
    ([_MAIN | {"tools": ["calculator"]}], [_IN, _OUT],
     "app.nodes.0.tools: list the tools in a node of type tools, and name that node in tool_node"),
    ([_MAIN, _TOOLS], [_IN, _TO_TOOLS, {"from": "TOOLS", "to": "MAIN"}],
     'app.edges.1.when.0.to: the node "MAIN" knows no tools: it needs "tool_node": "TOOLS"'),
    ([_MAIN, _TOOLS | {"mcpServers": []}], [_IN, _OUT], "app.nodes.1.mcpServers: unknown key; did you mean mcp_servers?"),
    ([_MAIN | {"tool_node": "MAIN"}], [_IN, _OUT], 'app.nodes.0.tool_node: "MAIN" is not a node of type tools'),
    ({"MAIN": {"type": "agent"}}, [_IN, _OUT], "app.nodes: must be an array"),
    ([_MAIN], [{"source": "START", "target": "MAIN"}], "app.edges.0.from: is required"),
    ([_MAIN], [_IN, _OUT, {"from": "MAIN", "to": "MAIN"}], 'two edges leave "MAIN": use one conditional edge'),
    ([_MAIN], [_IN, {"from": "MAIN", "when": [{"tool_calls_pending": True, "to": "END"}]}],
     "app.edges.1.otherwise: is required"),
])  # fmt: skip
def test_in_a_graph(make_service, nodes, edges, words):
    graph = json.dumps({"app": {"nodes": nodes, "edges": edges}})
    service = make_service(DEMO | {"agent": "own.json:app"}, files={"own.json": graph})
    line = _line(service.refusal())
    assert f"own.json: {words}" in line or f"own.json: app: {words}" in line


@pytest.mark.parametrize("content", [
    b"\xef\xbb\xbf" + json.dumps(DEMO).encode(),
    json.dumps(DEMO, indent="\t").replace("\n", "\r\n").encode(),
], ids=["byte order mark", "tabs and CRLF"])  # fmt: skip
def test_files_of_windows_are_accepted(make_service, content):
    settings = content.replace(b"{", b'{"env": "keys.env",', 1)
    service = make_service(DEMO, files={"service.json": settings, "keys.env": b"MODE=development\r\n"})
    accepted, printed = service.test_configuration()
    assert accepted, printed


@pytest.mark.parametrize("before, after, words", [
    (_SERVICE, "agent_graph_service test servise.json",
     ["conf/servise.json: No such file or directory; the path starts at the folder of nginx.conf", "nginx.conf:"]),
    ("agent_graph test;", "agent_graph tset;", ['unknown service "tset", declare it before with "agent_graph_service"']),
    (_SERVICE, "agent_graph_service other service.json state=state/test; " + _SERVICE,
     ['agent_graph_service "test": has the state directory', 'of service "other"; give each its own with state=']),
    ("state=state/test", "state=/proc/a/b", ["state directory /proc/a/b cannot be created in /proc/a: No such file"]),
    ("state=state/test", "state=conf/service.json", ["state directory", "is not a directory"]),
    ("location / {", "location ~ ^/a {", ['which is no plain prefix, needs "agent_graph_base_path"']),
    (_SERVICE, "agent_graph_service service.json test",
     ['agent_graph_service "service.json"', "conf/test: No such file or directory"]),
    ("state=state/test", "stat=state/test", ['"stat=state/test" is not one of threads=, queue=, zone=, state=']),
    ("agent_graph test;", "agent_graph test; agent_graph_run_timeout ten;", ['"ten" is not a time such as 500ms, 30s']),
    ("agent_graph test;", "agent_graph test; agent_graph_user $remote_user;", ['write "auth": "nginx" in', "nginx.conf:"]),
])  # fmt: skip
def test_in_nginx_conf(make_service, before, after, words):
    _refused_for(make_service, before, after, words)


@pytest.mark.parametrize("before, after, words", [
    ("agent_graph test;", "agent_graph test; proxy_pass http://127.0.0.1:1;",
     ['"agent_graph" and another directive of location "/", such as "proxy_pass"', "remove one of them"]),
    ("agent_graph test;", "proxy_pass http://127.0.0.1:1; agent_graph test;",
     ['"agent_graph" and another directive of location "/", such as "proxy_pass"', "remove one of them"]),
    ("agent_graph test;", "agent_graph test; agent_graph_docs on;", ['"on" is neither a folder nor "off"']),
    ("agent_graph test;", "agent_graph test; agent_graph_base_path a;", ['"a" does not begin with "/"']),
    ("agent_graph test;", "agent_graph test; agent_graph_buffers 64k 256k;", ["the first above the second"]),
    ("agent_graph test;", "agent_graph test; agent_graph_user admin;", ['"admin" has no variable, so all callers']),
    ("agent_graph test;", "agent_graph test; agent_graph_on_abort stop;", ['"stop" is not one of cancel, continue']),
    ("agent_graph test;", "agent_graph test; agent_graph_json_max_size 1gb;", ['"1gb" is not a size such as 64k or 10m']),
    ("state=state/test", "state=state/test threads=many", ['"threads=many" is not threads=auto or threads= with 1 to']),
    ("state=state/test", "state=state/test zone=small", ['"zone=small" is not zone=name:size']),
    ("state=state/test", "state=state/$host", ['contains "$": variables are not possible here']),
])  # fmt: skip
def test_more_in_nginx_conf(make_service, before, after, words):
    _refused_for(make_service, before, after, words)


def test_two_names_of_a_state_folder(make_service):
    service = make_service(DEMO)
    (service.directory / "state" / "test").mkdir(parents=True, mode=0o700)
    (service.directory / "state" / "link").symlink_to("test")
    other = "agent_graph_service other service.json state=state/link; "
    service.configure(service.configuration.replace(_SERVICE, other + _SERVICE, 1))
    assert 'is that of service "other"; give each its own with state=' in _line(service.refusal())


def test_a_service_that_no_location_serves(make_service):
    service = make_service(DEMO)
    service.configure(service.configuration.replace("agent_graph test;", "return 204;", 1))
    accepted, printed = service.test_configuration()
    assert accepted and 'agent_graph_service "test" is served nowhere: write "agent_graph test;" in a' in printed


def _refused_for(make_service, before, after, words):
    service = make_service(DEMO)
    assert before in service.configuration
    service.configure(service.configuration.replace(before, after, 1))
    line = _line(service.refusal())
    for word in words:
        assert word in line


def test_a_state_folder_that_others_may_read(make_service):
    service = make_service(DEMO)
    (service.directory / "state" / "test").mkdir(parents=True)
    (service.directory / "state" / "test").chmod(0o755)
    assert "is open to group or others (chmod 700)" in _line(service.refusal())


@pytest.mark.parametrize("settings, variables, warning", [
    (DEMO | {"auth": "jwt"}, {"JWT_SECRET_KEY": "secret", "JWT_ALGORITHM": "HS256"},
     "JWT_SECRET_KEY: is shorter than the 32 bytes that HS256 needs to be safe"),
    (DEMO | {"authorization": "ownership"}, {},
     'authorization: without auth all callers are the same user, so "ownership" keeps nobody apart; set auth'),
    (DEMO | {"authorization": {"backend": "rbac", "roles": {"clerk": ["graph:read"]}}}, {},
     "authorization: without auth every request is allowed and this is not used; set auth"),
    (DEMO | {"authorization": f"{environment.BUILD}/t/graphs/auth_backends.so:ByUser"}, {},
     "authorization: without auth every request is allowed and this is not used; set auth"),
])  # fmt: skip
def test_warnings(make_service, settings, variables, warning):
    accepted, printed = make_service(settings).test_configuration(extra_environment=variables)
    assert accepted and f"service.json: {warning}" in printed


# Messages of nginx itself: docs/install.md explains them.


def _is_explained(printed):
    text = (environment.ROOT / "docs" / "install.md").read_text().split("## When nginx refuses to start")[1]
    rows = re.findall(r"^\| `(.+?)` \| .", text.split("\n## ")[0], re.M)
    assert rows
    return any(re.search(re.escape(row).replace("…", ".*"), printed) for row in rows)


def _of_another_version(module, path):
    """Writes a module whose version of nginx is the next one."""
    printed = subprocess.run([environment.NGINX_BINARY, "-v"], capture_output=True, text=True, check=True).stderr
    major, minor, patch = map(int, re.search(r"nginx/(\d+)\.(\d+)\.(\d+)", printed).groups())
    version = major * 1000000 + minor * 1000 + patch
    content = module.read_bytes()
    assert struct.pack("<Q", version) in content
    path.write_bytes(content.replace(struct.pack("<Q", version), struct.pack("<Q", version + 1)))


@pytest.mark.skipif(environment.MODULE is None, reason="nginx contains the module")
@pytest.mark.parametrize("mistake", [
    "not loaded", "loaded twice", "another version", "no such file", "in server", "in http", "name", "no file", "semicolon",
    "certificate", "one argument", "zone", "events",
])  # fmt: skip
def test_messages_of_nginx_are_explained(make_service, mistake):
    service = make_service(DEMO)
    load = re.search(r"load_module [^;]*;", service.configuration)[0]
    other = service.directory / "other.so"
    if mistake == "another version":
        _of_another_version(environment.MODULE, other)
    changed = {
        "not loaded": (load, ""),
        "loaded twice": (load, load + load),
        "another version": (load, f"load_module {other};"),
        "no such file": (load, f"load_module {other};"),
        "in http": ("server {", "agent_graph test; server {"),
        "name": ("agent_graph test;", "agent_graph test; agent_graph_runtimeout 10m;"),
        "one argument": ("agent_graph test;", "agent_graph test; agent_graph_buffers 64k;"),
        "zone": ("state=state/test", "state=state/test zone=z:1m; limit_req_zone $binary_remote_addr zone=z:1m rate=1r/s"),
        "events": (re.search(r"events \{[^}]*\}", service.configuration)[0], ""),
        "no file": (f"{_SERVICE} state=state/test", "agent_graph_service test"),
        "semicolon": ("agent_graph test;", "agent_graph test"),
        "certificate": ("server {", "server { listen 127.0.0.1:1 ssl; ssl_certificate no.pem; ssl_certificate_key no.pem;"),
        "in server": ("agent_graph test;", "agent_graph test; } agent_graph_service x service.json; location /x {"),
    }
    service.configure(service.configuration.replace(*changed[mistake], 1))
    assert _is_explained(_line(service.refusal()))


@pytest.mark.skipif(environment.SANITIZER != "", reason="agent-graph run starts nginx without the sanitizer's options")
def test_a_port_that_is_in_use(make_service, directory):
    folder = directory / "agent"
    command("init", folder)
    with socket.socket() as taken:
        port = free_port()
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        taken.listen()
        printed = command("run", folder, "--port", port, code=1)
        assert printed == (
            f"agent-graph: 127.0.0.1:{port} is in use by another program: stop it, or choose a port with --port\n"
        )
        service = make_service(DEMO)
        service.configure(service.configuration.replace(f"127.0.0.1:{service.port}", f"127.0.0.1:{port}"))
        service.error_log.allow(r"\[emerg\]")
        code, printed = service.run()
        assert code != 0 and _is_explained(printed)


# Mistakes that only a request finds: one line in the error log says where the request went.


def _reply(status, body, kind="application/json"):
    return HttpService(lambda *_: (status, kind, body))


@pytest.mark.parametrize("status, body, kind, advice", [
    (401, '{"error": {"message": "Incorrect API key"}}', "application/json", "Incorrect API key; asked {url}; check api_key"),
    (404, '{"error": {"message": "no model gpt-5o"}}', "application/json", "no model gpt-5o (asked {url}; check model and base_url"),
    (404, "<html>", "text/html", "HTTP 404 (asked {url}; check model and base_url"),
    (200, "<html>", "text/html", "with HTML (asked {url}; check base_url"),
])  # fmt: skip
def test_a_provider_that_refuses(start_service, status, body, kind, advice):
    provider = _reply(status, body, kind)
    service = start_service(_openai(base_url=provider.url + "/v1", api_key="k", retries_max=0))
    service.error_log.allow(r"\[error\]")
    assert service.invoke("hello").status == 500
    provider.close()
    expected = advice.format(url=provider.url + "/v1/chat/completions")
    service.wait_for_log(r"node MAIN: .*" + re.escape(expected))


def test_a_provider_that_is_not_there(start_service):
    url = f"http://127.0.0.1:{free_port()}/v1"
    service = start_service(_openai(base_url=url, api_key="k", retries_max=0))
    service.error_log.allow(r"\[error\]")
    reply = service.invoke("hello")
    assert reply.status == 500 and url not in reply.text
    expected = f"asked {url}/chat/completions; check base_url, and that its server runs"
    service.wait_for_log(re.escape(expected))
