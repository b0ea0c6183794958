#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the demonstration: on the GPU where there is one and nvcc, on the CPU elsewhere.
# DATA=folder gives it real input.
source "$(dirname "$0")/common.sh"
if [ ! -e examples/demo.cpp ] && [ ! -e examples/demo/CMakeLists.txt ]; then
  echo "there is no demonstration in this tree (examples/demo.cpp)"
  exit 0
fi
scripts/install-deps.sh
find_nvcc
find_gpu
find_jobs
cuda=(-DPMPP_CUDA=OFF)
if [ -n "$nvcc" ] && [ -n "$gpu" ]; then
  cuda=(-DPMPP_CUDA=ON "-DCMAKE_CUDA_ARCHITECTURES=$gpu" "-DCMAKE_CUDA_COMPILER=$nvcc")
fi
configure demo -DCMAKE_BUILD_TYPE=Release -DCMAKE_COMPILE_WARNING_AS_ERROR=OFF -DPMPP_BUILD_TESTS=OFF -DPMPP_BUILD_BENCHMARKS=OFF "${cuda[@]}" >/dev/null
build demo --target demo
for program in build/demo/examples/{demo_cuda,demo_cpu,demo/demo}; do
  if [ -f "$program" ]; then
    say "$program ${DATA:-}"
    exec "$program" ${DATA:+"$DATA"}
  fi
done
echo "the target demo was built, but there is no program in build/demo/examples"
exit 1
