#!/bin/sh
# check-headers.sh [PATTERN]   Checks that every header of ours compiles alone, or those whose path
# matches PATTERN. A header is compiled with the flags of a source file of its folder. Nothing is
# generated: only the syntax is checked.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build/lint}

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DAGENT_GRAPH_UNITY=OFF >/dev/null
JOBS=${JOBS:-$(nproc)} /usr/bin/python3 - "$build" "${1:-}" <<'PYTHON'
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

FOLDERS = ("engine", "src", "ngx_module", "t")
WITH_VALUE = {"-I", "-isystem", "-D", "-include", "-idirafter"}
# Folders without a source file: the SDK, whose headers must compile with its own path only, and
# parts of other folders.
SDK = ["c++", "-std=c++20", "-Iengine/include"]

build, pattern = pathlib.Path(sys.argv[1]), sys.argv[2]
root = pathlib.Path.cwd()


def flags_of(entry):
    """The compiler and its flags that decide what a header sees."""
    words = iter(shlex.split(entry["command"]))
    command = [word for word in [next(words)] if "ccache" not in word] or [next(words)]
    for word in words:
        if word in WITH_VALUE:
            command += [word, next(words)]
        elif word.startswith(("-I", "-D", "-std", "-f", "-pthread")):
            command.append(word)
    return command


commands = {}
for entry in json.loads((build / "compile_commands.json").read_text()):
    source = pathlib.Path(entry["file"])
    if source.is_relative_to(root):
        commands.setdefault(source.parent.relative_to(root), (flags_of(entry), entry["directory"]))


def command_of(header):
    """The command of the header's folder, or of the nearest one above or below it."""
    if header.is_relative_to("engine/include"):
        return SDK, root
    for folder in header.parents:
        for candidate in sorted(commands):
            if candidate.is_relative_to(folder):
                return commands[candidate]
    raise SystemExit(f"check-headers: no source file is built beside {header}")


def check(header):
    command, directory = command_of(header)
    run = subprocess.run(
        ["nice", *command, "-w", "-fsyntax-only", "-x", "c++", "-"],
        input=f'#include "{root / header}"\n',
        cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    return header, run.returncode, run.stdout


headers = [
    path.relative_to(root)
    for folder in FOLDERS
    for path in sorted((root / folder).rglob("*.h"))
    if re.search(pattern, str(path.relative_to(root)))
]
failed = 0
with concurrent.futures.ThreadPoolExecutor(int(os.environ["JOBS"])) as pool:
    for header, code, text in pool.map(check, headers):
        if code != 0:
            failed += 1
            print(f"{header} does not compile alone:\n{text}", flush=True)
if not headers or failed:
    sys.exit(f"check-headers: {failed} of {len(headers)} headers failed")
print(f"check-headers: {len(headers)} headers compile alone")
PYTHON
