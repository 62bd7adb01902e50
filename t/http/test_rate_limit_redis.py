"""One rate limit for several hosts, kept in Redis."""

import threading

import pytest

from harness.agents import DEMO
from harness.redis import RedisServer
from harness.slow_link import SlowLink
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.waiting import wait_until
from harness.websocket import handshake_headers

_TARGET = "/v1/graph"


@pytest.fixture
def redis(directory):
    server = RedisServer(directory)
    yield server
    server.stop()


def _limited(redis, requests, **other):
    block = {"backend": "redis", "redis": redis.url, "requests": requests, "window": 3600}
    return DEMO | {"rate_limit": block | other}


def test_two_hosts_share_a_limit_exactly(start_service, redis):
    hosts = [start_service(_limited(redis, 40), workers=2) for _ in range(2)]
    statuses, faults = [], []

    def hammer(host):
        try:
            for _ in range(20):
                statuses.append(host.get(_TARGET).status)
        except Exception as error:  # noqa: BLE001 - a thread's failure must fail the test
            faults.append(error)

    clients = [threading.Thread(target=hammer, args=(hosts[n % 2],)) for n in range(6)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert not faults
    assert statuses.count(200) == 40 and statuses.count(429) == 80
    # This needs no part of the engine, so it is not counted.
    assert hosts[0].get("/ping").status == 200


def test_answers_and_handshakes_tell_the_limit(start_service, redis):
    service = start_service(_limited(redis, 2, exclude_paths=["/v1/threads"]))
    for left in ("1", "0"):
        reply = service.get(_TARGET)
        assert reply.status == 200
        assert reply.header("X-RateLimit-Limit") == "2"
        assert reply.header("X-RateLimit-Remaining") == left
        assert reply.header("X-RateLimit-Reset-After") == "3600"
    for target, headers in ((_TARGET, []), ("/v1/graph/ws", handshake_headers())):
        reply = service.get(target, headers=headers)
        assert reply.status == 429
        assert 1 <= int(reply.header("Retry-After")) <= 3601
        assert reply.json()["error"]["code"] == "RATE_LIMIT_EXCEEDED"
        assert reply.header("X-WS-Close-Code") == ("1013" if headers else None)
    reply = service.get("/v1/threads")
    assert reply.status == 200 and reply.header("X-RateLimit-Limit") is None


def test_by_user(start_service, redis):
    settings = _limited(redis, 1, by="user") | {"auth": "jwt", "env": "secrets.env"}
    service = start_service(settings, files={"secrets.env": JWT_ENVIRONMENT})
    for user in ("anna", "bert"):
        assert [service.get(_TARGET, headers=bearer(user)).status for _ in range(2)] == [200, 429]
    assert [service.get(_TARGET).status for _ in range(2)] == [403, 429]


def _decisions(service):
    (status,) = service.get("/status.json").json()["services"]
    return status["rate_limit_decisions"]


@pytest.mark.parametrize("fail_open", [True, False])
def test_the_status_page_counts_decisions(start_service, redis, fail_open):
    page = "location = /status.json { agent_graph_status format=json; }"
    service = start_service(_limited(redis, 2, fail_open=fail_open), workers=2, server=page)
    assert [service.get(_TARGET).status for _ in range(3)] == [200, 200, 429]
    assert service.get("/ping").status == 200
    told = {"admitted": 2, "refused": 1, "unchecked": 0}
    wait_until(lambda: _decisions(service) == told, "decisions are counted")
    redis.stop()
    assert service.get(_TARGET).status == (200 if fail_open else 429)
    told["unchecked" if fail_open else "refused"] += 1
    wait_until(lambda: _decisions(service) == told, "what Redis was not asked about is told apart")
    # The old workers' counts are kept.
    service.reload()
    wait_until(lambda: _decisions(service) == told, "the count outlives a reload")


@pytest.mark.parametrize("fail_open, expected", [(True, 200), (False, 429)])
def test_without_redis(start_service, redis, fail_open, expected):
    service = start_service(_limited(redis, 100, fail_open=fail_open), workers=1)
    assert service.get(_TARGET).status == 200
    redis.stop()
    for _ in range(3):
        reply = service.get(_TARGET)
        assert reply.status == expected
        assert reply.header("Retry-After") == (None if fail_open else "3600")
    service.wait_for_log("the shared rate limit fails")
    redis.start()
    wait_until(
        lambda: service.get(_TARGET).header("X-RateLimit-Remaining") is not None
        and service.get(_TARGET).status == 200,
        "Redis is asked again",
    )


def test_a_redis_that_hangs_costs_little(start_service, redis):
    settings = _limited(redis, 100)
    settings["rate_limit"]["redis"] = redis.impatient_url
    service = start_service(settings, workers=1)
    assert service.get(_TARGET).status == 200
    redis.freeze()
    try:
        for _ in range(20):
            assert service.get(_TARGET).status == 200
    finally:
        redis.thaw()


@pytest.mark.parametrize("fail_open", [True, False])
def test_a_crowd_is_no_fault_of_redis(start_service, redis, fail_open):
    link = SlowLink(redis, seconds=0.02)
    service = start_service(_limited(link, 10, fail_open=fail_open), workers=1)
    try:
        crowd = [service.connect() for _ in range(400)]
        for connection in crowd:
            connection.request("GET", service.prefix + _TARGET)
        statuses = [connection.read_reply().status for connection in crowd]
        for connection in crowd:
            connection.close()
        assert statuses.count(200) == 10 and statuses.count(429) == 390
        assert service.get(_TARGET).status == 429
        assert not service.error_log.lines("the shared rate limit")
    finally:
        link.stop()
