"""A chat-completions provider whose streams stop halfway until the test lets them continue, so that
a test can have exactly N streams in flight without relying on time."""

import asyncio
import json
import socket
import threading

from .ports import free_port
from .waiting import wait_until


def _chunk(delta, finish_reason=None):
    return {
        "id": "chatcmpl-gated",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "gated",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
    }


def _event(chunk):
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


class GatedProvider:
    """Streams `words`, one per chunk, and waits at the gate after the first `before_gate` of them
    (None: never). `send_buffer` limits how much of a blocked stream the kernel accepts."""

    def __init__(self, words=("one ", "two ", "three "), before_gate=1, send_buffer=None):
        self._words = words
        self._before_gate = before_gate
        self._send_buffer = send_buffer
        self._loop = asyncio.new_event_loop()
        self._gate = asyncio.Event()
        self._lock = threading.Lock()
        self._waiting = 0
        self._aborted = 0
        self._finished = 0
        self._sent_bytes = 0
        self._open_connections = 0
        self._connections = 0
        self.port = free_port()
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        started.wait()

    @property
    def base_url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def text(self):
        return "".join(self._words)

    # Counters for tests

    @property
    def waiting(self):
        with self._lock:
            return self._waiting

    @property
    def aborted(self):
        with self._lock:
            return self._aborted

    @property
    def finished(self):
        with self._lock:
            return self._finished

    @property
    def sent_bytes(self):
        with self._lock:
            return self._sent_bytes

    @property
    def open_connections(self):
        with self._lock:
            return self._open_connections

    @property
    def connections(self):
        """The number of connections so far, open or not."""
        with self._lock:
            return self._connections

    def wait_for_waiting(self, count):
        wait_until(lambda: self.waiting >= count, f"{count} streams wait at the gate")

    def open_gate(self):
        self._loop.call_soon_threadsafe(self._gate.set)

    def close_gate(self):
        self._loop.call_soon_threadsafe(self._gate.clear)

    def close(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # The server

    def _run(self, started):
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", self.port, backlog=4096)
        )
        if self._send_buffer:
            server.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._send_buffer)
        started.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))

    def _count(self, name, amount):
        with self._lock:
            setattr(self, name, getattr(self, name) + amount)

    async def _serve(self, reader, writer):
        self._count("_connections", 1)
        self._count("_open_connections", 1)
        try:
            while True:
                await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._count("_open_connections", -1)
            writer.close()

    async def _answer(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = 0
        for line in head.split("\r\n")[1:]:
            name, _, value = line.partition(":")
            if name.lower() == "content-length":
                length = int(value)
        await reader.readexactly(length)
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        for index, word in enumerate(self._words):
            if index == self._before_gate:
                await self._wait_at_gate(reader)
            await self._send_delta(writer, {"content": word})
        await self._finish(writer)

    async def _finish(self, writer):
        """Counts the stream before its end is sent, so that whoever has seen the end finds it counted. The
        end is one write: a client that has read [DONE] waits only a moment for the end of the body."""
        self._count("_finished", 1)
        end = _event(_chunk({}, "stop")) + b"data: [DONE]\n\n"
        self._count("_sent_bytes", len(end))
        writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(end), end))
        await writer.drain()

    async def _wait_at_gate(self, reader):
        """Returns when the gate opens; raises if the client disconnects before that. If both are noticed at
        once, the client has disconnected: tests open the gate after they have killed it."""
        self._count("_waiting", 1)
        opened = asyncio.ensure_future(self._gate.wait())
        gone = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait([opened, gone], return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                self._count("_aborted", 1)
                raise ConnectionResetError
        finally:
            self._count("_waiting", -1)
            for future in (opened, gone):
                future.cancel()
            # A cancelled read blocks the reader until it has ended.
            await asyncio.gather(opened, gone, return_exceptions=True)

    async def _send_delta(self, writer, delta):
        data = _event(_chunk(delta))
        writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await writer.drain()
        self._count("_sent_bytes", len(data))
