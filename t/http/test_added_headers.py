"""add_header in nginx.conf: headers that may occur once occur once, and the operator's value
wins."""

import pytest

from harness import http2
from harness.agents import DEMO, behaviour
from harness.uploads import uploaded

_HEADERS = {
    "Access-Control-Allow-Origin": "https://operator.example",
    "access-control-allow-credentials": "true",
    "X-Frame-Options": "SAMEORIGIN",
    "Strict-Transport-Security": "max-age=1",
    "Referrer-Policy": "no-referrer",
    "X-Request-ID": "from-nginx",
}
_ADDED = "".join(f'add_header {name} "{value}" always;' for name, value in _HEADERS.items())
_LISTED = DEMO | {"cors": {"origins": ["https://app.example"], "credentials": True}}


@pytest.mark.parametrize("place", ["location", "server", "http"])
@pytest.mark.parametrize("settings", [DEMO, _LISTED], ids=["any origin", "listed origins"])
def test_added_headers_replace_ours(start_service, place, settings):
    # The harness writes `server` after the location.
    service = start_service(settings, http2=True, **{place: _ADDED})
    origin = {"Origin": "https://app.example"}
    for target in ("/ping", "/v1/graph", "/nowhere", "/docs", "/openapi.json"):
        for reply in (
            service.get(target, headers=origin),
            http2.fetch(service.http2_port, "GET", target, headers=origin),
        ):
            for name, value in _HEADERS.items():
                assert reply.header_values(name) == [value], (target, name)
            assert reply.header("X-Timestamp") and reply.header("X-Content-Type-Options")
    preflight = service.request(
        "OPTIONS", "/v1/graph", headers=origin | {"Access-Control-Request-Method": "GET"}
    )
    assert preflight.header("Access-Control-Allow-Origin") == "https://operator.example"
    stream = service.stream("x")
    stream.read_head()
    assert stream.reply.header("Access-Control-Allow-Origin") == "https://operator.example"
    assert stream.ended_with_done()


def test_errors_of_nginx_have_them_once(start_service):
    service = start_service(DEMO, location=_ADDED + "deny all;")
    reply = service.get("/v1/graph")
    assert reply.status == 403 and reply.json()["error"]["code"] == "PERMISSION_ERROR"
    assert reply.header("Access-Control-Allow-Origin") == "https://operator.example"


def test_without_always_errors_keep_ours(start_service):
    service = start_service(DEMO, location="add_header Access-Control-Allow-Origin https://o.example;")
    assert service.get("/v1/graph").header("Access-Control-Allow-Origin") == "https://o.example"
    assert service.get("/nowhere").header("Access-Control-Allow-Origin") == "*"


def test_headers_that_add_up_are_kept(start_service):
    """An operator's policy does not remove the sandbox from a file that a browser would execute."""
    service = start_service(
        behaviour("echo"),
        location="add_header Content-Security-Policy \"default-src 'unsafe-inline'\";"
        "add_header Vary Accept-Encoding; add_header Cache-Control no-store;",
    )
    record = uploaded(service, b"<html><script>x</script>", "page.html", "text/html")
    reply = service.get(record["url"])
    policies = reply.header_values("Content-Security-Policy")
    assert len(policies) == 2 and any("sandbox" in policy for policy in policies)
    assert "private, no-cache" in reply.header_values("Cache-Control")
    assert "no-store" in reply.header_values("Cache-Control")
