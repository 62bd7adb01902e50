"""Reads the processes of one nginx from /proc. Its daemon starts a session, which workers, helpers
and an upgraded binary inherit, so the session identifies an instance."""

import ctypes
import dataclasses
import os
import pathlib
import signal

from .waiting import wait_until

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """Makes this process the parent of orphaned processes, so that it can reap them; otherwise a
    dead process would still look alive."""
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
    """Returns (state, parent, process group, session) of a process or thread."""
    state, parent, group, session = path.read_text().rpartition(")")[2].split()[:4]
    return state, int(parent), int(group), int(session)


def _read(pid, reap=False):
    """Returns None for a dead process, after reaping it if it is a child of ours."""
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


def _stands_still(thread):
    try:
        return _stat(thread / "stat")[0] in "TZ"
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return True


def freeze(pid):
    """Sends SIGSTOP; returns when every thread is stopped. Without waiting, the signal might take
    effect only after an answer that the test wants to prevent. A process that has just ended stays as a
    zombie if its parent is frozen; it stands still, too. Raises an error if the process has gone."""
    os.kill(pid, signal.SIGSTOP)
    threads = pathlib.Path("/proc") / str(pid) / "task"
    wait_until(lambda: all(map(_stands_still, threads.iterdir())), f"process {pid} stands still")


def thaw(pid):
    os.kill(pid, signal.SIGCONT)


def in_session(session):
    """Returns the living processes of a session, lowest pid first. Only those of the session are
    reaped, because a test collects the exit codes of its other children itself."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and _session_of(int(entry)) == session:
            process = _read(int(entry), reap=True)
            if process is not None:
                found.append(process)
    return sorted(found, key=lambda process: process.pid)


def children(parent):
    """Returns the pids of the living children of a process."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            process = _read(int(entry))
            if process is not None and process.parent == parent:
                found.append(process.pid)
    return sorted(found)


def _session_of(pid):
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def resident_bytes(pid):
    """Returns the memory in bytes that the process has written to, swapped out or not. Pages of
    files are not counted: how many of them count as private depends on other processes of the
    machine."""
    sizes = {}
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, size, _ = line.split()
        sizes[name] = int(size) * 1024
    return sizes["Anonymous:"] + sizes["Swap:"]


def _status_bytes(pid, *names):
    sizes = {}
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        sizes[name] = value
    return [int(sizes[name].split()[0]) * 1024 for name in names]


def file_bytes(pid):
    """Pages of files that the process has in memory, such as programs and libraries."""
    return _status_bytes(pid, "RssFile")[0]


def private_peak_bytes(pid, files_before=0):
    """The most memory that the process ever had, without pages of files. The kernel only knows the
    peak of both together, and may take pages of files away at any time: then `files_before`, what
    file_bytes returned before the peak, is closer to what the peak contains."""
    peak, files = _status_bytes(pid, "VmHWM", "RssFile")
    return peak - max(files, files_before)


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def open_files(pid):
    """Returns the targets of a process's descriptors."""
    targets = []
    for entry in os.listdir(f"/proc/{pid}/fd"):
        try:
            targets.append(os.readlink(f"/proc/{pid}/fd/{entry}"))
        except FileNotFoundError:  # it was closed meanwhile
            pass
    return targets
