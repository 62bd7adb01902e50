"""Uploading and reading files through a real nginx."""

import pathlib
import random

import pytest

from harness import http1, http2
from harness.agents import behaviour
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.uploads import file_form, upload, uploaded

_ECHO = behaviour("echo")
_UPLOAD = "/v1/files/upload"
_MEGABYTE = 1024 * 1024
_PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8


@pytest.mark.parametrize("storage", ["local", "memory"])
def test_upload_and_download(start_service, storage):
    service = start_service(_ECHO | {"media": {"storage_type": storage}})
    data = random.Random(1).randbytes(3 * _MEGABYTE + 17)
    record = uploaded(service, data, "photo.png", "image/png")
    assert set(record) == {"file_id", "mime_type", "size_bytes", "filename", "extracted_text", "url",
                           "direct_url", "direct_url_expires_at"}
    assert len(record["file_id"]) == 32 and int(record["file_id"], 16) >= 0
    assert record["mime_type"] == "image/png" and record["filename"] == "photo.png"
    assert record["size_bytes"] == len(data)
    assert record["url"] == f"/v1/files/{record['file_id']}"
    assert record["extracted_text"] is record["direct_url"] is record["direct_url_expires_at"] is None

    for _ in range(4):  # on every worker
        reply = service.get(record["url"])
        assert reply.status == 200 and reply.body == data
    assert reply.header("Content-Type") == "image/png"
    assert reply.header("Content-Length") == str(len(data))
    assert reply.header("Accept-Ranges") == "bytes"
    assert reply.header("X-Content-Type-Options") == "nosniff"
    assert reply.header("Content-Disposition").startswith('inline; filename="photo.png"')

    info = service.get(record["url"] + "/info").json()["data"]
    assert info == {key: value for key, value in record.items() if key != "url"}
    url = service.get(record["url"] + "/url").json()["data"]
    assert url == {"file_id": record["file_id"], "url": record["url"], "expires_at": None,
                   "mime_type": "image/png"}


@pytest.mark.parametrize(
    "location, prefix",
    [("/support/", "/support"), ("/a b/", "/a%20b"), ("~ ^/x(/.*)?$", "/x")],
)
def test_urls_have_the_prefix_of_the_location(start_service, location, prefix):
    base = "agent_graph_base_path /x;" if location.startswith("~") else ""
    place = f'"{location}"' if " " in location and not base else location
    service = start_service(_ECHO, prefix=place, location=base)
    service.prefix = prefix
    record = uploaded(service, _PNG, "a.png", "image/png")
    assert record["url"] == f"{prefix}/v1/files/{record['file_id']}"
    url = service.get(f"/v1/files/{record['file_id']}/url").json()["data"]["url"]
    assert url == record["url"]
    assert http1.fetch(service.port, "GET", url).body == _PNG


def test_head(start_service):
    service = start_service(_ECHO)
    record = uploaded(service, _PNG, "a.png", "image/png")
    get, head = service.get(record["url"]), service.request("HEAD", record["url"])
    assert head.status == 200 and head.body == b""
    for name in ("Content-Type", "Content-Length", "ETag", "Content-Disposition"):
        assert head.header(name) == get.header(name) is not None, name


def test_ranges(start_service):
    service = start_service(_ECHO)
    data = bytes(range(100))
    url = uploaded(service, data)["url"]
    etag = service.get(url).header("ETag")

    def read(value, **headers):
        return service.get(url, headers={"Range": value} | headers)

    for value, first, last in (("bytes=0-0", 0, 0), ("bytes=10-19", 10, 19), ("bytes=90-", 90, 99),
                               ("bytes=-5", 95, 99), ("bytes=-500", 0, 99), ("bytes=50-5000", 50, 99)):
        reply = read(value)
        assert reply.status == 206 and reply.body == data[first : last + 1], value
        assert reply.header("Content-Range") == f"bytes {first}-{last}/100"
    assert read("bytes=1-2", **{"If-Range": etag}).status == 206
    for whole in (read("bytes=1-2", **{"If-Range": '"other"'}), read("bytes=5-1"), read("lines=1-2"),
                  read("bytes=0-1,5-6"), read("bytes=a-b")):
        assert whole.status == 200 and whole.body == data
    for value in ("bytes=100-", "bytes=-0", "bytes=99999999999999999999999-"):
        reply = read(value)
        assert reply.status == 416 and reply.header("Content-Range") == "bytes */100", value
        assert reply.json()["error"]["code"] == "RANGE_NOT_SATISFIABLE"
    head = service.request("HEAD", url, headers={"Range": "bytes=1-2"})
    assert head.status == 200 and head.header("Content-Length") == "100"


def test_entity_tags(start_service):
    service = start_service(_ECHO)
    url = uploaded(service, b"one")["url"]
    etag = service.get(url).header("ETag")
    for value in (etag, f'"x", W/{etag}', "*"):
        reply = service.get(url, headers={"If-None-Match": value})
        assert reply.status == 304 and reply.body == b"", value
        assert reply.header("ETag") == etag and reply.header("Content-Length") is None
    assert service.get(url, headers={"If-None-Match": '"other"'}).status == 200
    other = uploaded(service, b"two")["url"]
    assert service.get(other).header("ETag") != etag


@pytest.mark.parametrize("name, content_type", [("a.html", "text/html"), ("a.bin", None)])
def test_an_unchanged_file_stays_in_its_sandbox(start_service, name, content_type):
    service = start_service(_ECHO)
    url = uploaded(service, b"<script>alert(1)</script>", name, content_type)["url"]
    first = service.get(url)
    again = service.get(url, headers={"If-None-Match": first.header("ETag")})
    assert again.status == 304
    sandbox = "sandbox; default-src 'none'"
    for reply in (first, again):
        assert reply.header("Content-Security-Policy") == sandbox


def test_http2(start_service):
    service = start_service(_ECHO, http2=True)
    data = random.Random(2).randbytes(700_000)
    headers, body = file_form(data, "a.bin")
    reply = http2.fetch(service.http2_port, "POST", _UPLOAD, list(headers.items()), body)
    assert reply.status == 200, reply.text
    read = http2.fetch(service.http2_port, "GET", reply.json()["data"]["url"])
    assert read.status == 200 and read.body == data


def test_mime_type_comes_from_the_part_else_from_the_name(start_service):
    service = start_service(_ECHO)
    for content_type, filename, stored in (
        ("text/html; charset=utf-8", "a.png", "text/html; charset=utf-8"),
        (None, "a.PNG", "image/png"), (None, "notes.md", "text/markdown"),
        (None, "noextension", "application/octet-stream"), ("nonsense", "a.gif", "image/gif"),
        # A browser would use the last of these types.
        ("image/png; x=y, text/html", "a.gif", "image/gif"), ("text/plain,text/html", "a", "application/octet-stream"),
    ):
        record = uploaded(service, b"\x00\x01", filename, content_type)
        assert record["mime_type"] == stored
        assert service.get(record["url"]).header("Content-Type") == stored


@pytest.mark.parametrize("headers", [True, False])
def test_active_content_is_only_offered_for_saving(start_service, headers):
    service = start_service(_ECHO | {"security_headers": headers})
    page = b"<!doctype html><script>alert(1)</script>"
    for data, filename, content_type in (
        (page, "a.html", "text/html"), (b"<svg xmlns='x'/>", "a.svg", "image/svg+xml"),
        (page, "a.png", "image/png"), (b"\xef\xbb\xbf \n<HTML>", "a.txt", "text/plain"),
        (b"x", "a.xml", "application/xml"),
    ):
        reply = service.get(uploaded(service, data, filename, content_type)["url"])
        assert reply.header("Content-Type") == content_type
        assert reply.header("X-Content-Type-Options") == "nosniff"
        assert reply.header("Content-Disposition").startswith("attachment"), content_type
        assert reply.header("Content-Security-Policy") == "sandbox; default-src 'none'"
        assert reply.body == data
    for content_type in ("application/pdf", "application/zip"):
        reply = service.get(uploaded(service, b"x", "a", content_type)["url"])
        assert reply.header("Content-Disposition").startswith("attachment")


def test_file_names(start_service):
    service = start_service(_ECHO)
    for sent, kept in (("../../etc/passwd", "passwd"), ("C:\\temp\\a.txt", "a.txt"),
                       ('q\\"q.txt', 'q"q.txt'), ("naïve.txt", "naïve.txt"), ("  a b  ", "a b"),
                       ("x" * 300, "x" * 255), ("a\tb\x7f.txt", "ab.txt")):
        record = uploaded(service, b"x", sent)
        assert record["filename"] == kept
        value = service.get(record["url"]).header("Content-Disposition")
        assert "\r" not in value and value.isascii()


def test_unknown_and_malformed_ids(start_service):
    service = start_service(_ECHO)
    for name in ("0" * 32, "x", "A" * 32, "..%2F..%2Fetc%2Fpasswd", "a%2Fb", "0" * 31, "é"):
        name = name.replace("é", "%C3%A9")
        for tail in ("", "/info", "/url"):
            reply = service.get(f"/v1/files/{name}{tail}")
            assert reply.status == 404, name


def _without_identity(reply):
    body = reply.json()
    for key in ("request_id", "timestamp"):
        body["metadata"].pop(key)
    return reply.status, body


def test_files_of_others_do_not_exist(start_service):
    service = start_service(_ECHO | {"auth": "jwt", "env": "env", "authorization": "allow_all"},
                            files={"env": JWT_ENVIRONMENT})
    url = uploaded(service, b"secret", headers=bearer("alice"))["url"]
    assert service.get(url, headers=bearer("alice")).body == b"secret"
    unknown = "/v1/files/" + "0" * 32
    for tail in ("", "/info", "/url"):
        foreign = service.get(url + tail, headers=bearer("bob"))
        assert foreign.status == 404
        assert _without_identity(foreign) == _without_identity(
            service.get(unknown + tail, headers=bearer("bob")))
    assert service.request("HEAD", url, headers=bearer("bob")).status == 404
    assert service.get(url).status == 403


@pytest.mark.parametrize("required, status", [(False, 200), (True, 404)])
def test_files_without_an_owner(start_service, required, status):
    service = start_service(_ECHO | {"media": {"require_owner": required}})
    url = uploaded(service, b"x")["url"]
    assert service.get(url).status == status
    service.write("env", JWT_ENVIRONMENT)
    service.write_settings(_ECHO | {"media": {"require_owner": required}, "auth": "jwt", "env": "env"})
    service.reload()
    assert service.get(url, headers=bearer("alice")).status == status


def test_permissions(start_service):
    service = start_service(_ECHO | {"auth": "jwt", "env": "env"}, files={"env": JWT_ENVIRONMENT})
    reply = upload(service, b"x", headers=bearer(scopes=["files:read"]))
    assert reply.json()["detail"] == "Missing required scope: files:upload"
    url = uploaded(service, b"x", headers=bearer(scopes=["files:upload"]))["url"]
    for tail in ("", "/info", "/url"):
        reply = service.get(url + tail, headers=bearer(scopes=["files:upload"]))
        assert reply.json()["detail"] == "Missing required scope: files:read"


def test_an_unknown_caller_is_refused_before_the_body(start_service):
    service = start_service(_ECHO | {"auth": "jwt", "env": "env"}, files={"env": JWT_ENVIRONMENT})
    headers, body = file_form(bytes(20 * _MEGABYTE))
    with service.connect() as connection:
        connection.request("POST", _UPLOAD, headers | {"Content-Length": str(len(body))})
        assert connection.read_reply().status == 403


def test_files_survive_kill_reload_and_restart(start_service):
    service = start_service(_ECHO)
    url = uploaded(service, _PNG)["url"]
    service.kill_worker()
    assert service.get(url).body == _PNG
    service.reload()
    assert service.get(url).body == _PNG
    service.stop()
    service.wait_until_gone()
    service.start()
    assert service.get(url).body == _PNG


def test_an_acknowledged_file_survives_kill_9_of_everything(start_service):
    service = start_service(_ECHO)
    url = uploaded(service, _PNG)["url"]
    service.kill_all()
    service.start()
    assert service.get(url).body == _PNG


def test_a_client_that_waits_to_be_told_to_go_on(start_service):
    service = start_service(_ECHO | {"auth": "jwt", "env": "env"}, files={"env": JWT_ENVIRONMENT})
    headers, body = file_form(bytes(2 * _MEGABYTE))
    expecting = [*headers.items(), ("Content-Length", str(len(body))), ("Expect", "100-continue")]
    with service.connect() as connection:
        connection.request("POST", _UPLOAD, expecting)
        assert connection.read_head().status == 403
    with service.connect() as connection:
        connection.request("POST", _UPLOAD, expecting + bearer())
        assert connection.read_head().status == 100
        connection.send(body)
        assert connection.read_reply().status == 200


def _memory_folders(master):
    """Returns the folders where this master's nginx keeps files in memory; another nginx may be
    running."""

    def belongs(instance):
        try:
            return instance.read_text().split()[:1] == [str(master)]
        except FileNotFoundError:  # that of another nginx, which has ended
            return False

    return [path.parent for path in pathlib.Path("/dev/shm").glob("agent-graph-*/instance") if belongs(path)]


def test_files_in_memory_end_with_nginx(start_service):
    service = start_service(_ECHO | {"media": "memory"})
    url = uploaded(service, _PNG)["url"]
    service.kill_worker()
    assert service.get(url).body == _PNG
    service.reload()
    assert service.get(url).body == _PNG
    (folder,) = _memory_folders(service.master_pid)
    service.stop()
    service.wait_until_gone()
    assert not folder.exists(), "it is removed"
    service.start()
    assert service.get(url).status == 404
