#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every ladder is complete: each rung (a header that begins with its number) is compiled into the ladder's program, which
runs as a test; its page names it and has counts or figures of a GPU; and docs/book_map.md leads to the ladder, to programs that are
run as tests, and to tests.

usage: ladders.py [root of the repository]
"""
import re
import sys
from pathlib import Path

root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]).resolve()
faults = []
book_map = (root / "docs/book_map.md").read_text()


def included(file, seen):
    """`file` and the headers beside it that it includes."""
    if file in seen or not file.exists():
        return seen
    seen.add(file)
    for name in re.findall(r'#include "([^"]+)"', file.read_text()):
        included((file.parent / name).resolve(), seen)
    return seen


ladders = sorted(path for path in (root / "examples/ladder").iterdir() if path.is_dir())
rungs = 0
for ladder in ladders:
    name, page = ladder.name, ladder / "README.md"
    if not (ladder / "main.cpp").exists() or not page.exists():
        faults.append(f"{name}: a ladder has a main.cpp and a README.md")
        continue
    text, parts = page.read_text(), included((ladder / "main.cpp").resolve(), set())
    for rung in sorted(ladder.glob("[0-9]*.hpp")):
        rungs += 1
        if rung.resolve() not in parts:
            faults.append(f"{name}/{rung.name}: not part of the ladder's program")
        if f"({rung.name})" not in text:
            faults.append(f"{name}/{rung.name}: not named by the ladder's README.md")
    if re.search(r"not (yet )?measured|MEASURED", text) or "H100" not in text:
        faults.append(f"{name}/README.md: no figures of a GPU")
    if f"ladder/{name})" not in book_map:
        faults.append(f"docs/book_map.md: does not lead to the ladder {name}")

for target in re.findall(r"\]\(\.\./((?:examples|test)/[^)#]+)\)", book_map):
    file = root / target
    runs = (re.fullmatch(r"examples/(\d\d_\w+|applications/\w+)\.(cpp|cu)", target) or re.fullmatch(r"test/\w+\.(cpp|cu)", target)
            or (root / target / "main.cpp").exists() or target.startswith(("examples/distributed/", "examples/ladder/"))
            or target == "examples/dynamic_parallelism")
    if not file.exists() or not runs:
        faults.append(f"docs/book_map.md: {target} is not run by a test")

for fault in faults:
    print(fault)
print(f"{len(ladders)} ladders, {rungs} rungs, {len(faults)} faults")
sys.exit(1 if faults else 0)
