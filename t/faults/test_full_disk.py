"""Tests with a disk that is really full: the state is on a small file system of its own."""

import concurrent.futures
import contextlib
import os
import secrets
import subprocess
import threading

import pytest

from harness.admin import PROGRAM, admin
from harness.agents import behaviour
from harness.ledger import judge, progress, run_writers, settle
from harness.messages import user
from harness.uploads import uploaded
from harness.waiting import wait_until

pytestmark = pytest.mark.leveldb("the disk of its files")

_MEGABYTES = 96


@pytest.fixture
def small_disk(tmp_path):
    """mount(directory) mounts a small file system there."""
    mounted = []

    def mount(directory, megabytes=_MEGABYTES):
        directory.mkdir(exist_ok=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0755", "none", directory],
            capture_output=True, text=True, check=False,
        )
        if done.returncode != 0:
            pytest.skip(f"needs the right to mount: {done.stderr.strip()}")
        mounted.append(directory)

    yield mount
    for directory in reversed(mounted):
        subprocess.run(["umount", "-l", directory], check=True)


@pytest.fixture
def make_service(small_disk, make_service):
    """Stops the services before their disk is unmounted: they would report the loss of it."""
    del small_disk
    return make_service


def _fill(filler):
    """Uses up all free space."""
    with open(filler, "ab", buffering=0) as file:
        for portion in (1 << 20, 4096):
            with contextlib.suppress(OSError):
                while file.write(bytes(portion)):
                    pass


def _fill_but(filler, directory, room):
    """Leaves only `room` bytes free. A compaction may hold some of them for a while."""

    def excess():
        left = os.statvfs(directory)
        return max(0, left.f_bavail * left.f_frsize - room)

    wait_until(excess, "there is more room than that")
    with open(filler, "wb", buffering=0) as file:
        os.posix_fallocate(file.fileno(), 0, excess())


def test_a_backup_that_does_not_fit_leaves_the_room(make_service, small_disk):
    service = make_service(behaviour("echo", store="leveldb", embedding="hash"))
    disk = service.directory / "state"
    small_disk(disk)
    service.start()
    service.error_log.allow(r"is not available|No space left on device")

    def append(size):
        message = {"messages": [user(secrets.token_hex(size // 2))]}
        return service.post("/v1/threads/t/messages", message).status == 200

    for _ in range(60):
        assert append(500_000)
    # Lets the database finish its background work: with so little space it could not complete a
    # compaction.
    service.stop()
    service.wait_until_gone()
    admin("verify", disk / "test")
    service.start()
    _fill_but(disk / "filler", disk, 20 << 20)
    for name in ("first", "second"):
        assert "too little room" in admin("backup", disk / "test", name, code=1)
        assert [path.name for path in (disk / "test/backups").iterdir()] == [".lock"]
    wait_until(lambda: append(100), "messages are stored")


def test_a_small_backup_leaves_the_room_of_a_full_disk(make_service, small_disk):
    service = make_service(behaviour("echo"))
    disk = service.directory / "state"
    small_disk(disk)
    service.start()
    assert service.invoke("hello").status == 200
    _fill_but(disk / "filler", disk, 1 << 20)
    assert "too little room" in admin("backup", disk / "test", "small", code=1)
    assert [path.name for path in (disk / "test/backups").iterdir()] == [".lock"]
    (disk / "filler").unlink()
    assert "rows" in admin("backup", disk / "test", "small")


def test_a_backup_of_files_from_another_disk_leaves_the_room(make_service, small_disk):
    service = make_service(behaviour("echo", store="leveldb", embedding="hash")
                           | {"media": {"storage_path": "media/files"}})
    disk = service.directory / "state"
    small_disk(disk)
    service.start()
    uploads = disk / "test/media/files"
    owner = (disk / "test").stat()
    uploads.parent.mkdir()
    small_disk(uploads)
    for folder in (uploads.parent, uploads):
        os.chown(folder, owner.st_uid, owner.st_gid)
    for _ in range(4):
        uploaded(service, secrets.token_bytes(10 << 20))

    def append():
        message = {"messages": [user("x" * 1000)]}
        return service.post("/v1/threads/t/messages", message).status

    assert append() == 200
    _fill_but(disk / "filler", disk, 30 << 20)
    command = ["backup", disk / "test", "b", uploads]
    with subprocess.Popen([PROGRAM, *command], stderr=subprocess.PIPE, text=True) as backup:
        while backup.poll() is None:
            assert append() == 200
        assert backup.returncode == 1 and "too little room" in backup.stderr.read()
    assert [path.name for path in (disk / "test/backups").iterdir()] == [".lock"]
    assert append() == 200
    # With enough space the backup succeeds.
    (disk / "filler").unlink()
    assert "4 files" in admin(*command)


def test_a_full_disk_is_503_and_passes_when_there_is_room(make_service, small_disk):
    service = make_service(behaviour("echo", store="leveldb", embedding="hash"))
    disk = service.directory / "state"
    small_disk(disk)
    service.start()
    service.error_log.allow(r"is not available|No space left on device")
    before = {process.pid for process in service.workers() + service.cache_managers()}

    def fill_up(writers):
        filler = disk / "filler"

        def while_full(condition, what):
            # The database may free some space meanwhile, so the disk is filled again before each
            # check.
            def check():
                _fill(filler)
                return condition()

            return wait_until(check, what)

        def refused(reply):
            return reply if reply.status == 503 else None

        for _ in range(2):
            # LevelDB first uses up the pages that it has already reserved.
            counts = [writer.refused for writer in writers]
            while_full(
                lambda: all(w.refused > count for w, count in zip(writers, counts)),
                "writes are refused",
            )
            message = {"messages": [user("x")]}
            reply = while_full(
                lambda: refused(service.post("/v1/threads/another/messages", message)),
                "a message is refused",
            )
            assert reply.header("Retry-After"), reply.text
            assert reply.json()["error"]["code"] == "SERVICE_UNAVAILABLE"
            while_full(
                lambda: refused(service.invoke("hello", config={"thread_id": "another"})),
                "a run is refused",
            )
            assert service.get("/ping").status == 200
            filler.unlink()
            progress(writers)

    writers = run_writers(service, 4, fill_up)
    settle(service)
    judge(service, writers)
    assert before == {p.pid for p in service.workers() + service.cache_managers()}, "no restart"
    admin("verify", disk / "test")


def test_a_full_disk_is_not_ready(make_service, small_disk):
    """GET /ready names the disk, and only it, while the disk is full; reads go on."""
    service = make_service(behaviour("echo"))
    disk = service.directory / "state"
    small_disk(disk)
    service.start()
    assert _append(service, "t").status == 200
    wait_until(lambda: service.get("/ready").status == 200, "it is ready")

    def full():
        # The database may free some space meanwhile.
        _fill(disk / "filler")
        reply = service.get("/ready")
        return reply if reply.status == 503 else None

    reply = wait_until(full, "it is not ready")
    assert reply.json()["detail"] == "not ready: disk"
    assert [each["loc"] for each in reply.json()["error"]["details"]] == [["disk"]]
    assert service.get("/ping").status == 200
    assert service.get("/v1/threads/t/messages").status == 200
    (disk / "filler").unlink()
    wait_until(lambda: service.get("/ready").status == 200, "it is ready again")
    assert _append(service, "t").status == 200


_SETTINGS = behaviour("echo", store="leveldb", embedding="hash")


def _append(service, thread, size=100):
    message = {"messages": [user(secrets.token_hex(size // 2))]}
    return service.post(f"/v1/threads/{thread}/messages", message)


def _store_memory(service, content):
    return service.post("/v1/store/memories", {"content": content})


def _refused(reply):
    """True if the request was refused correctly, so that the client may retry."""
    if reply.status != 503:
        return False
    assert reply.header("Retry-After"), reply.text
    assert reply.json()["error"]["code"] == "SERVICE_UNAVAILABLE"
    return True


def _fill_with(service, disk, threads):
    """Stores messages in each thread, then fills the disk until messages are refused. Also stores a
    memory; returns its path."""
    for number in range(threads):
        for _ in range(10):
            assert _append(service, f"t{number}", 400_000).status == 200
    memory = _store_memory(service, "a memory")
    assert memory.status == 200

    # Lets the database finish its background work: the filler would also take space that a
    # compaction frees.
    service.stop()
    service.wait_until_gone()
    admin("verify", disk / "test")
    service.start()
    _fill(disk / "filler")
    wait_until(lambda: _refused(_append(service, "t0", 100_000)), "a message is refused")
    return f"/v1/store/memories/{memory.json()['data']['memory_id']}"


def _assert_reads(service, threads):
    for number in threads:
        reply = service.get(f"/v1/threads/t{number}/messages?limit=5")
        assert reply.status == 200 and len(reply.json()["data"]["messages"]) == 5, reply.text
        assert service.get(f"/v1/threads/t{number}").status == 200
    assert service.get("/v1/threads").status == 200
    assert service.post("/v1/store/memories/list", {}).status == 200


def _assert_refuses(service):
    for _ in range(10):
        assert _refused(_append(service, "t0"))
        assert _refused(_append(service, "new"))
    assert _refused(service.invoke("hello", config={"thread_id": "t0"}))
    assert _refused(service.request("PUT", "/v1/threads/t0/state", {"state": {}}))
    assert _refused(_store_memory(service, "m3"))


@pytest.mark.parametrize("restarted", [False, True], ids=["serving", "restarted"])
def test_a_full_disk_goes_on_with_reads_and_deletes(make_service, small_disk, restarted):
    """Deleting frees space, and then writes succeed again although the filler is still there."""
    service = make_service(_SETTINGS)
    disk = service.directory / "state"
    small_disk(disk)
    service.start()
    service.error_log.allow(r"is not available|No space left on device")
    memory = _fill_with(service, disk, 8)
    if restarted:
        service.kill_all()
        service.start()
    _assert_reads(service, range(8))
    _assert_refuses(service)
    if not restarted:
        full = "is not available for writing: the disk is full"
        wait_until(lambda: service.error_log.lines(full), "it is logged")
    first = service.get("/v1/threads/t0/messages?limit=1").json()["data"]["messages"][0]
    assert service.request("DELETE", f"/v1/threads/t0/messages/{first['message_id']}").status == 200
    assert service.request("DELETE", memory).status == 200
    for number in range(1, 7):
        assert service.request("DELETE", f"/v1/threads/t{number}", {}).status == 200
        assert service.get(f"/v1/threads/t{number}").status == 404
    _assert_reads(service, (0, 7))
    wait_until(lambda: _append(service, "t0").status == 200, "there is space again")
    wait_until(lambda: _store_memory(service, "m3").status == 200, "a memory is stored")
    assert service.invoke("hello", config={"thread_id": "t7"}).status == 200
    service.stop()
    service.wait_until_gone()
    assert "0 problems" in admin("verify", disk / "test")


def test_a_restart_on_a_full_disk_gives_none_of_the_reserve_away(make_service, small_disk):
    """The reserve grows with the free space that there was when it was made."""
    service = make_service(_SETTINGS)
    disk = service.directory / "state"
    small_disk(disk, megabytes=1200)
    service.start()
    service.error_log.allow(r"is not available|No space left on device")
    reserve = disk / "test/db/RESERVE"
    complete = reserve.stat().st_size
    assert complete > 140 << 20
    _fill_with(service, disk, 1)
    for _ in range(2):
        service.kill_all()
        _fill(disk / "filler")
        service.start()
        # The restart may free enough for the whole reserve, but must not take a part for the whole.
        assert _refused(_append(service, "t0")) or reserve.stat().st_size > 128 << 20
    (disk / "filler").unlink()
    wait_until(lambda: _append(service, "t0").status == 200, "there is space again")
    wait_until(lambda: reserve.stat().st_size == complete, "the reserve is complete")


@contextlib.contextmanager
def _readers(service, count, thread):
    """Reads the messages of a thread from several connections, all the time."""
    stop = threading.Event()

    def read():
        while not stop.is_set():
            assert service.get(f"/v1/threads/{thread}/messages?limit=1").status == 200

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        reads = [pool.submit(read) for _ in range(count)]
        try:
            yield
        finally:
            stop.set()
        for each in reads:
            each.result()


def test_space_is_freed_while_many_read(make_service, small_disk):
    """A reader keeps the files of a compaction that has just ended. The next compaction may need their
    space."""
    service = make_service(_SETTINGS)
    disk = service.directory / "state"
    small_disk(disk)
    service.start()
    service.error_log.allow(r"is not available|No space left on device")
    _fill_with(service, disk, 8)
    with _readers(service, 8, "t7"):
        for number in range(7):
            assert service.request("DELETE", f"/v1/threads/t{number}", {}).status == 200
        wait_until(lambda: _append(service, "new").status == 200, "there is space again")
    service.stop()
    service.wait_until_gone()
    assert "0 problems" in admin("verify", disk / "test")


def test_a_disk_without_any_room_goes_on_with_reads(make_service, small_disk):
    """The reserve has been used up, too: nothing can be written, not even a deletion."""
    service = make_service(_SETTINGS)
    disk = service.directory / "state"
    small_disk(disk)
    service.start()
    service.error_log.allow(r"is not available|No space left on device")
    _fill_with(service, disk, 4)
    before = {process.pid for process in service.workers() + service.cache_managers()}
    paths = [f"/v1/threads/t{number}/messages" for number in range(4)]
    # Each attempt needs something to delete: the service may refill the reserve just before one.
    messages = [f"{path}/{message['message_id']}" for path in paths
                for message in service.get(f"{path}?limit=5").json()["data"]["messages"]]

    def nothing_left():
        (disk / "test/db/RESERVE").write_bytes(b"")
        _fill(disk / "filler")
        return _refused(service.request("DELETE", messages.pop()))

    wait_until(nothing_left, "a deletion is refused")
    _assert_reads(service, range(4))
    _assert_refuses(service)
    (disk / "filler").unlink()
    wait_until(lambda: _append(service, "t0").status == 200, "messages are stored")
    assert service.request("DELETE", "/v1/threads/t1", {}).status == 200
    _assert_reads(service, (0, 2, 3))
    assert before == {p.pid for p in service.workers() + service.cache_managers()}, "no restart"
    service.stop()
    service.wait_until_gone()
    assert "0 problems" in admin("verify", disk / "test")
