"""The memory routes against a real nginx."""

import base64
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.agents import behaviour
from harness.http_service import HttpService
from harness.messages import texts
from harness.openapi import OpenApi
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.tool_graph import tool_graph
from harness.uploads import uploaded
from harness.waiting import wait_until

_STORE = {"store": "leveldb", "embedding": "hash"}
_MEMORIES = "/v1/store/memories"
_SEARCH = "/v1/store/search"
_LIST = _MEMORIES + "/list"
_FORGET = _MEMORIES + "/forget"
_FILES = {"secrets.env": JWT_ENVIRONMENT}


@pytest.fixture
def service(start_service):
    return start_service(behaviour("echo", **_STORE))


@pytest.fixture
def start_guarded(start_service):
    def start(authorization):
        settings = behaviour("echo", auth="jwt", env="secrets.env", authorization=authorization, **_STORE)
        return start_service(settings, files=_FILES)

    return start


def _data(reply, status=200):
    assert reply.status == status, reply.text
    return reply.json()["data"]


def _store(service, content, headers=(), **fields):
    return _data(service.post(_MEMORIES, {"content": content} | fields, headers=headers))["memory_id"]


def _search(service, query, headers=(), **fields):
    return _data(service.post(_SEARCH, {"query": query} | fields, headers=headers))["results"]


def _list(service, body=None, headers=()):
    return _data(service.post(_LIST, body, headers=headers))["memories"]


def _ids(memories):
    return [memory["memory_id"] for memory in memories]


def _problem(reply):
    assert reply.status == 422, reply.text
    return reply.json()["error"]["details"][0]["loc"]


def test_a_memory_comes_back_in_every_form(service):
    stored = service.post(
        _MEMORIES,
        {
            "content": "The user drinks green tea.",
            "memory_type": "semantic",
            "category": "taste",
            "metadata": {"source": "chat", "nested": {"x": [1]}},
            "config": {"agent_id": "helper", "thread_id": "t1"},
            "options": {"anything": True},
        },
    )
    memory_id = _data(stored)["memory_id"]
    assert stored.json()["message"] == "memory stored"
    got = _data(service.post(f"{_MEMORIES}/{memory_id}"))["memory"]
    (listed,) = _list(service)
    (found,) = _search(service, "which tea")
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
    memory_id = _store(service, "tea")
    one = _MEMORIES + "/{memory_id}"
    for method, path, body in (
        ("POST", _MEMORIES, {"content": "coffee"}),
        ("POST", _MEMORIES, {}),
        ("POST", _SEARCH, {"query": "tea"}),
        ("POST", _LIST, None),
        ("POST", one, None),
        ("PUT", one, {"content": "green tea"}),
        ("DELETE", one, None),
        ("DELETE", one, None),
        ("POST", _FORGET, {}),
    ):
        reply = service.request(method, path.format(memory_id=memory_id), body)
        openapi.check_answer(method, path, reply)


def test_defaults_and_a_message(service):
    message = {"role": "user", "content": [{"type": "text", "text": "I live in "}, {"type": "text", "text": "Porto."}]}
    memory_id = _store(service, message)
    memory = _data(service.post(f"{_MEMORIES}/{memory_id}", {}))["memory"]
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
    memory_id = _store(service, message)
    _store(service, "coffee")
    reply = service.post(f"{_MEMORIES}/{memory_id}")
    openapi.check_answer("POST", _MEMORIES + "/{memory_id}", reply)
    got = _data(reply)["memory"]
    (found,) = _search(service, "green tea is good", limit=1)
    listed = _list(service)[1]
    for memory in (got, found, listed):
        assert memory["content"]["role"] == "assistant"
        assert memory["content"]["message_id"] == "m-1"
        assert memory["content"]["metadata"] == {"a": 2, "b": 1}
        assert _blocks(memory) == [("text", "green tea"), ("image", None), ("text", " is good")]
        assert memory["content"]["content"][1]["media"]["url"] == _IMAGE["media"]["url"]
    # The text was embedded, and filters compare it.
    assert found["score"] > 0.99
    assert len(_search(service, "x", filters={"content": "green tea\n is good"})) == 1
    # A text replaces a message, and a message replaces a text.
    _data(service.request("PUT", f"{_MEMORIES}/{memory_id}", {"content": "plain"}))
    assert _data(service.post(f"{_MEMORIES}/{memory_id}"))["memory"]["content"] == "plain"
    _data(service.request("PUT", f"{_MEMORIES}/{memory_id}", {"content": message | {"role": "user"}}))
    assert _data(service.post(f"{_MEMORIES}/{memory_id}"))["memory"]["content"]["role"] == "user"


def test_text_blocks_of_a_message_are_searched_as_separate_words(service):
    blocks = [{"type": "text", "text": text} for text in ("green", "tea")]
    for content in ({"role": "user", "content": blocks}, blocks):
        memory_id = _store(service, content)
        assert _search(service, "green tea")[0]["score"] > 0.99
        _data(service.request("DELETE", f"{_MEMORIES}/{memory_id}", {}))
    memory_id = _store(service, "coffee")
    _data(service.request("PUT", f"{_MEMORIES}/{memory_id}", {"content": blocks}))
    assert _search(service, "green tea")[0]["score"] > 0.99


def test_a_message_without_text(service):
    """It can be listed and read, but searches by similarity or words cannot find it."""
    image_only = {"role": "user", "content": [_IMAGE]}
    call = {"role": "assistant", "content": [{"type": "tool_call", "id": "c", "name": "f", "args": {}}]}
    ids = [_store(service, content) for content in (image_only, call, [_IMAGE])]
    _store(service, "tea")
    assert _ids(_list(service))[1:] == ids[::-1]
    assert _blocks(_list(service)[3]) == [("image", None)]
    assert [memory["content"] for memory in _search(service, "tea")] == ["tea"]
    newest = _search(service, "tea", retrieval_strategy="temporal")
    assert _ids(newest)[1:] == ids[::-1]
    _data(service.request("PUT", f"{_MEMORIES}/{ids[0]}", {"content": "green tea"}))
    assert len(_search(service, "tea")) == 2
    _data(service.request("PUT", f"{_MEMORIES}/{ids[0]}", {"content": image_only}))
    assert [memory["content"] for memory in _search(service, "tea")] == ["tea"]


def test_files_of_a_message(service):
    """A caller's file is described by its metadata; its bytes are not copied."""
    file_id = uploaded(service, b"RIFF", "tea.wav", "audio/wav")["file_id"]
    blocks = [{"type": "image", "file_id": file_id}, {"type": "image", "file_id": "0" * 32}]
    memory_id = _store(service, {"role": "user", "content": blocks})
    content = _data(service.post(f"{_MEMORIES}/{memory_id}"))["memory"]["content"]["content"]
    assert content[0]["type"] == "audio" and content[0]["media"]["filename"] == "tea.wav"
    assert content[1]["type"] == "image" and content[1]["media"] == {"kind": "file_id", "file_id": "0" * 32}
    large = base64.b64encode(bytes(1_500_000)).decode()
    inline = {"type": "image", "media": {"kind": "data", "data_base64": large, "mime_type": "image/png"}}
    memory_id = _store(service, {"role": "user", "content": [inline]})
    (block,) = _data(service.post(f"{_MEMORIES}/{memory_id}"))["memory"]["content"]["content"]
    assert block["media"]["kind"] == "file_id" and block["media"]["size_bytes"] == 1_500_000
    assert service.get("/v1/files/" + block["media"]["file_id"]).body == bytes(1_500_000)


@pytest.mark.parametrize(
    "route, body, location",
    [
        (_MEMORIES, {}, ["body", "content"]),
        (_MEMORIES, {"content": " "}, ["body", "content"]),
        (_MEMORIES, {"content": 5}, ["body", "content"]),
        (_MEMORIES, {"content": []}, ["body", "content"]),
        (_MEMORIES, {"content": {"role": "user", "content": []}}, ["body", "content"]),
        (_MEMORIES, {"content": {"role": "user", "content": " "}}, ["body", "content"]),
        (_MEMORIES, {"content": {"role": "user", "content": [{"type": "text", "text": ""}]}}, ["body", "content"]),
        (_MEMORIES, {"content": {"role": "user", "content": "x" * 1100000}}, ["body", "content"]),
        (_MEMORIES, {"content": [_IMAGE | {"alt_text": "x" * 1100000}]}, ["body", "content"]),
        (_MEMORIES, {"content": {"role": "user", "content": [{"type": "image"}]}},
         ["body", "content", "content", "0", "media"]),
        (_MEMORIES, {"content": {"role": "nobody", "content": "x"}}, ["body", "content", "role"]),
        (_MEMORIES, {"content": "x", "memory_type": "short"}, ["body", "memory_type"]),
        (_MEMORIES, {"content": "x", "metadata": []}, ["body", "metadata"]),
        (_MEMORIES, {"content": "x", "metadata": {"category": "c" * 1025}}, ["body", "metadata", "category"]),
        (_MEMORIES, {"content": "x", "config": "c"}, ["body", "config"]),
        (_MEMORIES, {"content": "x", "options": 1}, ["body", "options"]),
        (_MEMORIES, {"content": "x", "config": {"agent_id": {}}}, ["body", "config", "agent_id"]),
        (_MEMORIES, {"content": "x" * 1100000}, ["body", "content"]),
        (_SEARCH, {}, ["body", "query"]),
        (_SEARCH, {"query": " "}, ["body", "query"]),
        (_SEARCH, {"query": ""}, ["body", "query"]),
        (_SEARCH, {"query": "x", "limit": 0}, ["body", "limit"]),
        (_SEARCH, {"query": "x", "limit": "many"}, ["body", "limit"]),
        (_SEARCH, {"query": "x", "max_tokens": 0}, ["body", "max_tokens"]),
        (_SEARCH, {"query": "x", "score_threshold": "high"}, ["body", "score_threshold"]),
        (_SEARCH, {"query": "x", "memory_type": "short"}, ["body", "memory_type"]),
        (_SEARCH, {"query": "x", "category": 5}, ["body", "category"]),
        (_SEARCH, {"query": "x", "filters": []}, ["body", "filters"]),
        (_SEARCH, {"query": "x", "filters": {"a": {"$gt": 1}}}, ["body", "filters", "a"]),
        (_SEARCH, {"query": "x", "retrieval_strategy": "magic"}, ["body", "retrieval_strategy"]),
        (_SEARCH, {"query": "x", "distance_metric": "hamming"}, ["body", "distance_metric"]),
        (_LIST, {"limit": 0}, ["body", "limit"]),
        (_LIST, {"limit": -5}, ["body", "limit"]),
        (_LIST, {"config": []}, ["body", "config"]),
        (_LIST, {"cursor": 5}, ["body", "cursor"]),
        (_LIST, {"cursor": "x" * 33}, ["body", "cursor"]),
        (_FORGET, {"memory_type": ""}, ["body", "memory_type"]),
        (_FORGET, {"category": ""}, ["body", "category"]),
        (_FORGET, {"category": None}, ["body", "category"]),
        (_FORGET, {"filters": {"source": ""}}, ["body", "filters", "source"]),
        (_FORGET, {"config": {"agent_id": ""}}, ["body", "config", "agent_id"]),
        (_FORGET, {"config": {"agent_id": None}}, ["body", "config", "agent_id"]),
        (_FORGET, {"config": {"user_id": " "}}, ["body", "config", "user_id"]),
        (_FORGET, {"filters": "all"}, ["body", "filters"]),
        (_FORGET, {"filters": None}, ["body", "filters"]),
        (_FORGET, {"filters": {str(number): 1 for number in range(33)}}, ["body", "filters"]),
        (_MEMORIES + "/%20", None, ["path", "memory_id"]),
    ],
)
def test_problems_are_named(service, route, body, location):
    memory_id = _store(service, "kept")
    assert _problem(service.post(route, body)) == location
    assert _ids(_list(service)) == [memory_id]


def test_words_of_the_routes_are_ids_elsewhere(service):
    assert _data(service.post(_LIST)) == {"memories": [], "next_cursor": None}
    for word in ("list", "forget"):
        assert service.request("PUT", f"{_MEMORIES}/{word}", {"content": "x"}).status == 404
        assert service.request("DELETE", f"{_MEMORIES}/{word}").status == 404
    reply = service.get(_LIST)
    assert reply.status == 405 and reply.header("allow") == "POST, PUT, DELETE, OPTIONS"


def test_bodies_may_be_missing(service):
    memory_id = _store(service, "tea")
    assert service.post(_LIST).status == 200
    assert service.post(f"{_MEMORIES}/{memory_id}").status == 200
    assert service.request("DELETE", f"{_MEMORIES}/{memory_id}").status == 200
    assert service.post(_FORGET).status == 200


def test_unknown_ids_are_404(service):
    for method, body in (("POST", None), ("PUT", {"content": "x"}), ("DELETE", {"config": {}})):
        reply = service.request(method, f"{_MEMORIES}/none", body)
        assert reply.status == 404 and reply.json()["detail"] == "memory not found"


def test_what_a_client_sends_by_default_filters_nothing(service):
    memory_id = _store(service, "tea")
    found = _search(
        service, "completely different", category="", filters={}, score_threshold=0, limit=10,
        memory_type="episodic", retrieval_strategy="similarity", distance_metric="cosine",
        max_tokens=4000, config={}, options={},
    )
    assert _ids(found) == [memory_id]
    assert _ids(_search(service, "x", config={"collection": "some_memories"})) == [memory_id]


def test_search_finds_what_is_about_the_same(service):
    tea = _store(service, "The user likes green tea in the morning.", category="taste", metadata={"year": 2024})
    _store(service, "The invoice of March was paid late.", category="money", metadata={"year": 2024})
    moved = _store(service, "The user moved to Porto.", memory_type="semantic", metadata={"year": 2025})
    assert _ids(_search(service, "green tea"))[0] == tea
    assert _ids(_search(service, "green tea", category="money")) != [tea]
    assert _ids(_search(service, "user", memory_type="semantic")) == [moved]
    assert _ids(_search(service, "user", filters={"year": 2025})) == [moved]
    assert _ids(_search(service, "user", filters={"year": 2024, "category": "taste"})) == [tea]
    assert _ids(_search(service, "green tea", limit=1)) == [tea]
    for metric in ("cosine", "dot_product", "euclidean", "manhattan"):
        found = _search(service, "green tea", distance_metric=metric)
        assert _ids(found)[0] == tea
        assert [hit["score"] for hit in found] == sorted((hit["score"] for hit in found), reverse=True)
    best = _search(service, "green tea")[0]["score"]
    assert _ids(_search(service, "green tea", score_threshold=best - 0.001)) == [tea]


def test_a_score_threshold_may_be_any_number_or_null(service):
    for text in ("The user likes green tea.", "Steel is an alloy.", "Paid late in March."):
        _store(service, text)
    everything = _search(service, "green tea", distance_metric="dot_product")
    assert len(everything) == 3
    for threshold in (None, 0, -0.0, -1, -1e300, everything[-1]["score"] - 1e-6):
        found = _search(service, "green tea", distance_metric="dot_product", score_threshold=threshold)
        assert _ids(found) == _ids(everything), threshold


def test_strategies(service):
    old = _store(service, "Order KX-4711 was sent.")
    middle = _store(service, "Orders are sent on Mondays.", metadata={"related_to": [old, "none"]})
    new = _store(service, "The weather is fine.")
    assert _ids(_search(service, "kx 4711", retrieval_strategy="relevance")) == [old]
    assert _ids(_search(service, "kx 4711", retrieval_strategy="hybrid"))[0] == old
    assert _ids(_search(service, "orders", retrieval_strategy="temporal")) == [new, middle, old]
    linked = _search(service, "which orders are sent on mondays", retrieval_strategy="graph_traversal", limit=2)
    assert _ids(linked)[0] == middle and old in _ids(linked)
    # Related memories have half the score, and the threshold applies to them, too.
    alone = {"query": "the weather is fine", "retrieval_strategy": "graph_traversal"}
    hub = _store(service, "The weather is fine today.", metadata={"related_to": [middle]})
    best = {memory["memory_id"]: memory["score"] for memory in _search(service, **alone)}[hub]
    for threshold, related in ((best / 2 - 0.01, True), (best / 2 + 0.01, False)):
        found = _search(service, **alone, score_threshold=threshold)
        assert all(memory["score"] >= threshold for memory in found)
        assert (middle in _ids(found)) == related


def test_contents_are_kept_within_the_token_budget(service):
    for number in range(3):
        _store(service, f"{number} " + "word " * 199)
    assert len(_search(service, "word", max_tokens=10000)) == 3
    assert len(_search(service, "word", max_tokens=600)) == 2
    (cut,) = _search(service, "word", max_tokens=10)
    assert len(cut["content"]) == 40


def test_defaults_of_limits(service):
    for number in range(11):
        _store(service, f"note {number} about tea")
    assert len(_search(service, "tea")) == 10
    assert len(_search(service, "tea", limit=None)) == 10
    assert len(_search(service, "tea", limit=11)) == 11
    for number in range(90):
        _store(service, f"another note {number}")
    for body in (None, {}, {"limit": None}):
        page = _data(service.post(_LIST, body))
        assert len(page["memories"]) == 100 and page["next_cursor"]
        (last,) = _list(service, {"cursor": page["next_cursor"]})
        assert last["content"] == "note 0 about tea"


def test_default_of_the_token_budget(service):
    """4000 tokens of four bytes: the four long ones have exactly that many; one more token is too
    much."""
    _store(service, "tea")
    for _ in range(4):
        _store(service, "tea " * 1000)
    newest_first = {"retrieval_strategy": "temporal"}
    for fields in ({}, {"max_tokens": None}, {"max_tokens": 4000}):
        assert len(_search(service, "tea", **newest_first, **fields)) == 4
    assert len(_search(service, "tea", **newest_first, max_tokens=4001)) == 5


def test_the_document_names_the_defaults(service):
    schemas = service.get("/openapi.json").json()["components"]["schemas"]
    search = schemas["SearchMemoriesRequest"]["properties"]
    assert search["limit"]["default"] == 10 and search["max_tokens"]["default"] == 4000
    assert schemas["ListMemoriesRequest"]["properties"]["limit"]["default"] == 100


def test_updates(service):
    memory_id = _store(service, "tea", category="taste", metadata={"a": 1, "b": 2})
    updated = service.request("PUT", f"{_MEMORIES}/{memory_id}", {"content": "coffee", "metadata": {"b": 3}})
    assert _data(updated)["success"] is True and updated.json()["message"] == "memory updated"
    memory = _data(service.post(f"{_MEMORIES}/{memory_id}"))["memory"]
    assert memory["content"] == "coffee"
    assert memory["metadata"] == {"a": 1, "b": 3, "category": "taste"}
    replaced = {"content": "coffee", "metadata": {"c": 4, "category": "drinks"}, "options": {"replace_metadata": True}}
    assert service.request("PUT", f"{_MEMORIES}/{memory_id}", replaced).status == 200
    memory = _data(service.post(f"{_MEMORIES}/{memory_id}"))["memory"]
    assert memory["metadata"] == {"c": 4, "category": "drinks"} and memory["category"] == "drinks"
    assert _search(service, "coffee")[0]["score"] > 0.99
    for body, location in (({}, "content"), ({"content": " "}, "content"), ({"content": "x", "metadata": []}, "metadata"),
                           ({"content": "x", "options": []}, "options")):
        assert _problem(service.request("PUT", f"{_MEMORIES}/{memory_id}", body)) == ["body", location]
    long = {"content": "x", "metadata": {"category": "c" * 1025}}
    assert _problem(service.request("PUT", f"{_MEMORIES}/{memory_id}", long)) == ["body", "metadata", "category"]
    for method in ("PUT", "DELETE"):
        assert _problem(service.request(method, f"{_MEMORIES}/%20", {"content": "x"})) == ["path", "memory_id"]
    reply = service.post(_LIST, {"cursor": "nonsense"})
    assert reply.status == 422 and "cursor" in reply.json()["detail"]


def test_metadata_may_grow_beyond_what_one_request_brings(service):
    keys = [f"{half}{number}" for half in "ab" for number in range(60_000)]
    memory_id = _store(service, "tea", metadata=dict.fromkeys(keys[:60_000], 1))
    more = {"content": "tea", "metadata": dict.fromkeys(keys[60_000:], 2)}
    assert service.request("PUT", f"{_MEMORIES}/{memory_id}", more).status == 200
    metadata = _data(service.post(f"{_MEMORIES}/{memory_id}"))["memory"]["metadata"]
    assert len(metadata) == len(keys) + 1
    related = _store(service, "the weather is fine", metadata={"related_to": [memory_id]})
    assert _ids(_search(service, "tea", filters={"a7": 1, "b7": 2})) == [memory_id]
    found = _search(service, "tea", retrieval_strategy="graph_traversal", filters={"b7": 2})
    assert _ids(found) == [memory_id]
    assert _data(service.post(_FORGET, {"filters": {"b7": 2}}))["data"] == {"deleted": 1}
    assert _ids(_list(service)) == [related]


def test_forget_deletes_only_what_matches_every_filter(service):
    kept = _store(service, "a", category="x", memory_type="semantic")
    other = _store(service, "b", category="x", metadata={"source": "chat"})
    gone = _store(service, "c", category="x", metadata={"source": "mail"})
    body = {"category": "x", "memory_type": "episodic", "filters": {"source": "mail"}}
    assert _data(service.post(_FORGET, body))["success"] is True
    assert _ids(_list(service)) == [other, kept]
    assert service.post(f"{_MEMORIES}/{gone}").status == 404
    assert service.post(_FORGET, {"config": {"agent_id": "nobody"}}).status == 200
    assert _ids(_list(service)) == [other, kept]
    assert service.post(_FORGET).status == 200
    assert _list(service) == [] and _search(service, "a") == []


def test_forget_everything_of_more_than_a_page(service):
    for number in range(620):
        _store(service, f"memory {number}")
    assert len(_list(service, {"limit": 5000})) == 620
    page = _data(service.post(_LIST, {"limit": 600}))
    rest = _data(service.post(_LIST, {"limit": 600, "cursor": page["next_cursor"]}))
    assert len(rest["memories"]) == 20 and rest["next_cursor"] is None
    assert _data(service.post(_FORGET))["data"] == {"deleted": 620}
    assert _list(service) == []


def test_owners(start_guarded):
    service = start_guarded("ownership")
    alice, bob = bearer("alice"), bearer("bob")
    memory_id = _store(service, "alice's secret", headers=alice, config={"user_id": "bob"})
    assert _list(service, headers=alice)[0]["user_id"] == "alice"
    for config in ({}, {"user_id": "alice"}):
        assert _search(service, "secret", headers=bob, config=config) == []
        assert _list(service, {"config": config}, headers=bob) == []
        path = f"{_MEMORIES}/{memory_id}"
        assert service.post(path, {"config": config}, headers=bob).status == 404
        assert service.request("PUT", path, {"content": "x", "config": config}, headers=bob).status == 404
        assert service.request("DELETE", path, {"config": config}, headers=bob).status == 404
        assert service.post(_FORGET, {"config": config}, headers=bob).status == 200
    assert _ids(_search(service, "secret", headers=alice)) == [memory_id]


def test_everybody_sees_all_where_all_is_allowed(start_guarded):
    service = start_guarded("allow_all")
    alice, bob = bearer("alice"), bearer("bob")
    hers = _store(service, "alice's tea", headers=alice)
    his = _store(service, "bob's tea", headers=bob)
    assert _ids(_list(service, headers=bob)) == [his, hers]
    assert set(_ids(_search(service, "tea", headers=bob))) == {his, hers}
    # Here config.user_id selects a user.
    assert _ids(_list(service, {"config": {"user_id": "alice"}}, headers=bob)) == [hers]
    assert _ids(_search(service, "tea", headers=bob, config={"user_id": "alice"})) == [hers]
    given = _store(service, "a gift of tea", headers=bob, config={"user_id": "alice"})
    assert _data(service.post(f"{_MEMORIES}/{given}", headers=bob))["memory"]["user_id"] == "alice"
    path = f"{_MEMORIES}/{hers}"
    assert service.request("PUT", path, {"content": "alice's coffee"}, headers=bob).status == 200
    memory = _data(service.post(path, headers=alice))["memory"]
    assert (memory["content"], memory["user_id"]) == ("alice's coffee", "alice")
    assert service.request("DELETE", path, headers=bob).status == 200
    assert service.post(path, headers=alice).status == 404
    # Deleted by bob: first the memories of the user he selects, then those of all users.
    hers = _store(service, "alice's milk", headers=alice)
    body = {"config": {"user_id": "bob"}}
    assert _data(service.post(_FORGET, body, headers=bob))["data"] == {"deleted": 1}
    assert set(_ids(_list(service, headers=alice))) == {hers, given}
    assert _data(service.post(_FORGET, {}, headers=bob))["data"] == {"deleted": 2}
    assert _list(service, headers=alice) == []


def test_agents_have_memories_of_their_own(service):
    one = _store(service, "tea", config={"agent_id": "one"})
    two = _store(service, "tea", config={"agent_id": "two"})
    config = {"config": {"agent_id": "one"}}
    assert _ids(_list(service, config)) == [one]
    assert _ids(_search(service, "tea", **config)) == [one]
    for method, body in (("POST", {}), ("PUT", {"content": "x"}), ("DELETE", {})):
        assert service.request(method, f"{_MEMORIES}/{two}", body | config).status == 404
    assert service.post(_FORGET, config).status == 200
    assert _ids(_list(service)) == [two]


def test_memories_survive_restart_and_killed_owner(start_service):
    service = start_service(behaviour("echo", **_STORE))
    memory_id = _store(service, "green tea")
    service.stop()
    service.wait_until_gone()
    service.start()
    assert _ids(_search(service, "tea")) == [memory_id]
    owner = service.cache_manager()
    service.error_log.allow(r"cache manager process \d+ exited on signal 9")
    service.kill(owner.pid)
    another = _store(service, "black tea")
    assert set(_ids(_search(service, "tea"))) == {memory_id, another}


def test_reloads_interrupt_no_search(start_service):
    service = start_service(behaviour("echo", **_STORE))
    # Each state server reads all memories for its first search.
    words = " ".join(f"word{number}" for number in range(5000))
    for number in range(150):
        _store(service, f"{number} {words}")
    done = threading.Event()
    answers = []

    def search():
        while not done.is_set():
            reply = service.post(_SEARCH, {"query": "word7", "limit": 1})
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
    for route in (_MEMORIES, _SEARCH, _LIST, _FORGET, _MEMORIES + "/x"):
        reply = service.post(route, {})
        assert reply.status == 503 and reply.json()["detail"] == "store not configured"
    assert _data(service.get("/v1/graph"))["info"]["store"] is False


def test_a_store_without_a_checkpointer(start_service):
    service = start_service(behaviour("echo", checkpointer="none", **_STORE))
    memory_id = _store(service, "tea")
    assert _ids(_list(service)) == [memory_id]
    assert service.get("/v1/threads").status == 503
    assert _data(service.get("/v1/graph"))["info"]["store"] is True


def test_embeddings_of_a_provider(start_service, start_mock_provider):
    provider = start_mock_provider([])
    embedding = {"provider": "openai", "model": "text-embedding-3-small", "base_url": provider.base_url}
    service = start_service(behaviour("echo", store="memory", checkpointer="memory", embedding=embedding))
    tea = _store(service, "green tea")
    _store(service, "an invoice")
    found = _search(service, "green tea")
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
    reply = service.post(_MEMORIES, {"content": "tea"})
    assert reply.status == 503 and "the embedding provider" in reply.json()["detail"]
    assert _list(service) == []


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
            lambda content: service.post(_MEMORIES, {"content": content}),
            ["poison"] + [f"tea {number}" for number in range(15)],
        ))
    provider.close()
    assert [reply.status for reply in replies] == [422] + 15 * [200]
    assert "the embedding provider refuses the text" in replies[0].text


# From graphs


def _say(service, text, headers=()):
    message = {"role": "user", "content": text}
    reply = service.post("/v1/graph/invoke", {"messages": [message]}, headers=headers)
    return texts(_data(reply)["messages"])[-1]


@pytest.mark.parametrize("graph", ["remembering", "remembering_on_fiber"])
def test_nodes_remember(start_service, graph):
    service = start_service(behaviour(graph, auth="jwt", env="secrets.env", **_STORE), files=_FILES)
    alice, bob = bearer("alice"), bearer("bob")
    memory_id = _say(service, "keep I drink green tea", alice)
    assert _say(service, "which tea", alice) == "I drink green tea;"
    assert _say(service, "read " + memory_id, alice) == "alice: I drink green tea"
    # Each user's runs have separate memories, even if everyone may see everything.
    assert _say(service, "which tea", bob) == ""
    assert _say(service, "read " + memory_id, bob) == "unknown"
    assert _say(service, "drop " + memory_id, bob) == "unknown"
    assert _ids(_list(service, headers=alice)) == [memory_id]
    assert _say(service, "drop " + memory_id, alice) == "dropped"
    assert _list(service, headers=alice) == []
    memory_id = _say(service, "show black tea", alice)
    assert _say(service, "read " + memory_id, alice) == "alice: black tea by assistant, blocks 2"
    (memory,) = _list(service, headers=alice)
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
        {"agent": "memory.json:app", "models": {"default": {"provider": "demo"}}} | _STORE,
        files={"memory.json": json.dumps(graph)},
    )
    stored = _say(service, 'call remember {"content": "likes green tea", "category": "taste"}')
    assert json.loads(stored)["memory_id"] == _ids(_list(service))[0]
    found = json.loads(_say(service, 'call recall {"query": "tea"}'))["memories"]
    assert [memory["content"] for memory in found] == ["likes green tea"]
    assert found[0]["category"] == "taste" and found[0]["score"] > 0
    arguments = json.dumps({"content": "likes tea", "category": "c" * 1025})
    assert "at most 1024 bytes" in _say(service, f"call remember {arguments}")
    assert len(_list(service)) == 1
