#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tune.sh [--list] [--seed N] [--out FILE] [NAME...]: sweeps the tunings of all primitives, or of those named, on the GPU at hand, and
# writes a header that a program includes in front of pmpp in place of the defaults (core/tuning.hpp). A few minutes.
source "$(dirname "$0")/common.sh"
names=() seed=1 out=build/tune/pmpp_tuning.hpp
while [ $# -gt 0 ]; do
  case $1 in
    --list) (cd benchmark/tune && ls ./*.cu | sed 's|^./||; s|\.cu$||') && exit ;;
    --seed) seed=$2 && shift ;;
    --out) out=$2 && shift ;;
    *) names+=("$1") ;;
  esac
  shift
done
if [ ${#names[@]} -eq 0 ]; then mapfile -t names < <(cd benchmark/tune && ls ./*.cu | sed 's|^./||; s|\.cu$||'); fi
for name in "${names[@]}"; do
  [ -f "benchmark/tune/$name.cu" ] || { echo "no tuning called $name; tune.sh --list has the names" >&2 && exit 2; }
done
find_nvcc
find_gpu
find_jobs
[ -n "$nvcc" ] && [ -n "$gpu" ] || { echo "tuning needs nvcc and a GPU" >&2 && exit 1; }
configure tune -DCMAKE_BUILD_TYPE=Release -DPMPP_CUDA=ON "-DCMAKE_CUDA_COMPILER=$nvcc" "-DCMAKE_CUDA_ARCHITECTURES=$gpu" \
  -DPMPP_BUILD_TESTS=OFF -DPMPP_BUILD_EXAMPLES=OFF -DPMPP_BUILD_BENCHMARKS=ON >/dev/null
build tune --target "${names[@]/#/tune_}" >&2
mkdir -p "$(dirname "$out")"
{
  echo "// Written by scripts/tune.sh on $(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1), seed $seed."
  echo "// Include it in front of pmpp's other headers, in every file of the program."
  echo "#pragma once"
  echo
  echo "#include <pmpp/core/tuning.hpp>"
  echo
  echo "namespace pmpp::inline PMPP_BACKEND {"
  echo
  for name in "${names[@]}"; do "build/tune/benchmark/tune/tune_$name" "$seed"; done
  echo
  echo "}  // namespace pmpp::inline PMPP_BACKEND"
} >"$out"
echo "wrote $out"
