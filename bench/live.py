#!/usr/bin/env python3
"""Overhead of the module in voice sessions, and the number of sessions that a worker can serve.

A provider that echoes audio is reached through the module (one worker) and directly, alternating
within the same seconds, so that both see the same load of the machine. Packets carry the times at
which the client sent them and the provider received and returned them, so that each direction is
measured separately.

1. added latency in each direction, with few sessions
2. CPU time of the worker in real time, with 100 ms of audio every 100 ms
3. memory of open sessions, and the refusal of sessions above the worker's limit

Usage: bench/live.py BUILD_DIRECTORY [SESSIONS [SECONDS [CAP]]]
"""
import asyncio
import base64
import json
import os
import pathlib
import resource
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.request

import websockets

import results
from servers import working_directory

INTERVAL = 0.1
FRAME_BYTES = 3200
TIMES = struct.Struct("<ddd")  # times: sent by the client, received and returned by the provider
SERVICE = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
LATENCY_SESSIONS = 4
REFUSED = 5  # sessions tried above the limit


async def provide(connection):
    """The part of Gemini's protocol that an echo needs."""
    async for text in connection:
        received = time.monotonic()
        message = json.loads(text)
        if "setup" in message:
            await connection.send('{"setupComplete":{}}')
        elif "audioStreamEnd" in message.get("realtimeInput", {}):
            await connection.send('{"serverContent":{"turnComplete":true}}')
        elif "audio" in message.get("realtimeInput", {}):
            pcm = base64.b64decode(message["realtimeInput"]["audio"]["data"])
            sent, _, _ = TIMES.unpack_from(pcm)
            stamped = TIMES.pack(sent, received, time.monotonic()) + pcm[TIMES.size :]
            data = base64.b64encode(stamped).decode()
            await connection.send(
                '{"serverContent":{"modelTurn":{"parts":[{"inlineData":'
                '{"mimeType":"audio/pcm;rate=24000","data":"' + data + '"}}]}}}'
            )


class Through:
    """A session through the module."""

    def __init__(self, port):
        self.url, self.first = f"ws://127.0.0.1:{port}/v1/graph/live", "{}"

    def wrap(self, pcm):
        return pcm

    def unwrap(self, message):
        return message if isinstance(message, bytes) else None


class Direct:
    """The same audio sent to the provider directly."""

    def __init__(self, port):
        self.url, self.first = f"ws://127.0.0.1:{port}{SERVICE}", '{"setup":{}}'

    def wrap(self, pcm):
        data = base64.b64encode(pcm).decode()
        return '{"realtimeInput":{"audio":{"mimeType":"audio/pcm;rate=16000","data":"' + data + '"}}}'

    def unwrap(self, message):
        content = json.loads(message).get("serverContent")
        return content and base64.b64decode(content["modelTurn"]["parts"][0]["inlineData"]["data"])


async def converse(way, seconds, delay, interval=INTERVAL):
    """Runs one session; returns the seconds that each packet took in each direction."""
    await asyncio.sleep(delay)
    trips = []
    async with websockets.connect(way.url, max_queue=None, ping_interval=None) as connection:
        await connection.send(way.first)

        async def listen():
            async for message in connection:
                now = time.monotonic()
                if pcm := way.unwrap(message):
                    sent, received, returned = TIMES.unpack_from(pcm)
                    trips.append((received - sent, now - returned))

        listener = asyncio.create_task(listen())
        start = time.monotonic()
        for count in range(int(seconds / interval)):
            rest = b"\1" * (FRAME_BYTES - TIMES.size)
            await connection.send(way.wrap(TIMES.pack(time.monotonic(), 0, 0) + rest))
            await asyncio.sleep(max(0, start + (count + 1) * interval - time.monotonic()))
        await asyncio.sleep(0.5)
        listener.cancel()
    return trips[int(1 / interval) :]  # connections are opened in the first second


async def measure_latency(through, direct, seconds):
    """Runs sessions of both kinds side by side; packets are never sent at the same time."""
    step = INTERVAL / (2 * LATENCY_SESSIONS)
    runs = []
    for i in range(LATENCY_SESSIONS):
        runs.append(converse(through, seconds, 2 * i * step))
        runs.append(converse(direct, seconds, (2 * i + 1) * step))
    trips = await asyncio.gather(*runs)
    ours, theirs = sum(trips[::2], []), sum(trips[1::2], [])
    for index, name in enumerate(("client to provider", "provider to client")):
        one, other = (sorted(trip[index] for trip in side) for side in (ours, theirs))
        for label, share in (("p50", 0.5), ("p99", 0.99)):
            a, b = percentile(one, share), percentile(other, share)
            results.note(f"added to audio, {name}, {label}", a - b, "ms",
                         results.at_most(5) if label == "p99" else results.NONE)


async def measure_cpu(through, sessions, seconds, worker):
    before = cpu_seconds(worker)
    runs = [converse(through, seconds, i * INTERVAL / sessions) for i in range(sessions)]
    trips = sum(await asyncio.gather(*runs), [])
    used = cpu_seconds(worker) - before
    expected = sessions * (int(seconds / INTERVAL) - int(1 / INTERVAL))
    print(f"{sessions} sessions, {seconds:g} s at the rate of real time: {len(trips)} of {expected} packets "
          "came back")
    results.note("realtime sessions that one core carries", sessions * seconds / used, "",
                 results.at_least(1000))


async def measure_memory(through, cap, worker):
    """Opens sessions until the worker refuses; each sends audio once and is idle after that."""
    before = private_bytes(worker)
    opened, refused = [], []
    for _ in range(cap + REFUSED):
        connection = await websockets.connect(through.url, max_queue=None, ping_interval=None)
        await connection.send(through.first)
        await connection.send(TIMES.pack(time.monotonic(), 0, 0) + bytes(FRAME_BYTES - TIMES.size))
        answer = await asyncio.wait_for(connection.recv(), 30)
        if isinstance(answer, bytes):
            opened.append(connection)
            continue
        await connection.wait_closed()
        refused.append((json.loads(answer)["code"], connection.close_code))
    each = (private_bytes(worker) - before) / len(opened)
    print(f"{len(opened)} sessions open on one worker, {len(refused)} beyond the cap were told {set(refused)}")
    results.note("private memory per open realtime session", each / 1024, "KiB")
    await asyncio.gather(*(connection.close() for connection in opened))


def percentile(values, share):
    return values[min(len(values) - 1, int(share * len(values)))] * 1000


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def private_bytes(pid):
    rows = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(row.split()[1]) * 1024 for row in rows if row.startswith("Private_Dirty:"))


def write_configuration(directory, build, port, provider_port, cap):
    user = "user root;" if os.getuid() == 0 else ""
    (directory / "live.json").write_text(json.dumps({"app": {
        "nodes": [{"name": "VOICE", "type": "live_agent"}],
        "edges": [{"from": "START", "to": "VOICE"}]}}))
    (directory / "service.json").write_text(json.dumps({
        "agent": "live.json:app",
        "limits": {"live_sessions_max": cap},
        "models": {"default": {"provider": "gemini", "model": "bench", "api_key": "none",
                               "base_url": f"http://127.0.0.1:{provider_port}/v1beta"}}}))
    paths = "".join(f"{name}_temp_path {directory}/{name};"
                    for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (directory / "nginx.conf").write_text(f"""
{user} load_module "{build}/ngx_http_agent_graph_module.so";
worker_processes 1; worker_rlimit_nofile 32768;
error_log {directory}/error.log notice; pid {directory}/nginx.pid;
events {{ worker_connections 8192; }}
http {{
    access_log off; client_max_body_size 26m; {paths}
    agent_graph_service live {directory}/service.json threads=1 state={directory}/state;
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{ agent_graph live; }}
        location = /status {{ agent_graph_status format=json; }}
    }}
}}
""")


def reserve_port():
    """Returns a socket that reserves its port for nginx while it is open."""
    reservation = socket.socket()
    reservation.bind(("127.0.0.1", 0))
    reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return reservation


async def wait_for_worker(nginx, port):
    deadline = time.monotonic() + 60
    while True:
        found = subprocess.run(["pgrep", "-P", str(nginx.pid), "-f", "worker process"],
                               capture_output=True, text=True, check=False).stdout.split()
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            if found:
                return int(found[0])
        except OSError:
            pass
        if time.monotonic() > deadline:
            sys.exit("nginx does not start")
        await asyncio.sleep(0.1)


async def wait_for_no_sessions(port):
    """Sessions whose clients have gone go on for a moment: they have memory and count for the limit."""
    deadline = time.monotonic() + 60
    while True:
        with await asyncio.to_thread(urllib.request.urlopen, f"http://127.0.0.1:{port}/status") as reply:
            if not json.load(reply)["services"][0]["live_sessions"]:
                return
        if time.monotonic() > deadline:
            sys.exit("sessions do not end")
        await asyncio.sleep(0.1)


async def run(build, directory, sessions, seconds, cap):
    # A separate process, so that it does not share an interpreter with the clients.
    provider = subprocess.Popen([sys.executable, __file__, "--provider"], stdout=subprocess.PIPE)
    provider_port, reservation = int(provider.stdout.readline()), reserve_port()
    port = reservation.getsockname()[1]
    write_configuration(directory, build, port, provider_port, cap)
    nginx = subprocess.Popen(["nginx", "-p", directory, "-c", directory / "nginx.conf",
                              "-g", "daemon off;"])
    try:
        worker = await wait_for_worker(nginx, port)
        through = Through(port)
        await measure_latency(through, Direct(provider_port), seconds)
        await measure_cpu(through, sessions, seconds, worker)
        await wait_for_no_sessions(port)
        await measure_memory(through, cap, worker)
    finally:
        nginx.send_signal(signal.SIGTERM)
        nginx.wait(60)
        reservation.close()
        provider.kill()


async def serve():
    raise_descriptor_limit()
    async with websockets.serve(provide, "127.0.0.1", 0, max_queue=None, ping_interval=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.Future()


def raise_descriptor_limit():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def main():
    if sys.argv[1] == "--provider":
        return asyncio.run(serve())
    raise_descriptor_limit()
    build = pathlib.Path(sys.argv[1]).resolve()
    sessions = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 10
    cap = int(sys.argv[4]) if len(sys.argv) > 4 else 1000
    with working_directory() as directory:
        asyncio.run(run(build, directory, sessions, seconds, cap))


if __name__ == "__main__":
    main()
