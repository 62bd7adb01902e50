"""Failures that a person must see, and reads that go on after one."""

import pytest

from harness.agents import DEMO, asking

_RUN = {"thread_id": "t", "run_id": "r"}


@pytest.fixture
def running(start_studio, gated_provider):
    service = start_studio(asking(gated_provider))
    body = {"messages": [{"role": "user", "content": "go"}], "config": _RUN}
    assert service.post("/v1/graph/runs", body).status == 202
    gated_provider.wait_for_waiting(1)
    return service


def _open(browser, service):
    """Opens the page Graph, from which a test goes on after it has prepared answers."""
    browser.open(service, "graph")
    browser.wait_for(".node")


def test_a_cancel_that_was_refused(running, browser):
    browser.open(running, "runs/t/r")
    cancel = "[...document.querySelectorAll('.tabs button')].find((one) => one.innerText === 'Cancel')"
    browser.wait(cancel)
    browser.refuse("POST .*/cancel", status=403)
    browser.evaluate(f"void {cancel}.click()")
    browser.wait_for_text("refused by the test", ".trace .note.error")


def test_a_trace_stays_when_it_cannot_be_read_again(running, browser, gated_provider):
    browser.open(running, "runs/t/r")
    browser.wait_for(".bar-row.open")
    browser.refuse("GET .*/threads/t/runs/r$", times=1)
    browser.wait_for(".trace .note.error")
    assert browser.count(".bar-row") > 0
    gated_provider.open_gate()
    browser.wait_for_text("done", ".facts-line")
    assert browser.count(".trace .note.error") == 0


def test_events_go_on_after_a_cut(start_studio, browser):
    service = start_studio(DEMO)
    service.invoke("Hello", config=_RUN)
    _open(browser, service)
    # So end the streams of a worker that leaves after a reload.
    browser.answer("GET .*/stream", "new Response('\\n')", times=1)
    browser.go("runs/t/r")
    browser.wait_for("[role=tab]")
    browser.click("[role=tab]:nth-child(2)")
    browser.wait_for_text("assistant: text", ".event")


def test_a_stream_that_was_refused(start_studio, browser):
    service = start_studio(DEMO)
    service.invoke("Hello", config=_RUN)
    _open(browser, service)
    browser.refuse("GET .*/stream", status=410)
    browser.go("runs/t/r")
    browser.wait_for(".bar-row")
    browser.wait_for_text("refused by the test", ".trace .note.error")


def test_a_file_that_cannot_be_saved(start_studio, browser, directory):
    note = directory / "note.txt"
    note.write_text("Tea is served at five.")
    browser.open(start_studio(DEMO | {"media": {"storage_type": "local"}}))
    browser.wait_for(".composer")
    browser.upload(".composer input[type=file]", note)
    browser.wait_for_text("note.txt", ".attachments")
    browser.say("When is tea?")
    browser.wait_for_end()
    browser.refuse("GET .*/files/")
    browser.click(".message .chip")
    browser.wait_for_text("note.txt: refused by the test", ".message .chip")
    assert browser.accessibility_problems() == []


def test_a_copy_that_the_browser_refuses(start_studio, browser):
    browser.open(start_studio(DEMO))
    browser.say("Hello")
    browser.wait_for_end()
    browser.evaluate("void (navigator.clipboard.writeText = () => Promise.reject(new Error('refused')))")
    browser.click(".message.user [aria-label=Copy]")
    browser.wait_for(".message.user [aria-label^='Not copied']")


def test_a_token_that_browsers_cannot_send_with_a_socket(start_studio, browser):
    browser.open(start_studio(DEMO | {"agent": "graphs/live.json:app"}), "live")
    browser.wait_for(".talk .main")
    browser.evaluate(
        """sessionStorage.setItem("agent-graph-token " + location.origin + "/support", "abc/def==")"""
    )
    browser.reload()
    browser.click(".talk .main")
    browser.wait_for_text("cannot send this token", ".talk .note.error")
