"""Questions of the agent in Chat: forms of tools, calls whose effect is unknown, and answers that the
network loses."""

import json

import pytest

from browser import studio_link
from harness.messages import texts, tool_results
from harness.service import invocation
from harness.tool_graph import asks, tool_graph
from harness.waiting import wait_until

from harness.agents import DEMO

_DIALOG = DEMO | {
    "models": {"default": {"provider": "demo", "parameters": {"dialog": True}}},
    "store": "leveldb",
    "embedding": "hash",
}
_FIXTURES = [
    *asks("register", ("register", {})),
    *asks("twice", ("register", {}), ("look_up", {})),
    *asks("visit", ("visit", {})),
]
_FORM = ".question form"


@pytest.fixture
def start_asking(start_studio, start_mock_provider, start_mcp_peer):
    """start_asking() starts a service whose tools ask the user."""

    def start(**peer):
        model = {"provider": "openai", "model": "m", "base_url": start_mock_provider(_FIXTURES).base_url}
        peer = start_mcp_peer(eras=["stateless"], **peer)
        graph = tool_graph(mcp_servers=[{"name": "peer", "url": peer.url}])
        settings = {"agent": "tools.json:app", "models": {"default": model}}
        return start_studio(settings, files={"tools.json": json.dumps(graph)})

    return start


def _messages(service, thread=None):
    if thread is None:
        (found,) = service.get("/v1/threads").json()["data"]["threads"]
        thread = found["thread_id"]
    return service.get(f"/v1/threads/{thread}/messages").json()["data"]["messages"]


def test_a_tool_asks_with_a_form(start_asking, browser):
    service = start_asking()
    browser.open(service)
    browser.say("register")
    browser.wait_for(_FORM)
    browser.wait_for_text("register of peer asks: Who are you?", ".question")
    # The page refuses to send the form without the required value.
    browser.click(f"{_FORM} .main")
    browser.wait_for_text("name: a value is required", ".question")
    assert browser.accessibility_problems() == []
    browser.screenshot("chat-elicitation")
    # One letter is less than the schema asks for: the service refuses, and the question is there again.
    browser.fill(f"{_FORM} input", "B")
    browser.click(f"{_FORM} .main")
    browser.wait_for_text("must have at least 2 characters", ".talk .note.error")
    browser.fill(f"{_FORM} input", "Bob")
    browser.click(f"{_FORM} .main")
    browser.wait_for_text("done", ".message.assistant .markdown")
    browser.wait_for_end()
    assert tool_results(_messages(service))[-1]["output"] == 'registered {"name":"Bob","plan":"free"}'
    assert browser.count(".note.error") == 0


@pytest.mark.parametrize("number, action", [(1, "decline"), (2, "cancel")])
def test_a_person_does_not_answer_a_form(start_asking, browser, number, action):
    service = start_asking()
    browser.open(service)
    browser.say("register")
    browser.click(f".question > .fields > .actions .button:nth-child({number})")
    browser.wait_for_text("done", ".message.assistant .markdown")
    browser.wait_for_end()
    assert tool_results(_messages(service))[-1]["output"] == action


# A browser would show it in another way.
_PAGE = "https://user@bank.example.test:8443/a/../sign?next=%2F&x=<b>#'\""


@pytest.mark.parametrize(
    "button, action", [("I have done it", "accept"), ("Decline", "decline"), ("Cancel the call", "cancel")]
)
def test_a_tool_asks_for_a_visit(start_asking, browser, button, action):
    service = start_asking(page=_PAGE)
    browser.open(service)
    browser.say("visit")
    browser.wait_for(".question .url a")
    browser.wait_for_text("visit of peer asks: Sign in, please.", ".question")
    assert browser.text(".question .url") == _PAGE
    link = "document.querySelector('.question .url a')"
    assert browser.evaluate(f"{link}.getAttribute('href')") == _PAGE
    # The page learns nothing of Studio, and cannot control it.
    assert browser.evaluate(f"[{link}.target, {link}.rel]") == ["_blank", "noopener noreferrer nofollow"]
    assert browser.accessibility_problems() == []
    browser.screenshot("chat-visit")
    browser.evaluate(
        f"[...document.querySelectorAll('.question button')].find((each) => each.innerText === '{button}').click()"
    )
    browser.wait_for_text("done", ".message.assistant .markdown")
    browser.wait_for_end()
    assert tool_results(_messages(service))[-1]["output"] == f"the page: {action}"
    assert browser.count(".question") == 0


def test_an_address_that_is_no_page_reaches_nobody(start_asking, browser):
    service = start_asking(page="javascript:alert(1)")
    browser.open(service)
    browser.say("visit")
    browser.wait_for_text("done", ".message.assistant .markdown")
    browser.wait_for_end()
    assert tool_results(_messages(service))[-1]["is_error"]
    assert "alert" not in browser.text(".talk")


def test_two_tools_ask_at_once(start_asking, browser):
    service = start_asking()
    browser.open(service)
    browser.say("twice")
    browser.wait("document.querySelectorAll('.question form').length === 2")
    browser.fill(".question > :nth-child(1) form input", "Ann")
    browser.click(".question > :nth-child(1) form .main")
    browser.wait("document.querySelectorAll('.question form').length === 1")
    browser.fill(f"{_FORM} input", "Bob")
    browser.click(f"{_FORM} .main")
    browser.wait_for_text("done", ".message.assistant .markdown")
    browser.wait_for_end()
    outputs = [result["output"] for result in tool_results(_messages(service))]
    assert outputs == [f'registered {{"name":"{name}","plan":"free"}}' for name in ("Ann", "Bob")]



def test_a_call_whose_effect_is_unknown(start_studio, browser, start_mock_provider, shop):
    model = {"provider": "openai", "model": "m", "base_url": start_mock_provider(asks("order", ("order", {}))).base_url}
    tool = {"name": "order", "method": "POST", "url": f"{shop.url}/order", "parameters": {"type": "object"}}
    settings = {
        "agent": "graph.json:app",
        "models": {"default": model},
        "recovery": {"unknown_effects": "interrupt"},
    }
    service = start_studio(settings, files={"graph.json": json.dumps(tool_graph(tools=[tool]))}, workers=1)
    body = invocation("order", config={"thread_id": "t", "run_id": "lost"})
    assert service.post("/v1/graph/runs", body).status == 202
    wait_until(shop.held.is_set, "the call is held")
    service.kill_worker()
    browser.open(service, "chat/t")
    browser.wait_for_text("It is unknown if the call took effect", ".question")
    assert browser.accessibility_problems() == []
    browser.screenshot("chat-undecided")
    browser.fill(".question input", '{"order": 1}')
    browser.click(".question .button:nth-child(1)")
    browser.wait_for_text("done", ".message.assistant .markdown")
    browser.wait_for_end()
    assert texts(_messages(service, "t"))[-1] == "done" and shop.orders == 1


def test_an_answer_that_the_network_loses_is_sent_again(start_studio, browser):
    service = start_studio(_DIALOG)
    with studio_link(browser, service) as link:
        browser.say("Remember that I like green tea.")
        browser.wait_for(".question")
        link.go_down()
        browser.click(".question .main")
        browser.wait_for_text("Sending", ".talk .progress")
        link.go_up()
        browser.wait_for_text("I will remember that.", ".talk")
        browser.wait_for_end()
    assert _answers(service) == ["yes"]


def test_an_answer_whose_reply_is_lost_counts_once(start_studio, browser):
    service = start_studio(_DIALOG)
    with studio_link(browser, service) as link:
        browser.say("Remember that I like green tea.")
        browser.wait_for(".question")
        lost = link.lose_a_reply()
        browser.click(".question .main")
        wait_until(lost.is_set, "the reply is lost")
        browser.wait_for_text("I will remember that.", ".talk")
        browser.wait_for_end()
    assert _answers(service) == ["yes"]


def _answers(service):
    memories = service.post("/v1/store/memories/list", {}).json()["data"]["memories"]
    assert [memory["content"] for memory in memories] == ["I like green tea"]
    users = [message for message in _messages(service) if message["role"] == "user"]
    return texts(users)[1:]
