"""Clients: each starts runs, reads them to their end in spite of all faults, and passes what it has
received to the checks of laws.py."""

import asyncio
import json

from wire import AGAIN, Broken, Exchange, fetch_surely

import laws

KINDS = ("tools", "numbered", "text", "ask", "remote")
_STANDSTILL_SECONDS = 240  # without an event or another attempt of the run
_GUILTY_SHARE = 0.01  # of runs that end their workers


class Seen:
    """The events of a run that a client has received, over all of its connections."""

    def __init__(self):
        self.cursors = []
        self.messages = {}
        self.order = []
        self.deltas = {}
        self.resets = 0
        self.connections = 0
        self.done = []
        self.twice = []
        # For a person who looks for the cause of a violation: what was received, and the
        # connections, each with the cursor that it began with and its number of events.
        self.blocks = []
        self.history = []

    @property
    def last_cursor(self):
        return self.cursors[-1] if self.cursors else None

    def connected(self, name):
        self.connections += 1
        self.history.append([name, self.last_cursor, 0])
        self.blocks.append(f"({name})")

    def take(self, block):
        """One event of the stream."""
        self.blocks.append(block)
        if self.history:
            self.history[-1][2] += 1
        if block.startswith(":"):
            return
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        if fields.get("id"):
            self.cursors.append(fields["id"])
        chunk = json.loads(fields["data"])
        data, message = chunk.get("data") or {}, chunk.get("message")
        if data.get("status") == "retrying":
            self.resets += 1
            # Pieces of messages that have not come whole belong to an attempt that is over.
            self.deltas = {id: text for id, text in self.deltas.items() if id in self.messages}
        elif data.get("status") == "done":
            self.done.append(data)
        elif message and message["delta"]:
            id = message["message_id"]
            self.deltas[id] = self.deltas.get(id, "") + laws.text_of(message)
        elif message:
            id = message["message_id"]
            if id in self.messages:
                self.twice.append(id)
            self.messages[id] = message
            self.order.append(id)


class Run:
    def __init__(self, instance, number, kind, thread_id, pace):
        self.instance = instance
        self.tag = f"{instance.name}r{number}"
        self.kind = kind
        self.thread_id = thread_id
        self.run_id = self.tag
        self.pace = pace
        self.seen = Seen()
        self.resumed = None  # the run that continued this one after its pause
        self.poisoned = False  # it ended in the middle, and its thread lacks steps
        self.turn = 1  # of its thread

    @property
    def path(self):
        return f"/v1/threads/{self.thread_id}/runs/{self.run_id}"

    @property
    def text(self):
        return f"run={self.tag} kind={self.kind} pace={self.pace}"

    @property
    def events(self):
        """How many its clients have received, also of the run that resumed it."""
        return self.seen.resets + len(self.seen.cursors) + (self.resumed.events if self.resumed else 0)

    @property
    def question(self):
        return {"role": "user", "content": [{"type": "text", "text": self.text}]}

    def body(self, messages):
        return {"messages": messages,
                "config": {"thread_id": self.thread_id, "run_id": self.run_id}}


class Customer:
    def __init__(self, instance, number, chance, book):
        self._instance = instance
        self._number = number
        self._chance = chance
        self._book = book
        self._runs = 0
        self._epochs = {}  # the latest by thread

    async def work(self, stopping):
        """Starts one run after the other, and changes to a new thread from time to time."""
        thread = turns = 0
        sound = True
        while sound and not stopping.is_set():
            self._runs += 1
            number = f"{self._number}n{self._runs}"
            if self._instance.has_functions and self._chance.random() < _GUILTY_SHARE:
                run = Run(self._instance, number, "poison", f"c{self._number}p{self._runs}", 0.001)
                sound = await self._watch(run, self._live_guilty(run))
                continue
            if self._chance.random() < 0.3:
                thread, turns = thread + 1, 0
            turns += 1
            kind = self._chance.choice(KINDS)
            # Some runs are slow enough that a reload has to hand them over.
            pace = 0.35 if self._chance.random() < 0.04 else self._chance.choice(self._instance.paces)
            run = Run(self._instance, number, kind, f"c{self._number}t{thread}", pace)
            run.turn = turns
            sound = await self._watch(run, self._live(run))
            if run.poisoned:
                thread, turns = thread + 1, 0

    async def _watch(self, run, life):
        """A slow run may lose its worker again and again, so it may take any time. After the end of
        the faults each run must end."""
        self._book.begun(run)
        living = asyncio.ensure_future(life)
        before = None
        try:
            while not (await asyncio.wait({living}, timeout=_STANDSTILL_SECONDS))[0]:
                now = await self._progress(run)
                if now == before:
                    self._book.violate("3 every accepted run ends", f"{run.path} ({run.kind}) did not")
                    return False
                before = now
            await living
            return True
        except AssertionError as failure:
            self._book.violate("3 every accepted run ends", f"{run.path}: {failure}")
            return False
        finally:
            living.cancel()

    async def _progress(self, run):
        """A value that changes as long as the run is not stuck. The number of events is not enough, because
        a node may be attempted several times without an event."""
        latest = run.resumed or run
        record = (await fetch_surely(self._instance.port, "GET", latest.path)).data
        return run.events, latest.run_id, record["attempt"]

    async def _live_guilty(self, run):
        """Each attempt of the run ends its worker, until the run is given up. Readers get its end."""
        await self._start(run, [run.question])
        await self._read(run)
        record = (await fetch_surely(self._instance.port, "GET", run.path)).data
        crashes = self._instance.crashes_in_function[run.run_id]
        laws.check_guilty(self._book, run, record, crashes)

    async def _live(self, run):
        await self._start(run, [run.question])
        await self._read(run)
        last = run
        if run.seen.done[0].get("outcome") == "interrupted":
            last = await self._resume(run)
        for one in (run, last):
            self._check_epochs(one)
        await laws.check(self._book, run, last)

    def _check_epochs(self, run):
        """Each attempt has an epoch of its own, so a later run has a later one."""
        epochs = [laws.epoch_of(cursor) for cursor in run.seen.cursors]
        before = self._epochs.get(run.thread_id, (-1, run.run_id))
        if epochs:
            self._book.expect(laws.LAWS[3], before[1] == run.run_id or min(epochs) > before[0],
                              f"{run.path} has an epoch of {before[1]}")
            self._epochs[run.thread_id] = (max(epochs), run.run_id)

    async def _resume(self, run):
        """A client answers the question, or executes the tool, in a new run."""
        second = Run(self._instance, run.tag[len(self._instance.name) + 1:] + "x", run.kind,
                     run.thread_id, run.pace)
        run.resumed = second
        if run.kind == "ask":
            text = f"yes, run={second.tag} kind=text pace={run.pace}"
            answer = {"role": "user", "content": [{"type": "text", "text": text}]}
        else:
            call = {"type": "tool_result", "call_id": f"call.{run.tag}.q", "output": {"it": "is"},
                    "status": "completed"}
            answer = {"role": "tool", "message_id": "0", "content": [call]}
        self._book.begun(second)
        if run.kind == "remote":
            self._book.world.executing[run.tag] = second.run_id
        await self._start(second, [answer])
        await self._read(second)
        return second

    # Starting

    async def _start(self, run, messages):
        self._book.world.near_functions.add(run.run_id)
        headers = [("Idempotency-Key", run.run_id)]
        body = run.body(messages)
        if self._chance.random() < 0.3 and await self._stream(run, body, headers):
            return
        route = "/v1/graph/runs"
        reply = await fetch_surely(self._instance.port, "POST", route, body, headers, (202, 200))
        await self._instance.point("accepted", None)
        self._book.accepted(run, reply.data["run_id"])
        if self._chance.random() < 0.2:
            # Repeats the request like a client that has lost the reply.
            again = await fetch_surely(self._instance.port, "POST", route, body, headers, (202, 200))
            self._book.accepted(run, again.data["run_id"])

    async def _stream(self, run, body, headers):
        """Begins the run with its own stream. Returns false if it is not known whether it began.
        The route is another one, so that a repetition belongs to it, too."""
        for _ in range(3):
            try:
                async with Exchange(self._instance.port) as exchange:
                    await exchange.send("POST", "/v1/graph/stream?framing=sse", body, headers)
                    reply = await exchange.head()
                    if reply.status in AGAIN:
                        continue
                    assert reply.status == 200, f"{reply.status} for a stream"
                    run.seen.connected("POST")
                    await self._take(run, exchange, reply)
                    return True
            except Broken:
                if run.seen.connections:
                    return True
                await asyncio.sleep(0.03)
        while not run.seen.connections:
            reply = await fetch_surely(self._instance.port, "POST", "/v1/graph/stream?framing=sse",
                                       body, headers)
            run.seen.connected("POST, not read")
        return True

    # Reading

    async def _read(self, run):
        """Reads on, from any worker, until `done`."""
        while not run.seen.done:
            headers = [("Last-Event-ID", run.seen.last_cursor)] if run.seen.last_cursor else []
            try:
                async with Exchange(self._instance.port) as exchange:
                    await exchange.send("GET", run.path + "/stream", headers=headers)
                    reply = await exchange.head()
                    if reply.status in AGAIN:
                        await asyncio.sleep(0.05)
                        continue
                    if reply.status == 204:
                        self._book.violate("2 a stream is a view of the log",
                                           f"{run.path}: 204 for a reader that has no `done`")
                        return
                    assert reply.status == 200, f"{reply.status} for {run.path}/stream"
                    run.seen.connected("GET")
                    await self._take(run, exchange, reply)
            except Broken:
                await asyncio.sleep(0.01)

    async def _take(self, run, exchange, reply):
        rest = b""
        # Some clients leave in the middle.
        left = self._chance.randrange(2, 12) if self._chance.random() < 0.2 else None
        async for piece in exchange.pieces(reply):
            *blocks, rest = (rest + piece).split(b"\n\n")
            for block in blocks:
                run.seen.take(block.decode())
                await self._instance.point("entry read", None)
                if left is not None:
                    left -= 1
                    if left == 0:
                        return
        assert run.seen.done or not rest, "a stream ended within an event"
