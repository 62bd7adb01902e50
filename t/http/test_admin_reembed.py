"""agent-graph-admin reembed: new vectors for memories."""

import json

import pytest

from harness.admin import admin, state_of
from harness.agents import behaviour
from harness.http_service import HttpService
from harness.memories import store_memory

pytestmark = pytest.mark.leveldb("the folder of its database")

_SETTINGS = behaviour("echo", store="leveldb", embedding="hash")


def _vector(text, dimensions):
    """Returns similar vectors for texts with the same first letter."""
    vector = [0.01] * dimensions
    vector[ord(text[0].lower()) % dimensions] = 1.0
    return vector


@pytest.fixture
def embeddings():
    server_state = {"dimensions": 32, "refused": None}

    def answer(_method, _path, body):
        texts_in = json.loads(body)["input"]
        if server_state["refused"] in texts_in:
            return 400, "application/json", "{}"
        data = [{"index": i, "embedding": _vector(text, server_state["dimensions"])}
                for i, text in enumerate(texts_in)]
        return 200, "application/json", json.dumps({"data": data})

    server = HttpService(answer)
    server.state = server_state
    yield server
    server.close()


def _search(service, query, **fields):
    reply = service.post("/v1/store/search", {"query": query, "limit": 50} | fields)
    assert reply.status == 200, reply.text
    return [result["content"] for result in reply.json()["data"]["results"]]


def _reembed(service, code=0):
    return admin("reembed", state_of(service), service.directory / "conf" / "service.json", code=code)


@pytest.mark.parametrize("online", [True, False])
def test_memories_are_embedded_anew(start_service, embeddings, online):
    service = start_service(_SETTINGS)
    words = ["apple", "banana", "cherry", "avocado"]
    for word in words:
        store_memory(service, word)
    hashed = _search(service, "apple")
    assert set(hashed) == set(words) and hashed[0] == "apple"

    service.write_settings(_SETTINGS | {"embedding": {
        "provider": "openai", "model": "m", "base_url": embeddings.url, "api_key": "k"}})
    service.reload()
    # Until then, vectors of different spaces are not compared; searches by words and age find all
    # memories.
    assert _search(service, "apple") == []
    assert _search(service, "apple", retrieval_strategy="hybrid") == ["apple"]
    assert _search(service, "apple", retrieval_strategy="relevance") == ["apple"]
    assert _search(service, "apple", retrieval_strategy="temporal") == words[::-1]
    store_memory(service, "almond")
    assert _search(service, "apple") == ["almond"]
    before = service.post("/v1/store/memories/list").json()["data"]["memories"]

    if not online:
        service.stop()
        service.wait_until_gone()
    assert "5 memories, 4 embedded anew, 0 changed meanwhile, 0 refused" in _reembed(service)
    assert "5 memories, 0 embedded anew" in _reembed(service)
    if not online:
        service.start()
    found = _search(service, "apple")
    assert set(found) == {*words, "almond"} and set(found[:3]) == {"apple", "avocado", "almond"}
    assert service.post("/v1/store/memories/list").json()["data"]["memories"] == before

    # The same model name with vectors of another length.
    embeddings.state["dimensions"] = 48
    service.reload()
    assert _search(service, "banana") == []
    assert "5 embedded anew" in _reembed(service)
    assert _search(service, "banana")[0] == "banana"


def test_texts_that_a_provider_refuses_leave_the_others(start_service, embeddings):
    service = start_service(_SETTINGS)
    for word in ("apple", "poison", "banana"):
        store_memory(service, word)
    service.write_settings(_SETTINGS | {"embedding": {
        "provider": "openai", "model": "m", "base_url": embeddings.url, "api_key": "k", "retries_max": 0}})
    service.reload()
    embeddings.state["refused"] = "poison"
    assert "2 embedded anew, 0 changed meanwhile, 1 refused" in _reembed(service, code=1)
    assert set(_search(service, "apple")) == {"apple", "banana"}
    embeddings.state["refused"] = None
    assert "1 embedded anew" in _reembed(service)
    assert len(_search(service, "apple")) == 3


def test_reembed_tells_what_is_wrong(start_service, embeddings):
    service = start_service(_SETTINGS)
    store_memory(service, "apple")
    embeddings.close()
    service.write("other.json", json.dumps(_SETTINGS | {"embedding": {
        "provider": "openai", "model": "m", "base_url": embeddings.url, "api_key": "secret-key",
        "retries_max": 0}}))
    told = admin("reembed", state_of(service), service.directory / "conf" / "other.json", code=1)
    assert "could not be connected" in told and "secret-key" not in told
    service.write("other.json", "{")
    assert "other.json" in admin("reembed", state_of(service), service.directory / "conf" / "other.json", code=1)
    admin("reembed", state_of(service), service.directory / "conf" / "nowhere.json", code=1)
    assert _search(service, "apple") == ["apple"]
