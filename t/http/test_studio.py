"""Studio, the page below "ui/": the files that nginx serves for it. t/ui drives the page in a browser."""

import gzip
import urllib.parse

import pytest

from harness.agents import DEMO
from harness.tokens import JWT_ENVIRONMENT

_PAGE = "<!doctype html><title>Mine</title>"
_SCRIPT = "app-3FKQ2M7A.js"


@pytest.fixture
def folder(directory):
    """A folder as the build makes it, and things beside and in it that must not be served."""
    built = directory / "built"
    (built / "inner").mkdir(parents=True)
    for name, text in {"index.html": _PAGE, _SCRIPT: "start();", "plain.js": "plain();"}.items():
        (built / name).write_text(text)
    (built / (_SCRIPT + ".gz")).write_bytes(gzip.compress(b"start();"))
    (built / "inner" / "secret.js").write_text("secret")
    (built / "notes.md").write_text("secret")
    (directory / "outside.js").write_text("secret")
    (built / "link.js").symlink_to(directory / "outside.js")
    return built


def test_the_page_and_its_files(start_service, folder):
    service = start_service(DEMO, location=f'agent_graph_ui "{folder}";', prefix="/support/")
    page = service.get("/ui/")
    assert page.status == 200 and page.text == _PAGE
    assert page.header("Content-Type") == "text/html; charset=utf-8"
    assert page.header("Cache-Control") == "no-cache"
    policy = page.header("Content-Security-Policy")
    assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    script = service.get("/ui/" + _SCRIPT)
    assert script.status == 200 and script.body == b"start();"
    assert script.header("Content-Type").startswith("text/javascript")
    assert script.header("X-Content-Type-Options") == "nosniff"
    assert script.header("Cache-Control") == "public, max-age=31536000, immutable"
    # Only a name with a hash says that the content never changes.
    assert service.get("/ui/plain.js").header("Cache-Control") == "no-cache"


def test_without_the_slash_it_leads_to_the_page(start_service, folder):
    service = start_service(DEMO, location=f'agent_graph_ui "{folder}";', prefix="/support/")
    reply = service.get("/ui")
    assert reply.status == 308
    assert urllib.parse.urljoin("http://h/support/ui", reply.header("Location")) == "http://h/support/ui/"


def test_head_and_conditional_requests(start_service, folder):
    service = start_service(DEMO, location=f'agent_graph_ui "{folder}";')
    for path in ("/ui/", "/ui/" + _SCRIPT):
        found = service.get(path)
        head = service.request("HEAD", path)
        assert (head.status, head.body) == (200, b"")
        assert head.header("Content-Length") == str(len(found.body))
        same = service.get(path, headers=[("If-None-Match", found.header("ETag"))])
        assert (same.status, same.body) == (304, b"")
        assert same.header("ETag") == found.header("ETag")
        assert service.get(path, headers=[("If-None-Match", '"other"')]).status == 200
    assert service.post("/ui/").status == 405


def test_compressed_files_go_to_those_who_accept_them(start_service, folder):
    service = start_service(DEMO, location=f'agent_graph_ui "{folder}";')
    packed = service.get("/ui/" + _SCRIPT, headers=[("Accept-Encoding", "br, gzip")])
    assert packed.header("Content-Encoding") == "gzip" and packed.header("Vary") == "Accept-Encoding"
    assert gzip.decompress(packed.body) == b"start();"
    assert packed.header("Content-Type").startswith("text/javascript")
    plain = service.get("/ui/" + _SCRIPT, headers=[("Accept-Encoding", "gzip;q=0")])
    assert plain.header("Content-Encoding") is None and plain.body == b"start();"
    # There is no compressed form of this one.
    assert service.get("/ui/plain.js", headers=[("Accept-Encoding", "gzip")]).body == b"plain();"


@pytest.mark.parametrize(
    "path",
    ["nothing.js", "notes.md", "link.js", "inner", "inner/secret.js", "inner%2Fsecret.js", "../outside.js",
     "..%2Foutside.js", "%2e%2e/outside.js", _SCRIPT + ".gz", _SCRIPT + "/"],
)  # fmt: skip
def test_nothing_else_is_served(start_service, folder, path):
    service = start_service(DEMO, location=f'agent_graph_ui "{folder}";', prefix="/support/")
    reply = service.get("/ui/" + path)
    assert reply.status in (400, 404) and b"secret" not in reply.body


def test_a_page_says_how_to_get_it(start_service):
    service = start_service(DEMO, location="agent_graph_ui nowhere;")
    page = service.get("/ui/")
    assert page.status == 200 and "make ui" in page.text and "agent_graph_ui" in page.text
    assert service.get("/ui/main.js").status == 404


def test_it_can_be_switched_off(start_service):
    service = start_service(DEMO, http="agent_graph_ui off;")
    for path in ("/ui", "/ui/", "/ui/index.html"):
        assert service.get(path).status == 404
    assert service.get("/ping").status == 200


@pytest.mark.parametrize("directive, served", [("", False), ("agent_graph_ui on;", True)])
def test_in_production_it_is_served_only_if_asked_for(make_service, directive, served):
    service = make_service(DEMO, location=directive)
    service.start(extra_environment={"MODE": "production"})
    assert (service.get("/ui/").status == 200) == served


def test_it_needs_no_token(start_service, folder):
    settings = DEMO | {"auth": "jwt", "env": "secrets.env"}
    files = {"secrets.env": JWT_ENVIRONMENT}
    service = start_service(settings, files=files, location=f'agent_graph_ui "{folder}";')
    assert service.get("/ui/").status == 200
    assert service.get("/v1/graph").status == 403


def test_the_live_page_may_ask_for_the_microphone(start_service, folder):
    service = start_service(DEMO | {"security_headers": True}, location=f'agent_graph_ui "{folder}";')
    policies = service.get("/ui/").header("Permissions-Policy")
    assert "microphone=(self)" in policies
    assert "microphone=()" in service.get("/ping").header("Permissions-Policy")
