"""Waits for conditions with a deadline. This is the only place where the harness sleeps."""

import time

from . import environment

_POLL_INTERVAL = 0.01


def wait_until(condition, what, timeout=0):
    """Returns the first truthy value of condition(); fails if that takes too long. `what` completes
    the sentence "still waiting until ...". `timeout`, in seconds, is for work that may take
    longer than environment.PATIENCE; a shorter one has no effect."""
    patience = max(environment.PATIENCE, timeout * environment.TIME_SCALE)
    deadline = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"after {patience} s still waiting until {what}")
        time.sleep(_POLL_INTERVAL)
