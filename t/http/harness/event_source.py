"""An EventSource that follows the standard of browsers, on the Node pinned in t/package-lock.json."""

import json
import pathlib
import queue
import subprocess
import threading

from . import environment, mock_provider
from .run_stream import Event

_PROGRAM = pathlib.Path(__file__).with_name("event_source.mjs")


class EventSource:
    """Connects again by itself whenever its connection ends. `lines` has all that happened."""

    def __init__(self, url):
        module = environment.NODE_MODULES / "eventsource" / "dist" / "index.js"
        self._process = subprocess.Popen(
            [str(mock_provider.node()), str(_PROGRAM), str(module), url],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._queue = queue.Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        self.lines = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._thread.join()
        self._process.stdout.close()

    def _read(self):
        for line in self._process.stdout:
            self._queue.put(json.loads(line))
        self._queue.put(None)

    def read_until(self, condition):
        """Reads until a line for which the condition holds, and returns it."""
        while True:
            line = self._queue.get(timeout=environment.PATIENCE)
            assert line is not None, "the EventSource ended"
            self.lines.append(line)
            if condition(line):
                return line

    def count(self, what):
        return sum(line["what"] == what for line in self.lines)

    @property
    def events(self):
        return [
            Event(line["id"], line["name"], line["chunk"])
            for line in self.lines
            if line["what"] == "event"
        ]
