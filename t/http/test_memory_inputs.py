"""Many uploads at once, and floods of frames to live sessions. What a worker holds stays bounded."""

import pytest

from harness import environment
from harness.agents import DEMO
from harness.live import LiveClient
from harness.uploads import upload
from harness.websocket import BINARY, TEXT, frame
from harness.worker_memory import MIB, at_once, peaks_within, start_watched, status_of

pytestmark = pytest.mark.skipif(
    bool(environment.SANITIZER), reason="a sanitizer's allocator, shadow and quarantine are not ours"
)

_BOUND = 64 * MIB
_LIMITS = {"limits": {"buffered_bytes_max": _BOUND}}
_FLOOD_BYTES = 6 * MIB


@pytest.mark.parametrize("location", ["", "client_body_buffer_size 16m;"])
@pytest.mark.parametrize(
    "filename, content_type, data",
    [
        ("file.bin", "application/octet-stream", bytes(10 * MIB)),
        ("file.txt", "text/plain", b"word " * (2 * MIB)),
    ],
    ids=["binary", "text"],
)
def test_uploads_at_once(start_service, filename, content_type, data, location):
    service = start_watched(start_service, DEMO | _LIMITS, location=location)
    assert service.invoke("hi").status == 200
    with peaks_within(service, _BOUND):
        replies = at_once(32, lambda _: upload(service, data, filename, content_type))
        statuses = {reply.status for reply in replies}
        # A request that gets no memory for half a minute is refused.
        assert 200 in statuses and statuses <= {200, 503}


@pytest.mark.parametrize(
    "opcode, payload",
    [
        (BINARY, bytes(MIB)),
        (BINARY, bytes(320)),
        (TEXT, '{"type":"text","text":"%s"}' % ("x" * (MIB - 64))),
        (TEXT, '{"type":"text","text":"x"}'),
    ],
    ids=["much audio", "little audio", "long text", "short text"],
)
def test_floods_of_live_sessions(start_service, live_provider, opcode, payload):
    """The provider accepts no session, so that all frames wait."""
    service = start_watched(start_service, live_provider.settings() | _LIMITS)
    clients = [LiveClient(service.port).start() for _ in range(30)]
    for _ in clients:
        live_provider.accept()
    one = frame(opcode, payload)
    flood = one * (_FLOOD_BYTES // len(one))

    def send(number):
        try:
            clients[number].send(flood)
        except OSError:  # the session has ended
            return

    with peaks_within(service, _BOUND):
        at_once(len(clients), send)
        for client in clients:
            client.reset()
