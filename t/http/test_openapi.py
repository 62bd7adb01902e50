"""The OpenAPI document of the service: it is valid, matches every answer and every refusal of a
request, and is shown by pages that need no external resources."""

import json
import re
import subprocess
import urllib.parse

import pytest

from harness import environment, http1
from harness.agents import DEMO, behaviour
from harness.messages import user
from harness.openapi import Generator, OpenApi
from harness.service import invocation
from harness.tokens import JWT_ENVIRONMENT
from harness.uploads import uploaded

_VIEWERS = environment.ROOT / "build" / "docs"


def _document(service):
    reply = service.get("/openapi.json")
    assert reply.status == 200 and reply.header("Content-Type") == "application/json"
    return OpenApi(reply.json())


def test_it_is_valid_openapi(start_service, directory):
    guarded = DEMO | {"auth": "jwt", "env": "secrets.env"}
    for settings in (DEMO, guarded):
        service = start_service(settings, files={"secrets.env": JWT_ENVIRONMENT})
        document = _document(service).document
        assert document["openapi"].startswith("3.1.")
        file = directory / "openapi.json"
        file.write_text(json.dumps(document))
        script = (
            "import {Validator} from '@seriousme/openapi-schema-validator';"
            f"const result = await new Validator().validate({json.dumps(str(file))});"
            "console.log(JSON.stringify(result));"
        )
        (node,) = environment.NODE_MODULES.glob("node-linux-*/bin/node")
        done = subprocess.run(
            [node, "--input-type=module", "-e", script],
            cwd=environment.NODE_MODULES.parent, capture_output=True, text=True, check=True,
        )
        assert json.loads(done.stdout)["valid"], done.stdout


def test_it_names_the_place_it_is_served_from(start_service):
    assert _document(start_service(DEMO)).document["servers"] == [{"url": "/"}]
    prefixed = start_service(DEMO, prefix="/support/")
    assert _document(prefixed).document["servers"] == [{"url": "/support"}]


def test_the_place_is_a_url(start_service):
    service = start_service(DEMO, prefix="/x/", server='location "/a b/\u00fc/" { agent_graph test; }')
    reply = http1.fetch(service.port, "GET", "/a%20b/%C3%BC/openapi.json")
    assert reply.json()["servers"] == [{"url": "/a%20b/%C3%BC"}]


def test_answers_are_what_it_says(start_service):
    service = start_service(behaviour("echo"))
    openapi = _document(service)

    def check(method, path, body=None, query="", **ids):
        reply = service.request(method, path.format(**ids) + query, body)
        openapi.check_answer(method, path, reply)
        return reply

    run = invocation("hi", config={"thread_id": "t"}, response_granularity="full")
    thread, state, messages = "/v1/threads/{t}", "/v1/threads/{t}/state", "/v1/threads/{t}/messages"
    names = {"t": "t"}

    def named(path):
        return path.replace("{t}", "{thread_id}")

    def thread_route(method, path, body=None, **other):
        reply = service.request(method, path.format(**(names | other)), body)
        openapi.check_answer(method, named(path).replace("{m}", "{message_id}"), reply)
        return reply

    assert check("GET", "/ping").status == 200
    for path in ("/v1/graph/invoke", "/v1/graph/stream"):
        assert check("POST", path, run).status == 200
        assert check("POST", path, {}).status == 422
    assert check("GET", "/v1/graph").status == 200
    assert check("GET", "/v1/graph:StateSchema").status == 200
    assert check("GET", "/v1/graph/tools").status == 200
    assert check("POST", "/v1/graph/setup", {"tools": []}).status == 200
    assert check("GET", "/v1/observability/{thread_id}", thread_id="t").json()["data"]["run"]
    for path in ("/v1/graph/stop", "/v1/graph/fix"):
        assert check("POST", path, {"thread_id": "t"}).status == 200
    assert check("GET", "/v1/threads", query="?limit=1").json()["data"]["threads"]
    assert thread_route("GET", thread).status == 200
    assert thread_route("GET", state).status == 200
    assert thread_route("PUT", state, {"state": {"context_summary": "s"}}).status == 200
    assert thread_route("POST", messages, {"messages": [user("more")]}).status == 200
    (first, *_) = thread_route("GET", messages).json()["data"]["messages"]
    message = messages + "/{m}"
    assert thread_route("GET", message, m=first["message_id"]).status == 200
    assert thread_route("DELETE", message, m=first["message_id"]).status == 200
    assert thread_route("GET", message, m=first["message_id"]).status == 404
    assert thread_route("DELETE", state).status == 200
    assert thread_route("DELETE", thread, {}).status == 200
    assert thread_route("GET", thread).status == 404


def _header_parameters(openapi, method, path):
    parameters = openapi.document["paths"][path][method]["parameters"]
    return {parameter["name"] for parameter in parameters if parameter["in"] == "header"}


def test_headers_are_what_it_says(start_service):
    service = start_service(behaviour("echo"))
    openapi = _document(service)
    file, run = "/v1/files/{file_id}", "/v1/graph/runs"
    target = "/v1/files/" + uploaded(service, b"shared")["file_id"]
    whole = service.get(target)
    openapi.check_headers("GET", file, whole)
    conditions = {
        "Range": ("bytes=2-3", 206, b"ar"),
        "If-Range": (whole.header("ETag"), 200, b"shared"),
        "If-None-Match": (whole.header("ETag"), 304, b""),
    }
    assert conditions.keys() == _header_parameters(openapi, "get", file)
    for name, (value, status, body) in conditions.items():
        reply = service.get(target, headers=[(name, value)])
        assert (reply.status, reply.body) == (status, body)
        openapi.check_headers("GET", file, reply)
    assert _header_parameters(openapi, "post", run) == {"Idempotency-Key"}
    started = service.post(run, invocation("hi"), headers=[("Idempotency-Key", "k")])
    openapi.check_answer("POST", run, started)
    described = openapi.document["paths"][run]["post"]["responses"]["202"]["headers"]
    assert list(described) == ["Location"] and started.header("Location").endswith("/stream")


def test_metadata_that_can_be_searched_is_named(start_service):
    service = start_service(DEMO | {"threads": {"indexed_metadata": ["topic"]}})
    parameters = _document(service).document["paths"]["/v1/threads"]["get"]["parameters"]
    (name,) = [one["name"] for one in parameters if one["name"].startswith("metadata.")]
    assert service.get(f"/v1/threads?{name}=rain").status == 200


# Rules that the document cannot express: combinations of keys, characters of ids, JSON within
# texts.
_UNSAID = re.compile(
    r"NUL|UTF-8|differs from|there is no node|waits for a result|name in call_id|must contain text"
    r"|body\.config\.|body\.tool_decisions\.|not one that this service gave|must be the text of a JSON object"
)


@pytest.mark.parametrize("seed", range(3))
def test_requests_are_refused_for_what_it_says(start_service, seed):
    service = start_service(behaviour("echo", store="leveldb", embedding="hash"))
    openapi = _document(service)
    generator = Generator(openapi, seed)
    sent = {200: 0, 422: 0}
    for method, path, operation in openapi.operations():
        schema = openapi.body_schema(operation)
        if schema is None or "/upload" in path:
            continue
        validator = openapi.validator(schema)
        target = re.sub(r"\{\w+\}", f"fuzz{seed}", path)
        for _ in range(25):
            body = generator.value(schema)
            if generator.random.random() < 0.5:
                body = generator.changed(body)
            reply = service.request(method, target, body=json.dumps(body))
            wrong = [error.message for error in validator.iter_errors(body)]
            context = f"{method} {path} {json.dumps(body)}\n{reply.text[:500]}\n{wrong}"
            assert reply.status < 500 or reply.status == 503, context
            if wrong and path.startswith(("/openai/", "/mcp")):
                assert reply.status == 400 and reply.json()["error"]["message"], context
            elif wrong and path == "/agui":
                assert reply.status == 422 and reply.json()["details"], context
            elif wrong:
                assert reply.status == 422, context
                assert reply.json()["error"]["details"], context
            elif reply.status == 422 and path == "/agui":
                # The schema cannot express rules that depend on a message's role or on the graph's tools.
                unsaid = ("messages", "tools", "state", "runId")
                assert reply.json()["details"][0]["loc"][1] in unsaid, context
            elif not wrong and reply.status == 422:
                assert _UNSAID.search(reply.text), context
            sent[reply.status] = sent.get(reply.status, 0) + 1
    assert sent[200] > 20 and sent[422] > 20, sent


def test_pages(start_service):
    service = start_service(DEMO, location=f'agent_graph_docs "{_VIEWERS}";', prefix="/support/")
    installed = (_VIEWERS / "installed").exists()
    for path in ("/docs", "/redoc"):
        reply = service.get(path)
        assert reply.status == 200 and reply.header("Content-Type").startswith("text/html")
        assert "openapi.json" in reply.text or "docs/start.js" in reply.text
        references = re.findall(r'(?:src|href|spec-url)="([^"]+)"', reply.text)
        assert references and not any("//" in reference for reference in references)
        for reference in references:
            found = service.get("/" + reference)
            assert found.status == 200, reference
            assert int(found.header("Content-Length")) == len(found.body) > 0
            head = service.request("HEAD", "/" + reference)
            assert (head.status, head.body) == (200, b"")
            assert head.header("Content-Length") == found.header("Content-Length")
        # Scripts come from the service itself; the policy forbids all others.
        assert "<script>" not in reply.text
        assert "script-src 'self'" in reply.header("Content-Security-Policy")
    if installed:
        # This viewer includes an image from its vendor's server.
        policy = """<meta http-equiv="Content-Security-Policy" content="img-src 'self' data:">"""
        assert policy in service.get("/redoc").text
        css = service.get("/docs/swagger-ui.css")
        assert css.header("Content-Type").startswith("text/css") and len(css.body) > 10_000
    for path in ("/docs/nothing.js", "/docs/installed", "/docs/..%2Fconf", "/docs//"):
        assert service.get(path).status == 404
    for path in ("/docs", "/redoc", "/openapi.json", "/docs/start.js"):
        reply = service.get(path + "/")
        # With a trailing slash, relative references of the page would have another base.
        assert reply.status == 308 and reply.body == b""
        target = urllib.parse.urljoin(f"http://h/support{path}/", reply.header("Location"))
        assert target == f"http://h/support{path}"
    assert service.post("/docs").status == 405


def test_pages_without_viewers_and_without_a_token(start_service):
    settings = DEMO | {"auth": "jwt", "env": "secrets.env"}
    service = start_service(
        settings, files={"secrets.env": JWT_ENVIRONMENT}, location="agent_graph_docs nowhere;"
    )
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert service.get(path).status == 200
    assert "not installed" in service.get("/docs").text
    assert service.get("/docs/swagger-ui.css").status == 404
    assert service.get("/v1/graph").status == 403


def test_pages_can_be_switched_off(start_service):
    service = start_service(DEMO, http="agent_graph_docs off;")
    for path in ("/docs", "/redoc", "/openapi.json", "/docs/start.js"):
        assert service.get(path).status == 404
    assert service.get("/ping").status == 200
