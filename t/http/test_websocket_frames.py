"""Frames of WebSockets: rules, close codes, limits, floods and slow readers."""

import json
import threading

import pytest

from harness.agents import DEMO
from harness.gated_provider import GatedProvider
from harness.graph_socket import TARGET, final_text, gated_settings, open_socket
from harness.service import invocation
from harness.waiting import wait_until
from harness.websocket import CLOSE, PING, PONG, TEXT, WebSocket, close_frame, frame


def test_frames_glued_to_the_handshake(start_service):
    service = start_service(DEMO)
    early = frame(PING, "early") + frame(TEXT, json.dumps(invocation("first")))
    socket = WebSocket(service.port).upgrade(early=early)
    first = socket.read_frame()
    assert (first.opcode, first.payload) == (PONG, b"early")
    assert "first" in final_text(socket.read_run())


def test_any_cut_of_the_bytes(start_service):
    socket = open_socket(start_service(DEMO))
    text = json.dumps(invocation("caf\u00e9 \u20ac"), ensure_ascii=False).encode()
    data = b"".join(
        frame(TEXT if i == 0 else 0, text[i : i + 7], final=i + 7 >= len(text))
        + frame(PING, str(i))
        for i in range(0, len(text), 7)
    )
    socket.send_split(data, 5)
    answers = []
    while True:
        answer = socket.read_frame()
        if answer.opcode == PONG:
            continue
        answers.append(answer.json())
        if (answers[-1]["data"] or {}).get("status") == "done":
            break
    assert "caf\u00e9 \u20ac" in final_text(answers)


@pytest.mark.parametrize(
    "data, code",
    [
        (frame(TEXT, "x", masked=False), 1002),
        (frame(TEXT, "x", reserved=4), 1002),
        (frame(3, "x"), 1002),
        (frame(11, "x"), 1002),
        (frame(0, "x"), 1002),
        (frame(TEXT, "x", final=False) + frame(TEXT, "y"), 1002),
        (frame(PING, "x", final=False), 1002),
        (frame(PING, b"x" * 126), 1002),
        (frame(TEXT, b"\xff"), 1007),
        (frame(TEXT, b"\xe2\x82", final=False) + frame(0, b"x"), 1007),
        (frame(CLOSE, b"\x03"), 1002),
        (close_frame(1005), 1002),
        (close_frame(1000, b"\xff"), 1007),
        (frame(TEXT, b"", length=20 << 20), 1009),
        (frame(TEXT, b"", length=(1 << 63) - 1), 1009),
        (close_frame(), 1000),
        (close_frame(1000, b"bye"), 1000),
        (close_frame(4321), 4321),
    ],
)
def test_rules_and_close_codes(start_service, data, code):
    socket = open_socket(start_service(DEMO))
    socket.send(data)
    assert socket.is_closed_with(code)


def test_message_limit_is_that_of_the_location(start_service):
    service = start_service(DEMO, location="agent_graph_ws_max_message 4k;")
    socket = open_socket(service)
    socket.send(frame(TEXT, b" " * 3000, final=False) + frame(0, b"", length=1200))
    assert socket.is_closed_with(1009)


def test_large_message_in_fragments(start_service):
    service = start_service(DEMO)
    socket = open_socket(service)
    text = json.dumps(invocation("z" * 300_000)).encode()
    for i in range(0, len(text), 4000):
        socket.send(frame(TEXT if i == 0 else 0, text[i : i + 4000], final=i + 4000 >= len(text)))
    assert "z" * 300_000 in final_text(socket.read_run())


def test_server_pings_and_gives_up_on_silence(start_service):
    service = start_service(
        DEMO,
        location="agent_graph_ws_ping 200ms timeout=10m;",
        server="location /hasty/ { agent_graph test; agent_graph_ws_ping 200ms timeout=400ms; }",
    )
    socket = open_socket(service)
    for _ in range(3):
        ping = socket.read_frame()
        assert ping.opcode == PING
        socket.send(frame(PONG, ping.payload))
    silent = WebSocket(service.port).upgrade("/hasty" + TARGET)
    assert silent.read_frame().opcode == PING
    assert silent.is_closed_by_server()
    socket.send_json(invocation("still here"))
    while (answer := socket.read_frame()).opcode == PING:
        pass
    assert answer.opcode == TEXT


def test_peer_that_does_not_answer_a_close(start_service):
    service = start_service(DEMO, location="agent_graph_ws_close_timeout 200ms;")
    socket = WebSocket(service.port).upgrade("/v1/graph/live")
    assert socket.read_json()["code"] == "not_live"
    assert socket.is_closed_with(1008)


def test_flood_of_frames_waits_its_turn(start_service, gated_provider):
    """Far more messages than the mailbox holds, while a run keeps the engine busy."""
    service = start_service(gated_settings(gated_provider))
    socket = open_socket(service)
    socket.send_json(invocation("x"))
    gated_provider.wait_for_waiting(1)
    bad = frame(TEXT, "[" + "1," * 4000 + "1]")
    count = 200
    sender = threading.Thread(target=lambda: [socket.send(bad) for _ in range(count)])
    sender.start()
    gated_provider.open_gate()
    assert socket.read_run()[-1]["data"]["status"] == "done"
    for _ in range(count):
        assert socket.read_json()["event"] == "error"
    sender.join()
    socket.send_json(invocation("y"))
    assert gated_provider.text in final_text(socket.read_run())


def test_slow_reader_holds_the_provider_back(start_service):
    provider = GatedProvider(["x" * 16384] * 250, before_gate=None, send_buffer=64 * 1024)
    try:
        service = start_service(gated_settings(provider), listen="sndbuf=64k")
        socket = WebSocket(service.port, receive_buffer=4096).upgrade()
        socket.send_json(invocation("much"))
        seen = [-1, 0]

        def stalled():
            seen[1] = seen[1] + 1 if provider.sent_bytes == seen[0] else 0
            seen[0] = provider.sent_bytes
            return seen[1] > 50

        wait_until(stalled, "the provider is blocked")
        assert provider.sent_bytes < len(provider.text)
        assert final_text(socket.read_run()) == provider.text
    finally:
        provider.close()


def test_messages_are_bounded_over_all_sockets(start_service, gated_provider):
    settings = gated_settings(gated_provider) | {"limits": {"buffered_bytes_max": 1024 * 1024}}
    status = "location = /status.json { agent_graph_status format=json; }"
    service = start_service(settings, workers=1, server=status)

    def buffered():
        return service.get("/status.json").json()["services"][0]["buffered_bytes"]

    first, second = open_socket(service), open_socket(service)
    whole = frame(TEXT, json.dumps(invocation("x" * 700_000)))
    first.send(whole[:600_000])
    # Incomplete messages count as buffered, for other requests, too.
    wait_until(lambda: buffered() > 590_000, "the message is read")
    assert service.invoke("x" * 600_000).status == 503
    second.send(whole[:600_000])
    closed = second.read_close()
    assert closed.close_code == 1013 and closed.reason == "the server is busy"
    first.send(whole[600_000:])
    gated_provider.wait_for_waiting(1)
    # A message that is being processed counts, too.
    assert service.invoke("x" * 600_000).status == 503
    gated_provider.open_gate()
    assert first.read_run()[-1]["data"]["status"] == "done"
    wait_until(lambda: service.invoke("x" * 600_000).status == 200, "there is room again")
