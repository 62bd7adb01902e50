"""agent-graph-admin on the state of a real nginx."""

import subprocess

import pytest

from harness import environment
from harness.agents import behaviour, texts

_SETTINGS = behaviour("echo", store="leveldb", embedding="hash")
_ADMIN = environment.BUILD / "agent-graph-admin"


def _admin(*arguments, code=0):
    done = subprocess.run([_ADMIN, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


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


def test_verify_backup_and_restore(start_service):
    service = start_service(_SETTINGS)
    _run(service, "kept", "hello")
    _remember(service, "tea")
    assert "1 threads, 1 memories, 0 problems" in _admin("verify", _state(service))
    # While the service goes on.
    assert "backups/first" in _admin("backup", _state(service), "first")
    assert "exists" in _admin("backup", _state(service), "first", code=1)
    _run(service, "later", "hello")
    _remember(service, "coffee")
    assert "in use" in _admin("restore", _state(service), _state(service) / "backups/first", code=1)
    assert "in use" in _admin("repair", _state(service), code=1)
    service.stop()
    service.wait_until_gone()
    _admin("restore", _state(service), _state(service) / "backups/first")
    assert "1 threads, 1 memories, 0 problems" in _admin("verify", _state(service))
    service.start()
    assert _threads(service) == {"kept"} and _memories(service) == {"tea"}
    assert _run(service, "kept", "again")[:2] == ["hello", "echo: hello"]


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
    _admin("verify", _state(service), code=1)
    assert "0 problems" in _admin("repair", _state(service))
    service.start()
    assert _threads(service) == {f"t{number}" for number in range(20)}
    assert _memories(service) == {f"memory {number}" for number in range(20)}
    assert _run(service, "t3", "again")[0] == "hello"


@pytest.mark.parametrize("arguments", [[], ["verify"], ["verify", "a", "b"], ["drop", "a"], ["backup", "a"]])
def test_usage(arguments):
    code = 1 if arguments[:2] == ["drop", "a"] else 2
    _admin(*arguments, code=code)


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "x" * 65])
def test_names_of_backups_stay_inside(start_service, name):
    service = start_service(_SETTINGS)
    _run(service, "t", "hello")
    assert "NAME has letters" in _admin("backup", _state(service), name, code=1)
