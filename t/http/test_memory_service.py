"""Memories of users, agents and graphs, embeddings of a provider, restarts."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.agents import behaviour
from harness.http_service import HttpService
from harness.memories import (
    FORGET,
    LIST,
    MEMORIES,
    SEARCH,
    STORE,
    data_of,
    ids_of,
    list_memories,
    search_memories,
    store_memory,
)
from harness.messages import texts
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.tool_graph import tool_graph
from harness.waiting import wait_until

_FILES = {"secrets.env": JWT_ENVIRONMENT}


@pytest.fixture
def service(start_service):
    return start_service(behaviour("echo", **STORE))


@pytest.fixture
def start_guarded(start_service):
    def start(authorization):
        settings = behaviour("echo", auth="jwt", env="secrets.env", authorization=authorization, **STORE)
        return start_service(settings, files=_FILES)

    return start


def _blocks(memory):
    return [(block["type"], block.get("text")) for block in memory["content"]["content"]]


def test_owners(start_guarded):
    service = start_guarded("ownership")
    alice, bob = bearer("alice"), bearer("bob")
    memory_id = store_memory(service, "alice's secret", headers=alice, config={"user_id": "bob"})
    assert list_memories(service, headers=alice)[0]["user_id"] == "alice"
    for config in ({}, {"user_id": "alice"}):
        assert search_memories(service, "secret", headers=bob, config=config) == []
        assert list_memories(service, {"config": config}, headers=bob) == []
        path = f"{MEMORIES}/{memory_id}"
        assert service.post(path, {"config": config}, headers=bob).status == 404
        assert service.request("PUT", path, {"content": "x", "config": config}, headers=bob).status == 404
        assert service.request("DELETE", path, {"config": config}, headers=bob).status == 404
        assert service.post(FORGET, {"config": config}, headers=bob).status == 200
    assert ids_of(search_memories(service, "secret", headers=alice)) == [memory_id]


def test_everybody_sees_all_where_all_is_allowed(start_guarded):
    service = start_guarded("allow_all")
    alice, bob = bearer("alice"), bearer("bob")
    hers = store_memory(service, "alice's tea", headers=alice)
    his = store_memory(service, "bob's tea", headers=bob)
    assert ids_of(list_memories(service, headers=bob)) == [his, hers]
    assert set(ids_of(search_memories(service, "tea", headers=bob))) == {his, hers}
    # Here config.user_id selects a user.
    assert ids_of(list_memories(service, {"config": {"user_id": "alice"}}, headers=bob)) == [hers]
    assert ids_of(search_memories(service, "tea", headers=bob, config={"user_id": "alice"})) == [hers]
    given = store_memory(service, "a gift of tea", headers=bob, config={"user_id": "alice"})
    assert data_of(service.post(f"{MEMORIES}/{given}", headers=bob))["memory"]["user_id"] == "alice"
    path = f"{MEMORIES}/{hers}"
    assert service.request("PUT", path, {"content": "alice's coffee"}, headers=bob).status == 200
    memory = data_of(service.post(path, headers=alice))["memory"]
    assert (memory["content"], memory["user_id"]) == ("alice's coffee", "alice")
    assert service.request("DELETE", path, headers=bob).status == 200
    assert service.post(path, headers=alice).status == 404
    # Bob deletes the memories of one user, and then those of all users.
    hers = store_memory(service, "alice's milk", headers=alice)
    body = {"config": {"user_id": "bob"}}
    assert data_of(service.post(FORGET, body, headers=bob))["data"] == {"deleted": 1}
    assert set(ids_of(list_memories(service, headers=alice))) == {hers, given}
    assert data_of(service.post(FORGET, {}, headers=bob))["data"] == {"deleted": 2}
    assert list_memories(service, headers=alice) == []


def test_agents_have_memories_of_their_own(service):
    one = store_memory(service, "tea", config={"agent_id": "one"})
    two = store_memory(service, "tea", config={"agent_id": "two"})
    config = {"config": {"agent_id": "one"}}
    assert ids_of(list_memories(service, config)) == [one]
    assert ids_of(search_memories(service, "tea", **config)) == [one]
    for method, body in (("POST", {}), ("PUT", {"content": "x"}), ("DELETE", {})):
        assert service.request(method, f"{MEMORIES}/{two}", body | config).status == 404
    assert service.post(FORGET, config).status == 200
    assert ids_of(list_memories(service)) == [two]


def test_memories_survive_restart_and_killed_owner(start_service):
    service = start_service(behaviour("echo", **STORE))
    memory_id = store_memory(service, "green tea")
    service.stop()
    service.wait_until_gone()
    service.start()
    assert ids_of(search_memories(service, "tea")) == [memory_id]
    owner = service.cache_manager()
    service.error_log.allow(r"cache manager process \d+ exited on signal 9")
    terms = service.state_terms()
    service.kill(owner.pid)
    service.wait_for_state(terms)
    another = store_memory(service, "black tea")
    assert set(ids_of(search_memories(service, "tea"))) == {memory_id, another}


def test_reloads_interrupt_no_search(start_service):
    service = start_service(behaviour("echo", **STORE))
    # Each state server reads all memories for its first search.
    words = " ".join(f"word{number}" for number in range(5000))
    for number in range(150):
        store_memory(service, f"{number} {words}")
    done = threading.Event()
    answers = []

    def search():
        while not done.is_set():
            reply = service.post(SEARCH, {"query": "word7", "limit": 1})
            answers.append(reply.status if reply.status == 200 else reply.text)

    with ThreadPoolExecutor() as pool:
        searches = [pool.submit(search) for _ in range(3)]
        try:
            for _ in range(6):
                # The second reload comes while the first one's state server is still reading.
                service.reload()
                service.reload()
                enough = len(answers) + 3
                wait_until(lambda: len(answers) >= enough, "searches are answered")
        finally:
            done.set()
    for each in searches:
        each.result()
    assert set(answers) == {200}


def test_without_a_store(start_service):
    service = start_service(behaviour("echo"))
    for route in (MEMORIES, SEARCH, LIST, FORGET, MEMORIES + "/x"):
        reply = service.post(route, {})
        assert reply.status == 503 and reply.json()["detail"] == "store not configured"
    assert data_of(service.get("/v1/graph"))["info"]["store"] is False


def test_a_store_without_a_checkpointer(start_service):
    service = start_service(behaviour("echo", checkpointer="none", **STORE))
    memory_id = store_memory(service, "tea")
    assert ids_of(list_memories(service)) == [memory_id]
    assert service.get("/v1/threads").status == 503
    assert data_of(service.get("/v1/graph"))["info"]["store"] is True


def test_embeddings_of_a_provider(start_service, start_mock_provider):
    provider = start_mock_provider([])
    embedding = {"provider": "openai", "model": "text-embedding-3-small", "base_url": provider.base_url}
    service = start_service(behaviour("echo", store="memory", checkpointer="memory", embedding=embedding))
    tea = store_memory(service, "green tea")
    store_memory(service, "an invoice")
    found = search_memories(service, "green tea")
    assert found[0]["memory_id"] == tea and found[0]["score"] > 0.999
    asked = [entry for entry in provider.requests() if entry["path"] == "/v1/embeddings"]
    # A worker does not request the embedding of the same text twice.
    assert 2 <= len(asked) <= 3
    assert all(entry["body"]["model"] == "text-embedding-3-small" for entry in asked)


def test_a_provider_that_fails_is_503(start_service, start_mock_provider):
    provider = start_mock_provider([], chaos_drop=1.0)
    embedding = {"provider": "openai", "model": "m", "base_url": provider.base_url, "retries_max": 0}
    service = start_service(behaviour("echo", store="memory", checkpointer="memory", embedding=embedding))
    service.error_log.allow(r"the embedding provider")
    reply = service.post(MEMORIES, {"content": "tea"})
    assert reply.status == 503 and "the embedding provider" in reply.json()["detail"]
    assert list_memories(service) == []


def test_a_text_that_a_provider_refuses_is_422(start_service):
    def answer(_method, _path, body):
        inputs = json.loads(body)["input"]
        if "poison" in inputs:
            return 400, "application/json", "{}"
        data = [{"index": i, "embedding": [1.0, float(len(text))]} for i, text in enumerate(inputs)]
        return 200, "application/json", json.dumps({"data": data})

    provider = HttpService(answer)
    embedding = {"provider": "openai", "model": "m", "base_url": provider.url, "api_key": "k"}
    service = start_service(behaviour("echo", store="memory", checkpointer="memory", embedding=embedding))
    with ThreadPoolExecutor() as pool:
        # All at once: requests that wait for each other are sent as one batch.
        replies = list(pool.map(
            lambda content: service.post(MEMORIES, {"content": content}),
            ["poison"] + [f"tea {number}" for number in range(15)],
        ))
    provider.close()
    assert [reply.status for reply in replies] == [422] + 15 * [200]
    assert "the embedding provider refuses the text" in replies[0].text


def _say(service, text, headers=()):
    message = {"role": "user", "content": text}
    reply = service.post("/v1/graph/invoke", {"messages": [message]}, headers=headers)
    return texts(data_of(reply)["messages"])[-1]


@pytest.mark.parametrize("graph", ["remembering", "remembering_on_fiber"])
def test_nodes_remember(start_service, graph):
    service = start_service(behaviour(graph, auth="jwt", env="secrets.env", **STORE), files=_FILES)
    alice, bob = bearer("alice"), bearer("bob")
    memory_id = _say(service, "keep I drink green tea", alice)
    assert _say(service, "which tea", alice) == "I drink green tea;"
    assert _say(service, "read " + memory_id, alice) == "alice: I drink green tea"
    # Each user's runs have separate memories, even if everyone may see everything.
    assert _say(service, "which tea", bob) == ""
    assert _say(service, "read " + memory_id, bob) == "unknown"
    assert _say(service, "drop " + memory_id, bob) == "unknown"
    assert ids_of(list_memories(service, headers=alice)) == [memory_id]
    assert _say(service, "drop " + memory_id, alice) == "dropped"
    assert list_memories(service, headers=alice) == []
    memory_id = _say(service, "show black tea", alice)
    assert _say(service, "read " + memory_id, alice) == "alice: black tea by assistant, blocks 2"
    (memory,) = list_memories(service, headers=alice)
    assert _blocks(memory) == [("text", "black tea"), ("image", None)]


def test_nodes_without_a_store(start_service):
    service = start_service(behaviour("remembering"))
    service.error_log.allow(r"no memory store")
    message = {"role": "user", "content": "keep this"}
    reply = service.post("/v1/graph/invoke", {"messages": [message]})
    assert reply.status == 500 and "no memory store is configured" in reply.text


def test_tools_remember_and_recall(start_service):
    graph = tool_graph(tools=["remember", "recall"])
    service = start_service(
        {"agent": "memory.json:app", "models": {"default": {"provider": "demo"}}} | STORE,
        files={"memory.json": json.dumps(graph)},
    )
    stored = _say(service, 'call remember {"content": "likes green tea", "category": "taste"}')
    assert json.loads(stored)["memory_id"] == ids_of(list_memories(service))[0]
    found = json.loads(_say(service, 'call recall {"query": "tea"}'))["memories"]
    assert [memory["content"] for memory in found] == ["likes green tea"]
    assert found[0]["category"] == "taste" and found[0]["score"] > 0
    arguments = json.dumps({"content": "likes tea", "category": "c" * 1025})
    assert "at most 1024 bytes" in _say(service, f"call remember {arguments}")
    assert len(list_memories(service)) == 1
