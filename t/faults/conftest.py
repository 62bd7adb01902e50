"""The fixtures of t/http, for tests that inject faults."""

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

from harness.agents import DEMO  # noqa: E402


@pytest.fixture
def service(make_service, provider):
    """One worker, which tests may kill, with `provider` as its model."""
    models = {"default": {"provider": "openai", "model": "m", "base_url": provider.base_url}}
    started = make_service(DEMO | {"models": models}, workers=1).start()
    started.error_log.allow(r"exited on signal 9")
    return started
