#!/usr/bin/python3
"""sanitizer_syntax.py BUILD   Checks the syntax of the sources that a sanitizer may refuse, with its flags:
g++ evaluates less at compile time with -fsanitize=undefined, so that a static_assert can fail only there.
That would be found late otherwise: a whole build with the sanitizer takes long."""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("engine", "src", "ngx_module")
REFUSABLE = re.compile(r"^ *static_assert\(|\bBOOST_USE_", re.MULTILINE)
FLAGS = ["-fsanitize=address,undefined", "-DBOOST_USE_UCONTEXT", "-DBOOST_USE_ASAN", "-fsyntax-only", "-w"]
INCLUDED = re.compile(r'^#include "(.*)"$', re.MULTILINE)


def commands(build):
    """The command of each source: its own, or that of the batch that includes it (cmake/Folder.cmake)."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if path.parent.name == "batches":
            found.update((ROOT / name, entry) for name in INCLUDED.findall(path.read_text()))
        found.setdefault(path, entry)
    return found


def check(source, entry):
    words = iter(shlex.split(entry["command"]))
    command = []
    for word in words:
        if word == "-o":
            next(words)
        elif word not in ("-c", entry["file"]) and not word.endswith("ccache"):
            command.append(word)
    run = subprocess.run([*command, *FLAGS, source], cwd=entry["directory"], capture_output=True, text=True)
    return run.stderr if run.returncode else ""


def main(build):
    known = commands(build)
    sources = [
        path
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.cc"))
        if path in known and REFUSABLE.search(path.read_text())
    ]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [text for text in pool.map(lambda source: check(source, known[source]), sources) if text]
    if problems or not sources:
        sys.exit("\n".join(problems) or "sanitizer_syntax.py: no source to check")
    print(f"sanitizer_syntax: {len(sources)} sources")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
