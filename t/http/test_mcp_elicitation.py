"""MCP servers, made with the protocol's own SDK, that ask the user during a call: the run pauses, and
the next one brings the answer, in whichever worker."""

import concurrent.futures
import itertools
import json

import pytest

from harness import http1
from harness.mcp_server import McpPeer
from harness.messages import texts, tool_results
from harness.tool_graph import asks, tool_graph
from harness.waiting import wait_until
from harness.websocket import WebSocket

_FIXTURES = [
    *asks("register", ("register", {})),
    *asks("look up", ("look_up", {})),
    *asks("ponder", ("ponder", {})),
    *asks("twice", ("register", {}), ("look_up", {})),
    *asks("both", ("register", {}), ("greet", {"name": "you"})),
    {"match": {"userMessage": "never mind"}, "response": {"content": "fine"}},
]
_FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "plan": {"type": "string", "enum": ["free", "pro"], "default": "free"},
    },
    "required": ["name"],
}


@pytest.fixture
def serve(make_service, start_mock_provider):
    def start(workers=2, **server):
        mock = start_mock_provider(_FIXTURES)
        model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
        graph = tool_graph(mcp_servers=[{"name": "peer"} | server])
        settings = {"agent": "tools.json:app", "models": {"default": model}}
        files = {"tools.json": json.dumps(graph)}
        return make_service(settings, files=files, workers=workers).start()

    return start


def _ask(service, text, thread="t"):
    reply = service.invoke(text, config={"thread_id": thread}, response_granularity="full")
    assert reply.status == 200, reply.text
    return reply.json()["data"]


def _answer_body(elicitation_id, output, thread="t", **other):
    block = {"type": "tool_result", "call_id": elicitation_id, "output": output} | other
    return {
        "messages": [{"role": "tool", "content": [block]}],
        "config": {"thread_id": thread},
        "response_granularity": "full",
    }


def _accept(name, **more):
    return {"action": "accept", "content": {"name": name} | more}


def _answer(service, *arguments, **other):
    reply = service.post("/v1/graph/invoke", _answer_body(*arguments, **other))
    assert reply.status == 200, reply.text
    return reply.json()["data"]


def _elicitations(data):
    return data["state"]["execution_meta"]["interrupt"]["data"]["elicitations"]


def _results(data):
    return tool_results(data["messages"])


def _assert_done(data, text):
    assert data["state"]["execution_meta"].get("interrupt") is None
    assert texts(data["messages"])[-1] == "done"
    assert _results(data)[-1]["output"] == text, data


def _own_session(start_mcp_peer, **other):
    server = start_mcp_peer(eras=["session"], asksBeside=True, **other)
    return {"url": server.url, "session_per_call": True}


@pytest.fixture(params=["stateless", "stateless program", "session", "session of the call"])
def server(request, start_mcp_peer):
    """Keys of a server whose calls can go on after a pause."""
    if request.param == "stateless program":
        return McpPeer.program()
    if request.param == "session of the call":
        return _own_session(start_mcp_peer, events=True)
    if request.param == "stateless":
        return {"url": start_mcp_peer(eras=["stateless"]).url}
    return {"url": start_mcp_peer(eras=["session"], events=True).url}


def test_a_question_and_its_answer(serve, server):
    service = serve(**server)
    for number in range(6):  # whichever worker paused, and whichever goes on
        thread = f"t{number}"
        data = _ask(service, "register", thread)
        interrupt = data["state"]["execution_meta"]["interrupt"]
        assert interrupt["reason"] == "a tool asks the user" and interrupt["node"] == "TOOLS"
        [elicitation] = _elicitations(data)
        assert elicitation == {
            "id": f"{elicitation['call_id']}/1",
            "call_id": elicitation["call_id"],
            "tool": "register",
            "server": "peer",
            "mode": "form",
            "message": "Who are you?",
            "requested_schema": _FORM,
        }
        data = _answer(service, elicitation["id"], _accept("Bob"), thread)
        _assert_done(data, 'registered {"name":"Bob","plan":"free"}')


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_user_who_does_not_want_to(serve, server, action):
    service = serve(**server)
    [elicitation] = _elicitations(_ask(service, "register"))
    _assert_done(_answer(service, elicitation["id"], {"action": action}), action)


def test_an_answer_that_does_not_fit(serve, server):
    service = serve(**server)
    [elicitation] = _elicitations(_ask(service, "register"))
    for output, problem in (
        (_accept("B"), "name: must have at least 2 characters"),
        (_accept("Bob", plan="gold"), "plan: must be one of"),
        ("Bob", 'must be an object with "action"'),
    ):
        reply = service.post("/v1/graph/invoke", _answer_body(elicitation["id"], output))
        assert reply.status == 422 and problem in reply.json()["detail"], reply.text
    reply = service.post("/v1/graph/invoke", _answer_body("call_9/1", _accept("Bob")))
    assert reply.status == 422
    data = _answer(service, elicitation["id"], _accept("Bob", plan="pro"))
    _assert_done(data, 'registered {"name":"Bob","plan":"pro"}')


def test_a_user_who_goes_on(serve, server):
    service = serve(**server)
    _ask(service, "register")
    data = _ask(service, "never mind")
    assert texts(data["messages"])[-1] == "fine"
    [result] = _results(data)
    assert result["is_error"] and "without answering" in result["output"]["error"]


def test_other_calls_are_made_at_once(serve, server):
    service = serve(**server)
    data = _ask(service, "both")
    assert [r["output"][:9] for r in _results(data)] == ["hello you"]
    [elicitation] = _elicitations(data)
    data = _answer(service, elicitation["id"], _accept("Bob"))
    assert len(_results(data)) == 2 and texts(data["messages"])[-1] == "done"


@pytest.mark.parametrize("protocol", ["2026-07-28", "2025-11-25"])
def test_a_question_outlives_its_worker(serve, start_mcp_peer, protocol):
    """Killed: a worker that leaves in order ends its session, and the call with it."""
    service = serve(url=start_mcp_peer(events=True).url, protocol=protocol)
    [elicitation] = _elicitations(_ask(service, "register"))
    for _ in range(2):
        service.kill_worker()
    state = service.get("/v1/threads/t/state").json()["data"]["state"]
    assert _elicitations({"state": state}) == [elicitation]
    data = _answer(service, elicitation["id"], _accept("Bob"))
    _assert_done(data, 'registered {"name":"Bob","plan":"free"}')


@pytest.fixture(params=["2026-07-28", "2025-11-25"])
def peer(request, start_mcp_peer):
    """A server of one revision, and its keys in the graph."""
    server = start_mcp_peer(events=True)
    return server, {"url": server.url, "protocol": request.param}


def test_a_worker_that_dies_while_the_call_continues(serve, peer):
    server, keys = peer
    service = serve(workers=1, **keys)
    [elicitation] = _elicitations(_ask(service, "ponder"))
    body = _answer_body(elicitation["id"], _accept("Bob"))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        lost = pool.submit(service.post, "/v1/graph/invoke", body)
        wait_until(lambda: "pondering" in server.log, "the server has the answer")
        service.kill_worker()
        assert isinstance(lost.exception(), (OSError, http1.ConnectionClosed))
    wait_until(lambda: not _running(service), "the run has ended")
    reply = service.post("/v1/graph/invoke", body)
    assert reply.status == 422 and "waits for a result" in reply.json()["detail"], reply.text
    data = _ask(service, "never mind")
    assert texts(data["messages"])[-1] == "fine"
    [result] = _results(data)
    assert result["is_error"] and "the run ended" in result["output"]["error"]
    assert server.log.count("pondering") == 1


def _running(service):
    state = service.get("/v1/threads/t/state").json()["data"]["state"]
    return state["execution_meta"]["is_running"]


def test_a_call_that_takes_too_long_behind_its_answer(serve, peer):
    _, keys = peer
    service = serve(**keys, timeout_ms=3000)
    threads = (f"t{number}" for number in itertools.count())

    def asked():
        """The thread and its question. A slow machine may need longer than 3 s up to the question."""
        thread = next(threads)
        data = _ask(service, "ponder", thread)
        return data["state"]["execution_meta"].get("interrupt") and (thread, *_elicitations(data))

    thread, elicitation = wait_until(asked, "the question comes in time")
    [result] = _results(_answer(service, elicitation["id"], _accept("Bob"), thread))
    assert result["is_error"] and "did not" in json.dumps(result["output"]), result


def test_a_server_that_ends_while_the_user_is_asked(serve, peer):
    server, keys = peer
    service = serve(**keys)
    [elicitation] = _elicitations(_ask(service, "register"))
    server.close()
    data = _answer(service, elicitation["id"], _accept("Bob"))
    [result] = _results(data)
    assert result["is_error"] and texts(data["messages"])[-1] == "done"


def _restart(service):
    service.quit()
    service.wait_until_gone()
    service.start()


def test_a_session_that_ended_while_the_user_thought(serve, start_mcp_peer):
    service = serve(url=start_mcp_peer(eras=["session"], events=True).url)
    threads = (f"t{number}" for number in itertools.count())

    def is_lost():
        thread = next(threads)
        [elicitation] = _elicitations(_ask(service, "register", thread))
        _restart(service)
        [result] = _results(_answer(service, elicitation["id"], _accept("Bob"), thread))
        return result["is_error"] and "was lost while the user was asked" in result["output"]

    # A worker that leaves ends its sessions if it can within a second.
    wait_until(is_lost, "a session has ended")


def test_a_session_of_the_call_outlives_the_service(serve, start_mcp_peer):
    service = serve(**_own_session(start_mcp_peer, events=True))
    [elicitation] = _elicitations(_ask(service, "register"))
    _restart(service)
    data = _answer(service, elicitation["id"], _accept("Bob"))
    _assert_done(data, 'registered {"name":"Bob","plan":"free"}')


@pytest.mark.parametrize("shared", [True, False], ids=["session", "session of the call"])
def test_calls_that_may_be_made_twice(serve, start_mcp_peer, shared):
    """Without event ids a call is made again with the answer, if the tool only reads or the graph sets
    "repeat". Otherwise the question is cancelled."""
    if shared:
        keys = {"url": start_mcp_peer(eras=["session"]).url}
    else:
        keys = _own_session(start_mcp_peer)
    service = serve(**keys)
    [elicitation] = _elicitations(_ask(service, "look up", "read"))
    data = _answer(service, elicitation["id"], _accept("Bob"), "read")
    _assert_done(data, 'registered {"name":"Bob","plan":"free"}')

    _assert_done(_ask(service, "register", "write"), "cancel")
    service.wait_for_log("a question to the user was cancelled: its stream cannot be resumed")

    service = serve(**keys, elicitation="repeat")
    [elicitation] = _elicitations(_ask(service, "register"))
    _assert_done(
        _answer(service, elicitation["id"], _accept("Bob")), 'registered {"name":"Bob","plan":"free"}'
    )


def test_a_question_that_does_not_name_its_call(serve, start_mcp_peer):
    """On the own stream of a session that serves several users it could be anyone's."""
    service = serve(url=start_mcp_peer(eras=["session"], events=True, asksBeside=True).url)
    _assert_done(_ask(service, "register"), "cancel")


def test_programs_in_a_session(serve):
    """A question there has no reference to its call, so none is offered."""
    service = serve(**McpPeer.program(), protocol="2025-11-25")
    [result] = _results(_ask(service, "register"))
    assert result["is_error"] and "elicitation" in result["output"], result


def test_a_graph_that_declines(serve, start_mcp_peer):
    service = serve(url=start_mcp_peer(eras=["stateless"]).url, elicitation="decline")
    [result] = _results(_ask(service, "register"))
    assert result["is_error"], result


def test_over_a_websocket(serve, server):
    service = serve(**server)
    [elicitation] = _elicitations(_ask(service, "register"))
    frame = _answer_body(elicitation["id"], _accept("Bob"))
    frame["tool_result"] = frame.pop("messages")
    with WebSocket(service.port) as socket:
        socket.upgrade()
        socket.send_json(frame | {"invoke_type": "resume"})
        chunks = socket.read_run()
    assert texts([chunk["message"] for chunk in chunks if chunk["message"]])[-1] == "done"


def test_a_call_that_was_removed_waits_for_nothing(serve, server):
    service = serve(**server)
    [elicitation] = _elicitations(_ask(service, "register"))
    assert service.post("/v1/graph/fix", {"thread_id": "t"}).status == 200
    reply = service.post("/v1/graph/invoke", _answer_body(elicitation["id"], _accept("Bob")))
    assert reply.status == 422, reply.text


def test_one_of_two_calls_that_got_a_result_from_outside(serve, start_mcp_peer):
    service = serve(url=start_mcp_peer(eras=["stateless"]).url)
    first, second = _elicitations(_ask(service, "twice"))
    block = {"type": "tool_result", "call_id": first["call_id"], "output": "known already"}
    message = {"role": "tool", "content": [block]}
    assert service.post("/v1/threads/t/messages", {"messages": [message]}).status == 200
    state = service.get("/v1/threads/t/state").json()["data"]["state"]
    assert _elicitations({"state": state}) == [second]
    _assert_done(
        _answer(service, second["id"], _accept("Bob")), 'registered {"name":"Bob","plan":"free"}'
    )
