"""The files of docker/compose.scale.yaml without containers: its service.json and haproxy.cfg, with a real
PostgreSQL, Redis and haproxy, and one nginx for each replica."""

import json
import re
import signal
import subprocess

import pytest

from harness import admin, environment
from harness.agents import asking
from harness.haproxy import statistics
from harness.ports import free_port
from harness.redis import RedisServer
from harness.service import Requests
from harness.uploads import uploaded
from harness.waiting import wait_until

_FILES = environment.ROOT / "docker" / "scale"
_REPLICAS = 3


class _Balancer(Requests):
    """haproxy with the file's configuration; a list of servers takes the place of Docker's name server."""

    def __init__(self, directory, ports):
        self.port = free_port()
        servers = "\n".join(f"    server agent{n} 127.0.0.1:{port}" for n, port in enumerate(ports))
        text = (_FILES / "haproxy.cfg").read_text()
        text, templates = re.subn(r"^    server-template .*$", servers, text, flags=re.M)
        text, binds = re.subn(r"bind :\d+", f"bind 127.0.0.1:{self.port}", text)
        text, limits = re.subn(r"maxconn \d+", "maxconn 1000", text)  # a test may have few descriptors
        text, sections = re.subn(r"^global$", f"global\n    stats socket {directory}/admin", text, flags=re.M)
        assert templates == binds == limits == sections == 1
        (directory / "haproxy.cfg").write_text(text)
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "haproxy", "-db", "-f", directory / "haproxy.cfg"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        self._admin = directory / "admin"
        wait_until(self._serves, "haproxy has found a host")

    def hosts(self, column):
        """For each host, in their order, its value of a column of `show stat`."""
        return [row[column] for row in statistics(self._admin) if row["svname"].startswith("agent")]

    def _serves(self):
        try:
            return self.get("/ready").status == 200
        except ConnectionError:  # haproxy does not listen yet
            return False

    def close(self):
        self._process.kill()
        self._process.wait()


@pytest.fixture
def redis(directory):
    server = RedisServer(directory)
    yield server
    server.stop()


@pytest.fixture
def start_replicas(empty_database, redis, make_service):
    """start_replicas(MODELS) starts the replicas, with these models instead of the file's. The first one's
    settings make the tables, as the service `migrate` does."""

    def start(models=None):
        known = {"DATABASE_URL": empty_database.url, "REDIS_URL": redis.url}
        settings = (_FILES / "service.json").read_text()
        if models:
            settings = json.dumps(json.loads(settings) | {"models": models})
        services = [make_service(settings) for _ in range(_REPLICAS)]
        admin.admin("migrate", services[0].directory / "conf" / "service.json", extra_environment=known)
        for service in services:
            service.start(extra_environment=known)
        return services

    return start


@pytest.fixture
def hosts(start_replicas):
    return start_replicas()


@pytest.fixture
def start_balancer(directory):
    opened = []

    def start(hosts):
        opened.append(_Balancer(directory, [host.port for host in hosts]))
        return opened[-1]

    yield start
    for balancer in opened:
        balancer.close()


@pytest.fixture
def balancer(start_balancer, hosts):
    return start_balancer(hosts)


def test_replicas_serve_the_same_threads_memories_and_files(balancer, hosts):
    for number in range(2 * _REPLICAS):
        reply = balancer.invoke(f"Hello {number}", config={"thread_id": "t"})
        assert reply.status == 200, reply.text
    file = uploaded(balancer, b"shared")["file_id"]
    assert balancer.post("/v1/store/memories", {"content": "I like green tea."}).status == 200
    for host in hosts:
        messages = host.get("/v1/threads/t/messages?limit=100").json()["data"]["messages"]
        asked = [one["content"][0]["text"] for one in messages if one["role"] == "user"]
        assert asked == [f"Hello {number}" for number in range(2 * _REPLICAS)]
        assert host.get(f"/v1/files/{file}").body == b"shared"
        found = host.post("/v1/store/search", {"query": "green tea"}).json()["data"]["results"]
        assert [one["content"] for one in found] == ["I like green tea."]


def test_the_balancer_goes_on_without_one_replica(balancer, hosts):
    assert balancer.invoke("one", config={"thread_id": "t"}).status == 200
    hosts[0].error_log.allow(r"exited on signal")
    hosts[0].kill_all()
    wait_until(
        lambda: all(balancer.get("/ready").status == 200 for _ in range(_REPLICAS)), "haproxy has noticed it"
    )
    assert balancer.invoke("two", config={"thread_id": "t"}).status == 200


def test_a_host_that_quits_finishes_its_stream(start_replicas, start_balancer, provider):
    hosts = start_replicas(asking(provider)["models"])
    balancer = start_balancer(hosts)
    stream = balancer.stream("Hello", config={"thread_id": "t"})
    provider.wait_for_waiting(1)
    number = balancer.hosts("scur").index("1")
    hosts[number].signal(signal.SIGQUIT)
    wait_until(lambda: balancer.hosts("status")[number] == "DOWN", "haproxy has noticed it")
    provider.open_gate()
    assert stream.ended_with_done()
