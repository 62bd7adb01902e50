"""The connections between the workers and the state server are cut while clients write."""

import ctypes
import errno
import os
import socket
import stat

import pytest

from harness.agents import behaviour
from harness.ledger import judge, progress, run_writers, settle
from harness.waiting import wait_until

_WRITERS = 4
_WORKERS = 2
_PIDFD_GETFD = 438  # the number of the system call


def _is_clients(one):
    """True for a connection of a client that is not cut."""
    listens = one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    if one.family != socket.AF_UNIX or listens or "owner" not in str(one.getsockname()):
        return False
    try:
        return one.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def _connections(pid):
    """Copies of the state server's sockets to its clients, which act on the same connections."""
    libc = ctypes.CDLL(None, use_errno=True)
    process = os.pidfd_open(pid)
    found = []
    try:
        for descriptor in map(int, os.listdir(f"/proc/{pid}/fd")):
            copy = libc.syscall(_PIDFD_GETFD, process, descriptor, 0)
            if copy < 0:
                assert ctypes.get_errno() == errno.EBADF  # it was closed meanwhile
            elif not stat.S_ISSOCK(os.fstat(copy).st_mode):
                os.close(copy)
            elif _is_clients(one := socket.socket(fileno=copy)):
                found.append(one)
            else:
                one.close()
    finally:
        os.close(process)
    return found


def _cut_connections(pid, count):
    """Cuts the connections of a state server's clients from outside, when there are so many."""

    def all_of_them():
        found = _connections(pid)
        if len(found) >= count:
            return found
        for one in found:
            one.close()
        return None

    for one in wait_until(all_of_them, f"{count} clients are connected"):
        one.shutdown(socket.SHUT_RDWR)
        one.close()


@pytest.mark.leveldb("its state server")
@pytest.mark.needs_root
@pytest.mark.skipif(os.getuid() != 0, reason="takes descriptors of another process")
def test_connections_that_are_cut_lose_and_repeat_nothing(start_service):
    service = start_service(behaviour("echo", store="leveldb", embedding="hash"), workers=_WORKERS)

    def cut(writers):
        for _ in range(10):
            (owner,) = service.cache_managers()
            _cut_connections(owner.pid, _WORKERS)
            progress(writers)

    writers = run_writers(service, _WRITERS, cut)
    settle(service)
    assert sum(writer.refused for writer in writers) == 0
    judge(service, writers)
