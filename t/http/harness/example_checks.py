"""Checks of the parts of configurations and graphs that documents show."""

import json
import re
import subprocess

from . import environment
from .command import command
from .configuration import load_module
from .nginx import Nginx
from .ports import free_port

_AGENT = f"{environment.GRAPH_DOCUMENTS}/support.json:app"
_MAIN_PATHS = "pid logs/nginx.pid; error_log logs/error.log;\n"
_HTTP_PATHS = "access_log logs/access.log; " + "".join(
    f"{kind}_temp_path temp/{kind}; " for kind in ("client_body", "proxy", "fastcgi", "scgi", "uwsgi")
)
_VARIABLE = re.compile(r"\$\{(\w+)\}")


def accepted_configuration(directory, text):
    """Returns an nginx that accepts this configuration: a whole nginx.conf, or a part of its http block or
    of a server."""
    if "http {" not in text:
        if "server {" not in text:
            text = f"server {{ listen 127.0.0.1:{free_port()};\n{text}}}\n"
        if "agent_graph_service" not in text:
            text = "agent_graph_service support service.json;\n" + text
        text = f"http {{\n{text}}}\n"
    # The tests' module, and files in the tests' folder.
    text = re.sub(r"load_module [^;]*;\n", "", text)
    text = re.sub(r"agent_graph_service (\w+) (\S+);", r"agent_graph_service \1 \2 state=state/\1;", text)
    text = text.replace("state=state;", "state=state/shown;")
    text = text.replace("http {", "http {\n" + _HTTP_PATHS, 1)
    if "events {" not in text:
        text += "events {}\n"
    nginx = Nginx(directory, load_module() + "\n" + _MAIN_PATHS + text)
    for name in re.findall(r"agent_graph_service \w+ ([^\s;]+)", text):
        # A name with a slash at its beginning stays as it is.
        path = directory / "conf" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        settings = {"agent": _AGENT} | ({"auth": "nginx"} if "agent_graph_user" in text else {})
        path.write_text(json.dumps(settings))
    accepted, printed = nginx.test_configuration()
    assert accepted, printed
    return nginx


def accepted_graph(folder, text):
    """`agent-graph check` accepts this document of graphs."""
    _check(folder, json.loads(text))


def accepted_tools(folder, text):
    """The same for a tool node, or for an MCP server of one."""
    part = json.loads(text)
    if part.get("type") != "tools":
        part = {"name": "TOOLS", "type": "tools", "mcp_servers": [part]}
    nodes = [{"name": "MAIN", "type": "agent", "tool_node": part["name"]}, part]
    edges = [
        {"from": "START", "to": "MAIN"},
        {"from": "MAIN", "when": [{"tool_calls_pending": True, "to": part["name"]}], "otherwise": "END"},
        {"from": part["name"], "to": "MAIN"},
    ]
    _check(folder, {"app": {"nodes": nodes, "edges": edges}})


def _check(folder, graphs):
    text = json.dumps(graphs)
    path = folder / "shown.json"
    path.write_text(text)
    command("check", path, variables=dict.fromkeys(_VARIABLE.findall(text), "value"))


# Declarations that the parts of C++ in documents need.
_PRELUDE = """\
#include <agent_graph/agent_graph.h>
#include <agent_graph/json.h>
using namespace agent_graph;
extern Tool weather;
void BuildTeam(GraphBuilder&);
"""


def compile_snippets(folder, snippets):
    """Compiles parts of C++: declarations as they are, statements in a function that builds a `graph`."""
    text = _PRELUDE
    for snippet in snippets:
        includes = re.findall(r"^#include .*\n", snippet.text, re.M)
        body = re.sub(r"^#include .*\n", "", snippet.text, flags=re.M)
        if snippet.argument == "statements":
            body = f"void Build([[maybe_unused]] GraphBuilder& graph) {{\n{body}}}\n"
        text += f"{''.join(includes)}namespace line_{snippet.line} {{\n{body}}}\n"
    path = folder / "snippets.cc"
    path.write_text(text)
    done = subprocess.run(
        ["g++", "-std=c++20", "-Wall", "-fsyntax-only", f"-I{environment.BUILD}/sdk/include", path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def masked(text):
    """The text of a conversation without the time of day, which differs from run to run."""
    return re.sub(r"\d", "0", text)
