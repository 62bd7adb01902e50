"""An nginx that serves an agent, with helpers for requests."""

import json

from . import environment, http1
from .configuration import service_configuration
from .nginx import Nginx
from .ports import free_port
from .stream import Stream
from .waiting import wait_until


class Service(Nginx):
    """`settings` becomes service.json; the keyword arguments change nginx.conf (see
    configuration)."""

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
        text = settings if isinstance(settings, (str, bytes)) else json.dumps(settings, indent=2)
        self.write("service.json", text)

    def reshape(self, **configuration):
        """Rewrites nginx.conf with other arguments. Takes effect at the next reload or start."""
        self._shape |= configuration
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

    # Requests

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


def invocation(text, **fields):
    """The body of an invoke or stream request with one user message."""
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return {"messages": [message]} | fields
