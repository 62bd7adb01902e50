"""WebSocket clients that send endlessly or never read: each is slowed down, and others are
served."""

import contextlib
import select
import socket as socket_module
import threading

import pytest

from harness import environment, http1, processes
from harness.agents import DEMO
from harness.gated_provider import GatedProvider
from harness.service import invocation
from harness.waiting import wait_until
from harness.websocket import PING, TEXT, WebSocket, frame


class _Flood:
    """Sends copies of one frame, as many bytes as the server accepts, and continues where it
    stopped."""

    def __init__(self, socket, one):
        self.socket, self.one, self.sent = socket, one, 0
        self._batch = one * (64 * 1024 // len(one))

    def push(self):
        """Returns false if the server accepts no more at the moment."""
        if not select.select([], [self.socket.socket], [], 0)[1]:
            return False
        self.sent += self.socket.socket.send(self._batch[self.sent % len(self.one) :])
        return True

    def push_until_stalled(self, bytes_max):
        seen = [-1, 0]

        def over():
            while self.sent < bytes_max and self.push():
                pass
            seen[1] = seen[1] + 1 if self.sent == seen[0] else 0
            seen[0] = self.sent
            return seen[1] > 50 or self.sent >= bytes_max

        wait_until(over, "the server takes no more")

    def complete(self):
        """Sends the rest of an incomplete frame; returns the number of frames."""
        at = self.sent % len(self.one)
        if at:
            self.socket.send(self.one[at:])
            self.sent += len(self.one) - at
        return self.sent // len(self.one)


@pytest.mark.parametrize("one", [b"[]", b"{}", b'{"messages":[]}'], ids=["array", "empty", "wrong"])
def test_who_reads_no_refusals_is_not_read(start_service, one):
    """Refused frames from a client that never reads."""
    service = start_service(DEMO, workers=1, listen="sndbuf=64k rcvbuf=64k")
    socket = WebSocket(service.port, receive_buffer=4096).upgrade()
    # A small buffer, because the kernel's would hide our own limits.
    socket.socket.setsockopt(socket_module.SOL_SOCKET, socket_module.SO_SNDBUF, 64 * 1024)
    flood = _Flood(socket, frame(TEXT, one))
    flood.push_until_stalled(16 * 1024 * 1024)
    assert flood.sent < 1024 * 1024
    assert service.get("/v1/graph").status == 200

    # No frame was lost: each gets its answer.
    answered = threading.Thread(target=flood.complete)
    answered.start()
    for _ in range(-(-flood.sent // len(flood.one))):
        assert socket.read_json()["event"] == "error"
        if one != b"[]":
            assert socket.read_json()["data"]["status"] == "done"
    answered.join()
    socket.send_json(invocation("hello"))
    assert socket.read_run()[-1]["data"]["status"] == "done"


def test_pings_of_who_does_not_read_take_no_memory(start_service):
    service = start_service(
        DEMO, workers=1, listen="sndbuf=64k", location="send_timeout 2s; agent_graph_ws_ping off;"
    )
    worker = service.only_worker()
    socket = WebSocket(service.port, receive_buffer=4096).upgrade()
    flood = _Flood(socket, frame(PING, b"x" * 125))
    before = processes.resident_bytes(worker.pid)
    most = 0

    # The server keeps reading and finally disconnects the client.
    def given_up():
        nonlocal most
        most = max(most, processes.resident_bytes(worker.pid))
        try:
            flood.push()
        except ConnectionError:
            return True
        return False

    wait_until(given_up, "the client is given up")
    if not environment.SANITIZER:
        assert most - before < 8 * 1024 * 1024


def test_a_run_past_its_deadline_can_be_read_later(start_service):
    with contextlib.closing(
        GatedProvider(["x" * 16 * 1024] * 240, before_gate=None, send_buffer=64 * 1024)
    ) as provider:
        model = {"provider": "openai", "model": "m", "base_url": provider.base_url, "api_key": "k"}
        service = start_service(
            DEMO | {"models": {"default": model}},
            listen="sndbuf=64k",
            location="agent_graph_run_timeout 5s;",
        )
        socket = WebSocket(service.port, receive_buffer=4096).upgrade()
        for _ in range(2):
            before = provider.sent_bytes
            socket.send_json(invocation("much"))
            wait_until(lambda sent=before: provider.sent_bytes > sent, "the run has begun")
            wait_until(lambda: provider.open_connections == 0, "the deadline ends the run")
            assert any(chunk["event"] == "error" for chunk in socket.read_run())


def test_a_message_that_never_ends_closes_its_socket(start_service):
    service = start_service(DEMO, location="agent_graph_run_timeout 500ms;")
    whole = frame(TEXT, b'{"messages":[]}')
    unfinished = frame(TEXT, b"[", final=False)
    for before, begun in ((b"", whole[:1]), (b"", whole[:-1]), (b"", unfinished), (whole, whole[:9])):
        socket = WebSocket(service.port).upgrade()
        if before:
            socket.send(before)
            assert socket.read_json()["event"] == "error"
            assert socket.read_json()["data"]["status"] == "done"
        socket.send(begun)
        assert socket.read_close().close_code == 1008
        socket.close()


def test_a_flood_leaves_its_thread_to_others(start_service):
    """One engine thread, and a client that sends and reads endlessly."""
    service = start_service(DEMO, workers=1, service_options="threads=1")
    socket = WebSocket(service.port).upgrade()
    flood = _Flood(socket, frame(TEXT, b"[]"))
    stop = threading.Event()

    def push():
        while not stop.is_set():
            if not flood.push():
                select.select([], [socket.socket], [], 1)

    def read():
        while not stop.is_set():
            socket.read_frame()

    def until_cut(body):
        with contextlib.suppress(http1.ConnectionClosed, OSError):
            body()

    threads = [threading.Thread(target=until_cut, args=(body,)) for body in (push, read)]
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: flood.sent > 1024 * 1024, "the flood has begun")
        for _ in range(10):
            assert service.invoke("hello").status == 200
    finally:
        stop.set()
        socket.socket.shutdown(socket_module.SHUT_RDWR)
        for thread in threads:
            thread.join()
