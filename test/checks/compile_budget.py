#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what pmpp costs a CUDA translation unit to compile, against CUB in the same run, and how large the objects are.

Sizes are exact, and so is what headers read: what exceeds its limit is a fault. Seconds are not (user + system CPU seconds of
`nvcc -c`; on a machine that others share two turns of one call differed by a third): each is measured once and printed, "over"
where its ratio to CUB's is above the limit. For a release --all measures pmpp and CUB in turns, up to four times, where the least
counts, and a ratio above its limit is a fault too. Limits are ceilings: they go down with what is measured, and a raise is a
fault of the change that needs it. Where the aim is below the limit it stands beside it.

CUB takes longer than pmpp and does not change with it. So of all that a call is compared with, one is compiled: CUB's sort of pairs.
UNITS says how many times as long the others take, as measured with CUDA 13.0 to a twentieth or so; with --all, and with another
CUDA, each is compiled itself.

    #include <pmpp/...>       against the header of CUB that has the same
    one call of a primitive   against the same through CUB or Thrust; where they have none, against CUB's sort of pairs (Thrust's
                              gather stands for three calls that take as long: 11.8 to 12.2 s each)
    the object of a call      in kB, for one architecture

Also: no header reaches cub/, thrust/, cuda/std, <iostream>, <iterator>, <string>, <regex> or <ranges>; and an object that only includes pmpp,
compiled with -O2, holds nothing that an empty one does not (without it the compiler keeps unused constants).

usage: compile_budget.py [--all] [--only REGEX] [--root DIR] [--nvcc NVCC] [--architecture 90a]

  --all    also the calls that take longest to compile, and each call of CUB, for a release; ratios are limits; prints UNITS
  --only   the calls whose names match, in up to four turns
"""
import os
import re
import subprocess
import sys
import threading

from toolchain import Toolchain, skip

# What is included: pmpp's header, CUB's, the greatest ratio.
UNITS_OF = "release 13.0"
UNITS = {"include reduce": 0.91, "include everything": 1.42, "reduce": 0.89, "scan": 0.85, "copy_if": 0.91, "segmented_reduce": 0.90,
         "reduce_by_key": 0.97, "sort": 1.04, "sort by a comparator": 0.97, "segmented_sort": 1.63, "merge": 0.89, "histogram": 1.05,
         "transform": 1.12, "find": 1.65, "lower_bound": 1.29, "gather": 1.29, "reverse": 1.29, "scan by key": 1.00, "set_union": 1.51,
         "adjacent_difference": 1.29, "fill_random": 1.29, "reduce_columns": 1.29, "repeat_while": 1.29}
INCLUDES = [
    ("reduce", "pmpp/reduce.hpp", "cub/device/device_reduce.cuh", 0.26),
    ("everything", "pmpp/pmpp.hpp", "cub/cub.cuh", 0.37),
]
FORBIDDEN = re.compile(r"(^|/)(cub/|thrust/|cuda/std)|/(iostream|iterator|string|regex|ranges)$")


class Call:
    """A call of pmpp, parameters and text, and the same of CUB, whose calls take scratch first and are made twice, or of Thrust."""

    def __init__(self, name, header, parameters, call, cub_header, cub_parameters, cub_call, ratio, kilobytes, slow=False):
        self.name, self.ratio, self.kilobytes, self.slow = name, ratio, kilobytes, slow
        self.ours = (f"#include <pmpp/{header}>\n#include <pmpp/memory/device_buffer.hpp>\n{FUNCTORS}using namespace pmpp;\n"
                     f"void use({parameters}) {{ {call}; }}\n")
        if cub_header.startswith("thrust/"):
            self.theirs = (f"#include <thrust/execution_policy.h>\n#include <{cub_header}>\n{FUNCTORS}"
                           f"void use({cub_parameters}) {{ {cub_call}; }}\n")
            return
        self.theirs = (f"#include <cub/device/{cub_header}>\n{FUNCTORS}void use({cub_parameters}) {{\n  void* s = nullptr;\n"
                       f"  size_t b = 0;\n  {cub_call};\n  cudaMalloc(&s, b);\n  {cub_call};\n  cudaFree(s);\n}}\n")


FUNCTORS = """struct even { __host__ __device__ bool operator()(int x) const { return x % 2 == 0; } };
struct twice { __host__ __device__ float operator()(float x) const { return 2 * x; } };
struct by_last_digit { __host__ __device__ bool operator()(int x, int y) const { return x % 10 < y % 10; } };
"""
FLOATS, INTS, WORDS = ("const device_buffer<float>& in, device_buffer<float>& out",
                       "const device_buffer<int>& in, device_buffer<int>& out", "device_buffer<unsigned>& v")
SORT_PAIRS = ("device_radix_sort.cuh", "const float* k, float* l, const int* v, int* w, long long n",
              "cub::DeviceRadixSort::SortPairs(s, b, k, l, v, w, n)")
GATHER = ("thrust/gather.h", "const int* in, const int* at, int* out, long n",
          "thrust::gather(thrust::device, at, at + n, in, out)")
MATRICES = "matrix_view<float> a, matrix_view<float> x, matrix_view<float> y"
CSR = "csr_view<const float, int> a, const device_buffer<float>& x, device_buffer<float>& y"
CALLS = [
    # Of the first five aims are 0.5. Of each object 10 to 15 kB, and 1 kB for each further launch, ask for clusters of blocks;
    # 0.4 kB ask once whether there are several GPUs, which saves each launch two calls of CUDA. Of sm_90a, in kB of 1000 bytes, and up
    # to 2 kB above what was measured, as names of temporary files are in objects. transpose: 40 kB for small squares in place.
    Call("reduce", "reduce.hpp", "const device_buffer<float>& in, float& sum", "sum = reduce(device, in)",
         "device_reduce.cuh", "const float* in, float* out, long long n", "cub::DeviceReduce::Sum(s, b, in, out, n)", 0.30, 198),
    Call("scan", "scan.hpp", FLOATS, "inclusive_scan(device, in, out)",
         "device_scan.cuh", "const float* in, float* out, long long n", "cub::DeviceScan::InclusiveSum(s, b, in, out, n)", 0.42, 250),  # a warp's part without checks, of any size
    Call("copy_if", "select.hpp", INTS, "copy_if(device, in, out, even{})",
         "device_select.cuh", "const int* in, int* out, long long* k, long long n",
         "cub::DeviceSelect::If(s, b, in, out, k, n, even{})", 0.36, 294),  # one row of a warp has code of its own
    Call("segmented_reduce", "segmented.hpp", FLOATS + ", const device_buffer<int>& offsets",
         "segmented_reduce(device, in, offsets, out, 0.0f)", "device_segmented_reduce.cuh",
         "const float* in, const int* offsets, float* out, long long m",
         "cub::DeviceSegmentedReduce::Sum(s, b, in, out, m, offsets, offsets + 1)", 0.50, 375),  # short segments have a way of their own, chunks of long ones vectors
    Call("reduce_by_key", "segmented.hpp", INTS + ", const device_buffer<float>& v, device_buffer<float>& w",
         "reduce_by_key(device, in, v, out, w)", "device_reduce.cuh",
         "const int* in, const float* v, int* out, float* w, long long* runs, long long n",
         "cub::DeviceReduce::ReduceByKey(s, b, in, out, v, w, runs, cuda::std::plus<>{}, n)", 0.50, 432),  # code for few vectors
    Call("sort", "sort.hpp", WORDS, "sort(device, v)",
         "device_radix_sort.cuh", "const unsigned* in, unsigned* out, long long n",
         "cub::DeviceRadixSort::SortKeys(s, b, in, out, n)", 0.60, 602),  # aim 350 kB
    Call("sort by a comparator", "sort.hpp", "device_buffer<int>& v", "sort(device, v, by_last_digit{})",
         "device_merge_sort.cuh", "int* v, long long n", "cub::DeviceMergeSort::SortKeys(s, b, v, n, by_last_digit{})", 0.40, 520),  # merges of registers are unrolled for certain: arrays were in memory
    Call("segmented_sort", "segmented_sort.hpp", WORDS + ", const device_buffer<int>& offsets",
         "segmented_sort(device, v, offsets)", "device_segmented_sort.cuh",
         "const unsigned* in, unsigned* out, const int* offsets, long long n, long long m",
         "cub::DeviceSegmentedSort::SortKeys(s, b, in, out, n, m, offsets, offsets + 1)", 0.47, 570),
    Call("merge", "merge.hpp", INTS + ", const device_buffer<int>& more", "merge(device, in, more, out)",
         "device_merge.cuh", "const int* x, const int* y, int* out, long long n, long long m",
         "cub::DeviceMerge::MergeKeys(s, b, x, n, y, m, out)", 0.34, 235),
    Call("histogram", "histogram.hpp", "const device_buffer<float>& in, device_buffer<unsigned>& counts",
         "histogram_even(device, in, counts, 0.0f, 1.0f)", "device_histogram.cuh",
         "const float* in, unsigned* counts, long long n",
         "cub::DeviceHistogram::HistogramEven(s, b, in, counts, 257, 0.0f, 1.0f, n)", 0.32, 300),
    Call("transform", "transform.hpp", FLOATS, "transform(device, in, out, twice{})",
         "device_transform.cuh", "const float* in, float* out, long long n", "cub::DeviceTransform::Transform(in, out, n, twice{})",
         0.22, 131),
    Call("find", "find.hpp", "const device_buffer<float>& in, long& at", "at = find(device, in, 3.0f) - in.begin()",
         "thrust/find.h", "const float* in, long n, long& at", "at = thrust::find(thrust::device, in, in + n, 3.0f) - in", 0.19, 186),
    Call("lower_bound", "search.hpp", FLOATS + ", device_buffer<int>& places", "lower_bound(device, in, out, places)",
         *GATHER, 0.20, 156),  # one value a lane, and four
    Call("gather", "gather.hpp", INTS + ", const device_buffer<int>& at", "gather(device, at, in, out)",
         *GATHER, 0.19, 146),
    Call("reverse", "rearrange.hpp", "device_buffer<int>& v", "reverse(device, v)",
         *GATHER, 0.26, 115),
    Call("scan by key", "by_key.hpp", FLOATS + ", const device_buffer<int>& keys", "inclusive_scan_by_key(device, keys, in, out)",
         "device_scan.cuh", "const float* in, float* out, const int* keys, long long n",
         "cub::DeviceScan::InclusiveSumByKey(s, b, keys, in, out, n, cuda::std::equal_to<>{})", 0.45, 327),  # aim 0.4
    Call("set_union", "sets.hpp", INTS + ", const device_buffer<int>& more", "set_union(device, in, more, out)",
         "thrust/set_operations.h", "const int* a, const int* b, int* out, long n",
         "thrust::set_union(thrust::device, a, a + n, b, b + n, out)", 0.25, 387),  # cuts are searched for twice: in both, and in a block's
    Call("nth_element", "nth_element.hpp", "device_buffer<float>& v", "nth_element(device, v, v.begin() + 5)",
         "device_radix_sort.cuh", "const float* in, float* out, long long n",
         "cub::DeviceRadixSort::SortKeys(s, b, in, out, n)", 1.15, 1090, slow=True),  # of the slow ones the aim is 0.4
    Call("sort_copy", "sort_copy.hpp", FLOATS, "sort_copy(device, in, out)",
         "device_radix_sort.cuh", "const float* in, float* out, long long n",
         "cub::DeviceRadixSort::SortKeys(s, b, in, out, n)", 0.68, 720, slow=True),
    Call("remove", "remove.hpp", "device_buffer<int>& v, long& n", "n = remove(device, v, 7) - v.begin()",
         "thrust/remove.h", "int* v, long n, long& kept", "kept = thrust::remove(thrust::device, v, v + n, 7) - v", 0.28, 312, slow=True),
    Call("three ways", "three_way_partition.hpp", INTS + ", device_buffer<int>& more, device_buffer<int>& rest, device_buffer<int>& counts",
         "three_way_partition_copy_into(device, in, out, more, rest, counts, even{}, even{})", "device_partition.cuh",
         "const int* in, int* out, int* more, int* rest, int* counts, long long n",
         "cub::DevicePartition::If(s, b, in, out, more, rest, counts, n, even{}, even{})", 0.43, 317, slow=True),
    Call("copy_batched", "segmented_copy.hpp",
         "const device_buffer<const char*>& from, device_buffer<char*>& to, const device_buffer<int>& bytes",
         "copy_batched(device, from, to, bytes)", "device_memcpy.cuh",
         "const char** from, char** to, int* bytes, long long n", "cub::DeviceMemcpy::Batched(s, b, from, to, bytes, n)", 0.70, 528, slow=True),
    Call("adjacent_difference", "elementwise.hpp", INTS, "adjacent_difference(device, in, out)", *GATHER, 0.22, 224),  # in place a copy is read
    Call("fill_random", "random.hpp", "device_buffer<float>& v", "fill_random(device, v, normal<float>{}, 7)", *GATHER, 0.20, 132),
    Call("reduce_columns", "reduce_columns.hpp", "matrix_view<const float> m, device_buffer<float>& out",
         "reduce_columns(device, m, out)", *GATHER, 0.20, 200),
    Call("repeat_while", "control_flow.hpp", "device_buffer<int>& left", "repeat_while(device, left, [](auto) {})", *GATHER, 0.23, 250),
    Call("transpose", "transpose.hpp", MATRICES, "transpose(device, a, y)", *SORT_PAIRS, 0.48, 600),
    Call("spmv", "spmv.hpp", CSR, "spmv(device, 1, a, x, 0, y)", *SORT_PAIRS, 0.29, 242),
    Call("spmm", "spmm.hpp", "csr_view<const float, int> a, matrix_view<float> x, matrix_view<float> y",
         "spmm(device, 1, a, x, 0, y)", *SORT_PAIRS, 0.36, 310),
    Call("bfs", "bfs.hpp", "csr_view<const float, int> a, device_buffer<int>& y", "bfs(device, a, 0, y)", *SORT_PAIRS, 0.50, 360),
    Call("convolve", "convolution.hpp", MATRICES, "convolve(device, a, x, y)", *SORT_PAIRS, 1.7, 1500, slow=True),
    Call("top_k", "top_k.hpp", "const device_buffer<float>& in, device_buffer<float>& out, device_buffer<int>& index",
         "top_k(device, in, 100, out, index)", *SORT_PAIRS, 0.95, 1063),  # 4 kB for tiles that are on their way
    Call("gemm", "gemm.hpp", MATRICES, "gemm(device, 1, a, x, 0, y)", *SORT_PAIRS, 4.5, 3400, slow=True),  # aim 20 s, 3 MB
]


def flag(name):
    found = name in sys.argv
    if found:
        sys.argv.remove(name)
    return found


everything = flag("--all")
only = sys.argv.pop(sys.argv.index("--only") + 1) if "--only" in sys.argv else ""
flag("--only")
tools = Toolchain(__doc__)
if not tools.nvcc:
    skip("no nvcc on this machine")
os.chdir(tools.root)  # objects hold the paths of headers: the same ones wherever the library lies
# As CMake compiles. (Of -arch=sm_90a nvcc 13.0 makes PTX twice, for compute_90 too.)
architecture = "-gencode=arch=compute_{0},code=[compute_{0},sm_{0}]".replace("{0}", tools.arguments.architecture)
compiler = [tools.nvcc, "-std=c++20", "-Iinclude", "-DPMPP_CUDA=1", architecture]
faults = []


def build(name, text):
    """The object; the same file name in a folder of its own, because nvcc writes the name into the object."""
    source = tools.write(f"{name.replace(' ', '_')}/unit.cu", text)
    return source, source.with_suffix(".o")


def seconds(name, text):
    source, target = build(name, text)
    with open(target.with_suffix(".log"), "w+", errors="replace") as log:
        nvcc = subprocess.Popen([str(word) for word in [*compiler, "-c", source, "-o", target]], stdout=log, stderr=log)
        _, status, used = os.wait4(nvcc.pid, 0)  # of nvcc and all that it ran
        nvcc.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        if nvcc.returncode:
            raise RuntimeError(f"{name} does not compile:\n{log.read()[-3000:]}")
    return used.ru_utime + used.ru_stime


measured = {}  # seconds of what several are compared with
one_measures = {}  # and the lock of each
unit = next(call.theirs for call in CALLS if call.name == "spmv")  # CUB's sort of pairs
has_units = not everything and UNITS_OF in tools.run([tools.nvcc, "--version"])[1]


def compare(name, ours, theirs, limit):
    """The ratio of both times: of one turn, or of as many as it takes to be within the limit."""
    units = UNITS.get(name, 1) if has_units else 1
    peer = unit if has_units and name in UNITS else theirs
    mine, cub = [], measured.setdefault(peer, [])
    for turn in range(4 if everything or only else 1):
        mine.append(seconds("pmpp " + name, ours))
        with one_measures.setdefault(peer, threading.Lock()):
            if len(cub) <= turn:
                cub.append(seconds("cub " + name, peer))
        if min(mine) <= limit * units * min(cub):
            break
    theirs_took = units * min(cub)
    ratio = min(mine) / theirs_took
    if everything and ratio > limit:
        faults.append(f"{name} takes {ratio:.3f} of CUB's time, the limit is {limit:.3f}")
    return f"{name:24} {min(mine):6.2f} {theirs_took:6.2f} {ratio:6.3f} {limit:6.3f}", "  over" if ratio > limit else ""


def sections(name, text):
    """What the optimised object puts into a program: the size of each section that is loaded."""
    source, target = build(name, text)
    status, output = tools.run([*compiler, "-O2", "-c", source, "-o", target])
    if status:
        sys.exit(f"{name} does not compile:\n{output}")
    table = subprocess.run(["objdump", "-h", "-w", target], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^\s*\d+\s+(\S+)\s+([0-9a-f]+)\s.*\bALLOC\b", table, re.M)
    return {name: int(size, 16) for name, size in rows}


print(f"{'CPU seconds of nvcc -c':24} {'pmpp':>6} {'CUB':>6} {'ratio':>6} {'limit':>6}     kB  limit    "
      f"an empty file: {seconds('empty', ''):.2f} s")
for name, header, theirs, limit in INCLUDES:
    if not re.search(only, name):
        continue
    name, ours = f"include {name}", f"#include <{header}>\n"
    print(*compare(name, ours, f"#include <{theirs}>\n", limit), sep="")
    status, listing = tools.run([*compiler, "-M", build("pmpp " + name, ours)[0]])
    reached = sorted({path for path in re.split(r"[\s\\]+", listing) if FORBIDDEN.search(path)})
    print(f"{name}: {len(set(listing.split()))} files read, {len(reached)} of them forbidden")
    faults += [f"{name} reaches {path}" for path in reached]
    nothing, something = sections("empty", ""), sections("pmpp " + name, ours)
    more = {key: (nothing.get(key, 0), size) for key, size in something.items() if size > nothing.get(key, 0)}
    print(f"{name}: the object holds {'nothing more' if not more else 'MORE'} than an empty one")
    faults += [f"{name} adds to section {key}: {now} bytes, {was} in an empty object" for key, (was, now) in more.items()]


def compare_call(call):
    times, over = compare(call.name, call.ours, call.theirs, call.ratio)
    kilobytes = build("pmpp " + call.name, call.ours)[1].stat().st_size / 1000
    print(f"{times} {kilobytes:6.0f} {call.kilobytes:6}{over}{'  large' if kilobytes > call.kilobytes else ''}", flush=True)
    if kilobytes > call.kilobytes:
        faults.append(f"the object of {call.name} has {kilobytes:.0f} kB, the limit is {call.kilobytes}")


tools.each(compare_call, [call for call in CALLS if re.search(only, call.name) and (everything or only or not call.slow)])
if not everything and not only:
    print("left to --all: " + ", ".join(call.name for call in CALLS if call.slow))
if everything and measured.get(unit):
    print("UNITS: " + ", ".join(f'"{call.name}": {min(measured[call.theirs]) / min(measured[unit]):.2f}' for call in CALLS
                                if measured.get(call.theirs)))
for fault in faults:
    print("FAILED", fault)
sys.exit(1 if faults else 0)
