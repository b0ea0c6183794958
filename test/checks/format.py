#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every tracked source file is as clang-format would write it (.clang-format; version 14 or later).

usage: format.py [--fix] [root of the repository]
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

arguments = [word for word in sys.argv[1:] if word != "--fix"]
root = Path(arguments[0] if arguments else Path(__file__).resolve().parents[2])
names = ["clang-format", *(f"clang-format-{version}" for version in range(21, 13, -1))]
found = next((name for name in names if shutil.which(name)), None)
if not found:
    print("skipped: no clang-format on this machine")
    sys.exit(77)
version = subprocess.run([found, "--version"], capture_output=True, text=True).stdout.strip()
if int(re.search(r"version (\d+)", version)[1]) < 14:
    print(f"skipped: {version} is older than 14")
    sys.exit(77)
tracked = subprocess.run(["git", "-C", root, "ls-files", "*.hpp", "*.cpp", "*.cu", "*.cuh", "*.h"],
                         capture_output=True, text=True)
if tracked.returncode:
    print("skipped: not a git checkout, so there is no list of tracked files")
    sys.exit(77)
files = [root / name for name in tracked.stdout.split() if (root / name).exists()]
if "--fix" in sys.argv:
    sys.exit(subprocess.run([found, "-i", *files]).returncode if files else 0)
# The texts are compared, because --dry-run of clang-format 14 also complains where it would change nothing.
faults = 0
for path in files:
    text = path.read_text()
    wanted = subprocess.run([found, path], capture_output=True, text=True, check=True).stdout
    if text != wanted:
        faults += 1
        pairs = zip(text.splitlines(), wanted.splitlines())
        line = next((n for n, (now, then) in enumerate(pairs, 1) if now != then), len(text.splitlines()))
        print(f"{path.relative_to(root)}:{line}: not as clang-format writes it")
print(f"{len(files)} files, {faults} to mend ({version})")
if faults:
    print("mend them with: test/checks/format.py --fix")
sys.exit(1 if faults else 0)
