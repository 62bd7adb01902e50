"""Free TCP ports below the kernel's ephemeral range, where no outgoing connection can take them."""

import os
import random
import socket

_FIRST, _LAST = 10240, 32000
_reserved = {}
_given = set()
_random = random.Random(os.getpid())


def free_port():
    """A port of 127.0.0.1 where nobody listens. It is never given twice by this process, nor to
    another test run on this machine while the test goes on, whether something listens on it or not."""
    for _ in range(1000):
        port = _random.randint(_FIRST, _LAST)
        if port in _given:
            continue
        reservation = socket.socket()
        try:
            # Exclusive, as it does not share the address yet. From then on servers may listen beside
            # it, as they all share theirs, while another reservation fails.
            reservation.bind(("127.0.0.1", port))
        except OSError:
            reservation.close()
            continue
        reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _given.add(port)
        _reserved[port] = reservation
        return port
    raise RuntimeError("no free port")


def release_ports():
    """Ends all reservations, when the servers of a test have gone."""
    while _reserved:
        _reserved.popitem()[1].close()
