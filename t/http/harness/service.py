"""An nginx that serves an agent, with helpers for requests."""

import json

from . import environment, http1, postgres
from .configuration import service_configuration
from .nginx import Nginx
from .ports import free_port
from .stream import Stream
from .waiting import wait_until


class Requests:
    """Requests to `port`, below the path `prefix`."""

    port = None
    prefix = ""

    def request(self, method, target, body=None, headers=(), **other):
        return http1.fetch(self.port, method, self.prefix + target, headers, body, **other)

    def get(self, target, **other):
        return self.request("GET", target, **other)

    def post(self, target, body=None, **other):
        return self.request("POST", target, body, **other)

    def connect(self, **other):
        return http1.Connection(self.port, **other)

    def invoke(self, text, **fields):
        """POST /v1/graph/invoke with one user message; `fields` are additional keys of the body."""
        return self.post("/v1/graph/invoke", invocation(text, **fields))

    def stream(self, text, *, headers=(), version="HTTP/1.1", receive_buffer=None, **fields):
        return Stream(
            self.port,
            self.prefix + "/v1/graph/stream",
            invocation(text, **fields),
            headers=headers,
            version=version,
            receive_buffer=receive_buffer,
        )


class Service(Requests, Nginx):
    """`settings` becomes service.json; the keyword arguments change nginx.conf (see
    configuration)."""

    _database = None  # see with_options
    _drops_database = True

    def __init__(self, directory, settings, *, http2=False, prefix="/", **configuration):
        self.port = free_port()
        self.http2_port = free_port() if http2 else None
        self.prefix = prefix.rstrip("/")
        self._shape = {"prefix": prefix, "http2_port": self.http2_port} | configuration
        super().__init__(directory, service_configuration(self.port, **self._shape))
        self.write_settings(settings)

    def link_graphs(self):
        """Creates graphs/ next to service.json with every sample graph, declarative and
        compiled."""
        graphs = self.directory / "conf" / "graphs"
        graphs.mkdir(exist_ok=True)
        for file in [*environment.GRAPH_DOCUMENTS.glob("*.json"), *environment.GRAPHS.glob("*.so")]:
            (graphs / file.name).symlink_to(file)

    def write_settings(self, settings):
        text = settings
        if not isinstance(settings, (str, bytes)):
            text = json.dumps(with_options(settings, self._database_url), indent=2)
        self.write("service.json", text)

    def _database_url(self):
        if self._database is None:
            self._database = postgres.shared.server.create()
        return self._database.url

    @staticmethod
    def has_database_by_options(settings):
        """True if an option of pytest puts the state of this service into PostgreSQL."""
        used = []
        if not isinstance(settings, (str, bytes)):
            with_options(settings, lambda: used.append(True) or "")
        return bool(used)

    def use_database_of(self, other):
        """Shares the database of another service, which drops it."""
        other._database_url()
        self._database = other._database
        self._drops_database = False

    def close(self):
        problems = super().close()
        if self._database is not None and self._drops_database:
            self._database.drop()
        return problems

    def reshape(self, **configuration):
        """Rewrites nginx.conf with other arguments. Takes effect at the next reload or start."""
        self._shape |= configuration
        self.configure(service_configuration(self.port, **self._shape))

    def move(self):
        """Takes another port, from the next start on."""
        self.port = free_port()
        self.configure(service_configuration(self.port, **self._shape))

    # State: a request that arrives while no process serves the state waits only some seconds.

    def _keeps_state(self):
        try:
            settings = json.loads((self.directory / "conf" / "service.json").read_text())
        except ValueError:
            return False

        def kind(key):
            block = settings.get(key)
            return block.get("type") if isinstance(block, dict) else block

        return kind("checkpointer") != "none" or kind("store") not in (None, "none")

    def state_terms(self):
        """Counts how often a process has begun to serve the state, or has found that it cannot."""
        return len(self.error_log.lines(r"serves the state of|state of .* is not available"))

    def wait_for_state(self, before):
        if self._keeps_state():
            wait_until(lambda: self.state_terms() > before, "the state is served")


def with_options(settings, database_url):
    """Returns the settings with what the options of pytest ask for. `database_url` is called if they
    need a database."""
    if environment.CHECKPOINTER == "leveldb":
        return settings
    checkpointer = _block(settings.get("checkpointer", "leveldb"))
    store = _block(settings.get("store"))
    if checkpointer.get("type", "leveldb") != "leveldb":
        return settings
    checkpointer |= {"type": "postgres", "url": database_url()}
    if checkpointer.get("sync") == "none":
        del checkpointer["sync"]
    changed = settings | {"checkpointer": checkpointer}
    if store.get("type", "leveldb") == "leveldb" and settings.get("store") is not None:
        changed["store"] = store | {"type": "postgres"}
    media = _block(settings.get("media"), "storage_type")
    if "storage_type" not in media and "env" not in settings:
        changed["media"] = media | {"storage_type": environment.FILES}
    return changed


def _block(value, key="type"):
    """A block of service.json in its long form."""
    if value is None:
        return {}
    return dict(value) if isinstance(value, dict) else {key: value}


def invocation(text, **fields):
    """The body of an invoke or stream request with one user message."""
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return {"messages": [message]} | fields
