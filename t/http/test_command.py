"""The program agent-graph, used as a reader of docs/quickstart.md uses it."""

import json
import os
import re
import subprocess
import xml.etree.ElementTree

import pytest

from harness import environment
from harness.command import PROGRAM, RunningAgent, command
from harness.http_service import HttpService
from harness.tokens import JWT_ENVIRONMENT, token
from harness.websocket import WebSocket

_SDK = environment.BUILD / "sdk" / "include"


@pytest.fixture
def run_agent():
    running = []

    def start(folder, **variables):
        running.append(RunningAgent(folder, **variables))
        return running[-1]

    yield start
    for agent in running:
        agent.close()


def _chat(agent, *lines, **other):
    return command("chat", "--url", agent.url, text="".join(line + "\n" for line in lines), **other)


def test_a_new_agent_answers(directory, run_agent):
    folder = directory / "my agent"
    assert "agent-graph run" in command("init", folder)
    assert "are fine" in command("check", folder)
    agent = run_agent(folder)
    assert f"on {agent.url}" in agent.printed
    printed = _chat(agent, "What is 6 * 7?", "What is 1 / 0?", "Anything else")
    assert '-> calculator {"expression":"6 * 7"}\n<- calculator: 42\n6 * 7 = 42.\n' in printed
    assert "<- calculator failed: " in printed and "The tool calculator failed: " in printed
    assert printed.endswith("You said: Anything else\n")
    assert agent.close() == 0
    assert not re.search(r"\[(warn|error|crit|alert|emerg)\]", agent.printed), agent.printed
    # The files of the run are below run/, beside what is ignored by git.
    assert {path.name for path in folder.iterdir()} == {
        ".gitignore", ".nginx.port.conf", "README.md", "agent.json", "nginx.conf", "run", "service.json",
    }  # fmt: skip


def test_a_new_agent_speaks_the_sub_protocols_of_clients(directory, run_agent):
    command("init", directory / "agent")
    agent = run_agent(directory / "agent")
    for name in ("agentflow-bearer", "10xgraph-bearer"):
        with WebSocket(agent.port).upgrade(sec_websocket_protocol=f"{name}, a.b.c") as socket:
            assert socket.reply.header("Sec-WebSocket-Protocol") == name


@pytest.mark.parametrize("address", ["0.0.0.0", "::"])
def test_run_fails_where_another_program_has_all_addresses(directory, listen_on, address):
    command("init", directory / "agent")
    port = listen_on(address)
    printed = command("run", directory / "agent", "--port", port, code=1)
    assert f"127.0.0.1:{port} is in use by another program" in printed


def test_run_warns_if_localhost_may_be_another_program(directory, run_agent, listen_on):
    command("init", directory / "agent")
    port = listen_on("::1")
    agent = run_agent(directory / "agent", port=port)
    assert f"another program answers on [::1]:{port}" in agent.printed


def test_run_names_no_address_that_nginx_conf_does_not_have(directory):
    command("init", directory / "agent")
    configuration = directory / "agent" / "nginx.conf"
    configuration.write_text(configuration.read_text().replace("listen 127.0.0.1:8000", "listen 127.0.0.1:1"))
    program = directory / "nginx"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    printed = command("run", directory / "agent", "--nginx", program, "--module", environment.MODULE)
    assert printed == f"Serving {directory / 'agent'} (Ctrl-C ends it)\n"


@pytest.mark.parametrize("words", [("check",), ("draw",), ("run", "--nginx", "/bin/true", "--module", "/bin/true"), ("init",)])
def test_paths_that_cannot_be_read(directory, words):
    name = directory / ("x" * 300)
    assert "File name too long" in command(*words, name, code=1)


@pytest.mark.skipif(os.getuid() != 0, reason="root can become a user who may not search a folder")
def test_folders_that_may_not_be_searched(directory):
    folder = directory / "closed"
    folder.mkdir(mode=0o700)
    directory.chmod(0o755)
    done = subprocess.run(
        ["setpriv", "--reuid", "nobody", "--clear-groups", PROGRAM, "check", folder / "service.json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == f"agent-graph: {folder / 'service.json'}: cannot be read: Permission denied\n"


def test_a_conversation_is_continued(directory, run_agent):
    folder = directory / "agent"
    command("init", folder)
    agent = run_agent(folder)
    for text in ("one", "two"):
        command("chat", "--url", agent.url, "--thread", "kept", text=text + "\n")
    agent.close()
    again = run_agent(folder)
    printed = command("chat", "--url", again.url, "--thread", "kept", text="three\n")
    assert printed == "You said: three\n"
    state = command("chat", "--url", again.url, "--thread", "kept", text="")
    assert state == ""


def test_an_agent_in_cpp(directory, run_agent):
    folder = directory / "agent"
    printed = command("init", "--cpp", folder)
    compiler = re.search(r"^  (g\+\+ .*)$", printed, re.M)[1]
    assert f"-I{_SDK} " in compiler
    subprocess.run(["sh", "-c", compiler.replace("-O2", "-O0")], cwd=folder, check=True)
    assert "are fine" in command("check", folder)
    assert "shipping_cost, calculator" in command("draw", folder)
    agent = run_agent(folder)
    assert '<- shipping_cost: {"euro":4}' in _chat(agent, 'call shipping_cost {"kilograms": 1.5}')


def _settings(folder, **changes):
    path = folder / "service.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize("answer, result", [("yes", '<- remember: {"memory_id"'), ("no", "<- remember failed: ")])
def test_chat_asks_for_approval(directory, run_agent, answer, result):
    folder = directory / "agent"
    command("init", folder)
    _settings(folder, agent=f"{environment.GRAPH_DOCUMENTS}/support.json:app")
    agent = run_agent(folder)
    printed = _chat(agent, "Remember that I like green tea.", answer)
    assert '? remember {"content":"I like green tea"} waits.\n' in printed
    assert "? The agent asks: May I store this? Answer yes or no.\n" in printed
    assert result in printed


def test_chat_continues_a_paused_thread_with_any_id(directory, run_agent):
    folder = directory / "agent"
    command("init", folder)
    _settings(folder, agent=f"{environment.GRAPH_DOCUMENTS}/support.json:app")
    agent = run_agent(folder)
    thread = ("--url", agent.url, "--thread", "a/b?c#d %20é")
    command("chat", *thread, text="Remember that I like green tea.\n")
    printed = command("chat", *thread, text="yes\n")
    assert printed.startswith("? The agent asks: May I store this?") and "<- " in printed


def test_chat_does_not_take_a_busy_service_for_a_thread_that_is_not_paused():
    error = json.dumps({"error": {"code": "OVERLOADED"}, "detail": "too busy"})
    busy = HttpService(lambda *_: (503, "application/json", error))
    try:
        printed = command("chat", "--url", busy.url, text="hello\n", code=1)
    finally:
        busy.close()
    assert "the service answers 503: too busy" in printed
    assert [request["method"] for request in busy.requests] == ["GET"]


def test_chat_is_the_tool_of_the_client(directory, run_agent):
    folder = directory / "agent"
    command("init", folder)
    _settings(folder, agent=f"{environment.GRAPH_DOCUMENTS}/remote.json:app")
    agent = run_agent(folder)
    printed = _chat(agent, "call get_location {}", '{"city": "Rome"}')
    assert "? You are the tool get_location {}\n" in printed
    assert printed.endswith('{"city":"Rome"}\n')


def test_chat_sends_the_token(start_service):
    service = start_service(
        {"agent": "graphs/support.json:app", "auth": "jwt", "env": "secrets.env"},
        files={"secrets.env": JWT_ENVIRONMENT},
    )
    url = f"http://127.0.0.1:{service.port}"
    printed = command("chat", "--url", url, text="hello\n", code=1)
    assert "the service answers 4" in printed and "AGENT_GRAPH_TOKEN" in printed
    printed = command("chat", "--url", url, text="hello\n", variables={"AGENT_GRAPH_TOKEN": token()})
    assert printed == "You said: hello\n"


def test_chat_says_that_nothing_answers(directory):
    printed = command("chat", "--url", "http://127.0.0.1:1", text="hello\n", code=1)
    assert printed.startswith("agent-graph: nothing answers at http://127.0.0.1:1: start the service")


def test_chat_fails_if_the_last_run_failed(start_service):
    service = start_service(
        {
            "agent": "graphs/support.json:app",
            "models": {"default": {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:1", "retries_max": 0}},
        }
    )
    service.error_log.allow(r"\[error\]")
    printed = command("chat", "--url", f"http://127.0.0.1:{service.port}", text="hello\n", code=1)
    assert "error: " in printed


@pytest.mark.parametrize("prefix", ["/", "/support/"])
def test_bench_measures(start_service, prefix):
    service = start_service({"agent": "graphs/support.json:app"}, prefix=prefix)
    url = f"http://127.0.0.1:{service.port}{prefix}"
    printed = command("bench", "--url", url, "--requests", 20, "--concurrency", 4)
    assert re.match(r"20 requests in [\d.]+ s: [\d.]+ per second, 0 failed\n", printed)
    assert re.search(r"^whole answer p50 [\d.]+ ms   p99 [\d.]+ ms", printed, re.M)
    assert re.search(r"^first text   p50 [\d.]+ ms", printed, re.M)


def test_bench_says_what_is_wrong(start_service):
    service = start_service({"agent": "graphs/support.json:app"}, prefix="/support/")
    printed = command("bench", "--url", f"http://127.0.0.1:{service.port}", code=1)
    assert "the service answers 404" in printed and "prefix of the location" in printed


@pytest.mark.parametrize("graph", sorted(path.name for path in environment.GRAPHS.glob("*.so")) + ["support.json"])
def test_draw_shows_the_samples(graph):
    path = (environment.GRAPH_DOCUMENTS if graph.endswith(".json") else environment.GRAPHS) / graph
    svg = xml.etree.ElementTree.fromstring(command("draw", path, "--format", "svg"))
    assert svg.tag.endswith("svg") and len(svg.findall(".//{*}rect")) >= 3
    assert command("draw", path, "--format", "mermaid").startswith("flowchart TD\n")
    assert command("draw", path).count("-> ") >= 1


def test_check_agrees_with_nginx(make_service):
    """`check` refuses the same settings as nginx -t, with the same reason, and a place."""
    service = make_service({"agent": "graphs/support.json:app", "models": {"default": {"provider": "openai"}}})
    reason = "models.default: needs the name of a model"
    assert reason in service.refusal()
    path = service.directory / "conf" / "service.json"
    assert re.match(rf"agent-graph: {path}:\d+:\d+: {reason}", command("check", path, code=1))


@pytest.mark.parametrize("name, reason", [
    ("crashing", r"loading the graph crashed \(Segmentation fault\)"),
    ("leaving", "loading the graph ended the process"),
    ("terminating", "loading the graph ended with an uncaught exception: no configuration"),
])  # fmt: skip
def test_a_graph_that_crashes_ends_only_its_own_process(make_service, name, reason):
    """The same line from nginx -t, check and draw; it names the file."""
    module = environment.BUILD / "t" / "graphs" / "broken.so"
    line = f"{module}: {reason}"
    for printed in (command("check", f"{module}:{name}", code=1), command("draw", f"{module}:{name}", code=1)):
        assert re.search(f"^agent-graph: {line}$", printed, re.M), printed
    service = make_service({"agent": f"{module}:{name}"})
    assert re.search(f"service.json: {line}", service.refusal())
    assert re.search(line, command("check", service.directory / "conf" / "service.json", code=1))
