"""Every state of every page is accessible and fits: empty, loading, failed, filled, with its dialogs and
forms open; on a desk and on the narrowest phone, light and dark."""

import pathlib

import pytest

from harness.agents import DEMO, asking

_DIALOG = DEMO | {
    "models": {"default": {"provider": "demo", "parameters": {"dialog": True}}},
    "store": "leveldb",
    "embedding": "hash",
    "media": {"storage_type": "local"},
}
_PAGES = ["chat", "graph", "threads", "runs", "memories", "files", "evals", "live", "server"]
_REPORTS = pathlib.Path(__file__).resolve().parent.parent / "http" / "reports"
_STATUS = "location = /support/status { agent_graph_status format=json; }"
# Finds parts of the page that lie beyond its edges, where they can be neither seen nor used. The row of pages
# is left out: it scrolls to the one that is shown.
_CUT_OFF = """[...document.querySelectorAll("main *, dialog *")]
    .filter((one) => one.checkVisibility() && !one.closest(".skip, svg.graph, [aria-hidden]"))
    .filter((one) => {
      const {left, right, width} = one.getBoundingClientRect();
      return width > 0 && (left < -1 || right > document.documentElement.clientWidth + 1);
    })
    .concat([...document.querySelectorAll(".note")].filter((one) => one.scrollWidth > one.clientWidth))
    .concat([...document.querySelectorAll("a[aria-current=page]")].filter((one) => {
      const {left, right} = one.getBoundingClientRect();
      return left < -1 || right > document.documentElement.clientWidth + 1;
    }))
    .map((one) => `${one.tagName}.${one.className} ${one.textContent.slice(0, 30)}`)"""
_LOOKS = [(width, dark) for width in (1280, 320) for dark in (False, True)]


class _Looker:
    """Checks what the browser shows, and keeps a picture."""

    def __init__(self, browser, width, dark):
        self.browser, self.width, self.dark = browser, width, dark
        self.suffix = f"{width}-{'dark' if dark else 'light'}"

    def open(self, service, place=""):
        self.browser.open(service, place, width=self.width, dark=self.dark)

    def check(self, name):
        self.browser.screenshot(f"state-{name}-{self.suffix}")
        assert self.browser.accessibility_problems() == [], name
        assert self.browser.evaluate(_CUT_OFF) == [], name
        assert self.browser.problems() == [], name


@pytest.fixture(params=_LOOKS, ids=lambda look: f"{look[0]}-{'dark' if look[1] else 'light'}")
def looker(request, browser):
    return _Looker(browser, *request.param)


def _settled(browser):
    browser.wait("document.querySelector('main h1') && !document.querySelector('.loading')")


def test_empty(start_studio, looker):
    service = start_studio(_DIALOG)
    for page in _PAGES:
        looker.open(service, page)
        _settled(looker.browser)
        looker.check(f"empty-{page}")


# Replaces the page's requests; they are made when a page is shown.
_NEVER = "void (window.fetch = () => new Promise(() => {}))"
_FAILED = """void (window.fetch = () => Promise.resolve(new Response(
    JSON.stringify({error: {code: "INTERNAL_ERROR", message: "Something went wrong."}}),
    {status: 500, headers: {"X-Request-ID": "0123456789abcdef0123456789abcdef"}})))"""
_ELSEWHERE = {"chat": "graph"}


def _shown_with(looker, service, page, script):
    """Opens the page after its code has arrived, with `script` in the place of the service."""
    browser = looker.browser
    looker.open(service, page)
    _settled(browser)
    browser.go(_ELSEWHERE.get(page, "chat"))
    browser.wait_for("a[aria-current=page][href='#/%s']" % _ELSEWHERE.get(page, "chat"))
    _settled(browser)
    browser.evaluate(script)
    browser.go(page)
    browser.wait_for("a[aria-current=page][href='#/%s']" % page.split("/")[0])


def test_loading(start_studio, looker):
    service = start_studio(_DIALOG)
    service.invoke("Hello", config={"thread_id": "t"})
    for page in [*_PAGES, "chat/t", "threads/t", "runs/t"]:
        _shown_with(looker, service, page, _NEVER)
        looker.browser.wait_for("main .loading, main h1")
        looker.check(f"loading-{page.replace('/', '-')}")


def test_failed(start_studio, looker):
    service = start_studio(_DIALOG)
    service.invoke("Hello", config={"thread_id": "t"})
    for page in [*_PAGES, "threads/t", "runs/t/r"]:
        _shown_with(looker, service, page, _FAILED)
        # Two pages need nothing more of the service; a phone has no room for the list of threads in Chat.
        if page not in ("files", "live") and not (page == "chat" and looker.width == 320):
            looker.browser.wait_for(".note.error")
            looker.browser.wait_for_text("0123456789abcdef", "main")
        looker.check(f"failed-{page.replace('/', '-')}")


def test_chat(start_studio, looker, directory):
    browser = looker.browser
    note = directory / "note.txt"
    note.write_text("Tea is served at five.")
    looker.open(start_studio(_DIALOG))
    browser.say("What time is it in Tokyo?")
    browser.wait_for_end()
    browser.click(".tool summary")
    looker.check("chat-tool")
    browser.click('[aria-label="Edit and send again"]')
    browser.wait_for(".edit textarea")
    looker.check("chat-edit")
    browser.click(".edit .button")
    browser.upload(".composer input[type=file]", note)
    browser.wait_for_text("note.txt", ".attachments")
    looker.check("chat-attachment")
    browser.click('[aria-label="Remove note.txt"]')
    browser.click('[aria-label="Limits of runs"]')
    browser.wait_for("dialog[open]")
    looker.check("chat-limits")
    browser.fill("dialog .field:nth-of-type(1) input", "x")
    browser.press("Enter")
    browser.wait_for(".problem")
    looker.check("chat-limits-mistake")
    browser.fill("dialog .field:nth-of-type(1) input", "100000")
    browser.press("Enter")
    browser.wait_for_text("Budget", ".composer")
    browser.say("Remember that I like green tea.")
    browser.wait_for(".question")
    looker.check("chat-question")


def test_a_run_in_progress(start_studio, looker, gated_provider):
    service = start_studio(asking(gated_provider))
    looker.open(service)
    looker.browser.say("go")
    looker.browser.wait_for_text("one", ".message.assistant")
    looker.check("running-chat")
    for page in ("graph", "runs"):
        looker.browser.go(page)
        looker.browser.wait_for(".node.lit, .bar-row.open")
        looker.check(f"running-{page}")
    gated_provider.open_gate()
    looker.browser.go("chat")


def test_a_tool_of_the_client(start_studio, looker):
    looker.open(start_studio(DEMO | {"agent": "graphs/remote.json:app"}))
    looker.browser.say("call get_location {}")
    looker.browser.wait_for(".question textarea")
    looker.check("chat-remote-tool")


def test_graph(start_studio, looker):
    browser = looker.browser
    looker.open(start_studio(_DIALOG), "graph")
    browser.focus("[aria-label=TOOL]")
    browser.press("Enter")
    browser.wait_for(".side details")
    browser.click(".side details summary")
    looker.check("graph-node")


def test_threads_and_runs(start_studio, looker):
    browser = looker.browser
    service = start_studio(_DIALOG)
    service.invoke("What time is it in Tokyo?", config={"thread_id": "t", "thread_name": "Tokyo"})
    looker.open(service, "threads/t")
    browser.fill(".state .field textarea", "They talked about tea.")
    browser.wait_for(".diff")
    looker.check("threads-changed")
    browser.click("[role=tab]:nth-child(2)")
    browser.click(".event summary")
    looker.check("threads-history")
    browser.click("[role=tab]:nth-child(3)")
    looker.check("threads-compare")
    browser.click(".tabs .button:last-child")
    browser.wait_for("dialog[open]")
    looker.check("threads-delete")
    browser.click("dialog footer .button")
    browser.fill("[aria-label=Search]", "nowhere")
    browser.wait_for_text("Nothing found", ".column")
    looker.check("threads-nothing")
    browser.go("runs/t")
    browser.wait_for(".bar-row")
    browser.click(".bar-row:last-child")
    looker.check("runs-waterfall")
    browser.click("[role=tab]:nth-child(2)")
    browser.click(".event summary")
    looker.check("runs-events")


def test_memories_and_files(start_studio, looker, directory):
    browser = looker.browser
    service = start_studio(_DIALOG)
    service.post("/v1/store/memories", {"content": "The user likes tea.", "category": "taste"})
    looker.open(service, "memories")
    browser.fill("[aria-label=Search]", "tea")
    browser.press("Enter")
    browser.wait_for_text("score", ".item")
    looker.check("memories-found")
    browser.click(".item [aria-label=Edit]")
    browser.wait_for(".item textarea")
    looker.check("memories-edit")
    browser.click(".item [aria-label=Forget]")
    browser.wait_for("dialog[open]")
    looker.check("memories-forget")
    browser.click("dialog footer .button")
    browser.click(".top > .button")
    browser.wait_for("dialog[open] form")
    looker.check("memories-new")
    note = directory / "a file with a rather long name, as people give them, and no place to break.txt"
    note.write_text("Tea is served at five.")
    looker.open(service, "files")
    browser.wait_for("h1")
    browser.upload("input[type=file]", note)
    browser.wait_for(".item details")
    browser.click(".item details summary")
    looker.check("files-text")


def test_evals(start_studio, looker):
    files = {f"eval_reports/{file.name}": file.read_text() for file in _REPORTS.glob("*")}
    looker.open(start_studio(DEMO, files=files), "evals")
    looker.browser.wait_for(".pad .tool")
    looker.browser.click(".pad .tool summary")
    looker.check("evals-case")


def test_live(start_studio, looker):
    browser = looker.browser
    looker.open(start_studio(DEMO | {"agent": "graphs/live.json:app"}), "live")
    browser.wait_for(".talk .main")
    looker.check("live-begin")
    browser.click(".talk .main")
    browser.wait("!document.querySelector('.composer input').disabled")
    browser.fill(".composer input", "Hello")
    browser.press("Enter")
    browser.wait_for_text("You said: Hello", ".scroller")
    looker.check("live-call")
    browser.click(".composer .button:last-child")
    browser.wait_for_text("Call again", ".talk")
    looker.check("live-end")


def test_server(start_studio, looker):
    looker.open(start_studio(_DIALOG, server=_STATUS), "server")
    looker.browser.wait_for_text("Requests", "[aria-label=Figures]")
    looker.browser.wait_for_text("leveldb", "[aria-label=Configuration]")
    looker.check("server-figures")
