#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that shared libraries with pmpp inside do not export its kernels, launchers and algorithms.

If they did, the loader would join those of two libraries that were built for different architectures, and one would
launch kernels that the other holds. Classes that are part of interfaces (device_buffer, cuda_error, ...) may be exported.

usage: hidden_symbols.py ROOT LIBRARY...
"""
import re
import subprocess
import sys
from pathlib import Path

root, libraries = Path(sys.argv[1]), [Path(word) for word in sys.argv[2:]]
missing = [path for path in libraries if not path.exists()]
if missing:
    sys.exit(f"not built: {', '.join(map(str, missing))}")

# The functions of launch.hpp and of the algorithms are named like their headers; kernels end in _kernel.
names = sorted({path.stem for path in (root / "include/pmpp").glob("*.hpp")} - {"pmpp", "execution", "occupancy"})
forbidden = re.compile(rf"__device_stub|run_kernel|_kernel\b|pmpp::\w+::(detail::)?\w*({'|'.join(names)})\w*[<(]")
faults = 0
for path in libraries:
    table = subprocess.run(["nm", "-DC", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    symbols = [line for line in table.splitlines() if "pmpp::" in line or "__device_stub" in line]
    shown = [line for line in symbols if forbidden.search(line)]
    print(f"{path.name}: {len(symbols)} symbols of pmpp are exported, {len(shown)} of them must not be")
    print("".join(f"  {line[:300]}\n" for line in shown), end="")
    faults += len(shown)
sys.exit(1 if faults else 0)
