#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says whether a change leaves the machine code of kernels as it was: for renamings, and for rooms that are rebuilt.

Compiles the demonstration of each primitive (examples/demo/primitives/NAME.cpp: the public functions with typical types) as it
was at a revision and as it is in the working tree, and compares the instructions of all kernels. Names of kernels do not count,
nor addresses of constants that the linker fills in: a kernel whose instructions are found on the other side is the same.

usage: same_code.py REVISION [--only REGEX] [--architecture 90a] [--work DIR] [--nvcc NVCC]

Exit status: 0 all the same, 1 some are not (kernels, instructions and registers on either side are listed).
"""
import argparse
import collections
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KERNEL = re.compile(r"^\s*Function : (\S+)")
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(.*?);")


def cubin(o, tree, label, name):
    source, made = tree / "examples/demo/primitives" / f"{name}.cpp", o.work / label / f"{name}.cubin"
    made.parent.mkdir(parents=True, exist_ok=True)
    launcher = os.environ.get("CMAKE_CUDA_COMPILER_LAUNCHER", "").split()
    done = subprocess.run(
        [*launcher, o.nvcc, "-std=c++20", "--extended-lambda", "-O3", "-DPMPP_CUDA=1", f"-I{tree / 'include'}",
         f"-I{tree / 'examples/demo'}", f"-gencode=arch=compute_{o.architecture},code=sm_{o.architecture}", "-x", "cu",
         "-cubin", source, "-o", made], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{label}: {name} does not compile\n{(done.stdout + done.stderr)[-3000:]}")
    return made


def kernels(path):
    """{hash of the instructions: [(kernel, number of instructions)]}"""
    listing = subprocess.run(["cuobjdump", "-sass", path], capture_output=True, text=True, check=True).stdout
    found, name, body = collections.defaultdict(list), None, []

    def end():
        if name:
            found[hashlib.sha256("\n".join(body).encode()).hexdigest()].append((name, len(body)))

    for line in listing.splitlines():
        if start := KERNEL.match(line):
            end()
            name, body = start[1], []
        elif step := INSTRUCTION.search(line):
            body.append(re.sub(r"32@(hi|lo)\(.*?\)", r"32@\1", step[1]))
    end()
    return found


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("revision")
    parse.add_argument("--only", default="", metavar="REGEX")
    parse.add_argument("--architecture", default="90a")
    parse.add_argument("--work", type=Path, default=ROOT / "build" / "same_code")
    parse.add_argument("--nvcc", default=os.environ.get("CUDACXX", "nvcc"))
    o = parse.parse_args()
    before = o.work / "before"
    if (before / "revision").exists() and (before / "revision").read_text() != o.revision:
        sys.exit(f"{before} holds another revision: delete it")
    if not (before / "revision").exists():
        before.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run(["git", "archive", o.revision, "include", "examples"], cwd=ROOT, check=True,
                                 capture_output=True).stdout
        subprocess.run(["tar", "x", "-C", before], input=archive, check=True)
        (before / "revision").write_text(o.revision)
    different = 0
    for name in sorted(p.stem for p in (ROOT / "examples/demo/primitives").glob("*.cpp") if re.search(o.only, p.stem)):
        old, new = kernels(cubin(o, before, "old", name)), kernels(cubin(o, ROOT, "new", name))
        gone = [k for h in old if h not in new for k in old[h]]
        come = [k for h in new if h not in old for k in new[h]]
        print(f"{name:18} {sum(map(len, old.values())):3} kernels before, {sum(map(len, new.values())):3} now: "
              + ("all the same" if not gone and not come else f"{len(gone)} gone, {len(come)} new"))
        for sign, side in (("-", gone), ("+", come)):
            for kernel, count in sorted(side, key=lambda k: k[1]):
                plain = subprocess.run(["c++filt", kernel], capture_output=True, text=True).stdout.strip()
                print(f"  {sign} {count:6} instructions  {plain[:150]}")
        different += len(gone) + len(come)
        sys.stdout.flush()
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
