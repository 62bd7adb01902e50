#!/usr/bin/env python3
"""Compares two builds of the module, such as those of a commit and its parent: what do requests cost?

Usage: bench/compare.py BASE HEAD [--rounds N] [--seconds N] [--only WORD] [--preload LIBRARY]

BASE and HEAD are build directories with the target `benchmarks`. One nginx of each runs at the same
time, and the measurements alternate, so that other load on the machine meets both. Prints for each
measurement the median of HEAD / BASE over all rounds. Exits with 1 if HEAD is worse by more than 5 %.
Requests per second are shown only: they depend on the client, too, and CPU time does not.
With --preload, the nginx of HEAD runs with this library, such as another allocator; BASE and HEAD may
then be the same build.
"""
import argparse
import asyncio
import contextlib
import os
import pathlib
import statistics
import sys

import run
from servers import BODY, TOKENS, Nginx, Provider, canned_reply, working_directory

WORSE_MAX = 1.05
SLOW, STREAM = "/dripped/v1/graph/stream", "/stored/v1/graph/stream"
# Requests whose CPU time is measured: name, path, connections and body.
REQUESTS = (("ping", "/plain/ping", 64, None),
            ("invoke, nothing stored", "/plain/v1/graph/invoke", 64, BODY),
            ("invoke, new threads", "/durable/v1/graph/invoke", 64, BODY),
            ("invoke, one thread with a full window", "/windowed/v1/graph/invoke", 16, run.ONE_THREAD_BODY),
            (f"stream of {TOKENS} tokens, nothing stored", "/model/v1/graph/stream", 32, BODY),
            (f"stream of {TOKENS} tokens, new threads", STREAM, 32, BODY))
FIRST_TOKENS = 200  # in one round
OPEN_STREAMS = 500


class Ratios:
    """Ratios of one measurement, one pair of values per round."""

    def __init__(self, name, bounded=True):
        self.name = name
        self.bounded = bounded
        self.pairs = []

    def add(self, base, head):
        self.pairs.append((base, head))

    @property
    def median(self):
        return statistics.median(head / base for base, head in self.pairs)

    @property
    def is_worse(self):
        return self.bounded and self.median > WORSE_MAX

    def line(self):
        base, head = (statistics.median(column) for column in zip(*self.pairs))
        verdict = "WORSE" if self.is_worse else "" if self.bounded else "(shown only)"
        spread = [head / base for base, head in self.pairs]
        return (f"{self.name:<48}{base:>12,.1f}{head:>12,.1f}   ratio {self.median:5.3f} "
                f"({min(spread):.3f} to {max(spread):.3f}) {verdict}")


def costs(path, connections, body):
    return lambda nginx: run.wrk(nginx, path, connections, body)


def first_token_ms(nginx):
    times = run.first_byte_times(nginx.port, STREAM, BODY, FIRST_TOKENS)
    return 1000 * run.percentile(times, 0.5)


def open_stream_kib(nginx):
    return asyncio.run(run.memory_of_open_streams(nginx, OPEN_STREAMS, SLOW))


class Comparison:
    def __init__(self, base, head, only):
        self._sides = base, head
        self._only = only
        self.ratios = {}

    def _wants(self, what):
        return self._only in what

    def _in_turns(self, measure, round_number):
        """Each side is the first one in every second round."""
        order = self._sides if round_number % 2 == 0 else self._sides[::-1]
        results = {nginx: measure(nginx) for nginx in order}
        return [results[nginx] for nginx in self._sides]

    def _add(self, name, base, head, **options):
        self.ratios.setdefault(name, Ratios(name, **options)).add(base, head)

    def run_round(self, number):
        for what, path, connections, body in filter(lambda row: self._wants(row[0]), REQUESTS):
            base, head = self._in_turns(costs(path, connections, body), number)
            self._add(f"{what}: us of CPU", base.cpu, head.cpu)
            # The inverse of the rate, so that more is worse, as in all other measurements.
            self._add(f"{what}: us between requests", 1e6 / base.rate, 1e6 / head.rate, bounded=False)
        if self._wants("first token"):
            self._add("time to the first token, idle: ms", *self._in_turns(first_token_ms, number))

    def measure_memory(self):
        """Once: later rounds would find pages that the allocator has kept."""
        if not self._wants("memory"):
            return
        self._add(f"private memory of one of {OPEN_STREAMS} open streams: KiB",
                  *self._in_turns(open_stream_kib, 0))


def _options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("base", type=pathlib.Path)
    parser.add_argument("head", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=run.SECONDS, help="of each measurement with wrk")
    parser.add_argument("--only", default="", help="a word in the names of the wanted measurements")
    parser.add_argument("--preload", type=pathlib.Path, help="a library for the nginx of HEAD")
    return parser.parse_args()


def _check(build):
    for name in ("ngx_http_agent_graph_module.so", "bench/graph.so"):
        if not (build / name).exists():
            raise SystemExit(f"{build} has no {name}: build the targets `serving` and `benchmarks` there")
    return build.resolve()


def main():
    options = _options()
    builds = [_check(build) for build in (options.base, options.head)]
    run.SECONDS = options.seconds
    port = 18700 + os.getpid() % 1000 * 3
    with working_directory() as directory, contextlib.ExitStack() as stack:
        stack.enter_context(Provider(directory, port, *canned_reply()))
        sides = []
        for number, build in enumerate(builds):
            folder = directory / ("base", "head")[number]
            folder.mkdir()
            preload = options.preload if number == 1 else None
            sides.append(stack.enter_context(Nginx(build, folder, port + 1 + number, port, preload)))
        for nginx in sides:
            run.fill_window(nginx)
        comparison = Comparison(*sides, options.only)
        comparison.measure_memory()
        for number in range(options.rounds):
            comparison.run_round(number)
    print(f"{'':<48}{'BASE':>12}{'HEAD':>12}   HEAD / BASE, bound {WORSE_MAX}")
    for ratios in comparison.ratios.values():
        print(ratios.line())
    return 1 if any(ratios.is_worse for ratios in comparison.ratios.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
