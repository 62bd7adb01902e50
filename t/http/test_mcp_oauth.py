"""An MCP server that requires OAuth tokens: where the service gets them, and that they stay
secret."""

import base64
import json
import urllib.parse

import pytest

from harness.http_service import HttpService
from harness.tool_graph import asks, call_tools, tool_graph

_SECRET = "a-secret-that-nobody-may-see"


class _Issuer:
    """An authorization server. Each token is valid for `uses` requests."""

    def __init__(self, uses=1000):
        self.token_requests = []
        self._uses = uses
        self._left = {}
        self._service = HttpService(self._answer, parse=urllib.parse.parse_qs)
        self.url = self._service.url

    def _answer(self, _, path, body):
        form = {name: values[0] for name, values in urllib.parse.parse_qs(body).items()}
        if path == "/.well-known/oauth-authorization-server":
            return self._json({"issuer": self.url, "token_endpoint": f"{self.url}/token"})
        if path == "/token":
            credentials = self._service.requests[-1]["headers"].get("authorization", "")
            self.token_requests.append(form | {"authorization": credentials})
            token = f"access-token-{len(self.token_requests)}"
            self._left[token] = self._uses
            return self._json({"access_token": token, "token_type": "Bearer", "expires_in": 3600})
        if path == "/introspect":
            left = self._left.get(form.get("token"), 0)
            self._left[form.get("token")] = left - 1
            return self._json({"active": left > 0})
        return 404, "text/plain", ""

    @staticmethod
    def _json(document):
        return 200, "application/json", json.dumps(document)

    @property
    def tokens(self):
        return list(self._left)

    def close(self):
        self._service.close()


@pytest.fixture
def issuer():
    running = []

    def start(**options):
        running.append(_Issuer(**options))
        return running[-1]

    yield start
    for one in running:
        one.close()


@pytest.fixture
def serve(make_service, start_mock_provider, start_mcp_peer):
    def start(issuer, /, **oauth):
        peer = start_mcp_peer(issuer=issuer.url)
        mock = start_mock_provider(asks("greet", ("greet", {"name": "you"})))
        server = {
            "name": "peer",
            "url": peer.url,
            "oauth": {"client_id": "me", "client_secret": "${SECRET}"} | oauth,
        }
        settings = {
            "agent": "tools.json:app",
            "env": ".env",
            "models": {"default": {"provider": "openai", "model": "m", "base_url": mock.base_url}},
        }
        files = {"tools.json": json.dumps(tool_graph(mcp_servers=[server]))}
        service = make_service(settings, files=files, workers=1)
        service.write(".env", f"SECRET={_SECRET}\n")
        return service.start()

    return start


def _greet(service):
    [(output, _)] = call_tools(service, "greet")
    return output


@pytest.mark.one_host("each worker asks for a token of its own")
def test_credentials_become_a_token(serve, issuer):
    authorization = issuer()
    service = serve(authorization)
    for _ in range(3):
        assert _greet(service).startswith("hello you")
    [asked] = authorization.token_requests
    assert asked["grant_type"] == "client_credentials" and asked["resource"].endswith("/mcp")
    assert asked["authorization"] == "Basic " + base64.b64encode(f"me:{_SECRET}".encode()).decode()
    log = service.error_log.text()
    assert _SECRET not in log and "access-token" not in log


@pytest.mark.one_host("each worker asks for a token of its own")
def test_a_token_that_is_refused_is_replaced(serve, issuer):
    """Each token is valid for discovery and one call."""
    authorization = issuer(uses=4)
    service = serve(authorization, issuer=authorization.url)
    for _ in range(6):
        assert _greet(service).startswith("hello you")
    assert 1 < len(authorization.token_requests) < 6


def test_credentials_that_nobody_knows(serve, issuer):
    authorization = issuer(uses=0)
    service = serve(authorization)
    assert service.invoke("greet").status == 200
    service.wait_for_log("the server refuses the token that was issued for it")
    assert "access-token" not in service.error_log.text()


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"client_secret": "${NOBODY}"}, "oauth.client_secret: environment variable NOBODY is not set"),
        ({"authentication": "password"}, "mcp_servers.0.oauth.authentication: must be client_secret_basic"),
        ({"authentication": "private_key_jwt"}, "oauth.authentication: needs a private_key"),
        ({"private_key": "x"}, "oauth.private_key: stands beside a client_secret"),
        ({"scopes": ["a b"]}, 'oauth.scopes: "a b" is not a valid scope'),
        ({"issuer": "as.example.com"}, "oauth.issuer: must be an http or https URL"),
        ({"colour": "red"}, "mcp_servers.0.oauth.colour: unknown key"),
    ],
)
def test_mistakes_in_the_graph(make_service, changed, problem):
    oauth = {"client_id": "me", "client_secret": "s"} | changed
    server = {"name": "peer", "url": "http://h/", "oauth": oauth}
    service = make_service(
        {"agent": "tools.json:app", "models": {"default": {"provider": "demo"}}},
        files={"tools.json": json.dumps(tool_graph(mcp_servers=[server]))},
    )
    assert problem in service.refusal()
