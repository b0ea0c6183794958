#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names what got slower between two benchmark reports.

usage: bench_compare.py BEFORE.json AFTER.json [--limit 5]

Exit status: 0, nothing got slower by more than the limit (per cent); 1, something did; 2, nothing can be compared.
"""
import argparse
import json
import sys
from pathlib import Path


def times(path):
    """(program, case, n) -> (microseconds of pmpp, spread in per cent); the device."""
    document = json.loads(Path(path).read_text())
    found = {(program["name"], case["name"], case["n"]): (case["pmpp_us"], case.get("spread_%", 0.0))
             for program in document["programs"] for case in program["cases"] if case.get("pmpp_us", 0) > 0}
    return found, document["machine"].get("gpu", {}).get("name", document["machine"].get("cpu", ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--limit", type=float, default=5.0, help="per cent")
    options = parser.parse_args()
    try:
        (before, machine_before), (after, machine_after) = times(options.before), times(options.after)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        print(f"not a report: {error}", file=sys.stderr)
        return 2
    common = before.keys() & after.keys()
    if not common:
        print("the two reports have no case in common", file=sys.stderr)
        return 2
    if machine_before != machine_after:
        print(f"note: measured on two kinds of machine, {machine_before} and {machine_after}")
    changes = sorted(((after[key][0] / before[key][0] - 1) * 100, key) for key in common)
    slower = [(change, key) for change, key in reversed(changes) if change > options.limit]
    faster = sum(change < -options.limit for change, _ in changes)
    for change, key in slower:
        (old, spread_old), (new, spread_new) = before[key], after[key]
        noise = ", within the spread of its samples" if change < max(spread_old, spread_new) else ""
        print(f"slower by {change:6.1f} %  {key[0]}: {key[1]}, n = {key[2]}: {old:g} µs before, {new:g} µs after{noise}")
    for what, keys in (("only before", before.keys() - common), ("only after", after.keys() - common)):
        if keys:
            print(f"{what}: {len(keys)} cases, {', '.join(sorted({key[0] for key in keys}))}")
    print(f"{len(common)} cases compared, limit {options.limit:g} %: {len(slower)} slower, {faster} faster")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
