#!/usr/bin/env python3
"""Results of the benchmarks with their limits. Each is printed when it is there; `make bench` sets
BENCH_RESULTS to a file that collects them, and prints them as one table at its end.

Usage: bench/results.py FILE [--strict]   prints the table; --strict exits with 1 if a limit is missed
"""
import json
import os
import pathlib
import sys
import typing


class Limit(typing.NamedTuple):
    most: float | None = None
    least: float | None = None

    def holds(self, value):
        return (self.most is None or value <= self.most) and (self.least is None or value >= self.least)

    def __str__(self):
        if self.most is not None:
            return f"≤ {self.most:,g}"
        return f"≥ {self.least:,g}" if self.least is not None else ""


def at_most(value):
    return Limit(most=value)


def at_least(value):
    return Limit(least=value)


NONE = Limit()  # the value is only shown


def line(what, value, unit, limit):
    verdict = "" if limit.holds(value) else "   MISSED"
    return f"{what:<66}{value:>12,.2f} {unit:<8}{str(limit):>10}{verdict}"


def note(what, value, unit, limit=NONE):
    """Prints a result, and collects it for the table."""
    print(line(what, value, unit, limit), flush=True)
    if file := os.environ.get("BENCH_RESULTS"):
        with open(file, "a") as results:
            results.write(json.dumps([what, value, unit, limit]) + "\n")


def main():
    rows = [json.loads(text) for text in pathlib.Path(sys.argv[1]).read_text().splitlines()]
    print(f"\n{'measurement':<66}{'value':>12} {'unit':<8}{'limit':>10}")
    for what, value, unit, limit in rows:
        print(line(what, value, unit, Limit(*limit)))
    missed = sum(not Limit(*limit).holds(value) for _, value, _, limit in rows)
    print(f"{len(rows)} measurements, {missed} miss their limit")
    return 1 if missed and "--strict" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
