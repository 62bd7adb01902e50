"""Memories, files and tools of clients belong to all hosts."""

import pytest

from harness.agents import DEMO
from harness.uploads import uploaded

_STORE = DEMO | {"store": "postgres", "embedding": "hash"}


def _search(host, query):
    reply = host.post("/v1/store/search", {"query": query})
    assert reply.status == 200, reply.text
    return [found["content"] for found in reply.json()["data"]["results"]]


def test_memories(start_hosts):
    hosts = start_hosts(_STORE)
    reply = hosts[0].post("/v1/store/memories", {"content": "The user drinks green tea."})
    assert reply.status == 200, reply.text
    memory = reply.json()["data"]["memory_id"]
    assert _search(hosts[1], "green tea") == ["The user drinks green tea."]
    reply = hosts[1].request("PUT", f"/v1/store/memories/{memory}", {"content": "She drinks coffee."})
    assert reply.status == 200, reply.text
    assert _search(hosts[0], "coffee") == ["She drinks coffee."]
    assert hosts[0].request("DELETE", f"/v1/store/memories/{memory}", {}).status == 200
    assert _search(hosts[1], "coffee") == []


def test_memories_are_listed_in_the_order_of_all_hosts(start_hosts):
    hosts = start_hosts(_STORE)
    texts = [f"memory {number}" for number in range(6)]
    for number, text in enumerate(texts):
        assert hosts[number % 2].post("/v1/store/memories", {"content": text}).status == 200
    for host in hosts:
        reply = host.post("/v1/store/memories/list", {})
        assert [one["content"] for one in reply.json()["data"]["memories"]] == texts[::-1]


@pytest.mark.parametrize("size", [5, 5 << 20])
def test_files(start_hosts, size):
    hosts = start_hosts(DEMO)
    content = bytes(number % 251 for number in range(size))
    file = uploaded(hosts[0], content)["file_id"]
    for host in hosts:
        reply = host.get(f"/v1/files/{file}")
        assert reply.status == 200
        assert reply.body == content
    if size > 300_000:
        reply = hosts[1].get(f"/v1/files/{file}", headers=[("Range", "bytes=262140-262150")])
        assert reply.status == 206
        assert reply.body == content[262140:262151]


def test_files_outlive_their_host(start_hosts):
    hosts = start_hosts(DEMO)
    file = uploaded(hosts[0], b"kept")["file_id"]
    hosts.kill(0)
    assert hosts[1].get(f"/v1/files/{file}").body == b"kept"
