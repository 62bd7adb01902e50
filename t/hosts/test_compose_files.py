"""The files of docker/compose.scale.yaml without containers: its service.json and haproxy.cfg, with a real
PostgreSQL, Redis and haproxy, and one nginx for each replica."""

import re
import subprocess

import pytest

from harness import admin, environment
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
        assert templates == binds == limits == 1
        (directory / "haproxy.cfg").write_text(text)
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "haproxy", "-db", "-f", directory / "haproxy.cfg"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        wait_until(self._serves, "haproxy has found a host")

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
def hosts(empty_database, redis, make_service):
    """The replicas; the first one's settings make the tables, as the service `migrate` does."""
    known = {"DATABASE_URL": empty_database.url, "REDIS_URL": redis.url}
    settings = (_FILES / "service.json").read_text()
    services = [make_service(settings) for _ in range(_REPLICAS)]
    admin.admin("migrate", services[0].directory / "conf" / "service.json", extra_environment=known)
    for service in services:
        service.start(extra_environment=known)
    return services


@pytest.fixture
def balancer(directory, hosts):
    opened = _Balancer(directory, [host.port for host in hosts])
    yield opened
    opened.close()


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
