"""The other pages: graph, threads, runs, memories, files, evals, live, server."""

import pathlib

import pytest

from harness.agents import DEMO, asking
from harness.waiting import wait_until

_DIALOG = DEMO | {
    "models": {"default": {"provider": "demo", "parameters": {"dialog": True}}},
    "store": "leveldb",
    "embedding": "hash",
}
_REPORTS = pathlib.Path(__file__).resolve().parent.parent / "http" / "reports"
_PAGES = ["chat", "graph", "threads", "runs", "memories", "files", "evals", "live", "server"]


def _invoke(service, text, thread="t", **fields):
    reply = service.invoke(text, config={"thread_id": thread}, **fields)
    assert reply.status == 200, reply.text


@pytest.mark.parametrize("width, dark", [(1280, False), (1280, True), (360, False)])
def test_every_page_is_accessible_and_fits(start_studio, browser, width, dark):
    service = start_studio(_DIALOG)
    _invoke(service, "What time is it in Tokyo?")
    service.post("/v1/store/memories", {"content": "The user likes tea."})
    for page in [*_PAGES, "threads/t"]:
        browser.open(service, page, width=width, dark=dark)
        browser.wait("document.querySelector('h1') && !document.querySelector('.loading')")
        browser.screenshot(f"{page.replace('/', '-')}-{width}-{'dark' if dark else 'light'}")
        assert browser.accessibility_problems() == [], page
        assert browser.evaluate("document.documentElement.scrollWidth") == width, page
        assert browser.problems() == [], page


def test_empty_pages_say_so(start_studio, browser):
    service = start_studio(_DIALOG)
    browser.open(service)
    for page, text in {
        "threads": "No threads yet", "runs": "No runs yet", "memories": "No memories yet",
        "files": "No files yet", "evals": "No reports yet", "live": "does not speak",
    }.items():  # fmt: skip
        browser.go(page)
        browser.wait_for_text(text, "main")


def test_the_graph_shows_its_nodes_and_tools(start_studio, browser):
    browser.open(start_studio(_DIALOG), "graph")
    browser.wait_for(".node")
    assert set(browser.evaluate("[...document.querySelectorAll('.node')].map((node) => node.textContent)")) == {
        "START", "MAIN", "TOOL", "ASK", "DECIDE", "DENIED", "END",
    }  # fmt: skip
    browser.focus("[aria-label=TOOL]")
    browser.press("Enter")
    browser.wait_for_text("calculator", ".side")
    browser.wait_for_text("Comes from\nMAIN, DECIDE", ".side")


def test_the_running_node_is_lit(start_studio, browser, gated_provider):
    service = start_studio(asking(gated_provider))
    body = {"messages": [{"role": "user", "content": "go"}], "config": {"thread_id": "t"}}
    assert service.post("/v1/graph/runs", body).status == 202
    gated_provider.wait_for_waiting(1)
    browser.open(service, "graph")
    browser.wait_for(".node.lit")
    assert browser.evaluate("document.querySelector('.node.lit').textContent") == "MAIN"
    browser.screenshot("graph-running")
    gated_provider.open_gate()
    browser.wait("!document.querySelector('.node.lit')")


def test_the_next_run_begins_with_a_state(start_studio, browser):
    service = start_studio(_DIALOG)
    browser.open(service, "graph")
    browser.fill(".side .field input", "They talked about tea.")
    browser.click(".side form .main")
    browser.wait_for_text("Initial state", ".composer")
    browser.say("Hello")
    browser.wait_for_end()
    (thread,) = service.get("/v1/threads").json()["data"]["threads"]
    state = service.get(f"/v1/threads/{thread['thread_id']}/state").json()["data"]["state"]
    assert state["context_summary"] == "They talked about tea."


def test_a_person_changes_a_state_field(start_studio, browser):
    service = start_studio(_DIALOG)
    _invoke(service, "Hello")
    browser.open(service, "threads")
    browser.click(".links a")
    browser.wait_for(".state textarea")
    browser.fill(".state .field textarea", "They talked about tea.")
    browser.wait_for_text("They talked about tea.", ".diff")
    browser.screenshot("threads-changed-state")
    browser.click(".state .note .main")
    browser.wait("!document.querySelector('.diff')")
    state = service.get("/v1/threads/t/state").json()["data"]["state"]
    assert state["context_summary"] == "They talked about tea."
    assert len(state["context"]) == 2, "the conversation is as before"


def test_states_of_two_runs_are_compared(start_studio, browser):
    service = start_studio(_DIALOG)
    browser.open(service, "graph")
    for text in ("First summary", "Second summary"):
        browser.fill(".side .field input", text)
        browser.click(".side form .main")
        browser.wait_for(".composer textarea")
        browser.say("Hello")
        browser.wait_for_end()
        place = browser.evaluate("location.hash").removeprefix("#/chat/")
        browser.go("graph")
        browser.wait_for(".side .field input")
    # Each message has begun a thread of its own; the second one runs once more.
    browser.go(f"chat/{place}")
    browser.wait_for(".composer textarea")
    browser.say("Again")
    browser.wait_for_end()
    service.request("PUT", f"/v1/threads/{place}/state", {"state": {"context_summary": "Third summary"}})
    browser.go(f"threads/{place}")
    browser.wait_for("[role=tab]")
    browser.click("[role=tab]:nth-child(3)")
    browser.wait_for_text("Third summary", ".diff .after")
    browser.wait_for_text("Second summary", ".diff .before")


def test_threads_are_searched_forked_and_deleted(start_studio, browser):
    service = start_studio(_DIALOG)
    for name in ("rain", "sun"):
        _invoke(service, "Hello", thread=name)
    browser.open(service, "threads")
    browser.wait("document.querySelectorAll('.links a').length === 2")
    browser.fill("[aria-label=Search]", "rain")
    browser.wait("document.querySelectorAll('.links a').length === 1")
    browser.click(".links a")
    browser.wait_for("[role=tab]")
    browser.click("[role=tab]:nth-child(2)")
    browser.wait_for_text("Hello", ".event")
    browser.click(".tabs .button:last-child")
    browser.wait_for("dialog[open]")
    browser.click("dialog .danger")
    browser.wait_for_text("Nothing found", ".column")
    assert service.get("/v1/threads/rain").status == 404


def test_a_person_finds_why_an_answer_was_slow(start_studio, browser, gated_provider):
    service = start_studio(asking(gated_provider))
    browser.open(service)
    browser.say("go")
    browser.wait_for_text("one", ".message.assistant")
    gated_provider.open_gate()
    browser.wait_for_end()
    browser.click(".talk .summary a")
    browser.wait_for_text("slowest", ".bar-row.node")
    browser.wait_for_text("first token after", ".facts-line")
    browser.click(".bar-row.node")
    browser.wait_for_text("one two three", ".side")
    assert browser.accessibility_problems() == []
    browser.screenshot("runs-slow")
    browser.click("[role=tab]:nth-child(2)")
    browser.wait_for_text("assistant: text", ".event")


def test_a_run_in_progress_is_shown_live(start_studio, browser, gated_provider):
    service = start_studio(asking(gated_provider))
    body = {"messages": [{"role": "user", "content": "go"}], "config": {"thread_id": "t", "run_id": "r"}}
    service.post("/v1/graph/runs", body)
    gated_provider.wait_for_waiting(1)
    browser.open(service, "runs/t/r")
    browser.wait_for(".bar-row.open")
    gated_provider.open_gate()
    browser.wait("!document.querySelector('.bar-row.open')")
    browser.wait_for_text("done", ".facts-line")


def test_attempts_are_visible(start_studio, browser, gated_provider):
    service = start_studio(asking(gated_provider), workers=1)
    body = {"messages": [{"role": "user", "content": "go"}], "config": {"thread_id": "t", "run_id": "r"}}
    service.post("/v1/graph/runs", body)
    gated_provider.wait_for_waiting(1)
    service.kill_worker()
    gated_provider.open_gate()
    wait_until(lambda: service.get("/v1/threads/t/runs/r").json()["data"]["status"] == "done", "it ends")
    browser.open(service, "runs/t/r")
    browser.wait_for_text("attempt 2", ".facts-line")


def test_memories(start_studio, browser):
    service = start_studio(_DIALOG)
    for text in ("The user likes green tea.", "The user lives in Rome."):
        service.post("/v1/store/memories", {"content": text})
    browser.open(service, "memories")
    browser.wait("document.querySelectorAll('.item').length === 2")
    browser.fill("[aria-label=Search]", "green tea")
    browser.press("Enter")
    browser.wait_for_text("score", ".item")
    browser.wait_for_text("green tea", ".item")
    browser.click(".item [aria-label=Edit]")
    browser.fill(".item textarea", "The user likes black tea.")
    browser.click(".item .main")
    browser.wait_for_text("black tea", ".item .plain")
    browser.click(".item [aria-label=Forget]")
    browser.click("dialog .danger")
    browser.wait("![...document.querySelectorAll('.item')].some((item) => item.innerText.includes('black tea'))")
    memories = service.post("/v1/store/memories/list", {}).json()["data"]["memories"]
    assert [memory["content"] for memory in memories] == ["The user lives in Rome."]


def test_files(start_studio, browser, directory):
    note = directory / "note.txt"
    note.write_text("Tea is served at five.")
    browser.open(start_studio(DEMO | {"media": {"storage_type": "local"}}), "files")
    browser.wait_for("h1")
    browser.upload("input[type=file]", note)
    browser.wait_for_text("note.txt", ".item")
    browser.click(".item details summary")
    browser.wait_for_text("Tea is served at five.", ".item")
    browser.fill("[aria-label='Id of a file']", "0" * 32)
    browser.press("Enter")
    browser.wait_for(".note.error")
    browser.wait_for_text("request", ".note.error")


def test_evals(start_studio, browser):
    files = {f"eval_reports/{file.name}": file.read_text() for file in _REPORTS.glob("*")}
    browser.open(start_studio(DEMO, files=files), "evals")
    browser.wait_for_text("Support basics · run #2", ".pad")
    browser.wait_for_text("newly failing", ".pad")
    browser.wait_for_count(".links a", 3)
    browser.wait_for_count(".pad .tool", 3)
    assert browser.accessibility_problems() == []
    browser.screenshot("evals-report")


def test_live(start_studio, browser):
    browser.open(start_studio(DEMO | {"agent": "graphs/live.json:app"}), "live")
    browser.click(".talk .main")
    browser.wait("!document.querySelector('.composer input').disabled")
    browser.fill(".composer input", "Hello")
    browser.press("Enter")
    browser.wait_for_text("You said: Hello", ".scroller")
    browser.wait_for_text("answered after", ".composer")
    # The browser's fake microphone beeps.
    browser.click(".composer .button:nth-last-child(2)")
    browser.wait("document.querySelector('meter').value > 0")
    browser.screenshot("live")
    browser.click(".composer .button:last-child")
    browser.wait_for_text("Call again", ".talk")


def test_the_server_page(start_studio, browser):
    status = "location = /support/status { agent_graph_status format=json; }"
    browser.open(start_studio(_DIALOG, server=status), "server")
    browser.wait_for_text("ready", "[aria-label=Health]")
    browser.wait_for_text("Requests", "[aria-label=Figures]")
    browser.wait_for_text("leveldb", "[aria-label=Configuration]")



def test_the_first_frame_needs_no_script(start_studio, chromium):
    chromium.open(start_studio(_DIALOG), without=".js")
    chromium.wait("performance.getEntriesByName('first-contentful-paint').length === 1")
    assert "Studio" in chromium.text("nav") and "Loading" in chromium.text("main")
    assert [problem for problem in chromium.problems() if "policy" in problem] == []
    assert chromium.accessibility_problems() == []


def test_back_leads_to_the_page_before(start_studio, browser):
    service = start_studio(_DIALOG)
    _invoke(service, "Hello")
    browser.open(service, "graph")
    browser.wait_for(".node")
    browser.go("runs")
    browser.wait_for(".bar-row")
    browser.wait("location.hash.startsWith('#/runs/t/')")
    browser.evaluate("void history.back()")
    browser.wait_for(".node")
