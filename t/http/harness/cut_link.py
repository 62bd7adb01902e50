"""A network between clients and a server that a test can cut."""

import asyncio
import threading


class CutLink:
    """Passes connections to 127.0.0.1:`target` on, until they are cut."""

    def __init__(self, target):
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._transports = set()
        self._down = False
        self._lost = None
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        started.wait()

    def cut(self):
        """Resets all connections. Later ones work, unless the link is down."""
        cut = threading.Event()
        self._loop.call_soon_threadsafe(self._cut, cut)
        cut.wait()

    def go_down(self):
        """Resets all connections, and later ones until go_up()."""
        self._down = True
        self.cut()

    def go_up(self):
        self._down = False

    def lose_a_reply(self):
        """Passes the next request on, and resets its connection when the reply comes. Returns an
        event that is set then."""
        self._lost = threading.Event()
        return self._lost

    def close(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _cut(self, done):
        for transport in list(self._transports):
            transport.abort()
        done.set()

    def _run(self, started):
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._connect, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))

    async def _connect(self, reader, writer):
        if self._down:
            writer.transport.abort()
            return
        try:
            there = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        ends = {writer.transport, there[1].transport}
        self._transports |= ends
        await asyncio.gather(self._carry(reader, there[1]), self._carry(there[0], writer, losing=True))
        self._transports -= ends

    async def _carry(self, reader, writer, losing=False):
        try:
            while piece := await reader.read(65536):
                if losing and self._lost is not None:
                    lost, self._lost = self._lost, None
                    writer.transport.abort()
                    lost.set()
                    return
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            pass
        writer.close()
