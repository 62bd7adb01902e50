"""Peers that reset kept connections: how often each request is sent. Some requests cost money, and
none may be sent more often than its configuration allows."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.agents import DEMO, behaviour
from harness.resetting_peer import ResettingPeer
from harness.tool_graph import asks, tool_graph
from harness.uploads import upload
from harness.waiting import wait_until

pytestmark = pytest.mark.one_host("the kept connections of one worker")

_ONE_THREAD = {"workers": 1, "service_options": "threads=1"}  # so that there is only one pool
_COMPLETION = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]
}
_STOCK = {
    "name": "get_stock",
    "description": "How many there are.",
    "url": "${STOCK}/stock/{item}",
    "parameters": {"type": "object", "properties": {"item": {"type": "string"}}},
}


def _json(document):
    return "application/json", json.dumps(document).encode()


@pytest.fixture
def start_peer():
    running = []

    def start(answer):
        running.append(ResettingPeer(answer))
        return running[-1]

    yield start
    for peer in running:
        peer.close()


def _at_once(count, call):
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda _: call(), range(count)))


def _sends(peer, resets, call):
    """Returns how many requests `call` causes when the peer resets connections, and its result."""
    before = len(peer.requests)
    peer.resets = resets
    result = call()
    return len(peer.requests) - before, result


@pytest.mark.parametrize("kept", [5, 20])
@pytest.mark.parametrize("retries", [0, 2])
def test_a_model_call(start_service, start_peer, kept, retries):
    peer = start_peer(lambda *_: _json(_COMPLETION))
    model = {"provider": "openai", "model": "m", "base_url": f"{peer.url}/v1", "api_key": "k"}
    service = start_service(
        {"agent": "graphs/support.json:app", "models": {"default": model | {"retries_max": retries}}},
        **_ONE_THREAD,
    )
    peer.hold_until(kept)
    assert {reply.status for reply in _at_once(kept, lambda: service.invoke("hello"))} == {200}
    sends, reply = _sends(peer, "kept", lambda: service.invoke("hello"))
    assert reply.status == 200 and sends == min(retries, 1) + 1
    sends, reply = _sends(peer, "all", lambda: service.invoke("hello"))
    assert reply.status == 500 and sends == retries + 1


@pytest.mark.parametrize("retries", [0, 1])
def test_an_embedding(start_service, start_peer, retries):
    def answer(_method, _path, body):
        inputs = json.loads(body)["input"]
        return _json({"data": [{"index": i, "embedding": [1.0, 2.0]} for i in range(len(inputs))]})

    peer = start_peer(answer)
    embedding = {"provider": "openai", "model": "m", "base_url": peer.url, "api_key": "k",
                 "retries_max": retries}
    service = start_service(
        behaviour("echo", store="memory", checkpointer="memory", embedding=embedding), **_ONE_THREAD
    )
    service.error_log.allow(r"the embedding provider")
    texts = (f"tea {number}" for number in range(100))

    def store():
        return service.post("/v1/store/memories", {"content": next(texts)})

    assert store().status == 200
    sends, reply = _sends(peer, "kept", store)
    assert reply.status == 200 and sends == retries + 1
    sends, reply = _sends(peer, "all", store)
    assert reply.status == 503 and sends == retries + 1


def test_a_tool_that_may_be_called_twice(make_service, start_peer, start_mock_provider):
    kept = 8
    peer = start_peer(lambda *_: _json({"left": 3}))
    calls = [("get_stock", {"item": str(number)}) for number in range(kept)]
    mock = start_mock_provider(asks("all", *calls) + asks("one", calls[0]))
    model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
    settings = {"agent": "tools.json:app", "env": ".env", "models": {"default": model}}
    files = {"tools.json": json.dumps(tool_graph(tools=[_STOCK])), ".env": f"STOCK={peer.url}\n"}
    service = make_service(settings, files=files, **_ONE_THREAD).start()
    peer.hold_until(kept)
    assert service.invoke("all").status == 200
    sends, reply = _sends(peer, "kept", lambda: service.invoke("one"))
    assert sends == 2 and '"left":3' in reply.text
    sends, reply = _sends(peer, "all", lambda: service.invoke("one"))
    assert sends <= 2 and "the service failed" in reply.text


@pytest.mark.parametrize("resets, most", [("kept", 2), ("all", 4)])
def test_an_export_of_traces(start_service, start_peer, resets, most):
    peer = start_peer(lambda *_: _json({}))
    service = start_service(
        DEMO | {"observability": {"endpoint": peer.url, "interval_ms": 50}}, **_ONE_THREAD
    )
    service.error_log.allow(r"were not exported as traces")
    service.invoke("hello")
    wait_until(lambda: len(peer.requests) == 1, "the first run is exported")
    sends, _ = _sends(peer, resets, lambda: (
        service.invoke("hello"),
        wait_until(lambda: len(peer.requests) >= 1 + most, "the second run is exported", 30)))
    service.stop()
    assert sends == most == len(peer.requests) - 1


def test_an_upload_to_a_bucket(start_service, start_peer):
    peer = start_peer(lambda *_: ("text/plain", b""))
    cloud = {"endpoint": peer.url, "bucket": "files", "access_key_id": "k", "secret_access_key": "s"}
    settings = behaviour("echo") | {"media": {"storage_type": "cloud", "cloud": cloud}}
    service = start_service(settings, **_ONE_THREAD)
    service.error_log.allow(r"the file storage failed")
    assert upload(service, b"x" * 100_000).status == 200
    objects = len(peer.requests)
    # Each object is one request; the first one may be repeated, and all use new connections.
    sends, reply = _sends(peer, "kept", lambda: upload(service, b"x" * 100_000))
    assert reply.status == 200 and sends <= 2 * objects
    sends, reply = _sends(peer, "all", lambda: upload(service, b"x" * 100_000))
    assert reply.status == 503 and sends == 3, peer.requests
