"""MCP servers that are programs: started by the spawner, connected through standard input and
output."""

import json
import pathlib
import time

import pytest

from harness import environment, mock_provider
from harness.tool_graph import asks, call_tools, tool_graph
from harness.waiting import wait_until

_PROGRAM = pathlib.Path(__file__).resolve().parent / "harness" / "stdio_server.py"
_SCRIPT = {"name": "script", "command": "python3"}


def _server(mode, **other):
    """A program may need longer to start than the few seconds that a run waits for its tools."""
    return _SCRIPT | {"args": [str(_PROGRAM), mode], "discovery_timeout_ms": 60000} | other


def _everything():
    program = environment.NODE_MODULES / "@modelcontextprotocol" / "server-everything"
    return {
        "name": "everything",
        "command": str(mock_provider.node()),
        "args": [str(program / "dist" / "index.js"), "stdio"],
        "prefix": "ev_",
        "discovery_timeout_ms": 60000,
    }


_FIXTURES = [
    *asks("everything", ("ev_echo", {"message": "hi"}), ("ev_get-sum", {"a": 2, "b": 3})),
    *asks("wrong", ("ev_get-sum", {"a": "x"})),
    *asks("echo", ("echo", {"a": 1})),
    *asks("die", ("die", {})),
    *asks("break the log", ("die_now", {})),
    *asks("environment", ("environment", {})),
    *asks("pid", ("pid", {})),
]


@pytest.fixture
def serve(make_service, start_mock_provider):
    def start(*servers, workers=1, listen="", variables="", **tools_node):
        mock = start_mock_provider(_FIXTURES)
        model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
        settings = {"agent": "tools.json:app", "env": ".env", "models": {"default": model}}
        graph = tool_graph(mcp_servers=list(servers), tools=["calculator"], **tools_node)
        files = {"tools.json": json.dumps(graph)}
        service = make_service(settings, files=files, workers=workers, listen=listen)
        service.write(".env", variables)
        return service.start()

    return start


def _tools(service):
    [node] = service.get("/v1/graph/tools").json()["data"]["nodes"]
    return {tool["name"]: tool["source"] for tool in node["tools"]}


def _log(service):
    return service.error_log.text()


def _programs(service):
    return [process.pid for process in service.processes() if "stdio" in process.title]


def _spawners(service):
    return [p for p in service.processes() if "agent graph spawner" in p.title]


def test_a_third_partys_server(serve):
    service = serve(_everything())
    assert call_tools(service, "everything") == [
        ("Echo: hi", False),
        ("The sum of 2 and 3 is 5.", False),
    ]
    tools = _tools(service)
    assert tools["ev_echo"] == "mcp" and tools["calculator"] == "local"
    [(output, failed)] = call_tools(service, "wrong")
    assert failed and "a: must be a number" in output["error"], "never sent to the server"


def test_sockets_of_spawners_go_with_them(serve):
    service = serve(_server("good"))
    state = service.directory / "state" / "test"

    def sockets():
        return [path.name for path in state.glob("spawner.*.sock*")]

    service.reload()
    wait_until(lambda: len(sockets()) == 1, "the socket of the first spawner has gone")
    service.kill_all()
    service.start()
    wait_until(lambda: len(sockets()) == 1, "the socket of the killed spawner has gone")
    # As after a restart of the machine: the file name of a dead process contains the id of a live
    # one.
    (state / sockets()[0]).rename(state / f"spawner.{service.master_pid}.sock")
    service.stop()
    service.wait_until_gone()
    service.start()
    wait_until(lambda: len(sockets()) == 1, "the socket of the stopped spawner has gone")
    assert call_tools(service, "echo") == [({"a": 1}, False)]
    service.quit()
    service.wait_until_gone()
    assert sockets() == []


def test_programs_live_as_long_as_their_workers(serve):
    # With reuseport the kernel distributes connections over both workers.
    service = serve(_server("good"), workers=2, listen="reuseport")
    used = set()

    def both_used():
        used.add(call_tools(service, "pid")[0][0]["pid"])
        return len(used) == 2

    wait_until(both_used, "both workers have a program")
    assert used == set(_programs(service)), "one for each worker"
    service.kill_workers()
    wait_until(lambda: not used & set(_programs(service)), "they end with their workers")
    after = call_tools(service, "pid")[0][0]["pid"]
    service.reload()
    wait_until(lambda: after not in _programs(service), "the old worker's program has ended")
    assert not call_tools(service, "pid")[0][1]
    service.quit()
    service.wait_until_gone()


def test_the_spawner_goes_with_its_helper(serve):
    service = serve(_server("good"))
    assert not call_tools(service, "pid")[0][1]
    [spawner] = _spawners(service)
    [keeper] = [p for p in service.processes() if p.pid == spawner.parent]
    helper = service.cache_manager()
    assert keeper.parent == helper.pid
    service.error_log.allow(rf"cache manager process {helper.pid} exited on signal 9")
    service.kill(helper.pid)
    wait_until(lambda: len(_spawners(service)) == 2, "the new helper has a spawner of its own")
    assert not call_tools(service, "pid")[0][1], "the old one serves its client"
    service.kill_worker()
    wait_until(lambda: len(_spawners(service)) == 1, "the old one is no longer needed")
    assert not call_tools(service, "pid")[0][1]


def test_a_killed_spawner_is_started_again(serve):
    service = serve(_server("good"))
    before = call_tools(service, "pid")[0][0]["pid"]
    for _ in range(3):
        [spawner] = wait_until(lambda: _spawners(service), "there is a spawner")
        service.kill(spawner.pid)
        wait_until(lambda: before not in _programs(service), "its programs went with it")
        wait_until(
            lambda: not call_tools(service, "pid")[0][1], "the next spawner starts them again"
        )
        before = call_tools(service, "pid")[0][0]["pid"]
    service.quit()
    service.wait_until_gone()
    assert not _spawners(service)


def test_a_program_that_dies_and_is_started_again(serve):
    service = serve(_server("dies"))
    assert call_tools(service, "echo") == [({"a": 1}, False)]
    [(output, failed)] = call_tools(service, "die")
    assert failed and "the server's program exited with code 3" in output
    wait_until(lambda: _tools(service).get("echo") == "mcp", "its tools are back")
    assert call_tools(service, "echo") == [({"a": 1}, False)]
    service.wait_for_log("its program exited with code 3; its last words: my last words")


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (_server("silent", discovery_timeout_ms=300), "contributes no tools"),
        (_server("ends"), "the server's program exited with code 7"),
        (_SCRIPT | {"command": "/does/not/exist"}, "/does/not/exist: cannot be started: No such"),
        (_server("good", cwd="/does/not/exist"), "cannot enter its directory: No such"),
    ],
)
def test_programs_that_never_work(serve, server, reason):
    service = serve(server, _server("good", name="other", prefix="other_"))
    tools = _tools(service)
    assert "other_echo" in tools and "echo" not in tools and "calculator" in tools
    service.wait_for_log(reason)


def test_changes_of_the_tools(serve):
    service = serve(_server("grows"))
    assert "grown" not in _tools(service)
    assert call_tools(service, "echo") == [({"a": 1}, False)]
    wait_until(lambda: "grown" in _tools(service), "the new tool is offered")


def test_a_program_without_sessions(serve):
    service = serve(_server("stateless"))
    assert "grown" not in _tools(service)
    assert call_tools(service, "echo") == [({"a": 1}, False)]

    def offered():
        call_tools(service, "echo")  # after a subscription, this adds a tool
        return "grown" in _tools(service)

    wait_until(offered, "the new tool is offered")
    assert not call_tools(serve(_server("stateless", protocol="2026-07-28")), "echo")[0][1]


@pytest.mark.parametrize("mode", ["strict", "mute"])
def test_a_program_that_knows_only_sessions(serve, mode):
    """One program exits at a request before "initialize", the other one does not answer it."""
    # The client waits half of the discovery timeout for the missing answer.
    service = serve(_server(mode, discovery_timeout_ms=20000))
    assert call_tools(service, "echo") == [({"a": 1}, False)]
    assert "its program" not in _log(service), "that was no accident"
    assert not call_tools(serve(_server(mode, protocol="2025-11-25")), "echo")[0][1]


def test_a_program_of_one_era_only(serve):
    service = serve(_server("good", protocol="2026-07-28"))
    assert "echo" not in _tools(service)
    service.wait_for_log("the server does not speak 2026-07-28")


def _said_at_most(service, began, what):
    """Returns the program's logged output; at most 20 lines in 10 seconds are logged."""
    said = service.error_log.lines(f"says: {what}")
    windows = (time.monotonic() - began) / 10 + 1
    assert len(said) <= 20 * windows + 20
    return said


def test_what_the_program_says_is_bounded(serve):
    began = time.monotonic()
    service = serve(_server("chatty"))
    assert call_tools(service, "echo") == [({"a": 1}, False)]
    service.wait_for_log("wrote a line that is not a message: this is no message")
    said = _said_at_most(service, began, "line")
    assert said and max(len(line) for line in said) < 1000


def test_a_program_that_never_stops_talking(serve):
    began = time.monotonic()
    service = serve(_server("endless"))
    for _ in range(5):
        assert call_tools(service, "echo") == [({"a": 1}, False)]
    _said_at_most(service, began, "without end")


def test_a_name_cannot_begin_a_line_of_the_log(serve):
    service = serve(_server("dies"))
    [(_, failed)] = call_tools(service, "break the log")
    assert failed
    service.wait_for_log("tool die now:")
    assert not any(line.startswith("now") for line in _log(service).splitlines())


def test_a_program_that_ends_during_its_handshake(serve, directory):
    server = _server("leaves")
    server["args"].append(str(directory / "started"))
    service = serve(server)
    wait_until(lambda: call_tools(service, "echo") == [({"a": 1}, False)], "it was started again")


def test_a_line_without_end(serve):
    service = serve(_server("large"))
    [(output, failed)] = call_tools(service, "echo")
    assert failed and "more than 4194304 bytes" in json.dumps(output)
    assert service.get("/ping").status == 200


def test_requests_of_the_server_are_answered(serve):
    assert call_tools(serve(_server("asks")), "echo") == [({"a": 1}, False)]


def test_what_a_program_gets(serve, directory):
    server = _server("good", cwd="/usr", env={"TOKEN": "${SECRET}", "PLAIN": "a b"})
    server["args"] += ["--key=${SECRET}", "${FOLDER}/a"]
    service = serve(server, variables="SECRET=from-the-environment\nOTHER=private\nFOLDER=/srv/files\n")
    [(seen, failed)] = call_tools(service, "environment")
    assert not failed
    variables = seen["variables"]
    assert variables["TOKEN"] == "***", "the value of SECRET is replaced"
    assert variables["PLAIN"] == "a b" and "PATH" in variables
    assert "OTHER" not in variables and "SECRET" not in variables
    assert seen["arguments"] == ["--key=***", "/srv/files/a"], "results name files below a folder"
    assert seen["directory"] == "/usr" and seen["group"] is True
    assert len([fd for fd in seen["descriptors"] if fd > 2]) <= 1, "its own look at the folder"


def test_mistakes_in_the_graph(make_service, start_mock_provider):
    for changed, problem in (
        ({"url": "http://h/"}, "needs either a url or a command"),
        ({"cwd": "here"}, "cwd: must be absolute"),
        ({"env": {"A": "${NOBODY}"}}, "environment variable NOBODY is not set"),
    ):
        mock = start_mock_provider([])
        model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
        graph = tool_graph(mcp_servers=[_server("good", **changed)])
        service = make_service(
            {"agent": "tools.json:app", "models": {"default": model}},
            files={"tools.json": json.dumps(graph)},
        )
        assert problem in service.refusal()
