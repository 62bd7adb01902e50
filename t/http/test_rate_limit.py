"""The rate limit: exact over all workers, reported in every answer, and validated by nginx -t."""

import base64
import threading
import time

import pytest

from harness import http1, http2
from harness.agents import DEMO
from harness.graph_socket import gated_settings
from harness.service import invocation
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.waiting import wait_until

_HEADERS = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Reset-After"]


def _limited(requests, window=3600, **other):
    return DEMO | {"rate_limit": {"requests": requests, "window": window} | other}


def _statuses(service, count, target="/ping", **other):
    return [service.get(target, **other).status for _ in range(count)]


def test_admits_the_limit_and_tells_it_in_every_answer(start_service):
    service = start_service(_limited(4, window=600))
    before = int(time.time())
    for left, (method, target, status) in enumerate(
        [("GET", "/ping", 200), ("GET", "/nowhere", 404), ("PATCH", "/ping", 405), ("GET", "/v1/graph", 200)]
    ):
        reply = service.request(method, target)
        assert reply.status == status
        assert reply.header("X-RateLimit-Limit") == "4"
        assert reply.header("X-RateLimit-Remaining") == str(3 - left)
        assert reply.header("X-RateLimit-Reset-After") == "600"
        assert 0 <= int(reply.header("X-RateLimit-Reset")) - 600 - before <= time.time() - before + 1

    reply = service.get("/ping", headers={"X-Request-ID": "mine", "Origin": "https://a.example"})
    assert reply.status == 429
    wait = int(reply.header("Retry-After"))
    # A window includes both ends: within the millisecond of the first request it is one second
    # longer.
    assert 1 <= wait <= 601
    assert reply.header("X-RateLimit-Remaining") == "0"
    assert reply.header("X-RateLimit-Reset-After") == str(wait)
    assert reply.header("X-Request-ID") == "mine"
    assert reply.header("Access-Control-Allow-Origin") == "*"
    body = reply.json()
    assert body["detail"] == body["error"]["message"]
    assert body["error"]["code"] == "RATE_LIMIT_EXCEEDED"
    assert body["error"]["limit"] == 4
    assert body["error"]["window_seconds"] == 600
    assert body["error"]["retry_after_seconds"] == wait
    assert body["metadata"]["request_id"] == "mine"


def test_a_refused_connection_goes_on(start_service):
    service = start_service(_limited(1))
    with service.connect() as connection:
        for status in (200, 429, 429):
            connection.request("POST" if status == 429 else "GET", "/ping", body="x" * 2000 if status == 429 else None)
            assert connection.read_reply().status == status


@pytest.mark.parametrize("scope, counters", [("worker", 2), ("nginx", 1)])
def test_a_scope_has_one_count_or_one_for_each_worker(start_service, scope, counters):
    # With reuseport the kernel distributes connections over both workers.
    service = start_service(_limited(3, scope=scope), workers=2, listen="reuseport")
    left = []

    def ask():
        connections = [service.connect() for _ in range(20)]
        for connection in connections:
            connection.request("GET", "/ping")
        for connection in connections:
            reply = connection.read_reply()
            if reply.status == 200:
                left.append(int(reply.header("X-RateLimit-Remaining")))
            else:
                assert reply.status == 429
            connection.close()
        return len(left) >= 3 * counters

    wait_until(ask, "every worker has admitted what it may")
    for _ in range(5):
        ask()
    assert sorted(left) == sorted([0, 1, 2] * counters)


def test_preflights_and_excluded_paths_are_not_counted(start_service):
    service = start_service(_limited(2, exclude_paths=["/ping"]))
    for _ in range(5):
        reply = service.get("/ping")
        assert reply.status == 200
        assert [reply.header(name) for name in _HEADERS] == [None] * 4
        assert service.request("OPTIONS", "/v1/graph", headers={"Origin": "https://a"}).status == 204
    assert _statuses(service, 3, "/v1/graph") == [200, 200, 429]
    assert service.request("OPTIONS", "/v1/graph").status == 204


def test_without_a_limit_there_are_no_headers(start_service):
    service = start_service(DEMO)
    assert [service.get("/ping").header(name) for name in _HEADERS] == [None] * 4


def test_internal_redirects_count_once(start_service):
    service = start_service(_limited(2), server="location /old/ { try_files /missing /ping; }")
    assert _statuses(service, 3, "/old/thing") == [200, 200, 429]


def test_by_address_believes_trusted_proxies_only(start_service):
    trusting = {"trusted_proxy_headers": True, "trusted_proxy_hops": 2}
    service = start_service(_limited(1, **trusting, trusted_proxies=["127.0.0.0/8"]))
    for number in range(3):
        headers = [("X-Forwarded-For", f"9.9.9.9, 203.0.113.{number}"), ("X-Forwarded-For", "10.0.0.1")]
        assert _statuses(service, 2, headers=headers) == [200, 429]
    # If there are fewer entries than hops, the connection's own address counts.
    assert _statuses(service, 2, headers={"X-Forwarded-For": "203.0.113.77"}) == [200, 429]
    assert _statuses(service, 1, headers={"X-Forwarded-For": "203.0.113.78"}) == [429]

    service.write_settings(_limited(2, **trusting, trusted_proxies=["192.0.2.0/24"]))
    service.reload()
    headers = [{"X-Forwarded-For": f"203.0.113.{number}, 10.0.0.1"} for number in range(3)]
    assert [service.get("/ping", headers=each).status for each in headers] == [200, 200, 429]


def test_the_address_is_that_of_realip(start_service):
    realip = "set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;"
    service = start_service(_limited(1), location=realip)
    for number in range(2):
        assert _statuses(service, 2, headers={"X-Real-IP": f"203.0.113.{number}"}) == [200, 429]


def test_global_counts_everybody(start_service):
    service = start_service(_limited(2, by="global", trusted_proxy_headers=True))
    headers = [{"X-Forwarded-For": f"203.0.113.{number}"} for number in range(3)]
    assert [service.get("/ping", headers=each).status for each in headers] == [200, 200, 429]


def test_a_handshake_counts_and_is_refused_with_its_close_code(start_service):
    service = start_service(_limited(1))
    assert service.get("/v1/graph").status == 200
    handshake = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    reply = service.get("/v1/graph/ws", headers=handshake)
    assert reply.status == 429
    assert reply.header("X-WS-Close-Code") == "1013"
    assert int(reply.header("Retry-After")) >= 1


def test_counts_survive_a_reload_and_a_killed_worker(start_service):
    service = start_service(_limited(5), workers=2)
    assert _statuses(service, 2) == [200, 200]
    service.reload()
    assert _statuses(service, 2) == [200, 200]
    service.kill_workers()
    assert _statuses(service, 2) == [200, 429]


def test_a_changed_limit_begins_anew(start_service):
    service = start_service(_limited(1))
    assert _statuses(service, 2) == [200, 429]
    for requests in (2, 400, 1):
        service.write_settings(_limited(requests))
        service.reload()
        assert service.get("/ping").header("X-RateLimit-Remaining") == str(requests - 1)


def _shared_mappings(pid):
    with open(f"/proc/{pid}/maps") as maps:
        return sum("/dev/zero" in line for line in maps)


@pytest.mark.parametrize("before", [DEMO, _limited(5)], ids=["enabled", "changed"])
def test_reloads_after_a_new_limit_keep_its_memory_and_free_the_old(start_service, before):
    service = start_service(before)
    master = service.master_pid
    mappings = _shared_mappings(master)
    for requests, left in [(400, 399), (400, 398), (400, 397), (401, 400), (401, 399)]:
        service.write_settings(_limited(requests))
        service.reload()
        assert service.get("/ping").header("X-RateLimit-Remaining") == str(left)
        assert service.master_pid == master
        assert _shared_mappings(master) == mappings


@pytest.mark.parametrize(
    "method, target, headers, status",
    [
        ("POST", "/v1/graph/invoke", [("Content-Length", "99999999")], 413),
        ("GET", "/v1/graph/ws", [("Upgrade", "h2c")], 426),
        ("GET", "/v1/graph/ws", [("Content-Length", "5")], 400),
    ],
    ids=["too-large", "no-handshake", "handshake-with-a-body"],
)
def test_by_user_refusals_without_a_user_count_for_the_address(
    start_service, method, target, headers, status
):
    settings = _limited(2, by="user") | {"auth": "jwt", "env": "secrets.env"}
    service = start_service(
        settings, files={"secrets.env": JWT_ENVIRONMENT}, location="client_max_body_size 0;"
    )

    def refused():
        with service.connect() as connection:
            connection.send(http1.request_bytes(method, target, headers))
            return connection.read_reply()

    replies = [refused() for _ in range(3)]
    assert [reply.status for reply in replies] == [status, status, 429]
    assert replies[1].header("X-RateLimit-Remaining") == "0"
    assert service.get("/v1/graph", headers=bearer("alice")).status == 200


@pytest.mark.parametrize("by", ["ip", "user", "global"])
def test_bodies_that_nginx_refuses_count_once(start_service, by):
    service = start_service(_limited(3, by=by), location="client_max_body_size 1k;")
    body = {"text": "x" * 2000}
    replies = [service.post("/v1/graph/invoke", body) for _ in range(2)]
    replies += [service.get("/v1/graph"), service.post("/v1/graph/invoke", body)]
    assert [reply.status for reply in replies] == [413, 413, 200, 429]
    left = [reply.header("X-RateLimit-Remaining") for reply in replies]
    assert left == ["2", "1", "0", "0"]


@pytest.mark.parametrize(
    "refuse, status",
    [('auth_basic "agents"; auth_basic_user_file users;', 401), ("deny all;", 403)],
    ids=["password", "address"],
)
def test_by_user_refusals_of_nginx_count_for_the_address(start_service, refuse, status):
    service = start_service(
        _limited(2, by="user") | {"auth": "nginx"},
        files={"users": "alice:{PLAIN}a-secret\n"},
        location=refuse + "agent_graph_user $remote_user;",
    )
    wrong = [("Authorization", "Basic " + base64.b64encode(b"alice:wrong").decode())]
    replies = [service.get("/v1/graph", headers=wrong) for _ in range(4)]
    assert [reply.status for reply in replies] == [status, status, 429, 429]
    assert replies[1].header("X-RateLimit-Remaining") == "0"
    assert replies[2].json()["error"]["code"] == "RATE_LIMIT_EXCEEDED"
    assert replies[2].header("Retry-After")
    if status == 401:
        right = [("Authorization", "Basic " + base64.b64encode(b"alice:a-secret").decode())]
        assert service.get("/v1/graph", headers=right).status == 200


def test_by_user_a_full_queue_counts_for_the_address(start_service, gated_provider):
    settings = _limited(2, by="user") | gated_settings(gated_provider)
    service = start_service(
        settings | {"auth": "jwt", "env": "secrets.env", "limits": {"runs_max": 1}},
        files={"secrets.env": JWT_ENVIRONMENT}, workers=1, http2=True, service_options="queue=1",
    )  # fmt: skip
    with http2.Http2Connection(service.http2_port) as connection:

        def run():
            return connection.request("POST", "/v1/graph/stream", bearer("alice"), invocation("x"))

        accepted = [run()]
        gated_provider.wait_for_waiting(1)
        accepted.append(run())
        refused = [connection.read_reply(run()).status for _ in range(3)]
        assert refused == [503, 503, 429]
        gated_provider.open_gate()
        assert [connection.read_reply(stream).status for stream in accepted] == [200, 200]


def test_scope_worker_counts_in_each_worker(start_service):
    service = start_service(_limited(3, scope="worker"), workers=1)
    assert _statuses(service, 4) == [200, 200, 200, 429]


def test_a_window_passes(start_service):
    service = start_service(_limited(1, window=1))
    reply = service.get("/ping")
    while reply.status == 200:
        reply = service.get("/ping")
    time.sleep(int(reply.header("Retry-After")))
    assert service.get("/ping").status == 200


@pytest.mark.parametrize("requests", [40, 300], ids=["exact", "sub-windows"])
def test_no_window_admits_more_than_the_limit_under_eight_workers(start_service, requests):
    window = 2
    service = start_service(_limited(requests, window=window), workers=8)
    admitted, faults = [], []
    end = time.monotonic() + 3 * window
    over = threading.Event()

    def hammer():
        try:
            while not over.is_set():
                # A new connection each time, so that every worker gets some.
                with service.connect() as connection:
                    for _ in range(4):
                        sent = time.monotonic()
                        connection.request("GET", "/ping")
                        status = connection.read_reply().status
                        assert status in (200, 429)
                        if status == 200:
                            admitted.append((sent, time.monotonic()))
        except Exception as error:  # noqa: BLE001 - a thread's failure must fail the test
            faults.append(error)

    clients = [threading.Thread(target=hammer) for _ in range(16)]
    for client in clients:
        client.start()
    try:
        wait_until(
            lambda: faults or time.monotonic() > end and len(admitted) >= requests,
            "some windows have passed, and a limit's worth was admitted",
        )
    finally:
        over.set()
        for client in clients:
            client.join()
    assert not faults
    # Requests that began and ended within the time of one window were all counted in that window.
    for begin, _ in admitted:
        inside = [1 for sent, received in admitted if begin <= sent and received <= begin + window]
        assert len(inside) <= requests


@pytest.mark.parametrize(
    "block, words",
    [
        ({"requests": 0}, ["rate_limit.requests"]),
        ({"window": "1m"}, ["rate_limit.window"]),
        ({"by": "cookie"}, ["rate_limit.by", "ip", "user", "global"]),
        ({"backend": "memcached"}, ["rate_limit.backend", "memory"]),
        ({"trusted_proxies": ["10.0.0.0/40"]}, ["rate_limit.trusted_proxies.0", "10.0.0.0/8"]),
        ({"trusted_proxy_hops": 0}, ["rate_limit.trusted_proxy_hops"]),
        ({"limit": 5}, ["rate_limit.limit"]),
    ],
)
def test_wrong_values_fail_the_test_of_the_configuration(make_service, block, words):
    service = make_service(DEMO | {"rate_limit": block})
    printed = service.refusal()
    lines = [line for line in printed.splitlines() if "[emerg]" in line]
    assert len(lines) == 1, printed
    assert all(word in lines[0] for word in words), lines[0]


def test_a_zone_that_is_too_small_fails_the_test_of_the_configuration(make_service):
    service = make_service(_limited(256), service_options="zone=small:64k")
    printed = service.refusal()
    lines = [line for line in printed.splitlines() if "[emerg]" in line]
    assert len(lines) == 1 and 'zone "small" is too small' in lines[0], printed
    service.write_settings(_limited(10, by="global"))
    accepted, printed = service.test_configuration()
    assert accepted, printed


def test_by_user_counts_accepted_users_and_addresses_else(start_service):
    settings = _limited(2, by="user") | {"auth": "jwt", "env": "secrets.env"}
    service = start_service(settings, files={"secrets.env": JWT_ENVIRONMENT})
    for user in ("anna", "bert"):
        replies = [service.get("/v1/graph", headers=bearer(user)) for _ in range(3)]
        assert [reply.status for reply in replies] == [200, 200, 429]
        assert [reply.header("X-RateLimit-Remaining") for reply in replies] == ["1", "0", "0"]
        assert replies[2].json()["error"]["code"] == "RATE_LIMIT_EXCEEDED"
        with service.connect() as connection:
            for _ in range(2):
                connection.request("POST", "/v1/graph/invoke", bearer(user), body="x" * 5000)
                assert connection.read_reply().status == 429
    # A forged token gets no separate bucket, and neither does a public route.
    forged = [("Authorization", "Bearer a.b.c")]
    assert service.get("/v1/graph", headers=forged).status == 403
    assert service.get("/ping").status == 200
    assert service.get("/v1/graph", headers=forged).status == 429
    assert service.get("/ping").status == 429
