#!/bin/sh
# lint.sh [FILE...]   Checks the format, Studio, the locking and the headers of all sources, and runs
# clang-tidy over them (or over FILEs).
set -eu
cd "$(dirname "$0")"

./check-format.sh
./check-ui.sh
./check-thread-safety.sh
./check-headers.sh
./check-tidy.sh "$@"
echo 'lint: clean'
