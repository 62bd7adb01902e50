"""A proxy to Redis that delays all data. It is a separate process, so that the tests' own work does
not delay it further."""

import asyncio
import subprocess
import sys


class SlowLink:
    def __init__(self, redis, seconds):
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(redis.port), str(seconds)], stdout=subprocess.PIPE, text=True
        )
        self.port = int(self._process.stdout.readline())

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}?timeout_ms=60000"

    def stop(self):
        self._process.kill()
        self._process.communicate()


async def _carry(reader, writer, seconds):
    try:
        while piece := await reader.read(65536):
            await asyncio.sleep(seconds)
            writer.write(piece)
            await writer.drain()
    except ConnectionError:
        pass
    writer.close()


async def _serve(target, seconds):
    async def connect(reader, writer):
        there = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(_carry(reader, there[1], seconds), _carry(there[0], writer, 0))

    server = await asyncio.start_server(connect, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), float(sys.argv[2])))
