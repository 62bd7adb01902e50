"""Requests to the memory routes."""

STORE = {"store": "leveldb", "embedding": "hash"}
MEMORIES = "/v1/store/memories"
SEARCH = "/v1/store/search"
LIST = MEMORIES + "/list"
FORGET = MEMORIES + "/forget"


def data_of(reply, status=200):
    assert reply.status == status, reply.text
    return reply.json()["data"]


def store_memory(service, content, headers=(), **fields):
    return data_of(service.post(MEMORIES, {"content": content} | fields, headers=headers))["memory_id"]


def search_memories(service, query, headers=(), **fields):
    return data_of(service.post(SEARCH, {"query": query} | fields, headers=headers))["results"]


def list_memories(service, body=None, headers=()):
    return data_of(service.post(LIST, body, headers=headers))["memories"]


def ids_of(memories):
    return [memory["memory_id"] for memory in memories]
