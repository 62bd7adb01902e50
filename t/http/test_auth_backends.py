"""Custom backends for authentication and authorization."""

import http
import json
import shutil

import pytest

from harness import environment
from harness.agents import behaviour
from harness.messages import texts, user
from harness.service import invocation
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.waiting import wait_until
from harness.websocket import WebSocket, handshake_headers

_FILES = {"secrets.env": JWT_ENVIRONMENT}
_GRAPHS = environment.BUILD / "t" / "graphs"
_INVOKE = "/v1/graph/invoke"
_SOCKETS = ["/v1/graph/ws", "/v1/graph/live"]


def _backend(name):
    """The path of a class in t/graphs/auth_backends.cc."""
    return f"{_GRAPHS}/auth_backends.so:{name}"


def _authorized_by(name, **other):
    settings = behaviour("echo", auth="jwt", env="secrets.env", authorization=_backend(name))
    return settings | other


def _by_header(**other):
    return behaviour("echo", auth={"method": "custom", "path": _backend("ByHeader")}) | other


def _run(service, user_id, thread_id):
    body = invocation("hi", config={"thread_id": thread_id})
    return service.post(_INVOKE, body, headers=bearer(user_id))


def _assert_refused(reply, status, code, detail=None):
    assert reply.status == status, reply.text
    body = reply.json()
    assert body["error"]["code"] == code
    assert detail is None or body["detail"] == detail
    return body


# Authentication


def test_a_backend_that_crashes_is_named(make_service):
    """Not the graph, which was loaded before it."""
    service = make_service(behaviour("echo", auth={"method": "custom", "path": _backend("Crashing")}))
    assert f"{_GRAPHS}/auth_backends.so: loading it crashed (Segmentation fault)" in service.refusal()


def test_sample_backend(make_service):
    settings = behaviour("echo", auth={"method": "custom", "path": "auth/api_keys.so:ApiKeys"})
    service = make_service(settings)
    folder = service.directory / "conf" / "auth"
    folder.mkdir()
    shutil.copy(environment.BUILD / "auth" / "api_keys.so", folder)
    (folder / "api_keys.txt").write_text("k1 alice\nk2 bob graph:read\n")
    service.start()
    reply = service.get("/v1/graph")
    _assert_refused(reply, 401, "AUTHENTICATION_FAILED")
    assert reply.header("WWW-Authenticate") == "ApiKey"
    reply = service.get("/v1/graph", headers=[("X-API-Key", "wrong")])
    assert _assert_refused(reply, 403, "INVALID_API_KEY")["error_code"] == "INVALID_API_KEY"
    assert service.get("/v1/graph", headers=[("X-API-Key", "k2")]).status == 200
    reply = service.post(_INVOKE, invocation("hi", config={"thread_id": "t"}), headers=[("X-API-Key", "k2")])
    _assert_refused(reply, 403, "PERMISSION_ERROR", "Missing required scope: graph:invoke")
    assert service.post(_INVOKE, invocation("hi", config={"thread_id": "t"}), headers=[("X-API-Key", "k1")]).status == 200


def test_every_status_of_a_refusal_has_its_reason_phrase(start_service):
    """nginx has no reason phrase for many of these."""
    service = start_service(_by_header())
    for status in http.HTTPStatus:
        if status < 400:
            continue
        reply = service.get("/v1/graph", headers=[("X-Do", f"status {status.value}")])
        assert reply.status == status and reply.reason, status
    reply = service.post(_INVOKE, {"messages": []}, headers=[("X-User", "alice")])
    assert (reply.status, reply.reason) == (422, "Unprocessable Content")


@pytest.mark.parametrize("target", _SOCKETS)
@pytest.mark.parametrize(
    "what, status, code, detail",
    [
        ("account", 403, "LOCKED", "unauthorized: the account is locked"),
        ("http", 401, "AUTHENTICATION_FAILED", "unauthorized: come back later"),
        ("null", 403, "PERMISSION_ERROR", "Not authorized to stream graph"),
        ("scopes", 403, "PERMISSION_ERROR", "Missing required scope: graph:stream"),
    ],
)
def test_refused_handshakes(start_service, target, what, status, code, detail):
    service = start_service(_by_header(authorization="ownership"))
    told = [("X-Do", what), ("X-User", "alice")]
    with service.connect() as connection:
        connection.request("GET", target, handshake_headers() + told)
        reply = connection.read_reply()
    _assert_refused(reply, status, code, detail)
    assert reply.header("X-WS-Close-Code") == "1008"
    assert reply.header("Content-Type") == "application/json"
    assert reply.header("X-Backend") == "seen" and reply.header("Upgrade") is None


def test_a_backend_sees_what_is_a_handshake(start_service):
    service = start_service(_by_header(agent=f"{_GRAPHS}/caller.so:app"))
    headers = [("X-User", "alice"), ("Authorization", "Bearer anything")]

    def seen(messages):
        return json.loads(texts(messages)[-1])["user"]

    reply = service.post(f"{_INVOKE}?a=1", invocation("who?"), headers=headers)
    of_request = seen(reply.json()["data"]["messages"])
    with WebSocket(service.port) as socket:
        socket.upgrade_with("/v1/graph/ws?b=2", handshake_headers() + headers)
        assert socket.reply.header("X-Backend") == "seen"
        socket.send_json(invocation("who?"))
        messages = [chunk["message"] for chunk in socket.read_run() if chunk["event"] == "message"]
    of_handshake = seen(messages)
    names = ("method", "path", "query", "peer", "credential", "websocket")
    assert [of_request[name] for name in names] == [
        "POST", _INVOKE, "a=1", "127.0.0.1", "anything", False]
    assert [of_handshake[name] for name in names] == [
        "GET", "/v1/graph/ws", "b=2", "127.0.0.1", "anything", True]
    for one in (of_request, of_handshake):
        assert one["authz"] == {"user_id": "alice", "scope": "none", "scopes": None}


# Authorization


def _with_a_thread_and_a_memory(start_service, backend):
    """A service in which alice and bob each have a thread and a memory."""
    settings = _authorized_by(backend, store="leveldb", embedding="hash")
    service = start_service(settings, files=_FILES)
    for name in ("alice", "bob"):
        assert _run(service, name, name).status == 200
        memory = {"content": f"note of {name}"}
        assert service.post("/v1/store/memories", memory, headers=bearer(name)).status == 200
    return service


def _threads(service, name):
    threads = service.get("/v1/threads", headers=bearer(name)).json()["data"]["threads"]
    return sorted((thread["thread_id"], thread["user_id"]) for thread in threads)


def _memories(service, name):
    found = []
    for route, body in (("search", {"query": "note"}), ("memories/list", {})):
        reply = service.post(f"/v1/store/{route}", body, headers=bearer(name))
        data = reply.json()["data"]
        found.append(sorted(one["content"] for one in data.get("results", data.get("memories"))))
    assert found[0] == found[1]
    return found[0]


def test_rows_stay_with_their_owners_whatever_a_backend_allows(start_service):
    service = _with_a_thread_and_a_memory(start_service, "Lenient")
    bob = bearer("bob")
    for what in ("", "/state", "/messages"):
        reply = service.get(f"/v1/threads/alice{what}", headers=bob)
        assert reply.status == 404, (what, reply.text)
    assert service.get("/v1/threads/alice/messages/m", headers=bob).status == 404
    for action in ("invoke", "stream"):
        body = invocation("mine now", config={"thread_id": "alice"})
        reply = service.post(f"/v1/graph/{action}", body, headers=bob)
        _assert_refused(reply, 403, "PERMISSION_ERROR", "the thread belongs to another user")
        assert reply.header("Content-Type") == "application/json"
    added = service.post("/v1/threads/alice/messages", {"messages": [user("x")]}, headers=bob)
    assert added.status in (403, 404), added.text
    # Neither changed nor duplicated.
    for name in ("alice", "bob"):
        assert _threads(service, name) == [(name, name)]
        assert _memories(service, name) == [f"note of {name}"]
    history = service.get("/v1/threads/alice/messages", headers=bearer("alice")).json()["data"]
    assert texts(history["messages"]) == ["hi", "echo: hi"]


def test_without_isolation_lists_and_memories_are_of_everybody(start_service):
    service = _with_a_thread_and_a_memory(start_service, "FirstComes")
    for name in ("alice", "bob", "carol"):
        assert _threads(service, name) == [("alice", "alice"), ("bob", "bob")]
        assert _memories(service, name) == ["note of alice", "note of bob"]


def test_a_backend_forgets_a_deleted_thread_in_every_worker(start_service):
    service = start_service(_authorized_by("FirstComes"), files=_FILES, workers=4)
    assert _run(service, "alice", "t").status == 200
    for _ in range(40):  # now every worker knows her
        assert service.get("/v1/threads/t", headers=bearer("alice")).status == 200
    assert service.get("/v1/threads/t", headers=bearer("bob")).status == 403
    assert service.request("DELETE", "/v1/threads/t", {}, headers=bearer("alice")).status == 200
    # The delete does not wait for this. A worker that knew bob first would reject everyone else.
    wait_until(
        lambda: all(
            service.get("/v1/threads/t", headers=bearer("bob")).status == 404 for _ in range(40)
        ),
        "every worker has forgotten alice",
    )


# Location of backends


def test_a_worker_loads_the_backend_that_was_checked(make_service):
    service = make_service(behaviour("echo", auth={"method": "custom", "path": "auth/api_keys.so:ApiKeys"}))
    folder = service.directory / "conf" / "auth"
    folder.mkdir()
    (folder / "api_keys.txt").write_text("k1 alice\n")
    shutil.copy(environment.BUILD / "auth" / "api_keys.so", folder / "checked.so")
    (folder / "checked.so").rename(folder / "api_keys.so")
    service.start()
    (folder / "broken.so").write_text("nothing")
    (folder / "broken.so").rename(folder / "api_keys.so")
    for _ in range(2):
        assert service.get("/v1/graph", headers=[("X-API-Key", "k1")]).status == 200
        assert service.get("/v1/graph", headers=[("X-API-Key", "k2")]).status == 403
        service.kill_worker()
    service.error_log.allow(r"\[emerg\]")
    assert any("auth.path" in line for line in service.refused_reload())


@pytest.mark.one_host("the workers of one nginx are counted")
def test_a_backend_is_closed_once_by_each_worker_that_stops(start_service):
    service = start_service(_authorized_by("Lenient"), files=_FILES, workers=2)

    def closed():
        return len(service.error_log.lines("the lenient backend is closed"))

    def use():
        for _ in range(20):
            assert _run(service, "alice", "t").status == 200

    use()
    assert closed() == 0
    service.reload()
    wait_until(lambda: not service.draining_workers(), "the old workers have gone")
    assert closed() == 2
    use()
    assert closed() == 2
    service.quit()
    service.wait_until_gone()
    assert closed() == 4
