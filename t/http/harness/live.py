"""A client of WS /v1/graph/live: sends audio and text, and keeps the events and audio it
receives."""

import json
import math
import struct

from .waiting import wait_until
from .websocket import BINARY, CLOSE, PING, PONG, TEXT, WebSocket, frame

INPUT_RATE = 16000
OUTPUT_RATE = 24000
PIECE = INPUT_RATE // 10 * 2  # 100 ms

LIVE = {"agent": "graphs/live.json:app", "models": {"default": {"provider": "demo"}}}

# The keys of each event; all of them are always present.
EVENT_KEYS = {
    "input_transcript": {"text", "finished"},
    "output_transcript": {"text", "finished"},
    "tool_call": {"id", "name", "args"},
    "tool_result": {"id", "result"},
    "turn_complete": set(),
    "interrupted": set(),
    "session_update": {"resumption_handle"},
    "go_away": {"time_left"},
    "agent_changed": {"author"},
    "error": {"code", "message", "fatal"},
}


def speech(seconds, rate=INPUT_RATE):
    """PCM16 audio that is loud and varies like a voice."""
    samples = []
    for i in range(int(seconds * rate)):
        at = i / rate
        loudness = 6000 * (0.6 + 0.4 * math.sin(2 * math.pi * 4 * at))
        samples.append(int(loudness * math.sin(2 * math.pi * (180 + 40 * math.sin(at)) * at)))
    return struct.pack(f"<{len(samples)}h", *samples)


def silence(seconds, rate=INPUT_RATE):
    return bytes(2 * int(seconds * rate))


class LiveClient(WebSocket):
    """`start` opens the session. Events and audio that are read meanwhile are kept."""

    def start(self, prefix="", headers=(), target="/v1/graph/live", **init):
        self.upgrade(prefix + target, **dict(headers))
        return self.start_session(**init)

    def start_session(self, **init):
        """Starts a session on an open socket."""
        self.events = []
        self.sound = b""
        self.send_json(init)
        return self

    def say(self, pcm):
        """Sends audio in packets of 100 ms, as fast as the server accepts them."""
        for at in range(0, len(pcm), PIECE):
            self.send(frame(BINARY, pcm[at : at + PIECE]))

    def type(self, text):
        self.send_json({"type": "text", "text": text})

    def read_event(self):
        """Returns the next event and keeps audio before it. None: the server has closed."""
        while True:
            received = self.read_frame()
            if received.opcode == BINARY:
                assert len(received.payload) % 2 == 0
                self.sound += received.payload
            elif received.opcode == PING:
                self.send(frame(PONG, received.payload))
            elif received.opcode == CLOSE:
                self.closed_with = received.close_code
                return None
            elif received.opcode == TEXT:
                event = json.loads(received.payload.decode())
                assert set(event) - {"type"} == EVENT_KEYS[event["type"]], event
                self.events.append(event)
                return event

    def read_to(self, kind):
        """Returns the events up to the first one of this type."""
        events = []
        while not events or events[-1]["type"] != kind:
            event = self.read_event()
            assert event is not None, f"closed with {self.closed_with} before {kind}: {events}"
            events.append(event)
        return events

    def read_turn(self):
        return self.read_to("turn_complete")

    def read_to_end(self):
        """Returns the events up to the close."""
        events = []
        while (event := self.read_event()) is not None:
            events.append(event)
        return events


def begin_session(service, live_provider, **init):
    """Opens a session; returns it and its first connection to the provider, which the test
    controls."""
    client = LiveClient(service.port).start(**init)
    connection = live_provider.accept()
    connection.accept_setup()
    return client, connection


def transcript(events, side="output"):
    """The transcript of one side, joined."""
    return "".join(e["text"] for e in events if e["type"] == f"{side}_transcript")


def types(events):
    return [event["type"] for event in events]


def messages_of(service, thread_id, **other):
    """The thread's messages; empty if the thread does not exist."""
    reply = service.get(f"/v1/threads/{thread_id}/messages", **other)
    return reply.json()["data"]["messages"] if reply.status == 200 else []


def wait_for_messages(service, thread_id, count):
    return wait_until(
        lambda: len(found := messages_of(service, thread_id)) >= count and found,
        f"{count} messages are in the thread",
    )
