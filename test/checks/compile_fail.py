#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each mistake in test/compile_fail/*.cpp is refused, shortly and with a sentence of ours.

A case begins with comment lines:
    // expect: a part of the sentence     what the diagnostics must contain; may be repeated
    // cuda                               by g++ in a CUDA program (PMPP_CUDA=1) instead of in a CPU program
    // nvcc                               by nvcc too
    // nvcc alone                         by nvcc only: what runs where is not asked in a CPU program
It must not compile, and the diagnostics may have at most 12 lines.
"""
import sys

from toolchain import Toolchain

MOST_LINES = 12
tools = Toolchain(__doc__)
failed = left_out = 0

jobs = []
for source in sorted((tools.root / "test" / "compile_fail").glob("*.cpp")):
    marks = []
    for line in source.read_text().splitlines():
        if not line.startswith("//"):
            break
        marks.append(line.removeprefix("//").strip())
    expected = [mark.removeprefix("expect:").strip() for mark in marks if mark.startswith("expect:")]
    kinds = (["cuda"] if "cuda" in marks else ["cpu"]) + (["nvcc"] if "nvcc" in marks else [])
    if "nvcc alone" in marks:
        kinds = ["nvcc"]
    left_out += sum(kind not in tools.compilers for kind in kinds)
    jobs += [(source, kind, expected) for kind in kinds if kind in tools.compilers]


def compile_case(job):
    source, kind, _ = job
    flags = ["--cuda", "-o", tools.scratch / f"{source.stem}.ii"] if kind == "nvcc" else ["-fsyntax-only"]
    return tools.compile(kind, source, *flags)


for (source, kind, expected), (status, output) in zip(jobs, tools.each(compile_case, jobs)):
    lines = output.strip().splitlines()
    faults = [f"the diagnostics do not contain '{text}'" for text in expected if text not in output]
    if not expected:
        faults.append("the first line is not '// expect: sentence'")
    if status == 0:
        faults = ["it compiles"]
    if len(lines) > MOST_LINES:
        faults.append(f"{len(lines)} lines of diagnostics, more than {MOST_LINES}")
    print(f"{'FAILED' if faults else 'ok    '} {source.stem} ({kind}): {len(lines)} lines")
    if faults:
        failed += 1
        print("\n".join(["  " + fault for fault in faults] + ["  | " + line for line in lines[:40]]))

print(f"{len(jobs)} compilations, {failed} failed" + (f", {left_out} left out: no nvcc" if left_out else ""))
sys.exit(1 if failed else 0)
