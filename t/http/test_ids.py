"""Ids that clients choose: each is refused when it is first used, or can be named in a path for good."""

from urllib.parse import quote

import pytest

from harness.agents import behaviour
from harness.live import LIVE, LiveClient
from harness.messages import texts, user
from harness.service import invocation
from harness.stream import is_done
from harness.websocket import WebSocket

_INVOKE = "/v1/graph/invoke"
_ECHO = behaviour("echo")


def _data(reply, status=200):
    assert reply.status == status, reply.text
    return reply.json()["data"]


def _run(service, thread_id, text="hi"):
    return _data(service.invoke(text, config={"thread_id": thread_id}))


_AWKWARD_IDS = {
    "slash": ("a/b", "a%2Fb"),
    "blank inside": ("a b", "a%20b"),
    "letter beyond ASCII": ("é", "%C3%A9"),
    "percent": ("100%", "100%25"),
    "zeros in front": ("007", "007"),
    "a kilobyte": ("x" * 1024, "x" * 1024),
    "plus": ("a+b", "a+b"),
    "question": ("a?b", "a%3Fb"),
}


@pytest.mark.parametrize("prefix", ["/", "/support/"])
def test_ids_round_trip(start_service, prefix):
    service = start_service(_ECHO, prefix=prefix)
    for text, encoded in _AWKWARD_IDS.values():
        assert _run(service, text)["meta"]["thread_id"] == text
        assert _data(service.get(f"/v1/threads/{encoded}"))["thread_data"]["thread_id"] == text
        assert texts(_data(service.get(f"/v1/threads/{encoded}/state"))["state"]["context"])
        deleted = service.request("DELETE", f"/v1/threads/{encoded}", {"config": {}})
        assert _data(deleted)["success"] is True
        assert service.get(f"/v1/threads/{encoded}").status == 404


@pytest.mark.parametrize("prefix", ["/", "/support/"])
def test_unusable_ids(start_service, prefix):
    service = start_service(_ECHO, prefix=prefix)
    for target in ("/v1/threads/%20/state", "/v1/threads/0/state", "/v1/threads/-1/state",
                   "/v1/threads//state", "/v1/threads/0", "/v1/threads/%20",
                   "/v1/threads/t/messages/%20"):
        reply = service.get(target)
        assert reply.status == 422, target
        assert reply.json()["error"]["details"][0]["loc"][0] == "path"
    for target in ("/v1/threads/%2e%2e/state", "/v1/threads/a%2F..%2Fb", "/v1/threads/..%2F..%2Fping",
                   "/v1/threads/t/"):
        assert service.get(target).status == 404, target
    # One slash at the end of a path is accepted: this is the list of threads, not an empty id.
    assert service.get("/v1/threads/").status == 200
    assert service.invoke("x", config={"thread_id": "0"}).status == 422


_DOTS = (".", "..", "a/..", "a/../b", "../../ping", "./a")


def test_ids_that_no_path_can_name_are_refused(start_service):
    service = start_service(_ECHO)
    socket = WebSocket(service.port).upgrade()
    for dots in _DOTS:
        config = {"thread_id": dots}
        for target in (_INVOKE, "/v1/graph/stream"):
            reply = service.post(target, invocation("x", config=config))
            assert reply.status == 422, (target, dots)
            assert reply.json()["error"]["details"][0]["loc"] == ["body", "config", "thread_id"]
        socket.send_json(invocation("x", config=config))
        (refusal, done) = socket.read_run()
        assert refusal["data"]["details"][0]["loc"] == ["body", "config", "thread_id"]
        assert is_done(done)
        for target in ("/v1/graph/stop", "/v1/graph/fix"):
            assert service.post(target, {"thread_id": dots}).status == 422
        # In a path: refused where it would create the thread, else no such thread exists.
        target = "/v1/threads/" + quote(dots, safe="").replace(".", "%2E")
        for reply in (service.request("PUT", target + "/state", {"state": {"x": 1}}),
                      service.post(target + "/messages", {"messages": [user("x")]})):
            assert reply.status == 422, dots
            assert reply.json()["error"]["details"][0]["loc"] == ["path", "thread_id"]
        for method, tail in (("GET", ""), ("GET", "/state"), ("GET", "/messages"), ("DELETE", ""),
                             ("DELETE", "/state"), ("GET", "/messages/m")):
            body = {} if method == "DELETE" else None
            assert service.request(method, target + tail, body).status == 404, (method, tail)
    assert _data(service.get("/v1/threads"))["threads"] == []


def test_a_live_session_refuses_a_thread_that_no_path_can_name(start_service):
    service = start_service(LIVE)
    for dots in _DOTS:
        client = LiveClient(service.port).start(thread_id=dots)
        (error,) = client.read_to_end()
        assert (error["code"], error["fatal"]) == ("invalid_config", True)
        assert error["message"].startswith("thread_id: ")
    assert _data(service.get("/v1/threads"))["threads"] == []


def test_message_ids_that_no_path_can_name_are_refused(start_service):
    service = start_service(_ECHO)
    for dots in (*_DOTS, "a\0b"):
        messages = [user("fine"), user("x", message_id=dots)]
        run = {"messages": messages, "config": {"thread_id": "t"}}
        for method, target, body, path in (
            ("POST", _INVOKE, run, ["messages"]),
            ("POST", "/v1/graph/stream", run, ["messages"]),
            ("POST", "/v1/threads/t/messages", {"messages": messages}, ["messages"]),
            ("PUT", "/v1/threads/t/state", {"state": {"context": messages}}, ["state", "context"]),
            (
                "POST", _INVOKE,
                run | {"messages": [user("x")], "initial_state": {"context": messages}},
                ["initial_state", "context"],
            ),
        ):
            reply = service.request(method, target, body)
            assert reply.status == 422, (target, dots)
            (detail,) = reply.json()["error"]["details"]
            assert detail["loc"] == ["body", *path, "1", "message_id"]
    assert _data(service.get("/v1/threads"))["threads"] == []


def test_an_id_is_that_of_one_message_of_a_request(start_service):
    """With a second message of that id, a repeated request would store a copy each time."""
    service = start_service(_ECHO)
    twice = [user("x", message_id="m"), user("x", message_id="m")]
    config = {"thread_id": "t"}
    for method, path, body, place in (
        ("POST", "/v1/threads/t/messages", {"messages": twice}, ["body", "messages"]),
        ("POST", _INVOKE, {"messages": twice, "config": config}, ["body", "messages"]),
        ("POST", "/v1/graph/stream", {"messages": twice, "config": config}, ["body", "messages"]),
        ("POST", "/v1/graph/runs", {"messages": twice, "config": config}, ["body", "messages"]),
        ("PUT", "/v1/threads/t/state", {"state": {"context": twice}}, ["body", "state", "context"]),
    ):
        reply = service.request(method, path, body)
        assert reply.status == 422, (path, reply.text)
        assert reply.json()["error"]["details"][0]["loc"] == [*place, "1", "message_id"]
    assert service.get("/v1/threads/t").status == 404
    # Placeholders are no ids.
    placeholders = [user("x", message_id="0"), user("x", message_id="0")]
    assert service.post("/v1/threads/t/messages", {"messages": placeholders}).status == 200
    assert len(_data(service.get("/v1/threads/t/messages"))["messages"]) == 2


def test_a_run_id_that_no_path_can_name_is_not_taken(start_service):
    service = start_service(_ECHO)
    for run_id in (".", "..", "a/b", "a b"):
        data = _data(service.invoke("x", config={"run_id": run_id}))
        assert data["meta"]["run_id"] != run_id


# Every byte of a name that may be special somewhere on the way.
_ODD_IDS = [f"a{chr(code)}b" for code in range(1, 128)] + [
    "...", "a..b", ".a", "a.", "/a", "a/", "a//b", "\\..\\", "%2e%2e", "\u202e", "\U0001f600", " a ",
]


def test_an_id_that_is_taken_can_be_named_again(start_service):
    service = start_service(_ECHO)
    for odd in _ODD_IDS:
        message = user("x", message_id=odd)
        reply = service.post(_INVOKE, {"messages": [message], "config": {"thread_id": odd}})
        assert reply.status == 200, (odd, reply.text)
        target = f"/v1/threads/{quote(odd, safe='')}"
        one = service.get(f"{target}/messages/{quote(odd, safe='')}")
        assert _data(one)["message_id"] == odd, repr(odd)
        assert service.request("DELETE", target, {}).status == 200
        assert service.get(target).status == 404
