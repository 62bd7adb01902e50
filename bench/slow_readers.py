#!/usr/bin/env python3
"""Cost of clients that do not read: latency of a small POST while many streams wait for their
clients, compared with the same POST without such streams, within one run.

The streams' model produces a word every few milliseconds. Each stream continues until its client's
window, the kernel's buffers and its credit (`agent_graph_buffers`) are full. POSTs are therefore
timed in two phases: while lines arrive, and after all streams have stalled.

Usage: bench/slow_readers.py BUILD_DIRECTORY [READERS [WORD_MILLISECONDS]]
"""
import http.client
import json
import os
import pathlib
import resource
import socket
import sys
import time

from run import percentile, private_kib
from servers import BODY, Nginx, module_head, working_directory

POSTS = 200
WORDS = 4000  # several times what the buffers between model and client hold
RECEIVE_BUFFER = 4096
SETTLED_SECONDS = 3  # seconds without a new stall; the status is written four times a second


class SlowNginx(Nginx):
    """A service that answers at once, and one whose model produces words slowly."""

    def __init__(self, build, directory, port, delay):
        self.build, self.directory, self.port = build, directory, port
        (directory / "agent.json").write_text(json.dumps({"app": {
            "nodes": [{"name": "MAIN", "type": "agent"}],
            "edges": [{"from": "START", "to": "MAIN"}, {"from": "MAIN", "to": "END"}]}}))
        slow = {"provider": "demo", "parameters": {"delay_ms": delay}}
        for name, settings in (("durable", {"agent": f"{build}/bench/graph.so:app"}),
                               ("talk", {"agent": "agent.json:app", "models": {"default": slow}})):
            settings["checkpointer"] = {"type": "none"}
            (directory / f"{name}.json").write_text(json.dumps(settings))
        (directory / "nginx.conf").write_text(f"""
{module_head(build, directory, "send_timeout 10m;")}
    agent_graph_service durable {directory}/durable.json state={directory}/state-durable;
    agent_graph_service talk {directory}/talk.json state={directory}/state-talk;
    server {{
        listen 127.0.0.1:{port} sndbuf=64k backlog=4096;
        location /plain/ {{ agent_graph durable; }}
        location /durable/ {{ agent_graph durable; }}
        location /talk/ {{ agent_graph talk; }}
        location = /status {{ agent_graph_status format=json; }}
    }}
}}
""")

    def waiting(self):
        """Number of credit stalls, and of outbox items that event loops have not taken yet."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", "/status")
        status = json.loads(connection.getresponse().read())
        return [sum(service[name] for service in status["services"])
                for name in ("credit_stalls", "outbox_items")]


def post_once(port):
    """Seconds for one small POST on its own connection, so that any worker may get it."""
    start = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("POST", "/plain/v1/graph/invoke", BODY, {"Content-Type": "application/json"})
    reply = connection.getresponse()
    reply.read()
    connection.close()
    if reply.status != 200:
        raise SystemExit(f"a POST was answered with {reply.status}")
    return time.perf_counter() - start


def open_reader(port, body):
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    reader.connect(("127.0.0.1", port))
    reader.sendall(b"POST /talk/v1/graph/stream HTTP/1.1\r\nHost: bench\r\n"
                   b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    return reader


def report(name, times, quiet):
    print(f"small POST, {name:<28}", end="")
    for share in (0.5, 0.99):
        ours, theirs = percentile(times, share), percentile(quiet, share)
        print(f"  p{100 * share:.0f} {1000 * ours:8.2f} ms, ratio {ours / theirs:7.1f}", end="")
    print(flush=True)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    readers = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    delay = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, readers + 1024), limit))
    body = json.dumps({"messages": [{"role": "user", "content": "word " * WORDS}]}).encode()
    with working_directory() as directory:
        with SlowNginx(build, directory, 18700 + os.getpid() % 1000, delay) as nginx:
            quiet = [post_once(nginx.port) for _ in range(POSTS)]
            report("no other client", quiet, quiet)
            before = private_kib(nginx.workers())
            sockets = [open_reader(nginx.port, body) for _ in range(readers)]
            flowing, seen, since = [], 0, time.monotonic()
            while seen < readers or time.monotonic() < since + SETTLED_SECONDS:
                flowing += [post_once(nginx.port) for _ in range(10)]
                stalls, items = nginx.waiting()
                if stalls != seen or items > 0:
                    seen, since = stalls, time.monotonic()
            report(f"{readers} streams that fill up", flowing, quiet)
            stalled = [post_once(nginx.port) for _ in range(POSTS)]
            report(f"{readers} streams that stand still", stalled, quiet)
            used = private_kib(nginx.workers()) - before
            print(f"private memory per stream that stands still: {used / readers:.0f} KiB", flush=True)
            for reader in sockets:
                reader.close()


if __name__ == "__main__":
    main()
