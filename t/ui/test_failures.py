"""What Chat offers after a failure, and that it removes nothing of the thread."""

import pytest

from harness.agents import DEMO

_DIALOG = DEMO | {"models": {"default": {"provider": "demo", "parameters": {"dialog": True}}}}
_RETRY = ".talk .note.error .button"
_FORK = '.message.assistant [aria-label="Continue from here in a new thread"]'


@pytest.fixture
def service(start_studio):
    service = start_studio(_DIALOG)
    for text in ("What is 6 * 7?", "What is 6 * 8?"):
        assert service.invoke(text, config={"thread_id": "t"}).status == 200
    return service


def _ids(service, thread="t"):
    messages = service.get(f"/v1/threads/{thread}/messages").json()["data"]["messages"]
    return [message["message_id"] for message in messages]


def _thread(browser):
    browser.wait("location.hash.startsWith('#/chat/')")
    return browser.evaluate("location.hash").removeprefix("#/chat/")


def _limit_model_calls(browser, count):
    browser.click('[aria-label="Limits of runs"]')
    browser.wait_for("dialog[open]")
    browser.fill("dialog .field:nth-of-type(4) input", count)
    browser.press("Enter")
    browser.wait("!document.querySelector('dialog')")


@pytest.mark.parametrize("part", ["messages", "state", "runs"])
def test_a_thread_that_was_not_read_is_read_again(service, browser, part):
    before = _ids(service)
    browser.open(service, "graph")
    browser.wait_for(".node")
    browser.refuse(f"GET .*/threads/t/{part}")
    browser.go("chat/t")
    browser.wait_for(_RETRY)
    browser.accept_all()
    browser.click(_RETRY)
    browser.wait_for_text("6 * 8 = 48", ".talk")
    browser.wait("!document.querySelector('.talk .note.error')")
    assert _ids(service) == before


def test_a_copy_that_failed_is_made_again(service, browser):
    before = _ids(service)
    browser.open(service, "chat/t")
    browser.wait_for(_FORK)
    browser.refuse("POST .*/messages$", status=413)
    browser.click(_FORK)
    browser.wait_for(_RETRY)
    browser.accept_all()
    browser.click(_RETRY)
    browser.wait("!location.hash.endsWith('/t')")
    browser.wait_for_text("6 * 7 = 42", ".talk")
    assert _ids(service) == before


def test_a_request_that_failed_is_sent_again_as_the_same_run(service, browser):
    before = _ids(service)
    browser.open(service, "chat/t")
    browser.wait_for(_FORK)
    # The service has the run, and the page does not know it.
    lost = """window.fetchService(url, options).then(() => new Response("", {status: 500}))"""
    browser.answer("POST .*/graph/runs", lost, times=1)
    browser.say("What is 6 * 9?")
    browser.wait_for(_RETRY)
    browser.click(_RETRY)
    browser.wait_for_text("54", ".talk")
    browser.wait_for_end()
    assert browser.texts(".message.user .plain")[-2:] == ["What is 6 * 8?", "What is 6 * 9?"]
    assert _ids(service)[: len(before)] == before
    assert len(service.get("/v1/threads/t/runs").json()["data"]["runs"]) == 3


def test_a_run_that_failed_goes_on_with_what_it_has_done(service, browser):
    browser.open(service)
    _limit_model_calls(browser, "1")
    browser.say("What is 6 * 7?")
    browser.wait_for_text("BUDGET_EXCEEDED", ".talk .note.error")
    thread = _thread(browser)
    before = _ids(service, thread)
    _limit_model_calls(browser, "5")
    # Also after a double click, there is one run more.
    browser.evaluate(f"void [document.querySelector('{_RETRY}')].forEach((one) => (one.click(), one.click()))")
    browser.wait_for_text("42", ".message.assistant .markdown")
    browser.wait_for_end()
    assert browser.texts(".message.user .plain") == ["What is 6 * 7?"]
    assert _ids(service, thread)[: len(before)] == before
    assert len(service.get(f"/v1/threads/{thread}/runs").json()["data"]["runs"]) == 2
