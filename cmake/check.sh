#!/bin/bash
# check.sh [STAGE...]   Runs every check of the project, or the named stages in this order, and stops
# at the first that fails. Nothing is tried a second time: a test that fails now and then is a
# defect. On two idle cores all stages together take less than 50 minutes.
#
#   format     format of the sources, syntax of the scripts
#   ui         types, format and style of Studio's sources
#   edges      includes between folders are those that CMake declares
#   charts     manifests of the Helm chart against the schemas of Kubernetes; docker/compose.yaml
#   locking    clang's thread-safety analysis
#   tests      make test: unit tests and HTTP tests, with Debian's nginx
#   headers    every header compiles alone
#   tidy       clang-tidy over the files that were changed last
#   sanitizer  unit tests and the corpora of the fuzzers under AddressSanitizer and UBSan
#   threads    unit tests of code that several threads use, under ThreadSanitizer
#   nginx      build, `nginx -t` and a few HTTP tests with a newer nginx (NGINX_SRC=DIR chooses one)
#
# A run of all stages executes headers and tidy at low priority beside the tests, because the HTTP
# tests wait much of the time.
set -euo pipefail
cd "$(dirname "$0")/.."

# Files checked by clang-tidy. Each takes about ten seconds of one core.
tidy_max=30
# Tests of code that manages memory or threads itself, or that reads input from outside. test_fuzz
# feeds each fuzzer its corpus.
sanitized=(test_engine_base test_engine_runtime test_engine_run_loop test_engine_state_conformance
           test_engine_state_factory test_src_bridge test_src_multipart test_src_websocket
           test_ngx_module test_fuzz)
# Tests that let several threads use one object.
threaded=(test_engine_base test_engine_runtime test_src_bridge)

# Several stages compile the same code in different folders; ccache then needs relative paths.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

# `make test` checks this too, but only after a long build.
check_edges() {
  cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
  /usr/bin/python3 t/tree/include_edges.py build/release/include_edges.txt
}

run_stage() {
  case "$1" in
    format) cmake/check-format.sh ;;
    ui) cmake/check-ui.sh ;;
    edges) check_edges ;;
    charts) charts/check.sh; docker/check-compose.sh ;;
    locking) cmake/check-thread-safety.sh ;;
    tests) make test ;;
    headers) cmake/check-headers.sh ;;
    tidy) cmake/check-tidy.sh --changed "$tidy_max" ;;
    sanitizer) cmake/test-with-sanitizer.sh address "${sanitized[@]}" ;;
    threads) cmake/test-with-sanitizer.sh thread "${threaded[@]}" ;;
    nginx) cmake/check-nginx.sh ${NGINX_SRC:+"$NGINX_SRC"} ;;
    *) echo "check.sh: unknown stage $1" >&2; exit 2 ;;
  esac
}

times=
timed() {
  echo "check: $1"
  local begun=$SECONDS
  run_stage "$1"
  times+="  $1 $((SECONDS - begun)) s"
}

# The commands of the background have a process group, so that all of them can be ended.
beside=
end_beside() {
  if [[ -n $beside ]]; then kill -- "-$beside" 2>/dev/null || true; fi
}
trap end_beside EXIT

cmake/install-packages.sh build docs test lint sanitizer check
if [[ $# -gt 0 ]]; then
  for stage in "$@"; do timed "$stage"; done
else
  # A cache that is empty at first only helps where several stages compile the same code. A run of few
  # stages is faster without one, because headers are then precompiled (cmake/Folder.cmake).
  cmake/install-packages.sh cache
  timed format
  timed ui
  timed edges
  timed charts
  timed locking
  mkdir -p build
  JOBS=1 setsid nice -n 19 cmake/check.sh headers tidy >build/beside.log 2>&1 &
  beside=$!
  timed tests
  begun=$SECONDS
  failed=0
  wait "$beside" || failed=$?
  beside=
  cat build/beside.log
  if [[ $failed != 0 ]]; then exit "$failed"; fi
  times+="  headers and tidy $((SECONDS - begun)) s more"
  timed sanitizer
  timed threads
  timed nginx
fi
echo "check: clean:$times"
