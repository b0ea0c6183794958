# SPDX-License-Identifier: Apache-2.0
"""The block object costs nothing: of zero_cost.cu, the kernel on simt::cuda_block and the one written by hand must need
the same registers and the same PTX instructions, opcode by opcode (moves between names of one value aside)."""
import collections
import re
import sys
from pathlib import Path

from toolchain import Toolchain, skip

tools = Toolchain(__doc__)
if not tools.nvcc:
    skip("no nvcc")
source = Path(__file__).with_name("zero_cost.cu")
ptx = tools.scratch / "zero_cost.ptx"
for flags in (["-O3", "-ptx", "-o", ptx], ["-O3", "-cubin", "-Xptxas", "-v", "-o", tools.scratch / "zero_cost.cubin"]):
    status, output = tools.compile("nvcc", source, *flags)
    if status:
        sys.exit(f"zero_cost.cu does not compile:\n{output}")


def kind(name):
    return "by hand" if "by_hand" in name else "on the block"


instructions = {kind(name): collections.Counter(re.findall(r"^\s+(?:@!?%p\d+ )?([a-z][\w.]*)\s", body, re.M))
                for name, body in re.findall(r"\.entry (\w+)\(.*?\n\{(.*?)\n\}", ptx.read_text(), re.S)}
registers = {kind(name): int(count)
             for name, count in re.findall(r"entry function '(\w+)'.*?Used (\d+) registers", output, re.S)}
for name in sorted(instructions):
    print(f"{name:13} {sum(instructions[name].values()):4} PTX instructions, {registers[name]:3} registers")
hand, block = instructions["by hand"], instructions["on the block"]
different = {op: n for op, n in ((hand - block) + (block - hand)).items() if not op.startswith(("mov", "cvta"))}
if different:
    print("they differ in " + ", ".join(f"{op} ({n})" for op, n in sorted(different.items())))
sys.exit(1 if different or registers["by hand"] != registers["on the block"] else 0)
