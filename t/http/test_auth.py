"""Authentication and authorization against a real nginx."""

import json
import time

import pytest

from harness import environment
from harness.agents import behaviour
from harness.configuration import shipped_directive
from harness.messages import texts, tool_results
from harness.tokens import (
    JWT_ENVIRONMENT, SECRET, TOKEN_BYTES_MAX, bearer, signed, token, token_of,
)
from harness.waiting import wait_until
from harness.websocket import WebSocket, handshake_headers

_FILES = {"secrets.env": JWT_ENVIRONMENT}
_INVOKE = "/v1/graph/invoke"
_CALLER = f"{environment.BUILD}/t/graphs/caller.so:app"


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


# A worker remembers the tokens that it has verified


def test_a_token_that_was_used_is_refused_when_it_expires(start_guarded):
    service = start_guarded(workers=1)

    def accepted():
        """A token that was accepted; none if the machine was so slow that it had expired before."""
        headers = bearer(expires_in=3)
        return headers if service.get("/v1/graph", headers=headers).status == 200 else None

    short = wait_until(accepted, "a token is used before it expires")
    wait_until(lambda: service.get("/v1/graph", headers=short).status != 200, "the token expires")
    _assert_refused(service.get("/v1/graph", headers=short), 403, "EXPIRED_TOKEN")


def test_a_token_that_was_used_is_refused_after_the_key_was_changed(start_guarded):
    service = start_guarded(workers=1)
    headers = bearer()
    for _ in range(2):
        assert service.get("/v1/graph", headers=headers).status == 200
    other = SECRET[::-1]
    service.write("secrets.env", JWT_ENVIRONMENT.replace(SECRET, other))
    service.reload()
    _assert_refused(service.get("/v1/graph", headers=headers), 403, "INVALID_TOKEN")
    assert service.get("/v1/graph", headers=bearer(secret=other)).status == 200


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


def test_long_tokens(start_guarded):
    service = start_guarded(http=shipped_directive("large_client_header_buffers"))
    for size in (1000, 8 * 1024, TOKEN_BYTES_MAX):
        reply = service.get("/v1/graph", headers=[("Authorization", "Bearer " + token_of(size))])
        assert reply.status == 200, (size, reply.text)
    long = [("Authorization", "Bearer " + token_of(TOKEN_BYTES_MAX + 200))]
    _assert_refused(service.get("/v1/graph", headers=long), 403, "INVALID_TOKEN")


def test_duplicate_claims(start_guarded):
    service = start_guarded()
    for text in ('"user_id":"bob","user_id":"alice"', '"user_id":"alice","scopes":[],"scopes":["*"]',
                 '"user_id":"alice","org":{"role":"user","role":"admin"}'):
        good = signed('{"user_id":"alice","exp":%d}' % (time.time() + 60))
        bad = signed('{"exp":%d,%s}' % (time.time() + 60, text))
        assert service.get("/v1/graph", headers=[("Authorization", "Bearer " + good)]).status == 200
        reply = service.get("/v1/graph", headers=[("Authorization", "Bearer " + bad)])
        _assert_refused(reply, 403, "INVALID_TOKEN")


def test_tokens_of_the_query_are_not_for_http(start_guarded):
    reply = start_guarded().get(f"/v1/threads?token={token()}")
    assert _assert_refused(reply, 403, "REVOKED_TOKEN")["error_code"] == "REVOKED_TOKEN"


def test_public_routes_ignore_credentials(start_guarded):
    service = start_guarded()
    for target in ("/ping", "/v1/evals/runs", "/openapi.json", "/docs", "/redoc"):
        for headers in ([], [("Authorization", "Bearer nonsense")], bearer(expires_in=-1)):
            reply = service.get(target, headers=headers)
            assert reply.status == 200, (target, reply.text)
            assert reply.header("WWW-Authenticate") is None


def test_preflights_need_no_credential(start_guarded):
    service = start_guarded()
    for target in (_INVOKE, "/v1/threads/t", "/v1/files/upload"):
        headers = {"Origin": "https://any.example", "Access-Control-Request-Method": "POST",
                   "Access-Control-Request-Headers": "authorization"}
        reply = service.request("OPTIONS", target, headers=headers)
        assert reply.status == 204 and reply.body == b""
        assert reply.header("Access-Control-Allow-Origin") == "*"
        assert reply.header("Access-Control-Allow-Headers") == "authorization"
        assert reply.header("WWW-Authenticate") is None
    # The preflight needs no credential; the request does, and a page may read the refusal.
    reply = service.post(_INVOKE, _invocation("t"), headers={"Origin": "https://any.example"})
    _assert_refused(reply, 403, "REVOKED_TOKEN")
    assert reply.header("Access-Control-Allow-Origin") == "*"


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
    allowed = get(["graph:read"])
    assert allowed.status == 200 and allowed.header("WWW-Authenticate") is None
    assert get(None).status == 200
    assert get("graph:invoke").status == 200
    _assert_refused(get([]), 403, "PERMISSION_ERROR", missing)
    refused = get(["graph:invoke"])
    _assert_refused(refused, 403, "PERMISSION_ERROR", missing)
    # Another credential would not help, so none is requested.
    assert refused.header("WWW-Authenticate") is None


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
    ("GET", "/v1/observability/{id}", None, "read graph"),
    ("POST", "/v1/graph/stop", {"thread_id": "t"}, "stop graph"),
    ("POST", "/v1/graph/fix", {"thread_id": "t"}, "fix graph"),
    ("GET", "/v1/threads/{id}", None, "read checkpointer"),
    ("GET", "/v1/threads/{id}/state", None, "read checkpointer"),
    ("PUT", "/v1/threads/{id}/state", {"state": {}}, "write checkpointer"),
    ("DELETE", "/v1/threads/{id}/state", None, "delete checkpointer"),
    ("GET", "/v1/threads/{id}/messages", None, "read checkpointer"),
    ("POST", "/v1/threads/{id}/messages", {"messages": [{"role": "user", "content": "x"}]}, "write checkpointer"),
    ("GET", "/v1/threads/{id}/messages/m", None, "read checkpointer"),
    ("DELETE", "/v1/threads/{id}/messages/m", None, "delete checkpointer"),
    ("DELETE", "/v1/threads/{id}", {}, "delete checkpointer"),
]


@pytest.mark.parametrize(
    "authorization", ["ownership", {"type": "rbac", "default_scopes": ["*"], "roles": {"x": ["*"]}}]
)
def test_a_foreign_thread_is_refused_everywhere(start_guarded, authorization):
    if isinstance(authorization, dict):
        authorization["default_scopes"] = [
            f"{resource}:{action}"
            for resource, actions in {
                "graph": ("invoke", "stream", "read", "stop", "fix"),
                "checkpointer": ("read", "write", "delete"),
            }.items()
            for action in actions
        ]
    service = start_guarded(authorization)
    assert _run(service, "alice", "t").status == 200
    for _ in range(2):
        for method, target, body, what in _THREAD_ROUTES:
            reply = service.request(method, target.format(id="t"), body, headers=bearer("bob"))
            _assert_refused(reply, 403, "PERMISSION_ERROR", f"Not authorized to {what}")
        for action in ("invoke", "stream"):
            reply = service.post(f"/v1/graph/{action}", _invocation("t"), headers=bearer("bob"))
            _assert_refused(reply, 403, "PERMISSION_ERROR", f"Not authorized to {action} graph")
            assert reply.header("Content-Type") == "application/json"
    threads = service.get("/v1/threads", headers=bearer("bob")).json()["data"]["threads"]
    assert threads == []
    assert service.get("/v1/threads/t", headers=bearer("alice")).status == 200


def test_a_foreign_thread_costs_no_call_of_a_model(start_service, start_mock_provider):
    provider = start_mock_provider([{"match": {"userMessage": "hi"}, "response": {"content": "hello"}}])
    model = {"provider": "openai", "model": "m", "base_url": provider.base_url, "api_key": "key"}
    settings = _settings(authorization="ownership") | {
        "agent": "graphs/support.json:app", "models": {"default": model}}
    service = start_service(settings, files=_FILES)
    assert _run(service, "alice", "t").status == 200
    asked = len(provider.requests())
    assert asked
    for action in ("invoke", "stream"):
        reply = service.post(f"/v1/graph/{action}", _invocation("t"), headers=bearer("bob"))
        _assert_refused(reply, 403, "PERMISSION_ERROR", f"Not authorized to {action} graph")
    with WebSocket(service.port) as socket:
        socket.upgrade_with("/v1/graph/ws", handshake_headers() + bearer("bob"))
        socket.send_json(_invocation("t"))
        assert socket.read_run()[0]["data"]["reason"] == "Not authorized to stream graph"
    assert len(provider.requests()) == asked
    assert _run(service, "alice", "t").status == 200
    assert len(provider.requests()) > asked


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
    # Now every worker has cached alice as the owner.
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


def test_production_names_the_missing_scope(start_service):
    files = {"secrets.env": JWT_ENVIRONMENT + "MODE=production\n"}
    reply = start_service(_settings(), files=files).get("/v1/graph", headers=bearer(scopes=["x:y"]))
    _assert_refused(reply, 403, "PERMISSION_ERROR", "Missing required scope: graph:read")


@pytest.mark.parametrize("mode", ["", "MODE=production\n"])
def test_without_authentication_nothing_is_checked(start_service, mode):
    settings = behaviour("echo", auth=None, authorization="ownership", env="mode.env")
    service = start_service(settings | {"agent": _CALLER}, files={"mode.env": mode})
    forged = {"user": {"user_id": "root"}, "user_id": "root", "authz": {"scope": "none"}}
    for headers in ([], [("Authorization", "Bearer nonsense")], bearer("alice")):
        body = _invocation("t")
        body["config"] |= forged
        reply = service.post(_INVOKE, body, headers=headers)
        assert reply.status == 200
        seen = json.loads(texts(reply.json()["data"]["messages"])[-1])
        assert seen["user"] == seen["config"]["user"] == {}
        assert seen["config"]["user_id"] == "anonymous" and "authz" not in seen["config"]
    thread = service.get("/v1/threads/t").json()["data"]["thread_data"]
    assert thread["user_id"] is None


def test_a_forged_identity_reaches_no_node(start_service):
    settings = _settings(authorization="ownership") | {"agent": _CALLER}
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


def test_a_forged_identity_reaches_no_tool_and_no_store(start_service):
    settings = _settings(authorization="ownership", store="leveldb", embedding="hash")
    settings |= {"agent": _CALLER.replace(":app", ":tool"), "models": {"default": {"provider": "demo"}}}
    service = start_service(settings, files=_FILES)

    def look(user, config):
        body = _invocation(f"of {user}", 'call look {"note": "note of %s"}' % user)
        body["config"] |= config
        reply = service.post(_INVOKE, body, headers=bearer(user, authz=config.get("authz")))
        assert reply.status == 200, reply.text
        (result,) = tool_results(reply.json()["data"]["messages"])
        output = result["output"]
        return json.loads(output) if isinstance(output, str) else output

    look("alice", {})
    forged = {"user_id": "alice", "scope": "none", "scopes": None}
    seen = look("bob", {"user": {"user_id": "alice"}, "user_id": "alice", "authz": forged, "_x": 1, "k": 2})
    assert seen["user"]["user_id"] == "bob" and seen["config"]["user"] == seen["user"]
    assert seen["user"]["authz"] == {"user_id": "bob", "scope": "owner", "scopes": None}
    assert seen["config"]["user_id"] == "bob" and seen["config"]["k"] == 2
    assert not {"authz", "_x"} & set(seen["config"])
    assert seen["memories"] == ["note of bob"]
