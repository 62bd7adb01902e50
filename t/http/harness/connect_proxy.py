"""A proxy that understands CONNECT and leads everybody to one port of this machine."""

import socket
import threading


class ConnectProxy:
    """`asked`: the targets that clients named."""

    def __init__(self, port_behind):
        self._port_behind = port_behind
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.asked = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(4096)
        method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
        assert method == "CONNECT"
        self.asked.append(target)
        behind = socket.create_connection(("127.0.0.1", self._port_behind))
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        threading.Thread(target=_copy, args=(behind, client), daemon=True).start()
        _copy(client, behind)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.close()


def _copy(source, target):
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass
