"""Kills nginx's processes while runs are under way, and checks the laws of durable runs.

    python3 t/prove/prove.py [KILLS [SEED]]

Prints the seed and one table; exits with 1 if a law was violated. The same seed gives the same
choices, but processes do not die at exactly the same instructions."""

import argparse
import asyncio
import collections
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "http"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness import processes  # noqa: E402
from harness.ports import release_ports  # noqa: E402

import laws  # noqa: E402
from customer import Customer  # noqa: E402
from frozen import FrozenInstance  # noqa: E402
from instance import FAULTS, OWN_FAULT, POINTS, Instance  # noqa: E402
from outside import Outside  # noqa: E402
from poison import PoisonInstance  # noqa: E402

_SETTLE_SECONDS = 240


def _options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kills", nargs="?", type=int, default=40)
    parser.add_argument("seed", nargs="?", type=int, default=None)
    parser.add_argument("--instances", type=int, default=3, help="nginx instances at once")
    parser.add_argument("--customers", type=int, default=8, help="clients of each instance")
    parser.add_argument("--gap", type=float, default=0.25,
                        help="seconds between the faults of one instance")
    options = parser.parse_args()
    options.seed = options.seed if options.seed is not None else random.randrange(10**6)
    return options


class Proof:
    def __init__(self, options, directory):
        self.options = options
        self._directory = directory
        self.world = Outside(self._point)
        self.book = laws.Book(self.world)
        self.instances = {
            name: Instance(directory, name, self.world,
                           random.Random(f"{options.seed} {name}"), options.gap, compiled=number % 2 == 1)
            for number, name in enumerate(f"i{n}" for n in range(options.instances))
        }

    async def _point(self, name, point, port):
        await self.instances[name].point(point, port)

    @property
    def kills(self):
        return sum(instance.kills for instance in self.instances.values())

    async def run(self):
        await self.world.start()
        instances = list(self.instances.values())
        scenarios = [FrozenInstance(self._directory, self.world),
                     PoisonInstance(self._directory, self.world)]
        self.instances |= {instance.name: instance for instance in scenarios}
        await asyncio.gather(*(instance.start() for instance in instances))
        stopping = asyncio.Event()
        customers = [
            asyncio.ensure_future(
                Customer(instance, number, random.Random(f"{self.options.seed} {number}"),
                         self.book).work(stopping))
            for instance in instances
            for number in range(self.options.customers)
        ]
        customers += [asyncio.ensure_future(one.scenario(self.book)) for one in scenarios]
        began = time.monotonic()
        for instance in instances:
            instance.begin_faults()
        shown = 0
        while self.kills < self.options.kills and not self.book.violations:
            await asyncio.sleep(0.05)
            if self.kills - shown >= 500:
                shown = self.kills
                print(f"{self.kills} kills, {self.book.finished} runs checked", flush=True)
        seconds = time.monotonic() - began
        for instance in instances:
            await instance.end_faults()
        stopping.set()
        await laws.settle(self.book, customers, _SETTLE_SECONDS)
        await self.world.stop()
        return seconds

    def close(self):
        for instance in self.instances.values():
            for problem in instance.close():
                self.book.violate("0 nginx logs no alert", problem)

    def table(self, seconds):
        struck = collections.Counter()
        for instance in self.instances.values():
            struck.update(instance.struck)
        book = self.book
        gentle = sum(n for (what, _), n in struck.items() if "reload" in what or "quit" in what)
        rows = [("kills", self.kills), ("per second", round(self.kills / seconds, 1)),
                ("reloads, quits and starts", gentle),
                ("runs", book.runs), ("runs checked", book.finished),
                ("runs that another worker continued", book.continued),
                ("reconnects of readers", book.reconnects), ("resets of messages", book.resets),
                ("unknown effects", book.unknown), ("poisoned, rightly", book.poisoned)]
        rows += [(f"at: {point}", sum(n for (_, at), n in struck.items() if at == point))
                 for point in POINTS]
        rows += [(f"fault: {fault}", sum(n for (what, _), n in struck.items() if what == fault))
                 for fault in (*FAULTS, OWN_FAULT, "a worker stands still")]
        rows += [(f"law {law}", f"{count} checks, "
                  f"{sum(1 for broken, _ in book.violations if broken == law)} violations")
                 for law, count in book.checks.items()]
        return "\n".join(f"  {name:<44} {value}" for name, value in rows)


def main():
    options = _options()
    processes.adopt_orphans()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="agent-graph-prove-",
                                              dir=os.environ.get("PROVE_TMP")))
    directory.chmod(0o755)
    print(f"seed {options.seed}, in {directory}", flush=True)
    proof = Proof(options, directory)
    seconds = 1.0
    try:
        seconds = asyncio.run(proof.run())
    finally:
        proof.close()
        release_ports()
    print(f"harness, seed {options.seed}")
    print(proof.table(seconds))
    for law, what in proof.book.violations[:20]:
        print(f"VIOLATED {law}: {what}")
    if proof.book.violations:
        print(f"kept for inspection: {directory}")
        return 1
    shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
