"""An MCP server over standard input and output whose first argument selects how it misbehaves.
Tests run it as a program; it needs only Python."""

import json
import os
import sys
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else "good"


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
    sys.stdout.flush()


def tools():
    names = ["echo", "environment", "pid"]
    if MODE == "dies":
        names += ["die", "die\nnow"]
    if MODE in ("grows", "stateless") and grown:
        names.append("grown")
    return [{"name": name, "inputSchema": {"type": "object"}} for name in names]


def call(name, arguments):
    global grown
    if name.startswith("die"):
        sys.stderr.write("my last words\n")
        sys.stderr.flush()
        os._exit(3)
    if name == "environment":
        return {
            "variables": dict(os.environ),
            "arguments": sys.argv[2:],
            "directory": os.getcwd(),
            "descriptors": sorted(int(fd) for fd in os.listdir("/proc/self/fd")),
            "group": os.getpgid(0) == os.getpid(),
        }
    if name == "pid":
        return {"pid": os.getpid()}
    if MODE == "grows" or (MODE == "stateless" and subscription is not None):
        grown = True
        send({"method": "notifications/tools/list_changed"})
    if MODE == "chatty":
        for number in range(2000):
            sys.stderr.write(f"line {number} " + "x" * 2000 + "\n")
            sys.stderr.flush()
        print("this is no message", flush=True)
    if MODE == "endless" and not grown:
        grown = True
        if os.fork() == 0:  # in our process group
            while True:
                os.write(2, b"without end\n" * 4096)
    if MODE == "large":
        for _ in range(1024):  # a gigabyte in one line, or as much of it as is read
            sys.stdout.write("x" * (1 << 20))
    if MODE == "asks":
        send({"id": "q1", "method": "roots/list"})
        answer = json.loads(sys.stdin.readline())
        assert answer["id"] == "q1" and answer["error"]["code"] == -32601, answer
        send({"id": "q2", "method": "ping"})
        answer = json.loads(sys.stdin.readline())
        assert answer == {"jsonrpc": "2.0", "id": "q2", "result": {}}, answer
    return arguments


def initialize(params):
    return {
        "protocolVersion": params["protocolVersion"],
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "script", "version": "1"},
    }


def discover():
    return {"supportedVersions": [STATELESS], "capabilities": {"tools": {"listChanged": True}}}


def check_meta(params):
    """Checks that each stateless request contains its protocol version and the client's
    capabilities."""
    meta = params["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == STATELESS, meta
    assert isinstance(meta["io.modelcontextprotocol/clientCapabilities"], dict), meta


def answer(request):
    """Returns the fields of the reply; None: no reply."""
    global subscription
    method, params = request["method"], request.get("params", {})
    if MODE == "stateless" and method != "notifications/cancelled":
        check_meta(params)
    if method == "server/discover":
        if MODE == "strict":
            sys.exit(9)
        if MODE == "mute":
            return None
        if MODE == "stateless":
            return {"result": discover()}
        if MODE == "leaves":
            if not os.path.exists(sys.argv[2]):
                open(sys.argv[2], "w").close()
                # Parsed on another thread, which takes longer than the program takes to end.
                send({"id": request["id"], "result": discover() | {"padding": "x" * 4_000_000}})
                os._exit(0)
            return {"result": discover()}
    if method == "subscriptions/listen" and MODE == "stateless":
        subscription = request["id"]
        granted = {"params": {"notifications": params["notifications"]}}
        send({"method": "notifications/subscriptions/acknowledged"} | granted)
        return None
    if method == "initialize" and MODE != "stateless":
        return {"result": initialize(params)}
    if method == "tools/list":
        return {"result": {"tools": tools()}}
    if method == "tools/call":
        value = call(params["name"], params["arguments"])
        return {"result": {"resultType": "complete", "content": [], "structuredContent": value}}
    return {"error": {"code": -32601, "message": f"there is no {method}"}}


STATELESS = "2026-07-28"
grown = False
subscription = None
if MODE == "silent":
    time.sleep(3600)
if MODE == "ends":
    sys.exit(7)
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    reply = answer(request)
    if reply is not None:
        send({"id": request["id"]} | reply)
