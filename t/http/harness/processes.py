"""What /proc says about the processes of one nginx. Its daemon starts a session, which workers,
helpers and an upgraded binary all inherit: the session is the identity of an instance."""

import ctypes
import dataclasses
import os
import pathlib
import signal

from .waiting import wait_until

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


def _stat(path):
    """(state, parent, process group, session) of a process or thread."""
    state, parent, group, session = path.read_text().rpartition(")")[2].split()[:4]
    return state, int(parent), int(group), int(session)


def _read(pid, reap=False):
    """None for a process that is dead, which is then reaped if it is ours to reap."""
    folder = pathlib.Path("/proc") / str(pid)
    try:
        state, parent, _, session = _stat(folder / "stat")
        title = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    if state in "ZX":
        if reap:
            _reap(pid)
        return None
    return Process(pid, parent, session, title.strip())


def _reap(pid):
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass


def is_alive(pid):
    return _read(pid, reap=True) is not None


def freeze(pid):
    """SIGSTOP; returns when every thread stands still. Just sent, the signal may reach the process
    after an answer that the test wants to prevent."""
    os.kill(pid, signal.SIGSTOP)
    threads = pathlib.Path("/proc") / str(pid) / "task"
    wait_until(
        lambda: all(_stat(thread / "stat")[0] == "T" for thread in threads.iterdir()),
        f"process {pid} stands still",
    )


def thaw(pid):
    os.kill(pid, signal.SIGCONT)


def in_session(session):
    """The living processes of a session, lowest pid first. Only those of the session are reaped: the
    exit codes of a test's other children are its own to collect."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and _session_of(int(entry)) == session:
            process = _read(int(entry), reap=True)
            if process is not None:
                found.append(process)
    return sorted(found, key=lambda process: process.pid)


def _session_of(pid):
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def resident_bytes(pid):
    """Memory that the process has written to, swapped out or not. Pages of files are not counted: how
    many of them are its own depends on what other processes of the machine begin and end."""
    sizes = {}
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, size, _ = line.split()
        sizes[name] = int(size) * 1024
    return sizes["Anonymous:"] + sizes["Swap:"]


def peak_bytes(pid):
    """The most memory that the process ever had, pages of files included."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def open_files(pid):
    """What the descriptors of a process refer to."""
    targets = []
    for entry in os.listdir(f"/proc/{pid}/fd"):
        try:
            targets.append(os.readlink(f"/proc/{pid}/fd/{entry}"))
        except FileNotFoundError:  # closed meanwhile
            pass
    return targets
