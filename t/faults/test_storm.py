"""Kills processes of every role at random under load. STORM_SECONDS=300 makes it longer, STORM_SEED
selects another sequence."""

import os
import random
import signal
import time

import pytest

from harness.agents import behaviour
from harness.ledger import judge, progress, run_writers, settle

_SECONDS = float(os.environ.get("STORM_SECONDS", "20"))
_SEED = int(os.environ.get("STORM_SEED", "4711"))
_WORKERS = 8


class Storm:
    def __init__(self, service, chance):
        self._service = service
        self._chance = chance
        self.faults = []

    def strike(self):
        fault = self._chance.choice(
            [self.worker, self.worker, self.owner, self.owner, self.both, self.reload, self.master]
        )
        self.faults.append(fault.__name__)
        fault()

    def worker(self):
        self._kill_one(self._service.workers())

    def owner(self):
        self._kill_one(self._service.cache_managers())

    def both(self):
        self.owner()
        self.worker()

    def reload(self):
        self._service.signal(signal.SIGHUP)

    def master(self):
        """Also kills what the master leaves behind and starts it again, like a service manager."""
        self._service.kill_all()
        self._service.start()

    def _kill_one(self, processes):
        # The list is empty while the process is being replaced.
        if processes:
            self._kill(self._chance.choice(processes).pid)

    def _kill(self, pid):
        # A reload may have ended it already.
        try:
            self._service.kill(pid)
        except ProcessLookupError:
            pass


@pytest.mark.timeout(900 + 2 * _SECONDS)
def test_what_was_acknowledged_is_there_once_and_in_order(start_service):
    service = start_service(behaviour("echo", store="leveldb", embedding="hash"), workers=_WORKERS)
    service.error_log.allow(r"exited on signal 9")
    # The end of the test may interrupt a reload.
    service.error_log.allow(r"loading the graph crashed \(Terminated\)")
    storm = Storm(service, random.Random(_SEED))

    def rage(writers):
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end:
            storm.strike()
            progress(writers)

    writers = run_writers(service, 2 * _WORKERS, rage)
    settle(service)
    print(f"{len(storm.faults)} faults, {sum(len(w.messages) for w in writers)} messages")
    judge(service, writers)
