#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs everything that this machine can:
#   1. build/test   optimised: CPU tests and examples and all checks; where there is nvcc, tests, benchmarks and examples
#                   for CUDA too. Device tests run where there is a GPU and are listed as skipped elsewhere. The emulator
#                   plays an H100 and an A100, with 8 multiprocessors so that no test takes minutes, and the smallest machine
#                   (docs/machines.md); these last only for tests whose results may depend on it (label: machine).
#   2. build/asan   the CPU tests under the address and undefined-behaviour sanitizers, on an RTX 4090
#   3. build/tsan   those of kernels whose blocks or warps talk to each other under ThreadSanitizer (PMPP_RACE_TESTS in
#                   test/CMakeLists.txt)
# The last line is the sum of all: N passed, N failed, N skipped.
source "$(dirname "$0")/common.sh"
scripts/install-deps.sh
find_nvcc
find_gpu
find_jobs
results=build/results
mkdir -p $results
rm -f $results/*.xml $results/broken
touch $results/broken  # a line for each step that did not even get to its tests

# try WHAT COMMAND...: goes on after a failure and remembers it.
try() {
  local what=$1
  shift
  local start=$SECONDS
  if "$@"; then
    echo "($what: $((SECONDS - start)) s)"
  else
    echo "$what FAILED after $((SECONDS - start)) s" | tee -a $results/broken
  fi
}

run_tests() {  # TREE MACHINE [arguments of ctest]; the emulator plays MACHINE; failures are in the results
  local tree=$1 machine=$2
  shift 2
  PMPP_EMULATOR_MACHINE=$machine ctest --test-dir "build/$tree" --output-on-failure \
    --output-junit "$PWD/$results/$tree-$machine.xml" "$@" || true
}

if [ -n "$nvcc" ]; then
  architecture=${gpu:-90a}
  say "CPU and CUDA ($nvcc, sm_$architecture, $([ -n "$gpu" ] && echo "device tests run" || echo "no GPU: device tests are compiled to PTX, linked and skipped"))"
  cuda=(-DPMPP_CUDA=ON "-DCMAKE_CUDA_COMPILER=$nvcc")
  if [ -n "$gpu" ]; then
    cuda+=("-DCMAKE_CUDA_ARCHITECTURES=$gpu")
  else  # what will not run here need not be fast, nor machine code: a quarter of the time
    cuda+=("-DCMAKE_CUDA_ARCHITECTURES=$architecture-virtual" -DCMAKE_CUDA_FLAGS_RELEASE=-DNDEBUG)
    if [[ $("$nvcc" --help) == *Ofast-compile* ]]; then cuda+=("-DCMAKE_CUDA_FLAGS=-Ofc max"); fi
  fi
else
  say "CPU (no nvcc on PATH)"
  cuda=(-DPMPP_CUDA=OFF)
fi
# The CPU tests take longer to compile than to run, so -O1; the examples get the -O3 of users.
try "configure build/test" configure test -DCMAKE_BUILD_TYPE=Release -DPMPP_TEST_OPTIONS=-O1 "${cuda[@]}"
try "build build/test" build test
try "tests in build/test on h100" run_tests test h100:8 -j "$jobs"
for machine in a100:8 small; do
  try "tests in build/test on $machine" run_tests test $machine -L machine -j "$jobs"
done

# Of undefined behaviour not what asks at every load (null, alignment): that doubles the compile time, and the first
# crashes anyway.
undefined=signed-integer-overflow,shift,bounds,integer-divide-by-zero,bool,enum,return,unreachable
say "CPU under the address and undefined-behaviour sanitizers"
try "configure build/asan" configure asan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPMPP_CUDA=OFF \
  "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1" "-DPMPP_SANITIZE=address,$undefined" \
  -DPMPP_BUILD_BENCHMARKS=OFF -DPMPP_BUILD_CHECKS=OFF -DPMPP_BUILD_EXAMPLES=OFF
try "build build/asan" build asan
try "tests in build/asan on rtx4090" run_tests asan rtx4090:8 -L cpu -j "$jobs"

say "Races between threads and blocks, under ThreadSanitizer"
try "configure build/tsan" configure tsan -DCMAKE_BUILD_TYPE=Release -DPMPP_CUDA=OFF -DPMPP_SANITIZE=thread \
  -DPMPP_TEST_OPTIONS=-O1 -DPMPP_BUILD_BENCHMARKS=OFF -DPMPP_BUILD_CHECKS=OFF -DPMPP_BUILD_EXAMPLES=OFF
try "build build/tsan" build tsan
try "tests in build/tsan" run_tests tsan h100:2 -L cpu -j "$jobs"

say "Sum"
exec python3 scripts/summary.py $results test-h100:8 test-a100:8 test-small asan-rtx4090:8 tsan-h100:2
