"""websocket.max_connections_total with the backend redis: a total of the WebSockets of all hosts."""

import concurrent.futures

import pytest

from harness.agents import DEMO
from harness.graph_socket import try_to_open
from harness.redis import RedisServer
from harness.waiting import wait_until
from harness.websocket import close_frame

_TOTAL = 6


@pytest.fixture
def redis(directory):
    server = RedisServer(directory)
    yield server
    server.stop()


def _limited(redis):
    total = {"max_connections_total": _TOTAL, "backend": "redis", "redis": redis.url}
    return DEMO | {"websocket": total}


def _open_later(service):
    """Waits until a place is free; returns the socket that has it."""
    opened = []
    wait_until(lambda: opened.append(try_to_open(service)) or opened[-1], "a place is free")
    return opened[-1]


def _crowd(hosts):
    """Opens more sockets than there may be, at all hosts at once."""
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        return [socket for socket in pool.map(try_to_open, list(hosts) * 8) if socket]


def test_the_total_is_of_all_hosts(start_hosts, redis):
    hosts = start_hosts(lambda _: _limited(redis), workers=2)
    kept = _crowd(hosts)
    assert len(kept) <= _TOTAL
    # A request for a place that was refused may count for a moment.
    while len(kept) < _TOTAL:
        kept.append(_open_later(hosts[0]))
    kept.pop().send(close_frame(1000))
    kept.append(_open_later(hosts[1]))
    assert not _crowd(hosts)


def test_places_of_a_killed_host_are_free_again(start_hosts, redis):
    hosts = start_hosts(lambda _: _limited(redis), workers=1)
    kept = [try_to_open(hosts[0]) for _ in range(_TOTAL)]
    assert all(kept) and try_to_open(hosts[1]) is None
    hosts.kill(0)
    assert _open_later(hosts[1])


def test_without_redis_each_host_counts_its_own(start_hosts, redis):
    hosts = start_hosts(lambda _: _limited(redis), workers=1)
    for host in hosts:
        host.error_log.allow("the total of WebSockets")
    redis.stop()
    kept = [[try_to_open(host) for _ in range(_TOTAL)] for host in hosts]
    assert all(all(sockets) for sockets in kept)
    assert all(try_to_open(host) is None for host in hosts)


def test_a_total_in_redis_needs_a_url(make_service):
    block = {"max_connections_total": 1, "backend": "redis"}
    refusal = make_service(DEMO | {"websocket": block}).refusal()
    assert "websocket.redis: the redis backend needs a URL" in refusal
