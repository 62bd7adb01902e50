#!/usr/bin/env python3
"""How runs go on when their worker dies or leaves.

kill    kill -9 of a worker while streams of accepted runs are under way: the time to the next event
        of each client whose connection or whose run was in that worker. Clients connect again at
        once, with their cursor. The model answers at once, so its own time is not included.
reload  a reload while long runs are under way in the background, longer than worker_shutdown_timeout:
        how many end with their whole answer.

Usage: bench/continuation.py BUILD_DIRECTORY [kill | reload ...]
Exits with 1 if a run is not whole, or a time is above its limit.
"""
import asyncio
import json
import os
import pathlib
import resource
import signal
import sys
import time

from run import percentile
from servers import Nginx, module_head, working_directory

STREAMS, STREAM_WORDS, STREAM_SECONDS = 200, 40, 8
RUNS, RUN_WORDS, RUN_SECONDS = 100, 20, 40
SHUTDOWN_TIMEOUT = 15  # seconds
NEXT_EVENT_MS = {0.5: 200, 0.99: 1000}


def words(count):
    return [f"word{number} " for number in range(count)]


class PacedProvider:
    """A model: the first word at once, the others at equal intervals."""

    def __init__(self, port):
        self._port = port
        self._server = None
        self.count, self.seconds = STREAM_WORDS, STREAM_SECONDS
        self.calls = 0  # that have begun
        self.answered_at = 0.0  # when the latest answer was complete, since the epoch
        self.gate = None  # an asyncio.Event: the words after the first one wait for it

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, backlog=4096)
        return self

    async def __aexit__(self, *_):
        self._server.close()

    async def _serve(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n")
                              if line.startswith(b"content-length"))
                await reader.readexactly(length)
                await self._answer(writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.close()

    async def _answer(self, writer):
        self.calls += 1
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n")
        for word in words(self.count):
            await self._event(writer, {"content": word})
            await asyncio.sleep(self.seconds / self.count)
            if self.gate is not None:
                await self.gate.wait()
        await self._event(writer, {}, "stop")
        writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
        self.answered_at = time.time()
        await writer.drain()

    @staticmethod
    async def _event(writer, delta, finish=None):
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        data = json.dumps({"id": "c", "object": "chat.completion.chunk", "created": 1,
                           "model": "m", "choices": [choice]})
        event = f"data: {data}\n\n".encode()
        writer.write(b"%x\r\n%s\r\n" % (len(event), event))
        await writer.drain()


class TalkNginx(Nginx):
    def __init__(self, build, directory, port, **settings_of_talk):
        self.build, self.directory, self.port = build, directory, port
        (directory / "agent.json").write_text(json.dumps({"app": {
            "nodes": [{"name": "MAIN", "type": "agent"}],
            "edges": [{"from": "START", "to": "MAIN"}, {"from": "MAIN", "to": "END"}]}}))
        model = {"provider": "openai", "model": "m", "api_key": "none",
                 "base_url": f"http://127.0.0.1:{port + 1}"}
        for name, settings in (("plain", {"agent": f"{build}/bench/graph.so:app"}),
                               ("durable", {"agent": f"{build}/bench/graph.so:app"}),
                               ("talk", {"agent": "agent.json:app", "models": {"default": model}}
                                | settings_of_talk)):
            (directory / f"{name}.json").write_text(json.dumps(settings))
        services = "".join(f"    agent_graph_service {name} {directory}/{name}.json "
                           f"state={directory}/state-{name};\n" for name in ("plain", "durable", "talk"))
        head = module_head(build, directory, "keepalive_requests 1000000;")
        (directory / "nginx.conf").write_text(f"""
worker_shutdown_timeout {SHUTDOWN_TIMEOUT}s;
{head}
{services}
    server {{
        listen 127.0.0.1:{port} reuseport;
        location /plain/ {{ agent_graph plain; }}
        location /durable/ {{ agent_graph durable; }}
        location / {{ agent_graph talk; }}
    }}
}}
""")


class Client:
    """Begins a run and reads it to its end, over as many connections as it takes."""

    def __init__(self, port, number):
        self._port = port
        self._thread = f"t{number}"
        self._cursor = None
        self._text = {}
        self.message = None  # the whole answer
        self.texts_agree = True
        self.connections = 0
        self.resets = 0
        self.ended = False
        self.cut = None     # when the connection was lost for the first time
        self.events = []    # their times
        self.reset_at = None

    def _body(self):
        content = [{"type": "text", "text": "go"}]
        return json.dumps({"messages": [{"role": "user", "content": content}], "config": {
            "thread_id": self._thread, "run_id": "r", "on_disconnect": "continue"}})

    async def begin(self):
        """Begins the run in the background, without a reader."""
        async with asyncio.timeout(30):
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            self._send(writer, "POST /v1/graph/runs", self._body())
            head = await reader.readuntil(b"\r\n\r\n")
            writer.close()
        if not head.startswith(b"HTTP/1.1 202"):
            raise SystemExit(f"a run was not accepted: {head.decode()}")

    async def read(self, begins):
        while not self.ended:
            try:
                await self._connect(begins and self.connections == 0)
            except (OSError, asyncio.IncompleteReadError):
                self.cut = self.cut or time.monotonic()
                await asyncio.sleep(0.005)

    @staticmethod
    def _send(writer, request, body="", headers=""):
        writer.write(f"{request} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
                     f"{headers}Content-Length: {len(body)}\r\n\r\n{body}".encode())

    async def _connect(self, begins):
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            if begins:
                self._send(writer, "POST /v1/graph/stream?framing=sse", self._body())
            else:
                headers = f"Last-Event-ID: {self._cursor}\r\n" if self._cursor else ""
                self._send(writer, f"GET /v1/threads/{self._thread}/runs/r/stream", "", headers)
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise OSError(head.decode())
            self.connections += 1
            while not self.ended:
                self._take((await reader.readuntil(b"\n\n")).decode())
        finally:
            writer.close()

    def _take(self, block):
        lines = [line for line in block.split("\n") if line.startswith(("id: ", "data: "))]
        fields = dict(line.split(": ", 1) for line in lines)
        if "data" not in fields:
            return
        self.events.append(time.monotonic())
        self._cursor = fields.get("id", self._cursor)
        chunk = json.loads(fields["data"])
        status = (chunk["data"] or {}).get("status")
        if status == "retrying":
            self.resets += 1
            self.reset_at = self.reset_at or self.events[-1]
            self._text = {}
        elif status == "done":
            self.ended = True
        elif chunk["message"]:
            self._take_message(chunk["message"])

    def _take_message(self, message):
        text = "".join(block.get("text", "") for block in message["content"])
        id = message["message_id"]
        if message["delta"]:
            self._text[id] = self._text.get(id, "") + text
        else:
            self.texts_agree = self.message is None and self._text.get(id, text) == text
            self.message = text

    def is_whole(self, count):
        return self.ended and self.texts_agree and self.message == "".join(words(count))

    def next_event_after(self, moment):
        return next(at for at in self.events if at > moment) - moment


async def wait_until(condition):
    while not condition():
        await asyncio.sleep(0.01)


def report(what, value, limit, holds):
    print(f"{what:<64}{value:>14}   wanted {limit}{'' if holds else '   WORSE'}", flush=True)
    return holds


async def kill(nginx, provider):
    provider.count, provider.seconds = STREAM_WORDS, STREAM_SECONDS
    clients = [Client(nginx.port, f"kill{number}") for number in range(STREAMS)]
    reading = [asyncio.ensure_future(client.read(begins=True)) for client in clients]
    await wait_until(lambda: all(len(client.events) >= 5 for client in clients))
    victim = nginx.workers()[0]
    moment = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    await asyncio.gather(*reading)
    affected = [client for client in clients if client.cut or client.reset_at]
    times = [1000 * client.next_event_after(moment) for client in affected]
    whole = sum(client.is_whole(STREAM_WORDS) for client in clients)
    good = report(f"kill -9 under {STREAMS} streams: whole texts", whole, STREAMS, whole == STREAMS)
    print(f"  {sum(bool(client.cut) for client in clients)} lost their connection, "
          f"{sum(client.resets > 0 for client in clients)} their run's worker", flush=True)
    for share, limit in NEXT_EVENT_MS.items():
        value = percentile(times, share)
        good &= report(f"  time to the next event of those, p{100 * share:.0f}", f"{value:.0f} ms",
                       f"≤ {limit} ms", value <= limit)
    return good


async def reload(nginx, provider):
    provider.count, provider.seconds, provider.calls = RUN_WORDS, RUN_SECONDS, 0
    clients = [Client(nginx.port, f"reload{number}") for number in range(RUNS)]
    for client in clients:
        await client.begin()
    await wait_until(lambda: provider.calls >= RUNS)  # all runs are in their model's call
    before = set(nginx.workers())
    nginx.process.send_signal(signal.SIGHUP)
    await wait_until(lambda: len(set(nginx.workers()) - before) >= len(before))
    began = time.monotonic()
    await asyncio.gather(*(client.read(begins=False) for client in clients))
    whole = sum(client.is_whole(RUN_WORDS) for client in clients)
    good = report(f"reload under {RUNS} runs of {RUN_SECONDS} s, shutdown timeout {SHUTDOWN_TIMEOUT} s: "
                  "whole answers", whole, RUNS, whole == RUNS)
    left = len(set(nginx.workers()) & before)
    print(f"  all have ended {time.monotonic() - began:.0f} s after the reload", flush=True)
    return report("  old workers that are still there", left, 0, left == 0) and good


PARTS = {"kill": kill, "reload": reload}


async def measure(build, names):
    with working_directory() as directory:
        port = 18700 + os.getpid() % 1000 * 2
        async with PacedProvider(port + 1) as provider:
            with TalkNginx(build, directory, port) as nginx:
                return [await PARTS[name](nginx, provider) for name in names]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, 8192), limit))
    results = asyncio.run(measure(build, sys.argv[2:] or list(PARTS)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
