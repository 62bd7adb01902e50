"""No part of a request's body is ever taken for a request, wherever the request is refused: unread
parts are discarded, or the connection ends."""

import pytest

from harness import http1
from harness.agents import DEMO
from harness.tokens import JWT_ENVIRONMENT, bearer

_INVOKE = "/v1/graph/invoke"
_UPLOAD = "/v1/files/upload"
_GUARDED = {"auth": "jwt", "env": "secrets.env"}
_FILES = {"secrets.env": JWT_ENVIRONMENT}
_HANDSHAKE = [
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
]
_FORM = [("Content-Type", "multipart/form-data; boundary=b")]

# A complete request at every place where a confused parser might begin.
_SMUGGLED = b"GET /ping HTTP/1.1\r\nHost: a\r\nX-Request-ID: smuggled\r\n\r\n"
# For an upload this is the beginning of a file without a name, which is refused while the rest
# arrives.
_BODY = b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\n' + _SMUGGLED * 400


def _limited(**other):
    return {"rate_limit": {"requests": 1, "window": 600} | other}


_SMALL = {"location": "client_max_body_size 1k;"}

# (service.json without the agent, arguments for nginx.conf, method, target, headers, status)
_REFUSALS = {
    "no route": ({}, {}, "POST", "/nowhere", [], 404),
    "outside of the prefix": ({}, {}, "POST", "/v1/%00", [], 400),
    "another method": ({}, {}, "PATCH", _INVOKE, [], 405),
    "preflight": ({}, {}, "OPTIONS", _INVOKE, [], 204),
    "native answer": ({}, {}, "GET", "/ping", [], 200),
    "documentation": ({}, {}, "GET", "/openapi.json", [], 200),
    "handshake with a body": ({}, {}, "GET", "/v1/graph/ws", _HANDSHAKE, 400),
    "rate limit": (_limited(), {}, "POST", _INVOKE, [], 429),
    "rate limit of a user": (
        _GUARDED | _limited(by="user"), {}, "POST", _UPLOAD, bearer() + _FORM, 429
    ),
    "no credential": (_GUARDED, {}, "POST", _INVOKE, [], 403),
    "no credential for an upload": (_GUARDED, {}, "POST", _UPLOAD, _FORM, 403),
    "no scope": (_GUARDED, {}, "POST", _INVOKE, bearer(scopes=[]), 403),
    "upload of another kind": ({}, {}, "POST", _UPLOAD, [], 400),
    "upload without a name": ({}, {}, "POST", _UPLOAD, _FORM, 400),
    "body where none belongs": (_GUARDED, {}, "GET", "/v1/threads?limit=x", bearer(), 422),
    "too large for nginx": ({}, _SMALL, "POST", _INVOKE, [], 413),
    "late and too large for nginx": (_GUARDED, _SMALL, "POST", _INVOKE, bearer(), 413),
    "upload too large for nginx": ({}, _SMALL, "POST", _UPLOAD, _FORM, 413),
}


def _framed(framing):
    """Returns (header, body): the body as announced and sent."""
    if framing == "length":
        return ("Content-Length", str(len(_BODY))), _BODY
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(_BODY), _BODY)
    return ("Transfer-Encoding", "chunked"), chunks


def _send(connection, data):
    """Sends data; ignores that the server may have closed already."""
    try:
        connection.send(data)
    except ConnectionError:
        pass


def _final_replies(connection, count=None):
    """Reads `count` replies, or all until the server closes, without informational ones."""
    replies = []
    while count is None or len(replies) < count:
        try:
            reply = connection.read_head()
            if reply.status < 200:
                continue
            reply.body = b"".join(connection.body_pieces(reply))
        except http1.ConnectionClosed:
            break
        replies.append(reply)
    return replies


def _talk(service, request, framing, expects, cut):
    """Sends a request whose body consists of requests, and another request after it; returns all
    answers."""
    method, target, headers = request
    header, body = _framed(framing)
    expectation = [("Expect", "100-continue")] if expects else []
    head = http1.request_bytes(method, target, [*headers, header, *expectation])
    last = http1.request_bytes("GET", "/ping", [("X-Request-ID", "last"), ("Connection", "close")])
    with service.connect() as connection:
        if cut == "none":
            connection.send(head + body + last)
            return _final_replies(connection)
        connection.send(head + body[:2000])
        replies = _final_replies(connection, 1)
        _send(connection, body[2000:] + last)
        return replies + _final_replies(connection)


def _assert_not_smuggled(replies, status):
    said = [(reply.status, reply.header("X-Request-ID")) for reply in replies]
    assert said and said[0][0] == status, said
    assert [request_id for _, request_id in said[1:]] in ([], ["last"]), said


@pytest.mark.parametrize("case", _REFUSALS.values(), ids=_REFUSALS.keys())
def test_the_body_of_a_refused_request_is_no_request(start_service, case):
    settings, shape, *request, status = case
    service = start_service(DEMO | settings, files=_FILES, **shape)
    if status == 429:
        service.get("/v1/graph", headers=bearer())
    for framing in ("length", "chunked"):
        for expects in (False, True):
            for cut in ("none", "answered"):
                _assert_not_smuggled(_talk(service, request, framing, expects, cut), status)


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_the_rest_of_a_body_that_took_too_long_is_no_request(start_service, framing):
    service = start_service(
        DEMO | _GUARDED, files=_FILES, location="agent_graph_run_timeout 300ms;"
    )
    request = ("POST", _INVOKE, bearer())
    _assert_not_smuggled(_talk(service, request, framing, False, "answered"), 504)
