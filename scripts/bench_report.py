#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs benchmark programs and writes one folder: results.json, report.md, and pictures (bench_plots.py).

usage: bench_report.py FOLDER [--device PROGRAM ...] [--host PROGRAM ...] [options]
       bench_report.py FOLDER --draw      writes report.md and the pictures of FOLDER/results.json again

Programs of --device run where there is a GPU. Each program checks every result once before it is timed, and ends with
an error where one is wrong: the report then names it, and the exit status is 1.
"""
import argparse
import datetime
import json
import math
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import bench_plots

QUICK_MINUTES = 6
SUFFIX = re.compile(r"(/iterations:\d+)?(/manual_time|/real_time)?$")
# One call of pmpp, the same of a peer, as translation units of their own: what each costs to compile.
UNITS = {
    "reduce": ("float sum(const float* x, long n) { return pmpp::reduce(pmpp::device, x, x + n); }",
               "cub/device/device_reduce.cuh", "cub::DeviceReduce::Sum(t, b, x, y, n, s)"),
    "scan": ("void f(const float* x, float* y, long n) { pmpp::inclusive_scan(pmpp::device, x, x + n, y); }",
             "cub/device/device_scan.cuh", "cub::DeviceScan::InclusiveSum(t, b, x, y, n, s)"),
    "histogram": ("void f(const float* x, long n, int* c) {"
                  " pmpp::histogram_even(pmpp::device, x, x + n, std::span<int>(c, 64), 0.f, 1.f); }",
                  "cub/device/device_histogram.cuh",
                  "cub::DeviceHistogram::HistogramEven(t, b, x, (int*)y, 65, 0.f, 1.f, n, s)"),
    "merge": ("void f(const float* x, float* y, long n) { pmpp::merge(pmpp::device, x, x + n, x, x + n, y); }",
              "cub/device/device_merge.cuh", "cub::DeviceMerge::MergeKeys(t, b, x, n, x, n, y, cuda::std::less<>{}, s)"),
    "sort": ("void f(float* x, long n) { pmpp::sort(pmpp::device, x, x + n); }",
             "cub/device/device_radix_sort.cuh", "cub::DeviceRadixSort::SortKeys(t, b, x, y, n, 0, 32, s)"),
}
PEER_UNIT = """#include <{header}>
void f(const float* x, float* y, long long n, void* t, std::size_t b, cudaStream_t s) {{ {call}; }}
"""


def output_of(*command):
    """What a command prints; nothing where it is not there or fails."""
    try:
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def span(seconds):
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def operations(program, name, n):
    """Additions, multiplications and comparisons that the definition asks for; where it only moves, elements moved; None:
    not counted."""
    if program == "gemm":
        if sizes := re.search(r"(\d+)x(\d+)x(\d+)", name):
            batch = re.search(r"batch (\d+)", name)
            return 2.0 * int(sizes[1]) * int(sizes[2]) * int(sizes[3]) * (int(batch[1]) if batch else 1)
    if program == "convolution":
        taps = name.split(", ")[-1]
        if sum_of := re.fullmatch(r"(\d+) \+ (\d+)", taps):
            return 2.0 * n * (int(sum_of[1]) + int(sum_of[2]))
        sizes = [int(size) for size in re.findall(r"\d+", taps)]
        for size in sizes:
            n *= size
        return 2.0 * n if sizes else None
    if program == "stencil":
        points = re.search(r"(\d+) points", name)
        return 2.0 * n * int(points[1]) if points else None
    if program == "image":
        if name.startswith("gray"):
            return 5.0 * n
        radius = re.search(r"radius (\d+)", name)
        return 1.0 * n * (2 * int(radius[1]) + 1) ** 2 if radius else None
    if program in ("sort", "segmented_sort"):  # comparisons: the logarithm of the number of orders
        length = re.search(r"/(\d+)$", name) if program == "segmented_sort" and not name.endswith("1xN") else None
        if program == "segmented_sort" and not length and not name.endswith("1xN"):
            return None
        return n * math.log2(min(n, int(length[1])) if length else n)
    if program in ("spmv", "spmv_host") or name.startswith(("spmm", "dot", "saxpy")):
        return 2.0 * n
    if name.startswith("compose") or "12 bytes" in name and program != "transpose":
        return None  # an operator of the benchmark's own, which is more than one operation
    one = ("host", "reduce", "scan", "segmented", "histogram", "histogram_host", "merge", "select", "top_k", "transform",
           "transpose", "bfs", "wavefront", "alignment", "floyd_warshall")
    moved = name.startswith("transposed")
    return 1.0 * n if moved or program in one and not name.startswith(("enqueue", "value", "copy and")) else None


def parts_of(run_name):
    """name/1024/manual_time or name/warm/1024/manual_time: the name, n, and whether it is warm."""
    *name, n = SUFFIX.sub("", run_name).split("/")
    warm = name[-1] == "warm"
    return "/".join(name[:-1] if warm else name), int(n), warm


def representative(listed, sizes=4, whole_series=3):
    """Of a long list of cases: four sizes each of the three longest series, and of every other series the largest size."""
    if len(listed) <= sizes * whole_series:
        return listed
    series = {}
    for run_name in listed:
        name, n, _ = parts_of(run_name)
        series.setdefault(bench_plots.series_name(name), {})[n] = run_name
    longest = sorted(series, key=lambda name: -len(series[name]))[:whole_series]  # the first of equals
    chosen = set()
    for name, by_size in series.items():
        in_order = [by_size[n] for n in sorted(by_size)]
        count = min(len(in_order), sizes if name in longest else 1)
        chosen.update(in_order[-1 - k * (len(in_order) - 1) // max(1, count - 1)] for k in range(count))
    return [run_name for run_name in listed if run_name in chosen]


def only(run_names):
    """The filter that Google Benchmark (extended regular expressions) passes these cases alone."""
    return "^(" + "|".join(re.sub(r"[\[.^$*+?(){|\\]", r"\\\g<0>", name) for name in run_names) + ")$"


def cases_of(program, document):
    """The cases of one file that Google Benchmark wrote."""
    cases = []
    for run in document.get("benchmarks", []):
        if run.get("run_type", "iteration") != "iteration" or run.get("error_occurred"):
            continue
        name, n, warm = parts_of(run["name"])
        case = {"name": name, "n": n} | ({"warm": True} if warm else {})
        microseconds = run["real_time"] * {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}[run.get("time_unit", "ns")]
        own = run.get("label", "pmpp")
        case["pmpp_us" if own == "pmpp" else "other_us"] = round(microseconds, 4)
        if own != "pmpp":
            case["other"] = own
        case["spread_%"] = round(run.get("spread_%", 0.0), 2)
        if "GB/s" in run:
            case["bytes"] = round(run["GB/s"] * microseconds * 1e3)
            case["GB/s"] = round(run["GB/s"], 3)
        if (count := operations(program, name, n)) is not None:
            case["operations"] = count
        case["peers_us"] = {key[:-3]: round(value, 4) for key, value in run.items() if key.endswith("_us")}
        cases.append(case)
    return cases


class Clocks:
    """Reads the clocks of the GPU once a second while a program runs."""

    def __init__(self):
        self.rows, self.process = [], None
        if shutil.which("nvidia-smi"):
            self.process = subprocess.Popen(
                ["nvidia-smi", "--query-gpu=clocks.sm,clocks.mem,temperature.gpu,power.draw",
                 "--format=csv,noheader,nounits", "-lms", "1000"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            try:
                self.rows.append([float(word) for word in line.split(",")])
            except ValueError:
                pass

    def stop(self):
        if not self.process:
            return {}
        self.process.terminate()
        self.process.wait()
        names = ("SM MHz", "memory MHz", "degrees C", "W")
        columns = zip(*[row for row in self.rows if len(row) == len(names)])
        return {name: {"least": min(values), "median": sorted(values)[len(values) // 2], "greatest": max(values)}
                for name, values in zip(names, columns)}


class Progress:
    """One line: what runs, how far it is, how long the rest will take."""

    def __init__(self, total):
        self.total, self.done, self.start = total, 0, time.monotonic()
        self.live = sys.stderr.isatty()

    def show(self, what):
        passed = time.monotonic() - self.start
        left = f"{span(passed / self.done * (self.total - self.done))} left" if self.done else ""
        bar = "█" * (24 * self.done // max(1, self.total))
        if self.live:
            print(f"\r\x1b[K{bar:░<24} {self.done}/{self.total}  {left:>12}  {what[:60]}", end="", file=sys.stderr, flush=True)

    def end(self, line):
        print(f"{chr(13) + chr(27) + '[K' if self.live else ''}{line}", file=sys.stderr, flush=True)


def name_of(program):
    return Path(program).name.removeprefix("bench_")


def run_program(program, kind, arguments, environment, progress):
    """Runs one program; its part of results.json."""
    name, before, cases_before = name_of(program), time.monotonic(), progress.done
    result = {"name": name, "kind": kind}
    with tempfile.TemporaryDirectory(prefix="pmpp-bench-") as folder:
        out, errors = Path(folder) / "out.json", Path(folder) / "errors"
        clocks = Clocks() if kind == "device" else None
        with errors.open("w") as stderr:
            process = subprocess.Popen([program, *arguments, f"--benchmark_out={out}", "--benchmark_out_format=json"],
                                       stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment, errors="replace")
            progress.show(name)
            for line in process.stdout:
                if "/manual_time" in line or "/real_time" in line:
                    progress.done += 1
                    progress.show(f"{name}: {SUFFIX.sub('', line.split('  ')[0].strip())}")
            status = process.wait()
        if clocks:
            result["clocks"] = clocks.stop()
        document = {}
        try:
            document = json.loads(out.read_text())
        except (OSError, ValueError):
            pass
        if status:
            result["failed"] = (errors.read_text(errors="replace").strip().splitlines() or [f"exit status {status}"])[-1]
        context = document.get("context", {})
        for machine_only in ("host_name", "executable", "caches", "load_avg", "cpu_scaling_enabled", "library_build_type"):
            context.pop(machine_only, None)
        result["context"] = context
        if copy := re.match(r"[\d.]+", context.get("copy", "")):
            result["copy_GB/s"] = float(copy[0])
        result["cases"] = cases_of(name, document)
        if left_out := sum(run.get("error_occurred", False) for run in document.get("benchmarks", [])):
            result["left_out"] = left_out
    result["seconds"] = round(time.monotonic() - before, 1)
    wrong = f"  FAILED: {result['failed']}" if "failed" in result else ""
    late = f", {result['left_out']} left out" if "left_out" in result else ""
    progress.end(f"{name:20} {progress.done - cases_before:4} cases{late} {span(result['seconds']):>8}{wrong}")
    return result


def compile_costs(nvcc, architecture, include):
    """CPU seconds and bytes of the object of one call, for pmpp and for CUB."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="pmpp-bench-") as folder:
        def cost(name, text):
            source = Path(folder) / name / "unit.cu"
            source.parent.mkdir()
            source.write_text(text)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run([nvcc, "-std=c++20", "-O2", f"-I{include}", "-DPMPP_CUDA=1", f"-arch=sm_{architecture}",
                                   "-c", source, "-o", source.with_suffix(".o")], capture_output=True, text=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if done.returncode:
                print(f"{name} does not compile:\n{done.stderr[-600:]}", file=sys.stderr)
                return None
            return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime,
                    source.with_suffix(".o").stat().st_size)

        for name, (own, header, call) in UNITS.items():
            print(f"compiling {name} with pmpp and with CUB", file=sys.stderr)
            mine = cost(f"pmpp_{name}", f"#include <span>\n#include <pmpp/{name}.hpp>\n{own}\n")
            peer = cost(f"cub_{name}", PEER_UNIT.format(header=header, call=call))
            if mine and peer:
                rows.append({"name": name, "pmpp_s": round(mine[0], 2), "peer_s": round(peer[0], 2),
                             "pmpp_bytes": mine[1], "peer_bytes": peer[1]})
    release = re.search(r"release [\d.]+", output_of(nvcc, "--version"))
    return {"compiler": f"nvcc {release[0] if release else ''}".strip(), "peer": "CUB", "rows": rows}


def machine():
    """What nvidia-smi and the system say of this machine."""
    model = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text()) if Path("/proc/cpuinfo").exists() else None
    found = {"cpu": model[1] if model else "", "cores": os.cpu_count()}
    fields = ("name", "driver_version", "compute_cap", "clocks.max.sm", "clocks.max.mem")
    values = output_of("nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits").splitlines()
    if values:
        found["gpu"] = dict(zip(fields, (value.strip() for value in values[0].split(","))))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", nargs="*", default=[], metavar="PROGRAM")
    parser.add_argument("--host", nargs="*", default=[], metavar="PROGRAM")
    parser.add_argument("--filter", default="", help="regular expression: only these cases")
    parser.add_argument("--quick", action="store_true",
                        help=f"21 samples a case instead of 201, of long lists representative cases, {QUICK_MINUTES} minutes")
    parser.add_argument("--minutes", type=float, help="programs begin no further case when their share of the time is over")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1], help="for the commit")
    parser.add_argument("--commit", help="where the programs are not built from a git checkout")
    parser.add_argument("--nvcc", default="", help="also measure what a call costs to compile")
    parser.add_argument("--architecture", default="90")
    parser.add_argument("--draw", action="store_true")
    options = parser.parse_args()
    results = options.folder / "results.json"
    if options.draw:
        bench_plots.write_report(json.loads(results.read_text()), options.folder)
        return 0

    has_gpu = output_of("nvidia-smi", "-L").startswith("GPU")
    programs = [(program, "host") for program in options.host]
    if has_gpu:
        programs = [(program, "device") for program in options.device] + programs
    else:
        print("no GPU on this machine: the benchmarks of the host only", file=sys.stderr)
    if not programs:
        print("there is no benchmark to run", file=sys.stderr)
        return 1
    environment = os.environ | ({"PMPP_BENCH_QUICK": "1"} if options.quick else {})
    arguments = [f"--benchmark_filter={options.filter}"] if options.filter else []
    minutes, begin = options.minutes or (QUICK_MINUTES if options.quick else None), time.monotonic()
    total, chosen = 0, []
    for program, kind in programs:
        listing = subprocess.run([program, "--benchmark_list_tests=true", *arguments], capture_output=True, text=True)
        # A program without a case that matches says so in a line of its own.
        listed, own = [line for line in listing.stdout.splitlines() if re.search(r"/\d+(/|$)", line)], arguments
        if options.quick and (some := representative(listed)) != listed:
            listed, own = some, [f"--benchmark_filter={only(some)}"]
        total += len(listed)
        if listed or listing.returncode:  # one that cannot even list its cases says why when it runs
            chosen.append((program, kind, own, len(listed)))
    programs = chosen
    if not programs:
        print(f"no case matches {options.filter}", file=sys.stderr)
        return 1
    commit = options.commit or output_of("git", "-C", options.root, "describe", "--always", "--dirty", "--exclude=*")
    document = {"schema": 1, "commit": commit or "unknown",
                "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
                "machine": machine(), "programs": []}
    progress = Progress(total)
    options.folder.mkdir(parents=True, exist_ok=True)

    def write():
        results.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")

    for program, kind, own, count in programs:
        if minutes:  # cases differ in length: a program may take twice its share of the time that is left
            left = max(0.0, 60 * minutes - (time.monotonic() - begin))
            share = min(1.0, 2 * count / max(1, total - progress.done))
            environment["PMPP_BENCH_SECONDS"] = f"{left * share:.1f}"
        document["programs"].append(run_program(program, kind, own, environment, progress))
        write()  # so that a run that is cut off leaves what it has
    progress.end(f"{progress.done} cases in {span(time.monotonic() - progress.start)}")
    if options.nvcc and shutil.which(options.nvcc):
        document["compile"] = compile_costs(options.nvcc, options.architecture, options.root / "include")
    write()
    bench_plots.write_report(document, options.folder)
    print(f"the report is in {options.folder}/report.md", file=sys.stderr)
    return 1 if any("failed" in program for program in document["programs"]) else 0


if __name__ == "__main__":
    sys.exit(main())
