"""Files in a bucket: on a third-party S3 server, which knows keys but does not verify version 4
signatures, and on our own server, which does."""

import pytest

from harness import environment, http1, http2, processes
from harness.agents import behaviour
from harness.bucket import Bucket
from harness.s3_server import S3Server
from harness.uploads import file_form, upload, uploaded
from harness.waiting import wait_until

_ECHO = behaviour("echo")
_MEGABYTE = 1024 * 1024


@pytest.fixture
def s3(directory):
    server = S3Server(directory / "s3", "files")
    yield server
    server.close()


@pytest.fixture
def bucket():
    server = Bucket()
    yield server
    server.close()


def _start(start_service, server, workers=2, cloud=(), **other):
    keys = {"endpoint": server.endpoint, "bucket": "files", "access_key_id": server.ACCESS_KEY,
            "secret_access_key": "${S3_SECRET}"} | dict(cloud)
    settings = _ECHO | {"env": "env", "media": {"storage_type": "cloud", "storage_path": "up/load",
                                                "cloud": keys}}
    files = {"env": f"S3_SECRET={server.SECRET_KEY}\n"}
    return start_service(settings, files=files, workers=workers, **other)


@pytest.fixture
def serve(start_service, s3):
    return lambda cloud=(): _start(start_service, s3, cloud=cloud)


def test_every_request_is_signed(start_service, bucket):
    service = _start(start_service, bucket)
    data = bytes(range(256)) * 2000
    page = uploaded(service, b"<html>", "a.html", "text/html")
    target = page["direct_url"].removeprefix(bucket.endpoint)
    port = int(bucket.host.split(":")[1])
    assert http1.fetch(port, "GET", target, {"Host": bucket.host}).body == b"<html>"
    record = uploaded(service, data, "a.txt", "text/plain")
    assert bucket.objects[f"/files/up/load/{record['file_id']}"] == ("text/plain", data)
    for _ in range(4):
        assert service.get(record["url"]).body == data
    info = service.get(record["url"] + "/info").json()["data"]
    target = info["direct_url"].removeprefix(bucket.endpoint)
    direct = http1.fetch(port, "GET", target, {"Host": bucket.host})
    assert direct.status == 200 and direct.body == data
    assert bucket.refused == []


def test_a_wrong_secret_is_refused(start_service, bucket):
    service = _start(start_service, bucket, cloud={"secret_access_key": "of-somebody-else"})
    reply = upload(service, b"x" * 100_000)
    assert reply.status == 503 and reply.json()["detail"] == "the file storage failed"
    assert bucket.objects == {} and "signature" in bucket.refused[0]


def test_many_large_files_are_sent_at_once_in_little_memory(start_service, bucket):
    count, data = 20, bytes(10 * _MEGABYTE)
    service = _start(start_service, bucket, workers=1)
    uploaded(service, data)
    worker = service.only_worker()
    before = processes.resident_bytes(worker.pid)
    bucket.go_on.clear()
    begun = bucket.begun
    headers, body = file_form(data)
    connections = []
    for _ in range(count):
        connection = service.connect()
        connection.request("POST", "/v1/files/upload", headers, body)
        connections.append(connection)
    wait_until(lambda: bucket.begun >= begun + count, "all are being sent", 300)
    grown = processes.resident_bytes(worker.pid) - before
    assert service.get("/ping").status == 200
    bucket.go_on.set()
    records = []
    for connection in connections:
        reply = connection.read_reply()
        assert reply.status == 200, reply.text
        records.append(reply.json()["data"]["file_id"])
        connection.close()
    for file_id in records:
        assert bucket.objects[f"/files/up/load/{file_id}"][1] == data
    assert bucket.refused == []
    if not environment.SANITIZER:
        assert grown < count * _MEGABYTE, f"{grown} bytes for {count} files of {len(data)}"


def test_a_download_that_breaks_off_ends_the_connection(start_service, bucket):
    """The client would take the next answer on the connection for the rest of the file."""
    gzip = "gzip on; gzip_types text/plain;"
    service = _start(start_service, bucket, location=gzip, http2=True)
    service.error_log.allow("a file was cut short")
    data, there = bytes(range(256)) * 4000, 500_000
    record = uploaded(service, data, "a.txt", "text/plain")
    bucket.cut_at = there

    with service.connect() as connection:
        connection.request("GET", record["url"])
        head = connection.read_head()
        assert head.status == 200 and head.header("Content-Length") == str(len(data))
        assert connection.read_to_end() == data[:there]

    with service.connect() as connection:
        connection.request("GET", record["url"], {"Accept-Encoding": "gzip"})
        assert connection.read_head().header("Transfer-Encoding") == "chunked"
        assert not connection.read_to_end().endswith(b"0\r\n\r\n")

    with http2.Http2Connection(service.http2_port) as connection:
        stream = connection.request("GET", record["url"])
        with pytest.raises(http1.ConnectionClosed, match="stream reset"):
            connection.read_reply(stream)
        assert connection.read_reply(connection.request("GET", "/ping")).status == 200

    with service.connect() as connection:
        connection.request("HEAD", record["url"])
        assert connection.read_head().header("Content-Length") == str(len(data))
        connection.request("GET", "/ping")
        assert connection.read_reply().status == 200


def test_upload_and_download(serve, s3):
    service = serve()
    data = bytes(range(256)) * 5000
    record = uploaded(service, data, "a b.png", "image/png")
    assert record["direct_url"].startswith(s3.endpoint + "/files/up/load/")
    for _ in range(4):
        reply = service.get(record["url"])
        assert reply.status == 200 and reply.body == data
    assert reply.header("Content-Type") == "image/png"
    part = service.get(record["url"], headers={"Range": "bytes=1000-1009"})
    assert part.status == 206 and part.body == data[1000:1010]
    assert part.header("Content-Range") == f"bytes 1000-1009/{len(data)}"
    assert service.request("HEAD", record["url"]).header("Content-Length") == str(len(data))
    assert service.get(record["url"], headers={"If-None-Match": reply.header("ETag")}).status == 304
    assert service.get("/v1/files/" + "0" * 32).status == 404
    info = service.get(record["url"] + "/info").json()["data"]
    assert info["direct_url"].startswith(s3.endpoint)
    config = service.get("/v1/config/multimodal").json()["data"]
    assert (config["media_storage_type"], config["media_storage_path"]) == ("cloud", "up/load")


def test_signed_urls_work_and_are_kept(serve, s3):
    service = serve(cloud={"signed_url_ttl_seconds": 1000})
    record = uploaded(service, b"direct", "a.txt", "text/plain")
    url = service.get(record["url"] + "/url").json()["data"]
    assert url["file_id"] == record["file_id"] and url["mime_type"] == "text/plain"
    assert isinstance(url["expires_at"], int)
    target = url["url"].removeprefix(s3.endpoint)
    fetched = http1.fetch(s3.port, "GET", target, {"Host": s3.host})
    assert fetched.status == 200 and fetched.body == b"direct"
    assert "X-Amz-Expires=1000&" in target and "X-Amz-Signature=" in target


def test_a_signed_url_only_offers_active_content_for_saving(serve, s3):
    service = serve()
    for data, name, content_type, disposition in (
        (b"<html>", "a.html", "text/html", "attachment"), (b"GIF89a", "a.gif", "image/gif", None)):
        record = uploaded(service, data, name, content_type)
        target = record["direct_url"].removeprefix(s3.endpoint)
        fetched = http1.fetch(s3.port, "GET", target, {"Host": s3.host})
        assert fetched.status == 200 and fetched.body == data
        assert fetched.header("Content-Disposition") == disposition


def test_documents_and_messages(serve):
    service = serve()
    record = uploaded(service, b"the text", "a.txt", "text/plain")
    assert record["extracted_text"] == "the text"
    assert service.get(record["url"] + "/info").json()["data"]["extracted_text"] == "the text"
    body = {"messages": [{"role": "user", "content": [
        {"type": "document", "file_id": record["file_id"]}]}]}
    reply = service.post("/v1/graph/invoke", body)
    assert reply.json()["data"]["messages"][0]["content"][0]["text"] == "the text"


def test_files_survive_a_restart(serve):
    service = serve()
    record = uploaded(service, b"x")
    service.stop()
    service.wait_until_gone()
    service.start()
    assert service.get(record["url"]).body == b"x"


def test_a_storage_that_is_down(serve, s3):
    service = serve()
    record = uploaded(service, b"x")
    s3.close()
    assert upload(service, b"y").status == 503
    assert service.get(record["url"]).status == 503
    assert service.get("/ping").status == 200


def test_wrong_keys_are_told_in_the_log_only(serve):
    service = serve(cloud={"access_key_id": "NOBODY", "secret_access_key": "not-a-secret-of-anybody"})
    reply = upload(service, b"x")
    assert reply.status == 503 and reply.json()["detail"] == "the file storage failed"
    log = service.error_log.text()
    assert "403" in log and "not-a-secret-of-anybody" not in log


@pytest.mark.parametrize(
    "cloud, told",
    [
        ({}, 'media.cloud: storage "cloud" needs bucket'),
        ({"bucket": "a b"}, "media.cloud.bucket: is not the name of a bucket"),
        ({"bucket": "b", "endpoint": "s3.local"}, "media.cloud.endpoint: must start with http://"),
        ({"bucket": "b", "access_key_id": "k"}, 'media.cloud: storage "cloud" needs secret_access_key'),
        ({"provider": "gcp"}, 'media.cloud.provider: "gcp" is not available'),
    ],
)
def test_unusable_settings(make_service, cloud, told):
    service = make_service(_ECHO | {"media": {"storage_type": "cloud", "cloud": cloud}})
    assert told in service.refusal()
