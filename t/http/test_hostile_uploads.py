"""Uploads designed to cause load: tiny pieces, confusing boundaries, documents that never end."""

import random
import select
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import documents, environment, processes
from harness.agents import behaviour
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.uploads import file_form, form, part, upload, uploaded
from harness.waiting import wait_until

_ECHO = behaviour("echo")
_UPLOAD = "/v1/files/upload"
_MEGABYTE = 1024 * 1024


def _spools(service):
    return list((service.directory / "state" / "test" / "uploads" / "tmp").glob("*"))


def _spooled(service):
    return sum(spool.stat().st_size for spool in _spools(service))


def _chunks(body, size):
    return b"".join(b"%x\r\n%s\r\n" % (len(body[at : at + size]), body[at : at + size])
                    for at in range(0, len(body), size))


def test_the_largest_file_in_tiny_pieces(start_service):
    service = start_service(_ECHO, workers=1)
    uploaded(service, bytes(_MEGABYTE))
    worker = service.only_worker()
    before = processes.resident_bytes(worker.pid)
    data = random.Random(3).randbytes(25 * _MEGABYTE)
    headers, body = file_form(data)
    with service.connect() as connection:
        connection.request("POST", _UPLOAD, headers | {"Transfer-Encoding": "chunked"})
        # The beginning and the end are sent as one-byte chunks in packets with arbitrary ends; the
        # middle as usual.
        for start, stop, size in ((0, 50_000, 1), (50_000, len(body) - 50_000, 65_521),
                                  (len(body) - 50_000, len(body), 1)):
            wire = _chunks(body[start:stop], size)
            for at in range(0, len(wire), 40_009):
                connection.send(wire[at : at + 40_009])
            assert service.get("/ping").status == 200
        grown = processes.resident_bytes(worker.pid) - before
        connection.send(b"0\r\n\r\n")
        reply = connection.read_reply()
    assert reply.status == 200, reply.text
    assert service.get(reply.json()["data"]["url"]).body == data
    if not environment.SANITIZER:
        assert grown < 8 * _MEGABYTE


def _readable(connection, patience):
    return bool(select.select([connection.socket], [], [], patience)[0])


def test_a_slow_upload_may_take_longer_than_one_that_says_nothing(start_service):
    """client_body_timeout limits the time between two pieces: an upload that keeps sending may
    finish."""
    service = start_service(_ECHO, workers=1, location="client_body_timeout 10s;")
    data = random.Random(4).randbytes(25 * _MEGABYTE)
    headers, body = file_form(data)
    head = headers | {"Content-Length": str(len(body))}
    with service.connect() as slow, service.connect() as idle:
        slow.request("POST", _UPLOAD, head)
        slow.send(body[:1000])
        sent = 1000
        idle.request("POST", _UPLOAD, head)
        idle.send(body[:1000])
        # Longer than the time allowed between two pieces; other requests are served meanwhile.
        while not _readable(idle, patience=0.1):
            slow.send(body[sent : sent + 10_000])
            sent += 10_000
            assert service.get("/ping").status == 200
        # nginx ends it without an answer, as it does with every body that stalls.
        assert idle.is_closed_by_server()
        wait_until(lambda: len(_spools(service)) == 1, "what came of it is gone")
        slow.send(body[sent:])
        reply = slow.read_reply()
    assert reply.status == 200, reply.text
    assert service.get(reply.json()["data"]["url"]).body == data
    access_log = (service.directory / "logs" / "access.log").read_text()
    assert access_log.count(f'"POST {_UPLOAD} HTTP/1.1" 408 ') == 1


def test_two_hundred_uploads_at_once_take_bounded_memory(start_service):
    count = 200
    # Each upload waits for its last bytes until all have arrived, however long that takes.
    service = start_service(_ECHO, workers=1, location="client_body_timeout 10m;")
    uploaded(service, bytes(_MEGABYTE))
    worker = service.only_worker()
    before = processes.resident_bytes(worker.pid)
    headers, body = file_form(bytes(_MEGABYTE))
    connections = []
    for _ in range(count):
        connection = service.connect()
        connection.request("POST", _UPLOAD, headers | {"Content-Length": str(len(body))})
        connection.send(body[:-100])
        connections.append(connection)
    # All except data that may be in flight.
    wait_until(lambda: _spooled(service) > count * (_MEGABYTE - 256 * 1024), "all have arrived", 300)
    grown = processes.resident_bytes(worker.pid) - before
    assert service.get("/ping").status == 200
    for connection in connections:
        connection.send(body[-100:])
        assert connection.read_reply().status == 200
        connection.close()
    if not environment.SANITIZER:
        assert grown < count * 600 * 1024, f"{grown} bytes for {count} uploads of 1 MiB"


_BOUNDARY = "b0undary"


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n--" + _BOUNDARY.encode()[:-1],
        b"\r\n--b\r\n--b0\r\n--b0undar\r\n-",
        b"\r\n" * 5000 + b"\r",
        b"x--" + _BOUNDARY.encode() + b"--",
        b"\n--" + _BOUNDARY.encode() + b"--\n",
        b"\r\n\r\n--\r\n----\r\n",
        b"Content-Disposition: form-data; name=\"file\"; filename=\"b\"\r\n\r\n",
    ],
)
def test_data_that_looks_like_a_boundary(start_service, data):
    service = start_service(_ECHO)
    headers, body = form(part("file", data, "a"), boundary=_BOUNDARY)
    for preamble, epilogue in ((b"", b""), (b"before\r\n", b"after\r\n--" + _BOUNDARY.encode())):
        reply = service.post(_UPLOAD, preamble + body + epilogue, headers=headers)
        assert reply.status == 200, reply.text
        assert service.get(reply.json()["data"]["url"]).body == data


def test_boundaries(start_service):
    service = start_service(_ECHO)
    for given, used, status in (
        ('"a b"', "a b", 200), ("x" * 70, "x" * 70, 200), ("x; charset=utf-8", "x", 200),
        ("x" * 71, "x" * 71, 400), ("", "", 400), ('""', "", 400), ("x", "y", 400),
        ('"a\\"b"', 'a"b', 400), ('"BB', "BB", 400), ('"BB"x', "BB", 400), ('"BB\\"', "BB", 400),
        ('BB; charset="utf-8', "BB", 400),
    ):
        _, body = form(part("file", b"data", "a"), boundary=used)
        reply = service.post(_UPLOAD, body,
                             headers={"Content-Type": f"multipart/form-data; boundary={given}"})
        assert reply.status == status, (given, reply.text)
    assert service.get("/ping").status == 200


@pytest.mark.parametrize(
    "disposition",
    [b'name="file; filename=a', b'name="file"; filename="a', b'name="file"; filename="a\\"',
     b'name="file"x; filename="a"'],
)
def test_quotes_without_an_end_are_refused(start_service, disposition):
    service = start_service(_ECHO)
    headers, body = form(b"Content-Disposition: form-data; " + disposition + b"\r\n\r\ndata")
    assert service.post(_UPLOAD, body, headers=headers).status == 400


def test_forms_without_measure_are_refused(start_service):
    service = start_service(_ECHO)
    many = form(*(part("f", b"") for _ in range(5000)), part("file", b"x", "a"))
    long_head = form(part("file", b"x", "a" * 200_000))
    long_line = (form(b"")[0], b"------test-boundary-7f" + b" " * 100_000 + b"\r\n\r\n")
    after_another = form(part("file", b"x", "a"), b"Content-Disposition: form-data\r\n\r\nx")
    inside = b"--inner\r\n" + part("file", b"x", "a") + b"\r\n--inner--\r\n"
    nested = form(part("other", inside, content_type="multipart/mixed; boundary=inner"))
    for headers, body in (many, long_head, long_line, after_another, nested):
        reply = service.post(_UPLOAD, body, headers=headers)
        assert reply.status == 400, reply.text
    assert service.get("/ping").status == 200


def test_documents_that_never_end_harm_nobody(start_service):
    service = start_service(_ECHO, workers=1)
    headers, body = file_form(documents.endless_pdf(), "a.pdf", "application/pdf")
    with service.connect() as connection:
        connection.request("POST", _UPLOAD, headers, body)
        # The other document reader is free, and requests without documents do not wait.
        record = uploaded(service, documents.pdf(), "b.pdf", "application/pdf")
        assert record["extracted_text"] == documents.TEXT
        assert uploaded(service, b"x", "c.png", "image/png")
        reply = connection.read_reply()
    assert reply.status == 200 and reply.json()["data"]["extracted_text"] is None
    assert service.get(reply.json()["data"]["url"]).body == documents.endless_pdf()


def test_nobody_s_documents_keep_those_of_others_waiting(start_service):
    settings = {"auth": "jwt", "env": "env", "authorization": "allow_all"}
    service = start_service(_ECHO | settings, workers=1, files={"env": JWT_ENVIRONMENT})
    headers, body = file_form(documents.endless_pdf(), "a.pdf", "application/pdf")
    hers = []
    for _ in range(8):
        connection = service.connect()
        connection.request("POST", _UPLOAD, [*headers.items(), *bearer("alice")], body)
        hers.append(connection)
    wait_until(lambda: len(_spools(service)) == len(hers), "all of hers have arrived")
    record = uploaded(service, documents.pdf(), "b.pdf", "application/pdf", headers=bearer("bob"))
    assert record["extracted_text"] == documents.TEXT
    for connection in hers:
        connection.reset()


_OFFICE = "application/vnd.openxmlformats-officedocument."
# They unpack to 1000 times their size, or are nested deeply.
_BOMBS = {
    "a.docx": ("wordprocessingml.document", "word/document.xml", "<w:t>x</w:t>"),
    "a.xlsx": ("spreadsheetml.sheet", "xl/worksheets/sheet1.xml", "<c><v>1</v></c>"),
    "a.pptx": ("presentationml.presentation", "ppt/slides/slide1.xml", "<a:p>"),
}


@pytest.mark.parametrize("filename", _BOMBS)
def test_bombs_in_archives_keep_nobody_waiting(start_service, filename):
    settings = {"auth": "jwt", "env": "env", "authorization": "allow_all"}
    service = start_service(_ECHO | settings, workers=1, files={"env": JWT_ENVIRONMENT})
    kind, entry, repeated = _BOMBS[filename]
    data = documents.archive({entry: "<a>" + repeated * 5_000_000})
    assert len(data) < _MEGABYTE
    hers = []

    def send(_):
        hers.append(upload(service, data, filename, _OFFICE + kind, headers=bearer("alice")))

    with ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(send, number) for number in range(8)]
        record = uploaded(service, documents.docx(), "b.docx", _DOCX, headers=bearer("bob"))
        assert record["extracted_text"] == documents.TEXT
        for each in sent:
            each.result()
    for reply in hers:
        assert reply.status == 200, reply.text
        assert len(reply.json()["data"]["extracted_text"] or "") <= 512 * 1024
    assert service.get("/ping").status == 200


_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.mark.parametrize(
    "data, content_type",
    [
        (b"<div>" * 1_000_000, "text/html"),
        (b"<p>" + b"<!-- " * 500_000, "text/html"),
        (b"<a>" * 500_000, "application/xml"),
        (b"<!DOCTYPE a [" + b"<!ENTITY e0 'xxxxxxxxxx'>" + b"".join(
            b"<!ENTITY e%d '%s'>" % (n, b"&e%d;" % (n - 1) * 10) for n in range(1, 10)) + b"]><a>&e9;</a>",
         "application/xml"),
        (b"<!DOCTYPE a [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><a>&f;</a>", "application/xml"),
        (documents.archive({"word/document.xml": b"<a>" + b"<t>\x01" * 100}), _DOCX),
        (documents.archive({"../../../../tmp/escaped": "x", "word/document.xml": "<a/>"}), _DOCX),
        (b"PK\x05\x06" + b"\xff" * 18, _DOCX),
        (b"\x00" * _MEGABYTE, "application/pdf"),
    ],
    # The name of a test is in the environment of what it starts, so the data may not be a part of it.
    ids=["deep-html", "html-comments", "deep-xml", "entities", "external-entity", "control-characters",
         "outside-names", "end-of-archive", "zeros"],
)
def test_hostile_documents_are_stored_and_no_more(start_service, data, content_type):
    service = start_service(_ECHO, workers=1)
    reply = upload(service, data, "a", content_type)
    assert reply.status == 200, reply.text
    record = reply.json()["data"]
    text = record["extracted_text"] or ""
    assert "root:" not in text and len(text) <= 512 * 1024
    assert service.get(record["url"]).body == data
    assert uploaded(service, documents.docx(), "b.docx", _DOCX)["extracted_text"] == documents.TEXT
