"""The examples of a Markdown document: its fenced blocks that have a mark, in their order.

A mark is an HTML comment on the line before a block, so it does not show in the rendered page:

    <!-- example: run -->             runs the block: sh, console, js or python; it must succeed
    <!-- example: await -->           the same, repeated until it prints the output that follows
    <!-- example: output -->          the output of the run before it (see `differences`)
    <!-- example: file NAME -->       the content of a file
    <!-- example: build NAME -->      the compiler command that makes this file
    <!-- example: background PORT --> a server to start in the background
    <!-- example: agent NAME -->      the command that starts this agent: a sample, or a file
    <!-- example: folder NAME -->     the command that serves this folder of `agent-graph init`
    <!-- example: serve -->           a part of an nginx.conf; starts an nginx with it
    <!-- example: check -->           a service.json that `nginx -t` accepts
    <!-- example: settings -->        members of a service.json, which `nginx -t` accepts
    <!-- example: cpp KIND -->        C++ that compiles: declarations, or statements about a `graph`
    <!-- example: configuration -->   an nginx.conf, or a part of it, that `nginx -t` accepts
    <!-- example: graph -->           a graph that `agent-graph check` accepts
    <!-- example: tools -->           a tool node, or an MCP server, that it accepts
    <!-- example: chat -->            a conversation with `agent-graph chat`, of which digits may differ
    <!-- example: not run, REASON -->
"""

import dataclasses
import json
import re

from . import environment

# Languages of blocks that no test runs, or that test_document_examples.py checks without a mark. All
# other languages are those of programs.
_SHOWN = {"", "text", "ini", "json", "nginx"}

_BLOCK = re.compile(
    r"(?:^<!-- example: (?P<mark>[^\n]*) -->\n+)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S
)


@dataclasses.dataclass
class Example:
    kind: str  # the first word of the mark; empty without one
    argument: str
    language: str
    text: str
    line: int
    section: str  # the heading of the second level above it

    @property
    def is_program(self):
        return self.language not in _SHOWN


def examples_of(document):
    """Returns all blocks of docs/<document>, or of another path from the root of the checkout."""
    path = environment.ROOT / document
    markdown = path.read_text()
    found = []
    for match in _BLOCK.finditer(markdown):
        above = markdown[: match.start()]
        kind, _, argument = (match["mark"] or "").partition(" ")
        sections = re.findall(r"^## (.*)$", above, re.M)
        found.append(
            Example(
                kind=kind.rstrip(","),
                argument=argument,
                language=match["language"],
                text=match["text"],
                line=markdown[: match.start("language")].count("\n") + 1,
                section=sections[-1] if sections else "",
            )
        )
    return found


# Texts that differ from run to run. The texts of a document and of an answer agree if they match
# the same pattern.
_CHANGING = [
    re.compile(pattern)
    for pattern in (
        r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        r"(/v1/files/)?[0-9a-f]{32}(\.\w+)?",
        r"(call_)[0-9a-f]{16}_\d+",
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?",
    )
]
_CHANGING_NUMBERS = ("timestamp", "_at", "_ms", "score")


def differences(shown, actual, path="", key=""):
    """Yields the places where an answer is not what a document shows. A document may leave out
    members of objects; the text "…" stands for anything. Times, ids that the server makes and
    measured values need only the right form."""
    if shown == "…":
        return
    if isinstance(shown, dict) and isinstance(actual, dict):
        for name, value in shown.items():
            if name in actual:
                yield from differences(value, actual[name], f"{path}.{name}", name)
            else:
                yield f"{path}.{name} is missing"
    elif isinstance(shown, list) and isinstance(actual, list):
        if len(shown) != len(actual) and "…" not in shown:
            yield f"{path} has {len(actual)} items, not {len(shown)}"
        for index, (one, other) in enumerate(zip(shown, actual, strict=False)):
            if one == "…":
                return
            yield from differences(one, other, f"{path}.{index}", key)
    elif isinstance(shown, str) and isinstance(actual, str):
        if shown != actual and not any(p.fullmatch(shown) and p.fullmatch(actual) for p in _CHANGING):
            yield f"{path} is {actual!r}, not {shown!r}"
    elif _is_number(shown) and _is_number(actual) and key.endswith(_CHANGING_NUMBERS):
        return
    elif shown != actual or isinstance(shown, bool) != isinstance(actual, bool):
        yield f"{path} is {actual!r}, not {shown!r}"


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def json_values(text):
    """Returns the JSON values of a text, which may have several, or None if it is not JSON."""
    decoder, values, text = json.JSONDecoder(), [], text.strip()
    while text:
        try:
            value, end = decoder.raw_decode(text)
        except ValueError:
            return None
        values.append(value)
        text = text[end:].lstrip()
    return values


def output_differences(shown, actual):
    """The same for the output of a program: JSON values, or lines of text in which `…` stands for
    any characters."""
    expected, found = json_values(shown), json_values(actual)
    if expected is not None and found is not None:
        return list(differences(expected, found, "output"))
    pattern = re.escape(shown.strip()).replace("…", ".*")
    return [] if re.fullmatch(pattern, actual.strip(), re.S) else [f"the output is:\n{actual}"]
