#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every public call that takes a policy is measured: its name, or that of its twin `_into`, stands in a program of benchmark/.

  - a call that no program has and that WITHOUT does not know
  - a name of WITHOUT that is no call any more, or that a program has by now

usage: benchmarked.py [root of the repository]
"""
import re
import sys
from pathlib import Path

# Calls that are not measured, and why not.
A_VIEW, ASKS, ANOTHER_NAME, NOT_YET = "makes a view, no pass over memory", "launches nothing", "another name", "not yet"
WITHOUT = {
    "dlpack_matrix": A_VIEW, "dlpack_span": A_VIEW, "dlpack_volume": A_VIEW, "needed_scratch": ASKS, "scratch_bytes": ASKS,
    "prefetch": "a member of managed_buffer: transfers.cu has it", "stable_sort": ANOTHER_NAME + " of sort", "stable_sort_by_key": ANOTHER_NAME + " of sort_by_key",
    "launch_together": "the kernel is the caller's; those of pmpp's that start so are measured with their calls",
    "wavefront_best": "as wavefront_last, but for what is kept", "wavefront_last_column": "as wavefront_last",
    "wavefront_last_row": "as wavefront_last", "gemm_scaled": NOT_YET + ": cublasLt's products of scaled blocks are the peer",
    "if_then": NOT_YET + ": a conditional node of a graph made by hand is the peer",
    "to_coo": NOT_YET, "to_ell": NOT_YET, "to_hybrid": NOT_YET, "to_jds": NOT_YET,
}

root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])


def public_calls(text):
    """Names of functions whose first parameter is the policy, outside of namespaces called detail."""
    open_braces = []
    for found in re.finditer(r"namespace\s+([\w:\s]*?)\s*\{|[{}]|\b(\w+)\(const P& where", re.sub(r"//[^\n]*", "", text)):
        if found[2]:
            if not any("detail" in name for name in open_braces):
                yield found[2]
        elif found[0] == "}":
            if open_braces:
                open_braces.pop()
        else:
            open_braces.append(found[1] or "")


include = root / "include" / "pmpp"
headers = [header for header in include.rglob("*.hpp") if header.parent.name != "distributed"]  # which has benchmarks of its own
calls = {name for header in headers for name in public_calls(header.read_text())}
programs = "\n".join(path.read_text() for pattern in ("*.cu", "*.cpp", "*.hpp") for path in (root / "benchmark").rglob(pattern))
measured = set(re.findall(r"\bpmpp::(\w+)", programs))

faults = []
for name in sorted(calls):
    base = name.removesuffix("_into")
    if measured & {base, base + "_into"}:
        if name in WITHOUT:
            faults.append(f"{name}: measured by now, says this check's list that it is not")
    elif name not in WITHOUT and not (base != name and base in calls):
        faults.append(f"{name}: no program of benchmark/ has it, and this check's list no reason")
faults += [f"{name}: in this check's list, but no call of pmpp's" for name in sorted(set(WITHOUT) - calls)]
print("\n".join([*faults, f"{len(calls)} public calls, {len(WITHOUT)} not measured for a reason, {len(faults)} faults"]))
sys.exit(1 if faults else 0)
