"""GET /v1/threads?metadata.<name>=<value>: threads are found by metadata that service.json declares."""

from urllib.parse import urlencode

from harness.agents import DEMO
from harness.messages import user
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.waiting import wait_until

_INDEXED = {"threads": {"indexed_metadata": ["tenant", "topic"]}}


def _write(service, thread_id, metadata, headers=()):
    body = {"messages": [user("hi")], "metadata": metadata}
    reply = service.post(f"/v1/threads/{thread_id}/messages", body, headers=headers)
    assert reply.status == 200, reply.text


def _find(service, headers=(), **metadata):
    query = urlencode({f"metadata.{name}": value for name, value in metadata.items()})
    reply = service.get(f"/v1/threads?{query}", headers=headers)
    assert reply.status == 200, reply.text
    return [thread["thread_id"] for thread in reply.json()["data"]["threads"]]


def test_threads_are_found_by_declared_metadata(start_service):
    service = start_service(DEMO | _INDEXED, workers=2)
    _write(service, "a", {"tenant": "x & y", "topic": "rain"})
    _write(service, "b", {"tenant": "x & y"})
    _write(service, "c", {"tenant": "z", "count": 5})
    assert _find(service, tenant="x & y") == ["b", "a"]
    assert _find(service, tenant="x & y", topic="rain") == ["a"]
    assert _find(service, tenant="nobody") == []
    assert service.invoke("hi", config={"thread_id": "a"}).status == 200
    assert _find(service, tenant="x & y") == ["a", "b"]


def test_names_that_are_not_declared_are_refused(start_service):
    for settings in (DEMO, DEMO | _INDEXED):
        service = start_service(settings)
        reply = service.get("/v1/threads?metadata.count=5")
        assert reply.status == 422
        detail = reply.json()["error"]["details"][0]
        assert detail["loc"] == ["query", "metadata.count"]
        assert "threads.indexed_metadata" in detail["msg"]


def test_nobody_finds_the_threads_of_others(start_service):
    guarded = {"auth": "jwt", "env": "secrets.env", "authorization": "ownership"}
    service = start_service(DEMO | _INDEXED | guarded, files={"secrets.env": JWT_ENVIRONMENT})
    alice, bob = bearer("alice"), bearer("bob")
    _write(service, "alices", {"tenant": "x"}, headers=alice)
    _write(service, "bobs", {"tenant": "x"}, headers=bob)
    assert _find(service, headers=alice, tenant="x") == ["alices"]
    assert _find(service, headers=bob, tenant="x") == ["bobs"]


def test_threads_of_before_are_found_after_a_reload(start_service):
    service = start_service(DEMO)
    for number in range(150):
        _write(service, f"t{number}", {"tenant": "x", "number": number})
    service.write_settings(DEMO | {"threads": {"indexed_metadata": ["number"]}})
    service.reload()
    wait_until(lambda: _find(service, number=0) == ["t0"], "the oldest thread is indexed")
    assert _find(service, number=149) == ["t149"]


def test_a_configuration_that_declares_too_much_is_refused(make_service):
    service = make_service(DEMO | {"threads": {"indexed_metadata": ["a", "a"]}})
    assert "threads.indexed_metadata.0: occurs twice" in service.refusal()
