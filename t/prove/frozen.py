"""A worker that stands still beyond the deadline of its run, and then goes on: what it still writes
is refused, whoever has the thread by then."""

import asyncio
import random

from harness import processes

import laws
from customer import Run, Seen
from instance import Instance
from wire import fetch_surely

_ONE = "4 one attempt writes"
# No shorter than the time after which a worker counts as silent, so that the run is still under way
# when its worker is stopped, on a slow machine, too.
_RUN_SECONDS = 10
_SHORT = "/short"  # where runs have this deadline
_ANSWER_SECONDS = 2  # what the thawed worker gets for its late writes


class FrozenInstance(Instance):
    """Has a deadline that a frozen worker exceeds, and no other faults."""

    def __init__(self, directory, outside):
        super().__init__(directory, "frozen", outside, random.Random(0), 1)
        self.service.reshape(server=f"location {_SHORT}/ {{ agent_graph test; "
                                    f"agent_graph_run_timeout {_RUN_SECONDS}s; }}")
        self.service.error_log.allow(r"does not answer")
        self._first_asked = asyncio.get_running_loop().create_future()
        self._second_speaks = asyncio.Event()
        self._go_on = asyncio.Event()
        self._second = None

    async def point(self, point, port):
        if point == "model asked" and not self._first_asked.done():
            self._first_asked.set_result(port)
        elif point == "mid delta" and self._second is not None:
            self._second_speaks.set()
            await self._go_on.wait()

    async def scenario(self, book):
        await self.start()
        first = Run(self, 1, "text", "t", 0.5)
        await self._accept(first, _SHORT)
        workers = [child.pid for child in self._children() if child.is_worker]
        frozen = self._owner_of(await self._first_asked, workers)
        processes.freeze(frozen)
        try:
            await asyncio.to_thread(self.service.wait_for_log, "reached its deadline")
            self._second = Run(self, 2, "text", "t", 0.001)
            await self._accept(self._second)
            await self._second_speaks.wait()
        finally:
            processes.thaw(frozen)
        await asyncio.sleep(_ANSWER_SECONDS)
        self._go_on.set()
        await self._check(book, first, self._second)
        self.struck["a worker stands still", "model asked"] += 1

    async def _accept(self, run, prefix=""):
        await fetch_surely(self.port, "POST", prefix + "/v1/graph/runs", run.body([run.question]),
                           accept=(202,))

    async def _check(self, book, first, second):
        reply = await fetch_surely(self.port, "GET", second.path + "/wait", accept=(200, 202, 504))
        ended = (await fetch_surely(self.port, "GET", first.path)).data
        book.expect(_ONE, (ended["status"], ended["reason"]) == ("error", "deadline"),
                    f"{first.path} ended as {ended['status']}, {ended['reason']}")
        record = (await fetch_surely(self.port, "GET", second.path)).data
        book.expect(_ONE, reply.status == 200 and record["status"] == "done",
                    f"{second.path} is {record['status']} ({record['reason']}) after late writes")
        stream = await fetch_surely(self.port, "GET", second.path + "/stream")
        seen = Seen()
        for block in stream.body.split(b"\n\n")[:-1]:
            seen.take(block.decode())
        text = " ".join(laws.text_of(message) for message in seen.messages.values())
        book.expect(_ONE, first.tag + "." not in text, f"{second.path} has words of {first.path}")
