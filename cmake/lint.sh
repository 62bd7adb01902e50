#!/bin/sh
# lint.sh [FILE...]   Checks the format and the locking of all sources and runs clang-tidy over them (or
# over FILEs).
set -eu
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
build=build/release

list() { find engine src ngx_module conf t -type f "$@" -print0; }

# A pipe has the status of its last command, so commands that may fail write to files first.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

list \( -name '*.cc' -o -name '*.h' -o -name '*.c' \) >"$scratch/sources"
xargs -0 clang-format-19 --dry-run -Werror <"$scratch/sources"

for script in .ci/run cmake/*.sh conf/*.sh; do bash -n "$script"; done

JOBS=$jobs cmake/check-thread-safety.sh

# The compiler's own flags are not all clang's; those are ignored, its warnings are g++'s business.
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
if [ $# -gt 0 ]; then
  printf '%s\0' "$@" >"$scratch/checked"
else
  /usr/bin/python3 -c '
import json, sys
files = {entry["file"] for entry in json.load(open(sys.argv[1]))}
sys.stdout.write("".join(file + "\0" for file in sorted(files) if "/build/" not in file))
' "$build/compile_commands.json" >"$scratch/checked"
fi
xargs -0 -n 1 -P "$jobs" clang-tidy-19 -p "$build" --quiet \
  --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-unused-command-line-argument \
  <"$scratch/checked"
echo 'lint: clean'
