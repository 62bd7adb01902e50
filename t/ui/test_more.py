"""Lists that are longer than one page, and searches that overtake each other."""

import pytest

from harness.agents import DEMO

_DIALOG = DEMO | {
    "models": {"default": {"provider": "demo"}},
    "store": "leveldb",
    "embedding": "hash",
}


@pytest.fixture
def service(start_studio):
    return start_studio(_DIALOG)


def _add_threads(service, count):
    for number in range(count):
        body = {"messages": [{"role": "user", "content": f"message {number}"}]}
        assert service.post(f"/v1/threads/thread-{number:03}/messages", body).status == 200


def _more(browser, label="More"):
    found = f"[...document.querySelectorAll('main button')].find((one) => one.innerText === '{label}')"
    browser.wait(found)
    browser.evaluate(f"void {found}.click()")


def test_all_threads_are_found_in_chat(service, browser):
    _add_threads(service, 60)
    browser.open(service, "chat")
    browser.wait_for_count(".chat .list li a", 50)
    _more(browser)
    browser.wait_for_count(".chat .list li a", 60)
    # A run does not take away what was asked for.
    browser.say("Hello")
    browser.wait_for_end()
    browser.wait_for_count(".chat .list li a", 61)


def test_all_threads_can_be_chosen_in_runs(service, browser):
    _add_threads(service, 60)
    browser.open(service, "runs")
    browser.wait_for_count("select option", 50)
    _more(browser, "More threads")
    browser.wait_for_count("select option", 60)


def test_all_runs_of_a_thread_are_shown(service, browser):
    for number in range(55):
        service.invoke(f"Hello {number}", config={"thread_id": "t"})
    browser.open(service, "runs/t")
    browser.wait_for_count(".links a", 50)
    _more(browser)
    browser.wait_for_count(".links a", 55)
    browser.click(".links li:nth-child(55) a")
    browser.wait("document.querySelector('.links li:nth-child(55) a')?.getAttribute('aria-current') === 'true'")


def test_all_memories_are_shown(service, browser):
    for number in range(210):
        service.post("/v1/store/memories", {"content": f"memory {number}"})
    browser.open(service, "memories")
    browser.wait_for(".scroller .item")
    _more(browser)
    browser.wait("![...document.querySelectorAll('main button')].some((one) => one.innerText === 'More')")
    browser.wait_for(".scroller .item")
    height = "document.querySelector('.scroller .virtual').offsetHeight"
    assert browser.evaluate(height) > 205 * 80


def test_a_late_page_does_not_replace_a_newer_search(service, browser):
    _add_threads(service, 60)
    browser.open(service, "threads")
    browser.wait_for_count(".links a", 50)
    browser.hold("GET .*/threads[?].*cursor=")
    _more(browser)
    browser.wait_for_held()
    browser.fill("[aria-label=Search]", "thread-007")
    browser.wait_for_count(".links a", 1)
    browser.let_go()
    # The page has handled the late answer when it has handled a later one.
    browser.evaluate("window.fetchService('../v1/threads?limit=1').then((answer) => answer.json())")
    assert browser.count(".links a") == 1


def test_a_page_that_failed_is_asked_for_again(service, browser):
    _add_threads(service, 60)
    browser.open(service, "threads")
    browser.wait_for_count(".links a", 50)
    browser.refuse("GET .*/threads[?].*cursor=", times=1)
    _more(browser)
    browser.wait_for(".column .note.error")
    assert browser.count(".links a") == 50
    _more(browser)
    browser.wait_for_count(".links a", 60)
    assert browser.count(".column .note.error") == 0
