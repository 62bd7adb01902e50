"""An HTTP server that resets kept connections: from a moment that the test chooses, requests on
them are read and then reset."""

import http.server
import socket
import struct
import threading

from .ports import free_port


class ResettingPeer:
    """`answer(method, path, body)` returns (content type, bytes). `resets` selects the requests
    that are reset: "none", those on "kept" connections (which have had an answer), or "all"."""

    def __init__(self, answer):
        self.resets = "none"
        self._lock = threading.Lock()
        self._requests = []
        self._expected = 0
        self._together = threading.Condition(self._lock)
        peer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            answers = 0

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if peer._refuses(self.command, self.path, kept=self.answers > 0):
                    linger = struct.pack("ii", 1, 0)
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    self.close_connection = True
                    return
                self.answers += 1
                content_type, data = answer(self.command, self.path, body)
                self.send_response(200)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = handle_any

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 128
            daemon_threads = True

            def shutdown_request(self, request):
                self.close_request(request)  # no orderly shutdown before the reset

        self._server = Server(("127.0.0.1", free_port()), Handler)
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self.url = f"http://{self.host}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def requests(self):
        """(method, path) of each request, including those that were reset."""
        with self._lock:
            return list(self._requests)

    def hold_until(self, count):
        """Answers the next `count` requests only when all of them have arrived, so that a client
        needs as many connections and keeps them."""
        with self._lock:
            self._expected = len(self._requests) + count

    def _refuses(self, method, path, kept):
        with self._lock:
            self._requests.append((method, path))
            self._together.notify_all()
            self._together.wait_for(lambda: len(self._requests) >= self._expected)
            return self.resets == "all" or (self.resets == "kept" and kept)

    def close(self):
        with self._lock:
            self._expected = 0
            self._together.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
