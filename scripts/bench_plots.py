# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of a benchmark report, and writes its report.md. Standard library only.

Colours are those of Okabe and Ito, which people with any kind of colour vision tell apart; what they say is also said by
shape and place. Each picture carries a palette for light and one for dark backgrounds.
"""
import math
import re
from html import escape

FONT = "Inter, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif"
# class: colour on a light background, on a dark one
PALETTE = {"ink": ("#1b2026", "#e8ebef"), "soft": ("#5d6670", "#9ba5b0"), "grid": ("#e6e9ed", "#2b323a"),
           "pmpp": ("#0072b2", "#56b4e9"), "peer": ("#d55e00", "#f2905a"), "third": ("#009e73", "#3ecfa0"),
           "fourth": ("#a64d79", "#d991b8"), "limit": ("#8b939c", "#7d8791"), "panel": ("#f7f8fa", "#1c2127")}
BACKGROUND = ("#ffffff", "#14181d")
PEERS = ("peer", "third", "fourth")
SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


class Picture:
    """Text of an SVG file; coordinates in pixels."""

    def __init__(self, width, height, title, subtitle="", described=""):
        self.width, self.height, self.parts, self.title = width, height, [], title
        self.described = described or title
        self.text(24, 34, title, "ink", 19, weight=600)
        if subtitle:
            self.text(24, 55, subtitle, "soft", 12.5)

    def add(self, part):
        self.parts.append(part)

    def text(self, x, y, words, colour="ink", size=11, anchor="start", weight=400, turn=None):
        turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
        self.add(f'<text x="{x:.1f}" y="{y:.1f}" class="f-{colour}" font-size="{size}" font-weight="{weight}" '
                 f'text-anchor="{anchor}"{turned}>{escape(str(words))}</text>')

    def line(self, x1, y1, x2, y2, colour="grid", width=1.0, dash=""):
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.add(f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" class="s-{colour}" stroke-width="{width}"{dashed}/>')

    def curve(self, points, colour, width=2.0):
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        self.add(f'<path d="M{path}" class="s-{colour}" stroke-width="{width}" stroke-linejoin="round" stroke-linecap="round"/>')

    def rectangle(self, x, y, width, height, colour, words="", radius=1.5):
        title = f"<title>{escape(words)}</title>" if words else ""
        self.add(f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.4):.1f}" height="{max(height, 0.4):.1f}" '
                 f'rx="{min(radius, width / 2, height / 2):.1f}" class="f-{colour}">{title}</rect>')

    def mark(self, x, y, colour, words="", radius=3.0):
        """pmpp: a disc; peers: a ring, a square, a diamond, hollow."""
        title = f"<title>{escape(words)}</title>" if words else ""
        r = radius
        if colour == "pmpp":
            self.add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" class="f-pmpp">{title}</circle>')
        elif colour == "peer":
            self.add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r - 0.2:.1f}" class="hollow s-peer" stroke-width="1.6">{title}</circle>')
        else:
            path = (f"M{x - r:.1f} {y - r:.1f}h{2 * r}v{2 * r}h{-2 * r}z" if colour == "third" else
                    f"M{x:.1f} {y - r - 1:.1f}L{x + r + 1:.1f} {y:.1f}L{x:.1f} {y + r + 1:.1f}L{x - r - 1:.1f} {y:.1f}z")
            self.add(f'<path d="{path}" class="hollow s-{colour}" stroke-width="1.5">{title}</path>')

    @staticmethod
    def room_of(words):
        return 44 + 6.6 * len(words)

    def legend(self, x, y, entries):
        """(colour, words) in a row."""
        for colour, words in entries:
            if colour == "limit":
                self.line(x, y - 4, x + 18, y - 4, "limit", 1.4, "4 3")
            else:
                self.line(x, y - 4, x + 18, y - 4, colour, 2 if colour == "pmpp" else 1.4)
                self.mark(x + 9, y - 4, colour)
            self.text(x + 24, y, words, "ink", 12)
            x += self.room_of(words)

    def save(self, path):
        def rules(which):
            return "".join(f".f-{name}{{fill:{both[which]}}}.s-{name}{{stroke:{both[which]};fill:none}}"
                           for name, both in PALETTE.items()) + f".hollow,.background{{fill:{BACKGROUND[which]}}}"
        path.write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" role="img" font-family="{FONT}" style="font-variant-numeric: tabular-nums">\n'
            f"<title>{escape(self.title)}</title>\n<desc>{escape(self.described)}</desc>\n"
            f"<style>{rules(0)}@media (prefers-color-scheme: dark){{{rules(1)}}}</style>\n"
            f'<rect class="background" width="{self.width}" height="{self.height}" rx="8"/>\n'
            + "\n".join(self.parts) + "\n</svg>\n")


def power(value):
    """2¹⁰ for a power of two, else the number, short."""
    exponent = math.log2(value) if value > 0 else 0
    if exponent >= 10 and abs(exponent - round(exponent)) < 1e-9:
        return "2" + str(round(exponent)).translate(SUPERSCRIPT)
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if value >= size:
            return f"{value / (1e3 if unit == ' k' else size):.3g}{unit}"
    return f"{value:g}"


def round_above(value):
    """A number whose quarters are short, not below the value."""
    if value <= 0:
        return 1.0
    base = 10.0 ** math.floor(math.log10(value))
    return next(step * base for step in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10) if step * base >= value * 0.999)


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def peer_names(cases):
    """Peers in the order in which they first occur."""
    return list(dict.fromkeys(peer for case in cases for peer in case["peers_us"]))


def named(peer):
    return {"cub": "CUB", "thrust": "Thrust", "cublas": "cuBLAS", "cusparse": "cuSPARSE", "std": "std, one thread",
            "std par": "std::execution::par", "thrust omp": "Thrust, OpenMP"}.get(peer, peer)


def series_name(name):
    """What cases that differ in size alone have in common: squares count as sizes."""
    return re.sub(r"\b(\d+) x \1\b", "n × n", re.sub(r"\b(\d+)x\1x\1\b", "n×n×n", name))


def series_of(cases):
    """Cases that differ in size alone, by name."""
    found = {}
    for case in cases:
        found.setdefault(series_name(case["name"]), {})[case["n"]] = case
    return {name: [by_size[n] for n in sorted(by_size)] for name, by_size in found.items()}


def throughput(program):
    """A panel per series of four sizes or more: rate over n, and below it the peer's time over pmpp's."""
    flops = program["name"] == "gemm"

    def rate(case, microseconds):
        return (case.get("operations", 0) / microseconds * 1e-6) if flops else case["bytes"] / microseconds * 1e-3

    series = {name: cases for name, cases in series_of(program["cases"]).items()
              if sum("pmpp_us" in case and case.get("bytes", 0) > 0 for case in cases) >= 4}
    if not series:
        return None
    unit, copy = ("TFLOP/s", 0) if flops else ("GB/s", program.get("copy_GB/s", 0))
    columns = min(3, len(series))
    width, height, gap, left, top = 284, 236, 26, 58, 122
    rows = -(-len(series) // columns)
    everyone = peer_names(case for cases in series.values() for case in cases)[:3]
    colours = dict(zip(everyone, PEERS))
    entries = [("pmpp", "pmpp")] + [(colours[peer], named(peer)) for peer in everyone]
    entries += [("limit", f"a copy, {copy:,.0f} GB/s")] if copy else []
    total = max(left + columns * (width + gap) + 6, 620, 24 + sum(Picture.room_of(words) for _, words in entries))
    picture = Picture(total, top + rows * (height + 44) - 34, f"{program['name']}: throughput over size",
                      f"{program.get('title', '')}   ·   below each panel: time of the peer over time of pmpp",
                      f"Throughput of {', '.join(series)} for pmpp and {', '.join(map(named, everyone)) or 'no peer'}")
    picture.legend(24, 82, entries)
    for place, (name, cases) in enumerate(series.items()):
        cases = [case for case in cases if "pmpp_us" in case and case.get("bytes", 0) > 0]
        x0, y0 = left + place % columns * (width + gap), top + place // columns * (height + 44)
        wide, high, strip = width - 34, 150, 42
        sizes = [math.log2(case["n"]) for case in cases]
        low, span = sizes[0], max(sizes[-1] - sizes[0], 1e-9)
        rates = [rate(case, time) for case in cases for time in (case["pmpp_us"], *case["peers_us"].values())]
        most = round_above(max([*rates, copy if copy < 3 * max(rates) else 0]))

        def at(size):
            return x0 + 8 + (size - low) / span * (wide - 16)

        def up(value):
            return y0 + high - value / most * high

        picture.text(x0, y0 - 10, name, "ink", 12.5, weight=600)
        for step in range(5):
            value = most * step / 4
            picture.line(x0, up(value), x0 + wide, up(value))
            picture.text(x0 - 6, up(value) + 3.5, f"{value:,.4g}", "soft", 9.5, "end")
        if copy and copy <= most:
            picture.line(x0, up(copy), x0 + wide, up(copy), "limit", 1.4, "4 3")
        for peer in [peer for peer in everyone if any(peer in case["peers_us"] for case in cases)]:
            points = [(at(size), up(rate(case, case["peers_us"][peer])), case) for size, case in zip(sizes, cases)
                      if peer in case["peers_us"]]
            picture.curve([point[:2] for point in points], colours[peer], 1.4)
            for x, y, case in points:
                picture.mark(x, y, colours[peer], f"{named(peer)}, n = {power(case['n'])}: {case['peers_us'][peer]:g} µs", 2.6)
        picture.curve([(at(size), up(rate(case, case["pmpp_us"]))) for size, case in zip(sizes, cases)], "pmpp", 2.2)
        for size, case in zip(sizes, cases):
            picture.mark(at(size), up(rate(case, case["pmpp_us"])), "pmpp",
                         f"pmpp, n = {power(case['n'])}: {case['pmpp_us']:g} µs, "
                         f"{rate(case, case['pmpp_us']):.4g} {unit}", 2.8)
        if place % columns == 0:
            picture.text(x0 - 44, y0 + high / 2, unit, "soft", 10.5, "middle", turn=-90)
        # The strip of ratios, on a logarithmic scale around 1.
        ratios = [case["peers_us"][peer] / case["pmpp_us"] for case in cases for peer in case["peers_us"]]
        base = y0 + high + 14
        if ratios:
            reach = max(math.log(1.5), *(abs(math.log(ratio)) for ratio in ratios))

            def height_of(ratio):
                return base + strip / 2 - math.log(ratio) / reach * (strip / 2 - 3)

            picture.rectangle(x0, base, wide, strip, "panel", radius=3)
            picture.line(x0, base + strip / 2, x0 + wide, base + strip / 2, "limit", 1)
            picture.text(x0 - 6, base + 8, f"{math.exp(reach):.1f}×", "soft", 9.5, "end")
            picture.text(x0 - 6, base + strip / 2 + 3.5, "1×", "soft", 9.5, "end")
            for peer in everyone:
                points = [(at(size), height_of(case["peers_us"][peer] / case["pmpp_us"]), case)
                          for size, case in zip(sizes, cases) if peer in case["peers_us"]]
                if points:
                    picture.curve([point[:2] for point in points], colours[peer], 1.4)
                for x, y, case in points:
                    picture.mark(x, y, colours[peer], f"n = {power(case['n'])}: {named(peer)} takes "
                                 f"{case['peers_us'][peer] / case['pmpp_us']:.2f} times as long", 2.1)
        end = base + (strip if ratios else -8)
        every = max(1, -(-len(sizes) // 6))
        for index, (size, case) in enumerate(zip(sizes, cases)):
            if (len(sizes) - 1 - index) % every == 0:
                picture.text(at(size), end + 14, power(case["n"]), "soft", 10, "middle")
    return picture


def ratios(programs):
    """One panel a program: each case and peer a bar, sorted; up is faster than the peer, down is slower."""
    panels = []
    for program in programs:
        bars = sorted((time / case["pmpp_us"], f"{case['name']}, n = {power(case['n'])}: {named(peer)} {time:g} µs, "
                       f"pmpp {case['pmpp_us']:g} µs, ratio {time / case['pmpp_us']:.2f}")
                      for case in program["cases"] if "pmpp_us" in case for peer, time in case["peers_us"].items())
        if bars:
            panels.append((program, bars))
    if not panels:
        return None
    columns = min(3, len(panels))
    height, gap, left, top = 128, 30, 56, 110
    width = 912 // columns - gap
    rows = -(-len(panels) // columns)
    count = sum(len(bars) for _, bars in panels)
    picture = Picture(left + 912, top + rows * (height + 62) - 20,
                      "Time of the peers over time of pmpp, all cases",
                      f"{count} cases, sorted within each program; logarithmic; up and blue: pmpp is faster, down and orange: slower")
    for place, (program, bars) in enumerate(panels):
        x0, y0 = left + place % columns * (width + gap), top + place // columns * (height + 62)
        values = [ratio for ratio, _ in bars]
        least, most = max(1 / 16, min(0.8, *values)), min(64.0, max(2.0, *values))  # what lies outside is cut off
        low, high = math.log(least), math.log(most)

        def up(ratio):
            return y0 + height - (math.log(min(max(ratio, least), most)) - low) / (high - low) * height

        picture.text(x0, y0 - 24, program["name"], "ink", 13, weight=600)
        picture.text(x0, y0 - 9, f"geometric mean {geometric_mean(values):.2f}×, {len(values)} cases, "
                     f"{sum(value < 0.95 for value in values)} slower by more than 5 %", "soft", 10.5)
        for tick in (0.1, 0.25, 0.5, 0.8, 1, 1.5, 2, 4, 8, 16, 32, 64, 128, 256):
            if least <= tick * 1.001 and tick <= most * 1.001 and (tick != 1.5 or most < 4) and (tick != 0.8 or most < 4):
                picture.line(x0, up(tick), x0 + width - 10, up(tick))
                picture.text(x0 - 6, up(tick) + 3.5, f"{tick:g}×", "soft", 9.5, "end")
        step = (width - 10) / len(bars)
        for index, (ratio, words) in enumerate(bars):
            thick = min(max(step - 1, step * 0.6), 14)
            x = x0 + index * step + (step - thick) / 2
            picture.rectangle(x, min(up(ratio), up(1)), thick, abs(up(ratio) - up(1)), "pmpp" if ratio >= 1 else "peer", words)
        picture.line(x0, up(1), x0 + width - 10, up(1), "ink", 1)
    return picture


def peak_rate(program, machine):
    """The GPU's rate of single-precision operations, in 10^9/s, where it is known."""
    text = program["context"].get("device", "")
    found = re.search(r"(\d+) SMs.*at most (\d+) MHz", text)
    lanes = {"8.0": 64, "8.6": 128, "8.7": 128, "8.9": 128, "9.0": 128, "10.0": 128, "12.0": 128}
    capability = machine.get("gpu", {}).get("compute_cap", "")
    if not found or capability not in lanes:
        return 0.0
    return 2.0 * lanes[capability] * int(found[1]) * int(found[2]) * 1e-3


def roofline(document, kind):
    """Operations a second over operations a byte: the largest case of each series."""
    points, copy, peak = [], 0.0, 0.0
    for program in document["programs"]:
        if program["kind"] != kind:
            continue
        copy = max(copy, program.get("copy_GB/s", 0))
        peak = max(peak, peak_rate(program, document["machine"]))
        for name, cases in series_of(program["cases"]).items():
            case = cases[-1]
            if case.get("operations", 0) > 0 and case.get("bytes", 0) > 0 and "pmpp_us" in case and not case.get("warm"):
                points.append((case["operations"] / case["bytes"], case["operations"] / case["pmpp_us"] * 1e-3,
                               f"{program['name']} {name}", case))
    if not points or not copy:
        return None
    picture = Picture(940, 600, f"Roofline, {'device' if kind == 'device' else 'host'}",
                      "the largest case of each series; additions, multiplications and comparisons that the definition asks "
                      "for, or elements moved, over bytes read and written once")
    x0, y0, wide, high = 76, 84, 820, 452
    least_x, most_x = min(p[0] for p in points) / 2, max(max(p[0] for p in points) * 4, 2 * peak / copy)
    most_y = max(peak, copy * min(1, most_x), *(p[1] for p in points)) * 2
    least_y = min(min(p[1] for p in points) / 3, least_x * copy)

    def at(x):
        return x0 + math.log(x / least_x) / math.log(most_x / least_x) * wide

    def up(y):
        return y0 + high - math.log(y / least_y) / math.log(most_y / least_y) * high

    for exponent in range(math.ceil(math.log10(least_y)), math.floor(math.log10(most_y)) + 1):
        value = 10.0 ** exponent
        picture.line(x0, up(value), x0 + wide, up(value))
        words = f"{value / 1000:g} T" if value >= 1000 else f"{value:g} G"
        picture.text(x0 - 8, up(value) + 4, words, "soft", 11, "end")
    for exponent in range(math.ceil(math.log2(least_x)), math.floor(math.log2(most_x)) + 1):
        value = 2.0 ** exponent
        picture.line(at(value), y0, at(value), y0 + high)
        if exponent % 2 == 0:
            words = f"{value:g}" if value >= 1 else f"1/{1 / value:g}"
            picture.text(at(value), y0 + high + 18, words, "soft", 11, "middle")
    picture.text(x0 + wide / 2, y0 + high + 40, "operations per byte", "soft", 12, "middle")
    picture.text(20, y0 + high / 2, "operations per second", "soft", 12, "middle", turn=-90)
    ridge = min(peak / copy if peak else most_x, most_x, most_y / copy)
    picture.line(at(least_x), up(least_x * copy), at(ridge), up(ridge * copy), "limit", 2)
    slope = -math.degrees(math.atan2(up(least_x * copy) - up(ridge * copy), at(ridge) - at(least_x)))
    # The words stand on the roof, where it is high: most points are below.
    words = f"memory, as a copy: {copy:,.0f} GB/s"
    begin = max(least_x * 1.1, ridge * (most_x / least_x) ** -0.26)
    picture.text(at(begin), up(begin * copy) - 8, words, "soft", 11.5, turn=round(slope, 1))
    if peak:
        picture.line(at(ridge), up(peak), x0 + wide, up(peak), "limit", 2)
        picture.text(x0 + wide, up(peak) - 8, f"single precision: {peak / 1000:.1f} TFLOP/s", "soft", 11.5, "end")
    run, rise = math.cos(math.radians(slope)), math.sin(math.radians(slope))
    taken = [(at(begin) + d * run - 8, up(begin * copy) + d * rise - 20, at(begin) + d * run + 8, up(begin * copy) + d * rise - 4)
             for d in range(0, 6 * len(words), 8)]

    def free(box):
        return all(box[2] < other[0] or other[2] < box[0] or box[3] < other[1] or other[3] < box[1] for other in taken)

    points.sort(key=lambda p: -p[1])
    for x, y, _, _ in points:
        taken.append((at(x) - 4, up(y) - 4, at(x) + 4, up(y) + 4))
    for x, y, name, case in points:
        picture.mark(at(x), up(y), "pmpp", f"{name}, n = {power(case['n'])}: {case['pmpp_us']:g} µs, {y:.4g} G/s", 4)
        long = 5.6 * len(name)
        for dx, dy, anchor in ((9, 4, "start"), (-9, 4, "end"), (9, 15, "start"), (9, -8, "start"), (-9, 15, "end")):
            begin = at(x) + dx - (long if anchor == "end" else 0)
            box = (begin, up(y) + dy - 9, begin + long, up(y) + dy + 2)
            if x0 < box[0] and box[2] < x0 + wide and free(box):
                taken.append(box)
                picture.text(at(x) + dx, up(y) + dy, name, "ink", 10.5, anchor)
                break
    return picture


def compile_cost(costs):
    """Seconds of the compiler and bytes of the object for one call."""
    rows = costs["rows"]
    left, top, row, wide = 110, 112, 46, 330
    picture = Picture(940, top + row * len(rows) + 14, f"What one call costs to compile, beside {costs['peer']}",
                      f"{costs['compiler']}, -O2, one architecture; processor seconds of one translation unit, and size of its object")
    picture.legend(24, 84, [("pmpp", "pmpp"), ("peer", costs["peer"])])
    for column, (own, peer, unit, scale) in enumerate((("pmpp_s", "peer_s", "s", 1), ("pmpp_bytes", "peer_bytes", "kB", 1000))):
        x0 = left + column * (wide + 76)
        most = max(max(r[own], r[peer]) for r in rows)
        for index, r in enumerate(rows):
            y = top + index * row
            if column == 0:
                picture.text(left - 12, y + 20, r["name"], "ink", 12.5, "end", 600)
            for offset, key, colour in ((4, own, "pmpp"), (19, peer, "peer")):
                long = r[key] / most * (wide - 60)
                picture.rectangle(x0, y + offset, long, 12, colour, radius=2)
                number = r[key] / scale
                picture.text(x0 + long + 7, y + offset + 10, f"{number:.1f} {unit}" if scale == 1 else f"{number:,.0f} {unit}",
                             "soft", 11)
    return picture


def table_of(program):
    peers = peer_names(program["cases"])[:3]
    lines = [f"| case | n | pmpp µs | {''.join(f'{named(peer)} µs | ratio | ' for peer in peers)}GB/s | % of copy |",
             f"| --- | ---: | ---: | {'---: | ---: | ' * len(peers)}---: | ---: |"]
    copy = program.get("copy_GB/s", 0)
    for case in program["cases"]:
        own = case.get("pmpp_us", 0)
        cells = [case["name"], power(case["n"]), f"{own:.2f}" if own else f"({case.get('other', '')} {case.get('other_us', 0):.2f})"]
        for peer in peers:
            time = case["peers_us"].get(peer)
            cells += [f"{time:.2f}", f"{time / own:.2f}" if own else ""] if time else ["", ""]
        rate = case["bytes"] / own * 1e-3 if own and case.get("bytes") else 0
        # What fits in the last cache is not held against memory.
        cells += [f"{rate:.1f}" if rate else "", f"{100 * rate / copy:.1f}" if rate and copy and not case.get("warm") else ""]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def write_report(document, folder):
    """report.md and its pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    machine, programs = document["machine"], document["programs"]
    gpu = machine.get("gpu", {})
    device = next((p["context"] for p in programs if p["kind"] == "device"), {})
    facts = [("commit", document["commit"]), ("device", device.get("device", gpu.get("name", "none"))),
             ("driver", gpu.get("driver_version", "")), ("CUDA driver, runtime", device.get("CUDA driver, runtime", "")),
             ("CCCL (CUB, Thrust)", device.get("CCCL", "")), ("between events", device.get("events", "")),
             ("processor", f"{machine.get('cpu', '')}, {machine.get('cores', '')} threads"),
             ("samples a case", next((p["context"].get("samples", "") for p in programs if p["context"]), ""))]
    clocks = [p["clocks"]["SM MHz"] for p in programs if p.get("clocks", {}).get("SM MHz")]
    if clocks:
        facts.append(("SM clock read", f"{min(c['least'] for c in clocks):.0f} to {max(c['greatest'] for c in clocks):.0f} MHz"))
    short = re.split(r",", facts[1][1])[0] if device else machine.get("cpu", "")
    lines = [f"# Benchmarks, {document['date']}", "", f"{short}. Medians of single calls, pmpp and peer in turns in one "
             "program; each result was checked before it was timed. A ratio is the peer's time over pmpp's: above 1, pmpp is "
             "faster.", "", "| | |", "| --- | --- |"]
    lines += [f"| {name} | {value} |" for name, value in facts if value]
    failed = [p for p in programs if "failed" in p]
    lines += [""] + [f"**{p['name']} failed:** `{p['failed']}`\n" for p in failed]

    def show(picture, name, words):
        if picture:
            picture.save(folder / f"{name}.svg")
            lines.extend([f"![{words}]({name}.svg)", ""])

    lines += ["## All cases", ""]
    show(ratios([p for p in programs if p["kind"] == "device"] or programs), "ratios", "Time of the peers over time of pmpp")
    for kind in ("device", "host"):
        show(roofline(document, kind), f"roofline_{kind}", f"Roofline of the {kind}")
    if document.get("compile", {}).get("rows"):
        lines += ["## Compile time and size", ""]
        show(compile_cost(document["compile"]), "compile", "What one call costs to compile")
    for program in programs:
        program["title"] = program["context"].get("device", machine.get("cpu", "")).split(",")[0]
        lines += [f"## {program['name']}", ""]
        show(throughput(program), f"throughput_{program['name']}", f"Throughput of {program['name']} over size")
        if program.get("left_out"):
            lines += [f"{program['left_out']} cases were left out, their time was over.", ""]
        if program["cases"]:
            lines += [*table_of(program), ""]
    (folder / "report.md").write_text("\n".join(lines).rstrip() + "\n")
