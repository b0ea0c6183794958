#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what pmpp costs a CUDA translation unit to compile, against CUB in the same run.

Measured: user + system CPU seconds of `nvcc -c`, the least of five runs, one compiler at a time, pmpp and CUB in turns,
so that what else the machine does slows both. Seconds differ from machine to machine, so the limits are ratios. Of the
first two, whose targets stand here, what is held is 0.42 (measured 0.36 and 0.38, half of it the standard headers):
    #include <pmpp/reduce.hpp>      at most 2.0 / 5.5 of  #include <cub/device/device_reduce.cuh>
    one call of pmpp::reduce        at most 1 / 3     of  the same sum through cub::DeviceReduce
    #include <pmpp/pmpp.hpp>        at most 3.0 / 8.1 of  #include <cub/cub.cuh>
Also: neither header reaches cub/, thrust/, cuda/std, <iostream>, <regex> or <ranges>; and an object that only includes
pmpp, compiled with -O2, holds nothing that an empty one does not (without it the compiler keeps unused constants).
"""
import re
import resource
import subprocess
import sys

from toolchain import Toolchain, skip

RUNS = 5
PMPP_CALL = """#include <pmpp/reduce.hpp>
#include <pmpp/memory/device_buffer.hpp>
float sum(const pmpp::device_buffer<float>& in) { return pmpp::reduce(pmpp::device, in); }
"""
CUB_CALL = """#include <cub/device/device_reduce.cuh>
float sum(const float* in, long long count) {
  float* out = nullptr;
  void* scratch = nullptr;
  std::size_t bytes = 0;
  float result = 0;
  cub::DeviceReduce::Sum(scratch, bytes, in, out, count);
  cudaMalloc(&scratch, bytes);
  cudaMalloc(&out, sizeof(float));
  cub::DeviceReduce::Sum(scratch, bytes, in, out, count);
  cudaMemcpy(&result, out, sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(out);
  cudaFree(scratch);
  return result;
}
"""
# pmpp's translation unit, CUB's, the greatest ratio
PAIRS = [
    ("include reduce", "#include <pmpp/reduce.hpp>\n", "#include <cub/device/device_reduce.cuh>\n", 0.42),  # target 2.0 / 5.5
    ("call reduce", PMPP_CALL, CUB_CALL, 0.42),  # target 1 / 3
    ("include everything", "#include <pmpp/pmpp.hpp>\n", "#include <cub/cub.cuh>\n", 3.0 / 8.1),
]
FORBIDDEN = re.compile(r"(^|/)(cub/|thrust/|cuda/std)|/(iostream|regex|ranges)$")

tools = Toolchain(__doc__)
if not tools.nvcc:
    skip("no nvcc on this machine")
compiler = [tools.nvcc, "-std=c++20", f"-I{tools.include}", "-DPMPP_CUDA=1", f"-arch=sm_{tools.arguments.architecture}"]
faults = []


def build(name, text):
    """The object; the same file name in a folder of its own, because nvcc writes the name into the object."""
    source = tools.write(f"{name.replace(' ', '_')}/unit.cu", text)
    return source, source.with_suffix(".o")


def seconds(name, text):
    source, target = build(name, text)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    status, output = tools.run([*compiler, "-c", source, "-o", target])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if status:
        sys.exit(f"{name} does not compile:\n{output}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def least_seconds(*units):
    """For each (name, text) the least time of its runs; the units take turns."""
    return [min(times) for times in zip(*([seconds(*unit) for unit in units] for _ in range(RUNS)))]


def sections(name, text):
    """What the optimised object puts into a program: the size of each section that is loaded."""
    source, target = build(name, text)
    status, output = tools.run([*compiler, "-O2", "-c", source, "-o", target])
    if status:
        sys.exit(f"{name} does not compile:\n{output}")
    table = subprocess.run(["objdump", "-h", "-w", target], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^\s*\d+\s+(\S+)\s+([0-9a-f]+)\s.*\bALLOC\b", table, re.M)
    return {name: int(size, 16) for name, size in rows}


empty, = least_seconds(("empty", ""))
print(f"{'CPU seconds of nvcc -c':24} {'pmpp':>6} {'CUB':>6} {'ratio':>6} {'limit':>6}    an empty file: {empty:.2f} s")
present = [pair for pair in PAIRS if all((tools.include / header).exists()
                                         for header in re.findall(r"<(pmpp/[^>]+)>", pair[1]))]
for name, ours, theirs, limit in present:
    mine, cub = least_seconds(("pmpp " + name, ours), ("cub " + name, theirs))
    over = mine > limit * cub
    print(f"{name:24} {mine:6.2f} {cub:6.2f} {mine / cub:6.3f} {limit:6.3f}{'  over' if over else ''}")
    if over:
        faults.append(f"{name} takes {mine / cub:.3f} of CUB's time, the limit is {limit:.3f}")

for name, ours, _, _ in present:
    if not name.startswith("include"):
        continue
    source, _ = build("pmpp " + name, ours)
    status, listing = tools.run([*compiler, "-M", source])
    reached = sorted({path for path in re.split(r"[\s\\]+", listing) if FORBIDDEN.search(path)})
    print(f"{name}: {len(set(listing.split()))} files read, {len(reached)} of them forbidden")
    faults += [f"{name} reaches {path}" for path in reached]
    nothing, something = sections("empty", ""), sections("pmpp " + name, ours)
    more = {key: (nothing.get(key, 0), size) for key, size in something.items() if size > nothing.get(key, 0)}
    print(f"{name}: the object holds {'nothing more' if not more else 'MORE'} than an empty one")
    faults += [f"{name} adds to section {key}: {now} bytes, {was} in an empty object" for key, (was, now) in more.items()]

if len(present) < len(PAIRS):
    print("left out, no such header yet: " + ", ".join(pair[0] for pair in PAIRS if pair not in present))
for fault in faults:
    print("FAILED", fault)
sys.exit(1 if faults else 0)
