"""The figures of nginx on the page Server."""

import pytest

from harness.agents import DEMO
from harness.tokens import JWT_ENVIRONMENT, token

_STATUS = "location = /support/status { agent_graph_status format=json; }"
_FIGURES = "[aria-label=Figures]"


def _open(browser, service):
    """Opens the page Graph, from which a test goes to Server after it has prepared answers."""
    browser.open(service, "graph")
    browser.wait_for(".node")


@pytest.mark.parametrize("status", [401, 403, 404])
def test_who_may_not_read_them_stays_signed_in(start_studio, browser, status):
    _open(browser, start_studio(DEMO, server=_STATUS))
    browser.refuse("GET .*/status", status=status)
    browser.go("server")
    browser.wait_for_text("agent_graph_status format=json", _FIGURES)
    assert browser.count(".sign-in") == 0


def test_a_failed_read_is_repeated(start_studio, browser):
    _open(browser, start_studio(DEMO, server=_STATUS))
    browser.refuse("GET .*/status", status=503, times=1)
    browser.go("server")
    browser.wait_for_text("Requests", _FIGURES)


def test_a_service_is_chosen_by_its_name(start_studio, browser):
    _open(browser, start_studio(DEMO, server=_STATUS))
    two = """window.fetchService(url, options).then((answer) => answer.json()).then(({services: [one]}) =>
        new Response(JSON.stringify({services: [{...one, name: "another"}, one]})))"""
    browser.answer("GET .*/status", two)
    browser.go("server")
    browser.wait_for(f"{_FIGURES} select")
    assert browser.count(f"{_FIGURES} figure") == 0
    assert browser.accessibility_problems() == []
    browser.focus(f"{_FIGURES} select")
    browser.type("test")
    browser.wait_for_text("Figures of test", _FIGURES)
    browser.wait_for_text("Requests", _FIGURES)
    assert browser.evaluate("location.hash") == "#/server/test"


def test_a_token_that_the_service_accepts_is_kept(start_studio, browser):
    settings = DEMO | {"auth": "jwt", "env": "secrets.env"}
    status = 'location = /support/status { return 401; }'
    browser.open(start_studio(settings, files={"secrets.env": JWT_ENVIRONMENT}, server=status))
    browser.wait_for(".sign-in input")
    browser.fill(".sign-in input", token("alice"))
    browser.press("Enter")
    browser.wait_for(".composer")
    browser.go("server")
    browser.wait_for_text("agent_graph_status format=json", _FIGURES)
