"""`make run` after the build: the shipped configuration in the foreground, with any path."""

import json
import os
import pathlib
import pwd
import random
import re
import shutil
import signal
import subprocess

import pytest

from harness import environment, http1, processes
from harness.connect_proxy import ConnectProxy
from harness.http_service import HttpService
from harness.ports import free_port
from harness.uploads import file_form
from harness.waiting import wait_until
from harness.websocket import WebSocket

pytestmark = pytest.mark.skipif(
    environment.SANITIZER != "", reason="conf/run.sh starts Debian's nginx, which has no sanitizer"
)


def _users():
    return ["root", "nobody"] if os.getuid() == 0 else [pwd.getpwuid(os.getuid()).pw_name]


class RunningServer:
    def __init__(self, checkout, user, port, **variables):
        self._printed = checkout / "printed"
        with open(self._printed, "wb") as output:
            self._process = subprocess.Popen(
                ["conf/run.sh"],
                cwd=checkout,
                env={"PATH": os.environ["PATH"], "PORT": str(port)} | variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **({"user": user, "extra_groups": []} if os.getuid() == 0 else {}),
            )

    @property
    def printed(self):
        return self._printed.read_text(errors="replace")

    def wait_for_advice(self):
        """Waits until the example commands are printed, and returns them."""

        def told():
            assert self._process.poll() is None, self.printed
            return re.search(r"Try:\n\n(( +curl .*\n)+)\n", self.printed)

        return wait_until(told, "conf/run.sh tells what to try")[1].splitlines()

    def workers(self):
        session = processes.in_session(self._process.pid)
        return [process for process in session if process.title.startswith("nginx: worker process")]

    def interrupt(self):
        """Ctrl-C: the whole foreground process group gets the signal."""
        os.killpg(self._process.pid, signal.SIGINT)
        return self._process.wait(environment.PATIENCE)

    def wait(self):
        return self._process.wait(20 * environment.TIME_SCALE)

    def close(self):
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


@pytest.fixture(params=_users())
def user(request):
    return request.param


@pytest.fixture
def checkout(directory, user):
    """The files of a built checkout that run.sh needs, in a path with spaces, owned by the user."""
    root = directory / "a checkout with spaces"
    shutil.copytree(environment.ROOT / "conf", root / "conf")
    release = root / "build" / "release"
    (release / "graphs").mkdir(parents=True)
    for program in (environment.MODULE, environment.MODULE.with_name("agent-extract")):
        shutil.copy(program, release)
    for graph in environment.GRAPHS.glob("*.so"):
        shutil.copy(graph, release / "graphs")
    if os.getuid() == 0:
        owner = pwd.getpwnam(user)
        for path in [root, *root.rglob("*")]:
            os.chown(path, owner.pw_uid, owner.pw_gid)
    return pathlib.Path(root)


def test_run_serves_what_it_prints_twice_in_a_row(checkout, user):
    port = free_port()
    for attempt in range(2):
        server = RunningServer(checkout, user, port)
        try:
            advice = server.wait_for_advice()
            assert len(advice) == 3
            # The first worker answers while the master may still be starting the second one.
            wait_until(lambda: len(server.workers()) == 2, "both workers run")
            for line in advice:
                done = subprocess.run(["sh", "-c", line], capture_output=True, check=False)
                assert done.returncode == 0 and b'"detail"' not in done.stdout, done.stdout
            threads = http1.fetch(port, "GET", "/v1/threads/first/messages").json()
            # Two turns per round: a greeting with its answer, and a question with the call of a
            # tool, its result and the answer.
            roles = [message["role"] for message in threads["data"]["messages"]]
            assert roles == ["user", "assistant", "user", "assistant", "tool", "assistant"] * (attempt + 1)
            # The documentation pages exist, with or without their viewers.
            assert http1.fetch(port, "GET", "/docs").status == 200
            # Only the second round has a built page for browsers.
            page = checkout / "build" / "ui" / "index.html"
            expected = f"in a browser: http://127.0.0.1:{port}/ui/" if page.exists() else "`make ui` adds a page"
            assert expected in server.printed
            page.parent.mkdir(exist_ok=True)
            page.write_text("<!doctype html>")
            assert http1.fetch(port, "GET", "/ui/").status == 200
            # A token in the query of a WebSocket must not be written to any file.
            http1.fetch(port, "GET", "/v1/graph/ws?token=secret-of-the-query")
            assert server.interrupt() == 0, server.printed
            wait_until(lambda: not server.workers(), "the workers have gone")
        finally:
            server.close()
    log = server.printed
    access_log = (checkout / "build" / "run" / "logs" / "access.log").read_text()
    assert "/v1/graph/ws" in access_log and "secret-of-the-query" not in access_log + log
    for word in ("[emerg]", "[alert]", "[crit]", "exited on signal", "[warn]"):
        assert word not in log, log


@pytest.fixture
def port(checkout, user):
    """The port of a running server."""
    number = free_port()
    server = RunningServer(checkout, user, number)
    try:
        server.wait_for_advice()
        yield number
    finally:
        server.close()


def _json(port, method, target, body=None, headers=()):
    reply = http1.fetch(port, method, target, headers, body)
    assert reply.status == 200, reply.text
    return reply.json()["data"]


def test_the_shipped_configuration_remembers(port):
    for content in ("The user drinks green tea.", "The user's cat is called Minka."):
        memory = _json(port, "POST", "/v1/store/memories", {"content": content})["memory_id"]
    found = _json(port, "POST", "/v1/store/search", {"query": "which tea?"})["results"]
    assert found[0]["content"] == "The user drinks green tea."
    path = f"/v1/store/memories/{memory}"
    _json(port, "PUT", path, {"content": "The user's dog is called Rex."})
    assert _json(port, "POST", path)["memory"]["content"] == "The user's dog is called Rex."
    assert len(_json(port, "POST", "/v1/store/memories/list")["memories"]) == 2
    _json(port, "DELETE", path, {})
    assert http1.fetch(port, "POST", path).status == 404
    _json(port, "POST", "/v1/store/memories/forget", {})
    assert _json(port, "POST", "/v1/store/memories/list")["memories"] == []


@pytest.mark.parametrize("name", ["agentflow-bearer", "service-bearer"])
def test_the_shipped_configuration_speaks_the_sub_protocol_of_clients(port, name):
    """A browser disconnects if the server chooses none of the offered protocols."""
    for target in ("/v1/graph/ws", "/v1/graph/ws?token=other"):
        socket = WebSocket(port).upgrade(target, Sec_WebSocket_Protocol=f"{name}, a.b.c")
        assert socket.reply.header("Sec-WebSocket-Protocol") == name


def test_the_shipped_configuration_takes_files_of_25_mebibytes(port):
    """The file has exactly that size; the form around it is not counted."""
    data = random.Random(6).randbytes(25 * 1024 * 1024)
    headers, body = file_form(data, "all.bin")
    record = _json(port, "POST", "/v1/files/upload", body, headers)
    assert record["size_bytes"] == len(data)
    assert http1.fetch(port, "GET", record["url"]).body == data
    info = _json(port, "GET", record["url"] + "/info")
    assert (info["filename"], info["size_bytes"]) == ("all.bin", len(data))
    assert _json(port, "GET", record["url"] + "/url")["url"] == record["url"]
    headers, body = file_form(data + b"x")
    reply = http1.fetch(port, "POST", "/v1/files/upload", headers, body)
    assert reply.status == 413 and reply.json()["error"]["code"]
    assert _json(port, "GET", "/v1/config/multimodal")["media_max_size_mb"] == 25.0


def test_run_says_nothing_of_an_agent_where_another_program_answers(checkout, user):
    other = HttpService(lambda *_: (200, "application/json", '{"success": true}'))
    try:
        server = RunningServer(checkout, user, int(other.url.rpartition(":")[2]))
        try:
            assert server.wait() != 0
            wait_until(lambda: "PORT=9000 make run" in server.printed, "conf/run.sh says what to do")
            assert "The agent answers" not in server.printed
            assert "Address already in use" in server.printed
        finally:
            server.close()
    finally:
        other.close()


@pytest.mark.parametrize("address", ["0.0.0.0", "::"])
def test_run_fails_where_another_program_has_all_addresses(checkout, user, listen_on, address):
    server = RunningServer(checkout, user, listen_on(address))
    try:
        assert server.wait() != 0
        wait_until(lambda: "PORT=9000 make run" in server.printed, "conf/run.sh says what to do")
        assert "The agent answers" not in server.printed
    finally:
        server.close()


def test_run_warns_if_localhost_may_be_another_program(checkout, user, listen_on):
    port = listen_on("::1")

    def warns():
        server = RunningServer(checkout, user, port)
        try:
            server.wait_for_advice()
            return f"Another program answers on [::1]:{port}" in server.printed
        finally:
            server.close()

    # The script gives the other program, which is this process, two seconds for its answer.
    wait_until(warns, "the script finds the other program")


def test_run_explains_itself():
    script = environment.ROOT / "conf" / "run.sh"
    shown = subprocess.run([script, "--help"], capture_output=True, text=True, check=True)
    assert "OPENAI_API_KEY" in shown.stdout and "set -eu" not in shown.stdout
    wrong = subprocess.run([script, "9000"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2 and wrong.stderr == shown.stdout


# The model of `make run`


def _ask(port, text):
    body = {"messages": [{"role": "user", "content": text}]}
    return http1.fetch(port, "POST", "/v1/graph/invoke", (), body)


@pytest.fixture
def run(checkout, user):
    """run(NAME=value) starts the server with these variables; returns (port, what it printed)."""
    servers = []

    def start(**variables):
        port = free_port()
        servers.append(RunningServer(checkout, user, port, **variables))
        servers[-1].wait_for_advice()
        return port, servers[-1].printed

    yield start
    for server in servers:
        server.close()


@pytest.mark.parametrize(
    "variables, line",
    [
        ({}, "The model is llama of {url}."),
        ({"MODEL_NAME": "my-model", "MODEL_API_KEY": "its-key"}, "The model is my-model of {url}."),
        ({"OPENAI_API_KEY": "other-key"}, "The model is llama of {url}."),
    ],
)
def test_run_talks_to_the_model_at_an_address(run, variables, line):
    requests = []

    def answer(method, path, body):
        requests.append((method, path, body))
        if method == "GET":
            return 200, "application/json", '{"object":"list","data":[{"id":"llama","object":"model"},{"id":"b"}]}'
        chunk = {"choices": [{"index": 0, "delta": {"content": "I am real."}, "finish_reason": "stop"}]}
        return 200, "text/event-stream", f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"

    server = HttpService(answer)
    try:
        port, printed = run(MODEL_BASE_URL=f"{server.url}/v1", **variables)
        assert line.format(url=f"{server.url}/v1") in printed.splitlines()
        reply = _ask(port, "Hello")
        assert reply.json()["data"]["messages"][-1]["content"][0]["text"] == "I am real."
        method, path, body = requests[-1]
        assert (method, path) == ("POST", "/v1/chat/completions")
        assert json.loads(body)["model"] == variables.get("MODEL_NAME", "llama")
        assert "its-key" not in printed and "other-key" not in printed
    finally:
        server.close()


@pytest.mark.parametrize(
    "variables, line, host",
    [
        ({"OPENAI_API_KEY": "k"}, "The model is gpt-4o-mini of openai.", "api.openai.com:443"),
        ({"ANTHROPIC_API_KEY": "k"}, "The model is claude-sonnet-4-5 of anthropic.", "api.anthropic.com:443"),
        (
            {"GEMINI_API_KEY": "k", "MODEL_NAME": "gemini-x"},
            "The model is gemini-x of gemini.",
            "generativelanguage.googleapis.com:443",
        ),
    ],
)
def test_run_talks_to_the_provider_of_the_key(run, variables, line, host):
    """A proxy that leads nowhere shows which provider is asked."""
    nowhere = HttpService(lambda *_: (404, "text/plain", ""))
    try:
        with ConnectProxy(int(nowhere.url.rpartition(":")[2])) as proxy:
            port, printed = run(https_proxy=f"http://127.0.0.1:{proxy.port}", **variables)
            assert line in printed.splitlines()
            assert _ask(port, "Hello").status == 500
            assert set(proxy.asked) == {host}
    finally:
        nowhere.close()


def test_run_without_a_key_has_the_demo_model(run):
    port, printed = run(OPENAI_API_KEY="k", MODEL_PROVIDER="demo")
    assert "The model is demo" in printed
    reply = _ask(port, "What is 6 * 7?")
    assert reply.json()["data"]["messages"][-1]["content"][0]["text"] == "6 * 7 = 42."


def test_run_keeps_the_model_of_the_configuration(checkout, run):
    path = checkout / "conf" / "service.json"
    settings = json.loads(path.read_text())
    settings["models"] = {"default": {"provider": "demo"}}
    path.write_text(json.dumps(settings))
    port, printed = run(OPENAI_API_KEY="k")
    assert "The model is the one of conf/service.json." in printed.splitlines()
    reply = _ask(port, "What is 6 * 7?")
    assert reply.json()["data"]["messages"][-1]["content"][0]["text"] == "You said: What is 6 * 7?"


@pytest.mark.parametrize(
    "variables, advice",
    [
        ({"MODEL_PROVIDER": "gpt"}, "MODEL_PROVIDER=gpt is none of demo, openai, anthropic and gemini"),
        ({"MODEL_BASE_URL": "http://127.0.0.1:1/v1"}, "http://127.0.0.1:1/v1/models lists no model"),
        ({"MODEL_BASE_URL": "localhost:11434"}, "MODEL_BASE_URL=localhost:11434 must begin with http:// or https://"),
        ({"MODEL_NAME": "gpt-4o"}, "MODEL_NAME=gpt-4o also needs MODEL_BASE_URL, or the key of its provider"),
        ({"PORT": "web"}, "PORT=web is no port: choose a number from 1 to 65535"),
    ],
)
def test_run_says_what_is_wrong_with_the_model(checkout, user, variables, advice):
    server = RunningServer(checkout, user, free_port(), **variables)
    try:
        assert server.wait() != 0
        assert advice in server.printed
    finally:
        server.close()
