#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the benchmarks and runs them: all where there is a GPU and nvcc, those of the CPU elsewhere.
# ARGS is passed on to Google Benchmark: make bench ARGS=--benchmark_filter=reduce
source "$(dirname "$0")/common.sh"
scripts/install-deps.sh
find_nvcc
find_gpu
find_jobs
cuda=(-DPMPP_CUDA=OFF)
if [ -n "$nvcc" ] && [ -n "$gpu" ]; then
  cuda=(-DPMPP_CUDA=ON "-DCMAKE_CUDA_ARCHITECTURES=$gpu" "-DCMAKE_CUDA_COMPILER=$nvcc")
else
  echo "no GPU or no nvcc: the benchmarks of the CPU only"
fi
configure bench -DCMAKE_BUILD_TYPE=Release -DCMAKE_COMPILE_WARNING_AS_ERROR=OFF -DPMPP_BUILD_TESTS=OFF -DPMPP_BUILD_EXAMPLES=OFF "${cuda[@]}"
build bench
found=0
for program in build/bench/benchmark/bench_*; do
  if [ -x "$program" ] && [ -f "$program" ]; then
    found=1
    say "$program"
    # shellcheck disable=SC2086
    "$program" ${ARGS:-}
  fi
done
if [ $found = 0 ]; then echo "no benchmark was built"; fi
