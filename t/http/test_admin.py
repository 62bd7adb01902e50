"""agent-graph-admin on the state of a real nginx."""

import json
import os
import pathlib
import re
import secrets
import shutil
import subprocess

import pytest

from harness import environment, processes
from harness.admin import PROGRAM, admin
from harness.agents import behaviour
from harness.http_service import HttpService
from harness.messages import texts
from harness.uploads import uploaded
from harness.waiting import wait_until

_SETTINGS = behaviour("echo", store="leveldb", embedding="hash")


def _state(service):
    return service.directory / "state" / "test"


def _run(service, thread_id, text):
    reply = service.invoke(text, config={"thread_id": thread_id})
    assert reply.status == 200, reply.text
    return texts(reply.json()["data"]["messages"])


def _remember(service, content):
    assert service.post("/v1/store/memories", {"content": content}).status == 200


def _threads(service):
    return {thread["thread_id"] for thread in service.get("/v1/threads").json()["data"]["threads"]}


def _memories(service):
    data = service.post("/v1/store/memories/list").json()["data"]
    return {memory["content"] for memory in data["memories"]}


def _backups(service):
    """Returns the names of all backups, complete or not."""
    return {path.name for path in (_state(service) / "backups").iterdir()} - {".lock"}


@pytest.mark.parametrize("by_name", [True, False], ids=["name", "folder"])
def test_verify_backup_and_restore(start_service, by_name):
    service = start_service(_SETTINGS)
    _run(service, "kept", "hello")
    _remember(service, "tea")
    assert "1 threads, 1 memories, 0 problems" in admin("verify", _state(service))
    # nginx keeps serving meanwhile.
    assert "backups/first" in admin("backup", _state(service), "first")
    assert "exists" in admin("backup", _state(service), "first", code=1)
    _run(service, "later", "hello")
    _remember(service, "coffee")
    assert "in use" in admin("restore", _state(service), _state(service) / "backups/first", code=1)
    assert "in use" in admin("repair", _state(service), code=1)
    service.stop()
    service.wait_until_gone()
    admin("restore", _state(service), "first" if by_name else _state(service) / "backups/first")
    assert "1 threads, 1 memories, 0 problems" in admin("verify", _state(service))
    service.start()
    assert _threads(service) == {"kept"} and _memories(service) == {"tea"}
    assert _run(service, "kept", "again")[:2] == ["hello", "echo: hello"]


def test_backups_are_private_and_can_be_verified(start_service, directory):
    service = start_service(_SETTINGS)
    _run(service, "kept", "hello")
    uploaded(service, b"x")
    admin("backup", _state(service), "first")
    backup = _state(service) / "backups/first"
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
    _run(service, "later", "hello")
    service.stop()
    service.wait_until_gone()
    for name in ("first", copy):
        admin("restore", _state(service), name)
        assert "1 threads, 0 memories, 0 problems" in admin("verify", _state(service))
        assert (_state(service) / "db").stat().st_mode & 0o777 == 0o700
    assert "0 problems" in admin("repair", copy)
    service.start()
    assert _threads(service) == {"kept"}


def test_help_and_version():
    project = (environment.ROOT / "CMakeLists.txt").read_text()
    version = re.search(r"^project\(\w+ VERSION ([0-9.]+)", project, re.MULTILINE)[1]
    assert admin("--version") == f"agent-graph-admin {version}\n"
    usage = admin("--help")
    for command in ("verify", "backup", "restore", "repair", "reembed"):
        assert f"agent-graph-admin {command} DIRECTORY" in usage
    for wrong in ([], ["verify"], ["nonsense", "x"], ["verify", "x", "y"]):
        assert admin(*wrong, code=2) == usage


def test_repair(start_service):
    service = start_service(_SETTINGS)
    for number in range(20):
        _run(service, f"t{number}", "hello")
        _remember(service, f"memory {number}")
    service.stop()
    service.wait_until_gone()
    database = _state(service) / "db"
    for file in [*database.glob("MANIFEST-*"), database / "CURRENT"]:
        file.write_bytes(b"damaged")
    admin("verify", _state(service), code=1)
    assert "0 problems" in admin("repair", _state(service))
    service.start()
    assert _threads(service) == {f"t{number}" for number in range(20)}
    assert _memories(service) == {f"memory {number}" for number in range(20)}
    assert _run(service, "t3", "again")[0] == "hello"


def _messages(service, thread_id):
    return texts(service.get(f"/v1/threads/{thread_id}/messages").json()["data"]["messages"])


def _table(service):
    """Returns the only table of a database whose log has been converted."""
    admin("verify", _state(service))
    (table,) = (_state(service) / "db").glob("*.ldb")
    return table


def _damage(file, place):
    data = bytearray(file.read_bytes())
    data[place] ^= 0xff
    file.write_bytes(data)


def test_what_a_damaged_table_has_lost_is_made_anew(start_service):
    service = start_service(_SETTINGS)
    threads = [f"t{number}" for number in range(60)]
    for thread_id in threads:
        _run(service, thread_id, "hello")
    service.stop()
    service.wait_until_gone()
    table = _table(service)
    # The last place where the table contains the full key of a thread's counters.
    rows = table.read_bytes()
    counters = rows.rfind(b"\x11\x00\x01", 0, rows.index(b"\x12\x00\x01"))
    assert counters > 0
    _damage(table, counters)
    assert "DATA_LOSS" in admin("verify", _state(service), code=1)
    assert "60 threads, 0 memories, 0 problems" in admin("repair", _state(service))
    service.start()
    for thread_id in threads:
        assert _messages(service, thread_id) == ["hello", "echo: hello"]
        _run(service, thread_id, "again")
        assert _messages(service, thread_id) == ["hello", "echo: hello", "again", "echo: again"]
        assert len(service.get(f"/v1/threads/{thread_id}/messages?limit=1&offset=3").json()["data"]["messages"]) == 1


def test_a_table_that_is_damaged_anywhere_can_be_repaired(start_service):
    service = start_service(_SETTINGS)
    for number in range(20):
        _run(service, f"t{number}", secrets.token_hex(2000))
        _remember(service, f"memory {number}")
    service.stop()
    service.wait_until_gone()
    table = _table(service)
    database, whole = table.parent, _state(service) / "whole"
    shutil.copytree(database, whole)
    owner = _state(service).stat()
    for step in range(24):
        shutil.rmtree(database)
        shutil.copytree(whole, database)
        for path in [database, *database.iterdir()]:
            os.chown(path, owner.st_uid, owner.st_gid)
        _damage(table, (table.stat().st_size - 1) * step // 23)
        assert "0 problems" in admin("repair", _state(service))
    service.start()
    assert _run(service, "t0", "again")[-1] == "echo: again"


def _is_locked(path):
    """True if a process holds the lock of this file."""
    if not path.exists():
        return False
    inode = f":{path.stat().st_ino} "
    return any(inode in line for line in pathlib.Path("/proc/locks").read_text().splitlines())


def test_a_backup_ends_when_its_service_does(start_service):
    service = start_service(_SETTINGS)
    _run(service, "t", "hello")
    processes.freeze(service.cache_manager().pid)
    command = [PROGRAM, "backup", _state(service), "first"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as backup:
        wait_until(lambda: _is_locked(_state(service) / "backups/.lock"), "the backup has begun")
        assert "another backup is being made" in admin("backup", _state(service), "second", code=1)
        service.kill_all()
        _, told = backup.communicate(timeout=environment.PATIENCE)
    assert backup.returncode == 1 and "nginx was stopped meanwhile" in told
    assert _backups(service) == set()
    service.start()
    admin("backup", _state(service), "first")


def _killed_while_its_owner_copies(service):
    """Kills a backup while its copy is being made; returns false if it had ended before. The state
    server continues the copy when the next backup is requested."""
    owner = service.cache_manager()
    drafts = _state(service) / "backups"
    with subprocess.Popen([PROGRAM, "backup", _state(service), "first"]) as backup:
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
    _run(service, "t", "hello")
    for _ in range(40):
        message = {"role": "user", "content": secrets.token_hex(250_000)}
        assert service.post("/v1/threads/t/messages", {"messages": [message]}).status == 200

    def caught():
        shutil.rmtree(_state(service) / "backups/first", ignore_errors=True)
        return _killed_while_its_owner_copies(service)

    wait_until(caught, "a backup was killed amid its copy")
    admin("backup", _state(service), "second")
    assert "second" in _backups(service)
    admin("backup", _state(service), "third")
    assert _backups(service) == {"second", "third"}
    for name in ("unfinished-database", "unfinished-database-x"):
        assert "NAME has letters" in admin("backup", _state(service), name, code=1)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_files_are_part_of_a_backup(start_service, elsewhere):
    service = start_service(_SETTINGS | {"media": {"storage_path": "media/files"} if elsewhere else {}})
    uploads = [_state(service) / "media/files"] if elsewhere else []
    kept = [uploaded(service, b"text %d" % number, "a.txt", "text/plain") for number in range(5)]
    _run(service, "t", "hello")
    assert "5 files, 30 bytes" in admin("backup", _state(service), "b", *uploads)
    later = uploaded(service, b"later")
    service.stop()
    service.wait_until_gone()
    where = uploads[0] if elsewhere else _state(service) / "uploads"
    for record in kept[:2]:
        file_id = record["file_id"]
        (where / file_id[:2] / file_id[2:4] / file_id).unlink()
    assert "5 files" in admin("restore", _state(service), _state(service) / "backups/b", *uploads)
    service.start()
    for number, record in enumerate(kept):
        assert service.get(record["url"]).body == b"text %d" % number
        info = service.get(record["url"] + "/info").json()["data"]
        assert info["extracted_text"] == f"text {number}" and info["filename"] == "a.txt"
    assert service.get(later["url"]).status == 404, "it is younger than the backup"
    assert uploaded(service, b"new")
    # The backup is still complete.
    assert "exists" in admin("backup", _state(service), "b", *uploads, code=1)
    assert len([*(_state(service) / "backups/b/uploads").glob("??/??/*.json")]) == 5


def test_a_backup_holds_nothing_but_files(start_service, directory):
    service = start_service(_SETTINGS)
    record = uploaded(service, b"x")
    secret = directory / "secret"
    secret.write_text("not for backups")
    uploads = _state(service) / "uploads"
    (uploads / "link").symlink_to(directory)
    (uploads / "zz").symlink_to(directory)
    folder = uploads / record["file_id"][:2] / record["file_id"][2:4]
    (folder / "other").write_text("x")
    (folder / "notes.json").symlink_to(secret)
    assert "1 files" in admin("backup", _state(service), "first")
    copied = {path.name for path in (_state(service) / "backups/first/uploads").rglob("*") if not path.is_dir()}
    assert copied == {record["file_id"], record["file_id"] + ".json"}
    # A record that points to a symbolic link is an error; the link must not be followed.
    (folder / record["file_id"]).unlink()
    (folder / record["file_id"]).symlink_to(secret)
    assert "is no file" in admin("backup", _state(service), "second", code=1)
    assert _backups(service) == {"first"}
    (folder / record["file_id"]).unlink()
    (folder / record["file_id"]).write_bytes(b"x")
    admin("backup", _state(service), "second")


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
    _run(service, "t", "hello")
    service.stop()
    service.wait_until_gone()
    state = _state(service)
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
    for backup in (directory, directory / "nowhere", _state(service)):
        assert "is no backup" in admin("restore", _state(service), backup, code=1)
    service.start()
    assert service.get(url).body == b"x"


def test_a_restore_that_fails_changes_nothing(start_service):
    service = start_service(_SETTINGS)
    _run(service, "kept", "hello")
    admin("backup", _state(service), "b")
    _run(service, "later", "hello")
    service.stop()
    service.wait_until_gone()
    # Its name is too long for the suffix of a temporary name, so it cannot be renamed, like a mount
    # point.
    uploads = _state(service) / ("u" * 240)
    uploads.mkdir()
    (uploads / "file").write_text("x")
    owner = _state(service).stat()
    os.chown(uploads, owner.st_uid, owner.st_gid)
    told = admin("restore", _state(service), _state(service) / "backups/b", uploads, code=1)
    assert f"{uploads} cannot become {uploads}." in told
    assert (uploads / "file").read_text() == "x"
    service.start()
    assert _threads(service) == {"kept", "later"}


def _vector(text, dimensions):
    """Returns similar vectors for texts with the same first letter."""
    vector = [0.01] * dimensions
    vector[ord(text[0].lower()) % dimensions] = 1.0
    return vector


@pytest.fixture
def embeddings():
    server_state = {"dimensions": 32, "refused": None}

    def answer(_method, _path, body):
        texts_in = json.loads(body)["input"]
        if server_state["refused"] in texts_in:
            return 400, "application/json", "{}"
        data = [{"index": i, "embedding": _vector(text, server_state["dimensions"])}
                for i, text in enumerate(texts_in)]
        return 200, "application/json", json.dumps({"data": data})

    server = HttpService(answer)
    server.state = server_state
    yield server
    server.close()


def _search(service, query, **fields):
    reply = service.post("/v1/store/search", {"query": query, "limit": 50} | fields)
    assert reply.status == 200, reply.text
    return [result["content"] for result in reply.json()["data"]["results"]]


def _reembed(service, code=0):
    return admin("reembed", _state(service), service.directory / "conf" / "service.json", code=code)


@pytest.mark.parametrize("online", [True, False])
def test_memories_are_embedded_anew(start_service, embeddings, online):
    service = start_service(_SETTINGS)
    words = ["apple", "banana", "cherry", "avocado"]
    for word in words:
        _remember(service, word)
    hashed = _search(service, "apple")
    assert set(hashed) == set(words) and hashed[0] == "apple"

    service.write_settings(_SETTINGS | {"embedding": {
        "provider": "openai", "model": "m", "base_url": embeddings.url, "api_key": "k"}})
    service.reload()
    # Until then, vectors of different spaces are not compared; searches by words and age find all
    # memories.
    assert _search(service, "apple") == []
    assert _search(service, "apple", retrieval_strategy="hybrid") == ["apple"]
    assert _search(service, "apple", retrieval_strategy="relevance") == ["apple"]
    assert _search(service, "apple", retrieval_strategy="temporal") == words[::-1]
    _remember(service, "almond")
    assert _search(service, "apple") == ["almond"]
    before = service.post("/v1/store/memories/list").json()["data"]["memories"]

    if not online:
        service.stop()
        service.wait_until_gone()
    assert "5 memories, 4 embedded anew, 0 changed meanwhile, 0 refused" in _reembed(service)
    assert "5 memories, 0 embedded anew" in _reembed(service)
    if not online:
        service.start()
    found = _search(service, "apple")
    assert set(found) == {*words, "almond"} and set(found[:3]) == {"apple", "avocado", "almond"}
    assert service.post("/v1/store/memories/list").json()["data"]["memories"] == before

    # The same model name with vectors of another length.
    embeddings.state["dimensions"] = 48
    service.reload()
    assert _search(service, "banana") == []
    assert "5 embedded anew" in _reembed(service)
    assert _search(service, "banana")[0] == "banana"


def test_texts_that_a_provider_refuses_leave_the_others(start_service, embeddings):
    service = start_service(_SETTINGS)
    for word in ("apple", "poison", "banana"):
        _remember(service, word)
    service.write_settings(_SETTINGS | {"embedding": {
        "provider": "openai", "model": "m", "base_url": embeddings.url, "api_key": "k", "retries_max": 0}})
    service.reload()
    embeddings.state["refused"] = "poison"
    assert "2 embedded anew, 0 changed meanwhile, 1 refused" in _reembed(service, code=1)
    assert set(_search(service, "apple")) == {"apple", "banana"}
    embeddings.state["refused"] = None
    assert "1 embedded anew" in _reembed(service)
    assert len(_search(service, "apple")) == 3


def test_reembed_tells_what_is_wrong(start_service, embeddings):
    service = start_service(_SETTINGS)
    _remember(service, "apple")
    embeddings.close()
    service.write("other.json", json.dumps(_SETTINGS | {"embedding": {
        "provider": "openai", "model": "m", "base_url": embeddings.url, "api_key": "secret-key",
        "retries_max": 0}}))
    told = admin("reembed", _state(service), service.directory / "conf" / "other.json", code=1)
    assert "could not be connected" in told and "secret-key" not in told
    service.write("other.json", "{")
    assert "other.json" in admin("reembed", _state(service), service.directory / "conf" / "other.json", code=1)
    admin("reembed", _state(service), service.directory / "conf" / "nowhere.json", code=1)
    assert _search(service, "apple") == ["apple"]


@pytest.mark.parametrize("arguments", [[], ["verify"], ["verify", "a", "b"], ["drop", "a"], ["backup", "a"]])
def test_usage(arguments):
    admin(*arguments, code=2)


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "x" * 65])
def test_names_of_backups_stay_inside(start_service, name):
    service = start_service(_SETTINGS)
    _run(service, "t", "hello")
    assert "NAME has letters" in admin("backup", _state(service), name, code=1)
