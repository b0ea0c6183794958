#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the C++ in README.md and docs/*.md is C++ that is compiled and run elsewhere.

A block ```cpp must follow a line
    <!-- from: examples/NAME.cpp#marker -->
and be equal to what stands in that file between the lines `// [marker]` and `// [end]`, less its indentation.
After a line
    <!-- last column in: examples/NAME.cpp -->
each code span in the last column of the table must occur in that file.

usage: check_snippets.py [--fix] [root of the repository]     --fix writes the blocks as the files have them
"""
import re
import sys
import textwrap
from pathlib import Path

arguments = [word for word in sys.argv[1:] if word != "--fix"]
root = Path(arguments[0] if arguments else Path(__file__).resolve().parents[1])
faults, snippets = [], 0


def region(name, marker):
    lines = (root / name).read_text().splitlines()
    begin = next((i for i, line in enumerate(lines) if line.strip() == f"// [{marker}]"), None)
    if begin is None:
        return None
    end = next(i for i, line in enumerate(lines) if i > begin and line.strip() == "// [end]")
    return textwrap.dedent("\n".join(lines[begin + 1:end])) + "\n"


for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
    text = page.read_text()

    def check(match):
        global snippets
        place = f"{page.relative_to(root)}:{text[:match.start()].count(chr(10)) + 1}"
        snippets += 1
        if match["file"] is None:
            faults.append(f"{place}: a block of C++ that is not marked with the file it comes from")
            return match[0]
        if not (root / match["file"]).exists() or (wanted := region(match["file"], match["marker"])) is None:
            faults.append(f"{place}: there is no region [{match['marker']}] in {match['file']}")
            return match[0]
        if match["body"] != wanted:
            faults.append(f"{place}: differs from {match['file']}#{match['marker']}")
        return match[0].replace(match["body"] + "```", wanted + "```") if match["body"] else match[0][:-3] + wanted + "```"

    fixed = re.sub(r"(?:^<!-- from: (?P<file>[^#\s]+)#(?P<marker>\S+) -->\n)?^```cpp\n(?P<body>.*?)^```", check, text,
                   flags=re.M | re.S)
    if "--fix" in sys.argv and fixed != text:
        page.write_text(fixed)
    for match in re.finditer(r"^<!-- last column in: (\S+) -->\n+((?:\|.*\n)+)", text, re.M):
        source = " ".join((root / match[1]).read_text().split())
        for row in match[2].splitlines()[2:]:
            for span in re.findall(r"`([^`]+)`", row.strip("| ").split(" | ")[-1]):
                snippets += 1
                if " ".join(span.split()) not in source:
                    faults.append(f"{page.relative_to(root)}: `{span}` is not in {match[1]}")

if "--fix" in sys.argv:
    faults = [fault for fault in faults if "differs from" not in fault]
print("\n".join([*faults, f"{snippets} snippets, {len(faults)} wrong"]))
sys.exit(1 if faults else 0)
