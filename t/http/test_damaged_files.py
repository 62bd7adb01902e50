"""A stored file that has fewer bytes than its record says."""

import os
import random

import pytest

from harness.agents import behaviour
from harness.uploads import uploaded

_MEGABYTE = 1024 * 1024

pytestmark = pytest.mark.local_files


@pytest.fixture(params=["sendfile on;", "sendfile off;"])
def service(request, start_service):
    return start_service(behaviour("echo"), workers=1, http=request.param)


def _path_of(service, record):
    (path,) = (service.directory / "state" / "test" / "uploads").rglob(record["file_id"])
    return path


def test_a_short_file_is_reported(service):
    record = uploaded(service, b"x" * _MEGABYTE)
    os.truncate(_path_of(service, record), 100)
    worker = service.only_worker().pid
    for headers in ([], [("Range", "bytes=0-9")]):
        reply = service.get(record["url"], headers=headers)
        assert (reply.status, reply.json()["error"]["code"]) == (500, "STORAGE_ERROR")
    assert service.only_worker().pid == worker
    assert len(service.error_log.lines(f"{record['file_id']} has 100 bytes")) == 2


def test_a_file_that_becomes_short_during_a_download(service):
    service.error_log.allow(r"\[alert\].*a stored file")
    data = random.Random(7).randbytes(24 * _MEGABYTE)
    record = uploaded(service, data)
    worker = service.only_worker().pid
    with service.connect(receive_buffer=4096) as connection:
        connection.request("GET", record["url"])
        assert connection.read_head().status == 200
        os.truncate(_path_of(service, record), 100)
        assert len(connection.read_to_end()) < len(data)
    assert service.only_worker().pid == worker
    assert service.get("/ping").status == 200
