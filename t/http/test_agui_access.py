"""AG-UI: users and their threads, and the addresses at which it is served."""

import pytest

from harness import http1
from harness.agents import DEMO
from harness.agui import PATH, error, events, messages_of, run_input, text, types, user
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.waiting import wait_until

# Users


@pytest.fixture
def guarded(start_service):
    settings = DEMO | {"auth": "jwt", "env": "secrets.env", "authorization": "ownership"}
    return start_service(settings, files={"secrets.env": JWT_ENVIRONMENT})


def test_tokens_and_scopes(guarded):
    for headers in ([], [("Authorization", "Bearer nonsense")]):
        reply = guarded.post(PATH, run_input("hello"), headers=headers)
        assert reply.status == 401 and error(reply)
    allowed = guarded.post(PATH, run_input("hello"), headers=bearer(scopes=["graph:stream"]))
    assert text(events(allowed)) == "You said: hello"
    refused = guarded.post(PATH, run_input("hello"), headers=bearer(scopes=["graph:invoke"]))
    assert refused.status == 403 and error(refused)["code"]


def test_reading_needs_the_permission_of_the_native_route(guarded):
    begin = bearer(scopes=["graph:stream"])
    assert text(events(guarded.post(PATH, run_input(user("hello", "u1")), headers=begin)))
    for messages in ([], [user("hello", "u1")]):
        assert guarded.post(PATH, run_input(*messages), headers=begin).status == 404
        reader = bearer(scopes=["graph:stream", "checkpointer:read"])
        found = events(guarded.post(PATH, run_input(*messages), headers=reader))
        assert len(messages_of(found)) == 2


def test_a_thread_of_another_user_is_not_there(guarded):
    assert text(events(guarded.post(PATH, run_input("hello", run="r"), headers=bearer("alice"))))
    foreign, missing = (
        [guarded.post(PATH, body, headers=bearer("bob"))
         for body in (run_input(thread=thread), run_input(thread=thread, run="r"))]
        for thread in ("t", "none")
    )
    for one, other in zip(foreign, missing, strict=True):
        assert one.status == other.status == 404
        assert one.json() == other.json(), "no hint that the thread exists"
    intruding = guarded.post(PATH, run_input("hello"), headers=bearer("bob"))
    assert intruding.status == 404 and intruding.json() == foreign[0].json()
    answered = run_input("x", resume=[{"interruptId": "pause-1", "status": "resolved"}])
    assert guarded.post(PATH, answered, headers=bearer("bob")).json() == foreign[0].json()
    stored = guarded.get("/v1/threads/t/messages", headers=bearer("alice")).json()["data"]["messages"]
    assert len(stored) == 2


def test_keys_belong_to_users(guarded):
    key = ("Idempotency-Key", "k")
    for name in ("alice", "bob"):
        body = run_input(f"I am {name}", thread=f"of-{name}", run="r")
        assert name in text(events(guarded.post(PATH, body, headers=[*bearer(name), key])))


# Where it is served


def test_it_can_be_moved_and_switched_off(start_service):
    moved = start_service(DEMO | {"facades": {"agui": {"path": "/chat/ui"}}}, prefix="/support/")
    assert text(events(moved.post("/chat/ui", run_input("hello")))) == "You said: hello"
    assert moved.post(PATH, run_input("hello")).status == 404
    paths = moved.get("/openapi.json").json()["paths"]
    assert "/chat/ui" in paths and PATH not in paths
    for settings in (DEMO | {"facades": {"agui": False}}, DEMO | {"env": "secrets.env"}):
        off = start_service(settings, files={"secrets.env": "MODE=production\n"})
        off.error_log.allow(r"MODE is production")
        assert off.post(PATH, run_input("hello")).status == 404
        assert PATH not in off.get("/openapi.json").json()["paths"]


def test_a_path_that_leads_elsewhere_is_a_configuration_error(make_service):
    service = make_service(DEMO | {"facades": {"agui": {"path": "/v1/graph/stream"}}})
    assert 'facades.agui.path: "/v1/graph/stream" leads POST' in service.refusal()


def test_errors_of_nginx_have_the_form_of_the_protocol(start_service):
    service = start_service(
        DEMO,
        http="limit_req_zone $remote_addr zone=slow:1m rate=1r/m;\n",
        server="""
        location /small/ { agent_graph test; client_max_body_size 10; }
        location /closed/ { agent_graph test; deny all; }
        location /limited/ { agent_graph test; limit_req zone=slow; limit_req_status 429; }
        """,
    )

    def ask(prefix, method="POST", path=PATH):
        return http1.fetch(service.port, method, prefix + path, body=run_input("hello"))

    assert ask("/limited").status == 200
    for reply, status in (
        (ask("/small"), 413), (ask("/closed"), 403), (ask("/limited"), 429), (ask("", "DELETE"), 405),
        (ask("", path=PATH + "/more"), 404),
    ):
        assert reply.status == status, reply.text
        assert error(reply)["message"]
    assert ask("", "DELETE").header("Allow") == "POST, OPTIONS"


def test_browsers_of_other_origins(start_service):
    service = start_service(DEMO)
    origin = ("Origin", "https://app.example.com")
    preflight = [origin, ("Access-Control-Request-Method", "POST"),
                 ("Access-Control-Request-Headers", "content-type,authorization")]
    assert service.request("OPTIONS", PATH, headers=preflight).header("Access-Control-Allow-Origin")
    reply = service.post(PATH, run_input("hello"), headers=[origin])
    native = service.post("/v1/graph/stream", {"messages": [{"role": "user", "content": "x"}]}, headers=[origin])
    name = "Access-Control-Allow-Origin"
    assert reply.header(name) == native.header(name) and reply.header(name)


def test_requests_are_counted_by_their_route(start_service):
    service = start_service(DEMO, server="location = /metrics { agent_graph_status format=prometheus; }")
    assert types(events(service.post(PATH, run_input("hello"))))[-1] == "RUN_FINISHED"
    # nginx counts a request when it has ended, which may be after the client has its reply.
    wait_until(
        lambda: 'route="agui"' in http1.fetch(service.port, "GET", "/metrics").text, "the request is counted"
    )
