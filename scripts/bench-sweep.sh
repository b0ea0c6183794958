#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the sweep, random cases beside the peers, and runs all its families, two minutes each. Rows as JSON lines in
# build/sweep/sweep. ARGS: arguments of the programs; CCCL: a checkout of CCCL in place of the toolkit's:
#   make bench-sweep ARGS="--seconds=10 --seed=2" CCCL=~/cccl
source "$(dirname "$0")/common.sh"
find_nvcc
find_gpu
find_jobs
if [ -z "$nvcc" ] || [ -z "$gpu" ]; then
  echo "the sweep needs a GPU and nvcc"
  exit 1
fi
configure sweep -DCMAKE_BUILD_TYPE=Release -DCMAKE_COMPILE_WARNING_AS_ERROR=OFF -DPMPP_BUILD_TESTS=OFF -DPMPP_BUILD_EXAMPLES=OFF \
  -DPMPP_CUDA=ON "-DCMAKE_CUDA_ARCHITECTURES=$gpu" "-DCMAKE_CUDA_COMPILER=$nvcc" "-DPMPP_CCCL_DIR=${CCCL:-}" \
  "-DPMPP_SWEEP_ARGUMENTS=${ARGS:-}"
build sweep --target bench-sweep
