#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says what would break where a warp has 64 lanes, as AMD's wave64 has: builds CPU tests with a copy of the headers in which
simt::warp_size is 64, and runs them in the emulator. A line for each test: how it fared, and where it first failed.

Not part of `make test`: nothing here has to pass. docs/machines.md has the results.

usage: wave64.py [--only REGEX] [--seconds N] [--root DIR] [--cxx CXX]     N: for one test; 120
"""
import os
import re
import shutil
import subprocess
import sys

from toolchain import Toolchain

WIDTH = ("inline constexpr int warp_size = 32;", "inline constexpr int warp_size = 64;")
CASES = re.compile(r"\[doctest\] test cases:\s*(\d+) \|\s*(\d+) passed \|\s*(\d+) failed")


def option(name, otherwise):
    if name not in sys.argv:
        return otherwise
    at = sys.argv.index(name)
    value = sys.argv[at + 1]
    del sys.argv[at:at + 2]
    return value


def main():
    only, seconds = option("--only", ""), float(option("--seconds", "120"))
    tools = Toolchain(__doc__)
    include = tools.scratch / "include"
    shutil.copytree(tools.include, include)
    header = include / "pmpp/simt/block.hpp"
    text = header.read_text()
    if WIDTH[0] not in text:
        sys.exit(f"simt/block.hpp does not say {WIDTH[0]!r}")
    header.write_text(text.replace(*WIDTH))
    flags = ["-std=c++20", "-O1", "-DPMPP_CUDA=0", "-DPMPP_WITH_BOOST_CONTEXT=1", f"-I{include}", f"-I{tools.root / 'test'}"]
    runner = tools.scratch / "main.o"
    status, output = tools.run([tools.cxx, *flags, "-c", tools.root / "test/support/main.cpp", "-o", runner])
    if status:
        sys.exit(output)
    environment = {**os.environ, "PMPP_EMULATOR_MACHINE": os.environ.get("PMPP_EMULATOR_MACHINE", "h100:8")}
    for source in sorted((tools.root / "test").glob("*.cpp")):
        if not re.search(only, source.stem) or source.stem.endswith("_host"):
            continue
        program = tools.scratch / source.stem
        status, output = tools.run([tools.cxx, *flags, source, runner, "-o", program, "-lboost_context", "-lpthread"])
        if status:
            first = next((line for line in output.splitlines() if "error" in line), output[:200])
            said = "does not compile: " + first.replace(str(tools.scratch) + "/", "").replace(str(tools.root) + "/", "")
        else:
            try:
                done = subprocess.run([program], capture_output=True, text=True, errors="replace", env=environment,
                                      timeout=seconds)
                text, ended = done.stdout, f"ended with status {done.returncode}" if done.returncode not in (0, 1) else ""
            except subprocess.TimeoutExpired as stopped:
                text, ended = (stopped.stdout or b"").decode(errors="replace"), f"not finished in {seconds:.0f} s"
            cases = CASES.search(text)
            failed = re.search(r"^TEST CASE:\s*(.*)$", text, re.M)
            said = f"{cases[2]} of {cases[1]} cases pass" if cases else ended or "no result"
            if failed:
                said += f"; first to fail: {failed[1]}"
        print(f"{source.stem:24} {said[:190]}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
