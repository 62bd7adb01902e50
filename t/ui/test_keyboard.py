"""Each page without a mouse: all that can be clicked is reached by Tab, and focus is never lost."""

import pytest

from harness.agents import DEMO

_DIALOG = DEMO | {
    "models": {"default": {"provider": "demo", "parameters": {"dialog": True}}},
    "store": "leveldb",
    "embedding": "hash",
    "media": {"storage_type": "local"},
}
_PAGES = ["chat/t", "graph", "threads/t", "runs/t", "memories", "files", "evals", "live", "server"]
# Pages that get content after nothing is marked as loading any more, with a selector of that content.
_LAST = {"chat/t": "[role=log]"}
# All that a mouse can use and that is visible; of a row of tabs only the chosen one, for arrows move in it.
_USABLE = """[...document.querySelectorAll("a[href], button, input, select, textarea, summary, [role=button]")]
    .filter((one) => one.checkVisibility() && !one.disabled && one.getAttribute("tabindex") !== "-1")"""

# A node's outline is that of its shape, and the composer's is that of the box around it.
_SHOWS_FOCUS = """getComputedStyle(document.activeElement).outlineStyle !== "none" ||
    document.activeElement.matches(".composer textarea, .graph .node")"""


@pytest.fixture
def service(start_studio):
    service = start_studio(_DIALOG)
    service.invoke("What time is it in Tokyo?", config={"thread_id": "t"})
    service.post("/v1/store/memories", {"content": "The user likes tea."})
    return service


@pytest.mark.parametrize("page", _PAGES)
def test_tab_reaches_everything_in_order(service, browser, page):
    browser.open(service, page)
    browser.wait("document.querySelector('main h1') && !document.querySelector('.loading')")
    if page in _LAST:
        browser.wait_for(_LAST[page])
    count = browser.evaluate(f"{_USABLE}.map((one, index) => (one.dataset.number = index)).length")
    reached = []
    for _ in range(3 * count):
        browser.press("Tab")
        number = browser.evaluate("document.activeElement.dataset.number ?? null")
        if number == "0" and reached:
            break
        if number is not None:
            reached.append(int(number))
            assert browser.evaluate(_SHOWS_FOCUS), number
    assert reached == list(range(count))


def _tab_to(browser, script):
    for _ in range(200):
        if browser.evaluate(script):
            return
        browser.press("Tab")
    raise AssertionError(f"Tab does not reach {script}")


def _label(text):
    return f"(document.activeElement.ariaLabel || document.activeElement.innerText).trim() === {text!r}"


def test_a_dialog_returns_the_focus(service, browser):
    browser.open(service, "threads/t")
    browser.wait_for(".state")
    _tab_to(browser, _label("Delete"))
    browser.press("Enter")
    browser.wait_for("dialog[open]")
    for _ in range(6):  # the focus stays within
        browser.press("Tab")
        assert browser.evaluate("document.activeElement === document.body || !!document.activeElement.closest('dialog')")
    browser.press("Escape")
    browser.wait("!document.querySelector('dialog')")
    browser.wait(_label("Delete"))
    browser.press("Enter")
    _tab_to(browser, "document.activeElement.closest('dialog') && " + _label("Cancel"))
    browser.press("Enter")
    browser.wait("!document.querySelector('dialog')")
    browser.wait(_label("Delete"))


def test_memories_are_forgotten_by_keyboard(service, browser):
    browser.open(service, "memories")
    browser.wait_for(".item")
    _tab_to(browser, _label("Forget"))
    browser.press("Enter")
    browser.wait_for("dialog[open]")
    _tab_to(browser, "document.activeElement.closest('dialog') && " + _label("Forget"))
    browser.press("Enter")
    browser.wait_for_text("No memories yet", "main")


def test_a_message_is_edited_by_keyboard(service, browser):
    browser.open(service, "chat/t")
    browser.wait_for(".message.user")
    _tab_to(browser, _label("Edit and send again"))
    browser.press("Enter")
    browser.wait("document.activeElement.ariaLabel === 'Edit the message'")
    browser.press("Escape")
    browser.wait("!document.querySelector('.edit')")
    browser.wait(_label("Edit and send again"))


def test_tabs_and_state_by_keyboard(service, browser):
    browser.open(service, "threads/t")
    browser.wait_for(".state textarea")
    _tab_to(browser, "document.activeElement.role === 'tab'")
    browser.press("ArrowRight")
    browser.wait_for(".event")
    browser.wait("document.activeElement.innerText === 'History'")
    browser.press("ArrowLeft")
    browser.wait_for(".state textarea")
    _tab_to(browser, "document.activeElement.matches('.state textarea')")
    browser.evaluate("document.activeElement.select()")
    browser.type("They talked about tea.")
    browser.wait_for(".diff")
    _tab_to(browser, _label("Save"))
    browser.press("Enter")
    browser.wait("!document.querySelector('.diff')")
    state = service.get("/v1/threads/t/state").json()["data"]["state"]
    assert state["context_summary"] == "They talked about tea."


def test_a_call_by_keyboard(start_studio, browser):
    browser.open(start_studio(DEMO | {"agent": "graphs/live.json:app"}), "live")
    browser.wait_for(".talk .main")
    _tab_to(browser, _label("Start the call"))
    browser.press("Enter")
    browser.wait("!document.querySelector('.composer input').disabled")
    _tab_to(browser, "document.activeElement.matches('.composer input')")
    browser.type("Hello")
    browser.press("Enter")
    browser.wait_for_text("You said: Hello", ".scroller")
    _tab_to(browser, _label("Hang up"))
    browser.press("Enter")
    browser.wait_for_text("Call again", ".talk")
