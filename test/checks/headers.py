#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every header compiles alone, without warnings, and that two objects with all of them link.

alone    #include <pmpp/X.hpp> and nothing else: by g++ in a CUDA program, by g++ in a CPU program, by nvcc. A header
         that leans on what its includer happened to include fails. In a CUDA program cuda_runtime.h comes first, as
         nvcc has it, and precompiled. So nvcc by itself compiles those alone that ask who compiles them (#if): of
         the others it sees what g++ has seen in a CUDA program, and "twice" shows nvcc's own objections. With nvcc
         at hand a CPU program compiles alone those that ask, and those that do not reach the emulator: what reaches
         it has most of the standard library from there, so that the CUDA program is the one that misses an include.
twice    a translation unit that includes every header, linked with itself: a function that is neither inline nor a template is
         a duplicate symbol.
"""
import re
import shutil
import sys
import time

from toolchain import Toolchain

tools = Toolchain(__doc__)
headers = tools.headers()
failed = 0
sound = set()  # the kinds of program in which every header compiles alone
known = tools.write("known.hpp", "#include <cuda_runtime.h>\n")


def asks(header):
    return re.search(r"^\s*#\s*(if|elif)", (tools.include / header).read_text(), re.M)


def reaches(header, target, seen):
    """Whether `header` includes `target`, whatever stands between."""
    if header in seen:
        return False
    seen.add(header)
    included = re.findall(r"^\s*#\s*include <(pmpp/[^>]+)>", (tools.include / header).read_text(), re.M)
    return target in included or any(reaches(other, target, seen) for other in included)


def chosen_of(kind):
    if kind == "nvcc":
        return list(filter(asks, headers))
    if kind == "cpu" and "cuda" in tools.compilers:
        return [header for header in headers if asks(header) or not reaches(header, "pmpp/simt/emulator.hpp", set())]
    return headers


def alone(job):
    kind, header = job
    source = tools.write(f"{kind}/{header.replace('/', '_')}.cpp", f"#include <{header}>\n")
    # For nvcc the device compiler alone, which reads host code too and is its fastest part; "twice" runs all of nvcc.
    flags = {"cpu": ["-fsyntax-only"], "cuda": ["-fsyntax-only", "-include", known],
             "nvcc": ["-ptx", "-o", source.with_suffix(".ptx")]}[kind]
    return tools.compile(kind, source, *flags)


def report(kind, name, status, output):
    global failed
    if status:
        failed += 1
        lines = output.splitlines()
        print("\n".join([f"FAILED {name} ({kind})", *lines[:12], *(["..."] if len(lines) > 12 else [])]))


for kind in tools.compilers:
    start, before = time.monotonic(), failed
    if kind == "cuda":  # read instead of its source from now on
        report(kind, known.name, *tools.compile(kind, known, "-x", "c++-header", "-o", known.with_suffix(".hpp.gch")))
    chosen = chosen_of(kind)
    for header, (status, output) in zip(chosen, tools.each(alone, [(kind, header) for header in chosen])):
        report(kind, header, status, output)
    if failed == before:
        sound.add(kind)
    print(f"alone  {kind:5} {len(chosen)} headers, {time.monotonic() - start:.0f} s")

everything = "".join(f"#include <{header}>\n" for header in headers)
for kind in filter(sound.__contains__, tools.compilers):
    start = time.monotonic()
    source, program = tools.write("twice.cpp", everything), tools.write("main.cpp", "int main() {}\n")
    once, again = source.with_suffix(f".{kind}.o"), source.with_suffix(f".{kind}.again.o")
    status, output = tools.compile(kind, source, "-c", "-o", once)
    report(kind, source.name, status, output)
    if not status:
        shutil.copy(once, again)
        report(kind, "every header twice", *tools.link(kind, program, once, again))
    print(f"twice  {kind:5} {time.monotonic() - start:.0f} s")

if "nvcc" not in tools.compilers:
    print("the CUDA halves were left out: no nvcc on this machine")
print(f"{failed} failed")
sys.exit(1 if failed else 0)
