#!/usr/bin/env python3
"""Memory of many idle WebSockets: right after they were opened, and after each has had a run.

Usage: bench/sockets.py BUILD_DIRECTORY [SOCKETS]   SOCKETS: 50,000

A process may have only so many descriptors, so there are as many workers and clients as the sockets need.
"""
import asyncio
import json
import multiprocessing
import os
import pathlib
import resource
import struct
import sys
import time

import results
from run import private_kib
from servers import BODY, Nginx, temporary_paths, user_directive, working_directory

AT_ONCE = 500
# Descriptors of the client besides its sockets, and of a worker.
SPARE = 512
PORTS_PER_ADDRESS = 20_000
PING, PONG, TEXT = 0x9, 0xA, 0x1
HANDSHAKE = (b"GET /plain/v1/graph/ws HTTP/1.1\r\nHost: bench\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
             b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")


class SocketNginx(Nginx):
    """Workers that have room for all sockets, also if their shares differ."""

    def __init__(self, build, directory, port, sockets, descriptors):
        self.build, self.directory, self.port = build, directory, port
        workers = max(2, -(-5 * sockets // (4 * (descriptors - SPARE))))
        (directory / "plain.json").write_text(json.dumps({"agent": f"{build}/bench/graph.so:app"}))
        (directory / "nginx.conf").write_text(f"""
{user_directive()}
load_module "{build}/ngx_http_agent_graph_module.so";
worker_processes {workers};
worker_rlimit_nofile {descriptors};
error_log {directory}/error.log notice;
pid {directory}/nginx.pid;
events {{ worker_connections {descriptors - SPARE}; }}
http {{
    access_log off;
    client_max_body_size 26m;
    # This client answers pings only while it waits for something else.
    agent_graph_ws_ping 30m;
{temporary_paths(directory)}
    agent_graph_service plain {directory}/plain.json state={directory}/state;
    server {{
        listen 127.0.0.1:{port} backlog=65535;
        location /plain/ {{ agent_graph plain; }}
        location /durable/ {{ agent_graph plain; }}
    }}
}}
""")


class Socket:
    async def open(self, port, number):
        source = (f"127.0.0.{2 + number // PORTS_PER_ADDRESS}", 0)
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port, local_addr=source,
                                                                 limit=16 * 1024)
        self.writer.write(HANDSHAKE)
        head = await self.reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 101"):
            raise SystemExit(f"a WebSocket was refused: {head}")

    def send(self, opcode, payload=b""):
        """A final frame whose mask is zero."""
        size = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + struct.pack(">H", len(payload))
        self.writer.write(bytes([0x80 | opcode]) + size + bytes(4) + payload)

    async def receive(self):
        first, size = await self.reader.readexactly(2)
        if size == 126:
            size = struct.unpack(">H", await self.reader.readexactly(2))[0]
        return first & 0xF, await self.reader.readexactly(size)

    async def answer(self):
        self.send(PING)
        while (await self.receive())[0] != PONG:
            pass

    async def run(self):
        self.send(TEXT, BODY.encode())
        while b'"status":"done"' not in (await self.receive())[1]:
            pass


async def for_all(sockets, act):
    for first in range(0, len(sockets), AT_ONCE):
        await asyncio.gather(*map(act, sockets[first:first + AT_ONCE]))


def serve_client(pipe, port, numbers):
    """Runs in a process of its own: opens sockets and executes the commands of Clients for all of them."""

    async def serve():
        sockets = {Socket(): number for number in numbers}
        acts = {"open": lambda one: one.open(port, sockets[one]), "run": Socket.run, "answer": Socket.answer}
        while (wanted := pipe.recv()) != "close":
            await for_all(list(sockets), acts[wanted])
            pipe.send("done")
        for one in sockets:
            one.writer.close()

    asyncio.run(serve())


class Clients:
    """Processes that have the sockets among them."""

    def __init__(self, port, count, descriptors):
        share = descriptors - SPARE
        self._clients = []
        for first in range(0, count, share):
            here, there = multiprocessing.Pipe()
            numbers = range(first, min(first + share, count))
            process = multiprocessing.Process(target=serve_client, args=(there, port, numbers), daemon=True)
            process.start()
            self._clients.append((process, here))

    def tell(self, wanted):
        for process, pipe in self._clients:
            pipe.send(wanted)
            while not pipe.poll(1):
                if not process.is_alive():
                    raise SystemExit(f"a client ended before it could {wanted}")
            pipe.recv()

    def close(self):
        for process, pipe in self._clients:
            pipe.send("close")
            process.join()


def measure(nginx, clients, count):
    before = private_kib(nginx.workers())
    start = time.monotonic()
    clients.tell("open")
    print(f"{count:,} WebSockets opened in {time.monotonic() - start:.1f} s", flush=True)
    idle = (private_kib(nginx.workers()) - before) / count
    results.note(f"private memory per idle WebSocket, {count:,} open", idle, "KiB", results.at_most(16))
    clients.tell("run")
    after = (private_kib(nginx.workers()) - before) / count
    results.note("the same after each has had a run", after, "KiB", results.at_most(16))
    clients.tell("answer")
    print(f"all {count:,} answer a ping", flush=True)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 50_000
    descriptors = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], count + 2 * SPARE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
    with working_directory() as directory:
        with SocketNginx(build, directory, 18700 + os.getpid() % 1000, count, descriptors) as nginx:
            clients = Clients(nginx.port, count, descriptors)
            measure(nginx, clients, count)
            clients.close()


if __name__ == "__main__":
    main()
