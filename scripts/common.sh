# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# What the scripts share. Sourced, from the root of the repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

have() { command -v "$1" >/dev/null 2>&1; }
say() { printf '\n== %s\n' "$*"; }

# nvcc: the one that CUDACXX names, or the one on PATH. Empty: a CPU build.
find_nvcc() {
  nvcc=$(command -v "${CUDACXX:-nvcc}" || true)
  if [ -z "$nvcc" ] && [ -x /usr/local/cuda/bin/nvcc ]; then
    echo "nvcc is in /usr/local/cuda/bin, which is not on PATH: CPU only"
  fi
}

# The architecture of the GPU in this machine ("80", "90a"); empty: no GPU. Hopper's tensor cores need the a.
find_gpu() {
  gpu=$( (nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null || true) | head -n 1 | tr -cd '0-9')
  if [ "$gpu" = 90 ]; then gpu=90a; fi
}

# One compiler a core, but at least 2 GB of memory for each.
find_jobs() {
  local cores memory
  cores=$(nproc 2>/dev/null || echo 2)
  memory=$(awk '/MemAvailable/ {print int($2 / 2000000)}' /proc/meminfo 2>/dev/null || echo 2)
  jobs=$((memory < cores ? memory : cores))
  jobs=${JOBS:-$((jobs > 0 ? jobs : 1))}
}

# configure TREE [CMake arguments]: a build tree in build/TREE.
configure() {
  local tree=build/$1
  shift
  local generator=()
  if have ninja && [ ! -f "$tree/CMakeCache.txt" ]; then generator=(-G Ninja); fi
  cmake -S . -B "$tree" "${generator[@]}" -DPMPP_TEST_DATA_DIR="${PMPP_TEST_DATA_DIR:-}" "$@"
}

# build TREE [arguments of cmake --build]: goes on after an error, so that one run shows all of them.
build() {
  local tree=build/$1
  shift
  local go_on=-k
  if grep -q 'CMAKE_GENERATOR:INTERNAL=Ninja' "$tree/CMakeCache.txt"; then go_on="-k 0"; fi
  # shellcheck disable=SC2086
  cmake --build "$tree" -j "$jobs" "$@" -- $go_on
}
