#!/bin/bash
# check-tidy.sh                 Runs clang-tidy over every source file.
# check-tidy.sh FILE...         Runs it over FILEs.
# check-tidy.sh --changed MAX   Runs it over the files that were changed last: those with changes
#                               that are not committed, then those of the newest commits, MAX files
#                               at most. A header is checked with the source file of its name. Tests
#                               are left out: gtest's macros make each of them cost minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/lint}
jobs=${JOBS:-$(nproc)}

# Each file alone: a batch of files would give clang-tidy no command for it.
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DAGENT_GRAPH_UNITY=OFF >/dev/null
ninja -C "$build" sdk >/dev/null  # the headers that the samples include

sources() {
  /usr/bin/python3 -c '
import json, os, sys
files = {os.path.relpath(entry["file"]) for entry in json.load(open(sys.argv[1]))}
print("\n".join(sorted(file for file in files if not file.startswith(("build/", "..")))))
' "$build/compile_commands.json"
}

changed() {
  {
    git diff --name-only HEAD
    git ls-files --others --exclude-standard
    git log -n 50 --no-merges --name-only --format=
  } | sed -n '/^t\//d; s/\.h$/.cc/; /\.cc$/p' | awk '!seen[$0]++'
}

list=$(mktemp)
trap 'rm -f "$list"' EXIT
case "${1:-}" in
  '') sources >"$list" ;;
  # awk reads to the end: `head` would end the commands before it with SIGPIPE.
  --changed) awk -v max="$2" 'NR == FNR { built[$0]; next } $0 in built && ++count <= max' \
    <(sources) <(changed) >"$list" ;;
  *) printf '%s\n' "$@" >"$list" ;;
esac

# clang does not know some of g++'s flags, so it must not warn about unknown ones.
tr '\n' '\0' <"$list" | xargs -0 -r -n 1 -P "$jobs" nice clang-tidy-19 -p "$build" --quiet \
  --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-unused-command-line-argument
echo "check-tidy: clean, $(wc -l <"$list") files"
