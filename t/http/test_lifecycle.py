"""Start, reload, quit, upgrade and death of nginx's processes while an agent is serving."""

import signal

import pytest

from harness import http1, http2, processes
from harness.live import wait_for_messages
from harness.service import invocation
from harness.stream import is_done
from harness.waiting import wait_until

pytestmark = pytest.mark.one_host("the processes of one nginx")

_STREAMS = 200


def _settings(provider, **other):
    model = {"provider": "openai", "model": "gated", "base_url": provider.base_url, "api_key": "key"}
    return {"agent": "graphs/support.json:app", "models": {"default": model}} | other


_DEMO = {"agent": "graphs/support.json:app", "models": {"default": {"provider": "demo"}}}


def _open_streams(service, provider, count):
    streams = [service.stream(f"stream {number}") for number in range(count)]
    provider.wait_for_waiting(count)
    return streams


def _assert_all_whole(streams, text):
    for stream in streams:
        assert stream.ended_with_done()
        assert stream.final_text() == text
        stream.close()


def _refuses_connections(service):
    try:
        http1.Connection(service.port).close()
    except ConnectionRefusedError:
        return True
    return False


def _thread_of(reply):
    assert reply.status == 200, reply.text
    return reply.json()["data"]["meta"]["thread_id"]


def test_serves_and_quits(start_service):
    service = start_service(_DEMO)
    assert service.get("/ping").json()["success"] is True
    _thread_of(service.invoke("hello"))
    service.quit()
    service.wait_until_gone()


def test_a_debug_log_is_no_hindrance(start_service):
    service = start_service(_DEMO, log_level="debug")
    service.reload()
    assert service.get("/ping").status == 200
    _thread_of(service.invoke("hello"))


@pytest.mark.parametrize("workers", [1, 4])
def test_any_number_of_workers(start_service, workers):
    service = start_service(_DEMO, workers=workers)
    assert len(service.workers()) == workers
    thread = _thread_of(service.invoke("hello"))
    for _ in range(2 * workers):
        again = service.invoke("again", config={"thread_id": thread})
        assert again.json()["data"]["meta"]["is_new_thread"] is False


@pytest.mark.parametrize(
    "settings, words",
    [
        ("{", ["service.json"]),
        (_DEMO | {"agnet": 1}, ["service.json", "agnet", "agent"]),
        (_DEMO | {"agent": "graphs/missing.json:app"}, ["missing.json"]),
        (_DEMO | {"agent": "graphs/broken.json:app"}, ["broken.json"]),
        (_DEMO | {"agent": "graphs/broken.so:app"}, ["broken.so"]),
        (_DEMO | {"checkpointer": {"type": "levldb"}}, ["checkpointer.type", "levldb", "leveldb"]),
    ],
    ids=["no-json", "unknown-key", "no-graph", "bad-graph", "no-shared-object", "bad-value"],
)
def test_broken_service_is_refused_with_one_line(start_service, settings, words):
    files = {"graphs/broken.json": "{}", "graphs/broken.so": b"not a shared object"}
    service = start_service(_DEMO, files=files)
    workers = service.workers()

    service.write_settings(settings)
    printed = service.refusal()
    lines = [line for line in printed.splitlines() if "[emerg]" in line]
    assert len(lines) == 1, printed
    for word in words:
        assert word in lines[0]

    assert len(service.refused_reload()) == 1
    assert service.workers() == workers
    _thread_of(service.invoke("still here"))


def test_missing_environment_fails_the_test_of_the_configuration(make_service):
    service = make_service(_DEMO)
    service.error_log.allow(r"\[emerg\]")  # newer versions of nginx also log it there
    accepted, printed = service.test_configuration(extra_environment={"MODE": "staging"})
    assert not accepted and "MODE" in printed
    accepted, printed = service.test_configuration(extra_environment={"MODE": "production"})
    assert accepted, printed


def test_streams_survive_a_reload(start_service, gated_provider):
    service = start_service(_settings(gated_provider))
    streams = _open_streams(service, gated_provider, _STREAMS)
    service.reload()
    assert service.draining_workers()
    gated_provider.open_gate()
    _assert_all_whole(streams, gated_provider.text)
    wait_until(lambda: not service.draining_workers(), "the old workers have gone")
    _thread_of(service.invoke("after"))


def test_streams_survive_a_refused_reload(start_service, gated_provider):
    service = start_service(_settings(gated_provider))
    streams = _open_streams(service, gated_provider, 20)
    service.error_log.allow(r"\[emerg\]")
    service.write_settings("{")
    service.refused_reload()
    gated_provider.open_gate()
    _assert_all_whole(streams, gated_provider.text)


def test_streams_survive_a_quit(start_service, gated_provider):
    service = start_service(_settings(gated_provider))
    streams = _open_streams(service, gated_provider, _STREAMS)
    service.quit()
    wait_until(lambda: not service.workers(), "the workers drain")
    assert service.draining_workers()
    wait_until(lambda: _refuses_connections(service), "no process listens")
    gated_provider.open_gate()
    _assert_all_whole(streams, gated_provider.text)
    service.wait_until_gone()


def test_streams_survive_an_upgrade(start_service, gated_provider):
    service = start_service(_settings(gated_provider))
    gated_provider.open_gate()
    thread = _thread_of(service.invoke("before"))
    gated_provider.close_gate()
    streams = _open_streams(service, gated_provider, 20)
    old = service.master_pid
    service.upgrade()
    gated_provider.open_gate()
    _assert_all_whole(streams, gated_provider.text)
    wait_until(lambda: not processes.is_alive(old), "the old master has gone")
    after = service.invoke("after", config={"thread_id": thread})
    assert after.json()["data"]["meta"]["is_new_thread"] is False


def test_term_ends_at_once_with_streams_in_flight(start_service, gated_provider):
    service = start_service(_settings(gated_provider))

    def ends_by_itself():
        if not service.processes():
            service.start()
        killed = len(service.error_log.lines("exited on signal 9"))
        streams = _open_streams(service, gated_provider, 20)
        service.stop()
        service.wait_until_gone()
        assert not any(stream.ended_with_done() for stream in streams)
        wait_until(lambda: gated_provider.waiting == 0, "the provider notices the end")
        return len(service.error_log.lines("exited on signal 9")) == killed

    # A worker exits within 1.5 seconds if the machine is not too busy.
    wait_until(ends_by_itself, "nginx does not have to kill a process")


def test_term_ends_a_worker_that_leaves_at_once(start_service, gated_provider):
    service = start_service(_settings(gated_provider))
    streams = _open_streams(service, gated_provider, 20)
    service.reload()
    leaving = service.draining_workers()
    assert leaving
    for process in leaving:
        service.signal(signal.SIGTERM, process.pid)
    wait_until(lambda: not service.draining_workers(), "the old workers have gone")
    assert not any(stream.ended_with_done() for stream in streams)
    # The fixture finds no alert in the error log.


def test_killed_worker_cuts_only_its_own_streams(start_service, gated_provider):
    # With reuseport the kernel distributes connections over both workers.
    service = start_service(_settings(gated_provider), listen="reuseport")
    gated_provider.open_gate()
    thread = _thread_of(service.invoke("before"))
    gated_provider.close_gate()
    streams = _open_streams(service, gated_provider, 40)
    service.kill_worker()
    wait_until(lambda: gated_provider.aborted > 0, "the provider notices the dead worker")
    gated_provider.open_gate()
    whole = [stream for stream in streams if stream.is_whole()]
    assert 0 < len(whole) < len(streams)
    _assert_all_whole(whole, gated_provider.text)
    after = service.invoke("after", config={"thread_id": thread})
    assert after.json()["data"]["meta"]["is_new_thread"] is False
    assert len(after.json()["data"]["messages"]) == 4


def test_thread_survives_a_restart(start_service):
    service = start_service(_DEMO)
    thread = _thread_of(service.invoke("before"))
    service.quit()
    service.wait_until_gone()
    service.start()
    after = service.invoke("after", config={"thread_id": thread})
    assert after.json()["data"]["meta"]["is_new_thread"] is False
    roles = [message["role"] for message in after.json()["data"]["messages"]]
    assert roles == ["user", "assistant", "user", "assistant"]


@pytest.mark.parametrize("how", ["kill", "killed together"])
def test_thread_survives_the_state_server(start_service, how):
    service = start_service(_DEMO)
    thread = _thread_of(service.invoke("before"))
    service.error_log.allow(r"exited on signal 9")
    terms = service.state_terms()
    service.kill(service.cache_manager().pid)
    if how == "killed together":
        service.kill_worker()
    service.wait_for_state(terms)
    after = service.invoke("after", config={"thread_id": thread})
    assert after.status == 200, after.text
    assert after.json()["data"]["meta"]["is_new_thread"] is False


def test_thread_survives_the_death_of_everything(start_service):
    service = start_service(_DEMO)
    thread = _thread_of(service.invoke("before"))
    service.kill_all()
    service.start()
    after = service.invoke("after", config={"thread_id": thread})
    assert after.json()["data"]["meta"]["is_new_thread"] is False


def _execution_meta(service, thread):
    reply = service.get(f"/v1/threads/{thread}/state")
    assert reply.status == 200, reply.text
    return reply.json()["data"]["state"]["execution_meta"]


def test_run_of_a_killed_worker_is_not_running(start_service, gated_provider):
    service = start_service(_settings(gated_provider))
    stream = service.stream("hello", config={"thread_id": "t"})
    gated_provider.wait_for_waiting(1)
    assert _execution_meta(service, "t")["is_running"] is True
    for worker in service.workers():  # one of them executes the run
        service.kill_worker(worker.pid)
    wait_until(lambda: not _execution_meta(service, "t")["is_running"], "the run counts as ended")
    meta = _execution_meta(service, "t")
    assert meta["status"] == "error" and "interrupt" not in meta
    assert not stream.is_whole()
    gated_provider.open_gate()
    after = service.invoke("again", config={"thread_id": "t"})
    assert after.status == 200, after.text
    assert after.json()["data"]["meta"]["is_new_thread"] is False
    assert _execution_meta(service, "t")["is_running"] is False


def _invoke_on_each_worker(service, thread):
    """Runs second turns until every worker has served one; returns each worker's view of the
    thread."""
    wanted = {str(worker.pid) for worker in service.workers()}
    said = {}

    def all_served():
        reply = service.invoke("again", config={"thread_id": thread})
        said[reply.header("X-Worker")] = reply.json()["data"]["meta"]["is_new_thread"]
        return wanted <= set(said)

    wait_until(all_served, "each worker has served a turn")
    return said


def test_a_thread_is_new_once_for_all_workers(start_service):
    service = start_service(_DEMO, location="add_header X-Worker $pid;", listen="reuseport")
    first = service.invoke("hello").json()["data"]["meta"]
    assert first["is_new_thread"] is True
    assert set(_invoke_on_each_worker(service, first["thread_id"]).values()) == {False}
    service.quit()
    service.wait_until_gone()
    service.start()
    assert set(_invoke_on_each_worker(service, first["thread_id"]).values()) == {False}


def test_reset_of_an_http2_stream_stops_the_model_call(start_service, gated_provider):
    service = start_service(_settings(gated_provider), http2=True)
    with http2.Http2Connection(service.http2_port) as connection:
        body = invocation("hello")
        abandoned = connection.request("POST", "/v1/graph/stream", body=body)
        kept = connection.request("POST", "/v1/graph/stream", body=body)
        gated_provider.wait_for_waiting(2)
        connection.cancel(abandoned)
        wait_until(lambda: gated_provider.aborted == 1, "the model call is stopped")
        gated_provider.open_gate()
        assert is_done(connection.read_reply(kept).lines()[-1])
    assert gated_provider.aborted == 1


def test_client_abort_stops_the_model_call(start_service, gated_provider):
    service = start_service(_settings(gated_provider))
    (stream,) = _open_streams(service, gated_provider, 1)
    stream.read_line()
    stream.close()
    wait_until(lambda: gated_provider.aborted == 1, "the model call is stopped")


@pytest.mark.parametrize("on_abort", ["cancel", "continue"])
def test_a_post_action_and_the_run_of_a_client_that_left_are_apart(
    start_service, gated_provider, held_service, on_abort
):
    service = start_service(
        _settings(gated_provider),
        http="log_format after '$upstream_status';\n",
        location=f"post_action @after; agent_graph_on_abort {on_abort};",
        server=f"location @after {{ proxy_pass {held_service.url}; access_log logs/after.log after; }}",
        workers=1,
    )
    stream = service.stream("hello", config={"thread_id": "left"})
    gated_provider.wait_for_waiting(1)
    stream.close()
    wait_until(lambda: held_service.requests, "the post action has begun")
    if on_abort == "cancel":
        wait_until(lambda: gated_provider.aborted == 1, "the model call is stopped")
    else:
        gated_provider.open_gate()
        wait_for_messages(service, "left", 2)
        assert gated_provider.finished == 1
    assert service.get("/ping").status == 200
    held_service.go_on.set()
    log = service.directory / "logs" / "after.log"

    def logged():
        statuses = log.read_text().split() if log.exists() else []
        return len(statuses) == len(held_service.requests) and statuses

    # All other requests have a post_action, too.
    assert set(wait_until(logged, "all are logged")) == {"200"}


def test_reloads_leak_neither_descriptors_nor_processes(start_service):
    service = start_service(_DEMO)
    programs = ["master", "worker", "worker", "cache manager", "keeper", "spawner"]

    def running():
        titles = [process.title for process in service.processes()]
        return sorted(name for title in titles for name in set(programs) if name in title)

    # The start is complete: the master has opened all descriptors that it will ever have.
    wait_until(lambda: running() == sorted(programs), "every process runs")
    descriptors = processes.descriptors(service.master_pid)
    for _ in range(6):
        service.reload()
        _thread_of(service.invoke("hello"))
    wait_until(lambda: running() == sorted(programs), "the old processes have gone")
    # The master closes a child's channel some time after the child's exit.
    wait_until(
        lambda: processes.descriptors(service.master_pid) == descriptors,
        f"the master has {descriptors} descriptors, as before",
    )
