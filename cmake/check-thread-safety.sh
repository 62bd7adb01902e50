#!/bin/sh
# check-thread-safety.sh [PATTERN]   clang's thread-safety analysis over all of our translation units,
# or over those whose path matches PATTERN.
#
# All files of a group (cmake/Folder.cmake) are one unit here. That takes a fraction of the time, and
# fails if two of them use the same name in an anonymous namespace, because such a group compiles only
# while the two are in different batches. Nothing is compiled: only the syntax is checked. The macros
# are in engine/base/thread_annotations.h. t/tree/guarded_members.py finds annotations that are missing.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build/thread-safety}

/usr/bin/python3 t/tree/guarded_members.py

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DAGENT_GRAPH_UNITY=ON \
  -DAGENT_GRAPH_BATCH_BYTES=100000000 >/dev/null
JOBS=${JOBS:-$(nproc)} CLANGXX=${CLANGXX:-clang++-19} /usr/bin/python3 - "$build" "${1:-}" <<'PYTHON'
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys

FLAGS = [
    "-fsyntax-only",
    "-Wno-everything",  # g++ and clang-tidy report all others
    "-Wthread-safety",
    "-Wthread-safety-beta",
    "-Werror=thread-safety",
    "-Werror=thread-safety-beta",
]
# Flags to leave out: clang cannot use g++'s precompiled headers. Other flags that clang does not know
# only cause a warning.
OUTPUT = {"-o", "-MF", "-MT", "-MQ"}
DROPPED = {"-c", "-MD", "-MMD", "-Winvalid-pch"}

build, pattern = sys.argv[1:]
root = os.getcwd()
units = {}
for entry in json.load(open(os.path.join(build, "compile_commands.json"))):
    ours = os.path.relpath(entry["file"], root).split(os.sep)[0] in {"engine", "src", "ngx_module"}
    # A batch includes sources of one target; tests are not built that way.
    wanted = ours or "/batches/" in entry["file"]
    if wanted and entry["file"].endswith(".cc") and re.search(pattern, entry["file"]):
        units.setdefault(entry["file"], entry)


def check(entry):
    words = iter(shlex.split(entry["command"]))
    command = [os.environ["CLANGXX"]]
    for word in words:
        if word in OUTPUT:
            next(words)
        elif word.startswith("-") and word not in DROPPED or word == entry["file"]:
            command.append(word)
            if word in {"-include", "-isystem", "-I", "-D", "-Xclang", "-idirafter"}:
                command.append(next(words))
    run = subprocess.run(["nice", *command, *FLAGS], cwd=entry["directory"],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return run.returncode, run.stdout


failed = 0
with concurrent.futures.ThreadPoolExecutor(int(os.environ["JOBS"])) as pool:
    for code, text in pool.map(check, units.values()):
        failed += code != 0
        sys.stdout.write(text)
        sys.stdout.flush()
if not units or failed:
    sys.exit(f"check-thread-safety: {failed} of {len(units)} units failed")
print(f"check-thread-safety: clean, {len(units)} units")
PYTHON
