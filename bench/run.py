#!/usr/bin/env python3
"""Side-by-side benchmarks of the module against stock parts of the same nginx.

Every figure is a ratio of things measured in turns within one run on one machine; single figures
say little on a shared one. Usage: bench/run.py BUILD_DIRECTORY  (what `make bench` does)
"""
import asyncio
import http.client
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 3
SECONDS = 2
TOKENS = 200
BENCH = pathlib.Path(__file__).resolve().parent


def canned_reply():
    """A streamed chat completion of TOKENS tokens, one event each, all of one length."""
    def event(delta, finish=None):
        chunk = {"id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 1,
                 "model": "bench", "choices": [
                     {"index": 0, "delta": delta, "finish_reason": finish}]}
        return f"data: {json.dumps(chunk)}\n\n"
    tokens = [event({"content": f"tok{n:03d} "}) for n in range(TOKENS)]
    return "".join(tokens) + event({}, "stop") + "data: [DONE]\n\n", len(tokens[0])


class Nginx:
    """nginx with the module: the services under test, `return 200`, and a model provider."""

    def __init__(self, build, directory):
        self.build, self.directory = build, directory
        self.port = 18700 + os.getpid() % 1000
        reply, event_bytes = canned_reply()
        (directory / "provider/chat").mkdir(parents=True)
        (directory / "provider/chat/completions").write_text(reply)
        shutil.copy(build / "bench/graph.so", directory / "graph.so")
        for model in ("fast", "slow"):
            (directory / f"{model}_agent.json").write_text(json.dumps({"app": {
                "nodes": [{"name": "MAIN", "type": "agent", "model": model}],
                "edges": [{"from": "START", "to": "MAIN"}, {"from": "MAIN", "to": "END"}]}}))
        for name, checkpointer, agent in (("plain", "none", "graph.so:app"),
                                          ("durable", "leveldb", "graph.so:app"),
                                          ("model", "none", "fast_agent.json:app"),
                                          ("slow", "none", "slow_agent.json:app")):
            (directory / f"{name}.json").write_text(json.dumps({
                "agent": agent, "checkpointer": {"type": checkpointer},
                "models": {"fast": self.model("provider"), "slow": self.model("drip")}}))
        user = "user root;" if os.getuid() == 0 else ""
        (directory / "nginx.conf").write_text(f"""
{user}
load_module {build}/ngx_http_agent_graph_module.so;
worker_processes 2;
worker_rlimit_nofile 32768;
error_log {directory}/error.log notice;
pid {directory}/nginx.pid;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    client_max_body_size 26m;
    keepalive_requests 1000000000;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    agent_graph_service plain {directory}/plain.json state={directory}/state-plain;
    agent_graph_service durable {directory}/durable.json state={directory}/state-durable;
    agent_graph_service model {directory}/model.json state={directory}/state-model;
    agent_graph_service slow {directory}/slow.json state={directory}/state-slow;
    upstream provider {{ server 127.0.0.1:{self.port + 1}; keepalive 64; }}
    server {{
        listen 127.0.0.1:{self.port};
        location = /return {{ return 200 "{{}}"; }}
        location /plain/ {{ agent_graph plain; }}
        location /durable/ {{ agent_graph durable; }}
        location /model/ {{ agent_graph model; }}
        location /slow/ {{ agent_graph slow; }}
        location /proxied/ {{
            proxy_pass http://provider/provider/;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
        }}
    }}
    # The provider: one write per token, because that is how models answer.
    server {{
        listen 127.0.0.1:{self.port + 1};
        root {directory};
        sendfile off;
        postpone_output 0;
        output_buffers 1 {event_bytes};
        default_type text/event-stream;
        error_page 405 =200 $uri;
        location /provider/ {{ }}
        location /drip/ {{ alias {directory}/provider/; limit_rate {event_bytes}; }}
    }}
}}
""")

    def model(self, path):
        return {"provider": "openai", "model": "bench", "api_key": "none",
                "base_url": f"http://127.0.0.1:{self.port + 1}/{path}"}

    def __enter__(self):
        self.process = subprocess.Popen(["nginx", "-p", self.directory, "-c",
                                         self.directory / "nginx.conf", "-g", "daemon off;"])
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                if self.get("/plain/ping") == 200 and self.invoke_once("/durable") == 200:
                    return self
            except OSError:
                pass
            time.sleep(0.1)
        raise SystemExit("nginx did not come up: " + (self.directory / "error.log").read_text())

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("GET", path)
        return connection.getresponse().status

    def invoke_once(self, prefix):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("POST", prefix + "/v1/graph/invoke", BODY,
                           {"Content-Type": "application/json"})
        return connection.getresponse().status

    def workers(self):
        children = subprocess.run(["pgrep", "-P", str(self.process.pid), "-f", "worker process"],
                                  capture_output=True, text=True, check=True).stdout.split()
        return [int(pid) for pid in children]


BODY = json.dumps({"messages": [{"role": "user", "content": "hello"}]})


def wrk(url, connections, body=None, directory=None):
    """Requests per second; a reply that is not 2xx fails the benchmark."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}s", "--timeout", "10s"]
    if body is not None:
        script = directory / "post.lua"
        script.write_text(f"wrk.method = 'POST'\nwrk.body = [==[{body}]==]\n"
                          "wrk.headers['Content-Type'] = 'application/json'\n")
        command += ["-s", str(script)]
    output = subprocess.run([*command, url], capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in output:
        raise SystemExit(f"{url}: {output}")
    return float(next(line.split()[1] for line in output.splitlines() if "Requests/sec" in line))


def in_turns(first, second):
    """Both measured ROUNDS times, alternating; the mean of each."""
    pairs = [(first(), second()) for _ in range(ROUNDS)]
    return [statistics.mean(column) for column in zip(*pairs)]


def report(what, ours, theirs, against, budget):
    print(f"{what:<44}{ours:>12,.0f}/s  {against:<34}{theirs:>12,.0f}/s  "
          f"ratio {ours / theirs:5.2f}  (budget {budget})", flush=True)


def first_byte_times(port, path, body, count):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    times = []
    for _ in range(count):
        start = time.perf_counter()
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        reply.read(1)
        times.append(time.perf_counter() - start)
        reply.read()
    return times


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def private_kib(pids):
    total = 0
    for pid in pids:
        for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Private_Dirty:"):
                total += int(line.split()[1])
    return total


async def memory_of_open_streams(nginx, count):
    before = private_kib(nginx.workers())
    body = BODY.encode()
    head = (f"POST /slow/v1/graph/stream HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json"
            f"\r\nContent-Length: {len(body)}\r\n\r\n").encode()

    async def open_stream():
        reader, writer = await asyncio.open_connection("127.0.0.1", nginx.port)
        writer.write(head + body)
        await reader.readuntil(b'"delta":true')
        return writer

    writers = []
    for _ in range(count // 100):
        writers += await asyncio.gather(*(open_stream() for _ in range(100)))
    used = private_kib(nginx.workers()) - before
    for writer in writers:
        writer.close()
    return used / count


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="agent-graph-bench-") as name:
        directory = pathlib.Path(name)
        directory.chmod(0o755)
        with Nginx(build, directory) as nginx:
            base = f"http://127.0.0.1:{nginx.port}"
            unit = lambda path, connections=64, body=None: (
                lambda: wrk(base + path, connections, body, directory))
            ours, theirs = in_turns(unit("/plain/ping"), unit("/return"))
            report("GET /ping", ours, theirs, "return 200", 0.8)
            ours, theirs = in_turns(unit("/plain/v1/graph/invoke", 64, BODY), unit("/return"))
            report("invoke, one function node, no checkpointer", ours, theirs, "return 200", 0.3)

            database = lambda: float(subprocess.run(
                [build / "bench/leveldb_group_commit", tempfile.mkdtemp(dir=directory), "64",
                 str(SECONDS)], capture_output=True, text=True, check=True).stdout)
            ours, theirs = in_turns(unit("/durable/v1/graph/invoke", 64, BODY), database)
            report("invoke, durable thread", ours, theirs, "LevelDB synced group commit", 0.5)

            ours, theirs = in_turns(unit("/model/v1/graph/stream", 32, BODY),
                                    unit("/proxied/chat/completions", 32))
            report(f"stream of {TOKENS} tokens", ours, theirs, "proxy_pass of the same bytes", 0.7)

            ours = first_byte_times(nginx.port, "/model/v1/graph/stream", BODY, 500)
            theirs = first_byte_times(nginx.port + 1, "/provider/chat/completions", BODY, 500)
            added = [1000 * (percentile(ours, share) - percentile(theirs, share))
                     for share in (0.5, 0.99)]
            print(f"added time to first token, idle: p50 {added[0]:.2f} ms (budget 0.3), "
                  f"p99 {added[1]:.2f} ms (budget 2)", flush=True)

            per_stream = asyncio.run(memory_of_open_streams(nginx, 1000))
            print(f"private memory per open stream, 1,000 open: {per_stream:.1f} KiB (budget 32)")


if __name__ == "__main__":
    main()
