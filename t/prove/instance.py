"""One nginx under test, and the faults that strike it."""

import asyncio
import collections
import contextlib
import os
import pathlib
import signal
import time

from harness import environment
from harness.service import Service

from outside import OWN_CRASH, models

# Moments at which a fault can strike. `between` is any moment.
POINTS = ("model asked", "mid delta", "after deltas", "model answered", "before effect",
          "after effect", "after result", "in function", "accepted", "entry read", "between")
# The process to kill, by weight. `worker` is the one that does the work, if it is known.
FAULTS = {"worker": 44, "any worker": 10, "state server": 16, "worker, then state server": 14,
          "state server, then worker": 6, "reload": 4, "reload, then state server": 3,
          "all of nginx": 2, "quit and start": 1}

OWN_FAULT = "a run ends its worker"

# Longest wait of a fault for a run in progress, and then for the chosen point of that run.
_PROGRESS_SECONDS = 2
_POINT_SECONDS = 0.4

_TAKEN = "Address already in use"
_PORTS_MAX = 5

# Two forms of one graph. Functions are only in the compiled one.
_COMPILED = environment.BUILD / "t" / "graphs" / "proving.so"
_DECLARED = pathlib.Path(__file__).resolve().parent / "graph.json"


class Process:
    """The role of a child of the master, from its command line."""

    def __init__(self, pid):
        self.pid = pid
        title = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        self.is_worker = title.startswith("nginx: worker process")
        self.is_state_server = "cache manager" in title


class Instance:
    paces = (0.001, 0.004)  # seconds between two words of a model

    def __init__(self, directory, name, outside, chance, gap, compiled=False):
        self.name = name
        self._outside = outside
        self._chance = chance
        self._gap = gap
        self._next_strike = time.monotonic() + 1
        self._wanted = self._chance.choice(POINTS)
        self._wanted_since = None
        self._passed = 0  # points of work since the last fault
        self._wanted_points = 10
        self._restarting = False
        self._hunt = None
        self.has_functions = compiled
        self.kills = 0  # processes; all of nginx counts once
        self.struck = collections.Counter()  # by fault and point
        self.crashes_in_function = collections.Counter()  # by run
        url = f"http://127.0.0.1:{outside.port}/{name}"
        settings = {"agent": f"{_COMPILED if compiled else _DECLARED}:app", "models": models(url), "env": "prove.env"}
        self.service = Service(
            directory / name, settings, workers=3, shutdown_timeout="2s", log_level="notice",
            main=f"\nenv PROVE_PORT={outside.port};\nenv PROVE_INSTANCE={name};\n",
        )
        self.service.write("prove.env", f"PROVE_URL={url}\n")
        self.service.error_log.allow(r"signal 9|exited on signal|worker process|could not bind|" + _TAKEN)

    @property
    def port(self):
        return self.service.port

    async def start(self):
        await asyncio.to_thread(self.start_service)

    def start_service(self):
        """On another port if another program has taken the service's."""
        for _ in range(_PORTS_MAX):
            try:
                return self.service.start()
            except AssertionError as failure:
                if _TAKEN not in str(failure):
                    raise
            self.service.move()
        return self.service.start()

    def begin_faults(self):
        self._hunt = asyncio.ensure_future(self._strike_between())

    async def end_faults(self):
        self._hunt.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._hunt
        self._hunt = None
        while self._restarting:
            await asyncio.sleep(0.05)

    def close(self):
        return self.service.close()

    # When

    async def _strike_between(self):
        while True:
            await asyncio.sleep(self._chance.uniform(0.01, 0.06))
            await self.point("between", None)

    async def point(self, point, port):
        """Called at each point; strikes there if it is the next place to strike at."""
        if point == OWN_CRASH:
            self._note_crash()
            self.kills += 1
            self.struck[OWN_FAULT, "in function"] += 1
            return
        now = time.monotonic()
        self._passed += port is not None
        if self._hunt is None or self._restarting or now < self._next_strike:
            return
        # On a slow machine faults would follow each other before anything has begun.
        if self._passed < self._wanted_points and now < self._next_strike + _PROGRESS_SECONDS:
            return
        # A point that does not occur must not hold the others up.
        if self._wanted_since is None:
            self._wanted_since = now
        if point != self._wanted and now < self._wanted_since + _POINT_SECONDS:
            return
        self._wanted = self._chance.choice(POINTS)
        self._wanted_since = None
        self._passed = 0
        self._wanted_points = self._chance.randint(3, 30)
        self._next_strike = now + self._chance.uniform(0.5, 1.5) * self._gap
        fault = self._chance.choices(list(FAULTS), FAULTS.values())[0]
        await self._strike(fault, point, port)

    # Faults

    async def _strike(self, fault, point, port):
        if fault in ("all of nginx", "quit and start"):
            self._restarting = True
            self._note_crash()
            self.kills += fault == "all of nginx"
            self.struck[fault, point] += 1
            asyncio.ensure_future(self._restart(fault))
            return
        first, _, then = fault.partition(", then ")
        if self._do(first, port):
            self.struck[fault, point] += 1
        if then:
            # The second fault comes while the loss is noticed, or while the runs are folded and granted again.
            delay = self._chance.uniform(0, 0.06 if "reload" not in first else 0.6)
            asyncio.get_running_loop().call_later(delay, self._do_later, then)

    def _do_later(self, what):
        if not self._restarting and self._hunt is not None:
            self._do(what, None)

    def _do(self, what, port):
        children = self._children()
        workers = [child.pid for child in children if child.is_worker]
        if what == "reload":
            return self._signal(self.service.master_pid, signal.SIGHUP)
        if what == "state server":
            servers = [child.pid for child in children if child.is_state_server]
            return bool(servers) and self._signal(servers[0], signal.SIGKILL)
        victim = self._owner_of(port, workers) if what == "worker" and port else None
        if victim is None and workers:
            victim = self._chance.choice(workers)
        if victim is None:
            return False
        self._note_crash()
        return self._signal(victim, signal.SIGKILL)

    def _note_crash(self):
        """Runs that are in a function now may become suspects. From outside, a function's
        beginning is known only when it reports."""
        inside = {run for run, count in self._outside.in_functions.items() if count > 0}
        self.crashes_in_function.update(inside | self._outside.near_functions)

    def _signal(self, pid, number):
        try:
            os.kill(pid, number)
            self.kills += number == signal.SIGKILL
            return True
        except ProcessLookupError:
            return False

    async def _restart(self, fault):
        def restart():
            if fault == "all of nginx":
                self.service.kill_all()
            else:
                self.service.quit()
                self.service.wait_until_gone()
            self.start_service()

        await asyncio.to_thread(restart)
        self._next_strike = time.monotonic() + self._gap
        self._restarting = False

    def _children(self):
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = pathlib.Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == self.service.master_pid and fields[0] not in "ZX":
                    found.append(Process(int(entry)))
        return found

    @staticmethod
    def _owner_of(port, pids):
        """The process that has the connection from this port."""
        wanted = f":{port:04X}"
        for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            if not fields[1].endswith(wanted) or fields[9] == "0":
                continue
            target = f"socket:[{fields[9]}]"
            for pid in pids:
                with contextlib.suppress(OSError):
                    folder = f"/proc/{pid}/fd"
                    for entry in os.listdir(folder):
                        with contextlib.suppress(OSError):
                            if os.readlink(f"{folder}/{entry}") == target:
                                return pid
        return None


