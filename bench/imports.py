#!/usr/bin/env python3
"""Measures agent-graph-admin with many threads: the import of a database of AgentFlow into LevelDB, the
import of that state into PostgreSQL, and verify, each with its time, its memory and its rate. Then an
nginx serves the result.

The first import also makes the LevelDB state that the second one reads. A thread has a state with two
fields and two messages. Times depend on the machine; compare the rates with each other.
Usage: bench/imports.py BUILD_DIRECTORY [THREADS]
"""
import contextlib
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ["AGENT_GRAPH_BUILD"] = str(pathlib.Path(sys.argv[1]).resolve())
sys.path.insert(0, str(ROOT / "t" / "http"))

from harness import environment, postgres  # noqa: E402
from harness.agents import behaviour  # noqa: E402
from harness.service import Service  # noqa: E402

THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000

# The tables of AgentFlow 0.10 that the import reads.
_TABLES = """
CREATE TABLE threads (thread_id varchar(255) PRIMARY KEY, thread_name varchar(255),
  user_id varchar(255) NOT NULL, created_at timestamptz DEFAULT now(),
  updated_at timestamptz DEFAULT now(), meta jsonb DEFAULT '{}');
CREATE TABLE states (state_id serial PRIMARY KEY, thread_id varchar(255) NOT NULL,
  version bigint NOT NULL, state_data jsonb NOT NULL);
CREATE TABLE messages (message_id varchar(255) PRIMARY KEY, thread_id varchar(255) NOT NULL,
  role text NOT NULL, content text NOT NULL, tool_calls jsonb, tool_call_id varchar(255),
  reasoning text, created_at timestamptz DEFAULT now(), usages jsonb, meta jsonb);
"""
_ROWS = """
INSERT INTO threads SELECT 't' || n, 'thread ' || n, 'user' || n % 1000,
  '2026-01-01'::timestamptz + n * interval '1 second', '2026-01-01'::timestamptz + n * interval '1 second'
  FROM generate_series(1, {count}) AS n;
INSERT INTO messages SELECT 'm' || n || '-' || k, 't' || n, CASE k WHEN 1 THEN 'user' ELSE 'assistant' END,
  '[{{"type": "text", "text": "message ' || k || ' of thread ' || n || repeat(', and more', 20) ||
  '", "annotations": []}}]', NULL, NULL, NULL,
  '2026-01-01'::timestamptz + n * interval '1 second' + k * interval '1 millisecond'
  FROM generate_series(1, {count}) AS n, generate_series(1, 2) AS k;
INSERT INTO states (thread_id, version, state_data) SELECT 't' || n, 1, jsonb_build_object(
  'city', 'city ' || n, 'visited', jsonb_build_array(n), 'context_summary', NULL, 'context',
  jsonb_build_array(
    jsonb_build_object('message_id', 'm' || n || '-1', 'role', 'user', 'content', jsonb_build_array(
      jsonb_build_object('type', 'text', 'text', 'message 1 of thread ' || n || repeat(', and more', 20)))),
    jsonb_build_object('message_id', 'm' || n || '-2', 'role', 'assistant', 'content', jsonb_build_array(
      jsonb_build_object('type', 'text', 'text', 'message 2 of thread ' || n || repeat(', and more', 20))))))
  FROM generate_series(1, {count}) AS n;
CREATE INDEX ON states (thread_id);
CREATE INDEX ON messages (thread_id);
ANALYZE;
"""


def report(what, value, note=""):
    print(f"{what:<58}{value:>14}   {note}", flush=True)


def measured(what, *arguments):
    """Runs agent-graph-admin; reports its time, its CPU time and its largest memory."""
    program = environment.BUILD / "agent-graph-admin"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    process = subprocess.Popen(
        [program, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    peak = 0
    while process.poll() is None:
        with contextlib.suppress(OSError, IndexError):
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            peak = max(peak, int(status.split("VmHWM:")[1].split()[0]))
        time.sleep(0.2)
    seconds = time.monotonic() - began
    output = process.stdout.read()
    assert process.returncode == 0, output
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report(what, f"{seconds:.0f} s", f"{THREADS / seconds:.0f} threads/s, {cpu:.0f} s of CPU, "
           f"{peak / 1024:.0f} MiB")
    return output


def check_served(service):
    config = {"thread_id": f"t{THREADS // 2}"}
    began = time.monotonic()
    assert service.invoke("go on", config=config).status == 200
    report("a turn on one of these threads", f"{(time.monotonic() - began) * 1000:.0f} ms")
    began = time.monotonic()
    page = service.get("/v1/threads?limit=20").json()["data"]["threads"]
    assert len(page) == 20
    report("a page of the newest threads", f"{(time.monotonic() - began) * 1000:.0f} ms")
    messages = service.get(f"/v1/threads/t{THREADS // 2}/messages").json()["data"]["messages"]
    assert len(messages) == 4, messages


def main():
    # With fsync, as for users.
    server = postgres.PostgresServer(durable=True, max_wal_size="4GB", shared_buffers="512MB")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="agent-graph-imports-"))
    folder.chmod(0o755)  # workers of nginx run as another user
    try:
        source = server.create_empty()
        source.query(_TABLES)
        source.query(_ROWS.format(count=THREADS))
        state = folder / "state"
        state.mkdir(mode=0o700)
        measured(f"import of {THREADS} threads from AgentFlow to LevelDB",
                 "import", "--from", "agentflow", source.url, state)
        source.drop()
        target = server.create()
        measured("the same threads from LevelDB to PostgreSQL",
                 "import", "--from", "leveldb", state, target.url)
        measured("verify of the state in LevelDB", "verify", state)
        output = measured("verify of the database", "verify", target.url)
        assert f"{THREADS} threads, 0 memories, 0 problems" in output, output
        settings = behaviour("echo", checkpointer={"type": "postgres", "url": target.url})
        service = Service(folder / "nginx", settings)
        service.link_graphs()
        try:
            check_served(service.start())
        finally:
            service.stop()
            service.wait_until_gone()
    finally:
        server.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
