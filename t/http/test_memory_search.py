"""Search through memories: strategies, filters, budgets, defaults."""

import pytest

from harness.agents import behaviour
from harness.memories import LIST, STORE, data_of, ids_of, list_memories, search_memories, store_memory


@pytest.fixture
def service(start_service):
    return start_service(behaviour("echo", **STORE))


def test_search_finds_what_is_about_the_same(service):
    tea = store_memory(service, "The user likes green tea in the morning.", category="taste", metadata={"year": 2024})
    store_memory(service, "The invoice of March was paid late.", category="money", metadata={"year": 2024})
    moved = store_memory(service, "The user moved to Porto.", memory_type="semantic", metadata={"year": 2025})
    assert ids_of(search_memories(service, "green tea"))[0] == tea
    assert ids_of(search_memories(service, "green tea", category="money")) != [tea]
    assert ids_of(search_memories(service, "user", memory_type="semantic")) == [moved]
    assert ids_of(search_memories(service, "user", filters={"year": 2025})) == [moved]
    assert ids_of(search_memories(service, "user", filters={"year": 2024, "category": "taste"})) == [tea]
    assert ids_of(search_memories(service, "green tea", limit=1)) == [tea]
    for metric in ("cosine", "dot_product", "euclidean", "manhattan"):
        found = search_memories(service, "green tea", distance_metric=metric)
        assert ids_of(found)[0] == tea
        assert [hit["score"] for hit in found] == sorted((hit["score"] for hit in found), reverse=True)
    best = search_memories(service, "green tea")[0]["score"]
    assert ids_of(search_memories(service, "green tea", score_threshold=best - 0.001)) == [tea]


def test_a_score_threshold_may_be_any_number_or_null(service):
    for text in ("The user likes green tea.", "Steel is an alloy.", "Paid late in March."):
        store_memory(service, text)
    everything = search_memories(service, "green tea", distance_metric="dot_product")
    assert len(everything) == 3
    for threshold in (None, 0, -0.0, -1, -1e300, everything[-1]["score"] - 1e-6):
        found = search_memories(service, "green tea", distance_metric="dot_product", score_threshold=threshold)
        assert ids_of(found) == ids_of(everything), threshold


def test_strategies(service):
    old = store_memory(service, "Order KX-4711 was sent.")
    middle = store_memory(service, "Orders are sent on Mondays.", metadata={"related_to": [old, "none"]})
    new = store_memory(service, "The weather is fine.")
    assert ids_of(search_memories(service, "kx 4711", retrieval_strategy="relevance")) == [old]
    assert ids_of(search_memories(service, "kx 4711", retrieval_strategy="hybrid"))[0] == old
    assert ids_of(search_memories(service, "orders", retrieval_strategy="temporal")) == [new, middle, old]
    linked = search_memories(service, "which orders are sent on mondays", retrieval_strategy="graph_traversal", limit=2)
    assert ids_of(linked)[0] == middle and old in ids_of(linked)
    # Related memories have half the score, and the threshold applies to them, too.
    alone = {"query": "the weather is fine", "retrieval_strategy": "graph_traversal"}
    hub = store_memory(service, "The weather is fine today.", metadata={"related_to": [middle]})
    best = {memory["memory_id"]: memory["score"] for memory in search_memories(service, **alone)}[hub]
    for threshold, related in ((best / 2 - 0.01, True), (best / 2 + 0.01, False)):
        found = search_memories(service, **alone, score_threshold=threshold)
        assert all(memory["score"] >= threshold for memory in found)
        assert (middle in ids_of(found)) == related


def test_contents_are_kept_within_the_token_budget(service):
    for number in range(3):
        store_memory(service, f"{number} " + "word " * 199)
    assert len(search_memories(service, "word", max_tokens=10000)) == 3
    assert len(search_memories(service, "word", max_tokens=600)) == 2
    (cut,) = search_memories(service, "word", max_tokens=10)
    assert len(cut["content"]) == 40


def test_defaults_of_limits(service):
    for number in range(11):
        store_memory(service, f"note {number} about tea")
    assert len(search_memories(service, "tea")) == 10
    assert len(search_memories(service, "tea", limit=None)) == 10
    assert len(search_memories(service, "tea", limit=11)) == 11
    for number in range(90):
        store_memory(service, f"another note {number}")
    for body in (None, {}, {"limit": None}):
        page = data_of(service.post(LIST, body))
        assert len(page["memories"]) == 100 and page["next_cursor"]
        (last,) = list_memories(service, {"cursor": page["next_cursor"]})
        assert last["content"] == "note 0 about tea"


def test_default_of_the_token_budget(service):
    """4000 tokens of four bytes: the four long ones have exactly that many; one more token is too
    much."""
    store_memory(service, "tea")
    for _ in range(4):
        store_memory(service, "tea " * 1000)
    newest_first = {"retrieval_strategy": "temporal"}
    for fields in ({}, {"max_tokens": None}, {"max_tokens": 4000}):
        assert len(search_memories(service, "tea", **newest_first, **fields)) == 4
    assert len(search_memories(service, "tea", **newest_first, max_tokens=4001)) == 5


def test_the_document_names_the_defaults(service):
    schemas = service.get("/openapi.json").json()["components"]["schemas"]
    search = schemas["SearchMemoriesRequest"]["properties"]
    assert search["limit"]["default"] == 10 and search["max_tokens"]["default"] == 4000
    assert schemas["ListMemoriesRequest"]["properties"]["limit"]["default"] == 100
