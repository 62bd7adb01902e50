"""Fixtures of the tests that use a real nginx. Everything that a test starts is stopped after it,
and a forbidden line in an error log or a sanitizer report fails the test that caused it."""

import functools
import pathlib
import shutil
import sys
import tempfile
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness import environment, host_group, postgres, processes  # noqa: E402
from harness.configuration import nginx_configuration  # noqa: E402
from harness.cut_link import CutLink  # noqa: E402
from harness.gated_provider import GatedProvider  # noqa: E402
from harness.http_service import HttpService  # noqa: E402
from harness.live_provider import LiveProvider  # noqa: E402
from harness.mcp_server import McpPeer, McpServer  # noqa: E402
from harness.mock_provider import MockProvider  # noqa: E402
from harness.model_mock import mock_models, serve_sample_agent  # noqa: E402
from harness.nginx import Nginx  # noqa: E402
from harness.other_program import OtherProgram, has_ipv6  # noqa: E402
from harness.ports import free_port, release_ports  # noqa: E402
from harness.shop import Shop  # noqa: E402


def pytest_configure():
    processes.adopt_orphans()


def pytest_report_header():
    return f"nginx: {environment.NGINX_BINARY}, module: {environment.MODULE}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "call":
        item.call_failed = outcome.get_result().failed


@pytest.fixture(autouse=True)
def reservations():
    """Set up first, so torn down last: after every server of the test has stopped."""
    yield
    release_ports()


@pytest.fixture
def directory(request):
    """A folder for the test that nginx's workers can access; kept if the test fails."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="agent-graph-"))
    path.chmod(0o755)
    yield path
    if getattr(request.node, "call_failed", True):
        sys.stderr.write(f"\nkept for inspection: {path}\n")
    else:
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def instances(request):
    """Stops every nginx of the test and fails the test if its logs show problems."""
    opened = []
    yield opened
    problems = [problem for instance in reversed(opened) for problem in instance.close()]
    if problems:
        request.node.call_failed = True
        pytest.fail("nginx misbehaved:\n" + "\n".join(problems), pytrace=False)


@pytest.fixture
def database():
    """A database with the tables of the service, in the PostgreSQL that the tests share."""
    made = postgres.shared.server.create()
    yield made
    made.drop()


@pytest.fixture
def empty_database():
    made = postgres.shared.server.create_empty()
    yield made
    made.drop()


@pytest.fixture
def postgres_server():
    """A PostgreSQL of the test's own, which loses nothing that it has acknowledged."""
    server = postgres.PostgresServer(durable=True)
    yield server
    server.close()


@pytest.fixture
def start_nginx(directory, instances):
    """start_nginx(server="location / {...}") runs an nginx without the module."""

    def start(**configuration):
        port = free_port()
        nginx = Nginx(directory / f"nginx{len(instances)}", nginx_configuration(port, **configuration))
        nginx.port = port
        instances.append(nginx)
        return nginx.start()

    return start


@pytest.fixture
def make_service(directory, instances):
    """make_service(settings, files={name: content}) prepares a service without starting it."""

    def make(settings, *, files=None, **configuration):
        folder = directory / f"nginx{len(instances)}"
        service = host_group.make(folder, settings, environment.HOSTS, **configuration)
        service.link_graphs()
        for name, content in (files or {}).items():
            service.write(name, content)
        instances.append(service)
        return service

    return make


@pytest.fixture
def start_service(make_service):
    """Like make_service, but also starts it."""

    def start(settings, **other):
        return make_service(settings, **other).start()

    return start


@pytest.fixture
def live_provider():
    """A realtime provider that the test controls."""
    provider = LiveProvider()
    yield provider
    provider.close()


@pytest.fixture
def start_mock_provider(directory):
    """start_mock_provider(fixtures, latency=5) starts the third-party mock."""
    running = []

    def start(fixtures, **options):
        provider = MockProvider(directory / f"mock{len(running)}", fixtures, **options)
        running.append(provider)
        return provider

    yield start
    for provider in running:
        provider.close()


@pytest.fixture
def model_mock(start_mock_provider):
    """The third-party mock with the answers that tests of providers ask for."""
    return mock_models(start_mock_provider)


@pytest.fixture
def serve_model(start_service):
    """serve_model(base_url, retries_max=…) starts the sample agent with one model."""
    return functools.partial(serve_sample_agent, start_service)


@pytest.fixture
def start_mcp_server(directory):
    """start_mcp_server() starts the third-party MCP server; with `port`, on the port of an earlier
    one."""
    running = []

    def start(port=None):
        running.append(McpServer(directory, port or free_port()))
        return running[-1]

    yield start
    for server in running:
        server.close()


@pytest.fixture
def listen_on():
    """listen_on("::1") lets another program answer HTTP on this address; returns its port."""
    running = []

    def start(address):
        if ":" in address and not has_ipv6():
            pytest.skip("this machine has no IPv6")
        running.append(OtherProgram(address))
        return running[-1].port

    yield start
    for program in running:
        program.close()


@pytest.fixture
def start_mcp_peer(directory):
    """start_mcp_peer(eras=["session"], events=True) starts a server built with the protocol's
    SDK."""
    running = []

    def start(**options):
        running.append(McpPeer(directory, **options))
        return running[-1]

    yield start
    for server in running:
        server.close()


@pytest.fixture
def held_service():
    """A service that answers only after its `go_on` is set."""
    go_on = threading.Event()
    service = HttpService(lambda *_: go_on.wait() and (200, "text/plain", "ok"))
    service.go_on = go_on
    yield service
    go_on.set()
    service.close()


@pytest.fixture
def gated_provider():
    provider = GatedProvider()
    yield provider
    provider.close()


@pytest.fixture
def make_provider():
    """make_provider() starts a provider that sends 20 words, and waits at a gate after five."""
    made = []

    def make():
        words = tuple(f"word{number} " for number in range(20))
        made.append(GatedProvider(words=words, before_gate=5))
        return made[-1]

    yield make
    for provider in made:
        provider.close()


@pytest.fixture
def provider(make_provider):
    return make_provider()


@pytest.fixture
def link():
    """link(service) is a network that can be cut."""
    links = []

    def open_link(service):
        links.append(CutLink(service.port))
        return links[-1]

    yield open_link
    for one in links:
        one.close()


@pytest.fixture
def shop():
    opened = Shop()
    yield opened
    opened.close()
