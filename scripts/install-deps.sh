#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, by apt, where this user may; otherwise says what is missing.
# Fails only when something is missing without which nothing can be built.
source "$(dirname "$0")/common.sh"

has_header() { echo "#include <$1>" | "${CXX:-g++}" -std=c++20 -fsyntax-only -x c++ - >/dev/null 2>&1; }
has_cmake() {
  have cmake && [ "$(printf '%s\n%s\n' "$1" "$(cmake --version | sed -n '1s/[^0-9.]*//gp')" | sort -V | head -n 1)" = "$1" ]
}

# package, needed or helpful, how to see that it is there, what it is for
wanted='
g++                   needed   have g++                                          a C++20 compiler
cmake                 needed   has_cmake 3.24                                    CMake 3.24 or later
python3               needed   have python3                                      the checks and the summary
doctest-dev           needed   has_header doctest/doctest.h                      the tests
ninja-build           helpful  have ninja                                        faster builds
libboost-context-dev  helpful  has_header boost/context/detail/fcontext.hpp      a fast emulator
libbenchmark-dev      helpful  has_header benchmark/benchmark.h                  the benchmarks
libpng-dev            helpful  has_header png.h                                  PNG images
zlib1g-dev            helpful  has_header zlib.h                                 compressed input
libopenmpi-dev        helpful  have mpicxx                                       ranks in several processes
openmpi-bin           helpful  have mpiexec                                      ... and their start
clang-format          helpful  have clang-format                                 the format check
'

missing_of() {  # packages of the kind $1 that are not there
  local package kind probe argument rest
  while read -r package kind probe argument rest; do
    if [ "$kind" = "$1" ] && ! "$probe" "$argument"; then echo "$package"; fi
  done <<<"$wanted"
}

missing=$(missing_of needed; missing_of helpful)
[ -n "$missing" ] || exit 0
echo "missing: ${missing//$'\n'/ }"

as_root=()
if [ "$(id -u)" -ne 0 ]; then as_root=(sudo -n); fi
if have apt-get && { [ "$(id -u)" -eq 0 ] || { have sudo && sudo -n true 2>/dev/null; }; }; then
  apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
  "${apt[@]}" update || true
  # shellcheck disable=SC2086
  if ! "${apt[@]}" install -y --no-install-recommends $missing >/dev/null; then
    for package in $missing; do
      "${apt[@]}" install -y --no-install-recommends "$package" >/dev/null || echo "apt cannot install $package"
    done
  fi
fi

helpful=$(missing_of helpful)
needed=$(missing_of needed)
if [ -n "$helpful" ]; then echo "goes on without: ${helpful//$'\n'/ }"; fi
if [ -n "$needed" ]; then
  echo "please install (Debian and Ubuntu names): ${needed//$'\n'/ }"
  for package in $needed; do
    echo "$wanted" | sed -nE "s/^(${package//+/\\+}) .* {2,}/  \\1: /p"
  done
  exit 1
fi
