"""Three hosts with one database behind a balancer, as the clients of t/prove see one instance."""

import asyncio
import collections
import concurrent.futures
import pathlib
import shutil
import time

from harness import environment, processes
from harness.haproxy import Haproxy
from harness.service import Service

from outside import models

HOSTS = 3
_GRAPH = pathlib.Path(__file__).resolve().parents[1] / "prove" / "graph.json"
_LIBFAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"
# Faults end connections, workers and whole hosts.
_EXPECTED = (r"exited on signal|signal 9|worker process|database|PostgreSQL|state of|state server|"
             r"does not answer|declared dead|instance")


class Host(Service):
    """An nginx in a namespace of its own. Its wall clock is the machine's, moved by `jump`."""

    def __init__(self, directory, place, settings, **configuration):
        self.place = place
        self._offset = directory.with_name(f"{directory.name}-clock")
        self._offset.write_text("+0\n")
        super().__init__(directory, settings, **configuration)
        self.error_log.allow(_EXPECTED)

    def configure(self, configuration):
        super().configure(configuration.replace("listen 127.0.0.1:", "listen "))

    def command_line(self):
        return self.place.command(super().command_line())

    def _environment(self, extra):
        if not pathlib.Path(_LIBFAKETIME).exists():
            return super()._environment(extra)
        return super()._environment(extra) | {
            "LD_PRELOAD": _LIBFAKETIME,
            "FAKETIME_TIMESTAMP_FILE": str(self._offset),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
        }

    def jump(self, seconds):
        self._offset.write_text(f"{seconds:+d}\n")

    @property
    def address(self):
        return f"{self.place.address}:{self.port}"

    def freeze(self, found):
        """Stops these processes; returns how to let them go on."""
        stopped = [process.pid for process in found]
        for pid in stopped:
            processes.freeze(pid)

        def thaw():
            for pid in stopped:
                if processes.is_alive(pid):
                    processes.thaw(pid)

        return thaw


class Cluster:
    """The part of t/prove's Instance that a Customer needs, with the balancer's port."""

    name = "cluster"
    has_functions = False
    # Slow enough that each host has runs when a fault strikes it.
    paces = (0.01, 0.1)

    def __init__(self, directory, network, databases, outside):
        self.databases = databases
        self.network = network
        self.crashes_in_function = collections.Counter()
        self.begin_pauses()
        url = f"http://{network.outside}:{outside.port}/{self.name}"
        settings = {"agent": f"{_GRAPH}:app", "models": models(url), "env": "prove.env"}
        self.hosts = []
        for number, place in enumerate(network.hosts):
            # The last host reaches the database through the pooler.
            database = databases.pooled_url() if number == HOSTS - 1 else databases.url()
            checkpointer = {"type": "postgres", "url": database}
            host = Host(directory / f"host{number}", place, settings | {"checkpointer": checkpointer})
            host.write("prove.env", f"PROVE_URL={url}\n")
            self.hosts.append(host)
        with concurrent.futures.ThreadPoolExecutor(HOSTS) as pool:
            list(pool.map(lambda host: host.start(), self.hosts))
        self.balancer = Haproxy(directory / "haproxy", [host.address for host in self.hosts], interval=1000)

    @property
    def port(self):
        return self.balancer.port

    async def point(self, point, _port):
        """Faults strike at any moment; clients show here that they get on."""
        if point == "entry read":
            now = time.monotonic()
            self._longest_pause = max(self._longest_pause, now - self._last_event)
            self._last_event = now

    def begin_pauses(self):
        self._last_event = time.monotonic()
        self._longest_pause = 0.0

    def longest_pause(self):
        """Seconds without an event for any client, since begin_pauses."""
        return max(self._longest_pause, time.monotonic() - self._last_event)

    async def wait_for_hosts(self):
        """Waits until every host serves."""
        await asyncio.to_thread(self.balancer.wait_for_hosts, range(HOSTS))

    def close(self):
        problems = []
        for host in self.hosts:
            problems += [f"{host.place.name}: {problem}" for problem in host.close()]
        self.balancer.close()
        return problems


def room(directory):
    """Removes the folder of a run."""
    shutil.rmtree(directory, ignore_errors=True)
