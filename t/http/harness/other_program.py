"""A program that has nothing to do with the agent and answers HTTP on some address."""

import http.server
import socket
import threading

from .ports import free_port


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class OtherProgram:
    def __init__(self, address):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        server = type("Server", (http.server.ThreadingHTTPServer,), {"address_family": family})
        self.port = free_port()
        self._server = server((address, self.port), _Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
