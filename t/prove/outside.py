"""The world outside of nginx: the model, and the services that tools and functions call. It counts
effects. It also strikes nginx, because it knows the critical moments: a model is asked, an effect is
about to happen, a result is under way."""

import asyncio
import collections
import json
import re
import socket

from harness.ports import free_port

WORDS = 8
_BACKLOG = 4096
# No place for a fault: the run itself is about to end its worker.
OWN_CRASH = "own crash"
_TAG = re.compile(r"run=(\S+) kind=(\S+) pace=([0-9.]+)")


def words(tag, model, wave=0, count=WORDS):
    return [f"{tag}.{model}{wave}.{number} " for number in range(count)]


def waves(kind):
    """The tool calls that the model makes, wave by wave: names and items."""
    if kind == "text":
        return []
    if kind == "remote":
        return [[("charge", "a"), ("ask_client", "q")]]
    return [[("charge", "a"), ("look", "b"), ("look", "c")], [("charge", "d")]]


def _listen(address):
    while True:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address, free_port()))
            listener.listen(_BACKLOG)
            return listener
        except OSError:
            listener.close()


def models(url):
    """The models in the settings of a service, which this world answers at `url`."""
    return {
        role: {"provider": "openai", "model": model, "base_url": f"{url}/v1", "api_key": "k"}
        for role, model in (("default", "main"), ("main", "main"), ("check", "check"), ("report", "report"))
    }


class Outside:
    """`strike(instance, point, port)` is awaited at each point; `port` is the one from which the
    call came."""

    def __init__(self, strike, address="127.0.0.1"):
        # Listens from now on, so that no other program takes the port.
        self._socket = _listen(address)
        self.port = self._socket.getsockname()[1]
        self._strike = strike
        self._server = None
        # By item, the idempotency keys of the calls that had an effect.
        self.effects = collections.defaultdict(list)
        self.keys = collections.defaultdict(set)
        self.functions = collections.Counter()  # executions by run and node
        self.in_functions = collections.Counter()  # runs inside of a function now, by run
        # Runs that may be in a function that has not reported yet, or has returned: from their
        # beginning to the first call of a model, and from the team's model to the reporter's.
        self.near_functions = set()
        self.executing = {}  # by tag, the run that has continued the conversation's turn
        self.function_ports = {}  # ports of the latest execution, by run
        self.models_asked = 0

    async def start(self):
        self._server = await asyncio.start_server(self._serve, sock=self._socket, backlog=_BACKLOG)

    async def stop(self):
        self._server.close()

    # HTTP

    async def _serve(self, reader, writer):
        try:
            while await self._answer(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        path = first.split(" ")[1]
        port = writer.get_extra_info("peername")[1]
        _, instance, kind, *rest = path.split("/")
        if kind == "tool":
            await self._tool(writer, instance, port, rest[0], headers, json.loads(body))
        elif kind == "function":
            await self._function(writer, instance, port, *rest)
            return False
        else:
            await self._model(writer, instance, port, json.loads(body))
        return True

    @staticmethod
    async def _reply(writer, value):
        data = json.dumps(value).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(data), data)
        )
        await writer.drain()

    # Effects

    async def _tool(self, writer, instance, port, tool, headers, arguments):
        item = arguments["item"]
        self.keys[item].add(headers.get("idempotency-key"))
        # A request that has arrived takes effect, even if its sender dies.
        await self._strike(instance, "before effect", port)
        self.effects[item].append(headers.get("idempotency-key"))
        await self._strike(instance, "after effect", port)
        await self._reply(writer, {"done": item})
        await self._strike(instance, "after result", port)

    async def _function(self, writer, instance, port, run, node):
        self.functions[run, node] += 1
        self.in_functions[run] += 1
        self.function_ports[run] = port
        try:
            # The node POISON ends its worker when it gets the answer.
            point = OWN_CRASH if node == "POISON" else "in function"
            await self._strike(instance, point, port)
            await self._reply(writer, {})
        finally:
            self.in_functions[run] -= 1

    # The model

    async def _model(self, writer, instance, port, request):
        self.models_asked += 1
        tag, pieces, calls, pace = self._decide(request)
        run_id = self.executing.get(tag, tag)
        self.near_functions.discard(run_id)
        await self._strike(instance, "model asked", port)
        if request["model"] == "check":
            self.near_functions.add(run_id)
        if not request.get("stream"):
            message = {"role": "assistant", "content": "".join(pieces)}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            await self._reply(writer, {"id": "c", "object": "chat.completion", "created": 0,
                                       "model": "m", "choices": [choice], "usage": usage})
            return
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        for number, piece in enumerate(pieces):
            await self._delta(writer, {"content": piece})
            await asyncio.sleep(pace)
            if number == len(pieces) // 2:
                await self._strike(instance, "mid delta", port)
        if calls:
            await self._delta(writer, {"tool_calls": calls})
        await self._strike(instance, "after deltas", port)
        await self._delta(writer, {}, "tool_calls" if calls else "stop")
        await self._chunk(writer, b"data: [DONE]\n\n")
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        await self._strike(instance, "model answered", port)

    @staticmethod
    def _decide(request):
        """The answer follows from the conversation alone: asked again, the model says the same."""
        model = request["model"]
        messages = request["messages"]
        asked = max(n for n, message in enumerate(messages)
                    if message["role"] == "user" and _TAG.search(json.dumps(message["content"])))
        tag, kind, pace = _TAG.search(json.dumps(messages[asked]["content"])).groups()
        pace = float(pace)
        if model != "main":
            return tag, words(tag, model), [], pace
        wave = sum(1 for message in messages[asked:] if message.get("tool_calls"))
        planned = waves(kind)
        if wave >= len(planned):
            return tag, words(tag, model, wave), [], pace
        calls = [
            {
                "index": number,
                # Some models number the calls of each reply from the start.
                "id": f"call_{number}" if kind == "numbered" else f"call.{tag}.{item}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps({"item": f"{tag}.{item}"})},
            }
            for number, (name, item) in enumerate(planned[wave])
        ]
        return tag, words(tag, model, wave), calls, pace

    async def _delta(self, writer, delta, finish_reason=None):
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m",
                 "choices": [choice]}
        await self._chunk(writer, b"data: " + json.dumps(chunk).encode() + b"\n\n")

    @staticmethod
    async def _chunk(writer, data):
        writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await writer.drain()
