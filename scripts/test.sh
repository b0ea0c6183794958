#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs everything that this machine can:
#   1. build/test   CPU examples and all checks; where there is nvcc, tests, benchmarks and examples for CUDA too. Device tests
#                   run where there is a GPU and are listed as skipped elsewhere. Of the CPU tests those that are about what a
#                   sanitizer hides (PMPP_PLAIN_TESTS in test/CMakeLists.txt).
#   2. build/asan   the CPU tests, compiled once, under the address and undefined-behaviour sanitizers. The emulator plays an
#                   H100, then an RTX 4090 and the smallest machine (docs/machines.md): these only for tests whose results may
#                   depend on it (label: machine), on small cases and without those of seq and host. An A100 has the smallest
#                   machine's architecture and room between those of the others: of it only the products, convolutions and
#                   attention, whose tilings are the largest (all: make test-device ARGS=--cpu). With 8 multiprocessors, so
#                   that no test takes minutes.
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
  say "CPU and CUDA ($nvcc, sm_$architecture, $([ -n "$gpu" ] && echo "device tests run" || echo "no GPU: device programs are compiled to intermediate representation, or linked and skipped"))"
  cuda=(-DPMPP_CUDA=ON "-DCMAKE_CUDA_COMPILER=$nvcc" -DPMPP_EXAMPLE_PRECOMPILE=ON)  # what an example forgot to include nvcc misses
  if [ -n "$gpu" ]; then
    cuda+=("-DCMAKE_CUDA_ARCHITECTURES=$gpu")
  else  # what will not run here need not be fast, nor machine code: a fifth of the time (PMPP_CUDA_IR_ONLY in cmake/pmpp-dev.cmake)
    cuda+=(-DPMPP_CUDA_IR_ONLY=ON "-DCMAKE_CUDA_ARCHITECTURES=$architecture-virtual" -DCMAKE_CUDA_FLAGS_RELEASE=-DNDEBUG)
    if [[ $("$nvcc" --help) == *Ofast-compile* ]]; then cuda+=("-DCMAKE_CUDA_FLAGS=-Ofc max"); fi
  fi
else
  say "CPU (no nvcc on PATH)"
  cuda=(-DPMPP_CUDA=OFF)
fi
# Some 250 programs are linked, each in half the time by a linker of these.
linker=()
for name in lld gold; do
  if echo "int main() {}" | "${CXX:-c++}" "-fuse-ld=$name" -x c++ - -o build/results/linked 2>/dev/null; then
    linker=("-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=$name")
    break
  fi
done
# The CPU programs take longer to compile than to run. -Og compiles in half the time of -O1 and runs in one and a half times; GCC
# takes a tenth less again where it does not collect the garbage of its heap.
# Under the address sanitizer a tenth of the time goes into calls of shared libraries.
quick="-Og"
short=""
linker_asan=("${linker[@]}")
if [[ $("${CXX:-c++}" --version 2>/dev/null) == *"Free Software Foundation"* ]]; then
  quick+=";--param=ggc-min-heapsize=2000000"
  short=";--param=asan-stack=0;-fsanitize-undefined-trap-on-error"
  linker_asan=("${linker[@]:--DCMAKE_EXE_LINKER_FLAGS=}")
  linker_asan[0]+=" -static-libasan -static-libubsan -static-libstdc++"
fi
try "configure build/test" configure test "${linker[@]}" -DCMAKE_BUILD_TYPE=Release -DPMPP_CPU_TESTS=PLAIN "-DPMPP_TEST_OPTIONS=$quick" \
  "-DPMPP_EXAMPLE_OPTIONS=$quick" "${cuda[@]}"
try "build build/test" build test
try "tests in build/test" run_tests test h100:8 -j "$jobs"

# Of undefined behaviour not what asks at every load (null, alignment): that doubles the compile time, and the first
# crashes anyway. Nor is the end of a variable's scope followed, a third of the compile time, nor what lies around local arrays (bounds
# sees their indices), a sixth of the time to compile and to run; nor is it said what was undefined, where, another sixth: the test case
# ends with SIGILL. The preset asan does all.
undefined=signed-integer-overflow,shift,bounds,integer-divide-by-zero,bool,enum,return,unreachable
say "CPU under the address and undefined-behaviour sanitizers"
try "configure build/asan" configure asan "${linker_asan[@]}" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPMPP_CUDA=OFF \
  "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-g1" "-DPMPP_SANITIZE=address,$undefined" \
  "-DPMPP_TEST_OPTIONS=$quick;-fno-sanitize-address-use-after-scope$short" \
  -DPMPP_TEST_PRECOMPILE=ON -DPMPP_BUILD_BENCHMARKS=OFF -DPMPP_BUILD_CHECKS=OFF -DPMPP_BUILD_EXAMPLES=OFF
try "build build/asan" build asan
try "tests in build/asan on h100" run_tests asan h100:8 -L cpu -j "$jobs"
export PMPP_TEST_SMALL=1 PMPP_TEST_DEVICE_ALONE=1
try "tests in build/asan on a100" run_tests asan a100:8 -L machine -R "gemm|convolution|attention|machines" -j "$jobs"
try "tests in build/asan on rtx4090" run_tests asan rtx4090:8 -L machine -j "$jobs"
try "tests in build/asan on small" run_tests asan small -L machine -j "$jobs"
unset PMPP_TEST_SMALL PMPP_TEST_DEVICE_ALONE

say "Races between threads and blocks, under ThreadSanitizer"
try "configure build/tsan" configure tsan "${linker[@]}" -DCMAKE_BUILD_TYPE=Release -DPMPP_CUDA=OFF -DPMPP_SANITIZE=thread \
  "-DPMPP_TEST_OPTIONS=$quick" -DPMPP_BUILD_BENCHMARKS=OFF -DPMPP_BUILD_CHECKS=OFF -DPMPP_BUILD_EXAMPLES=OFF
try "build build/tsan" build tsan
try "tests in build/tsan" run_tests tsan h100:2 -L cpu -j "$jobs"

say "Sum"
exec python3 scripts/summary.py $results test-h100:8 asan-h100:8 asan-a100:8 asan-rtx4090:8 asan-small tsan-h100:2
