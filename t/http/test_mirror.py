"""Locations whose requests nginx copies to another location: nginx has read the body before the
service does, and others still need it."""

import json

import pytest

from harness.agents import DEMO
from harness.http1 import request_bytes
from harness.messages import texts
from harness.service import invocation
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.uploads import file_form
from harness.waiting import wait_until

_GUARDED = {"auth": "jwt", "env": "secrets.env"}
_FILES = {"secrets.env": JWT_ENVIRONMENT}
# The mirror's requests are stored: the complete body with its length.
_MIRROR = """
        location = /copy {
            internal;
            proxy_pass http://127.0.0.1:$server_port/sink$request_uri;
            proxy_request_buffering on;
        }
        location /sink/ {
            client_max_body_size 64m;
            client_body_in_file_only on;
            proxy_pass http://127.0.0.1:$server_port/swallow;
        }
        location = /swallow { return 204; }
"""


def _start(start_service, guarded, buffer):
    return start_service(
        DEMO | (_GUARDED if guarded else {}),
        files=_FILES,
        location=f"mirror /copy; client_body_buffer_size {buffer};",
        server=_MIRROR,
    )


def _copies(service):
    """Returns the bodies that arrived at the mirror."""
    folder = service.directory / "temp" / "body"
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("guarded", [False, True], ids=["open", "late"])
@pytest.mark.parametrize("buffer", ["4m", "1k"], ids=["memory", "file"])
@pytest.mark.parametrize("size", [10, 500_000])
def test_mirrored_requests_are_served(start_service, guarded, buffer, size):
    service = _start(start_service, guarded, buffer)
    headers = bearer() if guarded else []
    text = "x" * size
    reply = service.post("/v1/graph/invoke", invocation(text), headers=headers)
    assert reply.status == 200
    assert text in texts(reply.json()["data"]["messages"])[0]

    data = bytes(range(256)) * (size // 100 + 1)
    form, body = file_form(data)
    reply = service.post("/v1/files/upload", body, headers=[*form.items(), *headers])
    assert reply.status == 200, reply.text
    assert service.get(reply.json()["data"]["url"], headers=headers).body == data
    for sent in (json.dumps(invocation(text)).encode(), body):
        wait_until(lambda sent=sent: sent in _copies(service), "the mirror has the same bytes")


def test_a_refused_mirrored_request_leaves_its_connection(start_service):
    service = _start(start_service, True, "1k")
    with service.connect() as connection:
        for headers, status in ([], 403), (bearer(), 200):
            connection.send(request_bytes("POST", "/v1/graph/invoke", headers, invocation("x" * 9000)))
            assert connection.read_reply().status == status
