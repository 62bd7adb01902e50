"""Answers that are no answers of the service, and answers that do not come."""

import pytest

from harness.agents import DEMO


@pytest.mark.parametrize("status", [502, 504])
def test_a_proxy_that_fails_does_not_end_the_chat(start_studio, browser, status):
    browser.open(start_studio(DEMO))
    browser.wait_for(".composer")
    browser.refuse("GET .*/stream", status=status, times=2)
    browser.say("Hello")
    browser.wait_for_end()
    assert browser.count(".talk .note.error") == 0 and browser.count(".message.assistant") == 1


def test_a_request_without_an_answer_is_sent_again(start_studio, browser):
    browser.open(start_studio(DEMO))
    browser.wait_for(".composer")
    # Keeps the deadlines of requests, which pass when the test says so.
    browser.evaluate(
        """void (() => {
          const real = window.setTimeout;
          window.deadlines = [];
          window.setTimeout = (callback, ms, ...all) => {
            if (ms >= 30000) window.deadlines.push(callback);
            return real(callback, ms, ...all);
          };
        })()"""
    )
    silence = """new Promise((_, reject) => {
      window.silent = true;
      options.signal.addEventListener("abort", () => reject(options.signal.reason));
    })"""
    browser.answer("POST .*/graph/runs$", silence, times=1)
    browser.say("Hello")
    browser.wait("window.silent")
    browser.evaluate("void window.deadlines.forEach((pass) => pass())")
    browser.wait_for_end()
    assert browser.count(".message.assistant") == 1
