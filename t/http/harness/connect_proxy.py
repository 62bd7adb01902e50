"""A proxy that supports CONNECT and connects every client to the same local port."""

import contextlib
import socket
import threading

from .ports import free_port


class ConnectProxy:
    """`asked`: the targets that clients requested."""

    def __init__(self, port_behind):
        self._port_behind = port_behind
        self._listener = socket.create_server(("127.0.0.1", free_port()))
        self.port = self._listener.getsockname()[1]
        self.asked = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                piece = client.recv(4096)
                if not piece:
                    return
                head += piece
            method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
            assert method == "CONNECT"
            self.asked.append(target)
            with socket.create_connection(("127.0.0.1", self._port_behind)) as behind:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=_copy, args=(behind, client), daemon=True)
                back.start()
                _copy(client, behind)
                back.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)  # unblocks accept()
        self._thread.join()
        self._listener.close()


def _copy(source, target):
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)  # also if the source was reset
