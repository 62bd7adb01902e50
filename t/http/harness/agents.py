"""Settings of services that need no provider outside."""

from . import environment

_BEHAVIOURS = environment.BUILD / "t" / "graphs" / "behaviours.so"

DEMO = {"agent": "graphs/support.json:app", "models": {"default": {"provider": "demo"}}}


def behaviour(name, **other):
    """A graph of t/graphs/behaviours.cc, by the name of its export."""
    return {"agent": f"{_BEHAVIOURS}:{name}"} | other


def user(text, **fields):
    return {"role": "user", "content": text} | fields


def texts(messages):
    """The text of each message."""
    return ["".join(block.get("text", "") for block in message["content"]) for message in messages]
