"""Long threads and traces: the page holds only what is visible, and the rest is there when it is scrolled to."""

import pytest

from harness.agents import DEMO

_MESSAGES = 10_000
_BATCH = 500


@pytest.fixture
def service(start_studio):
    return start_studio(DEMO)


def _fill(service):
    for start in range(0, _MESSAGES, _BATCH):
        messages = [
            {"role": "assistant" if number % 2 else "user", "content": f"message {number} " + "word " * (number % 60)}
            for number in range(start, start + _BATCH)
        ]
        assert service.post("/v1/threads/long/messages", {"messages": messages}).status == 200


@pytest.mark.parametrize("place, row, count", [("chat/long", ".message", 80), ("threads/long", ".event", 120)])
def test_a_thread_of_ten_thousand_messages(service, browser, place, row, count):
    _fill(service)
    browser.open(service, place)
    if place.startswith("threads"):
        browser.wait_for("[role=tab]")
        browser.click("[role=tab]:nth-child(2)")
    # By keyboard, as a person would.
    browser.wait_for(".scroller .row")
    browser.evaluate("document.querySelector('.scroller').focus()")
    browser.press("End")
    browser.wait_for_text("message 9999 ", ".scroller")
    assert 0 < browser.count(row) < count
    browser.press("Home")
    browser.wait_for_text("message 1 word", ".scroller")
    assert 0 < browser.count(row) < count
    browser.press("PageDown")
    browser.wait("document.querySelector('.scroller').scrollTop > 100")
    assert 0 < browser.count(row) < count
