"""Clients that append messages to threads and read them, over any host, and the check that each thread
behaved as if it were in one place: there is one order of its operations that explains every answer and in
which no operation comes before one that had ended when it began.

Messages are only appended and each is unique, so a read shows the order of the appends before it. That
makes the check exact without a search: all reads are beginnings of the longest one, and what had ended
before an operation began comes before it."""

import asyncio
import dataclasses
import itertools
import math
import time

from wire import AGAIN, Broken, fetch

LAW = "8 appends and reads of a thread are linearizable"
_APPENDS_MAX = 40  # to one thread
_THREADS = 4  # at a time


@dataclasses.dataclass
class Operation:
    began: float
    ended: float = math.inf  # without an answer it may take effect at any later time
    message: str = ""  # of an append
    messages: list | None = None  # of a read that was answered

    def precedes(self, other):
        return self.ended < other.began


@dataclasses.dataclass
class Thread:
    id: str
    operations: list = dataclasses.field(default_factory=list)
    appends: int = 0

    @property
    def path(self):
        return f"/v1/threads/{self.id}/messages"


class Histories:
    """The operations of one time of clients."""

    def __init__(self, port, name, random):
        self._port = port
        self._random = random
        self._ids = (f"{name}h{number}" for number in itertools.count())
        self._open = [Thread(next(self._ids)) for _ in range(_THREADS)]
        self.threads = list(self._open)

    @property
    def count(self):
        return sum(len(thread.operations) for thread in self.threads)

    async def work(self, stopping):
        """Sends the operations of one client, until `stopping` is set."""
        while not stopping.is_set():
            place = self._random.randrange(_THREADS)
            thread = self._open[place]
            if thread.appends == _APPENDS_MAX:
                self._open[place] = thread = Thread(next(self._ids))
                self.threads.append(thread)
            if self._random.random() < 0.5:
                await self._append(thread)
            else:
                await self._read(thread)

    async def _append(self, thread):
        thread.appends += 1
        operation = Operation(time.monotonic(), message=f"{thread.id}m{thread.appends}")
        thread.operations.append(operation)
        text = {"type": "text", "text": operation.message}
        message = {"message_id": operation.message, "role": "user", "content": [text]}
        if await self._answer(thread, "POST", {"messages": [message]}, (200,)):
            operation.ended = time.monotonic()

    async def _read(self, thread):
        operation = Operation(time.monotonic())
        # Before the first append there is no thread.
        reply = await self._answer(thread, "GET", None, (200, 404))
        if reply is None:
            return
        operation.ended = time.monotonic()
        found = reply.data["messages"] if reply.status == 200 else []
        operation.messages = [message["message_id"] for message in found]
        thread.operations.append(operation)

    async def _answer(self, thread, method, body, statuses):
        target = thread.path if method == "POST" else f"{thread.path}?limit=1000"
        try:
            reply = await fetch(self._port, method, target, body)
        except Broken:
            return None
        if reply.status in statuses:
            return reply
        assert reply.status in AGAIN, f"{method} {target}: {reply.status} {reply.body.decode()[:300]}"
        await asyncio.sleep(0.05)
        return None

    async def finish(self):
        """Reads each thread until it answers, so that every append is seen that had an effect."""
        for thread in self.threads:
            answered = sum(one.messages is not None for one in thread.operations)
            while sum(one.messages is not None for one in thread.operations) == answered:
                await self._read(thread)

    def check(self, book):
        for thread in self.threads:
            problems = faults(thread.operations)
            book.expect(LAW, not problems, f"{thread.path}: {'; '.join(problems[:3])}")


def faults(operations):
    """Returns what no order of the operations explains."""
    reads = [one for one in operations if one.messages is not None]
    appends = [one for one in operations if one.message]
    longest = max((read.messages for read in reads), key=len, default=[])
    places = {message: place for place, message in enumerate(longest)}
    found = []
    if len(places) != len(longest):
        found.append("a message is there twice")
    if strangers := set(longest) - {one.message for one in appends}:
        found.append(f"nobody has appended {sorted(strangers)[:3]}")
    found += [
        f"a read shows {read.messages[-3:]} at its end, and a longer one something else at this place"
        for read in reads
        if read.messages != longest[: len(read.messages)]
    ]

    def place_of(append):
        return places.get(append.message, math.inf)

    for earlier, later in itertools.permutations(reads, 2):
        if earlier.precedes(later) and len(earlier.messages) > len(later.messages):
            found.append(f"a later read shows {len(later.messages)} of {len(earlier.messages)} messages")
    for append, read in itertools.product(appends, reads):
        if append.precedes(read) and place_of(append) >= len(read.messages):
            found.append(f"{append.message} was acknowledged and a later read does not show it")
        if read.precedes(append) and place_of(append) < len(read.messages):
            found.append(f"a read shows {append.message} before it was sent")
    for earlier, later in itertools.permutations(appends, 2):
        if earlier.precedes(later) and place_of(earlier) > place_of(later):
            found.append(f"{later.message} comes before {earlier.message}, which had been acknowledged")
    return found
