#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws weak and strong scaling on several GPUs from what bench_distributed and bench_distributed_algebra print.

usage: scripts/scaling_plot.py PICTURE.svg OUTPUT...
"""
import math
import re
import sys
from pathlib import Path

from bench_plots import Picture, power

SECTION = re.compile(r"^(copies between GPUs|NCCL.*), (\d+) GPUs, \d+ elements")
NUMBER = r" ([\d.]+) \|"
WEAK = re.compile(r"^\| (.+?) \|" + NUMBER * 3 + r" (?:at least )?([\d.]+) \| (?:reached|missed) \|$")
STRONG = re.compile(r"^\| (\d+) \|" + NUMBER * 4 + r" (?:reached|missed) \|$")
COLOURS = {"copies": "pmpp", "NCCL": "peer"}


def read(lines):
    """Weak scaling: name -> (target, {connection: ratio}); strong: connection -> [(n, how many times faster)]; the number of GPUs."""
    weak, strong, gpus, connection = {}, {}, 2, "copies"
    for line in lines:
        if section := SECTION.match(line):
            connection, gpus = section[1].split()[0].rstrip(","), int(section[2])
        elif row := STRONG.match(line):
            strong.setdefault(connection, []).append((int(row[1]), float(row[4])))
        elif row := WEAK.match(line):
            weak.setdefault(row[1].replace(", weak", ""), (float(row[5]), {}))[1][connection] = float(row[4])
    return weak, strong, gpus


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip().splitlines()[-1])
    weak, strong, gpus = {}, {}, 2
    for name in sys.argv[2:]:
        more, faster, gpus = read(Path(name).read_text().splitlines())
        weak.update(more)
        strong.update(faster)
    high, top, left, wide = 30, 116, 210, 300
    bottom = top + high * len(weak)
    picture = Picture(980, bottom + 44, f"{gpus} GPUs beside one",
                      "left: the time of one GPU over that of all with as many elements each; a mark is the aim   ·   "
                      "right: sorts of the same elements")
    picture.legend(24, 86, [("pmpp", "copies, and memory of each other"), ("peer", "NCCL, by messages alone")])
    for step in range(6):
        x = left + wide * step / 5
        picture.line(x, top - 8, x, bottom)
        picture.text(x, bottom + 18, f"{step / 5:g}", "soft", 10, "middle")
    for place, (name, (aim, ratios)) in enumerate(weak.items()):
        y = top + high * place
        picture.text(left - 10, y + 13, name, "ink", 12, "end")
        for k, (connection, ratio) in enumerate(ratios.items()):
            picture.rectangle(left, y + 10 * k, wide * ratio, 8, COLOURS[connection], f"{name}, {connection}: {ratio}")
            picture.text(left + wide * ratio + 5, y + 10 * k + 8, f"{ratio:.2f}", "soft", 9.5)
        picture.line(left + wide * aim, y - 2, left + wide * aim, y + 20, "ink", 1.4)
    x0, width = 610, 320
    sizes = [n for points in strong.values() for n, _ in points]
    first, span = math.log2(min(sizes)), math.log2(max(sizes) / min(sizes))

    def at(n, faster):
        return x0 + (math.log2(n) - first) / span * width, bottom - faster / gpus * (bottom - top)

    for step in range(2 * gpus + 1):
        y = bottom - step / (2 * gpus) * (bottom - top)
        picture.line(x0, y, x0 + width, y, "limit" if step == 2 else "grid")
        picture.text(x0 - 8, y + 4, f"{step / 2:g}", "soft", 10, "end")
    for n in sorted(set(sizes)):
        picture.text(at(n, 0)[0], bottom + 18, power(n), "soft", 10, "middle")
    picture.text(x0, top - 14, "sort: times as fast as one GPU, over the number of elements", "ink", 12)
    for connection, points in strong.items():
        picture.curve([at(n, faster) for n, faster in points], COLOURS[connection])
        for n, faster in points:
            picture.mark(*at(n, faster), COLOURS[connection], f"{n} elements, {connection}: {faster}")
    picture.save(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
