"""Finds places of C++ sources where a small change alters the behaviour."""

import dataclasses
import pathlib
import re

# Comments and texts, which are not changed.
_QUIET = re.compile(
    r'//[^\n]*|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])\'|^#[^\n]*',
    re.DOTALL | re.MULTILINE,
)
# Lines that decide about limits, defaults, refusals and states count several times when places are
# chosen.
_IMPORTANT = re.compile(
    r"max|min\b|limit|default|fallback|deadline|timeout|Status|ApiError|Phase|State::|Outcome"
    r"|Permission|Scope|allow|refus|guard|owner|evict|forget",
    re.IGNORECASE,
)
_WEIGHT = 4

_FLIPPED = {
    " < ": " <= ",
    " <= ": " < ",
    " > ": " >= ",
    " >= ": " > ",
    " == ": " != ",
    " != ": " == ",
    " && ": " || ",
    " || ": " && ",
    " + ": " - ",
    " - ": " + ",
    "true": "false",
    "false": "true",
    "!": "",
}
_STATUS_CODES = ("kNotFound", "kInvalidArgument", "kInternal")
_API_ERRORS = ("kNotFound", "kValidation", "kInternal")

_PATTERNS = (
    re.compile(r" (?:<=?|>=?|==|!=|&&|\|\||[+-]) "),
    re.compile(r"\b(?:true|false)\b"),
    re.compile(r"(?<=[(\s])!(?=[\w(])"),
    re.compile(r"(?<![\w.'])\d[\d']*(?![\w.'])"),
    re.compile(r"\b(?:StatusCode|ApiError)::k\w+"),
    # A statement that only calls a function.
    re.compile(r"(?<=\n)[ ]+(?:[\w.]|->|::)+\([^;{}]*\);(?=\n)"),
    re.compile(r"(?<= )(?:std::min|std::max)(?=\()"),
)


@dataclasses.dataclass(frozen=True)
class Place:
    source: pathlib.Path
    text: str
    start: int
    end: int
    replacement: str

    @property
    def line(self):
        return self.text.count("\n", 0, self._shown_start()) + 1

    def _shown_start(self):
        return self.start + len(self.original) - len(self.original.lstrip())

    @property
    def original(self):
        return self.text[self.start : self.end]

    @property
    def weight(self):
        begin = self.text.rfind("\n", 0, self._shown_start()) + 1
        line = self.text[begin : self.text.find("\n", self.end)]
        return _WEIGHT if _IMPORTANT.search(line) else 1

    def mutated(self):
        return self.text[: self.start] + self.replacement + self.text[self.end :]

    def describe(self, root):
        begin = self.text.rfind("\n", 0, self._shown_start()) + 1
        line = self.text[begin : self.text.find("\n", self._shown_start())].strip()
        change = f"{self.original.strip()} -> {self.replacement.strip() or 'nothing'}"
        return f"{self.source.relative_to(root)}:{self.line}: [{' '.join(change.split())}] {line}"


def _replacement(text):
    if text in _FLIPPED:
        return _FLIPPED[text]
    if text.startswith("std::m"):
        return "std::max" if text == "std::min" else "std::min"
    kind, _, name = text.partition("::")
    if kind in ("StatusCode", "ApiError"):
        names = _STATUS_CODES if kind == "StatusCode" else _API_ERRORS
        return f"{kind}::{next(other for other in names if other != name)}"
    if text[0].isdigit():
        return str(int(text.replace("'", "")) + 1)
    return ""


def find_places(source):
    """Returns every place of one file."""
    text = source.read_text()
    quiet = [match.span() for match in _QUIET.finditer(text)]
    masked = list(text)
    for start, end in quiet:
        masked[start:end] = "\x00" * (end - start)
    masked = "".join(masked)
    found = []
    for pattern in _PATTERNS:
        for match in pattern.finditer(masked):
            statement = match[0].strip()
            if statement.startswith(("return", "AG_", "throw", "static_assert", "delete")):
                continue
            found.append(Place(source, text, *match.span(), _replacement(match[0])))
    return found


def choose(sources, count, random):
    """Chooses `count` places; important lines are more likely."""
    places = [place for source in sources for place in find_places(source)]
    keyed = sorted(places, key=lambda place: random.random() ** (1 / place.weight), reverse=True)
    return keyed[:count]
