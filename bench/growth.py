#!/usr/bin/env python3
"""How costs grow: requests per second and core with one to eight workers, and 10,000 open streams of a
service that has 1,000,000 threads.

Each worker gets a share of a core (a control group limits the CPU time of all processes of nginx), so
that eight workers and the client fit on two cores. That needs root.

Usage: bench/growth.py BUILD_DIRECTORY [PART ...]   PART: workers at_once
"""
import asyncio
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import resource
import statistics
import sys
import time

import results
import run
from results import at_least, at_most
from servers import BODY, Nginx, Provider, canned_reply, module_head, working_directory

WORKERS = (1, 2, 4, 8)
SHARE_OF_WORKER = 0.1  # of a core
PERIOD_MICROS = 100_000
CONNECTIONS_OF_WORKER = 16

THREADS, FEW_THREADS = 1_000_000, 1_000
STREAMS, FEW_STREAMS = 10_000, 100
AT_ONCE = 1000
TURNS = 500
STREAM = json.dumps({"messages": [{"role": "user", "content": "stream"}]})


class CpuLimit:
    """A control group whose processes get `cores` of CPU time."""

    def __init__(self, cores):
        micros = int(cores * PERIOD_MICROS)
        first = pathlib.Path("/sys/fs/cgroup/cpu")  # version 1
        self.group = (first if first.is_dir() else first.parent) / f"agent-graph-bench-{os.getpid()}"
        self.group.mkdir()
        if first.is_dir():
            (self.group / "cpu.cfs_period_us").write_text(str(PERIOD_MICROS))
            (self.group / "cpu.cfs_quota_us").write_text(str(micros))
        else:
            (self.group / "cpu.max").write_text(f"{micros} {PERIOD_MICROS}")

    def add(self, pids):
        for pid in pids:
            (self.group / "cgroup.procs").write_text(str(pid))

    def remove(self):
        self.group.rmdir()


class GrowingNginx(Nginx):
    """Services that answer at once, without and with stored threads; the latter also asks a model."""

    def __init__(self, build, directory, port, workers):
        self.build, self.directory, self.port = build, directory, port
        directory.mkdir()
        directory.chmod(0o755)
        for name, checkpointer in (("plain", "none"), ("durable", "leveldb")):
            (directory / f"{name}.json").write_text(json.dumps({
                "agent": f"{build}/bench/graph.so:both", "checkpointer": {"type": checkpointer},
                "models": {"default": {"provider": "openai", "model": "bench", "api_key": "none",
                                       "base_url": f"http://127.0.0.1:{port + 1}/drip"}}}))
        (directory / "nginx.conf").write_text(f"""
{module_head(build, directory, "keepalive_requests 1000000000;", workers)}
    agent_graph_service plain {directory}/plain.json state={directory}/state-plain;
    agent_graph_service durable {directory}/durable.json state={directory}/state-durable;
    server {{
        listen 127.0.0.1:{port} backlog=65535;
        location /plain/ {{ agent_graph plain; }}
        location /durable/ {{ agent_graph durable; }}
    }}
}}
""")


def rates_per_core(build, directory, port, workers):
    """Rates of an invoke, without and with a stored thread."""
    limit = CpuLimit(workers * SHARE_OF_WORKER)
    try:
        with GrowingNginx(build, directory, port, workers) as nginx:
            limit.add([nginx.process.pid, *nginx.children()])
            return [run.wrk(nginx, f"{prefix}/v1/graph/invoke", CONNECTIONS_OF_WORKER * workers, BODY).rate
                    / (workers * SHARE_OF_WORKER) for prefix in ("/plain", "/durable")]
    finally:
        limit.remove()


def workers(build, directory, port):
    try:
        CpuLimit(1).remove()
    except OSError as error:
        return print(f"workers: not measured, no control group: {error}", flush=True)
    rates = {count: [] for count in WORKERS}
    for turn, count in enumerate((*WORKERS, *reversed(WORKERS))):
        rates[count].append(rates_per_core(build, directory / f"{turn}", port, count))
    means = {count: [statistics.mean(values) for values in zip(*pair)] for count, pair in rates.items()}
    for index, what in enumerate(("nothing stored", "durable")):
        for count in WORKERS:
            results.note(f"invokes per second and core, {what}, {count} workers", means[count][index], "/s")
        results.note(f"the same, {WORKERS[-1]} workers / 1 worker", means[WORKERS[-1]][index] / means[1][index],
                     "ratio", at_least(0.9))


def fill(nginx, threads):
    """Runs turns on new threads until there are about `threads`."""
    left = threads
    while left > 0:
        begin = time.monotonic()
        rate = run.wrk(nginx, "/durable/v1/graph/invoke", 64, BODY).rate
        left -= rate * (time.monotonic() - begin)


async def open_streams(nginx, count):
    async def open_later():
        await asyncio.sleep(random.random())  # so that their tokens do not all arrive at the same time
        return await run.open_stream(nginx.port, "/durable/v1/graph/stream", STREAM)

    streams = []
    while len(streams) < count:
        streams += await asyncio.gather(*(open_later() for _ in range(min(AT_ONCE, count - len(streams)))))
    return streams


async def read_all(streams):
    """Takes what the streams send, until it is cancelled."""
    async def read(reader):
        while await reader.read(4096):
            pass
        raise SystemExit("a stream ended early")

    await asyncio.gather(*(read(reader) for reader, _ in streams))


class Costs:
    """The times of turns while streams are open, and the memory of a stream."""

    def __init__(self, nginx, streams):
        asyncio.run(self.measure(nginx, streams))

    async def measure(self, nginx, count):
        before = run.private_kib(nginx.workers())
        streams = await open_streams(nginx, count)
        self.memory = (run.private_kib(nginx.workers()) - before) / count
        reading = asyncio.ensure_future(read_all(streams))
        with concurrent.futures.ProcessPoolExecutor(1) as process:  # this one is busy with the streams
            self.times = await asyncio.get_running_loop().run_in_executor(
                process, run.first_byte_times, nginx.port, "/durable/v1/graph/invoke", BODY, TURNS)
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading
        for _, writer in streams:
            writer.close()

    def milliseconds(self, share):
        return 1000 * run.percentile(self.times, share)


def at_once(build, directory, port):
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
    costs = {}
    for threads, streams in ((FEW_THREADS, FEW_STREAMS), (THREADS, STREAMS)):
        with Provider(directory / f"model-{streams}", port + 1, *canned_reply()), \
                GrowingNginx(build, directory / f"{streams}", port, 2) as nginx:
            fill(nginx, threads)
            costs[streams] = Costs(nginx, streams)
    few, many = costs.values()
    what = f"{STREAMS:,} streams and {THREADS:,} threads"
    results.note(f"memory of a stream, {what}", many.memory, "KiB", at_most(40))
    for share, name in ((0.5, "p50"), (0.99, "p99")):
        results.note(f"time of a turn, {what}, {name}", many.milliseconds(share), "ms")
        results.note(f"the same, {FEW_STREAMS} and {FEW_THREADS:,}", few.milliseconds(share), "ms")


PARTS = [workers, at_once]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    parts = run.chosen(PARTS)
    with working_directory() as directory:
        for part in parts:
            (directory / part.__name__).mkdir()
            (directory / part.__name__).chmod(0o755)
            part(build, directory / part.__name__, 18700 + os.getpid() % 1000 * 2)


if __name__ == "__main__":
    main()
