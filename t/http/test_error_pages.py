"""An error_page of the server applies to its pages. Errors of an agent location keep their JSON,
whichever part raises them, unless the location has its own error_page."""

import re
import ssl

import pytest

from harness import environment, http1, http2
from harness.agents import DEMO
from harness.certificate import self_signed
from harness.ports import free_port

_GRAPH = "/v1/graph"
_CODES = "error_page 400 401 403 404 405 413 429 500 502 503 504 /50x.html;"
_PAGE = 'location = /50x.html { default_type text/html; return 200 "<html>the server"; }'
_LIMITS = "limit_req_zone $remote_addr zone=slow:1m rate=1r/m;\n"
_PASSWORDS = 'auth_basic "agents"; auth_basic_user_file passwords;'


def _is_ours(reply, status, code=None):
    assert reply.status == status, reply.text
    assert reply.header("Content-Type") == "application/json", reply.text
    error = reply.json()
    assert error["detail"] == error["error"]["message"]
    assert code is None or error["error"]["code"] == code


@pytest.mark.parametrize("place", ["server", "http"])
def test_errors_of_an_agent_location_stay_json(start_service, place):
    service = start_service(
        DEMO,
        http=_LIMITS + (_CODES if place == "http" else ""),
        server=(_CODES if place == "server" else "")
        + _PAGE
        + f"""
        location /guarded/ {{ agent_graph test; {_PASSWORDS} }}
        location /closed/ {{ agent_graph test; deny all; }}
        location /limited/ {{ agent_graph test; limit_req zone=slow; }}
        location /small/ {{ agent_graph test; client_max_body_size 1k; }}
        location /reading/ {{ agent_graph test; limit_except GET {{ deny all; }} }}
        location /chosen/ {{
            if ($arg_x) {{ agent_graph test; agent_graph_base_path /chosen; }}
            return 503;
        }}
        location /plain/ {{ deny all; }}
        """,
        files={"passwords": "anna:{PLAIN}secret\n"},
        http2=True,
    )
    assert "<html>the server" in service.get("/plain/x").text
    reply = service.get("/guarded" + _GRAPH)
    _is_ours(reply, 401, "AUTHENTICATION_FAILED")
    assert reply.header("WWW-Authenticate") == 'Basic realm="agents"'
    _is_ours(service.get("/closed" + _GRAPH), 403, "PERMISSION_ERROR")
    assert service.get("/limited" + _GRAPH).status == 200
    _is_ours(service.get("/limited" + _GRAPH), 503, "RATE_LIMIT_EXCEEDED")
    _is_ours(service.post("/small/v1/graph/invoke", b"x" * 2000), 413, "REQUEST_TOO_LARGE")
    _is_ours(service.post("/reading/v1/graph/invoke", {}), 403, "PERMISSION_ERROR")
    _is_ours(service.get("/nowhere"), 404, "RESOURCE_NOT_FOUND")
    broken = service.post(
        "/v1/graph/invoke", b"zz\r\n", headers={"Transfer-Encoding": "chunked"}
    )
    _is_ours(broken, 400, "BAD_REQUEST")
    reply = http2.fetch(service.http2_port, "GET", "/closed" + _GRAPH)
    _is_ours(reply, 403, "PERMISSION_ERROR")


def test_a_location_may_have_error_pages_of_its_own(start_service):
    service = start_service(
        DEMO,
        server=_CODES
        + _PAGE
        + """
        location = /own.html { default_type text/html; return 200 "<html>the location"; }
        location /own/ {
            agent_graph test;
            error_page 403 /own.html;
            deny all;
            location /own/nested/ { agent_graph test; deny all; }
        }
        location /outer/ {
            error_page 403 /own.html;
            location /outer/agent/ { agent_graph test; deny all; }
        }
        location /condition/ {
            agent_graph test;
            deny all;
            if ($arg_page) { error_page 403 /own.html; }
        }
        location /other/ { agent_graph test; error_page 404 /own.html; deny all; }
        """,
    )
    for target in ("/own", "/own/nested", "/outer/agent"):
        assert "<html>the location" in service.get(target + _GRAPH).text, target
    assert "<html>the location" in service.get("/condition" + _GRAPH + "?page=1").text
    _is_ours(service.get("/condition" + _GRAPH), 403)
    # Its own error pages replace the inherited ones.
    _is_ours(service.get("/other" + _GRAPH), 403)


def _shipped_pages(file):
    """The part of a shipped nginx.conf for what nginx refuses before it knows the location."""
    text = (environment.ROOT / file).read_text()
    return re.search(r"# What nginx refuses before.*?(?=location / \{)", text, re.DOTALL)[0]


@pytest.mark.parametrize("file", ["conf/nginx.conf", "docker/nginx.conf"])
def test_the_shipped_servers_refuse_in_json(start_service, directory, file):
    certificate, key = self_signed(directory)
    tls_port = free_port()
    pages = _shipped_pages(file)
    service = start_service(
        DEMO,
        server=pages,
        http=f"""
        ssl_certificate {certificate};
        ssl_certificate_key {key};
        server {{
            listen 127.0.0.1:{tls_port} ssl;
            ssl_client_certificate {certificate};
            ssl_verify_client on;
            {pages}
            location / {{ agent_graph test; }}
        }}
        """,
    )

    def refused(status, code, request, port=service.port):
        with http1.Connection(port) as connection:
            connection.send(request)
            _is_ours(connection.read_reply(), status, code)

    host = b"Host: x\r\n"
    long = b"x" * 100_000
    refused(414, "BAD_REQUEST", b"GET /" + long + b" HTTP/1.1\r\n" + host + b"\r\n")
    refused(400, "BAD_REQUEST", b"GET /ping HTTP/1.1\r\n" + host + b"X-Long: " + long + b"\r\n\r\n")
    refused(400, "BAD_REQUEST", b"GET /ping HTTP/1.1\r\n\r\n")
    refused(405, "METHOD_NOT_ALLOWED", b"TRACE /ping HTTP/1.1\r\n" + host + b"\r\n")
    refused(501, "BAD_REQUEST", b"GET /ping HTTP/1.1\r\n" + host + b"Transfer-Encoding: gzip\r\n\r\n")
    refused(505, "BAD_REQUEST", b"GET /ping HTTP/3.0\r\n" + host + b"\r\n")
    # Plain HTTP to the port of TLS.
    refused(400, "BAD_REQUEST", b"GET /ping HTTP/1.1\r\n" + host + b"\r\n", tls_port)
    # No client certificate.
    context = ssl.create_default_context(cafile=str(certificate))
    with http1.Connection(tls_port) as connection:
        connection.socket = context.wrap_socket(connection.socket, server_hostname="127.0.0.1")
        connection.request("GET", "/ping")
        _is_ours(connection.read_reply(), 400, "BAD_REQUEST")
