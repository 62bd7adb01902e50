#!/usr/bin/env python3
"""Cost of authentication, ownership and rate limits: GET of a thread with a token, ownership and a
rate limit, alternating with the same route without them. Usage: bench/access.py BUILD_DIRECTORY
"""
import base64
import hashlib
import hmac
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

import results
from run import ROUNDS, SECONDS
from servers import Nginx, module_head, working_directory

CONNECTIONS = 16
BUDGET_MICROS = 12  # for HS256; with other algorithms the signature dominates
SECRET = "0123456789abcdef0123456789abcdef"
ALGORITHMS = {
    "HS256": None,
    "RS256": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
    "ES256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
}


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def raw_signature(der, size=32):
    """Returns r and s of an ECDSA signature, which OpenSSL encodes as two DER integers."""
    numbers, at = [], 2
    for _ in range(2):
        length = der[at + 1]
        numbers.append(int.from_bytes(der[at + 2 : at + 2 + length], "big"))
        at += 2 + length
    return b"".join(number.to_bytes(size, "big") for number in numbers)


class Key:
    def __init__(self, directory, algorithm):
        self.algorithm = algorithm
        self.private = directory / f"{algorithm}.pem"
        self.public = directory / f"{algorithm}.pub"
        if options := ALGORITHMS[algorithm]:
            subprocess.run(["openssl", "genpkey", *options, "-out", self.private], check=True,
                           capture_output=True)
            subprocess.run(["openssl", "pkey", "-in", self.private, "-pubout", "-out", self.public],
                           check=True)

    def environment(self):
        lines = f"JWT_SECRET_KEY={SECRET}\nJWT_ALGORITHM={self.algorithm}\n"
        if ALGORITHMS[self.algorithm]:
            lines += f"JWT_PUBLIC_KEY_FILE={self.public}\n"
        return lines

    def token(self):
        claims = {"user_id": "bench", "exp": time.time() + 3600, "scopes": ["checkpointer:read", "graph:invoke"]}
        head = {"alg": self.algorithm, "typ": "JWT"}
        text = b".".join(encode(json.dumps(part).encode()) for part in (head, claims))
        if not ALGORITHMS[self.algorithm]:
            signature = hmac.new(SECRET.encode(), text, hashlib.sha256).digest()
        else:
            signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.private],
                                       input=text, capture_output=True, check=True).stdout
            if self.algorithm.startswith("ES"):
                signature = raw_signature(signature)
        return (text + b"." + encode(signature)).decode()


class GuardedNginx(Nginx):
    """One open service, and one per algorithm with authentication and a rate limit."""

    def __init__(self, build, directory, port):
        self.build, self.directory, self.port = build, directory, port
        self.keys = [Key(directory, algorithm) for algorithm in ALGORITHMS]
        agent = {"agent": f"{build}/bench/graph.so:app"}
        self._write("open", agent)
        for key in self.keys:
            (directory / f"{key.algorithm}.env").write_text(key.environment())
            self._write(key.algorithm, agent | {
                "auth": "jwt", "authorization": "ownership", "env": f"{key.algorithm}.env",
                "rate_limit": {"requests": 1_000_000_000, "window": 60, "by": "user"}})
        names = ["open", *ALGORITHMS]
        services = "".join(f"    agent_graph_service {name} {directory}/{name}.json "
                           f"state={directory}/state-{name};\n" for name in names)
        locations = "".join(f"        location /{name}/ {{ agent_graph {name}; }}\n" for name in names)
        (directory / "nginx.conf").write_text(f"""
{module_head(build, directory, "keepalive_requests 1000000000;")}
{services}
    server {{
        listen 127.0.0.1:{port};
        location /durable/ {{ agent_graph open; }}
        location /plain/ {{ agent_graph open; }}
{locations}
    }}
}}
""")

    def _write(self, name, settings):
        (self.directory / f"{name}.json").write_text(json.dumps(settings))


def make_thread(nginx, name, token):
    body = json.dumps({"messages": [{"role": "user", "content": "hello"}], "config": {"thread_id": "t"}})
    reply = subprocess.run(
        ["curl", "-sf", f"http://127.0.0.1:{nginx.port}/{name}/v1/graph/invoke", "-d", body,
         "-H", f"Authorization: Bearer {token}"], capture_output=True, text=True, check=False)
    if reply.returncode != 0:
        raise SystemExit(f"no thread at /{name}/: {reply.stdout}")


def cpu_of_reading(nginx, name, token):
    """Returns the CPU time of one GET of the thread, in microseconds, over all processes."""
    before = nginx.cpu_seconds()
    output = subprocess.run(
        ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "--timeout", "10s",
         "-H", f"Authorization: Bearer {token}", f"http://127.0.0.1:{nginx.port}/{name}/v1/threads/t"],
        capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in output or "Socket errors" in output:
        raise SystemExit(f"/{name}/: {output}")
    return 1e6 * (nginx.cpu_seconds() - before) / int(re.search(r"(\d+) requests in", output)[1])


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with working_directory() as directory:
        with GuardedNginx(build, directory, 18700 + os.getpid() % 1000) as nginx:
            tokens = {"open": nginx.keys[0].token()} | {key.algorithm: key.token() for key in nginx.keys}
            for name, token in tokens.items():
                make_thread(nginx, name, token)
            costs = {name: [] for name in tokens}
            for _ in range(ROUNDS):
                for name, token in tokens.items():
                    costs[name].append(cpu_of_reading(nginx, name, token))
    open_cost = statistics.mean(costs.pop("open"))
    for name, values in costs.items():
        cost = statistics.mean(values)
        limit = results.at_most(BUDGET_MICROS) if name == "HS256" else results.NONE
        results.note(f"CPU added to a GET by {name}, ownership and rate limit", cost - open_cost, "us", limit)


if __name__ == "__main__":
    main()
