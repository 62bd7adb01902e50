"""The database goes away, or refuses the service."""

import pytest

from harness.admin import admin
from harness.agents import DEMO, asking
from harness.run_stream import Reader, RunStream
from harness.service import invocation
from harness.waiting import wait_until

_OUTAGES = {
    "frozen": ("freeze", "thaw"),
    "killed": ("kill", "start"),
}


def _start(start_service, settings, url):
    service = start_service(settings | {"checkpointer": {"type": "postgres", "url": url}})
    service.error_log.allow(r"state of .* is not available")
    return service


def _is_ready(service):
    return service.get("/ready").status == 200


def test_a_stream_goes_on_while_the_database_is_away(start_service, postgres_server, provider):
    """The client gets every piece during the outage, and the end of the run when the database is back."""
    service = _start(start_service, asking(provider), postgres_server.create().url)
    body = invocation("go", config={"thread_id": "t", "run_id": "r"})
    with RunStream(service.port, "/v1/graph/stream?framing=sse", method="POST", body=body) as stream:
        provider.wait_for_waiting(1)
        postgres_server.freeze()
        provider.open_gate()
        reader = Reader()
        while "".join(reader.pieces.values()) != provider.text:
            reader.take([stream.read()])
        postgres_server.thaw()
        assert stream.read_to_end()
    wait_until(lambda: _is_ready(service), "the service is ready again")
    messages = service.get("/v1/threads/t/messages").json()["data"]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"]


@pytest.mark.parametrize("outage", _OUTAGES)
def test_new_work_is_refused_while_the_database_is_away(start_service, postgres_server, outage):
    begin, end = _OUTAGES[outage]
    service = _start(start_service, DEMO, postgres_server.create().url)
    assert service.invoke("hello", config={"thread_id": "t"}).status == 200
    getattr(postgres_server, begin)()
    wait_until(lambda: not _is_ready(service), "the service says that it is not ready")
    reply = service.invoke("again", config={"thread_id": "t"})
    assert reply.status == 503, reply.text
    assert reply.header("Retry-After")
    assert service.get("/ping").status == 200
    getattr(postgres_server, end)()
    wait_until(lambda: _is_ready(service), "the service is ready again")
    assert service.invoke("again", config={"thread_id": "t"}).status == 200


def test_the_database_is_blamed_and_not_only_the_state_server(start_service, postgres_server):
    database = postgres_server.create()
    service = _start(start_service, DEMO, database.url)
    wait_until(lambda: _is_ready(service), "the service is ready")
    postgres_server.kill()
    wait_until(lambda: not _is_ready(service), "the service says that it is not ready")
    reply = service.get("/ready")
    assert "the state server or its database does not answer" in reply.text
    # Its address is for operators only.
    assert "PostgreSQL" not in reply.text and "127.0.0.1" not in reply.text
    line = wait_until(lambda: service.error_log.lines("no state server answers"), "workers miss it")[0]
    assert 'its PostgreSQL is away, and its line "is not available" says why' in line
    assert service.error_log.lines("is not available: .*the state database is not reachable")
    postgres_server.start()
    wait_until(lambda: _is_ready(service), "the service is ready again")


def test_a_wrong_password_is_logged_once(start_service, postgres_server):
    database = postgres_server.create()
    database.query("CREATE ROLE late LOGIN SUPERUSER PASSWORD 'another'")
    url = f"postgresql://late:s3cret@127.0.0.1:{postgres_server.port}/{database.name}"
    service = _start(start_service, DEMO, url)

    def attempts():
        return len(postgres_server.log_lines('password authentication failed for user "late"'))

    wait_until(lambda: attempts() >= 5, "the service has tried several times")
    assert service.invoke("hello").status == 503
    assert len(service.error_log.lines("password authentication failed")) == 1
    assert not service.error_log.lines("s3cret")
    database.query("ALTER ROLE late PASSWORD 's3cret'")
    wait_until(lambda: _is_ready(service), "the service is ready")
    assert service.invoke("hello").status == 200
    assert len(service.error_log.lines("password authentication failed")) == 1


def test_missing_tables_are_logged_once(start_service, postgres_server):
    database = postgres_server.create_empty()
    service = _start(start_service, DEMO, database.url)
    wait_until(lambda: service.error_log.lines("has no tables of Agent Graph"), "the reason is logged")
    assert service.invoke("hello").status == 503
    admin("migrate", database.url)
    wait_until(lambda: _is_ready(service), "the service is ready")
    assert len(service.error_log.lines("has no tables of Agent Graph")) == 1
