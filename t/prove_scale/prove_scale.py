"""Strikes three hosts and their database with faults while clients work, and checks the laws of t/prove
and the tables.

    python3 t/prove_scale/prove_scale.py [FAULT...] [--rounds N]

Needs root: each host has a network namespace of its own. Prints one table; exits with 1 if a law was
violated."""

import argparse
import asyncio
import pathlib
import random
import signal
import sys
import tempfile
import time

_HERE = pathlib.Path(__file__).resolve().parent
for folder in (_HERE.parent / "http", _HERE.parent / "prove", _HERE):
    sys.path.insert(0, str(folder))

from harness import processes  # noqa: E402
from harness.ports import release_ports  # noqa: E402

import faults  # noqa: E402
import laws  # noqa: E402
import stored_log  # noqa: E402
from cluster import HOSTS, Cluster, room  # noqa: E402
from customer import Customer  # noqa: E402
from databases import Pair  # noqa: E402
from histories import LAW, Histories  # noqa: E402
from network import Network  # noqa: E402
from outside import Outside  # noqa: E402
from patroni import PatroniPair  # noqa: E402

_SETTLE_SECONDS = 240
_QUIET_SECONDS = 3  # between two faults
_STORED = "7 the tables hold what was acknowledged"


def _options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    names = sorted({fault.__name__ for fault in (*faults.FAULTS, *faults.WITH_PATRONI)})
    parser.add_argument("faults", nargs="*", choices=[[], *names], default=[])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--customers", type=int, default=16)
    parser.add_argument("--appenders", type=int, default=4, help="clients that append and read messages")
    parser.add_argument(
        "--operations", type=int, default=0,
        help="begin further rounds until there were so many appends and reads of messages")
    parser.add_argument("--patroni", action="store_true", help="Patroni leads the servers, with etcd")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    return parser.parse_args()


class Book(laws.Book):
    """Also knows which runs have begun."""

    def __init__(self, world):
        super().__init__(world)
        self.checks[LAW] = 0
        self.all_runs = []

    def begun(self, run):
        super().begun(run)
        self.all_runs.append(run)


class Proof:
    def __init__(self, options, directory):
        self._options = options
        self._directory = directory
        self._rows = []
        self._known = set()  # rows found in the tables
        self._operations = 0
        self.book = None

    async def run(self):
        network = Network(HOSTS)
        databases = cluster = None
        try:
            world = Outside(_no_strike, network.outside)
            self.book = Book(world)
            await world.start()
            servers = PatroniPair if self._options.patroni else Pair
            databases = await asyncio.to_thread(servers, network)
            cluster = await asyncio.to_thread(Cluster, self._directory, network, databases, world)
            self._rows.append((_nothing.__doc__, await self._strike(cluster, _nothing)))
            possible = faults.WITH_PATRONI if self._options.patroni else faults.FAULTS
            chosen = [fault for fault in possible
                      if not self._options.faults or fault.__name__ in self._options.faults]
            rounds = 0
            while rounds < self._options.rounds or self._operations < self._options.operations:
                rounds += 1
                for fault in chosen:
                    self._rows.append((fault.__doc__, await self._strike(cluster, fault)))
        finally:
            if cluster is not None:
                for problem in await asyncio.to_thread(cluster.close):
                    self.book.violate("0 nginx logs no alert", problem)
            if databases is not None:
                await asyncio.to_thread(databases.close)
            network.close()

    async def _strike(self, cluster, fault):
        """Lets clients work before, during and after one fault; returns the figures."""
        book = self.book
        runs, checked, continued = book.runs, book.finished, book.continued
        violations = len(book.violations)
        stopping = asyncio.Event()
        seed = f"{self._options.seed} {fault.__name__} {runs}"
        customers = [
            asyncio.ensure_future(
                Customer(cluster, f"{len(self._rows)}c{number}", random.Random(f"{seed} {number}"), book)
                .work(stopping))
            for number in range(self._options.customers)
        ]
        histories = Histories(cluster.port, f"{len(self._rows)}", random.Random(seed))
        appenders = [asyncio.ensure_future(histories.work(stopping))
                     for _ in range(self._options.appenders)]
        print(f"{fault.__name__}: {fault.__doc__}", flush=True)
        await asyncio.sleep(_QUIET_SECONDS)
        began = time.monotonic()
        cluster.begin_pauses()
        await fault(cluster)
        await cluster.wait_for_hosts()
        healed = time.monotonic() - began
        await asyncio.sleep(_QUIET_SECONDS)
        pause = cluster.longest_pause()
        stopping.set()
        await laws.settle(book, customers, _SETTLE_SECONDS)
        await asyncio.gather(*appenders)
        await histories.finish()
        histories.check(book)
        self._operations += histories.count
        problems = await asyncio.to_thread(stored_log.faults, cluster.databases, book.all_runs)
        for problem in sorted(set(problems) - self._known):
            book.violate(_STORED, problem)
        self._known |= set(problems)
        book.checks[_STORED] = len(book.all_runs)
        figures = (book.runs - runs, book.finished - checked, book.continued - continued,
                   f"{pause:.1f}", len(book.violations) - violations)
        print(f"  runs, checked, continued, longest pause, violations: {figures}; "
              f"healed after {healed:.1f} s; {self._operations} appends and reads so far", flush=True)
        return figures

    def table(self):
        lines = ["| fault | runs | checked | continued by another worker or host "
                 "| longest time without an event for any client, s | violations |",
                 "|---|---|---|---|---|---|"]
        lines += [f"| {name} | {' | '.join(map(str, figures))} |"
                  for name, figures in self._rows]
        lines.append(f"{self._operations} appends and reads of messages")
        lines += [f"law {law}: {count} checks, "
                  f"{sum(1 for broken, _ in self.book.violations if broken == law)} violations"
                  for law, count in self.book.checks.items()]
        return "\n".join(lines)


async def _no_strike(_instance, _point, _port):
    """Calls of the world outside are no reason for a fault."""


async def _nothing(_cluster):
    """no fault"""
    await asyncio.sleep(_QUIET_SECONDS)


def main():
    options = _options()
    processes.adopt_orphans()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that everything is stopped
    random.seed(options.seed)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="agent-graph-prove-"))
    directory.chmod(0o755)
    print(f"seed {options.seed}, in {directory}", flush=True)
    proof = Proof(options, directory)
    try:
        asyncio.run(proof.run())
    except KeyboardInterrupt:
        print("interrupted; what was checked until then:")
    finally:
        release_ports()
    print(proof.table())
    if proof.book.violations:
        for law, what in proof.book.violations[:20]:
            print(f"VIOLATED {law}: {what}")
        print(f"kept for inspection: {directory}")
        return 1
    room(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
