#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds every ladder of examples/ladder for the GPU, and runs them one after the other: each prints the times of its rungs, also
# to build/ladders/times. Names of ladders as arguments: those alone.
source "$(dirname "$0")/common.sh"
find_nvcc
find_gpu
find_jobs
if [ -z "$nvcc" ] || [ -z "$gpu" ]; then
  echo "needs nvcc and a GPU"
  exit 1
fi
names=("$@")
if [ $# = 0 ]; then names=(examples/ladder/*/main.cpp); names=("${names[@]%/main.cpp}"); names=("${names[@]##*/}"); fi
mkdir -p build/ladders/times
configure ladders -DCMAKE_BUILD_TYPE=Release -DPMPP_CUDA=ON "-DCMAKE_CUDA_ARCHITECTURES=$gpu" "-DCMAKE_CUDA_COMPILER=$nvcc" \
  -DCMAKE_COMPILE_WARNING_AS_ERROR=OFF -DPMPP_BUILD_TESTS=OFF -DPMPP_BUILD_BENCHMARKS=OFF >/dev/null
build ladders --target $(printf 'example_ladder_%s_cuda ' "${names[@]}")
wrong=0
for name in "${names[@]}"; do
  say "$name"
  build/ladders/examples/example_ladder_"${name}"_cuda | tee "build/ladders/times/$name.txt" || wrong=1
done
exit $wrong
