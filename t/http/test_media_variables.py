"""Environment variables for the storage of files: each has the effect that its name says."""

import time
import urllib.parse

import pytest

from harness.agents import behaviour
from harness.bucket import Bucket
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.uploads import upload, uploaded
from harness.waiting import wait_until

_ECHO = behaviour("echo", env="env")


def _variables(**values):
    return {"env": "".join(f"{name}={value}\n" for name, value in values.items())}


@pytest.fixture
def bucket():
    server = Bucket()
    yield server
    server.close()


def _cloud(bucket, **other):
    return {
        "MEDIA_STORAGE_TYPE": "cloud",
        "MEDIA_CLOUD_ENDPOINT": bucket.endpoint,
        "MEDIA_CLOUD_BUCKET": "pictures",
        "MEDIA_CLOUD_ACCESS_KEY_ID": bucket.ACCESS_KEY,
        "MEDIA_CLOUD_SECRET_ACCESS_KEY": bucket.SECRET_KEY,
    } | other


def _url(service, record):
    reply = service.get(record["url"] + "/url")
    assert reply.status == 200, reply.text
    url = reply.json()["data"]
    return url, dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url["url"]).query))


def test_allowed_content_types(start_service):
    files = _variables(MEDIA_ALLOWED_CONTENT_TYPES="image/*, text/plain")
    service = start_service(_ECHO, files=files)
    for name, content_type, status in (
        ("a.png", "image/png", 200), ("a.txt", "text/plain", 200), ("a.pdf", "application/pdf", 415),
    ):
        assert upload(service, b"x", name, content_type).status == status


@pytest.mark.parametrize("required, status", [("true", 404), ("false", 200)])
def test_require_owner(start_service, required, status):
    files = _variables(MEDIA_REQUIRE_OWNER=required)
    service = start_service(_ECHO, files=files)
    url = uploaded(service, b"x")["url"]
    service.write("env", files["env"] + JWT_ENVIRONMENT)
    service.write_settings(_ECHO | {"auth": "jwt"})
    service.reload()
    assert service.get(url, headers=bearer("anybody")).status == status


def test_a_bucket(start_service, bucket):
    """Our server verifies requests with the two keys, for the region that the request names."""
    variables = _cloud(bucket, MEDIA_CLOUD_REGION="eu-north-7", MEDIA_CLOUD_PREFIX="a/prefix",
                       MEDIA_CLOUD_PROVIDER="aws", MEDIA_CLOUD_SESSION_TOKEN="of-this-session",
                       MEDIA_SIGNED_URL_TTL_SECONDS="777")
    service = start_service(_ECHO, files=_variables(**variables))
    record = uploaded(service, b"bytes", "a.txt", "text/plain")
    assert bucket.objects[f"/pictures/a/prefix/{record['file_id']}"] == ("text/plain", b"bytes")
    assert service.get(record["url"]).body == b"bytes" and bucket.refused == []
    url, query = _url(service, record)
    assert url["url"].startswith(f"{bucket.endpoint}/pictures/a/prefix/{record['file_id']}?")
    key, _, region, *_ = query["X-Amz-Credential"].split("/")
    assert (key, region) == (bucket.ACCESS_KEY, "eu-north-7")
    assert query["X-Amz-Security-Token"] == "of-this-session" and query["X-Amz-Expires"] == "777"
    assert url["expires_at"] <= time.time() + 777


def test_a_key_of_the_settings_beats_its_variable(start_service, bucket):
    service = start_service(_ECHO | {"media": {"cloud": {"bucket": "other"}}},
                            files=_variables(**_cloud(bucket)))
    record = uploaded(service, b"bytes")
    assert f"/other/uploads/{record['file_id']}" in bucket.objects and bucket.refused == []


def test_a_wrong_key_is_refused_by_the_bucket(start_service, bucket):
    for name in ("MEDIA_CLOUD_ACCESS_KEY_ID", "MEDIA_CLOUD_SECRET_ACCESS_KEY"):
        service = start_service(_ECHO, files=_variables(**_cloud(bucket, **{name: "of-somebody-else"})))
        assert upload(service, b"x").status == 503
    assert len(bucket.refused) == 2 and bucket.objects == {}


@pytest.mark.parametrize(
    "variables, told",
    [
        ({"MEDIA_CLOUD_PROVIDER": "gcp"}, "MEDIA_CLOUD_PROVIDER"),
        ({"MEDIA_CLOUD_BUCKET": "a b"}, "MEDIA_CLOUD_BUCKET"),
        ({"MEDIA_CLOUD_BUCKET": ""}, "needs bucket"),
        ({"MEDIA_CLOUD_ENDPOINT": "s3.local"}, "MEDIA_CLOUD_ENDPOINT"),
        ({"MEDIA_CLOUD_PREFIX": "../up"}, "MEDIA_CLOUD_PREFIX"),
        ({"MEDIA_SIGNED_URL_TTL_SECONDS": "soon"}, "MEDIA_SIGNED_URL_TTL_SECONDS"),
        ({"MEDIA_SIGNED_URL_TTL_SECONDS": "60", "MEDIA_SIGNED_URL_REFRESH_BUFFER_SECONDS": "60"},
         "must be longer than"),
        ({"MEDIA_ALLOWED_CONTENT_TYPES": "images"}, "MEDIA_ALLOWED_CONTENT_TYPES"),
        ({"MEDIA_REQUIRE_OWNER": "perhaps"}, "MEDIA_REQUIRE_OWNER"),
    ],
)
def test_unusable_variables(make_service, bucket, variables, told):
    service = make_service(_ECHO, files=_variables(**_cloud(bucket, **variables)))
    assert told in service.refusal()


@pytest.mark.one_host("each worker keeps the URLs that it has signed")
@pytest.mark.parametrize("buffer, kept", [("60", True), ("3599", False)])
def test_a_signed_url_is_kept_until_shortly_before_its_end(start_service, bucket, buffer, kept):
    """If the refresh buffer is one second less than its lifetime, a URL is replaced when the clock
    advances."""
    variables = _cloud(bucket, MEDIA_SIGNED_URL_TTL_SECONDS="3600",
                       MEDIA_SIGNED_URL_REFRESH_BUFFER_SECONDS=buffer)
    service = start_service(_ECHO, files=_variables(**variables), workers=1)
    record = uploaded(service, b"x")
    first, _ = _url(service, record)
    signed = first["expires_at"] - 3600
    wait_until(lambda: int(time.time()) > signed + 1, "the clock has gone on")
    second, _ = _url(service, record)
    assert (second == first) == kept
    assert kept or second["expires_at"] > first["expires_at"] and second["url"] != first["url"]
    info = service.get(record["url"] + "/info").json()["data"]
    assert not kept or info["direct_url"] == first["url"]
