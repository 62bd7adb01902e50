"""Untrusted text in the page: answers of models, results of tools, names, metadata. It never runs, and the
browser's policy has nothing to stop."""

import json

import pytest

from harness.agents import DEMO
from harness.memories import STORE, store_memory

_RUN = "window.ran=1,alert(1)"
_TEXTS = [
    f"<script>{_RUN}</script>",
    f"<img src=x onerror={_RUN}>",
    f'<img src="data:image/png;base64,AAAA" onload="{_RUN}">',
    f"<svg onload={_RUN}>",
    f"<svg><script>{_RUN}</script></svg>",
    f"<svg><animate onbegin={_RUN} attributeName=x dur=1s>",
    f"<svg><use href=\"data:image/svg+xml,<svg id='x' xmlns='http://www.w3.org/2000/svg'><script>{_RUN}</script></svg>#x\">",
    f"<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror={_RUN}&gt;\">",
    f"<iframe src=\"javascript:{_RUN}\"></iframe>",
    f"<iframe srcdoc=\"<script>parent.{_RUN}</script>\"></iframe>",
    f"<object data=\"javascript:{_RUN}\"></object>",
    f"<embed src=\"javascript:{_RUN}\">",
    f"<a href=\"javascript:{_RUN}\">link</a>",
    f"<a href=\"java\tscript:{_RUN}\">link</a>",
    f"<form action=\"javascript:{_RUN}\"><button>go</button></form>",
    f"<input autofocus onfocus={_RUN}>",
    f"<details open ontoggle={_RUN}>",
    f"<video><source onerror={_RUN}></video>",
    f"<audio src onerror={_RUN}>",
    f"<body onload={_RUN}>",
    f"<marquee onstart={_RUN}>x</marquee>",
    f"<style>@import 'javascript:{_RUN}';*{{background:url(https://evil.example/)}}</style>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<base href=https://evil.example/>",
    f"<meta http-equiv=refresh content=\"0;url=javascript:{_RUN}\">",
    "<p style=\"background:url(https://evil.example/)\">styled</p>",
    f"<template><script>{_RUN}</script></template>",
    f"<noscript><p title=\"</noscript><img src=x onerror={_RUN}>\">",
    f"<textarea></textarea><script>{_RUN}</script>",
    f"[link](javascript:{_RUN})",
    f"[link](JaVaScRiPt:{_RUN})",
    f"[link](javascript&#58;{_RUN})",
    f"[link](&#x6A;avascript:{_RUN})",
    f"[link](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    f"[link](vbscript:{_RUN})",
    f"![image](javascript:{_RUN})",
    "![image](https://evil.example/tracker.png)",
    f"![a\" onerror=\"{_RUN}](x)",
    f"[a](x \"title\\\" onmouseover={_RUN}\")",
    f"<javascript:{_RUN}>",
    f"```<script>{_RUN}</script>\n<img src=x onerror={_RUN}>\n```",
    f"`<img src=x onerror={_RUN}>`",
    f"# <img src=x onerror={_RUN}>",
    f"| a | b |\n|---|---|\n| <img src=x onerror={_RUN}> | [x](javascript:{_RUN}) |",
    f"- [ ] <img src=x onerror={_RUN}>",
    f"[x]: javascript:{_RUN}\n\n[x]",
    f"\"><script>{_RUN}</script>",
    f"'-{_RUN}-'",
    "{{constructor.constructor('alert(1)')()}}",
    "<!--<img src=\"--><img src=x onerror=alert(1)//\">",
    "<![CDATA[<script>alert(1)</script>]]>",
    "\u202e\u0000<scr\u0000ipt>alert(1)</script>",
]  # fmt: skip

# Elements and attributes that only hostile text could have brought into the page.
_FOREIGN = """
[...document.querySelectorAll("main script, main iframe, main object, main embed, main base, main meta, main link,"
  + " main style, main template, main marquee, .markdown img, .markdown svg, .markdown form, .markdown input")]
  .map((element) => element.outerHTML)
  .concat([...document.querySelectorAll("main *")].flatMap((element) => [...element.attributes])
    .filter(({name}) => name.startsWith("on")).map(({name, value}) => `${name}=${value}`))
  .concat([...document.querySelectorAll("main a[href]")].map((link) => link.protocol)
    .filter((protocol) => !["http:", "https:", "mailto:"].includes(protocol)))
"""


def _check(browser):
    assert browser.evaluate("window.ran === undefined")
    assert browser.evaluate(_FOREIGN) == []
    assert browser.problems() == []


def _clean(text):
    return text.replace("\u0000", "")


@pytest.fixture
def service(start_studio):
    return start_studio(DEMO | STORE | {"media": {"storage_type": "local"}})


def _messages():
    for number, text in enumerate(map(_clean, _TEXTS)):
        call = {"type": "tool_call", "id": f"c{number}", "name": text[:60], "args": {text: text}}
        result = {"type": "tool_result", "call_id": f"c{number}", "output": {"text": text}, "is_error": number % 2 == 0}
        yield {"role": "user", "content": text}
        yield {"role": "assistant", "content": [{"type": "reasoning", "summary": text}, {"type": "text", "text": text}]}
        yield {"role": "assistant", "content": [call]}
        yield {"role": "tool", "content": [result]}


def test_conversations(service, browser):
    messages = list(_messages())
    # The window of the page shows a part of a thread, so each thread has few messages.
    for start in range(0, len(messages), 24):
        thread = f"hostile-{start}"
        reply = service.post(f"/v1/threads/{thread}/messages", {"messages": messages[start : start + 24]})
        assert reply.status == 200, reply.text
        browser.open(service, f"chat/{thread}", height=6000)
        browser.wait("document.querySelectorAll('.message').length >= 12")
        browser.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
        browser.wait("document.querySelectorAll('.tool[open] .json').length >= 6")
        _check(browser)
        browser.go(f"threads/{thread}")
        browser.wait_for("[role=tab]")
        browser.click("[role=tab]:nth-child(2)")
        browser.wait_for(".event")
        _check(browser)


def test_answers_as_they_stream(service, browser):
    browser.open(service)
    browser.wait_for(".composer")
    # The model repeats its input piece by piece, so every prefix is rendered once.
    browser.say(" ".join(text.replace("\n", " ") for text in map(_clean, _TEXTS) if "call " not in text)[:6000])
    browser.wait_for_end()
    _check(browser)
    browser.click(".talk .summary a")
    browser.wait_for(".bar-row")
    _check(browser)


def test_memories_names_and_state(service, browser):
    for text in map(_clean, _TEXTS[:30]):
        store_memory(service, text, category=text[:40])
    browser.open(service, "memories", height=6000)
    browser.wait("document.querySelectorAll('.item').length >= 20")
    _check(browser)
    state = {"context_summary": _clean(_TEXTS[1]), **{f"field{i}": text for i, text in enumerate(map(_clean, _TEXTS))}}
    reply = service.request("PUT", "/v1/threads/s/state", {"state": {"context_summary": json.dumps(state)}})
    assert reply.status == 200
    browser.go("threads/s")
    browser.wait_for(".state textarea")
    _check(browser)


def test_names_of_files(service, browser, directory):
    file = directory / f"<img src=x onerror={_RUN.replace('/', '')}>.txt"
    file.write_text(_TEXTS[0])
    browser.open(service)
    browser.wait_for(".composer")
    browser.upload(".composer input[type=file]", file)
    browser.wait_for_text("onerror", ".attachments")
    browser.say("read it")
    browser.wait_for_end()
    _check(browser)
    browser.go("files")
    browser.wait_for(".item")
    _check(browser)


def test_places_in_the_address(service, browser):
    browser.open(service, f"chat/<img src=x onerror={_RUN}>")
    browser.wait_for(".composer")
    _check(browser)
    browser.go("threads/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
    browser.wait_for("[role=tab]")
    _check(browser)
