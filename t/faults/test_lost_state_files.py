"""The state's files are deleted, moved or replaced while nginx serves: nothing may be acknowledged
that would be lost at a restart."""

import shutil

import pytest

from harness.agents import behaviour
from harness.ledger import judge, run_writers, settle, stored_messages
from harness.messages import user
from harness.uploads import upload, uploaded
from harness.waiting import wait_until

_SETTINGS = behaviour("echo", store="leveldb", embedding="hash")

pytestmark = [pytest.mark.timeout(600), pytest.mark.leveldb("its files")]


def _state(service):
    return service.directory / "state" / "test"


def _delete_all(state, _):
    for path in state.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _delete_folder(state, _):
    shutil.rmtree(state)


def _delete_database(state, _):
    shutil.rmtree(state / "db")


def _delete_logs(state, _):
    for path in state.glob("db/*.log"):
        path.unlink()


def _delete_current(state, _):
    (state / "db/CURRENT").unlink()


def _move_database(state, aside):
    (state / "db").rename(aside)


def _move_folder(state, aside):
    state.rename(aside)


def _replace_database(state, aside):
    """Like a restore from a copy."""
    shutil.copytree(state / "db", aside.with_name("copy"))
    (state / "db").rename(aside)
    aside.with_name("copy").rename(state / "db")


def _put_back(state, aside):
    if (aside / "db").exists():
        if state.exists():
            shutil.rmtree(state)
        aside.rename(state)
    else:
        shutil.rmtree(state / "db", ignore_errors=True)
        aside.rename(state / "db")


def _append(service):
    message = {"messages": [user("after the loss")]}
    return service.post("/v1/threads/t/messages", message)


def _assert_nothing_is_acknowledged(service):
    for _ in range(20):
        reply = _append(service)
        assert reply.status == 503 and reply.json()["error"]["code"] == "SERVICE_UNAVAILABLE"
    assert service.post("/v1/store/memories", {"content": "lost"}).status == 503
    assert service.invoke("hello", config={"thread_id": "t"}).status == 503


_LOG_LINE = r"is not available.*deleted, moved or replaced"


@pytest.mark.parametrize(
    "lose",
    [_delete_all, _delete_folder, _delete_database, _delete_logs, _delete_current, _move_database,
     _move_folder, _replace_database],
    ids=lambda lose: lose.__name__.strip("_"),
)
def test_nothing_is_acknowledged_after_the_files_are_lost(start_service, lose):
    service = start_service(_SETTINGS, workers=2)
    service.error_log.allow(r"is not available|state directory")
    assert _append(service).status == 200
    lose(_state(service), service.directory / "aside")
    _assert_nothing_is_acknowledged(service)
    # Reads may be answered until the state server has noticed the loss.
    wait_until(lambda: service.error_log.lines(_LOG_LINE), "it is logged")
    _assert_nothing_is_acknowledged(service)
    assert service.get("/v1/threads").status == 503


def test_the_loss_is_noticed_without_a_write(start_service):
    service = start_service(_SETTINGS)
    service.error_log.allow(r"is not available")
    assert _append(service).status == 200
    _move_database(_state(service), service.directory / "aside")
    wait_until(lambda: service.error_log.lines(_LOG_LINE), "it is logged")
    assert service.get("/v1/threads").status == 503


@pytest.mark.parametrize("lose", [_move_database, _move_folder, _replace_database],
                         ids=lambda lose: lose.__name__.strip("_"))
def test_files_that_are_put_back_are_served_again(start_service, lose):
    service = start_service(_SETTINGS, workers=2)
    service.error_log.allow(r"is not available|state directory")
    aside = service.directory / "aside"

    def lose_and_put_back(writers):
        lose(_state(service), aside)
        wait_until(lambda: service.error_log.lines(_LOG_LINE), "it is logged")
        _put_back(_state(service), aside)
        counts = [len(writer.messages) for writer in writers]
        wait_until(
            lambda: all(len(w.messages) > count for w, count in zip(writers, counts)),
            "messages are acknowledged", 60,
        )

    writers = run_writers(service, 4, lose_and_put_back)
    settle(service)
    judge(service, writers)
    before = {writer.name: stored_messages(service, writer.name) for writer in writers}
    service.stop()
    service.wait_until_gone()
    service.start()
    settle(service)
    assert before == {writer.name: stored_messages(service, writer.name) for writer in writers}


@pytest.mark.parametrize("lost", ["uploads", "."])
def test_no_file_is_acknowledged_after_their_folder_is_moved(start_service, lost):
    """Also when the folder of the whole state is moved."""
    service = start_service(_SETTINGS, workers=1)
    service.error_log.allow(r"is not available|state directory")
    folder = _state(service) / lost
    aside = service.directory / "aside"
    known = uploaded(service, b"before")["file_id"]
    folder.rename(aside)
    reply = upload(service, b"after")
    assert reply.status == 503 and reply.json()["error"]["code"] == "SERVICE_UNAVAILABLE"
    assert service.get(f"/v1/files/{known}").status == 503
    service.wait_for_log("uploads: was deleted, moved or replaced")
    aside.rename(folder)
    assert service.get(f"/v1/files/{known}").body == b"before"
    assert upload(service, b"after").status == 200
