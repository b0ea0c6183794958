#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the benchmarks and runs them: all where there is a GPU and nvcc, those of the CPU elsewhere. The report, with
# figures and pictures, is in build/bench/report. ARGS: further arguments of bench_report.py:
#   make bench ARGS="--quick --filter=sum/f32"
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
configure bench -DCMAKE_BUILD_TYPE=Release -DCMAKE_COMPILE_WARNING_AS_ERROR=OFF -DPMPP_BUILD_TESTS=OFF -DPMPP_BUILD_EXAMPLES=OFF \
  "-DPMPP_BENCH_ARGUMENTS=${ARGS:-}" "${cuda[@]}"
build bench --target bench-report
