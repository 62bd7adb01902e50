"""Editing a message while a run goes on or the thread is being read."""

from harness.agents import DEMO, asking

_EDIT = '.message.user [aria-label="Edit and send again"]'


def test_an_open_editor_waits_for_the_end_of_the_run(start_studio, browser, gated_provider):
    service = start_studio(asking(gated_provider))
    gated_provider.open_gate()
    assert service.invoke("first", config={"thread_id": "t"}).status == 200
    gated_provider.close_gate()
    browser.open(service, "chat/t")
    browser.click(_EDIT)
    browser.wait_for(".edit textarea")
    browser.say("second")
    browser.wait_for_text("one", ".message.assistant.streaming")
    # The text that arrives leaves the focus where it is.
    browser.type("third")
    assert browser.evaluate("document.activeElement.ariaLabel") == "Message"
    browser.evaluate("document.querySelector('.edit').requestSubmit()")
    assert browser.evaluate("document.querySelector('.edit .main').disabled")
    gated_provider.open_gate()
    browser.wait("!document.querySelector('.talk .progress')")
    messages = service.get("/v1/threads/t/messages").json()["data"]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant"]
    assert len(service.get("/v1/threads/t/runs").json()["data"]["runs"]) == 2
    browser.wait("!document.querySelector('.edit .main').disabled")


def _add(service, thread, first, count):
    messages = [{"role": "user", "content": f"message {number}"} for number in range(first, first + count)]
    assert service.post(f"/v1/threads/{thread}/messages", {"messages": messages}).status == 200


def _open_with_two_pages(start_studio, browser):
    """Opens Studio on another page than Chat. The messages of thread `t` take two pages."""
    service = start_studio(DEMO)
    for first in (0, 500, 1000):
        _add(service, "t", first, 500)
    browser.open(service, "graph")
    browser.wait_for(".node")


def test_nothing_is_sent_before_the_thread_was_read(start_studio, browser):
    _open_with_two_pages(start_studio, browser)
    # The second page of messages arrives when the test says so.
    browser.hold("GET .*/messages[?].*cursor=")
    browser.go("chat/t")
    browser.wait_for_text("message 999", ".scroller")
    browser.fill(".composer textarea", "Hello")
    browser.press("Enter")
    assert browser.evaluate("document.querySelector('.composer button[type=submit]').disabled")
    assert browser.count(_EDIT) == 0
    browser.let_go()
    browser.wait_for_text("message 1499", ".scroller")
    browser.say("Hello")
    browser.wait_for_end()
    shown = browser.texts(".message.user .plain")
    assert shown[-2:] == ["message 1499", "Hello"]


def test_a_page_that_failed_is_read_before_anything_is_sent(start_studio, browser):
    _open_with_two_pages(start_studio, browser)
    browser.refuse("GET .*/messages[?].*cursor=")
    browser.go("chat/t")
    browser.wait_for(".talk .note.error .button")
    assert browser.count(_EDIT) == 0
    browser.accept_all()
    browser.click(".talk .note.error .button")
    browser.wait_for_text("message 1499", ".scroller")
    browser.wait_for(_EDIT)


def test_a_run_that_ends_while_the_thread_is_read_is_shown(start_studio, browser, gated_provider):
    service = start_studio(asking(gated_provider))
    body = {"messages": [{"role": "user", "content": "go"}], "config": {"thread_id": "t", "run_id": "r"}}
    assert service.post("/v1/graph/runs", body).status == 202
    gated_provider.wait_for_waiting(1)
    browser.open(service, "graph")
    browser.wait_for(".node")
    # The page has read the messages, but not what it reads after them, when the run ends.
    browser.hold("GET .*/threads/t/(state|runs[?]limit=50)")
    browser.go("chat/t")
    browser.wait_for_text("go", ".message.user")
    browser.wait_for_held()
    gated_provider.open_gate()
    assert service.get("/v1/threads/t/runs/r/wait").status == 200
    browser.let_go()
    browser.wait_for_text("one two three", ".message.assistant")
