"""The time at which the sockets of a draining worker are closed."""

import select

from harness.agents import DEMO
from harness.waiting import wait_until
from harness.websocket import PING, PONG, WebSocket, frame


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
