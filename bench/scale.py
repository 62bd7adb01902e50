#!/usr/bin/env python3
"""Measures several hosts with one PostgreSQL: a real one with fsync, hosts that are real nginx, and a
haproxy without affinity in front.

Values of one run belong together: single values vary on a shared machine, so compare ratios. All
programs share this machine's cores, so turns per second say little about machines of their own.
Usage: bench/scale.py BUILD_DIRECTORY  (called by `make bench-scale`)
"""
import concurrent.futures
import contextlib
import os
import pathlib
import re
import select
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import turn_script

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ["AGENT_GRAPH_BUILD"] = str(pathlib.Path(sys.argv[1]).resolve())
sys.path.insert(0, str(ROOT / "t" / "http"))

from harness import postgres, processes  # noqa: E402
from harness.agents import asking, behaviour  # noqa: E402
from harness.gated_provider import GatedProvider  # noqa: E402
from harness.haproxy import Haproxy  # noqa: E402
from harness.http1 import ConnectionClosed  # noqa: E402
from harness.messages import text_of  # noqa: E402
from harness.paced_provider import PacedProvider  # noqa: E402
from harness.run_stream import RunStream  # noqa: E402
from harness.service import Service, invocation  # noqa: E402
from harness.waiting import wait_until  # noqa: E402

SECONDS = 5
CLIENTS = 32
STREAMS = 500
PIECES = 1000


def report(what, value, note=""):
    print(f"{what:<58}{value:>14}   {note}", flush=True)


class RoundTrips(threading.Thread):
    """A proxy in front of PostgreSQL that counts how often a client has sent something after the
    server has answered."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.count = 0
        self._target = ("127.0.0.1", server.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.start()

    def run(self):
        peers = {}  # socket: (the other socket, True if it is a client's)
        last = {}  # client's socket: True if the server has sent the last bytes
        while True:
            for ready in select.select([self._listener, *peers], [], [])[0]:
                if ready is self._listener:
                    client, _ = ready.accept()
                    upstream = socket.create_connection(self._target)
                    for one in (client, upstream):
                        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    peers |= {client: (upstream, True), upstream: (client, False)}
                    last[client] = True
                    continue
                if ready not in peers:
                    continue
                other, from_client = peers[ready]
                data = ready.recv(1 << 20)
                if not data:
                    for one in (ready, other):
                        peers.pop(one)
                        last.pop(one, None)
                        one.close()
                    continue
                if from_client:
                    self.count += last[ready]
                    last[ready] = False
                else:
                    last[other] = True
                other.sendall(data)


class Hosts:
    """`count` hosts with a new database, which they reach at `port` if that is a proxy's."""

    def __init__(self, folder, server, settings, count, port=None, logs_sql=False):
        self.database = server.create()
        if logs_sql:
            self.database.query(f"ALTER DATABASE {self.database.name} SET log_statement = 'all'")
        url = server.url_of(self.database.name, port)
        shared = settings | {"checkpointer": {"type": "postgres", "url": url}}
        self.services = []
        for number in range(count):
            service = Service(folder / f"{self.database.name}-{number}", shared)
            service.link_graphs()
            self.services.append(service.start())
        self.balancer = Haproxy(
            folder / f"{self.database.name}-haproxy", [service.port for service in self.services]
        )

    def stop(self):
        if self.services:
            self.balancer.close()
        while self.services:
            self.services.pop().close()

    def close(self):
        self.stop()
        self.database.drop()


def record_turn(server, service, thread):
    """The transactions of a turn on a thread that the host knows."""
    log = server.folder / "log"
    talk = lambda: service.invoke("hello", config={"thread_id": thread})  # noqa: E731
    talk()
    talk()
    before = log.stat().st_size
    if talk().status != 200:
        raise SystemExit("a turn failed")
    # The writing session logs each statement before the turn is answered.
    return turn_script.transactions_of(log.read_bytes()[before:].decode())


def pgbench(server, folder):
    """Transactions per second of pgbench with the SQL of turns, without nginx and the service."""
    with contextlib.closing(Hosts(folder, server, behaviour("echo"), 1, logs_sql=True)) as hosts:
        database = hosts.database
        turns = [record_turn(server, hosts.services[0], f"r{n}") for n in range(turn_script.CLIENTS)]
        database.query(f"ALTER DATABASE {database.name} RESET log_statement")
        hosts.stop()
        script = folder / "turn.sql"
        script.write_text(turn_script.script_of(turns))
        done = subprocess.run(
            [postgres.programs() / "pgbench", "-n", "-M", "prepared", "-c", str(turn_script.CLIENTS),
             "-j", "2", "-T", str(SECONDS), "-f", script, database.url],
            capture_output=True, text=True,
        )
        if done.returncode != 0:
            raise SystemExit(f"pgbench failed: {done.stderr[-2000:]}")
    return float(re.search(r"tps = ([\d.]+)", done.stdout)[1])


def turns(hosts):
    """Turns per second of clients that each talk in threads of their own."""
    end = time.monotonic() + SECONDS

    def talk(client):
        count = 0
        while time.monotonic() < end:
            reply = hosts.balancer.invoke("hello", config={"thread_id": f"c{client}-{count % 5}"})
            if reply.status != 200:
                raise SystemExit(f"a turn failed: {reply.status} {reply.text[:300]}")
            count += 1
        return count

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        return sum(pool.map(talk, range(CLIENTS))) / SECONDS


def round_trips(folder, server):
    """Round trips between a host and the database for each turn, without those of an idle host."""
    proxy = RoundTrips(server)
    with contextlib.closing(Hosts(folder, server, behaviour("echo"), 1, proxy.port)) as hosts:
        (service,) = hosts.services

        def talk(count):
            for _ in range(count):
                if service.invoke("hello", config={"thread_id": "t"}).status != 200:
                    raise SystemExit("a turn failed")

        talk(20)
        began, before = time.monotonic(), proxy.count
        time.sleep(SECONDS)
        idle = (proxy.count - before) / (time.monotonic() - began)
        began, before = time.monotonic(), proxy.count
        talk(200)
        return (proxy.count - before - idle * (time.monotonic() - began)) / 200


def connections(database):
    rows = database.query(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND application_name LIKE 'agent-graph%'"
    )
    return int(rows[0][0])


def begin(port, number):
    config = {"thread_id": f"s{number}", "run_id": "r", "on_disconnect": "continue"}
    stream = RunStream(
        port, "/v1/graph/stream?framing=sse", method="POST", body=invocation("go", config=config)
    )
    stream.read()
    return stream


def open_streams(folder, server):
    """Connections of two hosts while many streams are open."""
    with contextlib.closing(GatedProvider(words=("a ",) * 10, before_gate=5)) as provider:
        with contextlib.closing(Hosts(folder, server, asking(provider), 2)) as hosts:
            with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
                streams = list(pool.map(lambda n: begin(hosts.balancer.port, n), range(STREAMS)))
            provider.wait_for_waiting(STREAMS)
            count = connections(hosts.database)
            provider.open_gate()
            for stream in streams:
                stream.read_to_end()
                stream.close()
    return count / 2


def tail_delays(folder, server, rounds=20):
    """Seconds from the end of a run on one host until its reader on the other host has it."""
    delays = []
    with contextlib.closing(GatedProvider(words=("a ",) * 10, before_gate=5)) as provider:
        with contextlib.closing(Hosts(folder, server, asking(provider), 2)) as hosts:
            for number in range(rounds):
                provider.close_gate()
                stream = begin(hosts.services[0].port, number)
                provider.wait_for_waiting(1)
                path = f"/v1/threads/s{number}/runs/r/stream"
                with RunStream(hosts.services[1].port, path) as reader:
                    provider.open_gate()
                    stream.read_to_end()
                    ended = time.monotonic()
                    reader.read_to_end()
                    delays.append(max(0.0, time.monotonic() - ended))
                stream.close()
    return delays


def piece_times(stream):
    """The time at which a reader had each length of the answer."""
    times = []
    while event := stream.read():
        if event.message and event.message["delta"]:
            times += [time.monotonic()] * len(text_of(event.message))
    return times


def piece_delays(folder, server):
    """Seconds from a piece of a message at the client of its run until the same piece at a reader on the
    other host, and at one on the same host."""
    words = tuple("w" for _ in range(PIECES))
    with contextlib.closing(PacedProvider(words, pause=0.02)) as provider:
        with contextlib.closing(Hosts(folder, server, asking(provider), 2)) as hosts:
            first, second = hosts.services
            body = invocation("go", config={"thread_id": "t", "run_id": "r", "on_disconnect": "continue"})
            path = "/v1/threads/t/runs/r/stream"
            with RunStream(first.port, "/v1/graph/stream?framing=sse", method="POST", body=body) as client:
                client.read()
                with RunStream(second.port, path) as far, RunStream(first.port, path) as near:
                    with concurrent.futures.ThreadPoolExecutor(3) as pool:
                        times = list(pool.map(piece_times, (client, near, far)))
    # The readers have the whole message so far at once when they come.
    ends = [list(reversed(one))[: PIECES // 2] for one in times]
    return [[reader - client for client, reader in zip(ends[0], one)] for one in ends[1:]]


def takeover(folder, server):
    """Seconds from kill -9 of a host until another one asks the model again for its run."""
    with contextlib.closing(GatedProvider(words=("a ",) * 10, before_gate=5)) as provider:
        with contextlib.closing(Hosts(folder, server, asking(provider), 2)) as hosts:
            # A host that has just connected watches the others for ten seconds before it judges them.
            time.sleep(15)
            stream = begin(hosts.services[0].port, 0)
            provider.wait_for_waiting(1)
            began = time.monotonic()
            hosts.services[0].error_log.allow("exited on signal")
            hosts.services[0].kill_all()
            wait_until(lambda: provider.aborted == 1, "the first attempt is over")
            provider.wait_for_waiting(1)
            taken = time.monotonic() - began
            provider.open_gate()
            with contextlib.suppress(ConnectionClosed):
                stream.read_to_end()
            stream.close()
    return taken


def main():
    processes.adopt_orphans()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="agent-graph-"))
    folder.chmod(0o755)
    server = postgres.PostgresServer(durable=True)
    try:
        alone = pgbench(server, folder)
        report("pgbench: the SQL of the same turns, 4 connections", f"{alone:,.0f}/s")
        for count in (1, 2, 3):
            with contextlib.closing(Hosts(folder, server, behaviour("echo"), count)) as hosts:
                rate = turns(hosts)
            note = f"{rate / alone:.2f} x pgbench"
            report(f"durable turns through nginx, {count} host(s)", f"{rate:,.0f}/s", note)
        report("SQL round trips per turn", f"{round_trips(folder, server):.1f}", "wanted <= 3")
        held = open_streams(folder, server)
        report(f"connections per host with {STREAMS} open streams", f"{held:.1f}", "wanted <= 8")
        delays = tail_delays(folder, server)
        report("end of a run seen on another host, median", f"{1e3 * statistics.median(delays):.0f} ms")
        report("the same, longest", f"{1e3 * max(delays):.0f} ms", "wanted <= 1000 ms")
        near, far = piece_delays(folder, server)
        for place, delays in (("the same host", near), ("another host", far)):
            delays = sorted(delays)
            median, late = (delays[int(len(delays) * part)] for part in (0.5, 0.99))
            note = "wanted <= 5 ms + network" if place == "another host" else ""
            report(f"a piece of a message at a reader on {place}, median", f"{1e3 * median:.1f} ms")
            report("the same, 99th percentile", f"{1e3 * late:.1f} ms", note)
        report("host killed -> its run continues", f"{takeover(folder, server):.1f} s", "wanted < 5 s")
    finally:
        server.close()
        shutil.rmtree(folder, ignore_errors=True)


main()
