#!/usr/bin/env python3
"""Costs of readers of runs.

many    1,000 readers of one run, over two workers: checks that each has the whole text; the delay of the
        run's end after that of its model, and of the last reader's end after that of the first one.
idle    10,000 readers of runs that wait for their model: memory and CPU time per reader, the latency of
        a small POST with and without them; checks that each has the whole text at the end.
written bytes that the state server writes for a run whose nodes add pieces to a list, 4 MiB together.

Usage: bench/readers.py BUILD_DIRECTORY [many | idle | written ...]
Exits with 1 if a text is not whole, or a value is above its limit.
"""
import asyncio
import datetime
import http.client
import json
import os
import pathlib
import resource
import shutil
import sys
import time
import typing

from continuation import Client, PacedProvider, TalkNginx, report, wait_until
from run import percentile, private_kib
from servers import BODY, working_directory

READERS, WORDS, SECONDS = 1000, 40, 8
IDLE, IDLE_RUNS, IDLE_SECONDS = 10_000, 40, 20
POSTS = 100
RUN_LATE_MS = 100
LAST_READER_MS = 1000
IDLE_KIB_MAX = 32
IDLE_CPU_MAX = 0.1  # of one core, all of them
PIECES, PIECE_BYTES = 64, 64 * 1024  # of the graph `list` in bench/graph.cc
WRITTEN_MAX = 2.5


def fetch(nginx, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", nginx.port, timeout=60)
    connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"})
    reply = connection.getresponse()
    text = reply.read()
    if reply.status not in (200, 202):
        raise SystemExit(f"{method} {path} was answered with {reply.status}: {text}")
    return json.loads(text)["data"]


def end_of_run(nginx, thread):
    """Seconds since the epoch, by the run's record."""
    record = fetch(nginx, "GET", f"/v1/threads/t{thread}/runs/r")
    return datetime.datetime.fromisoformat(record["finished_at"]).timestamp()


async def follow(nginx, name, count):
    """Begins a run, and reads it with `count` clients."""
    clients = [Client(nginx.port, name) for _ in range(count)]
    await clients[0].begin()
    await asyncio.gather(*(client.read(begins=False) for client in clients))
    return clients


async def many(nginx, provider):
    provider.count, provider.seconds = WORDS, SECONDS
    clients = await follow(nginx, "shared", READERS)
    late = 1000 * (end_of_run(nginx, "shared") - provider.answered_at)
    whole = sum(client.is_whole(WORDS) for client in clients)
    good = report(f"one run with {READERS} readers: whole texts", whole, READERS, whole == READERS)
    good &= report("  end of the run after that of its model's answer", f"{late:.0f} ms", f"≤ {RUN_LATE_MS} ms",
                   late <= RUN_LATE_MS)
    ends = [client.events[-1] for client in clients]
    spread = 1000 * (percentile(ends, 0.99) - min(ends))
    return report("  from the first reader's last event to that of the others, p99", f"{spread:.0f} ms",
                  f"≤ {LAST_READER_MS} ms", spread <= LAST_READER_MS) and good


def post_times(nginx):
    times = []
    for _ in range(POSTS):
        start = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", nginx.port, timeout=120)
        connection.request("POST", "/plain/v1/graph/invoke", BODY, {"Content-Type": "application/json"})
        connection.getresponse().read()
        connection.close()
        times.append(time.perf_counter() - start)
    return times


async def idle(nginx, provider):
    """The model's first word comes at once, and the next one when the measurement is over."""
    provider.count, provider.calls = 2, 0
    provider.gate = asyncio.Event()
    runs = [Client(nginx.port, f"idle{number}") for number in range(IDLE_RUNS)]
    for run in runs:
        await run.begin()
    await wait_until(lambda: provider.calls == IDLE_RUNS)
    quiet = await asyncio.to_thread(post_times, nginx)
    memory = private_kib(nginx.workers())
    clients = [Client(nginx.port, f"idle{number % IDLE_RUNS}") for number in range(IDLE)]
    reading = [asyncio.ensure_future(client.read(begins=False)) for client in clients]
    await wait_until(lambda: all(client.events for client in clients))
    used = (private_kib(nginx.workers()) - memory) / IDLE
    good = report(f"{IDLE} idle readers of {IDLE_RUNS} runs: private memory of one", f"{used:.1f} KiB",
                  f"≤ {IDLE_KIB_MAX} KiB", used <= IDLE_KIB_MAX)
    cpu = nginx.cpu_seconds()
    await asyncio.sleep(IDLE_SECONDS)
    cpu = (nginx.cpu_seconds() - cpu) / IDLE_SECONDS
    good &= report("  CPU of nginx, all readers", f"{100 * cpu:.1f} %", f"≤ {100 * IDLE_CPU_MAX:.0f} % of a core",
                   cpu <= IDLE_CPU_MAX)
    busy = await asyncio.to_thread(post_times, nginx)
    print(f"  a small POST, p50: {1000 * percentile(busy, 0.5):.2f} ms, "
          f"without readers {1000 * percentile(quiet, 0.5):.2f} ms", flush=True)
    provider.gate.set()
    await asyncio.gather(*reading)
    provider.gate = None
    whole = sum(client.is_whole(2) for client in clients)
    return report("  whole texts when the runs go on", whole, IDLE, whole == IDLE) and good


def written_bytes(pid):
    fields = dict(line.split(": ") for line in pathlib.Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(fields["wchar"])


async def written(nginx, _):
    (server,) = nginx.children("cache manager")
    before = written_bytes(server)
    body = {"messages": [{"role": "user", "content": "go"}],
            "config": {"thread_id": "written", "run_id": "r"}, "recursion_limit": PIECES + 2}
    await asyncio.to_thread(fetch, nginx, "POST", "/v1/graph/invoke", body)
    made = PIECES * PIECE_BYTES
    ratio = (written_bytes(server) - before) / made
    return report(f"bytes written for a list of {made >> 20} MiB that grew in {PIECES} nodes, by byte",
                  f"{ratio:.2f}", f"≤ {WRITTEN_MAX}", ratio <= WRITTEN_MAX)


class Part(typing.NamedTuple):
    measure: typing.Callable
    settings: dict  # of the service


PARTS = {"many": Part(many, {}),
         "idle": Part(idle, {"limits": {"runs_max": 16_000}}),
         "written": Part(written, {"agent": "graph.so:list"})}


async def measure(build, part):
    with working_directory() as directory:
        shutil.copy(build / "bench/graph.so", directory / "graph.so")
        port = 18700 + os.getpid() % 1000 * 2
        async with PacedProvider(port + 1) as provider:
            with TalkNginx(build, directory, port, **part.settings) as nginx:
                return await part.measure(nginx, provider)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, IDLE + 2048), limit))
    results = [asyncio.run(measure(build, PARTS[name])) for name in sys.argv[2:] or PARTS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
