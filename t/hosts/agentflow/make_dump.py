#!/usr/bin/env python3
"""Makes dump.sql: a database that the real AgentFlow server has written.

    python3.12 -m venv venv
    venv/bin/pip install "10xscale-agentflow[pg-checkpoint]==0.10.1" "10xscale-agentflow-cli[jwt]==0.6.1"
    redis-server --port 6399 --save '' &
    createdb agentflow
    venv/bin/python make_dump.py postgresql://USER:PASSWORD@127.0.0.1/agentflow redis://127.0.0.1:6399

starts the server of the package on a free port and talks with it over HTTP, as several users with tokens
and as a user without one. AgentFlow keeps no memories in PostgreSQL. The tests load the dump; they need none of
these packages."""

import asyncio
import base64
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import jwt
from agentflow.storage.checkpointer import PgCheckpointer

HERE = pathlib.Path(__file__).resolve().parent
SECRET = "the secret of the tests, of 32 bytes or more"
PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """The server; `auth`: callers need a token."""

    def __init__(self, database, redis, *, auth):
        self.port = free_port()
        config = {"agent": "assistant:app", "auth": "jwt" if auth else None,
                  "thread_name_generator": "names:Names"}
        (HERE / "agentflow.json").write_text(json.dumps(config))
        self._process = subprocess.Popen(
            [pathlib.Path(sys.executable).with_name("agentflow"), "api", "--config", "agentflow.json",
             "--port", str(self.port), "--no-reload"],
            cwd=HERE,
            env=os.environ | {
                "DATABASE": database, "REDIS": redis, "JWT_SECRET_KEY": SECRET, "JWT_ALGORITHM": "HS256",
                "PYTHONPATH": str(HERE), "DOCUMENT_HANDLING": "skip",
            },
        )
        while not self._answers():
            time.sleep(0.2)

    def _answers(self):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ping", timeout=1)
        except OSError:
            return False
        return True

    def call(self, path, body, *, user=None, method="POST", content_type="application/json"):
        headers = {"Content-Type": content_type}
        if user:
            token = jwt.encode({"user_id": user, "exp": time.time() + 3600}, SECRET, "HS256")
            headers["Authorization"] = f"Bearer {token}"
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data, headers, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.load(reply)["data"]
        except urllib.error.HTTPError as error:
            sys.exit(f"{path}: {error.code} {error.read().decode()}")

    def say(self, thread, *content, user=None):
        blocks = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
        self.call("/v1/graph/invoke", {
            "messages": [{"role": "user", "content": blocks}],
            "config": {"thread_id": thread},
        }, user=user)

    def upload(self, content, user):
        part = b'Content-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png'
        body = b"--part\r\n" + part + b"\r\n\r\n" + content + b"\r\n--part--\r\n"
        kind = "multipart/form-data; boundary=part"
        return self.call("/v1/files/upload", body, user=user, content_type=kind)["file_id"]

    def close(self):
        self._process.terminate()
        self._process.wait()
        (HERE / "agentflow.json").unlink()


def image(**media):
    return {"type": "image", "media": media}


def talk_as_users(server):
    server.say("trip", "hello", user="alice")
    server.say("trip", "time in Tokyo", user="alice")
    server.say("trip", "time in Lima", user="alice")
    server.say("trip", "a summary, please", user="alice")
    server.say("picture", "what is this?",
               image(kind="data", data_base64=PICTURE, mime_type="image/png"), user="alice")
    server.say("picture", "and this?",
               image(kind="url", url="https://example.com/cat.png", mime_type="image/png"), user="alice")
    file = server.upload(base64.b64decode(PICTURE), "alice")
    server.say("file", "and a file", image(kind="file_id", file_id=file, mime_type="image/png"), user="alice")
    server.say("paused", "please approve this", user="bob")
    server.say("unicode/ö 漢 ✓", "grüße ✓", user="bob")
    for number in range(12):
        server.say("long", f"message {number}", user="bob")
    server.call("/v1/threads/long/state", {"state": {"city": "Rome", "visited": ["Rome"]}},
                user="bob", method="PUT")


def main():
    database, redis = sys.argv[1:]
    asyncio.run(PgCheckpointer(postgres_dsn=database, redis_url=redis).asetup())
    with contextlib.closing(Server(database, redis, auth=True)) as server:
        talk_as_users(server)
    with contextlib.closing(Server(database, redis, auth=False)) as server:
        server.say("nobody", "hello from nobody")
    dump = subprocess.run(
        ["pg_dump", "--no-owner", "--no-privileges", "--no-comments", "--inserts", database],
        check=True, capture_output=True, text=True,
    ).stdout
    # An older psql does not know the command \restrict.
    lines = [line for line in dump.splitlines(keepends=True) if not line.startswith("\\")]
    (HERE / "dump.sql").write_text("".join(lines))


if __name__ == "__main__":
    main()
