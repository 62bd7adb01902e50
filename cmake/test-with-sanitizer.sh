#!/bin/sh
# test-with-sanitizer.sh address|thread [PROGRAM...]   Runs all tests with nginx and the module under
# a sanitizer, or only the named unit test programs, without nginx.
set -eu
cd "$(dirname "$0")/.."

sanitizer=$1
shift
case "$sanitizer" in
  address) build=build/asan ;;
  thread) build=build/tsan ;;
  *) echo "test-with-sanitizer.sh: unknown sanitizer $sanitizer" >&2; exit 2 ;;
esac
jobs=${JOBS:-$(nproc)}
objects=$PWD/build/nginx-source/objs-$sanitizer

configure() {
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DAGENT_GRAPH_SANITIZER="$sanitizer" "$@"
}

suppressions=$PWD/t/http/harness
export ASAN_OPTIONS=detect_stack_use_after_return=1
export LSAN_OPTIONS="suppressions='$suppressions/leak.suppress':print_suppressions=0"
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS="suppressions='$suppressions/thread.suppress':print_suppressions=0:second_deadlock_stack=1"

if [ $# -gt 0 ]; then
  cmake/install-packages.sh build test sanitizer
  configure
  ninja -C "$build" -j "$jobs" "$@"
  for program in "$@"; do
    echo "$program under the $sanitizer sanitizer"
    "$build/$program" --gtest_brief=1
  done
  exit 0
fi

cmake/install-packages.sh build test sanitizer
cmake/install-mock-provider.sh
cmake/install-clients.sh
JOBS=$jobs cmake/build-sanitizer-nginx.sh "$sanitizer"
configure -DNGINX_SOURCE_DIR="$PWD/build/nginx-source" -DNGINX_OBJECT_DIR="$objects"
ninja -C "$build" -j "$jobs" all unit_tests
ctest --test-dir "$build" --output-on-failure -j "$jobs" --no-tests=error

AGENT_GRAPH_BUILD=$build AGENT_GRAPH_SANITIZER=$sanitizer NGINX_BINARY=$objects/nginx \
  /usr/bin/python3 -m pytest -c t/pytest.ini -o timeout=2700 t/http t/faults
echo "all tests passed under the $sanitizer sanitizer"
