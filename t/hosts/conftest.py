"""Several hosts, each an nginx with a state directory of its own, with one PostgreSQL behind them and
a haproxy without affinity in front."""

import importlib.util
import pathlib
import sys

import pytest

_HTTP = pathlib.Path(__file__).resolve().parent.parent / "http"
sys.path.insert(0, str(_HTTP))
_spec = importlib.util.spec_from_file_location("http_conftest", _HTTP / "conftest.py")
_fixtures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_fixtures)
globals().update({n: v for n, v in vars(_fixtures).items() if not n.startswith("__")})

from harness import environment  # noqa: E402
from harness.haproxy import Haproxy  # noqa: E402


class Hosts:
    """`services[n]` is host n; `balancer` sends each request to the next one."""

    def __init__(self, services, balancer):
        self.services = services
        self.balancer = balancer

    def __iter__(self):
        return iter(self.services)

    def __getitem__(self, number):
        return self.services[number]

    def kill(self, number):
        """Kills all processes of a host (kill -9), as the end of its machine would."""
        self.services[number].error_log.allow(r"exited on signal")
        self.services[number].kill_all()


@pytest.fixture
def start_hosts(database, make_service, directory):
    """start_hosts(settings, count=2) starts the hosts and haproxy. `settings` may be a function, which
    is called with the number of the host. The database is dropped after the hosts have stopped."""
    running = []

    def start(settings, *, count=2, **other):
        checkpointer = {"checkpointer": {"type": "postgres", "url": database.url}}
        of_host = settings if callable(settings) else lambda _: settings

        def make(number):
            return make_service(of_host(number) | checkpointer, **other).start()

        services = [make(number) for number in range(count - 1)]
        with environment.other_build():
            services.append(make(count - 1))
        balancer = Haproxy(directory / "haproxy", [service.port for service in services])
        running.append(balancer)
        return Hosts(services, balancer)

    yield start
    for balancer in running:
        balancer.close()
