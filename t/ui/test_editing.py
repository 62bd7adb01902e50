"""Editing a message while a run goes on or the thread is being read."""

from harness.agents import asking

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
