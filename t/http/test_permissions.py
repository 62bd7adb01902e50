"""Every route requires its intended permission, according to the OpenAPI document and to the table
of permissions below."""

import pytest

from harness.agents import behaviour
from harness.openapi import OpenApi
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.websocket import handshake_headers

# Method and path of every route of the interface, and its permission; None: public.
PERMISSIONS = {
    ("GET", "/ping"): None,
    ("GET", "/ready"): None,
    ("POST", "/v1/graph/invoke"): "graph:invoke",
    ("POST", "/v1/graph/stream"): "graph:stream",
    ("GET", "/v1/graph/ws"): "graph:stream",
    ("GET", "/v1/graph/live"): "graph:stream",
    ("GET", "/v1/graph"): "graph:read",
    ("GET", "/v1/graph/tools"): "graph:read",
    ("GET", "/v1/graph:StateSchema"): "graph:read",
    ("GET", "/v1/observability/{thread_id}"): "graph:read",
    ("POST", "/v1/graph/stop"): "graph:stop",
    ("POST", "/v1/graph/setup"): "graph:setup",
    ("POST", "/v1/graph/fix"): "graph:fix",
    ("POST", "/v1/graph/runs"): "graph:invoke",
    ("GET", "/v1/threads/{thread_id}/runs"): "checkpointer:read",
    ("GET", "/v1/threads/{thread_id}/runs/{run_id}"): "checkpointer:read",
    ("GET", "/v1/threads/{thread_id}/runs/{run_id}/wait"): "checkpointer:read",
    ("GET", "/v1/threads/{thread_id}/runs/{run_id}/stream"): "checkpointer:read",
    ("POST", "/v1/threads/{thread_id}/runs/{run_id}/cancel"): "graph:stop",
    ("GET", "/v1/threads"): "checkpointer:read",
    ("GET", "/v1/threads/{thread_id}"): "checkpointer:read",
    ("DELETE", "/v1/threads/{thread_id}"): "checkpointer:delete",
    ("GET", "/v1/threads/{thread_id}/state"): "checkpointer:read",
    ("PUT", "/v1/threads/{thread_id}/state"): "checkpointer:write",
    ("DELETE", "/v1/threads/{thread_id}/state"): "checkpointer:delete",
    ("GET", "/v1/threads/{thread_id}/messages"): "checkpointer:read",
    ("POST", "/v1/threads/{thread_id}/messages"): "checkpointer:write",
    ("GET", "/v1/threads/{thread_id}/messages/{message_id}"): "checkpointer:read",
    ("DELETE", "/v1/threads/{thread_id}/messages/{message_id}"): "checkpointer:delete",
    ("POST", "/v1/store/memories"): "store:write",
    ("POST", "/v1/store/search"): "store:read",
    ("POST", "/v1/store/memories/list"): "store:read",
    ("POST", "/v1/store/memories/forget"): "store:delete",
    ("POST", "/v1/store/memories/{memory_id}"): "store:read",
    ("PUT", "/v1/store/memories/{memory_id}"): "store:write",
    ("DELETE", "/v1/store/memories/{memory_id}"): "store:delete",
    ("POST", "/v1/files/upload"): "files:upload",
    ("GET", "/v1/files/{file_id}"): "files:read",
    ("GET", "/v1/files/{file_id}/info"): "files:read",
    ("GET", "/v1/files/{file_id}/url"): "files:read",
    ("GET", "/v1/config/multimodal"): "config:read",
    ("GET", "/v1/evals/runs"): None,
    ("GET", "/v1/evals/runs/{run_id}"): None,
    ("GET", "/openai/v1/models"): "graph:read",
    ("GET", "/openai/v1/models/{model}"): "graph:read",
    ("POST", "/openai/v1/chat/completions"): "graph:invoke",
    ("POST", "/openai/v1/responses"): "graph:invoke",
    ("GET", "/openai/v1/responses/{response_id}"): "checkpointer:read",
    ("DELETE", "/openai/v1/responses/{response_id}"): "checkpointer:delete",
    ("POST", "/openai/v1/responses/{response_id}/cancel"): "graph:stop",
    ("GET", "/openai/v1/responses/{response_id}/input_items"): "checkpointer:read",
    ("POST", "/openai/v1/conversations"): "checkpointer:write",
    ("GET", "/openai/v1/conversations/{conversation_id}"): "checkpointer:read",
    ("POST", "/openai/v1/conversations/{conversation_id}"): "checkpointer:write",
    ("DELETE", "/openai/v1/conversations/{conversation_id}"): "checkpointer:delete",
    ("POST", "/openai/v1/conversations/{conversation_id}/items"): "checkpointer:write",
    ("GET", "/openai/v1/conversations/{conversation_id}/items"): "checkpointer:read",
    ("GET", "/openai/v1/conversations/{conversation_id}/items/{item_id}"): "checkpointer:read",
    ("DELETE", "/openai/v1/conversations/{conversation_id}/items/{item_id}"): "checkpointer:delete",
    ("POST", "/agui"): "graph:stream",
    ("POST", "/mcp"): "graph:invoke",
    ("GET", "/mcp"): "graph:invoke",
    ("DELETE", "/mcp"): "graph:invoke",
    ("GET", "/mcp/.well-known/oauth-protected-resource"): None,
}
_ALL = sorted({scope for scope in PERMISSIONS.values() if scope})


@pytest.fixture
def guarded(start_service):
    return start_service(
        behaviour("echo", auth="jwt", env="secrets.env", authorization="ownership"),
        files={"secrets.env": JWT_ENVIRONMENT},
    )


def _operations(service):
    """Yields (method, path, permission, whether it is a WebSocket)."""
    for method, path, operation in OpenApi(service.get("/openapi.json").json()).operations():
        yield method, path, operation.get("x-permission"), "x-websocket" in operation


def _ask(service, method, path, socket, headers):
    for name in ("thread_id", "message_id", "memory_id", "file_id", "run_id", "model"):
        path = path.replace("{%s}" % name, "unused")
    if not socket:
        return service.request(method, path, {} if method != "GET" else None, headers=headers)
    with service.connect() as connection:
        connection.request("GET", path, handshake_headers() + headers)
        reply = connection.read_head()
        if reply.status != 101:
            reply.body = connection.read_exactly(int(reply.header("Content-Length")))
        return reply


def _refusal(path, reply):
    """Status, code and text of a refusal, in the form of the route's protocol."""
    if path.startswith("/openai/"):
        error = reply.json()["error"]
        return reply.status, error["code"], error["message"]
    if path.startswith("/mcp"):
        error = reply.json()["error"]
        return reply.status, error["data"]["code"], error["message"]
    body = reply.json()
    if path == "/agui":
        return reply.status, body["code"], body["message"]
    return reply.status, body.get("error_code"), body["detail"]


def test_routes_ask_for_what_they_should(guarded):
    found = {(method, path): permission for method, path, permission, _ in _operations(guarded)}
    assert found == PERMISSIONS


def test_each_route_wants_its_own_scope_and_no_other(guarded):
    for method, path, permission, socket in _operations(guarded):
        if permission is None:
            continue
        others = [scope for scope in _ALL if scope != permission]
        reply = _ask(guarded, method, path, socket, bearer(scopes=others))
        status, _, text = _refusal(path, reply)
        assert status == 403, (method, path, reply.text)
        assert text == f"Missing required scope: {permission}"
        if socket:
            assert reply.header("X-WS-Close-Code") == "1008"
        reply = _ask(guarded, method, path, socket, bearer(scopes=[permission]))
        if socket:
            assert reply.status == 101, path
        elif permission == "graph:setup":  # closed if authentication is enabled
            assert reply.status == 403 and "scope" not in reply.json()["detail"]
        else:
            assert reply.status in (200, 400, 404, 405, 422, 503), (method, path, reply.text)


def test_each_route_wants_a_token_unless_it_is_public(guarded):
    wrong = [("Authorization", "Bearer nonsense")]
    for method, path, permission, socket in _operations(guarded):
        for headers, code in (([], "REVOKED_TOKEN"), (wrong, "INVALID_TOKEN")):
            reply = _ask(guarded, method, path, socket, headers)
            if permission is None:
                # A host that has just started may not be ready yet.
                expected = (200, 503) if path == "/ready" else (200, 404)
                assert reply.status in expected, path
            else:
                wanted = (401 if path.startswith(("/agui", "/mcp")) else 403, code)
                if path.startswith("/openai/"):
                    wanted = (401, "invalid_api_key")
                assert _refusal(path, reply)[:2] == wanted, path
