"""The sockets of a worker that leaves: when they are closed, and runs that go on without them."""

import select

import pytest

from harness.agents import DEMO, asking
from harness.run_stream import wait_for_result
from harness.service import invocation
from harness.stream import is_done
from harness.waiting import wait_until
from harness.websocket import CLOSE, PING, PONG, WebSocket, frame


def test_sockets_are_told_one_by_one(start_service):
    """Closed clients reconnect at once, so sockets are closed at different times."""
    service = start_service(DEMO, http="agent_graph_shutdown_jitter 60s;", workers=1)
    waiting = [WebSocket(service.port).upgrade() for _ in range(20)]
    service.reload()
    told, _, _ = select.select([one.socket for one in waiting], [], [])
    others = [one for one in waiting if one.socket not in told]
    for one in others:
        one.send(frame(PING, b"still there?"))
    assert PONG in [one.read_frame().opcode for one in others], "all were told at once"
    for one in waiting:
        one.close()
    wait_until(lambda: not service.draining_workers(), "the old worker has gone")


@pytest.mark.parametrize("chosen", [{"on_disconnect": "continue"}, {}])
def test_a_run_that_leaves_for_another_worker_has_no_outcome_yet(start_service, gated_provider, chosen):
    """The client reads the end elsewhere: here no chunk says how the run ended."""
    service = start_service(asking(gated_provider), workers=1, shutdown_timeout="0", http="agent_graph_handover 1s;")
    socket = WebSocket(service.port).upgrade()
    body = invocation("go", config={"thread_id": "t", "run_id": "r"} | chosen)
    socket.send_json(body if chosen else body | {"idempotency_key": "k"})
    gated_provider.wait_for_waiting(1)
    service.reload()
    chunks = []
    while (received := socket.read_frame()).opcode != CLOSE:
        if received.opcode != PING:
            chunks.append(received.json())
    assert received.close_code == 1001
    assert chunks and not [c for c in chunks if is_done(c) or c["event"] == "error"]
    assert service.get("/v1/threads/t/runs/r").json()["data"]["status"] == "running"
    gated_provider.open_gate()
    assert wait_for_result(service, "t").json()["data"]["messages"][-1]["role"] == "assistant"
    assert service.get("/v1/threads/t/runs/r").json()["data"]["status"] == "done"
