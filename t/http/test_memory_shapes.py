"""Requests that take much more memory than their text: many small values and messages, large
messages of WebSockets, bodies in nginx's buffers, answers that are not read. What a worker holds
stays bounded."""

import json
import threading

import pytest

from harness import environment
from harness.agents import DEMO
from harness.graph_socket import gated_settings, open_socket
from harness.messages import user
from harness.service import invocation
from harness.waiting import wait_until
from harness.websocket import CLOSE, TEXT, frame
from harness.worker_memory import MIB, at_once, peaks_within, start_watched, status_of

pytestmark = pytest.mark.skipif(
    bool(environment.SANITIZER), reason="a sanitizer's allocator, shadow and quarantine are not ours"
)

_BOUND = 64 * MIB
_SETTINGS = DEMO | {"limits": {"buffered_bytes_max": _BOUND}}
_INVOKE = "POST /v1/graph/invoke"


def _messages(count, **fields):
    return {"messages": [user("x") for _ in range(count)]} | fields


def _state(value, **fields):
    return {"messages": [user("hi")], "initial_state": {"field": value}} | fields


def _nested(depth):
    return json.loads("[" * depth + "]" * depth)


# Each takes about 10 MiB.
_SHAPES = {
    "short messages": (_INVOKE, _messages(4000)),
    "short messages that are returned": (_INVOKE, _messages(4000, response_granularity="full")),
    "short messages of a stream": ("POST /v1/graph/stream", _messages(4000)),
    "short messages for a thread": ("POST /v1/threads/t{}/messages", _messages(4000)),
    "strings": (_INVOKE, _state(["a string of 24 letters.."] * 20_000)),
    "members": (_INVOKE, _state({f"m{number}": 0 for number in range(12_000)})),
    "deep arrays": (_INVOKE, _state([_nested(100)] * 400)),
    "a state": ("PUT /v1/threads/t{}/state", {"state": {"field": [{"a": ""}] * 15_000}}),
    "a background run": ("POST /v1/graph/runs", _messages(4000)),
    "escapes": (_INVOKE, {"messages": [user("\0" * 150_000) for _ in range(2)]}),
}


@pytest.mark.parametrize("shape", _SHAPES)
def test_small_values_are_counted(start_service, shape):
    target, body = _SHAPES[shape]
    method, _, path = target.partition(" ")
    service = start_watched(start_service, _SETTINGS)
    assert service.invoke("hi").status == 200
    with peaks_within(service, _BOUND):
        replies = at_once(24, lambda number: service.request(method, path.format(number), body))
        statuses = {reply.status for reply in replies}
        assert {200, 202} & statuses and statuses <= {200, 202, 503}


def test_each_worker_has_the_bound(start_service):
    service = start_watched(start_service, _SETTINGS, workers=2)
    assert service.invoke("hi").status == 200
    body = _messages(4000)
    with peaks_within(service, _BOUND):
        replies = at_once(32, lambda _: service.post("/v1/graph/invoke", body))
        assert {reply.status for reply in replies} <= {200, 503}


@pytest.mark.parametrize("messages, sockets", [(1, 60), (2, 60)])
def test_large_messages_and_replies_of_sockets_take_turns(start_service, messages, sockets):
    service = start_watched(start_service, _SETTINGS, location="agent_graph_ws_ping off;")
    assert service.invoke("hi").status == 200
    message = frame(TEXT, json.dumps({"messages": [user("x" * 1_000_000) for _ in range(messages)]}))
    sockets = [open_socket(service) for _ in range(sockets)]
    is_full = threading.Event()

    # The agent repeats the last message. Nobody reads its reply before the memory is taken. A message
    # that gets no memory for half a minute is refused, like a request, and so is a reply.
    def run(number):
        sockets[number].send(message)
        is_full.wait()
        while True:
            received = sockets[number].read_frame()
            if received.opcode == CLOSE:
                return received.close_code
            chunk = received.json()
            if chunk["event"] == "error":
                return chunk["data"]["code"]
            if (chunk["data"] or {}).get("status") == "done":
                return "done"

    def let_read():
        wait_until(lambda: status_of(service)["memory_waiting"] > 0, "requests wait for memory")
        is_full.set()

    reading = threading.Thread(target=let_read)
    reading.start()
    with peaks_within(service, _BOUND):
        outcomes = set(at_once(len(sockets), run))
        reading.join()
        assert "done" in outcomes and outcomes <= {"done", 1013, "OVERLOADED"}


def test_a_large_message_waits_in_the_middle(start_service, gated_provider):
    bound = 8 * MIB
    settings = gated_settings(gated_provider) | {"limits": {"buffered_bytes_max": bound}}
    service = start_watched(start_service, settings, location="agent_graph_ws_ping off;")
    sockets = [open_socket(service) for _ in range(3)]
    # The run of the first one fills the memory, and the second one waits for it as a whole.
    sockets[0].send_json(invocation("x" * 1_000_000))
    gated_provider.wait_for_waiting(1)
    sockets[1].send_json(invocation("x" * 1_000_000))
    wait_until(lambda: status_of(service)["memory_waiting"] == 1, "the second one waits")
    before = status_of(service)["buffered_bytes"]
    large = {"messages": [user("x" * 1_000_000) for _ in range(5)]}
    third = threading.Thread(target=sockets[2].send_json, args=(large,))
    third.start()
    # The second message takes a part of what input may take.
    room = bound / 4 - 1.01 * 1_000_000
    wait_until(lambda: status_of(service)["buffered_bytes"] >= before + room, "the third one is read")
    # The worker reads up to 1 MiB of a socket in a row.
    assert status_of(service)["buffered_bytes"] < before + room + 1.25 * MIB
    gated_provider.open_gate()
    for socket in sockets:
        assert socket.read_run()[-1]["data"]["status"] == "done"
    third.join()


def test_a_body_in_memory_is_read_when_there_is_room(start_service, gated_provider):
    settings = gated_settings(gated_provider) | {"limits": {"buffered_bytes_max": 8 * MIB}}
    service = start_watched(start_service, settings, location="client_body_buffer_size 16m;")
    first = service.stream("x" * 1_000_000)
    gated_provider.wait_for_waiting(1)
    before = status_of(service)["buffered_bytes"]
    large = {"messages": [user("x" * 1_000_000) for _ in range(3)]}
    replies = []
    second = threading.Thread(target=lambda: replies.append(service.post("/v1/graph/invoke", large)))
    second.start()
    wait_until(lambda: status_of(service)["memory_waiting"] == 1, "the second one waits")
    assert status_of(service)["buffered_bytes"] == before
    gated_provider.open_gate()
    assert first.ended_with_done()
    second.join()
    assert replies[0].status == 200


def test_answers_that_clients_do_not_read(start_service):
    bound = 128 * MIB
    settings = DEMO | {"limits": {"buffered_bytes_max": bound}}
    service = start_watched(start_service, settings, listen="sndbuf=64k")
    messages = {"messages": [user("x" * 1_000_000) for _ in range(4)]}
    assert service.post("/v1/threads/t/messages", messages).status == 200
    with peaks_within(service, bound):
        readers = [service.connect(receive_buffer=4096) for _ in range(80)]
        for number, reader in enumerate(readers):
            reader.request("GET", "/v1/threads/t/" + ("messages", "state")[number % 2])
        statuses = {reader.read_head().status for reader in readers}
        # Those that were accepted before the memory was full are refused, too.
        assert statuses == {200, 503}
        for reader in readers:
            reader.reset()
