"""Runs agent-graph-admin on the state of a service, and looks at what the service stores."""

import os
import subprocess

from . import environment
from .messages import texts

PROGRAM = environment.BUILD / "agent-graph-admin"


def admin(*arguments, code=0, extra_environment=None):
    """Runs the program; returns its output. It must exit with `code`."""
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | (extra_environment or {}),
        timeout=environment.PATIENCE,
        check=False,
    )
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def state_of(service):
    """The state directory of a service."""
    return service.directory / "state" / "test"


def run_on(service, thread_id, text):
    """Runs the agent on the thread; returns the texts of its new messages."""
    reply = service.invoke(text, config={"thread_id": thread_id})
    assert reply.status == 200, reply.text
    return texts(reply.json()["data"]["messages"])


def thread_ids(service):
    """The ids of all threads."""
    return {thread["thread_id"] for thread in service.get("/v1/threads").json()["data"]["threads"]}


def memory_texts(service):
    """The contents of all memories."""
    data = service.post("/v1/store/memories/list").json()["data"]
    return {memory["content"] for memory in data["memories"]}
