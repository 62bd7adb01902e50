"""Reads nginx's error.log and finds lines that fail a test."""

import re

# Processes of nginx write to stderr into this file, too: those that abort say why.
_FORBIDDEN = re.compile(
    r"\[(alert|emerg|crit)\]"
    r"|exited on signal|exited with fatal code|open socket .* left in connection"
    r"|: check failed: |^terminate called|what\(\):|^[a-z_]+\(\): |^double free|^corrupted "
    r"|ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:"
)


class ErrorLog:
    """The error.log of one instance. Each kind of line that a test provokes on purpose needs one
    allowed pattern."""

    def __init__(self, path):
        self._path = path
        self._allowed = []

    def text(self):
        try:
            return self._path.read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def lines(self, pattern=""):
        return [line for line in self.text().splitlines() if re.search(pattern, line)]

    def allow(self, pattern):
        self._allowed.append(re.compile(pattern))

    def forbidden_lines(self, text=None):
        text = self.text() if text is None else text
        return [
            line
            for line in text.splitlines()
            if _FORBIDDEN.search(line) and not any(allowed.search(line) for allowed in self._allowed)
        ]
