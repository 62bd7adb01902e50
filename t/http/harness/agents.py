"""Settings of services that need no external provider."""

from . import environment

_TEST_GRAPHS = environment.BUILD / "t" / "graphs"
_BEHAVIOURS = _TEST_GRAPHS / "behaviours.so"

DEMO = {"agent": "graphs/support.json:app", "models": {"default": {"provider": "demo"}}}


def asking(provider):
    """The sample agent with one model, at a provider of the test that has OpenAI's protocol."""
    model = {"provider": "openai", "model": "m", "base_url": provider.base_url}
    return DEMO | {"models": {"default": model}}


def ordering(**other):
    """The agent of t/graphs/ordering.cc, whose tool is a C++ function."""
    return {"agent": f"{_TEST_GRAPHS / 'ordering.so'}:app"} | other


def behaviour(name, **other):
    """A graph of t/graphs/behaviours.cc, selected by the name of its export."""
    return {"agent": f"{_BEHAVIOURS}:{name}"} | other


def allocating(name, **other):
    """A graph of t/graphs/allocating.cc, selected by the name of its export."""
    return {"agent": f"{_TEST_GRAPHS / 'allocating.so'}:{name}"} | other
