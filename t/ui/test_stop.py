"""Stop ends a run whatever the network does meanwhile."""

from harness.agents import DEMO, asking

_STOP = ".composer .bar .button:last-child"
_RUNS = "POST .*/graph/runs$"


def _thread(browser):
    browser.wait("location.hash.startsWith('#/chat/')")
    return browser.evaluate("location.hash").removeprefix("#/chat/")


def _runs(service, browser):
    return service.get(f"/v1/threads/{_thread(browser)}/runs").json()["data"]["runs"]


def test_a_run_that_does_not_reach_the_service_is_not_sent_later(start_studio, browser):
    service = start_studio(DEMO)
    browser.open(service)
    browser.wait_for(".composer")
    browser.refuse(_RUNS, status=503, code="SERVICE_UNAVAILABLE")
    browser.say("first")
    browser.wait_for_text("Sending", ".talk .progress")
    browser.click(_STOP)
    browser.wait_for_text("Stopped.", ".talk")
    assert browser.count(".talk .note.error") == 0
    browser.accept_all()
    browser.say("second")
    browser.wait_for_end()
    assert len(_runs(service, browser)) == 1


def test_a_run_that_has_arrived_unknown_to_the_page_is_cancelled(start_studio, browser, gated_provider):
    service = start_studio(asking(gated_provider))
    browser.open(service)
    browser.wait_for(".composer")
    browser.answer(_RUNS, "window.fetchService(url, options).then(() => Promise.reject(new TypeError('lost')))")
    browser.say("go")
    gated_provider.wait_for_waiting(1)
    browser.click(_STOP)
    browser.wait_for_text("Stopped.", ".talk")
    assert [run["status"] for run in _runs(service, browser)] == ["stopped"]


def test_a_cancel_is_repeated(start_studio, browser, gated_provider):
    service = start_studio(asking(gated_provider))
    browser.open(service)
    browser.say("go")
    browser.wait_for_text("one", ".message.assistant")
    browser.refuse("POST .*/cancel", status=503, code="SERVICE_UNAVAILABLE", times=2)
    browser.click(_STOP)
    browser.wait_for_text("Stopped.", ".talk")


def test_a_run_whose_cancel_was_refused_goes_on(start_studio, browser, gated_provider):
    service = start_studio(asking(gated_provider))
    browser.open(service)
    browser.say("go")
    browser.wait_for_text("one", ".message.assistant")
    browser.refuse("POST .*/cancel", times=1)
    browser.click(_STOP)
    browser.wait_for(".talk .note.error")
    assert browser.count(".talk .progress") == 1 and browser.count(".talk .note.error .button") == 0
    browser.click(_STOP)
    browser.wait_for_text("Stopped.", ".talk")
