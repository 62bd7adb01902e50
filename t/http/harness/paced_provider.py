"""A chat-completions provider that streams words, with thoughts before them, at a steady pace, as a
model does."""

import asyncio

from .gated_provider import GatedProvider


class PacedProvider(GatedProvider):
    """Streams each of `thoughts` as reasoning and then each of `words`, `pause` seconds apart."""

    def __init__(self, words, thoughts=(), pause=0.005):
        self._pause = pause
        self._pieces = [{"reasoning_content": thought} for thought in thoughts]
        self._pieces += [{"content": word} for word in words]
        super().__init__(words=words, before_gate=None)

    async def _answer(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        await reader.readexactly(int(head.partition("content-length:")[2].split()[0]))
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        for piece in self._pieces:
            await asyncio.sleep(self._pause)
            await self._send_delta(writer, piece)
        await self._finish(writer)
