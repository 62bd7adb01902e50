#!/usr/bin/env python3
"""Side-by-side benchmarks of the module against stock parts of the same nginx.

Each result is a ratio of measurements that alternate within one run on one machine, because single
values vary on a shared machine. CPU per request (all processes of the nginx under test, or of the
reference) is least affected by other load on the machine.
Usage: bench/run.py BUILD_DIRECTORY [PART ...]  (called by `make bench`)
"""
import asyncio
import http.client
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import typing

import results
from results import at_least, at_most
from servers import BODY, PACE, TOKENS, Nginx, Provider, canned_reply, connections_to, working_directory

ROUNDS = 3
PACED_STREAMS = 500
SECONDS = 2
LONG_THREAD_TURNS, SHORT_THREAD_TURNS = 5000, 10  # 10,000 messages and 20
BENCH = pathlib.Path(__file__).resolve().parent


class Cost(typing.NamedTuple):
    rate: float  # per second
    cpu: float   # microseconds per request


def wrk_command(nginx, path, connections, body=None, headers=None, seconds=None):
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds or SECONDS}s", "--timeout", "10s"]
    if body is not None:
        script = nginx.directory / "post.lua"
        script.write_text(f"wrk.method = 'POST'\nwrk.body = [==[{body}]==]\n"
                          "wrk.headers['Content-Type'] = 'application/json'\n"
                          + "".join(f"wrk.headers['{name}'] = '{value}'\n"
                                    for name, value in (headers or {}).items()))
        command += ["-s", str(script)]
    return [*command, f"http://127.0.0.1:{nginx.port}{path}"]


def wrk(nginx, path, connections, body=None, headers=None):
    """Measures the cost of a request; a status other than 2xx fails the benchmark."""
    command = wrk_command(nginx, path, connections, body, headers)
    before = nginx.cpu_seconds()
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    used = nginx.cpu_seconds() - before
    if "Non-2xx" in output or "Socket errors" in output:
        raise SystemExit(f"{path}: {output}")
    requests = int(re.search(r"(\d+) requests in", output)[1])
    return Cost(float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1]), 1e6 * used / max(requests, 1))


def p99_at(nginx, path, rate):
    """The 99th percentile in microseconds of requests that 16 connections send at this rate together."""
    log = nginx.directory / "times"
    connections = 16
    subprocess.run(["h2load", "--h1", "-t1", f"-c{connections}", f"--rps={rate / connections:.0f}",
                    f"-D{SECONDS}", f"--log-file={log}", f"http://127.0.0.1:{nginx.port}{path}"],
                   stdout=subprocess.DEVNULL, check=True)
    lines = [line.split() for line in log.read_text().splitlines()]
    log.unlink()
    if any(status != "200" for _, status, _ in lines):
        raise SystemExit(f"{path} was not always answered with 200")
    return percentile([int(micros) for _, _, micros in lines], 0.99)


def group_commit(build, directory):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(
        [build / "bench/leveldb_group_commit", directory / "group_commit", "64", str(SECONDS)],
        capture_output=True, text=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(float(output), 1e6 * used / (float(output) * SECONDS))


def in_turns(first, second):
    """Measures both ROUNDS times, alternating; returns the mean of each."""
    pairs = [(first(), second()) for _ in range(ROUNDS)]
    return [Cost(*map(statistics.mean, zip(*column))) for column in zip(*pairs)]


def report(what, ours, theirs, against, least):
    """The ratio of the rates, and the CPU time of each side."""
    print(f"{what:<44}{ours.rate:>9,.0f}/s {ours.cpu:>7.1f} us CPU   {against:<28}"
          f"{theirs.rate:>9,.0f}/s {theirs.cpu:>7.1f} us CPU", flush=True)
    results.note(f"{what} / {against}", ours.rate / theirs.rate, "ratio", at_least(least))
    results.note(f"{what}: CPU", ours.cpu, "us")


def report_added(what, ours, theirs, limits):
    """Reports the differences of the medians and of the 99th percentiles, in milliseconds."""
    for (share, name), limit in zip(((0.5, "p50"), (0.99, "p99")), limits):
        added = 1000 * (percentile(ours, share) - percentile(theirs, share))
        results.note(f"added {what}, {name}", added, "ms", limit)


def first_byte_times(port, path, body, count, mark=b""):
    """The times to the first byte of an answer, or to the first `mark` in it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    times = []
    for _ in range(count):
        start = time.perf_counter()
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        seen = reply.read1()
        while mark not in seen:
            seen += reply.read1()
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


async def open_stream(port, path, body):
    """Starts a stream and reads up to its first token."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write((f"POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json"
                  f"\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode())
    await reader.readuntil(b'"delta":true')
    return reader, writer


async def memory_of_open_streams(nginx, count, path="/slow/v1/graph/stream", when_open=None):
    """The memory in KiB; calls `when_open` while the streams are open."""
    before = private_kib(nginx.workers())
    streams = []
    for _ in range(count // 100):
        streams += await asyncio.gather(*(open_stream(nginx.port, path, BODY) for _ in range(100)))
    used = private_kib(nginx.workers()) - before
    if when_open is not None:
        when_open()
    for _, writer in streams:
        writer.close()
    return used / count


def turns(nginx, conversations, count):
    """Runs `count` turns of each conversation in sequence; returns CPU microseconds per turn."""
    connection = http.client.HTTPConnection("127.0.0.1", nginx.port, timeout=10)
    before = nginx.cpu_seconds()
    for _ in range(count):
        for name in conversations:
            body = json.dumps({"messages": [{"role": "user", "content": "hello"}],
                               "config": {"thread_id": name}})
            connection.request("POST", "/durable/v1/graph/invoke", body,
                               {"Content-Type": "application/json"})
            reply = connection.getresponse()
            if reply.read() and reply.status != 200:
                raise SystemExit(f"a turn was answered with {reply.status}")
    return 1e6 * (nginx.cpu_seconds() - before) / (count * len(conversations))


def ping(nginx):
    ours, theirs = in_turns(lambda: wrk(nginx, "/plain/ping", 64), lambda: wrk(nginx, "/return", 64))
    report("GET /ping", ours, theirs, "return 200", 0.9)
    # With as many requests as the machine can serve, waiting for a core decides.
    rate = ours.rate / 2
    times = [[p99_at(nginx, path, rate) for path in ("/plain/ping", "/return")] for _ in range(ROUNDS)]
    ours, theirs = map(statistics.median, zip(*times))
    print(f"p99 at half the rate: GET /ping {ours:.0f} us, return 200 {theirs:.0f} us", flush=True)
    results.note("GET /ping / return 200: p99, half the rate", ours / theirs, "ratio", at_most(1.5))


def invoke(nginx):
    ours, theirs = in_turns(lambda: wrk(nginx, "/plain/v1/graph/invoke", 64, BODY),
                            lambda: wrk(nginx, "/return", 64))
    report("invoke, one function node, no checkpointer", ours, theirs, "return 200", 0.5)


def durable(nginx):
    ours, theirs = in_turns(lambda: wrk(nginx, "/durable/v1/graph/invoke", 64, BODY),
                            lambda: group_commit(nginx.build, nginx.directory))
    report("invoke, durable thread", ours, theirs, "LevelDB synced group commit", 0.7)


ONE_THREAD_BODY = json.dumps({"messages": [{"role": "user", "content": "hello"}],
                              "config": {"thread_id": "one"}})


def fill_window(nginx):
    """Fills the working window of the thread in ONE_THREAD_BODY."""
    wrk(nginx, "/windowed/v1/graph/invoke", 16, ONE_THREAD_BODY)


def one_thread(nginx):
    fill_window(nginx)
    ours, theirs = in_turns(lambda: wrk(nginx, "/windowed/v1/graph/invoke", 16, ONE_THREAD_BODY),
                            lambda: wrk(nginx, "/durable/v1/graph/invoke", 16, BODY))
    print(f"invoke on one thread: {ours.rate:,.0f}/s, on new threads {theirs.rate:,.0f}/s "
          f"and {theirs.cpu:.1f} us CPU", flush=True)
    results.note("invoke on one thread, window of 100 messages: CPU", ours.cpu, "us", at_most(250))


def stream(nginx):
    ours, theirs = in_turns(lambda: wrk(nginx, "/model/v1/graph/stream", 32, BODY),
                            lambda: wrk(nginx, "/proxied/chat/completions", 32))
    report(f"stream of {TOKENS} tokens", ours, theirs, "proxy_pass of the same bytes", 0.9)


def added_first_token(nginx, when, limits):
    """Asks in turns, because the load of the machine changes."""
    ways = ((nginx.port, "/model/v1/graph/stream"), (nginx.port, "/proxied/chat/completions"),
            (nginx.port + 1, "/provider/chat/completions"))
    ours, stock, theirs = [], [], []
    for _ in range(10):
        for times, (port, path) in zip((ours, stock, theirs), ways):
            times += first_byte_times(port, path, BODY, 50)
    report_added(f"time to first token, {when}", ours, theirs, limits)
    report_added(f"the same by proxy_pass, {when}", stock, theirs, (results.NONE, results.NONE))


def first_token(nginx):
    added_first_token(nginx, "idle", (at_most(0.2), at_most(1)))


def busy_first_token(nginx):
    """While PACED_STREAMS streams of PACE tokens per second are open."""
    command = wrk_command(nginx, "/paced/v1/graph/stream", PACED_STREAMS, BODY, seconds=60)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as client:
        while connections_to(nginx.provider_port) < PACED_STREAMS:
            if client.poll() is not None:
                raise SystemExit("wrk ended before its streams were open")
            time.sleep(0.1)
        before = nginx.cpu_seconds()
        time.sleep(SECONDS)
        tokens = PACED_STREAMS * PACE * SECONDS
        results.note(f"CPU of a token, {PACED_STREAMS} streams of {PACE} per second",
                     1e6 * (nginx.cpu_seconds() - before) / tokens, "us")
        added_first_token(nginx, f"{PACED_STREAMS * PACE:,} tokens/s", (results.NONE, at_most(1)))
        client.terminate()


CHAT = json.dumps({"model": "app", "messages": [{"role": "user", "content": "hello"}], "stream": True})


RESPONSE = json.dumps({"model": "app", "input": "hello", "stream": True, "store": False})


def against_native(nginx, what, route, body):
    """A route of the façade against the native route, which executes the same runs."""
    path = f"/model/openai/v1/{route}"
    ours, theirs = in_turns(lambda: wrk(nginx, path, 32, body),
                            lambda: wrk(nginx, "/model/v1/graph/stream", 32, BODY))
    report(f"{what} of {TOKENS} tokens", ours, theirs, "native stream", 0.9)
    ours = first_byte_times(nginx.port, path, body, 500)
    theirs = first_byte_times(nginx.port, "/model/v1/graph/stream", BODY, 500)
    report_added(f"time to first byte of a {what}", ours, theirs, (at_most(0.1), results.NONE))


def openai(nginx):
    against_native(nginx, "chat completion", "chat/completions", CHAT)


def responses(nginx):
    against_native(nginx, "response", "responses", RESPONSE)


CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
    "name": "app", "arguments": {"message": "hello"}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}}}})
CALL_HEADERS = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "app",
                "Accept": "application/json, text/event-stream"}


def mcp(nginx):
    """The façade against the native route, which executes the same runs."""
    ours, theirs = in_turns(lambda: wrk(nginx, "/durable/mcp", 64, CALL, CALL_HEADERS),
                            lambda: wrk(nginx, "/durable/v1/graph/invoke", 64, BODY))
    report("call of the agent as a tool, durable thread", ours, theirs, "native invoke", 0.9)


RUN_INPUT = json.dumps({"threadId": "bench", "runId": "bench", "protocolVersion": "1.0", "state": {},
                        "messages": [{"id": "m1", "role": "user", "content": "hello"}], "tools": [],
                        "context": [], "forwardedProps": {}})


def agui(nginx):
    """The façade against the native route, which executes the same runs."""
    path, native = "/model/agui", "/model/v1/graph/stream"
    ours, theirs = in_turns(lambda: wrk(nginx, path, 32, RUN_INPUT), lambda: wrk(nginx, native, 32, BODY))
    report(f"run of AG-UI with {TOKENS} tokens", ours, theirs, "native stream", 0.9)
    ours = first_byte_times(nginx.port, path, RUN_INPUT, 500, b"TEXT_MESSAGE_CONTENT")
    theirs = first_byte_times(nginx.port, native, BODY, 500, b'"delta":true')
    report_added("time to first token of a run of AG-UI", ours, theirs, (at_most(0.1), results.NONE))


def long_thread(nginx):
    """In both threads the working window is full, so only the length of the history differs."""
    long = [f"long-{n}" for n in range(4)]
    short = [f"short-{n}" for n in range(4)]
    turns(nginx, long, LONG_THREAD_TURNS)
    turns(nginx, short, SHORT_THREAD_TURNS)
    costs = [(turns(nginx, long, 100), turns(nginx, short, 100)) for _ in range(ROUNDS)]
    ours, theirs = map(statistics.mean, zip(*costs))
    print(f"a turn of a thread of {LONG_THREAD_TURNS} turns: {ours:.0f} us CPU, of "
          f"{SHORT_THREAD_TURNS} turns: {theirs:.0f} us CPU", flush=True)
    results.note(f"CPU of a turn of a thread of {LONG_THREAD_TURNS} turns / of {SHORT_THREAD_TURNS}",
                 ours / theirs, "ratio", at_most(1.1))


def memory(nginx):
    per_stream = asyncio.run(memory_of_open_streams(nginx, 1000))
    results.note("private memory per open stream, 1,000 open", per_stream, "KiB", at_most(32))


def mean_reciprocal_rank(nginx, queries, strategy):
    total = 0
    for query, relevant in queries:
        results = nginx.post("/durable/v1/store/search",
                             {"query": query, "retrieval_strategy": strategy})["results"]
        places = [place for place, memory in enumerate(results, 1)
                  if memory["metadata"]["name"] in relevant]
        total += 1 / places[0] if places else 0
    return total / len(queries)


def retrieval(nginx):
    """Rank of the right memory over a set of labelled questions."""
    labelled = json.loads((BENCH / "labelled_memories.json").read_text())
    for name, content in labelled["memories"].items():
        nginx.post("/durable/v1/store/memories", {"content": content, "metadata": {"name": name}})
    ranks = {strategy: mean_reciprocal_rank(nginx, labelled["queries"], strategy)
             for strategy in ("similarity", "relevance", "hybrid")}
    print(f"mean reciprocal rank of the right memory, {len(labelled['queries'])} questions: "
          + ", ".join(f"{strategy} {rank:.3f}" for strategy, rank in ranks.items()), flush=True)
    results.note("rank of the right memory, hybrid / similarity", ranks["hybrid"] / ranks["similarity"],
                 "ratio", at_least(1))


def at_scale(nginx, *arguments):
    with tempfile.TemporaryDirectory(dir=nginx.directory) as directory:
        subprocess.run([nginx.build / "bench/state_at_scale", directory, *arguments], check=True)


def many_threads(nginx):
    at_scale(nginx, "threads", "1000000")


def many_memories(nginx):
    at_scale(nginx, "memories", "100000", "256")


PARTS = [ping, invoke, durable, one_thread, stream, first_token, busy_first_token, openai, responses, agui, mcp,
         long_thread, memory, retrieval, many_threads, many_memories]


def chosen(parts):
    """Those that the command line names; all if it names none."""
    return [part for part in parts if part.__name__ in (sys.argv[2:] or part.__name__)]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    parts = chosen(PARTS)
    with working_directory() as directory:
        port = 18700 + os.getpid() % 1000 * 2
        with Provider(directory, port + 1, *canned_reply()), Nginx(build, directory, port) as nginx:
            for part in parts:
                part(nginx)


if __name__ == "__main__":
    main()
