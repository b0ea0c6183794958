#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up CTest's JUnit files: names what failed and what was skipped and why, then one closing line.

usage: summary.py FOLDER TREE...     reads FOLDER/TREE.xml and FOLDER/broken (a line per step that failed as a whole)
"""
import sys
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path

folder, trees = Path(sys.argv[1]), sys.argv[2:]
count = Counter()
for tree in trees:
    report = folder / f"{tree}.xml"
    if not report.exists():
        print(f"failed   {tree}: no test ran")
        count["failed"] += 1
        continue
    for case in xml.parse(report).getroot().iter("testcase"):
        status = {"run": "passed", "fail": "failed"}.get(case.get("status"), "skipped")
        output = (case.findtext("system-out") or "").strip().splitlines()
        reason = ""
        if status == "skipped":
            reason = next((line for line in output if line.startswith("skipped")), output[0] if output else "")
            skipped = case.find("skipped")
            if skipped is None or not skipped.get("message", "").startswith("SKIP_"):
                status = "failed"  # it could not start: it was not built, say
        count[status] += 1
        if status != "passed":
            print(f"{status:8} {tree}/{case.get('name')}" + (f": {reason.removeprefix('skipped: ')}" if reason else ""))
for line in (folder / "broken").read_text().splitlines():
    print("failed  ", line)
    count["failed"] += 1
print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
sys.exit(1 if count["failed"] or not count["passed"] else 0)
