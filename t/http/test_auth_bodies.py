"""Bodies are read only for authenticated callers, however they are sent."""

import json

import pytest

from harness.agents import behaviour
from harness.service import invocation
from harness.tokens import JWT_ENVIRONMENT, bearer


@pytest.fixture
def service(start_service):
    """nginx waits long for the rest of a body that it discards, because a test may be slow."""
    settings = behaviour("echo", auth="jwt", env="secrets.env", authorization="ownership")
    location = "lingering_timeout 10m; lingering_time 10m;"
    return start_service(settings, files={"secrets.env": JWT_ENVIRONMENT}, location=location)


def _head(user, length, *more, target="/v1/graph/invoke"):
    authorization = "".join(f"{name}: {value}\r\n" for name, value in user)
    framing = f"Content-Length: {length}" if length is not None else "Transfer-Encoding: chunked"
    return (
        f"POST {target} HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
        f"{authorization}{framing}\r\n" + "".join(f"{line}\r\n" for line in more) + "\r\n"
    ).encode()


def test_a_stranger_is_refused_before_the_body(service):
    for target, length in (("/v1/graph/invoke", 5_000_000), ("/v1/files/upload", 25_000_000)):
        for wrong in ([], [("Authorization", "Bearer nonsense")]):
            with service.connect() as connection:
                connection.send(_head(wrong, length, target=target))
                assert connection.read_reply().status == 403
            # The server does not request it either.
            with service.connect() as connection:
                connection.send(_head(wrong, length, "Expect: 100-continue", target=target))
                assert connection.read_reply().status == 403


def test_a_refused_body_is_not_the_next_request(service):
    hidden = b"GET /ping HTTP/1.1\r\nHost: t\r\n\r\n"
    with service.connect() as connection:
        connection.send(_head([], len(hidden)))
        assert connection.read_reply().status == 403
        connection.send(hidden + _head(bearer(), 2) + b"{}")
        assert connection.read_reply().status == 422


@pytest.mark.parametrize("size", [10, 20_000, 900_000])
def test_a_body_may_come_late_and_in_pieces(service, size):
    body = json.dumps(invocation("x" * size)).encode()
    with service.connect() as connection:
        for _ in range(2):
            connection.send(_head(bearer(), len(body), "Expect: 100-continue"))
            assert connection.read_head().status == 100
            for at in range(0, len(body), 200_000):
                connection.send(body[at : at + 200_000])
            reply = connection.read_reply()
            assert reply.status == 200, reply.text


def test_a_body_may_come_late_in_chunks(service):
    body = json.dumps(invocation("x" * 50_000)).encode()
    with service.connect() as connection:
        connection.send(_head(bearer(), None))
        for piece in (body[:7], body[7:40_000], body[40_000:]):
            connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        connection.send(b"0\r\n\r\n")
        assert connection.read_reply().status == 200
        # The same connection again, then with a body that is too large.
        connection.send(_head(bearer(), None))
        block = b"%x\r\n%s\r\n" % (1_000_000, b"x" * 1_000_000)
        connection.send(block * 11 + b"0\r\n\r\n")
        assert connection.read_reply().status == 413


def test_a_client_may_leave_within_its_body(service):
    for leave in ("close", "reset"):
        connection = service.connect()
        connection.send(_head(bearer(), 1000, "Expect: 100-continue"))
        assert connection.read_head().status == 100
        connection.send(b'{"messages"')
        getattr(connection, leave)()
    body = invocation("hi")
    assert service.post("/v1/graph/invoke", body, headers=bearer()).status == 200
