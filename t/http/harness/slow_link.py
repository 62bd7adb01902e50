"""A TCP link to a Redis of this machine on which each piece of a request takes its time."""

import asyncio
import threading


class SlowLink:
    def __init__(self, redis, seconds):
        self._target, self._seconds = redis.port, seconds
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(30)

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def _run(self):
        asyncio.set_event_loop(self._loop)
        listening = asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        self._server = self._loop.run_until_complete(listening)
        self.port = self._server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))

    async def _serve(self, reader, writer):
        there = await asyncio.open_connection("127.0.0.1", self._target)
        await asyncio.gather(
            self._carry(reader, there[1], self._seconds), self._carry(there[0], writer, 0)
        )

    @staticmethod
    async def _carry(reader, writer, seconds):
        try:
            while piece := await reader.read(65536):
                await asyncio.sleep(seconds)
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            pass
        writer.close()

    def stop(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
