"""The stream of a run: from any position on, in any worker, as server-sent events and as lines."""

import pytest

from harness.agents import DEMO
from harness.messages import text_of
from harness.run_stream import Reader, RunStream
from harness.service import invocation
from harness.stream import is_done
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.waiting import wait_until

_RUNS = "/v1/graph/runs"


def _path(run_id="r1", thread_id="t"):
    return f"/v1/threads/{thread_id}/runs/{run_id}/stream"


def _start(service, text="hi", run_id="r1", thread_id="t", **fields):
    config = {"thread_id": thread_id, "run_id": run_id}
    reply = service.post(_RUNS, invocation(text, config=config, **fields))
    assert reply.status == 202, reply.text


def _finished(service, **fields):
    _start(service, **fields)
    assert service.get("/v1/threads/t/runs/r1/wait").status == 200


@pytest.fixture
def gated(start_service, gated_provider):
    models = {"default": {"provider": "openai", "model": "m", "base_url": gated_provider.base_url}}
    return start_service(DEMO | {"models": models}, workers=3)


def test_a_finished_run_is_complete_at_once(start_service):
    service = start_service(DEMO, workers=2)
    _finished(service)
    for _ in range(4):
        stream = RunStream(service.port, _path())
        assert stream.reply.header("Content-Type") == "text/event-stream"
        assert stream.read_to_end()
        reader = Reader()
        reader.take(stream.events)
        reader.check("You said: hi")


def test_lines_by_accept(start_service):
    service = start_service(DEMO)
    _finished(service)
    reply = service.get(_path(), headers={"Accept": "application/x-ndjson"})
    assert reply.header("Content-Type") == "application/x-ndjson"
    message, done = reply.lines()
    assert is_done(done)
    cursor = message["metadata"]["cursor"]
    (rest,) = service.get(_path() + f"?after={cursor}", headers={"Accept": "application/x-ndjson"}).lines()
    assert is_done(rest)


def test_every_cursor_leads_to_the_rest(start_service):
    service = start_service(DEMO)
    _finished(service)
    whole = RunStream(service.port, _path(), after="-1")
    assert whole.read_to_end()
    for index, event in enumerate(whole.events):
        rest = RunStream(service.port, _path(), after=event.id)
        if event.is_done:
            assert rest.reply.status == 204
        else:
            assert rest.read_to_end()
            assert [e.chunk["message"] for e in rest.events] == [
                e.chunk["message"] for e in whole.events[index + 1 :]
            ]


def test_the_header_is_newer_than_the_query(start_service):
    service = start_service(DEMO)
    _finished(service)
    whole = RunStream(service.port, _path())
    whole.read_to_end()
    assert RunStream(service.port, _path() + "?after=-1", after=whole.last_id).reply.status == 204


@pytest.mark.parametrize("cursor", ["x", "0", "-2", "z" * 65, "0" * 64, "0" * 66])
def test_other_texts_are_no_cursors(start_service, cursor):
    service = start_service(DEMO)
    _finished(service)
    by_query = service.get(_path() + f"?after={cursor}")
    assert by_query.status == 400
    assert by_query.json()["error"]["details"][0]["loc"] == ["query", "after"]
    by_header = service.get(_path(), headers={"Last-Event-ID": cursor})
    assert by_header.status == 400


def test_a_cursor_of_another_thread_is_gone(start_service):
    service = start_service(DEMO)
    _finished(service)
    stream = RunStream(service.port, _path())
    stream.read_to_end()
    assert service.request("DELETE", "/v1/threads/t", {}).status == 200
    assert service.get(_path()).status == 404
    _finished(service)
    gone = service.get(_path(), headers={"Last-Event-ID": stream.last_id})
    assert gone.status == 410
    assert gone.json()["error"]["code"] == "GONE"
    assert "/v1/threads/t/state" in gone.json()["detail"]


def test_a_reader_follows_a_run_in_any_worker(gated, gated_provider):
    _start(gated)
    gated_provider.wait_for_waiting(1)
    streams = [RunStream(gated.port, _path()) for _ in range(8)]
    gated_provider.open_gate()
    for stream in streams:
        assert stream.read_to_end()
        reader = Reader()
        reader.take(stream.events)
        reader.check(gated_provider.text)


def test_readers_in_every_worker_get_pieces(gated, gated_provider):
    """The model has sent a piece, and waits: each reader has that piece, in any worker."""
    _start(gated)
    gated_provider.wait_for_waiting(1)
    streams = [RunStream(gated.port, _path()) for _ in range(24)]
    for stream in streams:
        piece = stream.read()
        assert piece.message["delta"] and text_of(piece.message) == "one "
        assert piece.id
    gated_provider.open_gate()
    for stream in streams:
        assert stream.read_to_end()
        reader = Reader()
        reader.take(stream.events)
        reader.check(gated_provider.text)


def test_readers_in_every_worker_get_pieces_of_a_run_with_a_client(gated, gated_provider):
    """The run ends with the connection that began it, and others can follow it, too."""
    body = invocation("hi", config={"thread_id": "t", "run_id": "r1"})
    with gated.connect() as client:
        client.request("POST", "/v1/graph/stream", [], body)
        gated_provider.wait_for_waiting(1)
        streams = [RunStream(gated.port, _path()) for _ in range(24)]
        for stream in streams:
            piece = stream.read()
            assert piece.message["delta"] and text_of(piece.message) == "one "
        gated_provider.open_gate()
        for stream in streams:
            assert stream.read_to_end()
            reader = Reader()
            reader.take(stream.events)
            reader.check(gated_provider.text)
        assert is_done(client.read_reply().lines()[-1])


def test_a_reader_that_comes_back_gets_the_rest(gated, gated_provider):
    """The reader reconnects again and again, to any worker, and at the end has everything once."""
    body = invocation("hi", config={"thread_id": "t", "run_id": "r1", "on_disconnect": "continue"})
    with RunStream(gated.port, "/v1/graph/stream?framing=sse", method="POST", body=body) as first:
        assert first.reply.status == 200
        first.read()
    gated_provider.wait_for_waiting(1)
    reader = Reader()
    reader.take(first.events)
    gated_provider.open_gate()
    for _ in range(20):
        with RunStream(gated.port, _path(), after=reader.cursors[-1]) as stream:
            if stream.reply.status == 204:
                break
            event = stream.read()
            reader.take([event] if event else [])
    reader.check(gated_provider.text)
    assert reader.resets == 0


def test_the_run_outlives_the_connection_that_began_it(gated, gated_provider):
    for target in ("/v1/graph/stream", "/v1/graph/invoke"):
        run_id = target.rsplit("/", 1)[1]
        config = {"thread_id": "t", "run_id": run_id, "on_disconnect": "continue"}
        with gated.connect() as connection:
            connection.request("POST", target, [], invocation("hi", config=config))
            gated_provider.wait_for_waiting(1)
        gated_provider.open_gate()
        done = gated.get(f"/v1/threads/t/runs/{run_id}/wait")
        assert done.status == 200, done.text
        gated_provider.close_gate()
    assert gated_provider.aborted == 0


def test_the_direct_run_still_ends_with_its_connection(gated, gated_provider):
    with gated.connect() as connection:
        connection.request("POST", "/v1/graph/stream", [], invocation("hi", config={"thread_id": "t"}))
        gated_provider.wait_for_waiting(1)
    wait_until(lambda: gated_provider.aborted == 1, "the run is cancelled")


def test_post_stream_as_server_sent_events(start_service):
    service = start_service(DEMO)
    body = invocation("hi", config={"thread_id": "t"})
    stream = RunStream(service.port, "/v1/graph/stream?framing=sse", method="POST", body=body)
    assert stream.reply.header("Content-Type") == "text/event-stream"
    assert stream.read_to_end()
    assert stream.events[-1].is_done
    refused = service.post("/v1/graph/stream?framing=xml", body)
    assert refused.status == 422


def test_granularity_adds_nodes_and_the_state(start_service):
    service = start_service(DEMO)
    _finished(service)
    stream = RunStream(service.port, _path() + "?response_granularity=partial")
    assert stream.read_to_end()
    nodes = [e.chunk for e in stream.events if (e.chunk["data"] or {}).get("status") == "node_invoked"]
    assert nodes and all(chunk["state"] is None for chunk in nodes)
    assert stream.events[-1].chunk["state"]["context"]


def test_head_is_answered_without_a_body(start_service):
    service = start_service(DEMO)
    _finished(service)
    reply = service.request("HEAD", _path())
    assert reply.status == 200 and reply.body == b""


@pytest.mark.one_host("readers of one worker are counted")
def test_readers_of_a_worker_and_of_a_thread_are_bounded(start_service, gated_provider):
    """Four of the worker, half of them of one thread."""
    models = {"default": {"provider": "openai", "model": "m", "base_url": gated_provider.base_url}}
    service = start_service(DEMO | {"models": models, "limits": {"runs_max": 8}}, workers=1)
    for thread_id in ("t", "u"):
        _start(service, thread_id=thread_id)
    gated_provider.wait_for_waiting(2)

    def is_refused(thread_id):
        reply = service.request("GET", _path(thread_id=thread_id))
        assert reply.header("Retry-After")
        return reply.status == 503

    streams = [RunStream(service.port, _path()) for _ in range(2)]
    assert is_refused("t")
    others = [RunStream(service.port, _path(thread_id="u")) for _ in range(2)]
    assert [stream.reply.status for stream in streams + others] == [200] * 4
    assert is_refused("another")
    streams[0].close()
    wait_until(lambda: RunStream(service.port, _path()).reply.status == 200, "there is a place again")
    gated_provider.open_gate()
    assert streams[1].read_to_end()


def test_a_deleted_thread_ends_its_readers(gated, gated_provider):
    _start(gated)
    gated_provider.wait_for_waiting(1)
    stream = RunStream(gated.port, _path())
    assert gated.request("DELETE", "/v1/threads/t", {}).status == 200
    assert stream.read_to_end()
    assert stream.events[-1].chunk["data"]["reason"] == "deleted"


@pytest.mark.parametrize(
    "unread", [("Content-Length", "5"), ("Transfer-Encoding", "chunked")], ids=["length", "chunked"]
)
def test_a_reader_that_never_sends_its_body_may_leave(start_service, gated_provider, unread):
    models = {"default": {"provider": "openai", "model": "m", "base_url": gated_provider.base_url}}
    service = start_service(
        DEMO | {"models": models, "auth": "jwt", "env": "secrets.env"},
        files={"secrets.env": JWT_ENVIRONMENT},
        workers=1,
        server="location = /status.json { agent_graph_status format=json; }",
    )

    def followers():
        return service.get("/status.json").json()["services"][0]["followers"]

    config = {"thread_id": "t", "run_id": "r1"}
    reply = service.post(_RUNS, invocation("hi", config=config), headers=bearer())
    assert reply.status == 202, reply.text
    with RunStream(service.port, _path(), headers=[*bearer(), unread]) as stream:
        assert stream.reply.status == 200
        wait_until(lambda: followers() == 1, "the reader follows the run")
        # The server may still write, so only the end of the client's side shows that it leaves.
        stream.connection.half_close()
        wait_until(lambda: followers() == 0, "the reader has left")
    run = service.get("/v1/threads/t/runs/r1", headers=bearer()).json()["data"]
    assert run["status"] == "running"
    gated_provider.open_gate()
