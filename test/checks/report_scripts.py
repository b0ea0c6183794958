#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the scripts of the benchmark report: a program that replays recorded output is reported, drawn and compared.

usage: report_scripts.py [root of the repository]
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
sys.path.insert(0, str(root / "scripts"))
sys.dont_write_bytecode = True
import bench_plots
import bench_report

REPLAY = """#!{python}
import json, re, shutil, sys
recorded = {recorded!r}
if any("list_tests" in word for word in sys.argv):
    print("\\n".join(run["name"] for run in json.load(open(recorded))["benchmarks"]))
    sys.exit(0)
if {fails}:
    sys.exit("sum/f32/1024: wrong result of pmpp: 1 instead of 2")
for run in json.load(open(recorded))["benchmarks"]:
    print(run["name"], run["real_time"], "us")
shutil.copy(recorded, next(word.split("=")[1] for word in sys.argv if word.startswith("--benchmark_out=")))
"""
faults = checks = 0


def expect(what, holds):
    global faults, checks
    checks += 1
    if not holds:
        faults += 1
        print(f"wrong: {what}")


def run(script, *arguments):
    done = subprocess.run([sys.executable, "-B", root / "scripts" / script, *map(str, arguments)], capture_output=True,
                          text=True, env=os.environ | {"PATH": ""})  # so that no tool of this machine has a say
    return done.returncode, done.stdout, done.stderr


def near(a, b):
    return abs(a - b) <= 1e-3 * abs(b)


with tempfile.TemporaryDirectory(prefix="pmpp-check-") as scratch:
    scratch = Path(scratch)
    recorded = root / "test/bench_report/recorded.json"
    for name, fails in (("bench_replay", False), ("bench_broken", True)):
        (scratch / name).write_text(REPLAY.format(python=sys.executable, recorded=str(recorded), fails=fails))
        (scratch / name).chmod(0o755)

    status, _, said = run("bench_report.py", scratch / "one", "--host", scratch / "bench_replay", "--device",
                          scratch / "bench_absent", "--commit", "abc1234")
    expect(f"the report ends with success: {said}", status == 0)
    expect("it says that there is no GPU", "no GPU on this machine" in said)
    expect("it shows how many cases ran", "6 cases" in said)
    document = json.loads((scratch / "one/results.json").read_text())
    program = document["programs"][0]
    first, other = program["cases"][0], program["cases"][-1]
    expect("commit", document["commit"] == "abc1234")
    expect("the programs that ran", [p["name"] for p in document["programs"]] == ["replay"])
    expect("the rate of a copy", near(program["copy_GB/s"], 18.506277))
    expect("name, n and warm", (first["name"], first["n"], first.get("warm")) == ("sum/f32", 65536, True))
    expect("microseconds", near(first["pmpp_us"], 1.953))
    expect("bytes of the case", first["bytes"] == 65536 * 4)
    expect("peers", near(first["peers_us"]["std par"], 12.178) and set(first["peers_us"]) == {"std", "std par", "thrust omp"})
    expect("a case without pmpp is not pmpp's", "pmpp_us" not in other and near(other["other_us"], 2500.0))
    expect("no name of the machine", "host_name" not in program["context"])

    page = (scratch / "one/report.md").read_text()
    expect("the table has the first case", "| sum/f32 | 2¹⁶ | 1.95 | 12.18 | 6.24 |" in page)
    pictures = sorted((scratch / "one").glob("*.svg"))
    expect("pictures", [p.name for p in pictures] == ["ratios.svg", "throughput_replay.svg"])
    for picture in pictures:
        text = picture.read_text()
        expect(f"{picture.name} is shown", f"({picture.name})" in page)
        expect(f"{picture.name} has a palette for dark backgrounds", "prefers-color-scheme: dark" in text)
        tree = xml.fromstring(text)
        width, height = float(tree.get("width")), float(tree.get("height"))
        inside = all(0 <= float(e.get("x", 0)) <= width and 0 <= float(e.get("y", 0)) <= height for e in tree.iter())
        expect(f"{picture.name}: everything lies within", inside and "nan" not in text.lower())
    expect("a disc for each of pmpp's sizes", (scratch / "one/throughput_replay.svg").read_text().count(">pmpp, n = ") == 4)

    status, _, said = run("bench_report.py", scratch / "quick", "--quick", "--host", scratch / "bench_replay")
    expect("a quick report", status == 0 and "6 cases" in said)

    status, _, said = run("bench_report.py", scratch / "two", "--host", scratch / "bench_broken", scratch / "bench_replay")
    expect("a wrong result fails the report", status == 1)
    expect("and is named in it", "1 instead of 2" in (scratch / "two/report.md").read_text())
    status, _, _ = run("bench_report.py", scratch / "three")
    expect("no program, no report", status == 1 and not (scratch / "three").exists())

    def changed(name, edit):
        copy = json.loads(json.dumps(document))
        edit(copy["programs"][0])
        (scratch / name).write_text(json.dumps(copy))
        return scratch / name

    def slow(factor):
        return lambda program: program["cases"][1].update(pmpp_us=program["cases"][1]["pmpp_us"] * factor)

    before = scratch / "one/results.json"
    for what, after, wanted, words in (
            ("the same", before, 0, "0 slower"),
            ("4 % slower", changed("four.json", slow(1.04)), 0, "0 slower"),
            ("10 % slower", changed("ten.json", slow(1.10)), 1, "sum/f32, n = 1048576"),
            ("20 % faster", changed("faster.json", slow(0.8)), 0, "1 faster"),
            ("a program renamed", changed("renamed.json", lambda p: p.update(name="x")), 2, ""),
            ("no report", recorded, 2, "")):
        status, said, _ = run("bench_compare.py", before, after)
        expect(f"compare, {what}: status {status}, {said}", status == wanted and words in said)
    status, said, _ = run("bench_compare.py", before, changed("more.json", slow(1.10)), "--limit", "15")
    expect("compare, another limit", status == 0)

    # A document of all kinds is drawn.
    gpu = {"name": "GPU", "compute_cap": "9.0"}
    device = json.loads(json.dumps(program)) | {"name": "reduce", "kind": "device", "copy_GB/s": 3000.0,
             "context": {"device": "GPU, 132 SMs, L2 50 MiB, at most 1980 MHz, memory 2619 MHz"}}
    for case in device["cases"]:
        case.pop("warm", None)
        case["operations"] = case["n"]
    whole = document | {"machine": {"gpu": gpu}, "programs": [device, program], "compile": {
        "compiler": "nvcc", "peer": "CUB", "rows": [{"name": "reduce", "pmpp_s": 1.0, "peer_s": 3.0, "pmpp_bytes": 10,
                                                      "peer_bytes": 30}]}}
    bench_plots.write_report(whole, scratch / "four")
    found = {p.stem for p in (scratch / "four").glob("*.svg")}
    expect(f"all pictures: {found}", found == {"ratios", "roofline_device", "compile", "throughput_reduce", "throughput_replay"})
    roof = (scratch / "four/roofline_device.svg").read_text()
    expect("the arithmetic roof of 132 SMs at 1980 MHz", "66.9 TFLOP/s" in roof)

for program, name, n, count in (("gemm", "f32 16x32x64 batch 10", 16, 2.0 * 16 * 32 * 64 * 10),
                                ("convolution", "f32 8192 x 8192, reflect, 5x5", 100, 2.0 * 25 * 100),
                                ("convolution", "f32 8192 x 8192, separable, 9 + 9", 100, 2.0 * 18 * 100),
                                ("spmv", "spmv f32 band", 100, 200.0), ("transpose", "f32 n x n", 100, 100.0),
                                ("reduce", "dot/f32", 100, 200.0), ("launch", "x", 1, None),
                                ("sort", "radix sort/u32", 1024, 10240.0), ("segmented_sort", "segmented sort/u32/16", 1024, 4096.0),
                                ("segmented_sort", "segmented sort/u32/power law", 1024, None),
                                ("stencil", "f32 7 points, wrap", 100, 1400.0), ("image", "box u8 radius 2 9 x 9", 100, 2500.0)):
    expect(f"operations of {program} {name}", bench_report.operations(program, name, n) == count)

listed = [f"{name}/{n}/iterations:1/manual_time" for name in ("sum (f32)", "a", "b", "c", "d") for n in (1, 2, 4, 8, 16, 32, 64)]
chosen = bench_report.representative(listed)
expect("four sizes of three series, one of the others, in their order",
       [bench_report.parts_of(name)[:2] for name in chosen]
       == [(name, n) for name in ("sum (f32)", "a", "b") for n in (1, 4, 16, 64)] + [("c", 64), ("d", 64)])
expect("a short list stays", bench_report.representative(listed[:12]) == listed[:12])
expect("the filter passes these cases alone", [n for n in listed if re.search(bench_report.only(chosen), n)] == chosen)
expect("powers of two", (bench_plots.power(1 << 20), bench_plots.power(100), bench_plots.power(12345678)) == ("2²⁰", "100", "12.3 M"))
print(f"{checks} checks, {faults} wrong")
sys.exit(1 if faults else 0)
