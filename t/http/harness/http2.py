"""HTTP/2 over cleartext with prior knowledge, based on python3-h2."""

import json
import socket

import h2.config
import h2.connection
import h2.events
import h2.exceptions

from . import environment
from .http1 import ConnectionClosed, Reply

_RECEIVE_BYTES = 65536


class Http2Connection:
    """One connection. Requests return stream ids; answers are collected per id."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(environment.PATIENCE)
        self.state = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.state.initiate_connection()
        self.replies = {}
        self.ended = set()
        self.reset_codes = {}
        self._flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _flush(self):
        data = self.state.data_to_send()
        if data:
            self.socket.sendall(data)

    def request(self, method, target, headers=(), body=None, end=True):
        """Sends a request; returns its stream id. With end=False, more DATA may follow."""
        headers = list(headers.items() if isinstance(headers, dict) else headers)
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            headers.append(("content-type", "application/json"))
        fields = [
            (":method", method),
            (":path", target),
            (":scheme", "http"),
            (":authority", "localhost"),
        ]
        fields += [(name.lower(), value) for name, value in headers]
        stream = self.state.get_next_available_stream_id()
        self.state.send_headers(stream, fields, end_stream=end and not body)
        self._flush()
        if body:
            self.send_data(stream, body, end)
        return stream

    def send_data(self, stream, body, end=True):
        """Sends DATA as the flow-control window allows."""
        while body:
            room = min(
                self.state.local_flow_control_window(stream), self.state.max_outbound_frame_size
            )
            if room == 0:
                self.receive()
                continue
            piece, body = body[:room], body[room:]
            self.state.send_data(stream, piece, end_stream=end and not body)
            self._flush()

    def cancel(self, stream):
        self.state.reset_stream(stream, error_code=8)
        self._flush()

    def receive(self, acknowledge=True):
        """Handles the data of one recv. Without `acknowledge` the stream's window is not
        refilled."""
        try:
            data = self.socket.recv(_RECEIVE_BYTES)
        except ConnectionResetError as error:
            raise ConnectionClosed("reset by the server") from error
        if not data:
            raise ConnectionClosed("closed by the server")
        for event in self.state.receive_data(data):
            self._handle(event, acknowledge)
        self._flush()

    def _handle(self, event, acknowledge):
        if isinstance(event, h2.events.ResponseReceived):
            fields = dict(event.headers)
            headers = [(k, v) for k, v in event.headers if not k.startswith(":")]
            self.replies[event.stream_id] = Reply(int(fields[":status"]), headers, version="HTTP/2")
        elif isinstance(event, h2.events.DataReceived):
            self.replies[event.stream_id].body += event.data
            if acknowledge and event.flow_controlled_length:
                self.state.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self.ended.add(event.stream_id)
        elif isinstance(event, h2.events.StreamReset):
            self.reset_codes[event.stream_id] = event.error_code

    def read_reply(self, stream):
        while stream not in self.ended:
            if stream in self.reset_codes:
                raise ConnectionClosed(f"stream reset with code {self.reset_codes[stream]}")
            self.receive()
        return self.replies[stream]


def fetch(port, method, target, headers=(), body=None):
    """Sends one request on a new connection."""
    with Http2Connection(port) as connection:
        return connection.read_reply(connection.request(method, target, headers, body))
