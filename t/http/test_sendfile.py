"""A stored file is sent from disk to the socket without a copy in the worker."""

import random
import re
import shutil
import signal
import subprocess

import pytest

from harness import environment
from harness.agents import behaviour
from harness.uploads import uploaded
from harness.waiting import wait_until

_MEGABYTE = 1024 * 1024

pytestmark = [
    pytest.mark.local_files,
    pytest.mark.skipif(
        not shutil.which("strace") or environment.SANITIZER != "", reason="needs strace"
    ),
]


def _calls_of_a_download(service, trace, record, data):
    """Returns (bytes that the worker sent with sendfile, bytes that it read from the file)."""
    worker = service.only_worker()
    calls = "trace=sendfile,read,readv,pread64,preadv,mmap"
    # A file per thread: in a common one, calls of two threads at once are cut into two lines each.
    command = ["strace", "-ff", "-y", "-s", "0", "-e", calls, "-o", trace, "-p", str(worker.pid)]
    with open(trace.parent / "messages_of_strace", "w+") as messages:
        strace = subprocess.Popen(command, stderr=messages)
        try:
            wait_until(lambda: messages.seek(0) or "attached" in messages.read(), "strace attaches")
            assert service.get(record["url"]).body == data
            # The bytes arrive before strace has seen their call return. The worker, its only thread that
            # serves requests, goes on only after that.
            assert service.get("/ping").status == 200
        finally:
            strace.send_signal(signal.SIGINT)
            strace.wait(environment.PATIENCE)
    file_of = rf"<[^>]*/{record['file_id']}>"
    sent = copied = 0
    lines = [line for file in trace.parent.glob("trace.*") for line in file.read_text().splitlines()]
    for line in lines:
        if found := re.search(rf"sendfile\(\d+<[^>]*>, \d+{file_of}.*\) = (\d+)", line):
            sent += int(found[1])
        elif found := re.search(rf"p?read\w*\(\d+{file_of}.*\) = (\d+)", line):
            copied += int(found[1])
        assert not re.search(rf"mmap\(.*{file_of}", line), line
    return sent, copied


@pytest.mark.parametrize("directive", ["sendfile on;", "sendfile off;"])
def test_a_download_is_sent_by_sendfile(start_service, directory, directive):
    service = start_service(behaviour("echo"), workers=1, http=directive)
    data = random.Random(5).randbytes(5 * _MEGABYTE)
    record = uploaded(service, data)
    sent, copied = _calls_of_a_download(service, directory / "trace", record, data)
    whole = (len(data), 0) if directive == "sendfile on;" else (0, len(data))
    assert (sent, copied) == whole
