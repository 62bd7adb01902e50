"""The memory of an idle WebSocket does not depend on the runs that it has had."""

import pytest

from harness import environment, processes
from harness.agents import DEMO
from harness.graph_socket import open_socket
from harness.service import invocation

pytestmark = pytest.mark.skipif(
    bool(environment.SANITIZER), reason="a sanitizer's allocator, shadow and quarantine are not ours"
)

_SOCKETS = 300


def test_an_idle_socket_keeps_no_buffer_of_its_run(start_service):
    # Without a checkpointer the worker keeps no windows of threads, which would count, too.
    settings = DEMO | {"checkpointer": "none"}
    service = start_service(settings, workers=1, location="agent_graph_ws_ping off;")
    sockets = [open_socket(service) for _ in range(_SOCKETS)]
    (worker,) = service.workers()

    # The agent repeats the last message. One run after the other, so that they share what one takes.
    def run(socket):
        socket.send_json(invocation("x" * 12_000))
        assert socket.read_run()[-1]["data"]["status"] == "done"

    for socket in sockets[:10]:  # on all threads
        run(socket)
    before = processes.resident_bytes(worker.pid)
    for socket in sockets:
        run(socket)
    assert (processes.resident_bytes(worker.pid) - before) / _SOCKETS < 6 * 1024
