#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks how much a reader has to read to understand one primitive, from the public call down to the shuffle.

The rule. Whole files are counted, every line: comments, documentation and blank lines too. For an algorithm these are
  - its header, and the files of a folder of the same name,
  - every block/ header that these include, directly or through other block/ headers,
  - simt/mma.hpp and simt/wgmma.hpp, where they are included,
  - launch.hpp and simt/cuda_block.hpp, each once.
Not counted: other algorithms it calls (known by then), core/ and memory/ (words without machinery), simt/block.hpp (the
table of equivalents), simt/atomic.hpp, simt/memory.hpp and simt/pixel.hpp (named instructions), host/ and the emulator (not needed to
understand the GPU path).

reading_ceilings.txt has the ceiling of each: `name lines`, then a reason if the last change raised it. A sum above its
ceiling fails, and so do a ceiling that stands more than 10 lines above its sum (--lower writes what is needed), and, where
there is a git history, one that rose without a reason.

usage: reading_budget.py [--lower] [root of the repository]
"""
import re
import subprocess
import sys
from pathlib import Path

NO_ALGORITHM = {"pmpp", "execution", "launch", "launch_together", "check_each", "function_of", "occupancy"}
COUNTED = r"^\s*#\s*include\s*<pmpp/(block/[^>]+|simt/w?g?mma\.hpp)>"
SLACK = 10


def read(text):
    """{name: (lines, reason)}"""
    rows = [line.split(maxsplit=2) for line in text.splitlines() if line and not line.startswith("#")]
    return {row[0]: (int(row[1]), row[2] if len(row) > 2 else "") for row in rows}


def ceilings_before(root, path):
    """Those of the commit before the last change, and those of the last commit; nothing without git."""
    def git(*words):
        return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True)
    commits = git("log", "-n", "2", "--format=%H", "--", path)
    if commits.returncode != 0 or len(commits.stdout.split()) == 0:
        return {}
    now, *older = commits.stdout.split()
    changed = git("diff", "--quiet", "HEAD", "--", path).returncode != 0
    before = now if changed else (older[0] if older else now)
    return read(git("show", f"{before}:{path}").stdout)


def main():
    words = [word for word in sys.argv[1:] if word != "--lower"]
    root = Path(words[0] if words else Path(__file__).resolve().parents[2])
    base = root / "include" / "pmpp"
    table = "test/checks/reading_ceilings.txt"
    text = (root / table).read_text()
    ceilings, before = read(text), ceilings_before(root, table)

    def length(path):
        return len((base / path).read_text().splitlines())

    def counted_headers(path, seen):
        for target in re.findall(COUNTED, (base / path).read_text(), re.M):
            if target not in seen and (base / target).exists():
                seen.add(target)
                counted_headers(target, seen)
        return seen

    below = length("launch.hpp") + length("simt/cuda_block.hpp")
    faults = 0
    print(f"{'':18} {'own':>5} {'others':>6} {'launch':>6} {'sum':>5} {'ceiling':>7}")
    for header in sorted(base.glob("*.hpp")):
        name = header.stem
        if name in NO_ALGORITHM:
            continue
        own = [path.relative_to(base) for path in [header] + sorted((base / name).rglob("*.hpp"))]
        others = set()
        for path in own:
            counted_headers(path, others)
        total = sum(map(length, own)) + sum(map(length, others)) + below
        ceiling, reason = ceilings.get(name, (0, ""))
        if "--lower" in sys.argv and (total < ceiling or name not in ceilings):
            ceilings[name] = (ceiling, reason) = (total, "")
        verdict = ""
        if total > ceiling:
            verdict = f"  over by {total - ceiling}" if ceiling else "  has no ceiling"
        elif ceiling - total > SLACK:
            verdict = f"  the ceiling is {ceiling - total} too high: --lower"
        elif name in before and ceiling > before[name][0] and not reason:
            verdict = f"  raised from {before[name][0]} without a reason"
        faults += bool(verdict)
        print(f"{name:18} {sum(map(length, own)):5} {sum(map(length, others)):6} {below:6} {total:5} {ceiling or '-':>7}{verdict}")
        if verdict:
            print(" " * 19 + ", ".join(f"{path} {length(path)}" for path in [*own, *sorted(others)]))
    if "--lower" in sys.argv:
        head = "".join(line + "\n" for line in text.splitlines() if line.startswith("#"))
        rows = (f"{name} {lines} {reason}".rstrip() + "\n" for name, (lines, reason) in sorted(ceilings.items()))
        (root / table).write_text(head + "".join(rows))
    return 1 if faults else 0


sys.exit(main())
