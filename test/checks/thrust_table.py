#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the table "Every algorithm of Thrust" in docs/guide.md has each of them, with a call or with the reason why not.

  - a name of ALGORITHMS that the table has not, or twice, or a row for a name that is none
  - a row whose last column is empty; a call of a function that no header of pmpp has
  - where a CUDA toolkit is found: a function in one of HEADERS of its Thrust that ALGORITHMS has not, or one that is gone

So a gap is seen here, and so is an algorithm that a later Thrust adds.

usage: thrust_table.py [root of the repository]
"""
import os
import re
import shutil
import sys
from pathlib import Path

# Thrust's algorithms, by header (CCCL 3.0, CUDA 13.0).
ALGORITHMS = {
    "adjacent_difference": ["adjacent_difference"],
    "binary_search": ["binary_search", "equal_range", "lower_bound", "upper_bound"],
    "copy": ["copy", "copy_if", "copy_n"],
    "count": ["count", "count_if"],
    "equal": ["equal"],
    "extrema": ["max_element", "min_element", "minmax_element"],
    "fill": ["fill", "fill_n"],
    "find": ["find", "find_if", "find_if_not"],
    "for_each": ["for_each", "for_each_n"],
    "gather": ["gather", "gather_if"],
    "generate": ["generate", "generate_n"],
    "inner_product": ["inner_product"],
    "logical": ["all_of", "any_of", "none_of"],
    "merge": ["merge", "merge_by_key"],
    "mismatch": ["mismatch"],
    "partition": ["is_partitioned", "partition", "partition_copy", "partition_point", "stable_partition",
                  "stable_partition_copy"],
    "reduce": ["reduce", "reduce_by_key"],
    "remove": ["remove", "remove_copy", "remove_copy_if", "remove_if"],
    "replace": ["replace", "replace_copy", "replace_copy_if", "replace_if"],
    "reverse": ["reverse", "reverse_copy"],
    "scan": ["exclusive_scan", "exclusive_scan_by_key", "inclusive_scan", "inclusive_scan_by_key"],
    "scatter": ["scatter", "scatter_if"],
    "sequence": ["sequence"],
    "set_operations": ["set_difference", "set_difference_by_key", "set_intersection", "set_intersection_by_key",
                       "set_symmetric_difference", "set_symmetric_difference_by_key", "set_union", "set_union_by_key"],
    "shuffle": ["shuffle", "shuffle_copy"],
    "sort": ["is_sorted", "is_sorted_until", "sort", "sort_by_key", "stable_sort", "stable_sort_by_key"],
    "swap": ["swap_ranges"],
    "tabulate": ["tabulate"],
    "transform": ["transform", "transform_if"],
    "transform_reduce": ["transform_reduce"],
    "transform_scan": ["transform_exclusive_scan", "transform_inclusive_scan"],
    "uninitialized_copy": ["uninitialized_copy", "uninitialized_copy_n"],
    "uninitialized_fill": ["uninitialized_fill", "uninitialized_fill_n"],
    "unique": ["unique", "unique_by_key", "unique_by_key_copy", "unique_copy", "unique_count"],
}
# Headers of Thrust that hold no algorithms: types, memory, iterators.
OTHERS = """addressof advance allocate_unique complex device_allocator device_delete device_free device_make_unique device_malloc
device_malloc_allocator device_new device_new_allocator device_ptr device_reference device_vector distance execution_policy functional
host_vector memory pair per_device_resource random system_error tuple universal_allocator universal_ptr universal_vector version
zip_function""".split()
NOT_ALGORITHMS = {"swap", "get", "make_pair", "make_tuple", "tie"}

root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
faults = []
names = [name for group in ALGORITHMS.values() for name in group]

guide = (root / "docs" / "guide.md").read_text()
table = re.search(r"^\| Thrust \| pmpp \|\n\| --- \| --- \|\n((?:\|.*\n)+)", guide, re.M)
rows = {}
for line in (table[1] if table else "").splitlines():
    cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
    name = cells[0].strip("`")
    if name in rows:
        faults.append(f"docs/guide.md: {name} has two rows")
    rows[name] = cells[1] if len(cells) > 1 else ""
headers = "\n".join(path.read_text() for path in sorted((root / "include" / "pmpp").rglob("*.hpp")))
for name in names:
    if not rows.get(name):
        faults.append(f"docs/guide.md: no call, and no reason why there is none, for thrust::{name}")
for name, cell in rows.items():
    if name not in names:
        faults.append(f"docs/guide.md: Thrust has no {name}, says this check")
    for call in re.findall(r"`(\w+)\(where", cell):
        if not re.search(rf"\b{call}\(const P& where", headers):
            faults.append(f"docs/guide.md: pmpp has no {call}, which stands for thrust::{name}")


def thrust():
    """The folder of Thrust's headers, if this machine has a CUDA toolkit."""
    nvcc = shutil.which("nvcc")
    homes = [os.environ.get("CUDA_HOME"), Path(nvcc).resolve().parents[1] if nvcc else None, "/usr/local/cuda"]
    for home in filter(None, homes):
        for below in ["include/cccl/thrust", "include/thrust", "targets/x86_64-linux/include/cccl/thrust"]:
            if (Path(home) / below / "sort.h").exists():
                return Path(home) / below
    return None


found = thrust()
if found:
    for header in sorted(path.stem for path in found.glob("*.h")):
        if header not in ALGORITHMS and header not in OTHERS:
            faults.append(f"{found}/{header}.h: a header that this check does not know")
    for header, known in ALGORITHMS.items():
        if not (found / f"{header}.h").exists():
            faults.append(f"{found}: no {header}.h any more")
            continue
        text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", (found / f"{header}.h").read_text(), flags=re.S)
        # A declaration at namespace scope: the name stands before its parameters, after a type.
        text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
        declared = set(re.findall(r"^[\w:<>&*,\s]*?[\w>&*]\s+(?:\w+\s+)?([a-z_]\w*)\s*\(\s*(?:$|const|[A-Z]\w*\s)", text, re.M))
        declared -= NOT_ALGORITHMS
        for name in sorted(declared - set(names)):
            faults.append(f"{found}/{header}.h: {name} is not in this check's list")
        for name in known:
            if not re.search(rf"\b{name}\s*\(", text):
                faults.append(f"{found}/{header}.h: no {name}, which this check lists")

print("\n".join([*faults, f"{len(names)} algorithms of Thrust, {len(rows)} rows, "
                          f"{'compared with ' + str(found) if found else 'no Thrust here to compare with'}, {len(faults)} faults"]))
sys.exit(1 if faults else 0)
