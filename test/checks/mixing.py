#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a program cannot mix objects with and without CUDA: it must not link.

pmpp::device_buffer is GPU memory in a CUDA program and plain memory in a CPU program. A function that takes one is
defined in one object and called in another. Of the same kind they link (the control); of different kinds the linker
must miss a symbol whose name says cpu_build or cuda_build.
"""
import re
import sys

from toolchain import Toolchain, skip

tools = Toolchain(__doc__)
if "cuda" not in tools.compilers:
    skip("no nvcc on this machine, so there is no CUDA program to mix with")
if not (tools.base / "memory" / "device_buffer.hpp").exists():
    skip("no pmpp/memory/device_buffer.hpp yet")

declaration = "#include <pmpp/memory/device_buffer.hpp>\nvoid use(pmpp::device_buffer<float>&);\n"
definition = tools.write("definition.cpp", declaration + "void use(pmpp::device_buffer<float>&) {}\n")
call = tools.write("call.cpp", declaration + "int main() {\n  pmpp::device_buffer<float> buffer;\n  use(buffer);\n}\n")
kinds = list(tools.compilers)
objects = {(kind, source): tools.compile_object(kind, source) for kind in kinds for source in (definition, call)}

failed = 0
for caller in kinds:
    for callee in kinds:
        status, output = tools.link("cpu" if (caller, callee) == ("cpu", "cpu") else "cuda", objects[caller, call],
                                    objects[callee, definition])
        same = (caller == "cpu") == (callee == "cpu")
        missing = re.search(r"undefined reference to `(use\(pmpp::\w+::device_buffer<.*\))'", output)
        good = status == 0 if same else status != 0 and missing
        verdict = "links" if status == 0 else f"refused, no {missing[1]}" if missing else f"failed:\n{output}"
        print(f"{'ok    ' if good else 'FAILED'} {caller:4} calls {callee:4}: {verdict}")
        failed += not good
sys.exit(1 if failed else 0)
