"""The servers of the benchmarks: nginx with the module, and another nginx as the model provider."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

TOKENS = 200
PACE = 30  # tokens per second, like a real model
BODY = json.dumps({"messages": [{"role": "user", "content": "hello"}]})


def canned_reply(count=TOKENS):
    """A streamed chat completion of `count` tokens, one event per token, all events equally long."""
    def event(delta, finish=None):
        chunk = {"id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 1,
                 "model": "bench", "choices": [
                     {"index": 0, "delta": delta, "finish_reason": finish}]}
        return f"data: {json.dumps(chunk)}\n\n"
    tokens = [event({"content": f"tok{n % 1000:03d} "}) for n in range(count)]
    return "".join(tokens) + event({}, "stop") + "data: [DONE]\n\n", len(tokens[0])


@contextlib.contextmanager
def working_directory():
    """A new directory that the workers of nginx can enter; removed at the end."""
    with tempfile.TemporaryDirectory(prefix="agent-graph-bench-") as name:
        directory = pathlib.Path(name)
        directory.chmod(0o755)
        yield directory


class Provider:
    """A separate nginx as the model provider: one write per token, like real models; below /drip/ one
    token in a second, below /paced/ PACE tokens in a second for a minute. `listen` and `http` are
    further directives of its configuration."""

    def __init__(self, directory, port, reply, event_bytes, listen="", http=""):
        self.directory = directory / "model"
        (self.directory / "provider/chat").mkdir(parents=True)
        (self.directory / "provider/chat/completions").write_text(reply)
        (self.directory / "paced/chat").mkdir(parents=True)
        (self.directory / "paced/chat/completions").write_text(canned_reply(60 * PACE)[0])
        (self.directory / "nginx.conf").write_text(f"""
{user_directive()}
worker_processes 2;
worker_rlimit_nofile 32768;
error_log {self.directory}/error.log notice;
pid {self.directory}/nginx.pid;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    {http}
{temporary_paths(self.directory)}
    server {{
        {listen or f"listen 127.0.0.1:{port};"}
        root {self.directory};
        sendfile off;
        postpone_output 0;
        output_buffers 1 {event_bytes};
        default_type text/event-stream;
        error_page 405 =200 $uri;
        location /provider/ {{ }}
        location /paced/ {{ limit_rate {PACE * event_bytes}; }}
        location /drip/ {{ alias {self.directory}/provider/; limit_rate {event_bytes}; }}
    }}
}}
""")

    def __enter__(self):
        self.process = subprocess.Popen(["nginx", "-p", self.directory, "-c",
                                         self.directory / "nginx.conf", "-g", "daemon off;"])
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


def connections_to(port):
    """The number of established connections, seen from their server."""
    lines = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
    fields = [line.split() for line in lines]
    return sum(int(local.split(":")[1], 16) == port and state == "01" for _, local, _, state, *_ in fields)


def user_directive():
    return "user root;" if os.getuid() == 0 else ""


def temporary_paths(directory):
    return f"""
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;"""


def module_head(build, directory, http, workers=2):
    """The beginning of a configuration with the module, up to the middle of `http`, which begins with
    the directives of `http`."""
    return f"""
{user_directive()}
load_module "{build}/ngx_http_agent_graph_module.so";
worker_processes {workers};
worker_rlimit_nofile 32768;
error_log {directory}/error.log notice;
pid {directory}/nginx.pid;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    client_max_body_size 26m;
    {http}
{temporary_paths(directory)}"""


class Nginx:
    """nginx with the module: the services under test, `return 200` and `proxy_pass`."""

    # A library that replaces functions of the C library, such as its allocator. Benchmarks with
    # services of their own have none.
    preload = None

    def __init__(self, build, directory, port, provider_port=None, preload=None):
        self.build, self.directory, self.port, self.preload = build, directory, port, preload
        self.provider_port = provider_port or port + 1
        shutil.copy(build / "bench/graph.so", directory / "graph.so")
        for model in ("fast", "slow", "paced"):
            (directory / f"{model}_agent.json").write_text(json.dumps({"app": {
                "nodes": [{"name": "MAIN", "type": "agent", "model": model}],
                "edges": [{"from": "START", "to": "MAIN"}, {"from": "MAIN", "to": "END"}]}}))
        for name, checkpointer, agent in (("plain", "none", "graph.so:app"),
                                          ("durable", "leveldb", "graph.so:app"),
                                          ("model", "none", "fast_agent.json:app"),
                                          ("slow", "none", "slow_agent.json:app"),
                                          ("paced", "none", "paced_agent.json:app"),
                                          ("stored", "leveldb", "fast_agent.json:app"),
                                          ("dripped", "leveldb", "slow_agent.json:app"),
                                          ("windowed", "leveldb", "graph.so:app")):
            (directory / f"{name}.json").write_text(json.dumps({
                "agent": agent, "checkpointer": {"type": checkpointer},
                "store": "leveldb" if checkpointer == "leveldb" else None,
                "window_max": 100 if name == "windowed" else 20,
                "models": {"fast": self.model("provider"), "slow": self.model("drip"),
                           "paced": self.model("paced")}}))
        (directory / "nginx.conf").write_text(f"""
{module_head(build, directory, "keepalive_requests 1000000000;")}
    agent_graph_service plain {directory}/plain.json state={directory}/state-plain;
    agent_graph_service durable {directory}/durable.json state={directory}/state-durable;
    agent_graph_service model {directory}/model.json state={directory}/state-model;
    agent_graph_service slow {directory}/slow.json state={directory}/state-slow;
    agent_graph_service paced {directory}/paced.json state={directory}/state-paced;
    agent_graph_service stored {directory}/stored.json state={directory}/state-stored;
    agent_graph_service dripped {directory}/dripped.json state={directory}/state-dripped;
    agent_graph_service windowed {directory}/windowed.json state={directory}/state-windowed;
    upstream provider {{ server 127.0.0.1:{self.provider_port}; keepalive 64; }}
    server {{
        listen 127.0.0.1:{self.port};
        location = /return {{ return 200 "{{}}"; }}
        location /plain/ {{ agent_graph plain; }}
        location /durable/ {{ agent_graph durable; }}
        location /model/ {{ agent_graph model; }}
        location /slow/ {{ agent_graph slow; }}
        location /paced/ {{ agent_graph paced; }}
        location /stored/ {{ agent_graph stored; }}
        location /dripped/ {{ agent_graph dripped; }}
        location /windowed/ {{ agent_graph windowed; }}
        location /proxied/ {{
            proxy_pass http://provider/provider/;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
        }}
    }}
}}
""")

    def model(self, path):
        return {"provider": "openai", "model": "bench", "api_key": "none",
                "base_url": f"http://127.0.0.1:{self.provider_port}/{path}"}

    def answers(self):
        return self.get("/plain/ping") == 200 and self.invoke_once("/durable") == 200

    def all_workers_started(self):
        """While one still starts, its memory would count as that of the requests."""
        configured = re.search(r"worker_processes (\d+);", (self.directory / "nginx.conf").read_text())
        return len(self.workers()) == int(configured[1])

    def __enter__(self):
        environment = dict(os.environ) | ({"LD_PRELOAD": str(self.preload)} if self.preload else {})
        self.process = subprocess.Popen(["nginx", "-p", self.directory, "-c",
                                         self.directory / "nginx.conf", "-g", "daemon off;"],
                                        env=environment)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if self.answers() and self.all_workers_started():
                    return self
            except OSError:
                pass
            time.sleep(0.1)
        self.__exit__()
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

    def children(self, name=""):
        pids = subprocess.run(["pgrep", "-P", str(self.process.pid), "-f", name],
                              capture_output=True, text=True, check=True).stdout.split()
        return [int(pid) for pid in pids]

    def post(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        reply = connection.getresponse()
        text = reply.read()
        if reply.status != 200:
            raise SystemExit(f"{path}: {text}")
        return json.loads(text)["data"]

    def workers(self):
        return self.children("worker process")

    def cpu_seconds(self):
        ticks = 0
        for pid in self.children():
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")
