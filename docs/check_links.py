#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the links of all Markdown files: the file is there, and so is the heading after a #. Web addresses are not fetched.

Also: the page of each primitive links its code, and has a contract, a picture and figures; files that headers name as examples are there; every picture in docs/images is shown somewhere, and is well-formed, with
a title and colours for dark backgrounds.

usage: check_links.py [root of the repository]
"""
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]).resolve()
tracked = subprocess.run(["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
                         capture_output=True, text=True)
pages = ([root / name for name in tracked.stdout.splitlines()] if tracked.returncode == 0 else
         [path for path in root.rglob("*.md") if "build" not in path.relative_to(root).parts[0]])
faults, links, shown = [], 0, set()


def anchors(page):
    """The headings of a page, as links name them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading)).strip().lower().replace(" ", "-") for heading in headings}


for page in pages:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    for match in re.finditer(r"!?\[[^\]]*\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        address, _, heading = match[1].partition("#")
        if re.match(r"[a-z]+:", address):
            continue
        links += 1
        target = (page.parent / address).resolve() if address else page
        shown.add(target)
        if not target.exists():
            faults.append(f"{page.relative_to(root)}: there is no {match[1]}")
        elif heading and target.suffix == ".md" and heading not in anchors(target):
            faults.append(f"{page.relative_to(root)}: {address or 'the page'} has no heading #{heading}")
for name in re.findall(r"^\| \[\w+\]\(docs/(\w+)\.md\)", (root / "README.md").read_text(), re.M):
    text = (root / f"docs/{name}.md").read_text()
    wanted = ["](../include/pmpp/", "\n## Contract\n", *(["](images/", "\n## Measured\n"] if name != "launch" else [])]
    faults += [f"docs/{name}.md has no {want.strip()}" for want in wanted if want not in text]
pictures = sorted((root / "docs/images").glob("*.svg"))
for picture in pictures:
    name = picture.relative_to(root)
    if picture not in shown:
        faults.append(f"{name} is shown on no page")
    try:
        tree = xml.parse(picture).getroot()
    except xml.ParseError as error:
        faults.append(f"{name}: {error}")
        continue
    if not tree.findtext("{http://www.w3.org/2000/svg}title"):
        faults.append(f"{name} has no title")
    if "prefers-color-scheme: dark" not in picture.read_text():
        faults.append(f"{name} has no colours for dark backgrounds")
for header in sorted((root / "include").rglob("*.hpp")):
    for match in re.finditer(r"\b(?:test|examples|benchmark|docs)/[\w/.-]+\.(?:cpp|cu|hpp|md)\b", header.read_text()):
        links += 1
        if not (root / match[0]).exists():
            faults.append(f"{header.relative_to(root)}: there is no {match[0]}")
print("\n".join([*faults, f"{len(pages)} pages, {links} links, {len(pictures)} pictures, {len(faults)} faults"]))
sys.exit(1 if faults else 0)
