"""Libraries that only some configurations need."""

import pathlib

import pytest

from harness.agents import DEMO


def _loading(service, library):
    """The processes of the service that have loaded the library."""

    def maps(process):
        try:
            return pathlib.Path(f"/proc/{process.pid}/maps").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return ""  # an old worker that has ended meanwhile

    return [process.pid for process in service.processes() if f"/{library}" in maps(process)]


@pytest.mark.leveldb("the library of PostgreSQL is not loaded")
def test_a_service_without_postgresql_does_not_load_its_library(start_service):
    service = start_service(DEMO | {"store": "leveldb"})
    assert service.invoke("hello", config={"thread_id": "t"}).status == 200
    assert service.post("/v1/store/memories", {"content": "tea"}).status == 200
    service.reload()
    assert service.invoke("hello", config={"thread_id": "t"}).status == 200
    assert len(service.processes()) >= 3
    assert _loading(service, "libpq") == []


def test_the_state_server_loads_it_with_postgresql(make_service, database):
    checkpointer = {"type": "postgres", "url": database.url}
    service = make_service(DEMO | {"checkpointer": checkpointer}).start()
    assert service.invoke("hello", config={"thread_id": "t"}).status == 200
    assert _loading(service, "libpq")
