"""Limits of uploads: sizes, types, totals, slow and broken uploads."""

import contextlib
import fcntl
import os
import struct

import pytest

from harness import documents
from harness.agents import behaviour
from harness.uploads import file_form, form, part, upload, uploaded
from harness.waiting import wait_until

_ECHO = behaviour("echo")
_UPLOAD = "/v1/files/upload"
_MEGABYTE = 1024 * 1024


def _chunked(body, size):
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def test_bad_uploads(start_service):
    service = start_service(_ECHO)

    def post(headers, body):
        reply = service.post(_UPLOAD, body, headers=headers)
        return reply.status, reply.json()["detail"]

    texts = set()
    for told in (
        post({"Content-Type": "application/json"}, b"{}"),
        post({}, b""),
        post(*form(part("other", b"x", "a.txt"))),
        post(*form(part("file", b"x"))),
        post(*form(part("file", b"x", ""))),
        post(*form(part("file", b"x", "dir/"))),
        post(*file_form(b"")),
        post(*form(part("file", b"x", "a"), part("file", b"y", "b"))),
        post(file_form(b"x")[0], file_form(b"x" * 100)[1][:-30]),
        post(file_form(b"x")[0], b"--no such boundary"),
        post({"Content-Type": "multipart/form-data"}, file_form(b"x")[1]),
        post(*form(b"Content-Disposition: attachment\r\n\r\nx")),
    ):
        assert told[0] == 400, told
        texts.add(told[1])
    for wanted in ("no form field", "has no filename", "is empty", "more than one", "ends too early"):
        assert any(wanted in text for text in texts), (wanted, texts)
    assert service.post(_UPLOAD).status == 400
    assert not list((service.directory / "state" / "test" / "uploads" / "tmp").glob("*"))


@pytest.mark.parametrize("chunked", [False, True])
def test_the_cap_is_exact(start_service, chunked):
    service = start_service(_ECHO | {"media": {"max_size_mb": 1.5}})

    def status(size):
        headers, body = file_form(b"x" * size)
        if chunked:
            headers, body = headers | {"Transfer-Encoding": "chunked"}, _chunked(body, 50_000)
        reply = service.post(_UPLOAD, body, headers=headers)
        assert reply.header("Content-Type") == "application/json"
        return reply.status

    cap = int(1.5 * _MEGABYTE)
    assert status(cap - 1) == 200
    assert status(cap) == 200
    assert status(cap + 1) == 413
    assert status(cap + 2 * _MEGABYTE) == 413


def test_default_cap_is_25_mebibytes(start_service):
    service = start_service(_ECHO)
    assert upload(service, bytes(25 * _MEGABYTE)).status == 200
    reply = upload(service, bytes(25 * _MEGABYTE + 1))
    assert reply.status == 413 and reply.json()["error"]["code"] == "REQUEST_TOO_LARGE"


def test_a_length_that_is_too_much_is_refused_unread(start_service):
    service = start_service(_ECHO)
    headers, _ = file_form(b"")
    with service.connect() as connection:
        connection.request("POST", _UPLOAD, headers | {"Content-Length": str(2**40)})
        assert connection.read_reply().status == 413


def test_what_is_beside_the_file_is_bounded(start_service):
    service = start_service(_ECHO)
    headers, body = form(part("note", b"x" * (2 * _MEGABYTE)), part("file", b"x", "a"))
    assert service.post(_UPLOAD, body, headers=headers).status == 413
    headers, body = form(part("note", b"x" * 1000), part("file", b"data", "a"), part("more", b""))
    reply = service.post(_UPLOAD, body, headers=headers)
    assert reply.status == 200
    assert service.get(reply.json()["data"]["url"]).body == b"data"


@pytest.mark.parametrize("allowed", ["image/*, application/pdf", ["IMAGE/*; q=1", "application/pdf"]])
def test_allowed_types(start_service, allowed):
    service = start_service(_ECHO | {"media": {"allowed_content_types": allowed}})
    for content_type, filename, status in (
        ("image/png", "a", 200), ("IMAGE/PNG; x=y", "a", 200), ("application/pdf", "a", 200),
        (None, "a.pdf", 200), (None, "a.txt", 415), ("text/plain", "a.png", 415),
        ("imagex/png", "a", 415), ("application/pdfx", "a", 415), (None, "a", 415),
        ("image/png; x=y, text/html", "a", 415),
    ):
        reply = upload(service, b"x", filename, content_type)
        assert reply.status == status, (content_type, filename)
        if status == 415:
            assert reply.json()["error"]["code"] == "UNSUPPORTED_MEDIA_TYPE"


@pytest.mark.parametrize("storage", ["local", "memory"])
def test_the_total_is_bounded(start_service, storage):
    service = start_service(_ECHO | {"media": {"storage_type": storage, "total_size_mb": 0.1}})
    first = uploaded(service, b"x" * 60_000)["url"]
    reply = upload(service, b"x" * 60_000)
    assert reply.status == 503 and "full" in reply.json()["detail"]
    assert uploaded(service, b"x" * 30_000)
    assert service.get(first).status == 200


def test_what_belongs_to_a_file_counts_with_it(start_service):
    service = start_service(_ECHO | {"media": {"storage_type": "memory", "total_size_mb": 1}})
    document = documents.docx("word " * 60_000)
    stored = 0
    while (reply := upload(service, document, "a.docx", None)).status == 200:
        assert len(reply.json()["data"]["extracted_text"]) > 200_000
        stored += 1
    assert reply.status == 503 and stored == 3
    small = 0
    while upload(service, b"x").status == 200:
        small += 1
    assert small < 20, "a file of one byte takes a page, and its record another"


@pytest.mark.parametrize("storage", ["local", "memory"])
def test_what_is_being_received_is_bounded_too(start_service, storage):
    service = start_service(_ECHO | {"media": {"storage_type": storage, "total_size_mb": 2}})
    headers, body = file_form(bytes(_MEGABYTE))
    connections = []
    for _ in range(8):
        connection = service.connect()
        connection.request("POST", _UPLOAD, headers | {"Content-Length": str(len(body))})
        connection.send(body[:-100])
        connections.append(connection)
    refused = 0
    for connection in connections:
        # Uploads that have not been refused wait for their last bytes.
        with contextlib.suppress(OSError):
            connection.send(body[-100:])
        refused += connection.read_reply().status == 503
        connection.close()
    assert refused >= 7, "each and its record need more than a half"
    wait_until(lambda: upload(service, bytes(100_000)).status == 200, "there is room again")


def test_uploads_do_not_wait_while_another_process_counts_all_files(start_service):
    service = start_service(_ECHO | {"media": {"total_size_mb": 1}}, workers=1)
    stored = uploaded(service, b"x")["url"]
    headers, body = file_form(b"x")
    with open(service.directory / "state" / "test" / "uploads" / "usage", "rb+") as counter:
        lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        fcntl.fcntl(counter, fcntl.F_OFD_SETLK, lock)
        os.pwrite(counter.fileno(), b"counting", 0)
        # As many as the threads that work with files.
        connections = [service.connect() for _ in range(4)]
        for connection in connections:
            connection.request("POST", _UPLOAD, headers | {"Content-Length": str(len(body))}, body)
        assert service.get(stored).status == 200
        for connection in connections:
            reply = connection.read_reply()
            assert reply.status == 503 and "busy" in reply.json()["detail"]
            assert reply.header("Retry-After") == "1"
            connection.close()
    assert uploaded(service, b"y"), "the process has ended, so its count is repeated"


def test_a_slow_upload_harms_nobody(start_service):
    service = start_service(_ECHO, workers=1)
    headers, body = file_form(b"x" * 3000)
    with service.connect() as connection:
        connection.request("POST", _UPLOAD, headers | {"Content-Length": str(len(body))})
        for start in range(0, len(body), 7):
            connection.send(body[start : start + 7])
            if start % 700 == 0:
                assert service.get("/ping").status == 200
        reply = connection.read_reply()
    assert reply.status == 200
    assert service.get(reply.json()["data"]["url"]).body == b"x" * 3000


def test_an_upload_that_is_given_up_leaves_nothing(start_service):
    service = start_service(_ECHO, workers=1)
    headers, body = file_form(bytes(_MEGABYTE))
    uploads = service.directory / "state" / "test" / "uploads"

    def parts():
        return list((uploads / "tmp").glob("*")) if uploads.exists() else []

    connection = service.connect()
    connection.request("POST", _UPLOAD, headers | {"Content-Length": str(len(body))})
    connection.send(body[: len(body) // 2])
    wait_until(parts, "the upload has begun")
    connection.reset()
    wait_until(lambda: not parts(), "nothing is left of it")
    assert uploaded(service, b"x")


def test_a_connection_serves_on_after_an_upload(start_service):
    service = start_service(_ECHO)
    headers, body = file_form(b"x" * 100_000)
    with service.connect() as connection:
        for _ in range(3):
            connection.request("POST", _UPLOAD, headers, body)
            reply = connection.read_reply()
            assert reply.status == 200
            connection.request("GET", reply.json()["data"]["url"])
            assert connection.read_reply().body == b"x" * 100_000


def test_a_small_body_size_of_nginx_is_warned_of(make_service):
    service = make_service(_ECHO, location="client_max_body_size 20m;")
    accepted, printed = service.test_configuration()
    assert accepted and "below the service's own limit of 26214400 bytes" in printed
    assert 'write "client_max_body_size 26m"' in printed


@pytest.mark.local_files
def test_an_unusable_directory_fails_the_configuration(make_service):
    service = make_service(_ECHO | {"media": {"storage_path": "/nonexistent/deep/uploads"}})
    assert "media: /nonexistent/deep/uploads cannot be used" in service.refusal()
