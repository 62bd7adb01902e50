"""A browser's own EventSource on the stream of a run. It connects again by itself."""

import pytest

from harness.agents import DEMO, asking
from harness.gated_provider import GatedProvider
from harness.run_stream import Event, Reader
from harness.service import invocation

_WORDS = tuple(f"word{number} " for number in range(12))
_RUN = {"thread_id": "t", "run_id": "r"}
_OPEN = """void (() => {
  window.happened = [];
  window.events = [];
  const source = new EventSource("/v1/threads/t/runs/r/stream");
  source.onopen = () => happened.push("open");
  for (const name of ["message", "updates", "error"]) {
    source.addEventListener(name, ({data, lastEventId}) => {
      if (data !== undefined) events.push({id: lastEventId, name, chunk: JSON.parse(data)});
      else happened.push(source.readyState === EventSource.CLOSED ? "closed" : "cut");
    });
  }
})()"""


@pytest.fixture
def provider():
    gated = GatedProvider(words=_WORDS, before_gate=5)
    yield gated
    gated.close()



def _open_source(browser, port):
    # A page of the same origin.
    browser.open_page(f"http://127.0.0.1:{port}/ping")
    browser.evaluate(_OPEN)


def _wait_for_count(browser, what, count):
    browser.wait(f"happened.filter((one) => one === '{what}').length === {count}")


def _wait_for_fifth_word(browser, count):
    browser.wait(
        "events.filter(({chunk}) => chunk.message?.delta && "
        f"JSON.stringify(chunk.message).includes('word4 ')).length === {count}"
    )


def _read_all(browser):
    _wait_for_count(browser, "closed", 1)
    reader = Reader()
    reader.take([Event(**event) for event in browser.evaluate("events")])
    return reader


def test_it_survives_a_cut_network_and_a_killed_worker(start_service, browser, provider, link):
    service = start_service(asking(provider), workers=1)
    network = link(service)
    assert service.post("/v1/graph/runs", invocation("hi", config=_RUN)).status == 202
    _open_source(browser, network.port)
    _wait_for_fifth_word(browser, 1)
    network.cut()
    _wait_for_count(browser, "open", 2)
    provider.wait_for_waiting(1)
    service.kill_worker()
    _wait_for_fifth_word(browser, 2)  # the second attempt's fifth word
    provider.open_gate()
    # After `done` it asks once more, and 204 ends that.
    reader = _read_all(browser)
    reader.check(provider.text)
    assert reader.resets == 1
    _wait_for_count(browser, "open", 3)


def test_it_stops_after_a_finished_run(start_service, browser):
    service = start_service(DEMO)
    service.post("/v1/graph/runs", invocation("hi", config=_RUN))
    _open_source(browser, service.port)
    _read_all(browser).check("You said: hi")
