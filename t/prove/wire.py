"""A small asynchronous HTTP/1.1 client. Every reply is read completely or raises Broken."""

import asyncio
import json


# Answers to a request that may be sent again: the service is busy with its own recovery, or a balancer
# in front of it has lost the connection to its host.
AGAIN = (502, 503)


class Broken(Exception):
    """The connection broke before the reply was complete."""


class Reply:
    def __init__(self, status, headers, body=b""):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        return json.loads(self.body)

    @property
    def data(self):
        return self.json()["data"]


class Exchange:
    """One request on a connection of its own."""

    def __init__(self, port):
        self._port = port
        self._reader = self._writer = None
        self._chunked = False

    async def __aenter__(self):
        try:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError as error:
            raise Broken(str(error)) from error
        return self

    async def __aexit__(self, *_):
        self._writer.close()

    async def send(self, method, target, body=None, headers=()):
        data = b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {target} HTTP/1.1", "Host: localhost", f"Content-Length: {len(data)}"]
        lines += ["Content-Type: application/json", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers]
        self._writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)

    async def head(self):
        try:
            text = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except (OSError, asyncio.IncompleteReadError) as error:
            raise Broken(str(error)) from error
        first, *rest = text[:-4].split("\r\n")
        headers = {}
        for line in rest:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        self._chunked = headers.get("transfer-encoding", "").lower() == "chunked"
        return Reply(int(first.split(" ")[1]), headers)

    async def pieces(self, reply):
        """Yields the body as it arrives."""
        try:
            if reply.status == 204:
                return
            if not self._chunked:
                yield await self._reader.readexactly(int(reply.headers["content-length"]))
                return
            while True:
                size = int(await self._reader.readuntil(b"\r\n"), 16)
                data = await self._reader.readexactly(size + 2)
                if size == 0:
                    return
                yield data[:-2]
        except (OSError, asyncio.IncompleteReadError) as error:
            raise Broken(str(error)) from error


async def fetch(port, method, target, body=None, headers=()):
    async with Exchange(port) as exchange:
        await exchange.send(method, target, body, headers)
        reply = await exchange.head()
        async for piece in exchange.pieces(reply):
            reply.body += piece
        return reply


async def fetch_surely(port, method, target, body=None, headers=(), accept=(200,)):
    """Repeats the request until a worker answers with one of these statuses."""
    while True:
        try:
            reply = await fetch(port, method, target, body, headers)
        except Broken:
            await asyncio.sleep(0.02)
            continue
        if reply.status in accept:
            return reply
        if reply.status not in AGAIN:
            raise AssertionError(f"{method} {target}: {reply.status} {reply.body.decode()[:300]}")
        await asyncio.sleep(0.05)
