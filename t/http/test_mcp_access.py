"""The agent as a server of the Model Context Protocol: users, tokens, and pages of other origins."""

import pytest

from harness.agents import DEMO
from harness.mcp_client import FORMS, PATH, Client, Session, Stateless, error_of, request, result_of
from harness.tokens import JWT_ENVIRONMENT, bearer

_WELL_KNOWN = PATH + "/.well-known/oauth-protected-resource"


@pytest.fixture
def guard(start_service):
    """guard(…) starts a service that wants tokens; the arguments are keys of facades.mcp."""

    def start(**keys):
        settings = DEMO | {
            "auth": "jwt", "env": "secrets.env", "authorization": "ownership", "facades": {"mcp": keys or True},
        }
        return start_service(settings, files={"secrets.env": JWT_ENVIRONMENT}, workers=2)

    return start


# Users


def test_users_see_their_own_threads_only(guard):
    service = guard()
    for era in (Stateless, Session):
        alice, bob = era(service, bearer("alice")), era(service, bearer("bob"))
        thread_id = alice.answer("hello", "support")["thread_id"]
        uri = f"agent-graph://threads/{thread_id}"
        assert uri in [r["uri"] for r in result_of(alice.ask("resources/list"))["resources"]]
        assert result_of(bob.ask("resources/list"))["resources"] == []
        foreign, missing = (
            error_of(bob.ask("resources/read", {"uri": place})) for place in (uri, uri + "x")
        )
        assert foreign | {"data": None} == missing | {"data": None}
        refused = result_of(bob.call("support", {"message": "hello", "thread_id": thread_id}))
        assert refused["isError"] is True
    messages = service.get(f"/v1/threads/{thread_id}/messages", headers=bearer("alice")).json()["data"]["messages"]
    assert len(messages) == 2


def test_a_session_belongs_to_its_user(guard):
    service = guard()
    alice, bob = Session(service, bearer("alice")), Session(service, bearer("bob"))
    stream = alice.open("tools/call", {"name": "support", "arguments": {"message": "hello", "thread_id": "t"}})
    event = stream.next()
    stream.rest()
    stolen = [*bearer("bob"), ("Mcp-Session-Id", alice.id)]
    assert error_of(service.post(PATH, request("ping"), headers=stolen), 404)["code"] == -32001
    assert service.request("DELETE", PATH, headers=stolen).status == 404
    assert service.get(PATH, headers=[*stolen, ("Last-Event-ID", event.id)]).status == 404
    assert bob.resume(event.id).status == 400
    assert result_of(alice.ask("ping")) == {}
    # Bob may name any call: ids of calls are looked up in the caller's own session.
    assert bob.notify("notifications/cancelled", {"requestId": 2}).status == 202


def test_permissions_are_those_of_the_other_routes(guard):
    service = guard(scopes=["graph:invoke", "checkpointer:read"])
    all_scopes = ["graph:invoke", "checkpointer:read"]
    for era in (Stateless, Session):
        poor, rich = (era(service, bearer(scopes=scopes)) for scopes in (all_scopes[:1], all_scopes))
        thread_id = poor.answer("hello", "support")["thread_id"]
        for method, params in (("resources/list", None), ("resources/read", {"uri": f"agent-graph://threads/{thread_id}"})):
            refused = poor.ask(method, params, id="mine")
            # The client gets a token with these scopes, and sends the request again.
            assert error_of(refused, 403)["code"] == -32000 and refused.json()["id"] == "mine"
            challenge = refused.header("WWW-Authenticate")
            assert 'error="insufficient_scope"' in challenge and 'scope="graph:invoke checkpointer:read"' in challenge
            assert result_of(rich.ask(method, params))
    other = Stateless(service, bearer(scopes=["checkpointer:read"]))
    assert other.ask("tools/list").status == 403


# Tokens


def test_a_refusal_says_where_to_get_a_token(guard):
    service = guard(authorization_servers=["https://login.example.com"], scopes=["graph:invoke", "checkpointer:read"])
    address = f"http://localhost{PATH}"  # as the request says
    for headers, error in (([], None), ([("Authorization", "Bearer x")], 'error="invalid_token"')):
        for reply in (service.post(PATH, request("ping"), headers=headers), service.get(PATH, headers=headers),
                      service.request("DELETE", PATH, headers=headers)):
            assert error_of(reply, 401)["code"] == -32000
            challenge = reply.header("WWW-Authenticate")
            assert challenge.startswith("Bearer ") and (error is None or error in challenge)
            assert f'resource_metadata="{address}/.well-known/oauth-protected-resource"' in challenge
            assert 'scope="graph:invoke checkpointer:read"' in challenge
    poor = service.post(PATH, request("ping"), headers=bearer(scopes=["checkpointer:read"]))
    assert poor.status == 403 and 'error="insufficient_scope"' in poor.header("WWW-Authenticate")
    metadata = service.get(_WELL_KNOWN)
    assert metadata.status == 200 and metadata.json() == {
        "resource": address,
        "authorization_servers": ["https://login.example.com"],
        "scopes_supported": ["graph:invoke", "checkpointer:read"],
        "bearer_methods_supported": ["header"],
    }
    assert service.get("/v1/graph").header("WWW-Authenticate") == 'Bearer realm="agent-graph"'


def test_the_public_address_can_be_configured(guard):
    service = guard(url="https://agent.example.com/support/mcp")
    assert service.get(_WELL_KNOWN).json()["resource"] == "https://agent.example.com/support/mcp"
    challenge = service.post(PATH, request("ping")).header("WWW-Authenticate")
    assert 'resource_metadata="https://agent.example.com/support/mcp/.well-known/oauth-protected-resource"' in challenge


def test_a_service_without_tokens_has_no_metadata(start_service):
    service = start_service(DEMO)
    assert service.get(_WELL_KNOWN).status == 404
    reply = service.post(PATH, request("ping"), headers=[("Origin", "http://evil.example.com")])
    assert reply.status == 403 and reply.header("WWW-Authenticate") is None


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("tools", 1, "facades.mcp.tools"), ("url", "agent", "facades.mcp.url"),
        ("authorization_servers", ["x"], "facades.mcp.authorization_servers"),
        ("scopes", ['a"b'], "facades.mcp.scopes"), ("path", "mcp", "facades.mcp.path"),
        ("path", "/v1/threads", "facades.mcp.path"), ("tool", "x", "facades.mcp.tool: unknown key"),
    ],
)
def test_mistakes_in_the_configuration(make_service, key, value, problem):
    assert problem in make_service(DEMO | {"facades": {"mcp": {key: value}}}).refusal()


# Pages


def test_pages_of_other_origins_are_refused(start_service):
    service = start_service(DEMO | {"cors": {"origins": ["https://app.example.com"]}})
    body = request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})

    def ask(origin, host=None, method="POST"):
        headers = [("Origin", origin)] if origin else []
        headers += [("Host", host)] if host else []
        return service.request(method, PATH, body if method == "POST" else None, headers=headers)

    for origin in (None, "http://localhost:6274", "http://127.0.0.1", "http://[::1]:9", "https://app.example.com"):
        assert ask(origin).status == 200, origin
    for origin in ("http://evil.example.com", "null", "https://localhost.evil.example.com", "http://127.0.0.1.evil"):
        for method in ("POST", "GET", "DELETE"):
            reply = ask(origin, method=method)
            assert error_of(reply, 403)["code"] == -32000, origin
    # The attacker's name leads to this server.
    assert ask("http://evil.example.com", "evil.example.com").status == 403


def test_pages_may_read_the_headers_of_the_protocol(start_service):
    service = start_service(DEMO | {"cors": {"origins": ["https://app.example.com"]}})
    client = Client(service, [("Origin", "https://app.example.com")])
    reply = client.post(request("initialize", {"protocolVersion": "2025-11-25", "capabilities": FORMS}))
    assert "Mcp-Session-Id" in reply.header("Access-Control-Expose-Headers")
    preflight = service.request("OPTIONS", PATH, headers=[
        ("Origin", "https://app.example.com"), ("Access-Control-Request-Method", "POST"),
    ])
    for name in ("Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Last-Event-ID"):
        assert name in preflight.header("Access-Control-Allow-Headers")
