"""Callers that nginx has authenticated: "auth": "nginx", agent_graph_user, agent_graph_user_claims."""

import base64
import json
import re

import pytest

from harness import environment, http1
from harness.agents import behaviour
from harness.live import LIVE, LiveClient
from harness.messages import texts
from harness.service import invocation
from harness.uploads import upload, uploaded
from harness.websocket import WebSocket, handshake_headers

_USERS = {"users": "alice:{PLAIN}a-secret\nbob:{PLAIN}b-secret\n"}
_BASIC = 'auth_basic "agents"; auth_basic_user_file users;'
_BY_PASSWORD = _BASIC + "agent_graph_user $remote_user;"
_STORED = behaviour("echo", auth="nginx", store="leveldb", embedding="hash")
_SEEN = {"agent": f"{environment.BUILD}/t/graphs/caller.so:app", "auth": "nginx"}
# The test plays a proxy that nginx trusts.
_BY_HEADER = "agent_graph_user $http_x_user; agent_graph_user_claims $http_x_claims;"


def _basic(user):
    text = f"{user}:{user[0]}-secret".encode()
    return [("Authorization", "Basic " + base64.b64encode(text).decode())]


def _code(reply):
    assert reply.status == 403, reply.text
    return reply.json()["error"]["code"]


def _run(service, headers, thread_id="t", route="/v1/graph/invoke"):
    body = invocation("hi", config={"thread_id": thread_id})
    return service.post(route, body, headers=headers)


def _user_seen(service, headers):
    """The caller as the graph sees it."""
    reply = service.post("/v1/graph/invoke", invocation("who?"), headers=headers)
    assert reply.status == 200, reply.text
    return json.loads(texts(reply.json()["data"]["messages"])[-1])["user"]


def _socket(service, headers):
    return WebSocket(service.port).upgrade_with("/v1/graph/ws", handshake_headers() + list(headers))


# Users of auth_basic


@pytest.fixture
def service(start_service):
    return start_service(_STORED, files=_USERS, location=_BY_PASSWORD)


def test_a_wrong_password_is_refused_by_nginx(service):
    for headers in ([], [("Authorization", "Basic " + base64.b64encode(b"alice:wrong").decode())]):
        assert _run(service, headers).status == 401


def test_threads_and_runs_of_users_are_apart(service):
    alice, bob = _basic("alice"), _basic("bob")
    assert _run(service, alice).status == 200
    (message, _) = service.get("/v1/threads/t/messages", headers=alice).json()["data"]["messages"]
    message_id = message["message_id"]
    foreign = [
        service.get("/v1/threads/t", headers=bob),
        service.get("/v1/threads/t/state", headers=bob),
        service.request("PUT", "/v1/threads/t/state", {"state": {}}, headers=bob),
        service.request("DELETE", "/v1/threads/t/state", {}, headers=bob),
        service.get("/v1/threads/t/messages", headers=bob),
        service.get(f"/v1/threads/t/messages/{message_id}", headers=bob),
        service.post("/v1/threads/t/messages", invocation("x"), headers=bob),
        service.request("DELETE", f"/v1/threads/t/messages/{message_id}", {}, headers=bob),
        service.request("DELETE", "/v1/threads/t", {}, headers=bob),
        service.get("/v1/observability/t", headers=bob),
        service.post("/v1/graph/stop", {"thread_id": "t"}, headers=bob),
        service.post("/v1/graph/fix", {"thread_id": "t"}, headers=bob),
        _run(service, bob),
        _run(service, bob, route="/v1/graph/stream"),
    ]
    assert {_code(reply) for reply in foreign} == {"PERMISSION_ERROR"}
    with _socket(service, bob) as socket:
        socket.send_json(invocation("hi", config={"thread_id": "t"}))
        error, _ = socket.read_run()
    assert error["event"] == "error" and error["data"]["code"] == "PERMISSION_ERROR"
    assert service.get("/v1/threads", headers=bob).json()["data"]["threads"] == []
    (thread,) = service.get("/v1/threads", headers=alice).json()["data"]["threads"]
    assert thread["thread_id"] == "t" and thread["user_id"] == "alice"
    assert len(service.get("/v1/threads/t/messages", headers=alice).json()["data"]["messages"]) == 2


def test_background_runs_of_users_are_apart(service):
    alice, bob = _basic("alice"), _basic("bob")
    body = invocation("hi", config={"thread_id": "t", "run_id": "r"})
    assert service.post("/v1/graph/runs", body, headers=alice).status == 202
    runs, run = "/v1/threads/t/runs", "/v1/threads/t/runs/r"
    assert service.get(run + "/wait", headers=alice).status == 200
    for method, target in (("GET", runs), ("GET", run), ("GET", run + "/wait"), ("GET", run + "/stream"),
                           ("POST", run + "/cancel")):  # fmt: skip
        content = None if method == "GET" else {}
        foreign = service.request(method, target, content, headers=bob)
        unknown = service.request(method, target.replace("/t/", "/unknown/"), content, headers=bob)
        assert foreign.status == unknown.status == 404, (target, foreign.text)
        assert foreign.json()["error"] == unknown.json()["error"]
    for wanted in (invocation("x", config={"thread_id": "t"}), body):
        assert _code(service.post("/v1/graph/runs", wanted, headers=bob)) == "PERMISSION_ERROR"
    assert service.get(run, headers=alice).json()["data"]["status"] == "done"
    # The key of a request belongs to its user, too.
    key = [("Idempotency-Key", "k")]
    mine = invocation("mine")
    replies = [service.post("/v1/graph/invoke", mine, headers=user + key) for user in (alice, bob)]
    threads = [reply.json()["data"]["meta"]["thread_id"] for reply in replies]
    assert threads[0] != threads[1]


def test_no_route_shows_what_belongs_to_another(service):
    """Bob asks every route that the API has, by the ids of Alice's objects."""
    alice, bob = _basic("alice"), _basic("bob")
    canary = "canary-of-alice"
    ids = {"thread_id": "t", "run_id": "r"}
    body = invocation(canary, config=ids)
    assert service.post("/v1/graph/invoke", body, headers=alice).status == 200
    (message, _) = service.get("/v1/threads/t/messages", headers=alice).json()["data"]["messages"]
    stored = service.post("/v1/store/memories", {"content": canary}, headers=alice).json()["data"]
    file = uploaded(service, canary.encode(), headers=alice)
    ids |= {"message_id": message["message_id"], "memory_id": stored["memory_id"], "file_id": file["file_id"]}
    bodies = [{}, {"thread_id": "t"}, {"query": canary}, invocation("x", config={"thread_id": "t"})]
    paths = service.get("/openapi.json", headers=bob).json()["paths"]
    asked, shown = set(), 0
    for path, methods in paths.items():
        target = re.sub(r"\{(\w+)\}", lambda m: ids.get(m[1], "x"), path)
        for method in methods:
            for content in [None] if method == "get" else bodies:
                reply = service.request(method.upper(), target, content, headers=bob)
                if content != bodies[2]:  # a refusal may repeat what was asked for
                    assert canary not in reply.text, (method, path)
                asked |= {name for name in ids if "{" + name + "}" in path}
        if "get" in methods:
            shown += canary in service.get(target, headers=alice).text
    assert asked == set(ids) and shown > 3
    # It is unchanged.
    messages = service.get("/v1/threads/t/messages", headers=alice).json()["data"]["messages"]
    assert len(messages) == 2 and texts(messages)[0] == canary
    assert service.post("/v1/store/memories/" + ids["memory_id"], {}, headers=alice).status == 200
    assert service.get("/v1/files/" + ids["file_id"], headers=alice).text == canary


def test_memories_of_users_are_apart(service):
    alice, bob = _basic("alice"), _basic("bob")
    stored = service.post("/v1/store/memories", {"content": "green tea"}, headers=alice)
    memory = "/v1/store/memories/" + stored.json()["data"]["memory_id"]
    assert service.post(memory, {}, headers=alice).status == 200
    assert service.post(memory, {}, headers=bob).status == 404
    assert service.request("PUT", memory, {"content": "x"}, headers=bob).status == 404
    service.request("DELETE", memory, {}, headers=bob)
    service.post("/v1/store/memories/forget", {"category": "general"}, headers=bob)
    for target, body in (("/v1/store/search", {"query": "tea"}), ("/v1/store/memories/list", {})):
        assert "green tea" not in service.post(target, body, headers=bob).text
        assert "green tea" in service.post(target, body, headers=alice).text


def test_files_of_users_are_apart(service):
    alice, bob = _basic("alice"), _basic("bob")
    file = "/v1/files/" + uploaded(service, b"hers", headers=alice)["file_id"]
    for target in (file, file + "/info", file + "/url"):
        assert service.get(target, headers=alice).status == 200
        assert service.get(target, headers=bob).status == 404


def test_live_sessions_of_users_are_apart(start_service):
    service = start_service(LIVE | {"auth": "nginx"}, files=_USERS, location=_BY_PASSWORD)
    client = LiveClient(service.port).start(headers=dict(_basic("alice")), thread_id="hers")
    client.type("hi")
    client.read_turn()
    client.send_json({"type": "close"})
    client.read_to_end()
    other = LiveClient(service.port).start(headers=dict(_basic("bob")), thread_id="hers")
    (error,) = other.read_to_end()
    assert (error["code"], error["fatal"], other.closed_with) == ("not_authorized", True, 1008)


def test_users_have_rate_limits_of_their_own(start_service):
    limit = {"requests": 2, "window": 3600, "by": "user"}
    service = start_service(_STORED | {"rate_limit": limit}, files=_USERS, location=_BY_PASSWORD)
    statuses = [service.get("/v1/threads", headers=_basic("alice")).status for _ in range(3)]
    assert statuses == [200, 200, 429]
    assert service.get("/v1/threads", headers=_basic("bob")).status == 200


# The user of a request


def test_headers_of_the_client_name_nobody(start_service):
    service = start_service(_SEEN, files=_USERS, location=_BY_PASSWORD)
    names = ("agent_graph_user", "Agent-Graph-User", "Remote-User", "X-User", "X-Remote-User", "User")
    forged = [(name, "bob") for name in names]
    target = "/v1/graph/invoke?agent_graph_user=bob&user_id=bob&token=bob"
    body = invocation("who?", config={"user_id": "bob", "user": {"user_id": "bob"}})
    reply = service.post(target, body, headers=_basic("alice") + forged)
    seen = json.loads(texts(reply.json()["data"]["messages"])[-1])
    assert seen["user"]["user_id"] == "alice" and seen["config"]["user_id"] == "alice"
    with _socket(service, _basic("alice") + forged) as socket:
        socket.send_json(body)
        chunks = socket.read_run()
    assert '"user_id":"alice"' in texts([each["message"] for each in chunks if each["message"]])[-1]
    assert _run(service, forged).status == 401


def test_nobody_is_refused(start_service):
    location = "set $nobody ''; agent_graph_user $nobody;"
    service = start_service(_STORED, location=location)
    for headers in ([], _basic("alice")):
        assert _code(_run(service, headers)) == "REVOKED_TOKEN"
        assert _code(upload(service, b"x", headers=headers)) == "REVOKED_TOKEN"
    with service.connect() as connection:
        connection.request("GET", "/v1/graph/ws", handshake_headers())
        assert _code(connection.read_reply()) == "REVOKED_TOKEN"
    for public in ("/ping", "/openapi.json", "/v1/evals/runs"):
        assert service.get(public).status == 200


_EARLY = {
    "limit_req": {
        "http": "limit_req_zone $remote_user zone=names:1m rate=100r/s;",
        "location": "limit_req zone=names burst=100; agent_graph_user $remote_user;",
    },
    "set": {"location": "set $seen $remote_user; agent_graph_user $remote_user;"},
    "set-of-the-user": {"location": "set $who $remote_user; agent_graph_user $who;"},
    "map": {
        "http": "map $remote_user $who { default $remote_user; }",
        "location": "set $seen $who; agent_graph_user $who;",
    },
    "subrequest": {
        "location": "auth_request /who; agent_graph_user $remote_user;",
        "server": "location = /who { internal; proxy_set_header X-User $remote_user;"
        " proxy_pass http://127.0.0.1:$server_port/name; } location = /name { return 204; }",
    },
}


@pytest.mark.one_host("each host logs it once")
@pytest.mark.parametrize(
    "configuration",
    [
        {"location": "agent_graph_user $remote_user;"},
        {"location": 'auth_basic off; agent_graph_user "$remote_user";'},
        *_EARLY.values(),
    ],
    ids=["without-auth_basic", "auth_basic-off", *_EARLY],
)
def test_a_name_whose_password_nobody_has_checked_is_refused(start_service, configuration):
    service = start_service(_STORED, files=_USERS, workers=1, **configuration)
    for _ in range(2):
        unchecked = [("Authorization", "Basic " + base64.b64encode(b"alice:wrong").decode())]
        assert _code(_run(service, unchecked)) == "REVOKED_TOKEN"
    assert len(service.error_log.lines(r"\[warn\].*no password was checked")) == 1


@pytest.mark.parametrize("configuration", _EARLY.values(), ids=_EARLY)
def test_a_name_may_be_used_before_its_password_is_checked(start_service, configuration):
    changed = configuration | {"location": _BASIC + configuration["location"]}
    service = start_service(_SEEN, files=_USERS, **changed)
    assert _user_seen(service, _basic("alice"))["user_id"] == "alice"
    unchecked = [("Authorization", "Basic " + base64.b64encode(b"alice:wrong").decode())]
    assert _run(service, unchecked).status == 401


def test_the_user_is_known_only_after_authentication(start_service):
    """auth_request_set gives the variable its value in the access phase."""
    service = start_service(
        _SEEN,
        location="auth_request /who; auth_request_set $who $upstream_http_x_user; agent_graph_user $who;",
        server="location = /who { internal; proxy_pass http://127.0.0.1:$server_port/name; }\n"
        "location = /name { if ($http_cookie = '') { return 401; } add_header X-User $http_cookie;"
        " return 204; }",
    )
    assert _user_seen(service, [("Cookie", "alice")])["user_id"] == "alice"
    assert _run(service, []).status == 401


@pytest.mark.parametrize("user", [" ", "x" * 1025, "\xff\xfe"], ids=["blank", "long", "latin-1"])
def test_unusable_names_are_refused(start_service, user):
    service = start_service(_SEEN, location="agent_graph_user '$http_x_user ';" if user == " " else _BY_HEADER)
    headers = [("X-User", user.strip()), ("X-Claims", "{}")]
    assert _code(_run(service, headers)) == "INVALID_TOKEN"


def test_the_directive_is_inherited(start_service):
    service = start_service(
        _SEEN,
        files=_USERS,
        prefix="/a/",
        http="    agent_graph_user $remote_user;\n",
        server=f"{_BASIC} location /b/ {{ agent_graph test; if ($arg_x) {{ set $y 1; }} }}",
    )
    for target in ("/a/v1/threads", "/b/v1/threads", "/b/v1/threads?x=1"):
        assert http1.fetch(service.port, "GET", target, _basic("alice")).status == 200


# Claims


@pytest.fixture
def by_header(start_service):
    return start_service(_SEEN, location=_BY_HEADER)


def _claims(claims, user="alice"):
    text = claims if isinstance(claims, str) else json.dumps(claims)
    return [("X-User", user), ("X-Claims", text)]


def test_claims_reach_the_graph(by_header):
    seen = _user_seen(by_header, _claims({"team": "blue", "roles": ["admin"], "user_id": "bob", "authz": 1}))
    assert seen.pop("authz") == {"user_id": "alice", "scope": "owner", "scopes": None}
    assert seen == {"team": "blue", "roles": ["admin"], "user_id": "alice"}


@pytest.mark.parametrize(
    "claims",
    ["", "[]", '"alice"', "{", '{"a": 1, "a": 2}', '{"a": "' + "x" * 16384 + '"}', "[" * 40 + "]" * 40],
    ids=["none", "array", "text", "broken", "duplicate", "large", "deep"],
)
def test_other_claims_are_refused(start_service, claims):
    service = start_service(_SEEN, location=_BY_HEADER, http="    large_client_header_buffers 4 20k;\n")
    assert _code(_run(service, _claims(claims))) == "INVALID_TOKEN"


def test_claims_decide_about_scopes(start_service):
    service = start_service(_STORED, location=_BY_HEADER)
    reader = _claims({"scopes": ["checkpointer:read"]})
    assert service.get("/v1/threads", headers=reader).status == 200
    assert _code(_run(service, reader)) == "PERMISSION_ERROR"


def test_claims_decide_about_roles(start_service):
    roles = {"backend": "rbac", "roles": {"reader": ["checkpointer:read"], "admin": ["*"]}}
    service = start_service(_STORED | {"authorization": roles}, location=_BY_HEADER)
    reader, admin = _claims({"role": "reader"}), _claims({"roles": ["admin"]}, "bob")
    assert _code(_run(service, reader)) == "PERMISSION_ERROR"
    assert _run(service, admin).status == 200
    assert service.get("/v1/threads", headers=reader).json()["data"]["threads"] == []


# Browsers send passwords and cookies for pages of other sites, too.


@pytest.mark.parametrize(
    "origin, allowed",
    [
        ("https://evil.example", False),
        ("null", False),
        ("http://localhost", True),
        ("http://localhost:3000", False),
        ("https://app.example", True),
    ],
)
def test_pages_of_other_sites_must_be_listed(start_service, origin, allowed):
    cors = {"cors": {"origins": ["*", "https://app.example"]}}
    service = start_service(_STORED | cors, files=_USERS, location=_BY_PASSWORD)
    headers = _basic("alice") + [("Origin", origin)]
    assert service.get("/v1/threads", headers=headers).status == 200
    ran = _run(service, headers)
    assert ran.status == 200 if allowed else _code(ran) == "PERMISSION_ERROR"
    with service.connect() as connection:
        connection.request("GET", "/v1/graph/ws", handshake_headers() + headers)
        assert connection.read_head().status == (101 if allowed else 403)
