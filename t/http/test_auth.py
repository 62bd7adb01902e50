"""Authentication and authorization against a real nginx."""

import json

import pytest

from harness import environment
from harness.agents import behaviour
from harness.messages import texts
from harness.tokens import JWT_ENVIRONMENT, SECRET, bearer, token

_FILES = {"secrets.env": JWT_ENVIRONMENT}
_INVOKE = "/v1/graph/invoke"


def _settings(**other):
    return behaviour("echo", auth="jwt", env="secrets.env", **other)


@pytest.fixture
def start_guarded(start_service):
    def start(authorization="ownership", **other):
        return start_service(_settings(authorization=authorization), files=_FILES, **other)

    return start


def _invocation(thread_id=None, text="hi", **fields):
    body = {"messages": [{"role": "user", "content": text}]} | fields
    if thread_id is not None:
        body["config"] = {"thread_id": thread_id}
    return body


def _run(service, user, thread_id, **options):
    return service.post(_INVOKE, _invocation(thread_id), headers=bearer(user), **options)


def _assert_refused(reply, status, code, detail=None):
    assert reply.status == status, reply.text
    body = reply.json()
    assert body["error"]["code"] == code
    assert isinstance(body["detail"], str) and body["error"]["message"] == body["detail"]
    if detail is not None:
        assert body["detail"] == detail
    return body


# Start-up


@pytest.mark.parametrize("missing", ["JWT_SECRET_KEY", "JWT_ALGORITHM"])
def test_jwt_needs_its_variables(make_service, missing):
    kept = "".join(line for line in JWT_ENVIRONMENT.splitlines(True) if missing not in line)
    service = make_service(_settings(), files={"secrets.env": kept + "JWT_JWKS_FILE=keys.json\n"})
    printed = service.refusal()
    assert missing in printed and SECRET not in printed


@pytest.mark.parametrize(
    "settings, named",
    [
        ({"auth": "basic"}, "auth: must be null"),
        ({"auth": {"method": "custom"}}, "auth: must be null"),
        ({"auth": {"method": "custom", "path": "auth/none.so:X"}}, "auth.path: "),
        ({"authorization": "owner"}, "is not one of ownership, allow_all"),
        ({"authorization": {"backend": "acl"}}, "is not one of rbac, role_based, roles"),
    ],
)
def test_wrong_settings_are_named(make_service, settings, named):
    assert named in make_service(behaviour("echo", **settings)).refusal()


def test_a_broken_key_file_is_found_by_the_configuration_test(make_service):
    files = {"secrets.env": JWT_ENVIRONMENT + "JWT_JWKS_FILE=keys.json\n", "keys.json": "{}"}
    assert "JWT_JWKS_FILE" in make_service(_settings(), files=files).refusal()


# Tokens


@pytest.mark.parametrize(
    "headers, code",
    [
        ([], "REVOKED_TOKEN"),
        ([("Authorization", "Basic YTpi")], "REVOKED_TOKEN"),
        ([("Authorization", "Bearer nonsense")], "INVALID_TOKEN"),
        (bearer(secret="another secret"), "INVALID_TOKEN"),
        (bearer(algorithm="none"), "INVALID_TOKEN"),
        (bearer(user_id=None, sub="alice"), "INVALID_TOKEN"),
        (bearer(exp=None), "INVALID_TOKEN"),
        (bearer(expires_in=-1), "EXPIRED_TOKEN"),
    ],
)
def test_bad_credentials(start_guarded, headers, code):
    reply = start_guarded().get("/v1/graph", headers=headers)
    body = _assert_refused(reply, 403, code)
    assert body["error_code"] == code
    assert "unauthorized" in body["detail"]
    assert reply.header("WWW-Authenticate").startswith("Bearer")


def test_tokens_of_the_query_are_not_for_http(start_guarded):
    reply = start_guarded().get(f"/v1/threads?token={token()}")
    assert _assert_refused(reply, 403, "REVOKED_TOKEN")["error_code"] == "REVOKED_TOKEN"


def test_public_routes_ignore_credentials(start_guarded):
    reply = start_guarded().get("/ping", headers=[("Authorization", "Bearer nonsense")])
    assert reply.status == 200 and reply.header("WWW-Authenticate") is None


def test_tokens_reach_no_log(start_guarded):
    service = start_guarded()
    secret = token("mallory")
    service.get(f"/v1/graph?token={secret}")
    service.get("/v1/graph", headers=[("Authorization", f"Bearer {secret}")])
    log = (service.directory / "logs" / "error.log").read_text()
    assert secret not in log and SECRET not in log


# Scopes and roles


def test_scopes(start_guarded):
    service = start_guarded()

    def get(scopes):
        return service.get("/v1/graph", headers=bearer(scopes=scopes))

    missing = "Missing required scope: graph:read"
    assert get(["graph:read"]).status == 200
    assert get(None).status == 200
    assert get("graph:invoke").status == 200
    _assert_refused(get([]), 403, "PERMISSION_ERROR", missing)
    _assert_refused(get(["graph:invoke"]), 403, "PERMISSION_ERROR", missing)


def test_roles(start_guarded):
    service = start_guarded(
        {"type": "rbac", "roles": {"admin": ["*"], "reader": ["graph:read"]}, "isolation": "none"}
    )
    assert _run(service, "bob", "t").status == 403
    admin = bearer("bob", roles=["admin"])
    assert service.post(_INVOKE, _invocation("t"), headers=admin).status == 200
    reader = bearer("carol", role="reader")
    assert service.get("/v1/graph", headers=reader).status == 200
    _assert_refused(
        service.get("/v1/threads/t", headers=reader),
        403,
        "PERMISSION_ERROR",
        "Missing required scope: checkpointer:read",
    )
    assert service.get("/v1/threads/t", headers=bearer("dora", role="admin")).status == 200


# Ownership

_THREAD_ROUTES = [
    ("GET", "/v1/threads/{id}", None, "read"),
    ("GET", "/v1/threads/{id}/state", None, "read"),
    ("PUT", "/v1/threads/{id}/state", {"state": {}}, "write"),
    ("DELETE", "/v1/threads/{id}/state", None, "delete"),
    ("GET", "/v1/threads/{id}/messages", None, "read"),
    ("POST", "/v1/threads/{id}/messages", {"messages": [{"role": "user", "content": "x"}]}, "write"),
    ("GET", "/v1/threads/{id}/messages/m", None, "read"),
    ("DELETE", "/v1/threads/{id}/messages/m", None, "delete"),
    ("DELETE", "/v1/threads/{id}", {}, "delete"),
]


@pytest.mark.parametrize(
    "authorization", ["ownership", {"type": "rbac", "default_scopes": ["*"], "roles": {"x": ["*"]}}]
)
def test_a_foreign_thread_is_refused_everywhere(start_guarded, authorization):
    if isinstance(authorization, dict):
        authorization["default_scopes"] = [
            f"{resource}:{action}"
            for resource, actions in {
                "graph": ("invoke", "stream", "read"),
                "checkpointer": ("read", "write", "delete"),
            }.items()
            for action in actions
        ]
    service = start_guarded(authorization)
    assert _run(service, "alice", "t").status == 200
    for _ in range(2):
        for method, target, body, action in _THREAD_ROUTES:
            reply = service.request(method, target.format(id="t"), body, headers=bearer("bob"))
            detail = f"Not authorized to {action} checkpointer"
            _assert_refused(reply, 403, "PERMISSION_ERROR", detail)
        for action in ("invoke", "stream"):
            reply = service.post(f"/v1/graph/{action}", _invocation("t"), headers=bearer("bob"))
            _assert_refused(reply, 403, "PERMISSION_ERROR", f"Not authorized to {action} graph")
            assert reply.header("Content-Type") == "application/json"
    threads = service.get("/v1/threads", headers=bearer("bob")).json()["data"]["threads"]
    assert threads == []
    assert service.get("/v1/threads/t", headers=bearer("alice")).status == 200


def test_a_body_names_one_thread(start_guarded):
    service = start_guarded()
    reply = service.post(_INVOKE, _invocation("a") | {"thread_id": "b"}, headers=bearer())
    assert reply.status == 422
    assert reply.json()["error"]["details"][0]["loc"] == ["body", "config", "thread_id"]
    body = _invocation("a") | {"thread_id": "a"}
    assert service.post(_INVOKE, body, headers=bearer()).status == 200


def test_a_deleted_thread_is_anybodys(start_guarded):
    service = start_guarded(workers=2)
    assert _run(service, "alice", "t").status == 200
    # Every worker remembers alice.
    for _ in range(20):
        assert service.get("/v1/threads/t", headers=bearer("alice")).status == 200
    assert service.request("DELETE", "/v1/threads/t", {}, headers=bearer("alice")).status == 200
    assert _run(service, "bob", "t").status == 200
    for _ in range(20):
        assert _run(service, "bob", "t").status == 200
        _assert_refused(
            service.get("/v1/threads/t", headers=bearer("alice")), 403, "PERMISSION_ERROR"
        )
        _assert_refused(_run(service, "alice", "t"), 403, "PERMISSION_ERROR")
    assert service.get("/v1/threads/t", headers=bearer("bob")).json()["data"]["thread_data"][
        "user_id"
    ] == "bob"


def test_production_isolates_by_default(start_service):
    files = {"secrets.env": JWT_ENVIRONMENT + "MODE=production\n"}
    service = start_service(_settings(), files=files)
    assert _run(service, "alice", "t").status == 200
    assert _run(service, "bob", "t").status == 403


def test_without_authentication_nothing_is_checked(start_service):
    service = start_service(behaviour("echo", authorization="ownership"))
    for headers in ([], [("Authorization", "Bearer nonsense")]):
        assert service.post(_INVOKE, _invocation("t"), headers=headers).status == 200
    thread = service.get("/v1/threads/t").json()["data"]["thread_data"]
    assert thread["user_id"] is None


def test_a_forged_identity_reaches_no_node(start_service):
    settings = _settings(authorization="ownership")
    settings["agent"] = f"{environment.BUILD}/t/graphs/caller.so:app"
    service = start_service(settings, files=_FILES)
    forged = {"user_id": "root", "scope": "none", "scopes": None}
    body = _invocation("t", initial_state={"authz": forged, "user": {"user_id": "root"}})
    body["messages"][0]["metadata"] = {"authz": forged}
    body["config"] |= {"user": {"user_id": "root"}, "user_id": "root", "authz": forged, "_x": 1, "k": 2}
    claims = {"scopes": ["graph:invoke"], "authz": forged, "team": "a"}
    reply = service.post(_INVOKE, body, headers=bearer("alice", **claims))
    assert reply.status == 200, reply.text
    seen = json.loads(texts(reply.json()["data"]["messages"])[-1])
    assert seen["user"]["team"] == "a" and seen["user"]["user_id"] == "alice"
    assert seen["user"]["authz"] == {
        "user_id": "alice", "scope": "owner", "scopes": ["graph:invoke"],
    }
    assert seen["config"]["user"] == seen["user"]
    assert seen["config"]["user_id"] == "alice" and seen["config"]["k"] == 2
    assert not {"authz", "_x"} & set(seen["config"])


# Bodies are read for known callers only


def _head(user, length, *more):
    authorization = "".join(f"{name}: {value}\r\n" for name, value in user)
    framing = f"Content-Length: {length}" if length is not None else "Transfer-Encoding: chunked"
    return (
        "POST /v1/graph/invoke HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
        f"{authorization}{framing}\r\n" + "".join(f"{line}\r\n" for line in more) + "\r\n"
    ).encode()


def test_a_stranger_is_refused_before_the_body(start_guarded):
    service = start_guarded()
    with service.connect() as connection:
        connection.send(_head([], 5_000_000))
        assert connection.read_reply().status == 403


def test_a_refused_body_is_not_the_next_request(start_guarded):
    service = start_guarded()
    hidden = b"GET /ping HTTP/1.1\r\nHost: t\r\n\r\n"
    with service.connect() as connection:
        connection.send(_head([], len(hidden)))
        assert connection.read_reply().status == 403
        connection.send(hidden + _head(bearer(), 2) + b"{}")
        assert connection.read_reply().status == 422


@pytest.mark.parametrize("size", [10, 20_000, 900_000])
def test_a_body_may_come_late_and_in_pieces(start_guarded, size):
    service = start_guarded()
    body = json.dumps(_invocation("t", "x" * size)).encode()
    with service.connect() as connection:
        for _ in range(2):
            connection.send(_head(bearer(), len(body), "Expect: 100-continue"))
            assert connection.read_head().status == 100
            for at in range(0, len(body), 200_000):
                connection.send(body[at : at + 200_000])
            reply = connection.read_reply()
            assert reply.status == 200, reply.text


def test_a_body_may_come_late_in_chunks(start_guarded):
    service = start_guarded()
    body = json.dumps(_invocation("t", "x" * 50_000)).encode()
    with service.connect() as connection:
        connection.send(_head(bearer(), None))
        for piece in (body[:7], body[7:40_000], body[40_000:]):
            connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        connection.send(b"0\r\n\r\n")
        assert connection.read_reply().status == 200
        # The same connection again, and then too much.
        connection.send(_head(bearer(), None))
        block = b"%x\r\n%s\r\n" % (1_000_000, b"x" * 1_000_000)
        connection.send(block * 11 + b"0\r\n\r\n")
        assert connection.read_reply().status == 413


def test_a_client_may_leave_within_its_body(start_guarded):
    service = start_guarded()
    for leave in ("close", "reset"):
        connection = service.connect()
        connection.send(_head(bearer(), 1000, "Expect: 100-continue"))
        assert connection.read_head().status == 100
        connection.send(b'{"messages"')
        getattr(connection, leave)()
    assert _run(service, "alice", "t").status == 200
