#!/bin/sh
# fuzz.sh SECONDS   Builds every fuzzer with clang and sanitizers and runs each of them for that
# long. The grown corpora stay in build/fuzz/corpus; an input that causes a failure is written to
# build/fuzz/.
set -eu
cd "$(dirname "$0")/.."

seconds=$1
build=build/fuzz
cmake/install-packages.sh build lint fuzz
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=clang-19 \
  -DCMAKE_CXX_COMPILER=clang++-19 -DAGENT_GRAPH_SANITIZER=address -DAGENT_GRAPH_TESTS=OFF \
  -DAGENT_GRAPH_FUZZ=ON
ninja -C "$build" -j "${JOBS:-$(nproc)}" fuzzers

for program in "$build"/fuzz_*; do
  [ -x "$program" ] || continue
  name=${program##*/fuzz_}
  mkdir -p "$build/corpus/$name"
  echo "fuzzing $name for $seconds s"
  "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -verbosity=0 -print_funcs=0 \
    -print_final_stats=1 -artifact_prefix="$build/$name-" "$build/corpus/$name" "t/fuzz/corpus/$name"
done
echo 'make fuzz: nothing broke'
