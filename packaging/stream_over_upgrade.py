"""Proves that an upgrade of the packages cuts no stream.

stream_over_upgrade.py SERVICE.JSON COMMAND...   Lets the service that nginx serves on port 8000 talk to
a model whose reply stops halfway, starts a stream, runs COMMAND, which upgrades the packages, and
reads the rest of the stream. Run by test-deb.sh."""

import json
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "t" / "http"))

from harness import http1
from harness.gated_provider import GatedProvider
from harness.messages import user
from harness.stream import Stream
from harness.waiting import wait_until

_PORT = 8000


def main():
    settings_file, *upgrade = sys.argv[1:]
    root = pathlib.Path(settings_file.removesuffix("/etc/nginx/agent/service.json"))
    pid_file = root / "run/nginx.pid"
    provider = GatedProvider(words=("one ", "two ", "three"))
    settings = json.loads(pathlib.Path(settings_file).read_text())
    settings["agent"] = "graphs/support.json:app"
    settings["models"] = {
        "default": {"provider": "openai", "model": "gated", "base_url": provider.base_url, "api_key": "-"}
    }
    pathlib.Path(settings_file).write_text(json.dumps(settings))

    before = int(pid_file.read_text())
    old_workers = _children(before)
    os.kill(before, signal.SIGHUP)
    # The old workers have no requests, so they end as soon as the new ones serve.
    wait_until(lambda: not old_workers & _children(before), "the workers with the old settings end")
    stream = Stream(_PORT, "/v1/graph/stream", {"messages": [user("count")]})
    assert stream.read_head().status == 200
    provider.wait_for_waiting(1)

    subprocess.run(upgrade, check=True)

    after = int(pid_file.read_text())
    assert after != before, "nginx was not upgraded: its master is the same process"
    # The old master waits for the stream; new connections are the new master's.
    assert pathlib.Path(f"/proc/{before}").exists(), "the old master has not waited for the stream"
    assert http1.fetch(_PORT, "GET", "/ping").status == 200
    provider.open_gate()
    assert stream.ended_with_done(), "the stream was cut"
    assert stream.final_text() == provider.text
    wait_until(lambda: not pathlib.Path(f"/proc/{before}").exists(), "the old master ends")
    reply = http1.fetch(_PORT, "POST", "/v1/graph/invoke", (), {"messages": [user("count")]})
    assert reply.status == 200, reply.text
    provider.close()
    print("stream_over_upgrade: the stream went on over the upgrade and is complete")


def _children(pid):
    return set(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


main()
