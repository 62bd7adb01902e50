"""agent-graph-admin on the state of a real nginx."""

import os
import pathlib
import re
import secrets
import shutil
import subprocess

import pytest

from harness import environment, processes
from harness.admin import PROGRAM, admin, memory_texts, run_on, state_of, thread_ids
from harness.agents import behaviour
from harness.memories import store_memory
from harness.uploads import uploaded
from harness.waiting import wait_until

pytestmark = pytest.mark.leveldb("the folder of its database")

_SETTINGS = behaviour("echo", store="leveldb", embedding="hash")


def _backups(service):
    """Returns the names of all backups, complete or not."""
    return {path.name for path in (state_of(service) / "backups").iterdir()} - {".lock"}


@pytest.mark.parametrize("by_name", [True, False], ids=["name", "folder"])
def test_verify_backup_and_restore(start_service, by_name):
    service = start_service(_SETTINGS)
    run_on(service, "kept", "hello")
    store_memory(service, "tea")
    assert "1 threads, 1 memories, 0 problems" in admin("verify", state_of(service))
    # nginx keeps serving meanwhile.
    assert "backups/first" in admin("backup", state_of(service), "first")
    assert "exists" in admin("backup", state_of(service), "first", code=1)
    run_on(service, "later", "hello")
    store_memory(service, "coffee")
    assert "in use" in admin("restore", state_of(service), state_of(service) / "backups/first", code=1)
    assert "in use" in admin("repair", state_of(service), code=1)
    service.stop()
    service.wait_until_gone()
    admin("restore", state_of(service), "first" if by_name else state_of(service) / "backups/first")
    assert "1 threads, 1 memories, 0 problems" in admin("verify", state_of(service))
    service.start()
    assert thread_ids(service) == {"kept"} and memory_texts(service) == {"tea"}
    assert run_on(service, "kept", "again")[:2] == ["hello", "echo: hello"]


def test_a_database_from_before_postgresql_is_named(start_service):
    service = start_service(_SETTINGS)
    run_on(service, "t", "hello")
    service.stop()
    service.wait_until_gone()
    place = state_of(service)
    assert "PostgreSQL" not in admin("backup", place, "first")
    (place / "instance").touch()  # as a host that shares a database leaves it
    for command in (["backup", place, "second"], ["verify", place]):
        assert f"kept this state in PostgreSQL; this command uses the LevelDB in {place}/db" in admin(*command)


def test_backups_are_private_and_can_be_verified(start_service, directory):
    service = start_service(_SETTINGS)
    run_on(service, "kept", "hello")
    uploaded(service, b"x")
    admin("backup", state_of(service), "first")
    backup = state_of(service) / "backups/first"
    for folder in (backup, backup / "db", backup / "uploads"):
        assert folder.stat().st_mode & 0o777 == 0o700, folder
    assert "1 threads, 0 memories, 0 problems" in admin("verify", backup)
    # Such a copy may have been made by an earlier version or copied to another disk.
    copy = directory / "copy"
    subprocess.run(["cp", "-a", backup, copy], check=True)
    for folder in (copy, copy / "db"):
        folder.chmod(0o755)
    assert "1 threads, 0 memories, 0 problems" in admin("verify", copy)
    for command in (["backup", copy, "b"], ["restore", copy, backup],
                    ["reembed", copy, service.directory / "conf" / "service.json"]):
        assert "is a backup" in admin(*command, code=1)
    # Verified backups are still valid backups.
    run_on(service, "later", "hello")
    service.stop()
    service.wait_until_gone()
    for name in ("first", copy):
        admin("restore", state_of(service), name)
        assert "1 threads, 0 memories, 0 problems" in admin("verify", state_of(service))
        assert (state_of(service) / "db").stat().st_mode & 0o777 == 0o700
    assert "0 problems" in admin("repair", copy)
    service.start()
    assert thread_ids(service) == {"kept"}


def _contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_copy_that_cannot_be_written_is_verified(start_service, directory):
    service = start_service(_SETTINGS)
    run_on(service, "kept", "hello")
    admin("backup", state_of(service), "first")
    copy = directory / "copy"
    shutil.copytree(state_of(service) / "backups/first", copy)
    for path in [copy, *copy.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = _contents(copy)
    # root would write in spite of the mode.
    as_reader = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    verified = subprocess.run(
        [*as_reader, PROGRAM, "verify", copy], capture_output=True, text=True, timeout=environment.PATIENCE,
        check=False,
    )  # fmt: skip
    assert "1 threads, 0 memories, 0 problems" in verified.stdout, verified
    assert _contents(copy) == before


def test_help_and_version():
    project = (environment.ROOT / "CMakeLists.txt").read_text()
    version = re.search(r"^project\(\w+ VERSION ([0-9.]+)", project, re.MULTILINE)[1]
    assert admin("--version") == f"agent-graph-admin {version}\n"
    usage = admin("--help")
    for command in ("verify", "backup", "restore", "repair", "reembed"):
        assert f"agent-graph-admin {command} DIRECTORY" in usage
    assert admin(code=2) == usage


def test_the_reader_of_documents_explains_itself():
    def extract(*arguments):
        return subprocess.run(
            [environment.BUILD / "agent-extract", *arguments], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    usage = extract("--help")
    assert usage.returncode == 0 and usage.stdout.startswith("usage: agent-extract FORMAT")
    for wrong in ([], ["--nonsense"], ["pdf", "docx"]):
        refused = extract(*wrong)
        assert (refused.returncode, refused.stderr) == (2, usage.stdout)


def _is_locked(path):
    """True if a process holds the lock of this file."""
    if not path.exists():
        return False
    inode = f":{path.stat().st_ino} "
    return any(inode in line for line in pathlib.Path("/proc/locks").read_text().splitlines())


def test_a_backup_ends_when_its_service_does(start_service):
    service = start_service(_SETTINGS)
    run_on(service, "t", "hello")
    processes.freeze(service.cache_manager().pid)
    command = [PROGRAM, "backup", state_of(service), "first"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as backup:
        wait_until(lambda: _is_locked(state_of(service) / "backups/.lock"), "the backup has begun")
        assert "another backup is being made" in admin("backup", state_of(service), "second", code=1)
        service.kill_all()
        _, told = backup.communicate(timeout=environment.PATIENCE)
    assert backup.returncode == 1 and "nginx was stopped meanwhile" in told
    assert _backups(service) == set()
    service.start()
    admin("backup", state_of(service), "first")


def _killed_while_its_owner_copies(service):
    """Kills a backup while its copy is being made; returns false if it had ended before. The state
    server continues the copy when the next backup is requested."""
    owner = service.cache_manager()
    drafts = state_of(service) / "backups"
    with subprocess.Popen([PROGRAM, "backup", state_of(service), "first"]) as backup:
        wait_until(
            lambda: backup.poll() is not None or any(drafts.glob("unfinished*")), "it is being copied"
        )
        processes.freeze(owner.pid)
        caught = backup.poll() is None and any(drafts.glob("unfinished*"))
        if caught:
            backup.kill()
            backup.wait()
        processes.thaw(owner.pid)
    return caught


def test_a_killed_backup_is_not_in_the_way_of_the_next(start_service):
    service = start_service(_SETTINGS)
    run_on(service, "t", "hello")
    for _ in range(40):
        message = {"role": "user", "content": secrets.token_hex(250_000)}
        assert service.post("/v1/threads/t/messages", {"messages": [message]}).status == 200

    def caught():
        shutil.rmtree(state_of(service) / "backups/first", ignore_errors=True)
        return _killed_while_its_owner_copies(service)

    wait_until(caught, "a backup was killed amid its copy")
    admin("backup", state_of(service), "second")
    assert "second" in _backups(service)
    admin("backup", state_of(service), "third")
    assert _backups(service) == {"second", "third"}
    for name in ("unfinished-database", "unfinished-database-x"):
        assert "NAME has letters" in admin("backup", state_of(service), name, code=1)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_files_are_part_of_a_backup(start_service, elsewhere):
    service = start_service(_SETTINGS | {"media": {"storage_path": "media/files"} if elsewhere else {}})
    uploads = [state_of(service) / "media/files"] if elsewhere else []
    kept = [uploaded(service, b"text %d" % number, "a.txt", "text/plain") for number in range(5)]
    run_on(service, "t", "hello")
    assert "5 files, 30 bytes" in admin("backup", state_of(service), "b", *uploads)
    later = uploaded(service, b"later")
    service.stop()
    service.wait_until_gone()
    where = uploads[0] if elsewhere else state_of(service) / "uploads"
    for record in kept[:2]:
        file_id = record["file_id"]
        (where / file_id[:2] / file_id[2:4] / file_id).unlink()
    assert "5 files" in admin("restore", state_of(service), state_of(service) / "backups/b", *uploads)
    service.start()
    for number, record in enumerate(kept):
        assert service.get(record["url"]).body == b"text %d" % number
        info = service.get(record["url"] + "/info").json()["data"]
        assert info["extracted_text"] == f"text {number}" and info["filename"] == "a.txt"
    assert service.get(later["url"]).status == 404, "it is younger than the backup"
    assert uploaded(service, b"new")
    # The backup is still complete.
    assert "exists" in admin("backup", state_of(service), "b", *uploads, code=1)
    assert len([*(state_of(service) / "backups/b/uploads").glob("??/??/*.json")]) == 5


def test_a_backup_holds_nothing_but_files(start_service, directory):
    service = start_service(_SETTINGS)
    record = uploaded(service, b"x")
    secret = directory / "secret"
    secret.write_text("not for backups")
    uploads = state_of(service) / "uploads"
    (uploads / "link").symlink_to(directory)
    (uploads / "zz").symlink_to(directory)
    folder = uploads / record["file_id"][:2] / record["file_id"][2:4]
    (folder / "other").write_text("x")
    (folder / "notes.json").symlink_to(secret)
    assert "1 files" in admin("backup", state_of(service), "first")
    copied = {path.name for path in (state_of(service) / "backups/first/uploads").rglob("*") if not path.is_dir()}
    assert copied == {record["file_id"], record["file_id"] + ".json"}
    # A record that points to a symbolic link is an error; the link must not be followed.
    (folder / record["file_id"]).unlink()
    (folder / record["file_id"]).symlink_to(secret)
    assert "is no file" in admin("backup", state_of(service), "second", code=1)
    assert _backups(service) == {"first"}
    (folder / record["file_id"]).unlink()
    (folder / record["file_id"]).write_bytes(b"x")
    admin("backup", state_of(service), "second")


def _traced(trace, *arguments):
    """Returns the synced files and renames, in order, as ("fsync", path) and ("rename", target)."""
    command = ["strace", "-f", "-y", "-e", "trace=fsync,rename,renameat,renameat2", "-o", trace]
    done = subprocess.run(
        [*command, PROGRAM, *map(str, arguments)],
        capture_output=True, text=True, timeout=environment.PATIENCE, check=False,
    )
    assert done.returncode == 0, done.stderr
    steps = []
    for line in trace.read_text().splitlines():
        if synced := re.search(r"fsync\(\d+<([^>]*)>\) += 0", line):
            steps.append(("fsync", synced[1]))
        elif renamed := re.search(r"rename\w*\(.*\"([^\"]*)\"(, \w+)?\) += 0", line):
            steps.append(("rename", renamed[1]))
    return steps


@pytest.mark.skipif(not shutil.which("strace") or environment.SANITIZER != "", reason="needs strace")
def test_copies_are_on_the_disk_before_they_are_told(start_service, directory):
    service = start_service(_SETTINGS)
    uploaded(service, b"x")
    run_on(service, "t", "hello")
    service.stop()
    service.wait_until_gone()
    state = state_of(service)
    steps = _traced(directory / "trace", "backup", state, "b")
    placed = steps.index(("rename", f"{state}/backups/b"))
    assert ("fsync", f"{state}/backups") in steps[placed:]
    assert ("fsync", f"{state}/backups/.unfinished") in steps[:placed]
    steps = _traced(directory / "trace", "restore", state, state / "backups/b")
    placed = steps.index(("rename", f"{state}/db"))
    copied = {f"{state}/db.restored/{path.name}" for path in (state / "backups/b/db").iterdir()}
    synced = {path for step, path in steps[:placed] if step == "fsync"}
    assert copied <= synced and f"{state}/db.restored" in synced
    assert ("fsync", str(state)) in steps[placed:]


def test_no_restore_from_what_is_no_backup(start_service, directory):
    service = start_service(_SETTINGS)
    url = uploaded(service, b"x")["url"]
    service.stop()
    service.wait_until_gone()
    for backup in (directory, directory / "nowhere", state_of(service)):
        assert "is no backup" in admin("restore", state_of(service), backup, code=1)
    service.start()
    assert service.get(url).body == b"x"


def test_a_restore_that_fails_changes_nothing(start_service):
    service = start_service(_SETTINGS)
    run_on(service, "kept", "hello")
    admin("backup", state_of(service), "b")
    run_on(service, "later", "hello")
    service.stop()
    service.wait_until_gone()
    # Its name is too long for the suffix of a temporary name, so it cannot be renamed, like a mount
    # point.
    uploads = state_of(service) / ("u" * 240)
    uploads.mkdir()
    (uploads / "file").write_text("x")
    owner = state_of(service).stat()
    os.chown(uploads, owner.st_uid, owner.st_gid)
    told = admin("restore", state_of(service), state_of(service) / "backups/b", uploads, code=1)
    assert f"{uploads}.restored cannot become {uploads}." in told
    assert (uploads / "file").read_text() == "x"
    # A full disk has its space again.
    assert not list(state_of(service).glob("*.restored"))
    service.start()
    assert thread_ids(service) == {"kept", "later"}


@pytest.mark.parametrize("arguments", [["migrate"], ["after-restore"], ["reembed", "state"],
                                       ["import", "--from", "leveldb", "state"]], ids=" ".join)
def test_a_folder_is_no_service_json(directory, arguments):
    folder = directory / "agent"
    folder.mkdir()
    assert f"{folder}: cannot be read: it is a folder" in admin(*arguments, folder, code=1)


@pytest.mark.parametrize("arguments", [["backup", "b"], ["restore", "b"], ["repair"]], ids=" ".join)
def test_a_service_json_is_no_folder(make_service, arguments):
    file = make_service(_SETTINGS).directory / "conf" / "service.json"
    command, *others = arguments
    assert f"{file}: is a file; DIRECTORY is what state= of " in admin(command, file, *others, code=1)


@pytest.mark.parametrize("arguments", [[], ["verify"], ["verify", "a", "b"], ["drop", "a"], ["backup", "a"]])
def test_usage(arguments):
    admin(*arguments, code=2)


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "x" * 65])
def test_names_of_backups_stay_inside(start_service, name):
    service = start_service(_SETTINGS)
    run_on(service, "t", "hello")
    assert "NAME has letters" in admin("backup", state_of(service), name, code=1)
