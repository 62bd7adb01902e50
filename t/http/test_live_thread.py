"""The thread of a live session, changed by others meanwhile."""

from harness.live import begin_session, types, wait_for_messages


def test_a_deleted_thread_ends_its_session_and_stays_deleted(start_service, live_provider):
    service = start_service(live_provider.settings())
    client, connection = begin_session(service, live_provider, thread_id="t")
    client.type("hello")
    connection.receive_until("clientContent")
    connection.say("Hello")
    connection.complete_turn()
    client.read_turn()
    wait_for_messages(service, "t", 2)
    assert service.request("DELETE", "/v1/threads/t", {}).status == 200
    events = client.read_to_end()
    assert "session_update" not in types(events)
    error = events[-1]
    assert (error["type"], error["code"], error["fatal"]) == ("error", "thread_lost", True)
    assert client.closed_with == 1011
    assert service.get("/v1/threads").json()["data"]["threads"] == []
