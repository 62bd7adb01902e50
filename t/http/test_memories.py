"""The memory routes against a real nginx."""

import base64

import pytest

from harness.agents import behaviour
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
from harness.openapi import OpenApi
from harness.uploads import uploaded


@pytest.fixture
def service(start_service):
    return start_service(behaviour("echo", **STORE))


def _problem(reply):
    assert reply.status == 422, reply.text
    return reply.json()["error"]["details"][0]["loc"]


def test_a_memory_comes_back_in_every_form(service):
    stored = service.post(
        MEMORIES,
        {
            "content": "The user drinks green tea.",
            "memory_type": "semantic",
            "category": "taste",
            "metadata": {"source": "chat", "nested": {"x": [1]}},
            "config": {"agent_id": "helper", "thread_id": "t1"},
            "options": {"anything": True},
        },
    )
    memory_id = data_of(stored)["memory_id"]
    assert stored.json()["message"] == "memory stored"
    got = data_of(service.post(f"{MEMORIES}/{memory_id}"))["memory"]
    (listed,) = list_memories(service)
    (found,) = search_memories(service, "which tea")
    score = found.pop("score")
    assert isinstance(score, float) and 0 < score <= 1
    # Only search results have scores.
    assert got.pop("score") is None and listed.pop("score") is None
    assert got == listed == found
    assert got["memory_id"] == got["id"] == memory_id
    assert got["content"] == "The user drinks green tea."
    assert got["memory_type"] == "semantic"
    assert got["category"] == got["metadata"]["category"] == "taste"
    assert got["metadata"]["source"] == "chat" and got["metadata"]["nested"] == {"x": [1]}
    assert got["agent_id"] == "helper" and got["thread_id"] == "t1" and got["user_id"] is None
    assert got["vector"] == [] and got["timestamp"]


def test_answers_are_what_the_document_says(service):
    openapi = OpenApi(service.get("/openapi.json").json())
    memory_id = store_memory(service, "tea")
    one = MEMORIES + "/{memory_id}"
    for method, path, body in (
        ("POST", MEMORIES, {"content": "coffee"}),
        ("POST", MEMORIES, {}),
        ("POST", SEARCH, {"query": "tea"}),
        ("POST", LIST, None),
        ("POST", one, None),
        ("PUT", one, {"content": "green tea"}),
        ("DELETE", one, None),
        ("DELETE", one, None),
        ("POST", FORGET, {}),
    ):
        reply = service.request(method, path.format(memory_id=memory_id), body)
        openapi.check_answer(method, path, reply)


def test_defaults_and_a_message(service):
    message = {"role": "user", "content": [{"type": "text", "text": "I live in "}, {"type": "text", "text": "Porto."}]}
    memory_id = store_memory(service, message)
    memory = data_of(service.post(f"{MEMORIES}/{memory_id}", {}))["memory"]
    assert memory["content"]["role"] == "user"
    assert [block["text"] for block in memory["content"]["content"]] == ["I live in ", "Porto."]
    assert memory["memory_type"] == "episodic" and memory["category"] == "general"
    assert memory["metadata"] == {"category": "general"}


def _blocks(memory):
    return [(block["type"], block.get("text")) for block in memory["content"]["content"]]


_IMAGE = {"type": "image", "media": {"kind": "url", "url": "https://example.org/tea.png"}}


def test_a_message_keeps_its_role_and_blocks(service):
    openapi = OpenApi(service.get("/openapi.json").json())
    message = {
        "role": "assistant", "message_id": "m-1", "metadata": {"b": 1, "a": 2},
        "content": [{"type": "text", "text": "green tea"}, _IMAGE, {"type": "text", "text": " is good"}],
    }
    memory_id = store_memory(service, message)
    store_memory(service, "coffee")
    reply = service.post(f"{MEMORIES}/{memory_id}")
    openapi.check_answer("POST", MEMORIES + "/{memory_id}", reply)
    got = data_of(reply)["memory"]
    (found,) = search_memories(service, "green tea is good", limit=1)
    listed = list_memories(service)[1]
    for memory in (got, found, listed):
        assert memory["content"]["role"] == "assistant"
        assert memory["content"]["message_id"] == "m-1"
        assert memory["content"]["metadata"] == {"a": 2, "b": 1}
        assert _blocks(memory) == [("text", "green tea"), ("image", None), ("text", " is good")]
        assert memory["content"]["content"][1]["media"]["url"] == _IMAGE["media"]["url"]
    # The text was embedded, and filters compare it.
    assert found["score"] > 0.99
    assert len(search_memories(service, "x", filters={"content": "green tea\n is good"})) == 1
    # A text replaces a message, and a message replaces a text.
    data_of(service.request("PUT", f"{MEMORIES}/{memory_id}", {"content": "plain"}))
    assert data_of(service.post(f"{MEMORIES}/{memory_id}"))["memory"]["content"] == "plain"
    data_of(service.request("PUT", f"{MEMORIES}/{memory_id}", {"content": message | {"role": "user"}}))
    assert data_of(service.post(f"{MEMORIES}/{memory_id}"))["memory"]["content"]["role"] == "user"


def test_text_blocks_of_a_message_are_searched_as_separate_words(service):
    blocks = [{"type": "text", "text": text} for text in ("green", "tea")]
    for content in ({"role": "user", "content": blocks}, blocks):
        memory_id = store_memory(service, content)
        assert search_memories(service, "green tea")[0]["score"] > 0.99
        data_of(service.request("DELETE", f"{MEMORIES}/{memory_id}", {}))
    memory_id = store_memory(service, "coffee")
    data_of(service.request("PUT", f"{MEMORIES}/{memory_id}", {"content": blocks}))
    assert search_memories(service, "green tea")[0]["score"] > 0.99


def test_a_message_without_text(service):
    """It can be listed and read, but searches by similarity or words cannot find it."""
    image_only = {"role": "user", "content": [_IMAGE]}
    call = {"role": "assistant", "content": [{"type": "tool_call", "id": "c", "name": "f", "args": {}}]}
    ids = [store_memory(service, content) for content in (image_only, call, [_IMAGE])]
    store_memory(service, "tea")
    assert ids_of(list_memories(service))[1:] == ids[::-1]
    assert _blocks(list_memories(service)[3]) == [("image", None)]
    assert [memory["content"] for memory in search_memories(service, "tea")] == ["tea"]
    newest = search_memories(service, "tea", retrieval_strategy="temporal")
    assert ids_of(newest)[1:] == ids[::-1]
    data_of(service.request("PUT", f"{MEMORIES}/{ids[0]}", {"content": "green tea"}))
    assert len(search_memories(service, "tea")) == 2
    data_of(service.request("PUT", f"{MEMORIES}/{ids[0]}", {"content": image_only}))
    assert [memory["content"] for memory in search_memories(service, "tea")] == ["tea"]


def test_files_of_a_message(service):
    """A caller's file is described by its metadata; its bytes are not copied."""
    file_id = uploaded(service, b"RIFF", "tea.wav", "audio/wav")["file_id"]
    blocks = [{"type": "image", "file_id": file_id}, {"type": "image", "file_id": "0" * 32}]
    memory_id = store_memory(service, {"role": "user", "content": blocks})
    content = data_of(service.post(f"{MEMORIES}/{memory_id}"))["memory"]["content"]["content"]
    assert content[0]["type"] == "audio" and content[0]["media"]["filename"] == "tea.wav"
    assert content[1]["type"] == "image" and content[1]["media"] == {"kind": "file_id", "file_id": "0" * 32}
    large = base64.b64encode(bytes(1_500_000)).decode()
    inline = {"type": "image", "media": {"kind": "data", "data_base64": large, "mime_type": "image/png"}}
    memory_id = store_memory(service, {"role": "user", "content": [inline]})
    (block,) = data_of(service.post(f"{MEMORIES}/{memory_id}"))["memory"]["content"]["content"]
    assert block["media"]["kind"] == "file_id" and block["media"]["size_bytes"] == 1_500_000
    assert service.get("/v1/files/" + block["media"]["file_id"]).body == bytes(1_500_000)


@pytest.mark.parametrize(
    "route, body, location",
    [
        (MEMORIES, {}, ["body", "content"]),
        (MEMORIES, {"content": " "}, ["body", "content"]),
        (MEMORIES, {"content": 5}, ["body", "content"]),
        (MEMORIES, {"content": []}, ["body", "content"]),
        (MEMORIES, {"content": {"role": "user", "content": []}}, ["body", "content"]),
        (MEMORIES, {"content": {"role": "user", "content": " "}}, ["body", "content"]),
        (MEMORIES, {"content": {"role": "user", "content": [{"type": "text", "text": ""}]}}, ["body", "content"]),
        (MEMORIES, {"content": {"role": "user", "content": "x" * 1100000}}, ["body", "content"]),
        (MEMORIES, {"content": [_IMAGE | {"alt_text": "x" * 1100000}]}, ["body", "content"]),
        (MEMORIES, {"content": {"role": "user", "content": [{"type": "image"}]}},
         ["body", "content", "content", "0", "media"]),
        (MEMORIES, {"content": {"role": "nobody", "content": "x"}}, ["body", "content", "role"]),
        (MEMORIES, {"content": "x", "memory_type": "short"}, ["body", "memory_type"]),
        (MEMORIES, {"content": "x", "metadata": []}, ["body", "metadata"]),
        (MEMORIES, {"content": "x", "metadata": {"category": "c" * 1025}}, ["body", "metadata", "category"]),
        (MEMORIES, {"content": "x", "config": "c"}, ["body", "config"]),
        (MEMORIES, {"content": "x", "options": 1}, ["body", "options"]),
        (MEMORIES, {"content": "x", "config": {"agent_id": {}}}, ["body", "config", "agent_id"]),
        (MEMORIES, {"content": "x" * 1100000}, ["body", "content"]),
        (SEARCH, {}, ["body", "query"]),
        (SEARCH, {"query": " "}, ["body", "query"]),
        (SEARCH, {"query": ""}, ["body", "query"]),
        (SEARCH, {"query": "x", "limit": 0}, ["body", "limit"]),
        (SEARCH, {"query": "x", "limit": "many"}, ["body", "limit"]),
        (SEARCH, {"query": "x", "max_tokens": 0}, ["body", "max_tokens"]),
        (SEARCH, {"query": "x", "score_threshold": "high"}, ["body", "score_threshold"]),
        (SEARCH, {"query": "x", "memory_type": "short"}, ["body", "memory_type"]),
        (SEARCH, {"query": "x", "category": 5}, ["body", "category"]),
        (SEARCH, {"query": "x", "filters": []}, ["body", "filters"]),
        (SEARCH, {"query": "x", "filters": {"a": {"$gt": 1}}}, ["body", "filters", "a"]),
        (SEARCH, {"query": "x", "retrieval_strategy": "magic"}, ["body", "retrieval_strategy"]),
        (SEARCH, {"query": "x", "distance_metric": "hamming"}, ["body", "distance_metric"]),
        (LIST, {"limit": 0}, ["body", "limit"]),
        (LIST, {"limit": -5}, ["body", "limit"]),
        (LIST, {"config": []}, ["body", "config"]),
        (LIST, {"cursor": 5}, ["body", "cursor"]),
        (LIST, {"cursor": "x" * 33}, ["body", "cursor"]),
        (FORGET, {"memory_type": ""}, ["body", "memory_type"]),
        (FORGET, {"category": ""}, ["body", "category"]),
        (FORGET, {"category": None}, ["body", "category"]),
        (FORGET, {"filters": {"source": ""}}, ["body", "filters", "source"]),
        (FORGET, {"config": {"agent_id": ""}}, ["body", "config", "agent_id"]),
        (FORGET, {"config": {"agent_id": None}}, ["body", "config", "agent_id"]),
        (FORGET, {"config": {"user_id": " "}}, ["body", "config", "user_id"]),
        (FORGET, {"filters": "all"}, ["body", "filters"]),
        (FORGET, {"filters": None}, ["body", "filters"]),
        (FORGET, {"filters": {str(number): 1 for number in range(33)}}, ["body", "filters"]),
        (MEMORIES + "/%20", None, ["path", "memory_id"]),
    ],
)
def test_problems_are_named(service, route, body, location):
    memory_id = store_memory(service, "kept")
    assert _problem(service.post(route, body)) == location
    assert ids_of(list_memories(service)) == [memory_id]


def test_words_of_the_routes_are_ids_elsewhere(service):
    assert data_of(service.post(LIST)) == {"memories": [], "next_cursor": None}
    for word in ("list", "forget"):
        assert service.request("PUT", f"{MEMORIES}/{word}", {"content": "x"}).status == 404
        assert service.request("DELETE", f"{MEMORIES}/{word}").status == 404
    reply = service.get(LIST)
    assert reply.status == 405 and reply.header("allow") == "POST, PUT, DELETE, OPTIONS"


def test_bodies_may_be_missing(service):
    memory_id = store_memory(service, "tea")
    assert service.post(LIST).status == 200
    assert service.post(f"{MEMORIES}/{memory_id}").status == 200
    assert service.request("DELETE", f"{MEMORIES}/{memory_id}").status == 200
    assert service.post(FORGET).status == 200


def test_unknown_ids_are_404(service):
    for method, body in (("POST", None), ("PUT", {"content": "x"}), ("DELETE", {"config": {}})):
        reply = service.request(method, f"{MEMORIES}/none", body)
        assert reply.status == 404 and reply.json()["detail"] == "memory not found"


def test_what_a_client_sends_by_default_filters_nothing(service):
    memory_id = store_memory(service, "tea")
    found = search_memories(
        service, "completely different", category="", filters={}, score_threshold=0, limit=10,
        memory_type="episodic", retrieval_strategy="similarity", distance_metric="cosine",
        max_tokens=4000, config={}, options={},
    )
    assert ids_of(found) == [memory_id]
    assert ids_of(search_memories(service, "x", config={"collection": "some_memories"})) == [memory_id]


def test_updates(service):
    memory_id = store_memory(service, "tea", category="taste", metadata={"a": 1, "b": 2})
    updated = service.request("PUT", f"{MEMORIES}/{memory_id}", {"content": "coffee", "metadata": {"b": 3}})
    assert data_of(updated)["success"] is True and updated.json()["message"] == "memory updated"
    memory = data_of(service.post(f"{MEMORIES}/{memory_id}"))["memory"]
    assert memory["content"] == "coffee"
    assert memory["metadata"] == {"a": 1, "b": 3, "category": "taste"}
    replaced = {"content": "coffee", "metadata": {"c": 4, "category": "drinks"}, "options": {"replace_metadata": True}}
    assert service.request("PUT", f"{MEMORIES}/{memory_id}", replaced).status == 200
    memory = data_of(service.post(f"{MEMORIES}/{memory_id}"))["memory"]
    assert memory["metadata"] == {"c": 4, "category": "drinks"} and memory["category"] == "drinks"
    assert search_memories(service, "coffee")[0]["score"] > 0.99
    for body, location in (
        ({}, "content"),
        ({"content": " "}, "content"),
        ({"content": "x", "metadata": []}, "metadata"),
        ({"content": "x", "options": []}, "options"),
    ):
        assert _problem(service.request("PUT", f"{MEMORIES}/{memory_id}", body)) == ["body", location]
    long = {"content": "x", "metadata": {"category": "c" * 1025}}
    assert _problem(service.request("PUT", f"{MEMORIES}/{memory_id}", long)) == ["body", "metadata", "category"]
    for method in ("PUT", "DELETE"):
        assert _problem(service.request(method, f"{MEMORIES}/%20", {"content": "x"})) == ["path", "memory_id"]
    reply = service.post(LIST, {"cursor": "nonsense"})
    assert reply.status == 422 and "cursor" in reply.json()["detail"]


def test_metadata_may_grow_beyond_what_one_request_brings(service):
    keys = [f"{half}{number}" for half in "ab" for number in range(60_000)]
    memory_id = store_memory(service, "tea", metadata=dict.fromkeys(keys[:60_000], 1))
    more = {"content": "tea", "metadata": dict.fromkeys(keys[60_000:], 2)}
    assert service.request("PUT", f"{MEMORIES}/{memory_id}", more).status == 200
    metadata = data_of(service.post(f"{MEMORIES}/{memory_id}"))["memory"]["metadata"]
    assert len(metadata) == len(keys) + 1
    related = store_memory(service, "the weather is fine", metadata={"related_to": [memory_id]})
    assert ids_of(search_memories(service, "tea", filters={"a7": 1, "b7": 2})) == [memory_id]
    found = search_memories(service, "tea", retrieval_strategy="graph_traversal", filters={"b7": 2})
    assert ids_of(found) == [memory_id]
    assert data_of(service.post(FORGET, {"filters": {"b7": 2}}))["data"] == {"deleted": 1}
    assert ids_of(list_memories(service)) == [related]


def test_forget_deletes_only_what_matches_every_filter(service):
    kept = store_memory(service, "a", category="x", memory_type="semantic")
    other = store_memory(service, "b", category="x", metadata={"source": "chat"})
    gone = store_memory(service, "c", category="x", metadata={"source": "mail"})
    body = {"category": "x", "memory_type": "episodic", "filters": {"source": "mail"}}
    assert data_of(service.post(FORGET, body))["success"] is True
    assert ids_of(list_memories(service)) == [other, kept]
    assert service.post(f"{MEMORIES}/{gone}").status == 404
    assert service.post(FORGET, {"config": {"agent_id": "nobody"}}).status == 200
    assert ids_of(list_memories(service)) == [other, kept]
    assert service.post(FORGET).status == 200
    assert list_memories(service) == [] and search_memories(service, "a") == []


def test_forget_everything_of_more_than_a_page(service):
    for number in range(620):
        store_memory(service, f"memory {number}")
    assert len(list_memories(service, {"limit": 5000})) == 620
    page = data_of(service.post(LIST, {"limit": 600}))
    rest = data_of(service.post(LIST, {"limit": 600, "cursor": page["next_cursor"]}))
    assert len(rest["memories"]) == 20 and rest["next_cursor"] is None
    assert data_of(service.post(FORGET))["data"] == {"deleted": 620}
    assert list_memories(service) == []
