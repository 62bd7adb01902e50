"""The Chat page: what a person does with the agent."""

import json

import pytest

from browser import BUILT, studio_link
from harness import environment
from harness.agents import DEMO, asking
from harness.gated_provider import GatedProvider

_DIALOG = DEMO | {
    "models": {"default": {"provider": "demo", "parameters": {"dialog": True}}},
    "store": "leveldb",
    "embedding": "hash",
}
_MESSAGES = ".message.assistant .markdown"


@pytest.fixture
def provider():
    gated = GatedProvider(words=("# Title\n\n", "one ", "**two** ", "three"), before_gate=3)
    yield gated
    gated.close()


def test_an_answer_with_a_tool_call(start_studio, browser):
    browser.open(start_studio(_DIALOG))
    browser.wait_for(".composer")
    browser.screenshot("chat-empty")
    browser.say("What time is it in Tokyo?")
    browser.wait_for_end()
    (answer,) = browser.texts(_MESSAGES)
    assert answer.startswith("In Tokyo it is")
    assert browser.text(".tool.done summary").startswith("current_time")
    browser.click(".tool summary")
    shown = browser.text(".tool")
    assert '"utc_offset_minutes": 540' in shown and '"time"' in shown
    browser.wait_for_text("tokens", ".talk .summary")
    browser.wait_for_text("1 tool call", ".talk .summary")
    assert browser.accessibility_problems() == []
    browser.screenshot("chat-tool")


def test_a_person_allows_a_tool_call(start_studio, browser):
    service = start_studio(_DIALOG)
    browser.open(service)
    browser.say("Remember that I like green tea.")
    browser.wait_for(".question")
    browser.wait_for_text("May I store this?", ".question")
    browser.wait_for_text("I like green tea", ".question .json")
    assert browser.accessibility_problems() == []
    browser.screenshot("chat-approval")
    # The question is part of the thread: it is there after the page was loaded again.
    browser.reload()
    browser.wait_for(".question")
    browser.click(".question .main")
    browser.wait_for_text("I will remember that.", ".talk")
    memories = service.post("/v1/store/memories/list", {}).json()["data"]["memories"]
    assert [memory["content"] for memory in memories] == ["I like green tea"]


def test_a_person_refuses_a_tool_call(start_studio, browser):
    service = start_studio(DEMO | {"agent": "graphs/approval.json:app"})
    browser.open(service)
    browser.say('call calculator {"expression": "6*7"}')
    browser.wait_for(".question")
    browser.click(".question .button:not(.main)")
    browser.click(".tool.failed summary")
    browser.wait_for_text("the user did not allow this", ".talk")


def test_the_page_answers_a_tool_of_the_client(start_studio, browser):
    browser.open(start_studio(DEMO | {"agent": "graphs/remote.json:app"}))
    browser.say("call get_location {}")
    browser.wait_for(".question textarea")
    browser.screenshot("chat-remote-tool")
    browser.fill(".question textarea", '{"city": "Rome"}')
    browser.click(".question .main")
    browser.wait_for_text("Rome", _MESSAGES)
    browser.wait_for_count(".tool.done", 1)


def test_markdown_streams_and_reload_goes_on(start_studio, browser, provider):
    browser.open(start_studio(asking(provider)))
    browser.say("go")
    provider.wait_for_waiting(1)
    browser.wait_for_text("one two", _MESSAGES)
    browser.wait_for_count(f"{_MESSAGES} h1", 1)
    browser.wait_for_count(f"{_MESSAGES} strong", 1)
    browser.reload()
    browser.wait_for_text("one two", _MESSAGES)
    provider.open_gate()
    browser.wait_for_text("one two three", _MESSAGES)
    browser.wait("!document.querySelector('.talk .progress')")
    assert browser.texts(".message.user .plain") == ["go"]
    assert browser.count(_MESSAGES) == 1


def test_stop_keeps_what_was_written(start_studio, browser, provider):
    browser.open(start_studio(asking(provider)))
    browser.say("go")
    browser.wait_for_text("one two", _MESSAGES)
    browser.click(".composer .bar .button:last-child")
    browser.wait_for_text("Stopped.", ".talk")
    browser.wait_for_text("one two", _MESSAGES)


# Marks the element of the answer, so that another one in its place would be noticed.
_MARK = f"void (document.querySelector('{_MESSAGES}').closest('.message').mark = 1)"
_SAME = f"document.querySelector('{_MESSAGES}').closest('.message').mark"


def test_the_answer_goes_on_after_the_worker_was_killed(start_studio, browser, provider):
    service = start_studio(asking(provider), workers=1)
    browser.open(service)
    browser.say("go")
    browser.wait_for_text("one two", _MESSAGES)
    browser.evaluate(_MARK)
    service.kill_worker()
    browser.wait_for_text("attempt 2", ".talk .progress")
    provider.open_gate()
    browser.wait_for_text("one two three", _MESSAGES)
    browser.wait_for_end()
    assert browser.evaluate(_SAME) == 1 and browser.count(_MESSAGES) == 1


def test_the_answer_goes_on_after_the_network_was_away(start_studio, browser, provider):
    service = start_studio(asking(provider))
    with studio_link(browser, service) as link:
        browser.say("go")
        browser.wait_for_text("one two", _MESSAGES)
        browser.evaluate(_MARK)
        link.go_down()
        browser.wait_for_text("The connection is lost", ".talk .progress")
        browser.screenshot("chat-connection-lost")
        provider.open_gate()
        link.go_up()
        browser.wait_for_text("one two three", _MESSAGES)
        browser.wait_for_end()
        assert browser.evaluate(_SAME) == 1 and browser.count(_MESSAGES) == 1


def test_edit_and_send_again(start_studio, browser):
    service = start_studio(_DIALOG)
    browser.open(service)
    browser.say("What is 6 * 7?")
    browser.wait_for_text("42", _MESSAGES)
    browser.wait_for_end()
    browser.click('.message.user [aria-label="Edit and send again"]')
    browser.fill(".edit textarea", "What is 6 * 8?")
    browser.click(".edit .main")
    browser.wait_for_text("48", _MESSAGES)
    browser.wait_for_end()
    assert browser.texts(".message.user .plain") == ["What is 6 * 8?"]
    assert browser.count(_MESSAGES) == 1
    (thread,) = service.get("/v1/threads").json()["data"]["threads"]
    messages = service.get(f"/v1/threads/{thread['thread_id']}/messages").json()["data"]["messages"]
    assert "6 * 7" not in json.dumps(messages)


def test_a_thread_goes_on_in_another_one(start_studio, browser):
    service = start_studio(_DIALOG)
    browser.open(service)
    browser.say("What is 6 * 7?")
    browser.wait_for_end()
    browser.click('.message.assistant [aria-label="Continue from here in a new thread"]')
    browser.wait("document.querySelectorAll('.chat .list li').length === 2")
    browser.wait_for_text("42", _MESSAGES)
    assert len(service.get("/v1/threads").json()["data"]["threads"]) == 2


def test_a_file_is_attached(start_studio, browser, directory):
    note = directory / "note.txt"
    note.write_text("Tea is served at five.")
    browser.open(start_studio(DEMO | {"media": {"storage_type": "local"}}))
    browser.wait_for(".composer")
    browser.upload(".composer input[type=file]", note)
    browser.wait_for_text("note.txt", ".attachments")
    browser.say("When is tea?")
    browser.wait_for_text("Tea is served at five.", _MESSAGES)


def test_a_budget_ends_a_run(start_studio, browser):
    browser.open(start_studio(_DIALOG))
    browser.click('[aria-label="Limits of runs"]')
    browser.wait_for("dialog[open]")
    browser.fill("dialog .field:nth-of-type(4) input", "1")
    browser.screenshot("chat-budget")
    browser.press("Enter")
    browser.wait("!document.querySelector('dialog')")
    browser.say("What is 6 * 7?")
    browser.wait_for(".talk .note.error")
    browser.wait_for_text("BUDGET_EXCEEDED", ".talk .note.error")


def test_errors_show_the_request(start_studio, browser):
    browser.open(start_studio(DEMO | {"checkpointer": "none"}))
    browser.wait_for(".note.error")
    browser.wait_for_text("NOT_CONFIGURED", ".note.error")
    browser.wait_for_text("request", ".note.error")


def test_only_the_keyboard(start_studio, browser):
    browser.open(start_studio(_DIALOG))
    browser.wait_for(".composer")
    browser.press("Tab")
    browser.wait("document.activeElement.className === 'skip'")
    browser.press("Enter")
    browser.wait("document.activeElement.id === 'main'")
    while browser.evaluate("document.activeElement.tagName") != "TEXTAREA":
        browser.press("Tab")
    browser.type("Remember that I like tea.")
    browser.press("Enter")
    browser.wait_for(".question")
    browser.evaluate("void document.querySelector('[role=log]').focus()")
    while browser.evaluate("document.activeElement.innerText") != "Yes, go on":
        browser.press("Tab")
    browser.press("Enter")
    browser.wait_for_text("I will remember that.", ".talk")


@pytest.mark.parametrize("dark", [False, True])
def test_phones(start_studio, browser, dark):
    browser.open(start_studio(_DIALOG), width=360, height=720, dark=dark)
    browser.say("What time is it in Tokyo?")
    browser.wait_for_end()
    assert browser.accessibility_problems() == []
    assert browser.evaluate("document.documentElement.scrollWidth") == 360
    browser.screenshot("chat-phone-" + ("dark" if dark else "light"))


def test_the_page_is_small():
    packed = [file.stat().st_size for file in BUILT.glob("*.gz") if file.name != "LICENSES.txt.gz"]
    assert packed and sum(packed) <= 120_000
    assert environment.ROOT in BUILT.parents
