#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that clang takes all headers without a warning: clang 19 or later as a C++ compiler, and clang 22 or later as a CUDA
compiler (before, it does not know this toolkit), for device code of sm_80, sm_90 and sm_90a. No program is made: what is checked
is that clang accepts the text. Skipped where no such clang is installed.

usage: clang.py [--root DIR] [--nvcc NVCC]
"""
import re
import shutil
import sys
from pathlib import Path

from toolchain import Toolchain, skip

FIRST, FIRST_FOR_CUDA = 19, 22  # versions
ARCHITECTURES = ("sm_80", "sm_90", "sm_90a")


def newest(tools):
    """(version, path) of the newest clang++ on PATH, or (0, None)."""
    found = []
    for name in ("clang++", *(f"clang++-{version}" for version in range(FIRST, 40))):
        path = shutil.which(name)
        version = path and re.search(r"clang version (\d+)", tools.run([path, "--version"])[1])
        if version:
            found.append((int(version[1]), path))
    return max(found, default=(0, None))


def main():
    tools = Toolchain(__doc__)
    version, clang = newest(tools)
    if version < FIRST:
        skip(f"no clang++ {FIRST} or later")
    everything = "".join(f"#include <{header}>\n" for header in tools.headers())
    common = [clang, "-std=c++20", "-fsyntax-only", f"-I{tools.include}", "-Wall", "-Wextra", "-Werror"]
    cases = [("C++", [*common, "-DPMPP_CUDA=0", tools.write("all.cpp", everything)])]
    if tools.nvcc and version >= FIRST_FOR_CUDA:
        toolkit = Path(tools.nvcc).resolve().parents[1]
        source = tools.write("all.cu", everything)
        cases += [(f"CUDA, {gpu}", [*common, "-x", "cuda", f"--cuda-gpu-arch={gpu}", f"--cuda-path={toolkit}", "-DPMPP_CUDA=1",
                                    "-Wno-unknown-cuda-version", source]) for gpu in ARCHITECTURES]
    else:
        print(f"not checked as a CUDA compiler: clang {version}, " + ("no toolkit" if not tools.nvcc else "too old"))
    faults = 0
    for what, command in cases:
        status, output = tools.run(command)
        print(f"clang {version}, {what}: {'accepted' if status == 0 else 'refused'}")
        if status:
            faults += 1
            print(output[:3000])
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
