"""A shop that an agent's tool orders from."""

import json
import threading

from .http_service import HttpService


class Shop(HttpService):
    """Takes orders; the first one is held until `release` is set or the shop is closed."""

    def __init__(self):
        self.orders = 0
        self.held = threading.Event()
        self.release = threading.Event()
        super().__init__(self._answer)

    def close(self):
        self.release.set()
        super().close()

    def _answer(self, _, path, body):
        self.orders += 1
        if self.orders == 1:
            self.held.set()
            self.release.wait()
        return 200, "application/json", json.dumps({"order": self.orders})
