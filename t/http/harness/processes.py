"""What /proc says about the processes of one nginx. Its daemon starts a session, which workers,
helpers and an upgraded binary all inherit: the session is the identity of an instance."""

import ctypes
import dataclasses
import os
import pathlib

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """Makes this process the parent of processes whose own parent has gone, so that it can reap
    them; otherwise a dead one would look alive for as long as nobody does."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@dataclasses.dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    session: int
    title: str

    @property
    def draining(self):
        return "is shutting down" in self.title


def _read(pid):
    folder = pathlib.Path("/proc") / str(pid)
    try:
        state, parent, _, session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
        title = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    if state in "ZX":
        return None
    return Process(pid, int(parent), int(session), title.strip())


def _reap(pid):
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass


def is_alive(pid):
    _reap(pid)
    return _read(pid) is not None


def in_session(session):
    """The living processes of a session, oldest pid first."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            _reap(int(entry))
            process = _read(int(entry))
            if process is not None and process.session == session:
                found.append(process)
    return sorted(found, key=lambda process: process.pid)


def resident_bytes(pid):
    """Resident memory, pages shared with other processes counted in proportion."""
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))
