"""`make run` after the build: the shipped configuration in the foreground, with any path."""

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
    def __init__(self, checkout, user, port):
        self._printed = checkout / "printed"
        with open(self._printed, "wb") as output:
            self._process = subprocess.Popen(
                ["conf/run.sh"],
                cwd=checkout,
                env={"PATH": os.environ["PATH"], "PORT": str(port)},
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
            # Two turns per round, each with the user's message and the answer.
            assert len(threads["data"]["messages"]) == 4 * (attempt + 1)
            # The documentation pages exist, with or without their viewers.
            assert http1.fetch(port, "GET", "/docs").status == 200
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
