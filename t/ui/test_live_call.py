"""A call on the page Live: when the microphone and the session end."""

import pytest

from harness import processes
from harness.agents import DEMO

_LIVE = DEMO | {"agent": "graphs/live.json:app"}
_START = ".talk .main"
_MICROPHONE = ".composer .line:first-child .button:nth-of-type(1)"
_HANG_UP = ".composer .line:first-child .button:nth-of-type(2)"
# Keeps the tracks and sockets of the page, and counts the blocks of audio that it sends. The browser's question for
# the microphone is answered by allow().
_WATCH = """void (() => {
  window.tracks = [];
  window.asked = [];
  window.sockets = [];
  window.blocks = 0;
  window.allow = () => window.asked.splice(0).forEach((go) => go());
  const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  navigator.mediaDevices.getUserMedia = async (wanted) => {
    await new Promise((go) => window.asked.push(go));
    const stream = await ask(wanted);
    window.tracks.push(...stream.getTracks());
    return stream;
  };
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (data) {
    if (typeof data !== "string") window.blocks += 1;
    return send.call(this, data);
  };
  window.WebSocket = class extends WebSocket {
    constructor(...all) {
      super(...all);
      window.sockets.push(this);
    }
  };
})()"""
_LIVE_TRACKS = "window.tracks.filter((track) => track.readyState === 'live').length"


@pytest.fixture
def call(start_studio, browser):
    browser.open(start_studio(_LIVE), "live")
    browser.wait_for(_START)
    browser.evaluate(_WATCH)
    return browser


def _begin(call):
    call.click(_START)
    call.wait("!document.querySelector('.composer input').disabled")


def test_mute_ends_the_only_microphone(call):
    _begin(call)
    call.evaluate(f"void [1, 2].forEach(() => document.querySelector('{_MICROPHONE}').click())")
    call.wait("window.asked.length > 0")
    call.evaluate("window.allow()")
    call.wait_for_text("Mute", _MICROPHONE)
    call.wait("window.blocks > 0")
    assert call.evaluate("window.tracks.length") == 1
    call.click(_MICROPHONE)
    call.wait_for_text("Microphone", _MICROPHONE)
    assert call.evaluate(_LIVE_TRACKS) == 0


@pytest.mark.parametrize("leave", [
    f"document.querySelector('{_HANG_UP}').click()", "(location.hash = '#/graph')",
])  # fmt: skip
def test_no_microphone_after_the_call(call, leave):
    _begin(call)
    call.click(_MICROPHONE)
    call.wait("window.asked.length > 0")
    call.evaluate(f"void {leave}")
    call.wait("window.sockets[0].readyState === WebSocket.CLOSED")
    call.evaluate("window.allow()")
    call.wait("window.tracks.length === 1 && " + _LIVE_TRACKS + " === 0")


def test_a_call_ends_that_was_left_before_it_began(start_studio, browser):
    service = start_studio(_LIVE)
    browser.open(service, "graph")
    browser.wait_for(".node")
    browser.go("live")
    browser.wait_for(_START)
    browser.evaluate(_WATCH)
    # Connections to the service are accepted, and not answered.
    workers = [worker.pid for worker in service.workers()]
    for worker in workers:
        processes.freeze(worker)
    try:
        browser.click(_START)
        browser.wait("window.sockets.length === 1")
        browser.go("graph")
        browser.wait("window.sockets[0].readyState >= WebSocket.CLOSING")
    finally:
        for worker in workers:
            processes.thaw(worker)


def test_another_call_after_hanging_up(call):
    _begin(call)
    call.click(_HANG_UP)
    call.wait_for_text("Call again", ".talk")
    assert call.count(".note.error") == 0
    _begin(call)
    call.fill(".composer input", "Hello")
    call.press("Enter")
    call.wait_for_text("You said: Hello", ".scroller")


def test_nothing_is_played_after_hanging_up(call):
    call.evaluate(
        """void (() => {
          window.played = 0;
          const start = AudioBufferSourceNode.prototype.start;
          AudioBufferSourceNode.prototype.start = function (...all) {
            window.played += 1;
            return start.apply(this, all);
          };
          window.receive = () =>
            window.sockets[0].dispatchEvent(new MessageEvent("message", {data: new ArrayBuffer(480)}));
        })()"""
    )
    _begin(call)
    call.evaluate("window.receive()")
    assert call.evaluate("window.played") == 1
    call.evaluate(f"document.querySelector('{_HANG_UP}').click(), window.receive()")
    assert call.evaluate("window.played") == 1
