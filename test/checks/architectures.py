#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels of every primitive to machine code for every architecture that the library is for, and fails on what
ptxas refuses (more than 48 KB of static shared memory, say) and on registers that spill where none is noted.

The kernels are those of the demonstration, examples/demo/primitives/NAME.cpp: the public functions of each algorithm, with
one or two typical types. Kernels of one architecture alone (wgmma, TMA) leave themselves out elsewhere.
Noted are the spills in test/checks/spills.txt, a line `architecture name kernel bytes` for each kernel, the most bytes of its
instantiations, stores and loads together.

usage: architectures.py [--all] [--only REGEX] [--architectures 80,90a] [--note]

  nothing            a sample, which takes less than a minute
  --all              everything, for a release: half an hour to an hour of one core
  --note             writes what was found to spills.txt, in place of what is noted for the same pairs
"""
import re
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from toolchain import Toolchain, skip

ARCHITECTURES = ("80", "86", "89", "90", "90a", "100", "120")
SAMPLE = (("80", "merge"), ("120", "spmv"))

FUNCTION = re.compile(r"(?:Compiling entry function|Function properties for) '?([\w$.]+)")
SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers.*?(?:, (\d+) bytes smem)?(?:,|$)")


def option(name):
    """The value behind --NAME, taken off the command line, or None."""
    if name not in sys.argv:
        return None
    at = sys.argv.index(name)
    value = sys.argv[at + 1]
    del sys.argv[at:at + 2]
    return value


def flag(name):
    found = name in sys.argv
    if found:
        sys.argv.remove(name)
    return found


def base_of(architecture):
    """As nvcc lists it: 90a as sm_90."""
    return "sm_" + architecture.rstrip("af")


def kernel_of(names):
    """The class of each kernel: merge_kernel of run_kernel<256, pmpp::cuda_build::detail::merge_kernel<int*, ...>, ...>."""
    plain = subprocess.run(["c++filt"], input="\n".join(names), text=True, capture_output=True).stdout.splitlines()
    kernels = {}
    for name, text in zip(names, plain):
        found = (re.search(r"run_kernel<-?\d+, (?:\w+::)*(\w+)", text) or re.search(r"(\w+)[<(]", text)
                 or re.search(r"run_kernelIL.*?detail\d+([a-z_]+_kernel)I", text))  # names too long for c++filt
        kernels[name] = found[1] if found else name
    return kernels


def compile_for(tools, architecture, name):
    """(fault or None, {kernel: bytes spilled}, most registers, most bytes of static shared memory)"""
    source = tools.root / "examples" / "demo" / "primitives" / f"{name}.cpp"
    unit = tools.write(f"{architecture}/{name}.cu", f'#include "{source}"\n')
    status, output = tools.run(
        [tools.nvcc, "-std=c++20", "--extended-lambda", "-O3", "-DPMPP_CUDA=1", f"-I{tools.include}",
         f"-I{tools.root / 'examples' / 'demo'}", f"-gencode=arch=compute_{architecture},code=sm_{architecture}", "-Xptxas=-v",
         "-cubin", unit, "-o", unit.with_suffix(".cubin")])
    if status:
        return output[-3000:], {}, 0, 0
    entry, spilled, registers, shared = None, {}, 0, 0
    for line in output.splitlines():
        if found := FUNCTION.search(line):
            entry = found[1]
        elif (found := SPILLS.search(line)) and (found[1] != "0" or found[2] != "0"):
            spilled[entry] = int(found[1]) + int(found[2])
        elif found := USED.search(line):
            registers = max(registers, int(found[1]))
            shared = max(shared, int(found[2] or 0))
    kernels, worst = kernel_of(list(spilled)), {}
    for name_of_entry, size in spilled.items():
        worst[kernels[name_of_entry]] = max(size, worst.get(kernels[name_of_entry], 0))
    return None, worst, registers, shared


def main():
    everything, note, only = flag("--all"), flag("--note"), option("--only")
    asked = option("--architectures")
    tools = Toolchain(__doc__)
    if not tools.nvcc:
        skip("no nvcc on this machine")
    known = set(tools.run([tools.nvcc, "--list-gpu-code"])[1].split())
    names = sorted(path.stem for path in (tools.root / "examples" / "demo" / "primitives").glob("*.cpp"))
    pairs = [(a, n) for n in names for a in ARCHITECTURES] if everything or only or asked else list(SAMPLE)
    pairs = [(a, n) for a, n in pairs if re.search(only or "", n) and (not asked or a in asked.split(","))]
    for architecture in ARCHITECTURES:
        if base_of(architecture) not in known and any(a == architecture for a, _ in pairs):
            print(f"not compiled for {architecture}: this nvcc does not know it")
    pairs = [(a, n) for a, n in pairs if base_of(a) in known]

    path = tools.root / "test" / "checks" / "spills.txt"
    comments, noted = [], {}
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.startswith("#") or not line:
            comments.append(line)
        else:
            architecture, name, kernel, size = line.split()
            noted[architecture, name, kernel] = int(size)

    faults, found = 0, {}
    with ThreadPoolExecutor(tools.jobs) as pool:
        for (architecture, name), (fault, spilled, registers, shared) in zip(
                pairs, pool.map(lambda pair: compile_for(tools, *pair), pairs)):
            over = {k: b for k, b in spilled.items() if b > noted.get((architecture, name, k), 0)}
            if fault:
                print(f"sm_{architecture:4} {name}: does not compile\n{fault}")
            else:
                print(f"sm_{architecture:4} {name:18} at most {registers:3} registers, {shared:5} bytes of static shared "
                      "memory" + "".join(f"; {k} spills {b} bytes" for k, b in sorted(spilled.items())))
                for kernel, size in spilled.items():
                    found[architecture, name, kernel] = size
            if fault or (over and not note):
                faults += 1
                for kernel, size in over.items():
                    print(f"  {kernel} spills {size} bytes, noted are {noted.get((architecture, name, kernel), 0)}")
            sys.stdout.flush()
    if note:
        done = set(pairs)
        lines = {key: size for key, size in noted.items() if key[:2] not in done} | found
        text = [f"{a} {n} {k} {lines[a, n, k]}" for a, n, k in sorted(lines, key=lambda key: (key[1], key[2], key[0]))]
        path.write_text("\n".join(comments + text) + "\n")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(pairs)} compiled, {faults} faults, {used.ru_utime + used.ru_stime:.0f} s of processor time")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
