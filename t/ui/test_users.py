"""Studio behind authentication: bearer tokens, two users, signing out, users of nginx."""

import pytest

from browser import BUILT
from harness.agents import DEMO, asking
from harness.memories import STORE
from harness.tokens import JWT_ENVIRONMENT, bearer, token

_PAGES = ["chat", "threads", "runs", "memories", "files", "graph", "server"]


@pytest.fixture
def service(start_studio):
    settings = DEMO | STORE | {"auth": "jwt", "env": "secrets.env", "authorization": "ownership"}
    return start_studio(settings, files={"secrets.env": JWT_ENVIRONMENT})


def _sign_in(browser, user, keep=False):
    browser.wait_for(".sign-in input")
    browser.fill(".sign-in input", token(user))
    if keep:
        browser.click(".sign-in input[type=checkbox]")
    browser.press("Enter")
    browser.wait_for(".composer")


def _everything_kept(browser):
    return browser.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}, document.cookie, location.href])")


def test_it_asks_for_a_token(service, browser):
    browser.open(service)
    browser.wait_for(".sign-in")
    assert browser.accessibility_problems() == []
    browser.screenshot("sign-in")
    browser.fill(".sign-in input", "not.a.token")
    browser.press("Enter")
    browser.wait_for_text("refused this token", ".sign-in")
    _sign_in(browser, "alice")
    browser.say("Hello")
    browser.wait_for_end()
    # In memory only: neither the address nor a store has it.
    assert "eyJ" not in _everything_kept(browser)
    browser.reload()
    browser.wait_for(".sign-in")


def test_on_request_it_stays_for_the_tab(service, browser):
    browser.open(service)
    _sign_in(browser, "alice", keep=True)
    browser.reload()
    browser.wait_for(".composer")
    browser.click('[aria-label="Sign out"]')
    browser.wait_for(".sign-in")
    assert "eyJ" not in _everything_kept(browser)


def test_two_users_see_nothing_of_each_other(service, browser):
    config = {"thread_id": "alices-thread"}
    body = {"messages": [{"role": "user", "content": "alices words"}], "config": config}
    assert service.post("/v1/graph/invoke", body, headers=bearer("alice")).status == 200
    memory = {"content": "alices memory"}
    assert service.post("/v1/store/memories", memory, headers=bearer("alice")).status == 200
    browser.open(service)
    _sign_in(browser, "alice")
    browser.wait_for_text("alices-thread", ".list")
    browser.click('[aria-label="Sign out"]')
    _sign_in(browser, "bob")
    for page in [*_PAGES, "chat/alices-thread", "threads/alices-thread", "runs/alices-thread"]:
        browser.go(page)
        browser.wait("document.querySelector('main :is(h1, .note, .empty)') && !document.querySelector('.loading')")
        shown = browser.evaluate("document.body.innerText + document.body.innerHTML")
        assert "alices words" not in shown and "alices memory" not in shown, page
        if "alices" not in page:
            assert "alices" not in shown, page


def test_signing_out_leaves_nothing(service, browser):
    browser.open(service)
    _sign_in(browser, "alice", keep=True)
    browser.say("a secret of Alice")
    browser.wait_for_end()
    browser.click('[aria-label="Sign out"]')
    browser.wait_for(".sign-in")
    assert _everything_kept(browser).startswith('[{},{},""')
    assert "#" not in browser.evaluate("location.href")
    _sign_in(browser, "bob")
    assert "secret" not in browser.evaluate("document.body.innerHTML")
    assert browser.evaluate("caches.keys().then((keys) => keys.length)") == 0


def test_a_kept_token_belongs_to_one_service(start_studio, browser):
    other = f'location /other/ {{ agent_graph test; agent_graph_ui "{BUILT}"; }}'
    settings = DEMO | {"auth": "jwt", "env": "secrets.env"}
    service = start_studio(settings, files={"secrets.env": JWT_ENVIRONMENT}, server=other)
    browser.open(service)
    _sign_in(browser, "alice", keep=True)
    browser.visit(service, "/other")
    browser.wait_for(".sign-in")
    _sign_in(browser, "bob", keep=True)
    browser.evaluate("sessionStorage.setItem('of another application', 'kept')")
    browser.click('[aria-label="Sign out"]')
    browser.wait_for(".sign-in")
    assert browser.evaluate("sessionStorage.getItem('of another application')") == "kept"
    browser.visit(service, "/support")
    browser.wait_for(".composer")


def test_users_of_nginx_need_no_token(start_studio, browser):
    settings = DEMO | {"auth": "nginx", "authorization": "ownership"}
    browser.open(start_studio(settings, location="set $caller alice; agent_graph_user $caller;"))
    browser.wait_for(".composer")
    browser.say("Hello")
    browser.wait_for_end()
    assert browser.count('[aria-label="Sign out"]') == 0


def test_another_user_after_an_expired_token_sees_nothing_of_the_first(service, browser, directory):
    note = directory / "note.txt"
    note.write_text("alices file")
    browser.open(service)
    _sign_in(browser, "alice")
    browser.upload(".composer input[type=file]", note)
    browser.wait_for_text("note.txt", ".attachments")
    browser.say("a secret of Alice")
    browser.wait_for_end()
    place = browser.evaluate("location.hash").removeprefix("#/")
    browser.refuse(".*", status=403, code="EXPIRED_TOKEN")
    browser.go("threads")
    browser.wait_for(".sign-in")
    browser.accept_all()
    browser.fill(".sign-in input", token("bob"))
    browser.press("Enter")
    for page in (place, "files", "threads"):
        browser.go(page)
        browser.wait("document.querySelector('main :is(h1, .note, .empty)') && !document.querySelector('.loading')")
        shown = browser.evaluate("document.body.innerHTML")
        assert "secret" not in shown and "note.txt" not in shown, page


def test_a_chat_goes_on_after_its_token_has_expired(start_studio, browser, gated_provider):
    settings = asking(gated_provider) | {"auth": "jwt", "env": "secrets.env"}
    service = start_studio(settings, files={"secrets.env": JWT_ENVIRONMENT})
    browser.open(service)
    _sign_in(browser, "alice")
    browser.refuse("GET .*/stream", status=403, code="EXPIRED_TOKEN")
    browser.say("go")
    browser.wait_for(".sign-in")
    browser.accept_all()
    gated_provider.open_gate()
    browser.fill(".sign-in input", token("alice"))
    browser.press("Enter")
    browser.wait_for_text("one two three", ".message.assistant")
