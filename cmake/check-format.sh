#!/bin/sh
# check-format.sh   Checks the format of all C and C++ files, and the syntax of all shell scripts.
set -eu
cd "$(dirname "$0")/.."

# A pipe has the status of its last command, so the list is written to a file first.
list=$(mktemp)
trap 'rm -f "$list"' EXIT
find admin cli engine extractor src ngx_module conf t bench -type f \
  \( -name '*.cc' -o -name '*.h' -o -name '*.c' \) -print0 >"$list"
xargs -0 clang-format-19 --dry-run -Werror <"$list"
for script in .ci/run packaging/systemd/back-up-and-prune packaging/debian/*.post* \
    docker/serve-agent $(find charts cmake conf docker ngx_module packaging -name '*.sh'); do
  bash -n "$script"
done
echo 'check-format: clean'
