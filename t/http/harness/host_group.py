"""Several hosts in place of one service: each an nginx with a state folder of its own, with one
database, behind a haproxy that sends each connection to the next host. Tests that know one service use
it unchanged; a test that asks for what only one host has is skipped."""

import concurrent.futures

import pytest

from .haproxy import TcpBalancer
from .ports import free_port
from .service import Requests, Service

# Parts of a service that belong to one host. A test that needs one is about that host.
_OF_ONE_HOST = {
    "access_log": "the access log",
    "cache_manager": "the state server",
    "directory": "the folders of a host",
    "master_pid": "the master process",
    "only_worker": "a worker process",
    "refused_reload": "the error log of a reload",
    "run": "the nginx binary",
    "session": "the session of the processes",
    "signal": "the master process",
    "state_terms": "the state server",
    "upgrade": "the nginx binary",
}

# Parts of nginx.conf of which the same is true.
_DIRECTIVES_OF_ONE_HOST = {
    "listen": "an address of its own",
    "limit_req": "a limit of nginx",
    "limit_conn": "a limit of nginx",
    "agent_graph_status": "the status page",
}


class Logs:
    """The error logs of all hosts as one."""

    def __init__(self, logs):
        self._logs = logs

    def text(self):
        return "".join(log.text() for log in self._logs)

    def lines(self, pattern=""):
        return [line for log in self._logs for line in log.lines(pattern)]

    def allow(self, pattern):
        for log in self._logs:
            log.allow(pattern)

    def forbidden_lines(self, text=None):
        if text is not None:
            return self._logs[0].forbidden_lines(text)
        return [line for log in self._logs for line in log.forbidden_lines()]


class HostGroup(Requests):
    """`services[n]` is host n. Files, settings and signals go to all of them, requests to `port`."""

    def __init__(self, directory, settings, count, *, http2=False, prefix="/", **configuration):
        for word, reason in _DIRECTIVES_OF_ONE_HOST.items():
            if word in repr(configuration):
                pytest.skip(f"about one host: {reason}")
        self.prefix = prefix.rstrip("/")
        first = Service(directory, settings, http2=http2, prefix=prefix, **configuration)
        self.services = [first]
        for number in range(1, count):
            other = Service(
                directory.with_name(f"{directory.name}-host{number}"), "{}", http2=http2, prefix=prefix,
                **configuration,
            )
            other.use_database_of(first)
            other.write_settings(settings)
            self.services.append(other)
        self.error_log = Logs([service.error_log for service in self.services])
        self.port = free_port()
        self.http2_port = free_port() if http2 else None
        ports = {self.port: [service.port for service in self.services]}
        if http2:
            ports[self.http2_port] = [service.http2_port for service in self.services]
        self._balancer = TcpBalancer(directory.with_name(f"{directory.name}-haproxy"), ports)

    def __getattr__(self, name):
        if name in _OF_ONE_HOST:
            pytest.skip(f"about one host: {_OF_ONE_HOST[name]}")
        raise AttributeError(name)

    def _each(self, name, *arguments, **options):
        """Calls a method of every host, of all at once, and returns the results."""
        with concurrent.futures.ThreadPoolExecutor(len(self.services)) as pool:
            return list(pool.map(lambda one: getattr(one, name)(*arguments, **options), self.services))

    def _all(self, name):
        return [found for service in self.services for found in getattr(service, name)()]

    # Configuration

    @property
    def configuration(self):
        return self.services[0].configuration

    def link_graphs(self):
        self._each("link_graphs")

    def write(self, name, content):
        return self._each("write", name, content)[0]

    def write_settings(self, settings):
        self._each("write_settings", settings)

    def reshape(self, **configuration):
        self._each("reshape", **configuration)

    def refusal(self):
        return self.services[0].refusal()

    def test_configuration(self, **options):
        return self.services[0].test_configuration(**options)

    # Processes

    def start(self, **options):
        self._each("start", **options)
        self._balancer.wait_for_hosts(len(self.services))
        return self

    def processes(self):
        return self._all("processes")

    def workers(self):
        return self._all("workers")

    def draining_workers(self):
        return self._all("draining_workers")

    def cache_managers(self):
        return self._all("cache_managers")

    def wait_for_workers(self, other_than=()):
        return set().union(*self._each("wait_for_workers", other_than))

    def reload(self):
        return set().union(*self._each("reload"))

    def quit(self):
        self._each("quit")

    def stop(self):
        self._each("stop")

    def kill_all(self):
        self._each("kill_all")

    def wait_until_gone(self):
        self._each("wait_until_gone")

    def _host_of(self, pid):
        return next(
            (one for one in self.services if pid in {process.pid for process in one.processes()}),
            self.services[0],
        )

    def kill(self, pid):
        self._host_of(pid).kill(pid)

    def kill_worker(self, victim=None):
        """Without a victim: kills one worker of each host, because any of them may be meant."""
        if victim is None:
            return self._each("kill_worker")[0]
        return self._host_of(victim).kill_worker(victim)

    def wait_for_log(self, pattern, count=1):
        return Service.wait_for_log(self, pattern, count)

    def close(self):
        problems = [problem for found in map(Service.close, reversed(self.services)) for problem in found]
        self._balancer.close()
        return problems


def make(directory, settings, count, **configuration):
    """One service, or `count` hosts if its state is in the database that the options of pytest name."""
    if count == 1 or not Service.has_database_by_options(settings):
        return Service(directory, settings, **configuration)
    if _storage_of(settings) in ("local", "memory"):
        pytest.skip("about one host: files of its own")
    if _counts_for_itself(settings):
        pytest.skip("about one host: a limit that each host counts for itself")
    return HostGroup(directory, settings, count, **configuration)


def _counts_for_itself(settings):
    def block(name):
        found = settings.get(name)
        return found if isinstance(found, dict) else {}

    windows = [block("rate_limit"), block("token_limit")]
    return (
        any(window and window.get("backend") != "redis" for window in windows)
        or block("websocket").keys() & {"max_connections", "max_connections_total"}
        or block("limits").keys() & {"buffered_bytes_max", "runs_max", "live_sessions_max"}
    )


def _storage_of(settings):
    media = settings.get("media")
    return media.get("storage_type") if isinstance(media, dict) else media
