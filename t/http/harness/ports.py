"""Free TCP ports below the kernel's ephemeral range, where no outgoing connection can take them."""

import os
import random
import socket

_FIRST, _LAST = 10240, 32000
_given = set()
_random = random.Random(os.getpid())


def free_port():
    """A port of 127.0.0.1 nobody listens on, never given twice by this process."""
    for _ in range(1000):
        port = _random.randint(_FIRST, _LAST)
        if port in _given:
            continue
        with socket.socket() as candidate:
            candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                candidate.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port
    raise RuntimeError("no free port")
