"""A stream whose client does not read: its lines wait outside of nginx, which walks all buffers of
a reply at each write, and arrive completely when the client finally reads."""

import re
import ssl

import pytest

from harness import environment, http2
from harness.certificate import self_signed
from harness.http1 import Connection, fetch
from harness.messages import text_of
from harness.ports import free_port
from harness.service import invocation
from harness.stream import is_done
from harness.waiting import wait_until
from harness.websocket import WebSocket

_STREAM = "/v1/graph/stream"
# One line per millisecond, and several times what the kernel, an HTTP/2 window and the credit hold.
_TEXT = " ".join(f"word{number}" for number in range(2500))
# At most 16 pieces of 16 KiB are passed to nginx at a time; at the end of a reply, everything
# within its credit, 256 KiB. The chunked coding adds a few links.
_LINKS_MAX = 24
_BYTES_MAX = 300 * 1024


def _demo(delay_ms):
    model = {"provider": "demo", "parameters": {"delay_ms": delay_ms}}
    return {"agent": "graphs/support.json:app", "models": {"default": model}}


def _start(start_service, *, delay_ms=1, settings=None, **configuration):
    """One worker with small socket buffers, and its status on a separate port."""
    port = free_port()
    status = f"server {{ listen 127.0.0.1:{port}; location / {{ agent_graph_status format=json; }} }}"
    listen = "sndbuf=64k " + configuration.pop("listen", "")
    service = start_service(
        settings or _demo(delay_ms), workers=1, listen=listen, http=status, **configuration
    )
    service.status_port = port
    return service


def _status(service):
    (status,) = fetch(service.status_port, "GET", "/").json()["services"]
    return status


def _wait_until_stalled(service):
    """The producer waits for credit, and the event loop has taken all its output."""

    def stalled():
        status = _status(service)
        return status["credit_stalls"] > 0 and status["outbox_items"] == 0

    wait_until(stalled, "the stream has run out of credit", 30)


def _check(lines):
    deltas = [line["message"] for line in lines if line["event"] == "message"]
    parts = [text_of(message) for message in deltas if message["delta"]]
    (whole,) = [text_of(message) for message in deltas if not message["delta"]]
    assert "".join(parts) == whole == f"You said: {_TEXT}"
    assert len(parts) >= 2500
    assert is_done(lines[-1])


class _Http1:
    def open(self, service):
        self.connection = Connection(service.port, receive_buffer=4096)
        self._wrap()
        headers = {"Accept": "application/x-ndjson"}
        self.connection.request("POST", _STREAM, headers, invocation(_TEXT))
        self.reply = self.connection.read_head()
        assert self.reply.status == 200

    def _wrap(self):
        pass

    def read(self):
        self.reply.body = b"".join(self.connection.body_pieces(self.reply))
        return self.reply


class _Tls(_Http1):
    def _wrap(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.connection.socket = context.wrap_socket(self.connection.socket)


class _Http2:
    """The HTTP/2 window is not opened until the rest is read."""

    def open(self, service):
        self.connection = http2.Http2Connection(service.http2_port)
        self.stream = self.connection.request("POST", _STREAM, body=invocation(_TEXT))
        while self.stream not in self.connection.replies:
            self.connection.receive(acknowledge=False)
        assert self.connection.replies[self.stream].status == 200

    def read(self):
        state, received = self.connection.state, len(self.connection.replies[self.stream].body)
        state.increment_flow_control_window(1 << 20)
        state.increment_flow_control_window((1 << 20) + received, stream_id=self.stream)
        return self.connection.read_reply(self.stream)


def _write_filter_calls(service):
    """For each call of nginx's last filter: the number of links that it walked, and their bytes."""
    calls, links = [], {}
    for line in service.error_log.lines(r"write (old|new) buf|http write filter: l:"):
        connection = re.search(r"(\d+#\d+: \*\d+)", line)[1]
        if found := re.search(r"http write filter: l:\d f:\d s:(\d+)", line):
            calls.append((links.pop(connection, 0), int(found[1])))
        else:
            links[connection] = links.get(connection, 0) + 1
    return calls


@pytest.mark.parametrize("client", [_Http1(), _Tls(), _Http2()], ids=["http1", "tls", "http2"])
def test_lines_wait_outside_of_nginx(start_service, directory, client):
    shape = {}
    if isinstance(client, _Tls):
        certificate, key = self_signed(directory)
        server = f'ssl_certificate "{certificate}"; ssl_certificate_key "{key}";'
        shape = {"listen": "ssl", "server": server}
    service = _start(
        start_service, http2=isinstance(client, _Http2), log_level="debug", **shape
    )
    client.open(service)
    _wait_until_stalled(service)
    _check(client.read().lines())
    calls = _write_filter_calls(service)
    assert max(links for links, _ in calls) <= _LINKS_MAX
    assert max(size for _, size in calls) <= _BYTES_MAX
    # A few links per line while the client keeps up, and none while it does not.
    assert sum(links for links, _ in calls) < 8 * 2500


@pytest.mark.parametrize(
    "location",
    [
        "limit_rate 400k;",
        "sendfile_max_chunk 4k; postpone_output 0;",
        "output_buffers 1 1k; postpone_output 16k;",
        pytest.param(
            "sub_filter nothing something; sub_filter_types application/x-ndjson; sub_filter_once off;",
            marks=pytest.mark.skipif(bool(environment.SANITIZER), reason="that nginx has no sub_filter"),
        ),
        "gzip on; gzip_types application/x-ndjson; gzip_min_length 1;",
    ],
)
def test_other_filters_pass_a_slow_stream_on(start_service, location):
    service = _start(start_service, location=location)
    client = _Http1()
    client.open(service)
    _wait_until_stalled(service)
    _check(client.read().lines())


def test_a_websocket_that_is_not_read(start_service):
    service = _start(start_service)
    socket = WebSocket(service.port, receive_buffer=4096).upgrade()
    socket.send_json(invocation(_TEXT))
    _wait_until_stalled(service)
    lines = []
    while not lines or not is_done(lines[-1]):
        lines.append(socket.read_json())
    _check(lines)


def test_a_reader_that_stands_still_is_given_up_although_lines_come(start_service):
    """New lines from a producer do not count as activity of the client."""
    service = _start(
        start_service,
        delay_ms=400,
        location="send_timeout 2s; agent_graph_buffers 10m 5m;",
    )
    filler = "x" * 10_000
    stream = service.stream(f"{filler} " * 90, receive_buffer=4096)
    assert stream.read_head().status == 200
    wait_until(lambda: service.error_log.lines("client timed out"), "the reader is given up")
    assert not stream.is_whole()


def test_readers_that_stand_still_leave_memory_for_others(start_service):
    """Together they could queue more than the worker may hold."""
    bound, clients = 4 << 20, 40
    settings = {**_demo(0), "limits": {"buffered_bytes_max": bound, "json_bytes_max": 1 << 20}}
    # However long it takes until all have stalled.
    service = _start(start_service, settings=settings, location="send_timeout 10m;")
    text = " ".join(["a"] * 2500)  # 1.2 MB of lines
    streams = [service.stream(text, receive_buffer=4096) for _ in range(clients)]
    assert {stream.read_head().status for stream in streams} == {200}
    wait_until(lambda: _status(service)["credit_stalls"] >= clients, "the streams have stalled", 60)
    assert service.invoke("hello").status == 200
    assert _status(service)["buffered_bytes"] < bound
    for stream in streams[:3]:
        assert stream.ended_with_done()
