#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every header of pmpp includes only what stands below it.

The rules are the tables below; to change the architecture, change a table, in the commit that needs it.
Prints each offending line as file:line: text, and why. Exit status 1 when there is one.

usage: layering.py [root of the repository]
"""
import fnmatch
import re
import sys
from pathlib import Path

# Layer: its files (below include/pmpp), and the layers that its files may include. From the ground up; a file belongs
# to the first layer that names it.
LAYERS = {
    "core":      (["core/*.hpp"],
                  ["core"]),
    "execution": (["execution.hpp"],
                  ["core"]),
    "simt":      (["simt/block.hpp", "simt/early.hpp", "simt/atomic.hpp", "simt/memory.hpp", "simt/bits.hpp", "simt/match.hpp", "simt/min_max.hpp", "simt/mma.hpp",
                   "simt/wgmma.hpp", "simt/tensor_copy.hpp", "simt/pixel.hpp", "simt/sanitizer.hpp", "simt/cluster.hpp", "simt/groups.hpp", "simt/shared_parts.hpp"],
                  ["core", "execution", "simt"]),
    "machine":   (["simt/*.hpp"],  # cuda_block, emulated_block and what they are made of
                  ["core", "execution", "simt", "machine"]),
    "memory":    (["memory/*.hpp"],
                  ["core", "execution", "simt", "machine", "memory"]),
    "occupancy": (["occupancy.hpp", "performance.hpp"],
                  ["core", "execution", "memory"]),
    "launch":    (["launch.hpp", "launch_together.hpp", "check_each.hpp", "function_of.hpp"],
                  ["core", "execution", "simt", "machine", "launch"]),
    "block":     (["block/*.hpp"],
                  ["core", "execution", "simt", "machine", "block"]),
    "host":      (["host/*.hpp"],
                  ["core", "execution", "host"]),
    "io":        (["io/*.hpp"],
                  ["core", "execution", "memory", "io"]),
    "distributed": (["distributed/*.hpp"],  # several ranks: on top of everything, and below nothing; kernels that one device has no use for
                    ["core", "execution", "simt", "memory", "launch", "block", "host", "algorithm", "distributed"]),
    # The algorithms: the files at the root that no other layer names, and a folder of the same name.
    "algorithm": (["*.hpp", "*/*.hpp"],
                  ["core", "execution", "occupancy", "simt", "memory", "launch", "block", "host", "algorithm"]),
}

# An algorithm may include those to its left, and the files of its own folder. So there is never a circle.
ALGORITHMS = ["control_flow", "transform", "reduce", "reduce_columns", "find", "search", "gather", "elementwise", "random", "merge", "scan", "select", "remove", "rearrange", "three_way_partition", "sets",
              "segmented", "segmented_copy", "by_key", "histogram", "transpose", "gemm", "gemm_grouped", "gemm_scaled",
              "stencil", "convolution", "convolution_layer", "network", "attention", "wavefront", "alignment", "floyd_warshall", "image", "sort", "sort_copy", "nth_element", "segmented_sort", "top_keys", "top_k", "sparse", "sparse_formats", "spmv", "spmm", "bfs"]

# Headers that are neither pmpp's nor the standard library's, and the files that may include them.
EXTERNAL = {
    "cuda_runtime.h":     ["execution.hpp", "launch.hpp", "occupancy.hpp", "memory/*", "simt/cuda_block.hpp",
                           "core/error.hpp"],
    "cuda_runtime_api.h": ["execution.hpp", "launch.hpp", "occupancy.hpp", "memory/*", "simt/cuda_block.hpp",
                           "simt/machine_of.hpp", "core/error.hpp"],
    "cuda_fp16.h":        ["*"],  # types of elements
    "cuda_bf16.h":        ["*"],
    "nvtx3/*":            ["simt/named_range.hpp"],  # with PMPP_NVTX
    "boost/*":            ["simt/fiber.hpp"],
    "ucontext.h":         ["simt/fiber.hpp"],
    "sys/mman.h":         ["simt/fiber.hpp"],
    "sched.h":            ["host/*", "distributed/mpi_communicator.hpp"],
    "time.h":             ["simt/emulator.hpp", "memory/reply.hpp", "host/pool.hpp"],
    "pthread.h":          ["memory/reply.hpp", "host/pool.hpp"],  # <mutex> and <chrono> would cost every user 0.5 s of compile time
    "bits/*":             ["core/text.hpp", "memory/reachable.hpp"],  # parts of <stdexcept>, <functional> and <memory>
    "locale.h":           ["io/lines.hpp"],  # POSIX: the locale of one thread
    "cxxabi.h":           ["simt/emulator.hpp"],
    "unistd.h":           ["simt/fiber.hpp", "memory/raw.hpp", "host/*"],
    "sanitizer/*":        ["simt/fiber.hpp", "simt/emulated_block.hpp"],
    "png.h":              ["io/png.hpp"],
    "zlib.h":             ["io/*"],
    "mpi.h":              ["distributed/mpi_communicator.hpp"],
    "nccl.h":             ["distributed/nccl_communicator.hpp"],
}

# Public headers that need such a library, or types of one, or <string>, which is a fifth of the time to compile pmpp.hpp: pmpp.hpp leaves
# them to those who ask for them.
ASKED_FOR = ["io/*", "memory/dlpack.hpp", "occupancy.hpp"]

# Standard headers that cost every includer more than they give.
TOO_DEAR = ["iostream", "regex", "ranges", "charconv"]

# CUDA's own words: what may stand only in simt/ and launch.hpp.
CUDA_WORDS = re.compile(r"__global__|__shared__|\b(?:threadIdx|blockIdx|blockDim|gridDim)\b|<<<")
MAY_SPEAK_CUDA = ["simt/*", "launch.hpp",
                  "core/check.hpp"]  # a failed check names its block and thread

# The macros that exist. There will be no more (core/config.hpp).
MACROS = {"PMPP_CUDA", "PMPP_DEBUG", "PMPP_WITH_EMULATOR", "PMPP_WITH_BOOST_CONTEXT", "PMPP_NVTX", "PMPP_BACKEND",
          "PMPP_HOST_DEVICE"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def matches(path, patterns):
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


def layer_of(path):
    return next((name for name, (files, _) in LAYERS.items() if matches(path, files)), None)


def algorithm_of(path):
    """scan for scan.hpp, gemm for gemm/wgmma.hpp."""
    return path.split("/")[0].removesuffix(".hpp")


def without_comments(text):
    """The text with comments and string literals blanked, line by line as before."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def why_not(path, included):
    """Why `path` may not include the pmpp header `included`; None where it may."""
    here, there = layer_of(path), layer_of(included)
    if included == "pmpp.hpp":
        return "pmpp.hpp is for programs, not for the library"
    if there not in LAYERS[here][1]:
        return f"{here} may include {', '.join(LAYERS[here][1])}; this is {there}"
    if here == there == "algorithm":
        a, b = algorithm_of(path), algorithm_of(included)
        if a != b and ALGORITHMS.index(b) > ALGORITHMS.index(a):
            return f"{a} is more basic than {b}"
    return None


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    base = root / "include" / "pmpp"
    headers = sorted(p.relative_to(base).as_posix() for p in base.rglob("*.hpp"))
    faults, includes = [], {}

    def fault(path, number, line, reason):
        faults.append(f"include/pmpp/{path}:{number}: {line.strip()}\n    {reason}")

    for path in headers:
        lines = (base / path).read_text().splitlines()
        code = without_comments("\n".join(lines)).splitlines()
        includes[path] = []
        is_algorithm = path != "pmpp.hpp" and layer_of(path) == "algorithm"
        if is_algorithm and algorithm_of(path) not in ALGORITHMS:
            fault(path, 1, path, "an algorithm that is not in ALGORITHMS of this script, or a folder that is no layer")
            continue
        if not lines or lines[0] != "// SPDX-License-Identifier: Apache-2.0":
            fault(path, 1, lines[0] if lines else "", "the first line is not the SPDX line")
        if "#pragma once" not in lines:
            fault(path, 1, lines[0], "no #pragma once")
        if path != "pmpp.hpp" and "namespace pmpp::inline PMPP_BACKEND" not in "\n".join(lines):
            fault(path, 1, lines[0], "does not open namespace pmpp::inline PMPP_BACKEND")

        for number, (line, bare) in enumerate(zip(lines, code), 1):
            if match := re.match(r"^\s*#\s*define\s+(\w+)", bare):
                if match[1] not in MACROS:
                    fault(path, number, line, "a new macro; use a constant, a function or a template")
            if CUDA_WORDS.search(bare) and not matches(path, MAY_SPEAK_CUDA):
                fault(path, number, line, f"CUDA's own words stand only in {', '.join(MAY_SPEAK_CUDA)}")
            if not (bare.strip() and (match := INCLUDE.match(line))):
                continue
            quote, target = match.groups()
            if quote == '"':
                fault(path, number, line, "write #include <pmpp/...>")
            elif target.startswith("pmpp/"):
                target = target.removeprefix("pmpp/")
                includes[path].append(target)
                if target not in headers:
                    fault(path, number, line, "there is no such header")
                elif path != "pmpp.hpp" and (reason := why_not(path, target)):
                    fault(path, number, line, reason)
            elif target in TOO_DEAR:
                fault(path, number, line, f"<{target}> costs every includer too much")
            elif "/" in target or "." in target:
                users = next((u for pattern, u in EXTERNAL.items() if fnmatch.fnmatch(target, pattern)), None)
                if users is None:
                    fault(path, number, line, "a header that is not in EXTERNAL of this script")
                elif not matches(path, users):
                    fault(path, number, line, f"only {', '.join(users)} may include it")

    # No circles; and pmpp.hpp reaches every public header and holds nothing else.
    state = {}

    def visit(path, trail):
        if state.get(path) == "done" or path not in includes:
            return
        if path in trail:
            faults.append("a circle: " + " -> ".join(trail[trail.index(path):] + [path]))
            return
        for target in includes[path]:
            visit(target, trail + [path])
        state[path] = "done"

    for path in headers:
        visit(path, [])
    if "pmpp.hpp" in headers:
        state.clear()
        visit("pmpp.hpp", [])
        for path in headers:
            public = "/" not in path or path.startswith(("core/", "memory/"))
            if public and path not in state and not matches(path, ASKED_FOR):
                faults.append(f"include/pmpp/pmpp.hpp does not include <pmpp/{path}>")
        for line in without_comments((base / "pmpp.hpp").read_text()).splitlines():
            if line.strip() and not line.lstrip().startswith("#"):
                faults.append(f"include/pmpp/pmpp.hpp holds more than includes: {line.strip()}")

    for text in faults:
        print(text)
    count = sum(len(targets) for targets in includes.values())
    print(f"{len(headers)} headers, {count} includes between them, {len(faults)} faults")
    return 1 if faults else 0


sys.exit(main())
