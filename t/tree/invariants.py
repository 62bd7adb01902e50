#!/usr/bin/python3
"""invariants.py   Fails for an AG_CHECK whose text no EXPECT_DEATH of a unit test expects, so that a
test fails when the check is removed. Two checks with the same text fail, too: the test of one would
stand for both. And for an assert, which release builds leave out."""

import pathlib
import re
import sys
from collections import Counter

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("engine", "src", "ngx_module")
STRINGS = r'((?:"[^"]*"\s*)+)\)'
CHECK = re.compile(r"\bAG_CHECK\(.*?" + STRINGS + ";", re.DOTALL)
DEATH = re.compile(r"\bEXPECT_DEATH\(.*?" + STRINGS + ";", re.DOTALL)
ASSERT = re.compile(r"^[^/\"]*(?<!\w)assert\(", re.MULTILINE)
CONSTANT = re.compile(r'^constexpr char k\w+\[\] = "([^"]*)";', re.MULTILINE)


def texts(pattern, content):
    for match in pattern.finditer(content):
        yield "".join(re.findall(r'"([^"]*)"', match[1]))


def sources(*folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cc", ".h"):
                yield path, path.read_text()


def expected_texts():
    """The texts that tests expect, without the part that is a pattern."""
    expected = set()
    for path, content in sources("t/unit"):
        if "EXPECT_DEATH" in content:
            found = [*texts(DEATH, content), *CONSTANT.findall(content)]
            expected.update(text.rpartition(".*")[2] for text in found)
    expected.discard("check failed")
    return {text for text in expected if text}


def main():
    expected = expected_texts()
    checks = [
        (path.relative_to(ROOT), text)
        for path, content in sources(*FOLDERS)
        if path.name != "check.h"
        for text in texts(CHECK, content)
    ]
    counts = Counter(text for _, text in checks)
    problems = [
        f"{path}: no test expects that \"{text}\" ends the process"
        for path, text in checks
        if not any(part in text for part in expected)
    ]
    problems += [f"{path}: another check has the text \"{text}\"" for path, text in checks if counts[text] > 1]
    problems += [
        f"{path.relative_to(ROOT)}: release builds leave assert out (use AG_CHECK)"
        for path, content in sources(*FOLDERS)
        if ASSERT.search(content)
    ]
    print("\n".join(problems) or "invariants: each has a test")
    return len(problems) > 0


if __name__ == "__main__":
    sys.exit(main())
