#!/usr/bin/env python3
"""Streams of a model provider with TLS, over HTTP/2 and over HTTP/1.1: private memory per open stream,
connections to the provider, and CPU time of a stream of 200 tokens. The provider is an nginx with a
certificate of its own. Each memory is that of workers that have served nothing before.
Usage: bench/tls_provider.py BUILD_DIRECTORY [STREAMS]
"""
import asyncio
import json
import os
import pathlib
import subprocess
import sys

import results
from results import at_most
from run import in_turns, memory_of_open_streams, wrk
from servers import BODY, TOKENS, Nginx, Provider, canned_reply, connections_to, module_head, working_directory


def make_certificate(directory):
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-days", "2", "-subj", "/CN=bench", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    certificate.chmod(0o644)
    return certificate, key


class TlsProvider(Provider):
    """Offers HTTP/2 at one port, and only HTTP/1.1 at the next."""

    def __init__(self, directory, port, certificate, key):
        self.port = port
        super().__init__(
            directory, port, *canned_reply(),
            listen=f"listen 127.0.0.1:{port} ssl http2; listen 127.0.0.1:{port + 1} ssl;",
            http=f"http2_max_concurrent_streams 1000; ssl_certificate {certificate}; ssl_certificate_key {key};")

    def connections(self):
        """The number of connections to each of the two ports."""
        return {port: connections_to(port) for port in (self.port, self.port + 1)}


class Service(Nginx):
    """nginx with the module and one service for each protocol and pace."""

    def __init__(self, build, directory, port, provider, certificate):
        self.build, self.directory, self.port = build, directory, port
        directory.mkdir()
        directory.chmod(0o755)
        (directory / "variables").write_text(f"CURL_CA_BUNDLE={certificate}\n")
        (directory / "agent.json").write_text(json.dumps({"app": {
            "nodes": [{"name": "MAIN", "type": "agent", "model": "default"}],
            "edges": [{"from": "START", "to": "MAIN"}, {"from": "MAIN", "to": "END"}]}}))
        services = {f"{protocol}_{pace}": f"https://127.0.0.1:{provider.port + offset}/{path}"
                    for protocol, offset in (("http2", 0), ("http1", 1))
                    for pace, path in (("fast", "provider"), ("slow", "drip"))}
        for name, url in services.items():
            (directory / f"{name}.json").write_text(json.dumps({
                "agent": "agent.json:app", "checkpointer": {"type": "none"}, "env": "variables",
                "models": {"default": {"provider": "openai", "model": "bench", "api_key": "none",
                                       "base_url": url}}}))
        declared = "\n".join(f"    agent_graph_service {name} {directory}/{name}.json state={directory}/state-{name};"
                             for name in services)
        located = "\n".join(f"        location /{name}/ {{ agent_graph {name}; }}" for name in services)
        (directory / "nginx.conf").write_text(
            f"{module_head(build, directory, 'keepalive_requests 1000000000;')}\n{declared}\n"
            f"    server {{\n        listen 127.0.0.1:{port};\n{located}\n    }}\n}}\n")

    def answers(self):
        return self.get("/http2_fast/ping") == 200


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    streams = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    with working_directory() as directory:
        port = 18700 + os.getpid() % 1000 * 3
        certificate, key = make_certificate(directory)
        with TlsProvider(directory / "slow", port + 1, certificate, key) as provider:
            for protocol, title in (("http2", "HTTP/2"), ("http1", "HTTP/1.1")):
                with Service(build, directory / protocol, port, provider, certificate) as nginx:
                    connections = []
                    used = asyncio.run(memory_of_open_streams(
                        nginx, streams, f"/{protocol}_slow/v1/graph/stream",
                        lambda: connections.append(provider.connections())))
                    results.note(f"private memory per open stream, TLS provider, {title}, {streams:,} open",
                                 used, "KiB", at_most(64))
                    results.note(f"connections for them, {title}",
                                 connections[0][provider.port + (protocol == "http1")], "")
        # A new one: the streams of HTTP/2 that their clients left slow a provider down.
        with TlsProvider(directory / "fast", port + 1, certificate, key) as provider, \
                Service(build, directory / "both", port, provider, certificate) as nginx:
            ours, theirs = in_turns(lambda: wrk(nginx, "/http2_fast/v1/graph/stream", 32, BODY),
                                    lambda: wrk(nginx, "/http1_fast/v1/graph/stream", 32, BODY))
        results.note(f"CPU of a stream of {TOKENS} tokens, TLS provider, HTTP/2", ours.cpu, "us")
        results.note(f"CPU of a stream of {TOKENS} tokens, TLS provider, HTTP/1.1", theirs.cpu, "us")
        results.note("CPU of a stream of a TLS provider, HTTP/2 / HTTP/1.1", ours.cpu / theirs.cpu, "ratio")


if __name__ == "__main__":
    main()
