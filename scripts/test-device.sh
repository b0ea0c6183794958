#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs everything for the GPU in this machine, and says what it could not: scripts/test_device.py has the options
# (--help). CXX, CUDACXX and JOBS are respected; DOCTEST_INCLUDE is the folder that has doctest/doctest.h, where no package
# of doctest is installed. Installs nothing.
source "$(dirname "$0")/common.sh"
find_nvcc
find_gpu
find_jobs
exec python3 scripts/test_device.py --nvcc "$nvcc" --architecture "$gpu" --jobs "$jobs" "$@"
