"""Waiting for a condition with a deadline; the only place where the harness sleeps."""

import time

from . import environment

_POLL_INTERVAL = 0.01


def wait_until(condition, what, timeout=10.0):
    """Returns the first truthy value of condition(); fails after `timeout` seconds, scaled for
    sanitizers. `what` completes the sentence "still waiting until ..."."""
    deadline = time.monotonic() + timeout * environment.TIME_SCALE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"after {timeout} s still waiting until {what}")
        time.sleep(_POLL_INTERVAL)
