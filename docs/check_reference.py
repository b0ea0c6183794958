#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the reference (docs/Doxyfile) builds without a warning, and has a page for what users look for.

usage: check_reference.py [root of the repository]
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[1])
if not shutil.which("doxygen"):
    print("skipped: no doxygen on this machine")
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="pmpp-check-") as folder:
    settings = (root / "docs/Doxyfile").read_text() + f"\nOUTPUT_DIRECTORY = {folder}\n"
    done = subprocess.run(["doxygen", "-"], input=settings, cwd=root, text=True, capture_output=True)
    warnings = [line for line in (done.stdout + done.stderr).splitlines() if "warning:" in line or "error:" in line]
    pages = "".join(path.read_text(errors="replace") for path in Path(folder).glob("html/namespacepmpp*.html"))
    missing = [name for name in ("reduce", "inclusive_scan", "sort_by_key", "gemm", "spmv", "launch")
               if f">{name}</a>" not in pages]
    count = len(list(Path(folder).glob("html/*.html")))
version = subprocess.run(["doxygen", "--version"], capture_output=True, text=True).stdout.strip()
print("\n".join([*warnings, *(f"no entry for pmpp::{name}" for name in missing)]))
print(f"doxygen {version}: {count} pages, {len(warnings)} warnings, {len(missing)} functions missing")
sys.exit(1 if done.returncode or warnings or missing else 0)
