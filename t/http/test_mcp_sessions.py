"""The agent as a server of the Model Context Protocol: sessions, and calls that outlive their
connection, their worker and a reload."""

import pytest

from harness.agents import DEMO, asking
from harness.http1 import ConnectionClosed
from harness.mcp_client import PATH, Client, Session, Stateless, error_of, request, result_of
from harness.messages import texts
from harness.waiting import wait_until


@pytest.fixture
def service(start_service):
    return start_service(DEMO, workers=2)


@pytest.fixture
def gated(start_service, gated_provider):
    """A service whose model stops in the middle of its answer, until the test lets it continue."""
    service = start_service(asking(gated_provider), workers=2)
    service.provider = gated_provider
    return service


def _call(session, thread_id="t", **more):
    arguments = {"message": "hello", "thread_id": thread_id}
    return session.open("tools/call", {"name": "support", "arguments": arguments}, **more)


# Sessions


def test_a_session_must_be_named_and_known(service):
    session = Session(service)
    body = request("ping")
    assert error_of(Client(service).post(body), 400)["code"] == -32000
    changed = ("C" if session.id[0] == "B" else "B") + session.id[1:]
    for other in ("x", "A" * 100, session.id[:-1], changed, session.id + "A", "x" * 4_000):
        reply = Client(service).post(body, [("Mcp-Session-Id", other)])
        assert error_of(reply, 404)["code"] == -32001, other
    assert result_of(session.ask("ping")) == {}


def test_a_session_can_be_ended(service):
    session, other = Session(service), Session(service)
    assert session.delete().status == 204
    for _ in range(8):  # whichever worker gets the request
        assert session.ask("ping").status == 404
        assert session.delete().status == 404
        assert session.resume("x").status == 404
    assert result_of(other.ask("ping")) == {}
    assert service.request("DELETE", PATH).status == 400


def test_a_session_survives_reload_kill_and_restart(service):
    session, ended = Session(service), Session(service)
    thread_id = session.answer("hello", "support")["thread_id"]
    assert ended.delete().status == 204

    def check():
        assert session.answer("again", "support", thread_id=thread_id)["thread_id"] == thread_id
        assert ended.ask("ping").status == 404

    for disturb in (service.reload, service.kill_worker, lambda: (service.kill_all(), service.start())):
        disturb()
        check()


def test_the_server_has_no_stream_of_its_own(service):
    session = Session(service)
    reply = service.get(PATH, headers=session.headers())
    assert reply.status == 405 and error_of(reply, 405)
    assert error_of(session.resume("nonsense"), 400)["code"] == -32600


def test_an_id_belongs_to_one_call(service):
    session = Session(service)

    def call(message):
        return session.ask("tools/call", {"name": "support", "arguments": {"message": message}}, id="same")

    first = result_of(call("hello"))
    for message in ("hello", "something else"):  # such as of a client that has reopened its session
        refused = error_of(call(message))
        assert refused["code"] == -32600 and "has ended" in refused["message"]
    assert result_of(Session(service).ask("tools/call", {"name": "support", "arguments": {"message": "hello"}},
                                          id="same"))["structuredContent"]["run_id"] != first["structuredContent"]["run_id"]


# Streams


def test_a_cut_connection_does_not_end_the_call(gated):
    session = Session(gated)
    stream = _call(session, id=5, meta={"progressToken": 0})
    assert stream.next().message is None
    report = stream.next()
    assert report.message["params"]["progress"] == 1
    gated.provider.wait_for_waiting(1)
    stream.close()
    again = session.reopen(report.id)
    gated.provider.open_gate()
    [response] = again.rest()
    assert response["id"] == 5 and response["result"]["structuredContent"]["answer"] == gated.provider.text
    assert gated.provider.aborted == 0
    # From the beginning, the client gets all of it again.
    assert [m.get("method", "response") for m in session.reopen(_first_id(session, gated)).rest()][-1] == "response"


def _first_id(session, service):
    stream = _call(session, "other")
    first = stream.next()
    stream.rest()
    return first.id


def test_only_what_follows_is_sent_again(service):
    session = Session(service)
    stream = _call(session, meta={"progressToken": "p"})
    events = []
    while event := stream.next():
        events.append(event)
    assert events[0].message is None and len({event.id for event in events}) == len(events)
    for number, event in enumerate(events):
        assert session.reopen(event.id).rest() == [e.message for e in events[number + 1 :]]
    other = Session(service)
    assert error_of(other.resume(events[0].id), 400)["code"] == -32600


def test_older_revisions_get_no_empty_event(service):
    session = Session(service, revision="2025-06-18")
    stream = _call(session)
    assert stream.next().message is not None


def test_a_killed_worker_does_not_end_the_call(gated):
    session = Session(gated)
    stream = _call(session, id="killed")
    first = stream.next()
    assert first.message is None
    gated.provider.wait_for_waiting(1)
    for worker in gated.workers():
        gated.kill_worker(worker.pid)
    with pytest.raises(ConnectionClosed):
        stream.rest()
    again = session.reopen(first.id)
    gated.provider.open_gate()
    [response] = again.rest()
    assert response["id"] == "killed" and not response["result"].get("isError")
    assert response["result"]["structuredContent"]["answer"] == gated.provider.text


def test_a_reload_lets_the_client_come_back(gated):
    session = Session(gated)
    stream = _call(session, id="reloaded")
    first = stream.next()
    gated.provider.wait_for_waiting(1)
    gated.reload()
    gated.provider.open_gate()
    rest = stream.rest()  # the old worker sends the response, or leaves the stream to the new one
    while not rest:
        rest = session.reopen(first.id).rest()
    assert rest[-1]["result"]["structuredContent"]["answer"] == gated.provider.text


@pytest.mark.parametrize("accept", ["application/json", "application/json, text/event-stream"])
def test_a_client_without_an_event_learns_where_its_answer_will_be(start_service, gated_provider, accept):
    service = start_service(asking(gated_provider), workers=1, shutdown_timeout="0", http="agent_graph_handover 1s;")
    session = Session(service, revision="2025-06-18")
    headers = dict(session.headers()) | {"Accept": accept}
    call = request("tools/call", {"name": "support", "arguments": {"message": "hello", "thread_id": "t"}})
    with service.connect() as connection:
        connection.request("POST", PATH, list(headers.items()), call)
        gated_provider.wait_for_waiting(1)
        service.reload()
        result = result_of(connection.read_reply())
    assert result["isError"] and result["content"][0]["text"].endswith("with this thread_id: t")
    gated_provider.open_gate()
    again = session.answer("And?", "support", thread_id="t")
    assert again["answer"] == gated_provider.text
    messages = texts(service.get("/v1/threads/t/messages").json()["data"]["messages"])
    assert messages == ["hello", gated_provider.text, "And?", gated_provider.text]


# Cancellation


def test_a_client_of_the_stateless_era_cancels_by_leaving(gated):
    client = Stateless(gated)
    params = {"name": "support", "arguments": {"message": "hello"}}
    with gated.connect() as connection:
        connection.request("POST", PATH, client.headers("tools/call", params), client.body("tools/call", params))
        gated.provider.wait_for_waiting(1)
    wait_until(lambda: gated.provider.aborted == 1, "the model call is aborted")


def test_a_cancelled_call_gets_no_response(gated):
    session = Session(gated)
    stream = _call(session, id=5)
    first = stream.next()
    gated.provider.wait_for_waiting(1)
    assert session.notify("notifications/cancelled", {"requestId": "5"}).status == 202  # another one
    assert session.notify("notifications/cancelled", {"requestId": 5, "reason": "enough"}).status == 202
    assert stream.rest() == []
    wait_until(lambda: gated.provider.aborted == 1, "the model call is aborted")
    assert session.reopen(first.id).rest() == []
    messages = gated.get("/v1/threads/t/messages").json()["data"]["messages"]
    assert texts(messages)[0] == "hello"


def test_a_call_that_is_cancelled_before_it_begins(service):
    session = Session(service)
    assert session.notify("notifications/cancelled", {"requestId": 9}).status == 202
    # This client ignores the response. A client that has reopened its session may use the id again, and
    # waits for a response.
    arguments = {"message": "hello", "thread_id": "t"}
    refused = error_of(session.ask("tools/call", {"name": "support", "arguments": arguments}, id=9))
    assert refused["code"] == -32600 and "was cancelled" in refused["message"]
    assert service.get("/v1/threads/t/runs").status == 404


def test_a_request_that_is_sent_again_joins_its_call(gated):
    session = Session(gated)
    streams = [_call(session, id=5) for _ in range(2)]
    for stream in streams:
        assert stream.next().message is None
    gated.provider.wait_for_waiting(1)
    gated.provider.open_gate()
    [first], [second] = [stream.rest() for stream in streams]
    assert first == second and first["result"]["structuredContent"]["answer"] == gated.provider.text


# Across protocols


def test_a_call_is_a_run_like_any_other(gated):
    session = Session(gated)
    stream = _call(session, "shared")
    stream.next()
    gated.provider.wait_for_waiting(1)
    [run] = gated.get("/v1/threads/shared/runs").json()["data"]["runs"]
    assert run["status"] == "running"
    gated.provider.open_gate()
    waited = gated.get(f"/v1/threads/shared/runs/{run['run_id']}/wait")
    assert waited.status == 200, waited.text
    assert stream.rest()[-1]["result"]["structuredContent"]["run_id"] == run["run_id"]
