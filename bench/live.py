#!/usr/bin/env python3
"""What the module adds to a spoken conversation: sessions at the rate of real time.

Each session sends 100 ms of sound every 100 ms to a provider that sends it back, through the module
(one worker) and then without it. The difference of the round trips is what the module adds, both
ways together; the CPU time of the worker says how many sessions one core carries.
Usage: bench/live.py BUILD_DIRECTORY [SESSIONS [SECONDS]]
"""
import asyncio
import base64
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time

import websockets

INTERVAL = 0.1
FRAME_BYTES = 3200
SERVICE = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"


async def provide(socket):
    """Gemini's protocol, as far as an echo needs it."""
    async for text in socket:
        message = json.loads(text)
        if "setup" in message:
            await socket.send('{"setupComplete":{}}')
        elif "audio" in message.get("realtimeInput", {}):
            data = message["realtimeInput"]["audio"]["data"]
            await socket.send(
                '{"serverContent":{"modelTurn":{"parts":[{"inlineData":'
                '{"mimeType":"audio/pcm;rate=24000","data":"' + data + '"}}]}}}'
            )


def packet():
    return struct.pack("<d", time.monotonic()) + b"\1" * (FRAME_BYTES - 8)


def encode(pcm):
    data = base64.b64encode(pcm).decode()
    return '{"realtimeInput":{"audio":{"mimeType":"audio/pcm;rate=16000","data":"' + data + '"}}}'


def decode(text):
    content = json.loads(text).get("serverContent")
    return content and base64.b64decode(content["modelTurn"]["parts"][0]["inlineData"]["data"])


async def converse(url, first, wrap, unwrap, seconds, delay):
    """One session; returns the round trips in seconds."""
    await asyncio.sleep(delay)
    trips = []
    async with websockets.connect(url, max_queue=None, ping_interval=None) as socket:
        await socket.send(first)

        async def listen():
            async for message in socket:
                pcm = unwrap(message)
                if pcm:
                    trips.append(time.monotonic() - struct.unpack("<d", pcm[:8])[0])

        listener = asyncio.create_task(listen())
        start = time.monotonic()
        for count in range(int(seconds / INTERVAL)):
            await socket.send(wrap(packet()))
            await asyncio.sleep(max(0, start + (count + 1) * INTERVAL - time.monotonic()))
        await asyncio.sleep(0.5)
        listener.cancel()
    return trips


async def measure(url, first, wrap, unwrap, sessions, seconds):
    """The round trips of all sessions; those of the first second, in which they open, are left out."""
    runs = [
        converse(url, first, wrap, unwrap, seconds, i * INTERVAL * 10 / sessions)
        for i in range(sessions)
    ]
    trips = []
    for one in await asyncio.gather(*runs):
        trips += one[10:]
    return sorted(trips)


def percentile(values, share):
    return values[min(len(values) - 1, int(share * len(values)))] * 1000


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def write_configuration(directory, build, port, provider_port):
    user = "user root;" if os.getuid() == 0 else ""
    (directory / "live.json").write_text(json.dumps({"app": {
        "nodes": [{"name": "VOICE", "type": "live_agent"}],
        "edges": [{"from": "START", "to": "VOICE"}]}}))
    (directory / "service.json").write_text(json.dumps({
        "agent": "live.json:app",
        "limits": {"live_sessions_max": 8000},
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
    server {{ listen 127.0.0.1:{port}; location / {{ agent_graph live; }} }}
}}
""")


async def run(build, directory, sessions, seconds):
    # In a process of its own, or it would compete with the clients for one interpreter.
    provider = subprocess.Popen([sys.executable, __file__, "--provider"], stdout=subprocess.PIPE)
    provider_port = int(provider.stdout.readline())
    port = provider_port + 1
    write_configuration(directory, build, port, provider_port)
    nginx = subprocess.Popen(["nginx", "-p", directory, "-c", directory / "nginx.conf",
                              "-g", "daemon off;"])
    try:
        await asyncio.sleep(3)
        (worker,) = subprocess.run(["pgrep", "-P", str(nginx.pid), "-f", "worker process"],
                                   capture_output=True, text=True, check=True).stdout.split()
        direct = await measure(f"ws://127.0.0.1:{provider_port}{SERVICE}", '{"setup":{}}', encode,
                               decode, sessions, seconds)
        before = cpu_seconds(worker)
        through = await measure(f"ws://127.0.0.1:{port}/v1/graph/live", "{}", lambda pcm: pcm,
                                lambda pcm: pcm if isinstance(pcm, bytes) else None, sessions,
                                seconds)
        used = cpu_seconds(worker) - before
    finally:
        nginx.send_signal(signal.SIGTERM)
        nginx.wait(20)
        provider.kill()
    expected = sessions * (int(seconds / INTERVAL) - 10)
    print(f"{sessions} sessions, {seconds:g} s, {len(through)} of {expected} packets came back")
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        ours, theirs = percentile(through, share), percentile(direct, share)
        print(f"round trip {name}: {ours:.2f} ms through the module, {theirs:.2f} ms without, "
              f"added {ours - theirs:.2f} ms")
    print(f"CPU: {used / seconds / sessions * 1000:.3f} ms per session and second; one core carries "
          f"{sessions * seconds / used:.0f} sessions")


async def serve():
    async with websockets.serve(provide, "127.0.0.1", 0, max_queue=None, ping_interval=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.Future()


def main():
    if sys.argv[1] == "--provider":
        return asyncio.run(serve())
    build = pathlib.Path(sys.argv[1]).resolve()
    sessions = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 10
    with tempfile.TemporaryDirectory(prefix="agent-graph-bench-") as name:
        directory = pathlib.Path(name)
        directory.chmod(0o755)
        asyncio.run(run(build, directory, sessions, seconds))


if __name__ == "__main__":
    main()
