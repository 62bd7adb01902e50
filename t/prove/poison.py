"""Runs whose own function ends their worker, alone and beside innocent ones; and a run that loses its
worker in its function for other reasons, again and again."""

import asyncio
import os
import random
import signal

import laws
from customer import Run
from instance import Instance
from outside import OWN_CRASH
from wire import fetch_surely

_POISON = laws.LAWS[5]
_ENDS = laws.LAWS[2]
_INNOCENT = 2  # with the guilty one as many suspects as workers
_SECONDS_MAX = 120


class PoisonInstance(Instance):
    """Has no faults but those of its scenario. Functions of innocent runs wait at a gate."""

    def __init__(self, directory, outside):
        super().__init__(directory, "poison", outside, random.Random(0), 1, compiled=True)
        self._gate = asyncio.Event()
        self._runs = 0
        self._held = None  # the run in whose function processes are ended

    async def point(self, point, port):
        if point == OWN_CRASH:
            await super().point(point, port)
        elif point == "in function":
            await self._gate.wait()

    async def scenario(self, book):
        await self.start()
        try:
            await asyncio.wait_for(self._alone(book), _SECONDS_MAX)
            await asyncio.wait_for(self._beside_others(book), _SECONDS_MAX)
            await asyncio.wait_for(self._other_ends(book), 2 * _SECONDS_MAX)
        except asyncio.TimeoutError:
            book.violate(_ENDS, f"a run of the scenario {self.name} did not go on")

    async def _alone(self, book):
        run = await self._accept("poison")
        await self._expect_guilty(book, run, laws.CRASHES_TO_POISON)

    async def _beside_others(self, book):
        innocent = [await self._accept("text") for _ in range(_INNOCENT)]
        for run in innocent:
            await self._executions(run, 1)
        guilty = await self._accept("poison")
        # A crash does not count for a suspect that was beside another suspect: each innocent run can
        # cause one such crash.
        await self._expect_guilty(book, guilty, laws.CRASHES_TO_POISON + _INNOCENT)
        await self._expect_innocent(book, innocent)

    async def _other_ends(self, book):
        """Only the two crashes at the end count: one less than it takes."""
        run = self._held = await self._accept("text")
        ends = [self._kill_state_server, self.service.reload, self._restart_gently,
                self._kill_everything, self._kill_worker, self._kill_worker]
        await self._executions(run, 1)
        for executions, end in enumerate(ends, start=1):
            await asyncio.to_thread(end)
            # The first end is that of the state server: the run goes on in its worker.
            await self._executions(run, executions)
            record = (await fetch_surely(self.port, "GET", run.path)).data
            book.expect(_POISON, record["status"] == "running",
                        f"{run.path} is {record['status']} ({record['reason']}) after {end.__name__}")
        await self._expect_innocent(book, [run])

    # What is expected

    async def _expect_guilty(self, book, run, crashes_max):
        record = await self._end_of(run)
        crashes = self._outside.functions[run.run_id, "POISON"]
        laws.check_guilty(book, run, record, crashes)
        book.expect(_POISON, crashes <= crashes_max,
                    f"{run.path} has ended {crashes} workers, more than {crashes_max}")

    async def _expect_innocent(self, book, runs):
        self._gate.set()
        for run in runs:
            record = await self._end_of(run)
            book.expect(_POISON, record["status"] == "done",
                        f"{run.path} is innocent and {record['status']} ({record['reason']})")
        self._gate.clear()

    async def _accept(self, kind):
        self._runs += 1
        run = Run(self, self._runs, kind, f"t{self._runs}", 0.001)
        await fetch_surely(self.port, "POST", "/v1/graph/runs", run.body([run.question]),
                           [("Idempotency-Key", run.run_id)], (202, 200))
        return run

    async def _executions(self, run, count):
        """Waits until the run's first function has begun so often, or the run has ended."""
        while self._outside.functions[run.run_id, "PLAN"] < count:
            record = (await fetch_surely(self.port, "GET", run.path)).data
            if record["status"] not in ("queued", "running"):
                return
            await asyncio.sleep(0.05)

    async def _end_of(self, run):
        status = 202
        while status == 202:
            reply = await fetch_surely(self.port, "GET", run.path + "/wait",
                                       accept=(200, 202, 500, 502, 503, 504))
            record = (await fetch_surely(self.port, "GET", run.path)).data
            status = 202 if record["status"] in ("queued", "running") else reply.status
        return record

    # Ends of processes

    def _kill_worker(self):
        """The worker that has the function."""
        workers = [child.pid for child in self._children() if child.is_worker]
        port = self._outside.function_ports[self._held.run_id]
        self.service.kill_worker(self._owner_of(port, workers))

    def _kill_state_server(self):
        before = self.service.state_terms()
        self.service.kill(self.service.cache_manager().pid)
        self.service.wait_for_state(before)

    def _kill_everything(self):
        """The state server goes before the workers, so that it does not see them go."""
        state_server = self.service.cache_manager().pid
        for pid in (self.service.master_pid, state_server):
            os.kill(pid, signal.SIGKILL)
        self.service.kill_all()
        self.start_service()

    def _restart_gently(self):
        self.service.quit()
        self.service.wait_until_gone()
        self.start_service()
