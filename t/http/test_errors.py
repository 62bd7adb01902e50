"""Errors, headers of every answer, CORS, and error messages of nginx -t about service.json."""

import pytest

from harness import http2
from harness.agents import DEMO, behaviour
from harness.messages import user
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.waiting import wait_until
from harness.websocket import WebSocket

_INVOKE = "/v1/graph/invoke"


def _assert_error(reply, status, code):
    assert reply.status == status, reply.text
    assert reply.header("Content-Type") == "application/json"
    body = reply.json()
    assert isinstance(body["detail"], str) and body["detail"]
    assert body["error"]["code"] == code
    assert body["error"]["message"] == body["detail"] == body["metadata"]["message"]
    assert isinstance(body["error"]["details"], list)
    assert body["metadata"]["request_id"] == reply.header("X-Request-ID")
    assert body["metadata"]["timestamp"]
    assert reply.header("Access-Control-Allow-Origin")
    assert reply.header("X-Timestamp")


@pytest.mark.parametrize("prefix", ["/", "/support/"])
def test_every_error_has_the_envelope(start_service, prefix):
    service = start_service(behaviour("throwing", limits={"json_bytes_max": 2048}), prefix=prefix)
    _assert_error(service.get("/nowhere"), 404, "RESOURCE_NOT_FOUND")
    _assert_error(service.get("/v1/graph//"), 404, "RESOURCE_NOT_FOUND")
    _assert_error(service.get(_INVOKE), 405, "METHOD_NOT_ALLOWED")
    _assert_error(service.post(_INVOKE, "{"), 422, "VALIDATION_ERROR")
    _assert_error(service.post(_INVOKE, "x" * 3000), 413, "REQUEST_TOO_LARGE")
    _assert_error(service.invoke("x"), 500, "GRAPH_ERROR")
    _assert_error(service.get("/v1/threads/none"), 404, "RESOURCE_NOT_FOUND")
    assert service.get("/ping").json()["data"] == "pong"


def test_errors_on_http2(start_service):
    service = start_service(DEMO, http2=True)
    reply = http2.fetch(service.http2_port, "GET", "/nowhere")
    assert reply.status == 404 and reply.json()["error"]["code"] == "RESOURCE_NOT_FOUND"
    reply = http2.fetch(service.http2_port, "POST", _INVOKE, body={"messages": []})
    assert reply.status == 422 and reply.json()["error"]["details"]


def test_what_nginx_answers_is_not_answered_again(start_service):
    """The request continues while its body is discarded, for longer than its run may take."""
    service = start_service(
        DEMO | {"auth": "jwt", "env": "secrets.env"},
        files={"secrets.env": JWT_ENVIRONMENT},
        http="log_format outcome '$status $agent_graph_outcome';\n",
        location="client_max_body_size 2k; agent_graph_run_timeout 1s; lingering_timeout 3s;"
        "access_log logs/outcome.log outcome;",
    )
    log = service.directory / "logs" / "outcome.log"

    def answered_by_nginx():
        with service.connect() as connection:
            chunked = [("Transfer-Encoding", "chunked"), ("Expect", "100-continue")]
            connection.request("POST", _INVOKE, bearer() + chunked)
            assert connection.read_head().status == 100
            connection.send(b"1000\r\n" + b"x" * 4096 + b"\r\n")
            reply = connection.read_reply()
            if reply.status == 504:  # on a loaded machine the run has timed out
                return False
            _assert_error(reply, 413, "REQUEST_TOO_LARGE")
            assert connection.is_closed_by_server()
            return True

    wait_until(answered_by_nginx, "nginx answers before the run's time is over")
    wait_until(lambda: log.read_text().endswith("413 rejected\n"), "it is logged")
    assert log.read_text().count("413") == 1


@pytest.mark.parametrize("body", ["{", "", "[]", "null", "5", '"text"', '{"messages": [}', b"\xff\xfe"])
def test_bad_json_names_the_body(start_service, body):
    service = start_service(DEMO)
    for route in (_INVOKE, "/v1/graph/stream", "/v1/threads/t/messages"):
        reply = service.post(route, body)
        _assert_error(reply, 422, "VALIDATION_ERROR")
        assert reply.json()["error"]["details"][0]["loc"] == ["body"]


def test_deep_and_wide_json_is_refused(start_service):
    service = start_service(DEMO)
    deep = '{"messages":' + "[" * 5000 + "]" * 5000 + "}"
    wide = '{"messages":[' + "0," * 150_000 + "0]}"
    for body in (deep, wide):
        _assert_error(service.post(_INVOKE, body), 422, "VALIDATION_ERROR")
    assert service.invoke("still here").status == 200


def test_a_problem_is_named_by_its_path(start_service):
    reply = start_service(DEMO).post(_INVOKE, {"messages": [user("x"), {"role": "king"}]})
    details = reply.json()["error"]["details"]
    assert details[0]["loc"][:3] == ["body", "messages", "1"]
    assert all(isinstance(part, str) for detail in details for part in detail["loc"])


@pytest.mark.parametrize(
    "body, words",
    [
        ({"messages": [user("x")], "initial_state": {"context_summary": 5}}, "context_summary"),
        ({"messages": [{"role": "tool", "content": "24 degrees"}]}, "no tool call waits"),
    ],
)
def test_what_a_run_refuses_has_details(start_service, body, words):
    service = start_service(DEMO)
    for route in (_INVOKE, "/v1/graph/stream"):
        reply = service.post(route, body)
        _assert_error(reply, 422, "VALIDATION_ERROR")
        (detail,) = reply.json()["error"]["details"]
        assert detail["loc"] == ["body"] and words in detail["msg"]
    listing = service.get("/v1/threads?cursor=nonsense")
    assert listing.status == 422 and listing.json()["error"]["details"][0]["loc"] == ["query"]


def test_large_message_is_refused(start_service):
    service = start_service(DEMO)
    assert service.invoke("x" * 1_100_000).status == 422
    assert service.invoke("x" * 900_000).status == 200


def test_request_ids(start_service):
    service = start_service(DEMO)
    for target in ("/ping", "/v1/graph", "/nowhere"):
        taken = service.get(target, headers={"X-Request-ID": "my-id_7"})
        assert taken.header("X-Request-ID") == "my-id_7"
        assert taken.json()["metadata"]["request_id"] == "my-id_7"
        made = [service.get(target, headers={"X-Request-ID": "no good!"}) for _ in range(2)]
        ids = {reply.header("X-Request-ID") for reply in made}
        assert len(ids) == 2 and "no good!" not in ids


def test_security_headers(start_service):
    names = ["X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "Permissions-Policy",
             "Content-Security-Policy", "X-XSS-Protection"]
    on = start_service(DEMO)
    off = start_service(DEMO | {"security_headers": False})
    for target in ("/ping", "/v1/graph", "/nowhere"):
        assert all(on.get(target).header(name) for name in names)
        assert not any(off.get(target).header(name) for name in names)


def test_cors(start_service):
    anywhere = start_service(DEMO)
    listed = start_service(
        DEMO | {"cors": {"origins": ["https://app.example"], "credentials": True}}
    )
    for target in ("/ping", "/v1/graph", "/nowhere", "/v1/threads/0"):
        reply = anywhere.get(target, headers={"Origin": "https://any.example"})
        assert reply.header("Access-Control-Allow-Origin") == "*"
        assert reply.header("Access-Control-Allow-Credentials") is None
        assert "X-Request-ID" in reply.header("Access-Control-Expose-Headers")
        reply = listed.get(target, headers={"Origin": "https://app.example"})
        assert reply.header("Access-Control-Allow-Origin") == "https://app.example"
        assert reply.header("Access-Control-Allow-Credentials") == "true"
        assert reply.header("Vary") == "Origin"
        reply = listed.get(target, headers={"Origin": "https://evil.example"})
        assert reply.header("Access-Control-Allow-Origin") is None


def test_preflight(start_service):
    service = start_service(DEMO)
    for target in (_INVOKE, "/v1/threads/t/state", "/ping"):
        reply = service.request("OPTIONS", target, headers={
            "Origin": "https://any.example", "Access-Control-Request-Method": "PUT",
            "Access-Control-Request-Headers": "authorization, content-type, x-team",
        })
        assert reply.status == 204 and reply.body == b""
        assert reply.header("Access-Control-Allow-Origin") == "*"
        assert "PUT" in reply.header("Access-Control-Allow-Methods")
        assert reply.header("Access-Control-Allow-Headers") == "authorization, content-type, x-team"
        assert reply.header("X-Request-ID")


def test_head_has_the_head_of_get(start_service):
    service = start_service(DEMO)
    for target in ("/ping", "/v1/graph", "/v1/threads"):
        reply = service.request("HEAD", target)
        assert reply.status == 200 and reply.body == b""
        assert reply.header("Content-Type") == "application/json"


def test_double_slash_of_a_base_url(start_service):
    service = start_service(DEMO)
    assert service.get("//v1/graph").status == 200
    assert service.get("//ping").status == 200


@pytest.mark.parametrize("prefix", ["/", "/support/"])
def test_a_slash_at_the_end_of_a_path(start_service, prefix):
    service = start_service(DEMO, prefix=prefix)
    reply = service.post(_INVOKE + "/", {"messages": [user("x")], "config": {"thread_id": "t"}})
    assert reply.status == 200
    assert [one["thread_id"] for one in service.get("/v1/threads/").json()["data"]["threads"]] == ["t"]
    for path in ("/ping", "/v1/graph", "/v1/threads/t", "/v1/threads/t/state", "/v1/threads/t/messages"):
        plain, slashed = service.get(path), service.get(path + "/")
        assert slashed.status == plain.status == 200
        assert slashed.json()["data"] == plain.json()["data"]
    with WebSocket(service.port).upgrade(service.prefix + "/v1/graph/ws/") as socket:
        socket.send_json({"messages": [user("x")]})
        assert socket.read_run()
    # A trailing slash is not an empty id, and a second one belongs to the path.
    _assert_error(service.request("DELETE", "/v1/threads/", {}), 405, "METHOD_NOT_ALLOWED")
    _assert_error(service.get("/v1/threads//state"), 422, "VALIDATION_ERROR")
    _assert_error(service.get("/v1/threads//state/"), 422, "VALIDATION_ERROR")
    _assert_error(service.get("/v1/threads//"), 404, "RESOURCE_NOT_FOUND")
    assert service.get("/v1/threads/t").status == 200


_WRONG_FILES = {
    "wrong.env": "CURL_CA_BUNDLE=/nonexistent\n",
    "graphs/twice.json": '{"app": {"nodes": [{"name": "A", "name": "B", "type": "agent"}]}}',
    "graphs/comma.json": '{"app": {"nodes": [\n  {"name": "A", "type": "agent"},\n  ]}}',
    "graphs/cut.json": '{"app":\n',
    "graphs/summary.json": """{"app": {"nodes": [{"name": "A", "type": "agent"}],
        "edges": [{"from": "START", "to": "A"}],
        "context": {"messages_max": 5, "summarize": true, "summary_model": "small"}}}""",
    "graphs/escapes.json": '{"app": {"nodes": [{"name": "A", "type": "agent", "\\u001b[31mx\\ny": 1}]}}',
}


@pytest.mark.parametrize("settings, words", [
    ({"checkpionter": {}}, ["checkpionter", "checkpointer"]),
    ({"checkpointer": {"type": "postgres"}}, ["checkpointer: ", "postgres", "needs the url"]),
    ({"checkpointer": {"type": "postgres", "url": "postgresql://u:s3cret@h:0/d"}},
     ["checkpointer.url: must have a port from 1 to 65535"]),
    ({"checkpointer": {"type": "postgres", "url": "postgresql://u:s3cret@h/d?sslmode=on"}},
     ["checkpointer.url: sslmode is not one of disable"]),
    pytest.param({"media": {"storage_type": "pg"}}, ["media.storage_type", "checkpointer.type to postgres"],
                 marks=pytest.mark.leveldb("another checkpointer is refused")),
    ({"websocket": {"max_connections": -1}}, ["websocket.max_connections"]),
    ({"store": {"type": "pg"}}, ["store.type", "pg", "leveldb, memory, postgres, none"]),
    ({"rate_limit": {"backend": "redis"}}, ["rate_limit.redis", "REDIS_URL"]),
    ({"rate_limit": {"backend": "redis", "redis": "http://x"}}, ["rate_limit.redis"]),
    ({"rate_limit": {"backend": "custom"}}, ["rate_limit.backend", "not available"]),
    ({"limits": {"runs_max": 0}}, ["limits.runs_max", "1 to 16000"]),
    ("{\n  \"agent\": \"x\",\n  \"store\" \"memory\"\n}", ["service.json:3:11: not valid JSON"]),
    ('{"agent": "x",\n "agent": "y"}', ["service.json:2:2: agent: is there twice"]),
    ({"agent": "graphs/comma.json:app"}, ["graphs/comma.json:3:3: not valid JSON"]),
    ({"agent": "graphs/cut.json:app"}, ["graphs/cut.json:2:1: not valid JSON"]),
    ({"models": {"m": {"provider": "demo"}}},
     ['graphs/support.json: app: node "MAIN" asks the model "default"', "not configured", "demo, m"]),
    ({"agent": "graphs/supervisor.json:app", "models": {"m": {"provider": "demo"}}},
     ['supervisor.json: app: node "SUPERVISOR" asks the model "default"', "demo, m"]),
    ({"agent": "graphs/summary.json:app"},
     ["summary.json: app: the summary of its context", '"small"', "default, demo"]),
    ({"agent": "graphs/live.json:app", "models": {"m": {"provider": "demo"}}},
     ['live.json: app: node "VOICE" asks the model "default"', "not configured", "demo, m"]),
    ({"env": "wrong.env"}, ["CURL_CA_BUNDLE", "cannot read /nonexistent", "No such file"]),
    ({"redis": "http://x"}, ["redis", "redis://"]),
    ({"a\n\u001b[31mb": 1}, ['"a\\n\\u001b[31mb": unknown key']),
    ({"agent": "graphs/twice.json:app"}, ["app.nodes.0.name: is there twice"]),
    ({"agent": "graphs/escapes.json:app"}, ["unknown key"]),
    ({"models": {"default": {"provider": "demo", "api_key": "${UNSET_KEY}"}}},
     ["models.default.api_key", "UNSET_KEY"]),
])
def test_configuration_errors(make_service, settings, words):
    text = settings if isinstance(settings, str) else DEMO | settings
    service = make_service(text, files=_WRONG_FILES)
    printed = service.refusal()
    assert "\x1b" not in printed
    (line,) = [line for line in printed.splitlines() if "[emerg]" in line]
    for word in words + ["service.json"]:
        assert word in line


def test_mode(make_service):
    service = make_service(DEMO)
    service.error_log.allow(r"\[emerg\]")
    for mode, accepted in (("production", True), ("development", True), ("prod", False), ("", False)):
        result, printed = service.test_configuration(extra_environment={"MODE": mode})
        assert result is accepted, printed
        assert accepted or "production, development" in printed


def test_environment_file_and_secrets(make_service):
    settings = DEMO | {"env": "secrets.env",
                       "models": {"default": {"provider": "demo", "base_url": "${SECRET_URL}"}}}
    service = make_service(settings, files={"secrets.env": "SECRET_URL=not-an-url-but-secret\n"})
    printed = service.refusal()
    assert "base_url" in printed
    assert "not-an-url-but-secret" not in printed
    service.write("secrets.env", "SECRET_URL=http://127.0.0.1:9\n")
    accepted, printed = service.test_configuration()
    assert accepted, printed


def test_scopes_that_nothing_asks_for_are_told(make_service):
    block = {"backend": "rbac", "roles": {"all": ["*"], "some": ["graph:invoke", "grpah:stream"]},
             "default_scopes": ["files:read", "graph:*"]}
    accepted, printed = make_service(DEMO | {"authorization": block}).test_configuration()
    lines = [line for line in printed.splitlines() if "scope" in line]
    assert accepted and len(lines) == 2 and all("[warn]" in line for line in lines)
    assert 'roles.some: no route requires the scope "grpah:stream"' in lines[0]
    assert 'default_scopes: no route requires the scope "graph:*"' in lines[1]


def test_foreign_keys_are_accepted_with_a_warning(start_service):
    service = start_service(DEMO | {"injectq": "a:b"})
    assert service.invoke("x").status == 200
    accepted, printed = service.test_configuration()
    (line,) = [line for line in printed.splitlines() if "injectq" in line]
    assert accepted and "[warn]" in line and "no effect" in line
