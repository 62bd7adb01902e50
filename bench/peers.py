#!/usr/bin/env python3
"""The module beside other agent servers: AgentFlow's (the Python reference) and LangGraph's, both with
their threads in memory.

Usage: bench/peers.py BUILD_DIRECTORY FOLDER  (called by `make bench-peers`)

FOLDER gets a virtual environment for each peer, with the versions in bench/peers.txt and its newest
Python packages besides. All servers execute the same graph, one node that answers at once. They are
measured in turns, within one run. `PYTHON` is the interpreter of the peers: it must be 3.12 or newer.
"""
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import run
from servers import BODY, Nginx, Provider, canned_reply, working_directory

CONNECTIONS = 16
SECONDS = 5  # of each measurement: the slowest server answers few requests
STARTS_WITHIN = 120  # seconds
BENCH = pathlib.Path(__file__).resolve().parent

AGENTFLOW_GRAPH = """
from agentflow.core.graph import StateGraph
from agentflow.core.state import AgentState, Message
from agentflow.storage.checkpointer import InMemoryCheckpointer
from agentflow.utils.constants import END


def echo(state: AgentState):
    return [Message.text_message("you said: hello", role="assistant")]


graph = StateGraph()
graph.add_node("ECHO", echo)
graph.set_entry_point("ECHO")
graph.add_edge("ECHO", END)
app = graph.compile(checkpointer=InMemoryCheckpointer())
"""

LANGGRAPH_GRAPH = """
from langgraph.graph import END, START, MessagesState, StateGraph


def echo(state: MessagesState):
    return {"messages": [{"role": "assistant", "content": "you said: hello"}]}


graph = StateGraph(MessagesState)
graph.add_node("ECHO", echo)
graph.add_edge(START, "ECHO")
graph.add_edge("ECHO", END)
app = graph.compile()
"""

AGENTFLOW_BODY = json.dumps({"messages": [
    {"message_id": "0", "role": "user", "content": [{"type": "text", "text": "hello"}]}]})
LANGGRAPH_BODY = json.dumps({"assistant_id": "agent", "stream_mode": ["messages-tuple"],
                             "input": {"messages": [{"role": "user", "content": "hello"}]}})


class Peer:
    """A server of another project, in a process group of its own."""

    def __init__(self, name, folder, directory, port, command, files, routes):
        self.name, self.port, self.routes = name, port, routes
        self.directory = directory / name
        self.directory.mkdir()
        for file, text in files.items():
            (self.directory / file).write_text(text)
        programs = folder / name / "bin"
        self._command = [programs / command[0], *command[1:]]
        self._environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

    def __enter__(self):
        with (self.directory / "log").open("w") as log:
            self.process = subprocess.Popen(self._command, cwd=self.directory, stdout=log, stderr=log,
                                            env=self._environment, start_new_session=True)
        deadline = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
                connection.request("GET", self.routes["health"][0])
                if connection.getresponse().status == 200:
                    return self
            except OSError:
                pass
            time.sleep(0.2)
        self.__exit__()
        raise SystemExit(f"{self.name} did not come up: " + (self.directory / "log").read_text()[-2000:])

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, 15)
            self.process.wait(30)

    def cpu_seconds(self):
        """CPU time of all processes in the server's session."""
        ticks = 0
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == self.process.pid:  # its session
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")


def agentflow(folder, directory, port):
    return Peer("agentflow", folder, directory, port,
                ["agentflow", "api", "--host", "127.0.0.1", "--port", str(port), "--no-reload"],
                {"echo.py": AGENTFLOW_GRAPH, "agentflow.json": json.dumps({"agent": "echo:app"})},
                {"health": ("/ping", None), "invoke": ("/v1/graph/invoke", AGENTFLOW_BODY),
                 "stream": ("/v1/graph/stream", AGENTFLOW_BODY)})


def langgraph(folder, directory, port):
    return Peer("langgraph", folder, directory, port,
                ["langgraph", "dev", "--no-browser", "--no-reload", "--host", "127.0.0.1", "--port",
                 str(port)],
                {"echo.py": LANGGRAPH_GRAPH,
                 "langgraph.json": json.dumps({"dependencies": ["."], "graphs": {"agent": "./echo.py:app"}})},
                {"health": ("/ok", None), "invoke": ("/runs/wait", LANGGRAPH_BODY),
                 "stream": ("/runs/stream", LANGGRAPH_BODY)})


class Route:
    """A server at one of its prefixes, as `run.wrk` wants it."""

    def __init__(self, server, directory, name, paths):
        self.server, self.directory, self.port, self.name, self.paths = (
            server, directory, server.port, name, paths)

    def cpu_seconds(self):
        return self.server.cpu_seconds()


def ours(nginx, prefix, name):
    return Route(nginx, nginx.directory, name,
                 {"health": (f"{prefix}/ping", None), "invoke": (f"{prefix}/v1/graph/invoke", BODY),
                  "stream": (f"{prefix}/v1/graph/stream", BODY)})


def install(folder):
    """Makes the virtual environments that do not have the wanted versions yet."""
    python = os.environ.get("PYTHON", "python3.12")
    for line in (BENCH / "peers.txt").read_text().split("\n"):
        if not line or line.startswith("#"):
            continue
        name, requirement = line.split(None, 1)
        installed = folder / name / "installed.txt"
        if installed.exists() and installed.read_text() == requirement:
            continue
        subprocess.run([python, "-m", "venv", "--clear", folder / name], check=True)
        subprocess.run([folder / name / "bin/pip", "install", "--quiet", "--no-input",
                        "--disable-pip-version-check", *requirement.split()], check=True)
        installed.write_text(requirement)


def measure(routes):
    print(f"{'':<44}{'health':>16}{'invoke':>16}{'stream':>16}   requests/s (us of CPU each)")
    costs = {}
    for _ in range(run.ROUNDS):
        for what in ("health", "invoke", "stream"):
            for route in routes:
                path, body = route.paths[what]
                costs.setdefault((route.name, what), []).append(run.wrk(route, path, CONNECTIONS, body))
    for route in routes:
        line = f"{route.name:<44}"
        for what in ("health", "invoke", "stream"):
            rate, cpu = map(statistics.median, zip(*costs[route.name, what]))
            line += f"{rate:>8,.0f} ({cpu:>5,.0f})"
        print(line, flush=True)


def main():
    build, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    install(folder)
    run.SECONDS = SECONDS
    port = 18700 + os.getpid() % 1000 * 4
    with working_directory() as directory:
        with (Provider(directory, port + 1, *canned_reply()), Nginx(build, directory, port) as nginx,
              agentflow(folder, directory, port + 2) as reference, langgraph(folder, directory, port + 3) as other):
            measure([ours(nginx, "/plain", "Agent Graph, nothing stored"),
                     ours(nginx, "/durable", "Agent Graph, new threads, fsync"),
                     Route(reference, directory, "AgentFlow, new threads in memory", reference.routes),
                     Route(other, directory, "LangGraph, new threads in memory", other.routes)])


if __name__ == "__main__":
    main()
