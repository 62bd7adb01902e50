"""agent-graph-admin after-restore: a database that was restored from a backup which was made while
runs were in flight."""

import pytest

from harness.admin import admin
from harness.agents import DEMO, asking
from harness.run_stream import RunStream
from harness.service import invocation
from harness.waiting import wait_until


@pytest.fixture
def restored(database):
    """restored() makes a database with what the hosts' database contains now."""
    made = []

    def restore():
        made.append(database.copy())
        return made[-1]

    yield restore
    for copy in made:
        copy.drop()


def _start_on(start_service, database, settings):
    return start_service(settings | {"checkpointer": {"type": "postgres", "url": database.url}})


def _record(service, run_id):
    return service.get(f"/v1/threads/t/runs/{run_id}").json()["data"]


def test_runs_of_the_backup_end(start_hosts, start_service, provider, restored):
    hosts = start_hosts(asking(provider))
    config = {"thread_id": "t", "run_id": "r", "on_disconnect": "continue"}
    stream = RunStream(
        hosts[0].port, "/v1/graph/stream?framing=sse", method="POST", body=invocation("go", config=config)
    )
    stream.read()
    queued = invocation("later", config={"thread_id": "t", "run_id": "q", "on_busy": "enqueue"})
    assert hosts[1].post("/v1/graph/runs", queued).status == 202
    provider.wait_for_waiting(1)
    backup = restored()
    provider.open_gate()
    assert stream.read_to_end()
    wait_until(lambda: _record(hosts[0], "q")["status"] == "done", "the queued run has ended")
    for number in range(2):
        hosts.kill(number)

    report = admin("after-restore", backup.url)
    assert "2 hosts of the backup are dead, 2 runs ended" in report, report
    assert "0 problems" in admin("verify", backup.url)
    service = _start_on(start_service, backup, asking(provider))
    for run_id in ("r", "q"):
        record = _record(service, run_id)
        assert (record["status"], record["reason"]) == ("error", "history_lost"), record
    # A reader whose cursor is behind the end of the backup gets 410. A reader from the beginning gets
    # the events that the backup has.
    ahead = RunStream(service.port, "/v1/threads/t/runs/r/stream", after=stream.last_id)
    assert ahead.reply.status == 410
    with RunStream(service.port, "/v1/threads/t/runs/r/stream") as again:
        assert again.read_to_end()
    assert service.invoke("go on", config={"thread_id": "t"}).status == 200


def test_a_cursor_of_a_lost_run_is_not_of_its_repetition(start_hosts, start_service, database, restored):
    """A run that began after the backup is lost. If its client repeats it, the new run has the same id
    and the same places in the log, but other events."""
    hosts = start_hosts(DEMO)
    assert hosts[0].invoke("hello", config={"thread_id": "t"}).status == 200
    backup = restored()
    config = {"thread_id": "t", "run_id": "r", "on_disconnect": "continue"}

    def run(port, text):
        body = invocation(text, config=config)
        stream = RunStream(port, "/v1/graph/stream?framing=sse", method="POST", body=body)
        assert stream.read_to_end()
        return stream

    lost = run(hosts[0].port, "before")
    cursor = next(event.id for event in lost.events if event.id)
    target = "/v1/threads/t/runs/r/stream"
    with RunStream(hosts[1].port, target, after=cursor) as reader:
        assert reader.reply.status == 200
    for number in range(2):
        hosts.kill(number)

    admin("after-restore", backup.url)
    service = _start_on(start_service, backup, DEMO)
    run(service.port, "again")
    gone = service.get(target, headers=[("Last-Event-ID", cursor)])
    assert gone.status == 410 and "restore" in gone.text
    with RunStream(service.port, target) as reader:
        assert reader.read_to_end()


def test_hosts_must_not_run(start_hosts, provider, database):
    hosts = start_hosts(asking(provider))
    wait_until(lambda: hosts[0].get("/ready").status == 200, "the host serves")
    refused = admin("after-restore", database.url, code=1)
    assert "in use by" in refused and "stop all hosts first" in refused


def test_a_restore_renews_the_history(database):
    before = database.value("SELECT history FROM agent_graph.cluster")
    assert "0 hosts of the backup are dead, 0 runs ended" in admin("after-restore", database.url)
    assert database.value("SELECT history FROM agent_graph.cluster") != before
