"""Chat completions: users and their threads, and the addresses at which they are served."""

import pytest

from harness import http1
from harness.agents import DEMO
from harness.messages import texts
from harness.openai_chat import PATH, answer, chat, error
from harness.openai_responses import PATH as RESPONSES
from harness.openai_responses import ask, output_text, response_id
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.waiting import wait_until

# Users


@pytest.fixture
def guarded(start_service):
    settings = DEMO | {"auth": "jwt", "env": "secrets.env", "authorization": "ownership"}
    return start_service(settings, files={"secrets.env": JWT_ENVIRONMENT})


def test_keys_are_tokens_of_the_service(guarded):
    for headers in ([], [("Authorization", "Bearer sk-nonsense")]):
        for reply in (guarded.get("/openai/v1/models", headers=headers),
                      guarded.post(PATH, chat("hello"), headers=headers)):
            assert reply.status == 401 and error(reply)["code"] == "invalid_api_key"
    assert answer(guarded.post(PATH, chat("hello", user="bob"), headers=bearer()))["content"]
    allowed = bearer(scopes=["graph:read"])
    assert guarded.get("/openai/v1/models", headers=allowed).status == 200
    refused = guarded.post(PATH, chat("hello"), headers=allowed)
    assert refused.status == 403 and error(refused)["type"] == "permission_error"


def test_users_see_their_own_threads_only(guarded):
    mine = chat("hello", metadata={"thread_id": "t"})
    assert guarded.post(PATH, mine, headers=bearer("alice")).status == 200
    reply = guarded.post(PATH, mine, headers=bearer("bob"))
    assert reply.status == 403 and error(reply)["type"] == "permission_error"
    messages = guarded.get("/v1/threads/t/messages", headers=bearer("alice")).json()["data"]["messages"]
    assert texts(messages) == ["hello", "You said: hello"]
    key = ("Idempotency-Key", "k")
    ids = {
        guarded.post(PATH, chat("hello"), headers=[*bearer(user), key]).json()["id"]
        for user in ("alice", "bob")
    }
    assert len(ids) == 2


@pytest.mark.leveldb("its files")
def test_a_response_that_cannot_be_read_is_not_taken_for_a_missing_one(guarded):
    """Clients take 400 and 404 as final, and repeat the request after 503."""
    response = guarded.post(RESPONSES, ask("secret"), headers=bearer()).json()
    asked = [{"role": "user", "content": "x"}, {"type": "item_reference", "id": response["output"][0]["id"]}]
    guarded.error_log.allow("is not available")
    guarded.kill_all()
    (current,) = guarded.directory.glob("state/test/db/CURRENT")
    current.write_text("nothing")
    guarded.start()
    for body in (ask(asked), ask("more", previous_response_id=response["id"])):
        reply = guarded.post(RESPONSES, body, headers=bearer())
        assert reply.status == 503 and error(reply)["code"] == "service_unavailable", reply.text


def test_a_response_is_its_users_own(guarded):
    """Whatever the other user tries, the answer is that of an id that never existed."""
    alice, bob = bearer("alice"), bearer("bob")
    body = ask("secret", background=True, conversation="talk")
    response = guarded.post(RESPONSES, body, headers=alice).json()
    path = f"{RESPONSES}/{response['id']}"
    done = wait_until(
        lambda: (found := guarded.get(path, headers=alice).json())["status"] == "completed" and found,
        "the response is completed",
    )
    run_id = guarded.get("/v1/threads/talk/runs", headers=alice).json()["data"]["runs"][0]["run_id"]
    unknown = f"{RESPONSES}/{response_id('nowhere', run_id)}"
    for method, tail in (
        ("GET", ""), ("GET", "?stream=true"), ("GET", "/input_items"), ("POST", "/cancel"), ("DELETE", ""),
    ):
        refused = guarded.request(method, path + tail, headers=bob)
        assert refused.status == 404, refused.text
        assert refused.text == guarded.request(method, unknown + tail, headers=bob).text
    # An id made of those of the native API is the same id, and no way around.
    assert response_id("talk", run_id) == response["id"]
    item = done["output"][0]["id"]
    for fields, status in (
        ({"previous_response_id": response["id"]}, 404),
        ({"input": [{"type": "item_reference", "id": item}]}, 400),
        ({"conversation": "talk"}, 403),  # as on all routes that may create a thread
        ({"metadata": {"thread_id": "talk"}}, 403),
    ):
        refused = guarded.post(RESPONSES, ask("x") | fields, headers=bob)
        assert refused.status == status, refused.text
        assert "secret" not in refused.text
    for native in ("/v1/threads/talk/runs/" + run_id, "/v1/threads/talk/messages"):
        assert guarded.get(native, headers=bob).status in (403, 404)
    assert output_text(guarded.get(path, headers=alice).json()) == "You said: secret"
    assert guarded.get(path).status == 401
    only_invoke = bearer("alice", scopes=["graph:invoke"])
    assert guarded.get(path, headers=only_invoke).status == 403


# Where it is served


def test_it_can_be_moved_and_switched_off(start_service):
    moved = start_service(DEMO | {"facades": {"openai": {"path": "/v1"}}}, prefix="/support/")
    assert answer(moved.post("/v1/chat/completions", chat("hello")))["content"] == "You said: hello"
    assert moved.get("/v1/graph").status == 200 and moved.get("/openai/v1/models").status == 404
    paths = moved.get("/openapi.json").json()["paths"]
    assert "/v1/chat/completions" in paths and "/openai/v1/chat/completions" not in paths
    for settings in (DEMO | {"facades": {"openai": False}}, DEMO | {"env": "secrets.env"}):
        off = start_service(settings, files={"secrets.env": "MODE=production\n"})
        off.error_log.allow(r"MODE is production")
        assert off.post(PATH, chat("hello")).status == 404
        assert not [path for path in off.get("/openapi.json").json()["paths"] if "openai" in path]


def test_a_path_that_leads_elsewhere_is_a_configuration_error(make_service):
    service = make_service(DEMO | {"facades": {"openai": {"path": "/v1/threads"}}})
    assert 'facades.openai.path: "/v1/threads" leads GET' in service.refusal()


def test_errors_of_nginx_have_the_form_of_the_protocol(start_service):
    service = start_service(
        DEMO,
        http="limit_req_zone $remote_addr zone=slow:1m rate=1r/m;\n",
        server="""
        location /small/ { agent_graph test; client_max_body_size 10; }
        location /closed/ { agent_graph test; deny all; }
        location /limited/ { agent_graph test; limit_req zone=slow; limit_req_status 429; }
        location /busy/ { agent_graph test; limit_req zone=slow; }
        """,
    )

    def ask(prefix, method="POST", path=PATH):
        return http1.fetch(service.port, method, prefix + path, body=chat("hello"))

    assert ask("/limited").status == 200
    for reply, status, kind in (
        (ask("/small"), 413, "invalid_request_error"),
        (ask("/closed"), 403, "permission_error"),
        (ask("/limited"), 429, "rate_limit_error"),
        (ask("/busy"), 503, "rate_limit_error"),
        (ask("", "DELETE"), 405, "invalid_request_error"),
        (ask("", path="/openai/v1/embeddings"), 404, "invalid_request_error"),
    ):
        assert reply.status == status, reply.text
        assert error(reply)["type"] in (kind, "server_error"), reply.text
    assert ask("", "DELETE").header("Allow") == "POST, OPTIONS"
    native = http1.fetch(service.port, "POST", "/closed/v1/graph/invoke", body={})
    assert "detail" in native.json(), "the service's own routes keep their form"


@pytest.mark.parametrize("route", ["embeddings", "files", "responses/input_tokens", "responses/compact"])
def test_routes_that_are_not_offered(start_service, route):
    """All alike, also those that look like the id of a response."""
    refused = start_service(DEMO).post(f"/openai/v1/{route}", {"input": "hello"})
    assert refused.status == 404 and refused.header("Allow") is None
    assert error(refused)["type"] == "invalid_request_error", refused.text


def test_requests_are_counted_by_their_route(start_service):
    service = start_service(DEMO, server="location = /metrics { agent_graph_status format=prometheus; }")
    service.post(PATH, chat("hello"))
    wait_until(
        lambda: 'route="openai"' in http1.fetch(service.port, "GET", "/metrics").text, "the request is counted"
    )
