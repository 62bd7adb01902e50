"""A realtime provider that is controlled by the test, for behaviour that mocks do not offer."""

import asyncio
import base64
import http
import json
import queue
import threading

import websockets

from . import environment
from .ports import free_port


class ProviderConnection:
    """One connection from the server under test, on the provider's side."""

    def __init__(self, loop, socket, path, headers):
        self._loop = loop
        self._socket = socket
        self.path = path
        self.headers = headers
        self.messages = queue.Queue()

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(environment.PATIENCE)

    def receive(self):
        """Returns the next message; None when the connection has ended."""
        return self.messages.get(timeout=environment.PATIENCE)

    def receive_until(self, key):
        """Returns the next message that has this key and drops those before it."""
        while True:
            message = self.receive()
            assert message is not None, f"the connection ended before {key}"
            if key in message:
                return message[key]

    def send(self, message):
        self._call(self._socket.send(json.dumps(message)))

    def send_bytes(self, message):
        """Sends it as a binary message."""
        self._call(self._socket.send(message))

    def close(self, code=1000, reason=""):
        self._call(self._socket.close(code, reason))

    def abort(self):
        self._loop.call_soon_threadsafe(self._socket.transport.abort)

    def fall_silent(self):
        """Stops reading, so that pings are not answered."""
        self._loop.call_soon_threadsafe(self._socket.transport.pause_reading)

    # Gemini's protocol

    def accept_setup(self):
        setup = self.receive_until("setup")
        self.send({"setupComplete": {}})
        return setup

    def say(self, text=None, pcm=None, rate=24000):
        content = {}
        if pcm is not None:
            data = {"mimeType": f"audio/pcm;rate={rate}", "data": base64.b64encode(pcm).decode()}
            content["modelTurn"] = {"parts": [{"inlineData": data}]}
        if text is not None:
            content["outputTranscription"] = {"text": text}
        self.send({"serverContent": content})

    def hear(self, text):
        self.send({"serverContent": {"inputTranscription": {"text": text}}})

    def complete_turn(self):
        self.send({"serverContent": {"turnComplete": True}})

    def give_handle(self, handle):
        self.send({"sessionResumptionUpdate": {"newHandle": handle, "resumable": True}})

    def receive_until_end(self):
        while self.receive() is not None:
            pass

    # OpenAI's protocol

    def accept_session(self):
        self.send({"type": "session.created", "session": {}})
        session = self.receive_until("session")
        self.send({"type": "session.updated", "session": session})
        return session

    def receive_type(self, kind):
        """Returns the next message of this type and drops those before it."""
        while True:
            message = self.receive()
            assert message is not None, f"the connection ended before {kind}"
            if message["type"] == kind:
                return message

    def received_sound(self):
        """Returns the audio of the next message that has audio."""
        while True:
            message = self.receive_until("realtimeInput")
            if "audio" in message:
                return base64.b64decode(message["audio"]["data"])


class LiveProvider:
    """Accepts connections; `accept` returns them to the test one by one. `refuse_with` answers
    further handshakes with an HTTP status."""

    def __init__(self):
        self._loop = asyncio.new_event_loop()
        self._connections = queue.Queue()
        self._sockets = []
        self.attempts = 0
        self.refuse_with = None
        self.port = free_port()
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        started.wait()

    def settings(self, **model):
        provider = {
            "provider": "gemini",
            "model": "scripted",
            "base_url": f"http://127.0.0.1:{self.port}/v1beta",
            "api_key": "secret-key",
        }
        return {"agent": "graphs/live.json:app", "models": {"default": provider | model}}

    def openai_settings(self, **model):
        base_url = f"http://127.0.0.1:{self.port}/v1"
        return self.settings(provider="openai", base_url=base_url, model="gpt-realtime", **model)

    def accept(self):
        return self._connections.get(timeout=environment.PATIENCE)

    def has_connection(self):
        return not self._connections.empty()

    def _run(self, started):
        asyncio.set_event_loop(self._loop)
        self._server = self._loop.run_until_complete(self._serve())
        started.set()
        self._loop.run_forever()

    async def _serve(self):
        return await websockets.serve(
            self._take,
            "127.0.0.1",
            self.port,
            process_request=self._answer,
            max_size=None,
            max_queue=None,
        )

    async def _answer(self, path, headers):
        self.attempts += 1
        if self.refuse_with is not None:
            return http.HTTPStatus(self.refuse_with), [], b"refused"
        return None

    async def _take(self, socket):
        connection = ProviderConnection(self._loop, socket, socket.path, socket.request_headers)
        self._sockets.append(socket)
        self._connections.put(connection)
        try:
            async for message in socket:
                connection.messages.put(json.loads(message))
        except websockets.ConnectionClosed:
            pass
        connection.messages.put(None)

    def close(self):
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(environment.PATIENCE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _end(self):
        # A closing server waits for each of its clients, and some tests leave one that does not
        # answer.
        for socket in self._sockets:
            socket.transport.abort()
        self._server.close()
        await self._server.wait_closed()
