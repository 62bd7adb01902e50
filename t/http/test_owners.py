"""Owners of threads: cached in Redis for several hosts, and read from a state server that has just
died."""

import re
import threading

import pytest

from harness.agents import behaviour
from harness.redis import RedisServer
from harness.service import invocation
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.waiting import wait_until

_KEY = "svc:authz:owner:"
_GUARDED = behaviour("echo", auth="jwt", env="secrets.env", authorization="ownership")
_FILES = {"secrets.env": JWT_ENVIRONMENT}


@pytest.fixture
def redis(directory):
    server = RedisServer(directory)
    yield server
    server.stop()


def _run(service, user, thread_id):
    body = invocation("hi", config={"thread_id": thread_id})
    return service.post("/v1/graph/invoke", body, headers=bearer(user))


def _run_status(service, user, thread_id):
    return _run(service, user, thread_id).status


def _read(service, user, thread_id):
    return service.get(f"/v1/threads/{thread_id}", headers=bearer(user)).status


def _begin(service, thread_id):
    """Creates a thread of alice and looks up its owner."""
    assert _run(service, "alice", thread_id).status == 200
    assert _read(service, "alice", thread_id) == 200


def _hits(redis):
    return int(re.search(r"keyspace_hits:(\d+)", redis.ask("INFO", "stats"))[1])


def _wait_for(redis, thread_id, owner, prefix=_KEY):
    """Requests do not wait for writes to Redis."""
    wait_until(lambda: redis.ask("GET", prefix + thread_id) == owner, f"Redis says {owner}")


def _warnings(service):
    """Counts how often `nginx -t` reports that each worker has its own cache."""
    accepted, printed = service.test_configuration()
    assert accepted, printed
    return printed.count("redis: not configured")


def test_hosts_share_what_they_know_of_owners(start_service, redis):
    by_key = start_service(_GUARDED | {"redis": redis.url}, files=_FILES)
    variables = {"secrets.env": f"{JWT_ENVIRONMENT}REDIS_URL={redis.url}\n"}
    by_variable = start_service(_GUARDED, files=variables, workers=1)
    for service in (by_key, by_variable):
        assert _warnings(service) == 0
    _begin(by_key, "t")
    _wait_for(redis, "t", "alice")
    assert 0 < redis.ask("TTL", _KEY + "t") <= 24 * 60 * 60
    # The other host finds the first one's entry. It has no such thread itself.
    before = _hits(redis)
    assert _read(by_variable, "alice", "t") == 404
    assert _hits(redis) == before + 1
    # The cache may only allow: for another user the thread itself decides.
    assert _read(by_variable, "bob", "t") == 404
    assert _read(by_key, "bob", "t") == 403
    # A deletion on one host takes effect on all.
    assert by_key.request("DELETE", "/v1/threads/t", {}, headers=bearer("alice")).status == 200
    _wait_for(redis, "t", None)
    assert _run(by_key, "bob", "t").status == 200
    assert _read(by_key, "bob", "t") == 200 and _read(by_key, "alice", "t") == 403
    _wait_for(redis, "t", "bob")


def test_a_prefix_of_ones_own(start_service, redis):
    settings = _GUARDED | {"redis": {"url": redis.url, "prefix": "mine"}}
    _begin(start_service(settings, files=_FILES), "t")
    _wait_for(redis, "t", "alice", prefix="mine:")
    assert redis.ask("DBSIZE") == 1


def test_without_redis_it_is_said_once(make_service):
    several_hosts = {"checkpointer": {"type": "postgres", "url": "postgresql://db.invalid/agent"}}
    assert _warnings(make_service(_GUARDED | several_hosts, files=_FILES)) == 1


def test_redis_goes_and_comes_back(start_service, redis):
    service = start_service(_GUARDED | {"redis": redis.url}, files=_FILES)
    _begin(service, "before")
    _wait_for(redis, "before", "alice")
    redis.stop()
    for number in range(10):
        _begin(service, f"meanwhile{number}")
        assert _read(service, "bob", f"meanwhile{number}") == 403
        assert _read(service, "alice", "before") == 200
        assert _read(service, "bob", "before") == 403
    assert service.request("DELETE", "/v1/threads/before", {}, headers=bearer("alice")).status == 200
    redis.start()

    def is_used(numbers=iter(range(10**6))):
        _begin(service, f"after{next(numbers)}")
        return redis.ask("DBSIZE") > 0

    wait_until(is_used, "Redis is used again")
    assert _read(service, "bob", "after0") == 403


def _status(ask, *arguments):
    """Returns the status that `ask` gets. Where the machine takes longer to start a state server than
    requests wait for one, they get 503, and clients ask again."""
    statuses = []

    def has_answer():
        statuses.append(ask(*arguments))
        return statuses[-1] != 503

    wait_until(has_answer, "the state is there")
    return statuses[-1]


def test_a_dead_state_server_denies_nobody_their_own(start_service):
    """Every lookup is its worker's first one, so it must be read from the state."""
    service = start_service(_GUARDED, files=_FILES, workers=2)
    service.error_log.allow(r"exited on signal 9")
    threads = [f"t{number}" for number in range(40)]
    for thread_id in threads:
        assert _run(service, "alice", thread_id).status == 200
    for _ in range(3):
        service.reload()  # workers with empty caches
        owner = service.cache_manager()
        statuses = {"alice": [], "bob": []}
        killed = threading.Event()

        def ask(user, mine):
            killed.wait()
            for thread_id in mine:
                statuses[user].append(_status(_read, service, user, thread_id))
                statuses[user].append(_status(_run_status, service, user, thread_id))

        clients = [
            threading.Thread(target=ask, args=(user, threads[part::4]))
            for user in statuses for part in range(4)
        ]
        for client in clients:
            client.start()
        service.kill(owner.pid)
        killed.set()
        for client in clients:
            client.join()
        assert statuses == {"alice": [200] * 80, "bob": [403] * 80}
