"""Free TCP ports below the kernel's ephemeral range, so that outgoing connections cannot use
them. Servers of the harness use them, too: a port that the kernel chooses belongs to anybody as soon
as its server is closed, and then a test that expects a refused connection may find another test's
server."""

import os
import random
import socket

_FIRST, _LAST = 10240, 32000
_reserved = {}
_given = set()
_random = random.Random(os.getpid())


def free_port():
    """Returns an unused port of 127.0.0.1. This process never returns it again, and no other test
    run on this machine gets it while this one is running, whether or not a server listens on it."""
    for _ in range(1000):
        port = _random.randint(_FIRST, _LAST)
        if port in _given:
            continue
        reservation = socket.socket()
        try:
            # The bind is exclusive, because SO_REUSEADDR is not set yet. It is set afterwards: then
            # servers, which all set it, may listen on the port, while another reservation fails.
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
    """Ends all reservations. Call when the servers of a test have stopped."""
    while _reserved:
        _reserved.popitem()[1].close()
