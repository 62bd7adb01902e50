"""The fixtures of t/http, and a browser."""

import importlib.util
import pathlib
import sys

import pytest

_HTTP = pathlib.Path(__file__).resolve().parent.parent / "http"
sys.path.insert(0, str(_HTTP))
_spec = importlib.util.spec_from_file_location("ui_http_conftest", _HTTP / "conftest.py")
_fixtures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_fixtures)
globals().update({n: v for n, v in vars(_fixtures).items() if not n.startswith("__")})

from browser import Browser  # noqa: E402


@pytest.fixture(scope="session")
def chromium():
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def browser(chromium):
    """The browser; a test fails if a script of a page has failed or its policy was violated."""
    yield chromium
    assert chromium.problems() == []


@pytest.fixture
def start_studio(start_service):
    """start_studio(settings) starts a service that serves the built page, below a prefix."""

    def start(settings, *, location="", prefix="/support/", **other):
        from browser import BUILT

        assert (BUILT / "index.html").exists(), "Studio is not built: make ui"
        return start_service(
            settings, location=f'agent_graph_ui "{BUILT}"; {location}', prefix=prefix, **other
        )

    return start
