"""Chromium with one page at a time, driven by browser.mjs. Selectors are those of CSS; `scripts` are
expressions that the page evaluates."""

import contextlib
import json
import pathlib
import subprocess

from harness import environment
from harness.cut_link import CutLink

_HERE = pathlib.Path(__file__).resolve().parent
_PROGRAMS = environment.ROOT / "build" / "ui-tests"
BUILT = environment.ROOT / "build" / "ui"
# Screenshots for people to look at; those of the latest test run are kept.
SCREENSHOTS = environment.ROOT / "build" / "screenshots"


class Browser:
    def __init__(self):
        (node,) = _PROGRAMS.glob("node_modules/node-linux-*/bin/node")
        self._process = subprocess.Popen(
            [str(node), str(_HERE / "browser.mjs"), "/usr/bin/chromium", str(_PROGRAMS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def _do(self, name, **arguments):
        self._process.stdin.write(json.dumps({"do": name} | arguments) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or '{"error": "the browser has gone"}')
        if "error" in answer:
            text = self.text() if name not in ("open", "evaluate") else ""
            raise AssertionError(f"{name} {arguments}: {answer['error']}\nthe page shows:\n{text}")
        return answer["value"]

    def close(self):
        self._process.stdin.close()
        self._process.wait(environment.PATIENCE)

    def open(self, service, place="", **options):
        """Opens Studio as a new visitor, at a place such as "graph"."""
        self._base = f"http://127.0.0.1:{service.port}{service.prefix}/ui/"
        self._do("open", url=self._base + ("#/" + place if place else ""), **options)

    def open_page(self, url):
        """Opens any page as a new visitor."""
        self._do("open", url=url)

    def visit(self, service, prefix):
        """Opens Studio of another service of the same origin, as the same visitor."""
        self._do("goto", url=f"http://127.0.0.1:{service.port}{prefix}/ui/")

    def go(self, place):
        self.evaluate(f"void (location.hash = {json.dumps('#/' + place)})")

    def reload(self):
        self._do("reload")

    def evaluate(self, script):
        return self._do("evaluate", script=script)

    def wait(self, script):
        self._do("wait", script=script)

    def wait_for(self, selector):
        self.wait(f"document.querySelector({json.dumps(selector)}) !== null")

    def wait_for_text(self, text, selector="body"):
        self.wait(f"document.querySelector({json.dumps(selector)})?.innerText.includes({json.dumps(text)})")

    def wait_for_count(self, selector, count):
        self.wait(f"document.querySelectorAll({json.dumps(selector)}).length === {count}")

    def text(self, selector="body"):
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def texts(self, selector):
        return self.evaluate(
            f"[...document.querySelectorAll({json.dumps(selector)})].map((element) => element.innerText)"
        )

    def count(self, selector):
        return self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def click(self, selector):
        self._do("click", selector=selector)

    def focus(self, selector):
        self._do("focus", selector=selector)

    def fill(self, selector, text):
        """Types a text into a field, in the place of what is there."""
        self.focus(selector)
        self.evaluate("document.activeElement.select?.()")
        self.type(text)

    def type(self, text):
        self._do("type", text=text)

    def press(self, *keys):
        self._do("press", keys=list(keys))

    def upload(self, selector, *files):
        self._do("upload", selector=selector, files=[str(file) for file in files])

    def resize(self, width, height=800):
        self._do("resize", width=width, height=height)

    def screenshot(self, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self._do("screenshot", file=str(SCREENSHOTS / f"{name}.png"))

    def accessibility_problems(self):
        return self._do("axe")

    def problems(self):
        return self._do("problems")

    # The network

    def refuse(self, pattern, status=500, code="INTERNAL_ERROR", times=None):
        """Answers requests of the page whose method and address match `pattern`, such as "GET .*/state", in the
        place of the service; all of them until accept_all(), or the next `times`."""
        body = json.dumps({"error": {"code": code, "message": "refused by the test"}})
        self.answer(pattern, f"new Response({json.dumps(body)}, {{status: {status}}})", times)

    def answer(self, pattern, script, times=None):
        """Like refuse(), with the answer that `script` makes, which may be a promise."""
        self.evaluate(
            """void (() => {
              window.fetchService ??= window.fetch;
              let left = %s;
              window.fetch = async (url, options) => {
                if (left <= 0 || !new RegExp(%s).test(`${options.method} ${url}`)) return window.fetchService(url, options);
                left -= 1;
                return %s;
              };
            })()"""
            % ("Infinity" if times is None else times, json.dumps(pattern), script)
        )

    def hold(self, pattern):
        """Keeps requests back until let_go(); wait_for_held() waits for the first."""
        self.evaluate("void (window.held = [])")
        self.answer(pattern, "new Promise((go) => window.held.push(go)).then(() => window.fetchService(url, options))")

    def wait_for_held(self):
        self.wait("window.held.length > 0")

    def let_go(self):
        self.accept_all()
        self.evaluate("void window.held.forEach((go) => go())")

    def accept_all(self):
        self.evaluate("void (window.fetch = window.fetchService)")

    # Chat

    def say(self, text):
        self.fill(".composer textarea", text)
        # The page sends no message while it uploads a file.
        self.wait_for(".composer button[type=submit]:not([disabled])")
        self.press("Enter")

    def wait_for_end(self):
        """Waits until the run that say() began has ended."""
        self.wait("!document.querySelector('.talk .progress') && document.querySelector('.talk .summary')")


@contextlib.contextmanager
def studio_link(browser, service):
    """Opens Studio through a network that the test can cut."""
    link = CutLink(service.port)
    try:
        there, service.port = service.port, link.port
        browser.open(service)
        service.port = there
        yield link
    finally:
        link.close()
