#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks scripts/test_device.py where there is no GPU: nvidia-smi, compute-sanitizer and the test programs are scripts, which
pass, fail, skip, hang or are missing; each must end up where it belongs, on both GPUs, and within the time.

usage: device_script.py [root of the repository]
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
CASES = 'echo "[doctest] test cases: 5 | {} passed | {} failed | 1 skipped"\n'
SANITIZER = """tool=$2
while [ "${1#--}" != "$1" ]; do case $1 in --error-exitcode|--tool|--report-api-errors) shift;; esac; shift; done
echo "small: $PMPP_TEST_SMALL, $*"
"$@" || exit $?
case "$tool $1" in racecheck*test_reduce_*) exit 86;; esac
"""
faults = []


def expect(what, output, pattern):
    if not re.search(pattern, output, re.M):
        faults.append(f"{what}: no {pattern!r} in\n{output}")


with tempfile.TemporaryDirectory(prefix="pmpp-check-") as folder:
    build, bin_ = Path(folder) / "build", Path(folder) / "bin"
    (build / "test").mkdir(parents=True)
    bin_.mkdir()

    def script(path, text):
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)

    def run(only, *arguments):
        done = subprocess.run([sys.executable, root / "scripts" / "test_device.py", "--no-build", "--build", build, "--jobs",
                               "4", "--only", only, *arguments], capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}"})
        return done.returncode, done.stdout + done.stderr

    script(bin_ / "nvidia-smi", 'echo "GPU 0: one"; echo "GPU 1: two"\n')
    script(bin_ / "compute-sanitizer", SANITIZER)
    good = 'echo "devices $CUDA_VISIBLE_DEVICES, machine $PMPP_EMULATOR_MACHINE"; sleep 0.2\n' + CASES.format(5, 0)
    for name in ("reduce", "math", "merge"):
        for backend in ("cuda", "cpu"):
            script(build / "test" / f"test_{name}_{backend}", good)
    script(build / "test" / "test_views_cuda", CASES.format(4, 1) + "exit 1\n")
    script(build / "test" / "test_transform_cuda", "sleep 60\n")
    script(build / "test" / "test_stream_cuda", "exit 77\n")

    script(build / "test" / "test_bounds_cuda", f'[ -e {folder}/again ] || {{ touch {folder}/again; echo "cudaMalloc: out of memory, asked for 5"; '
           + CASES.format(4, 1).strip() + "; exit 1; }\n" + CASES.format(5, 0))
    script(build / "test" / "test_sets_cuda", 'echo "cudaMalloc: out of memory, asked for 5"\n' + CASES.format(4, 1) + "exit 1\n")

    status, output = run("^bounds$", "--no-sanitizers")
    if status != 0:
        faults.append(f"what finds no memory once: status {status}\n{output}")
    expect("what finds no memory once", output, r"^device +1 of 1 processes passed")
    status, output = run("^sets$", "--no-sanitizers")
    if status != 1:
        faults.append(f"what never finds memory: status {status}\n{output}")
    expect("what never finds memory", output, r"failed: sets")

    status, output = run("^(math|merge)$", "--cpu")
    if status != 0:
        faults.append(f"what passes: status {status}\n{output}")
    expect("what passes", output, r"^device +2 of 2 processes passed \(10 cases passed, 0 failed, 2 left out\)")
    expect("what passes", output, r"^initcheck +1 of 1 processes passed")
    expect("what passes", output, r"^cpu small +2 of 2 processes passed")
    logs = {path.name: path.read_text() for path in (build / "results").iterdir()}
    expect("machines", logs.get("cpu-a100-math.log", ""), "machine a100")
    expect("sanitizer", logs.get("memcheck-merge.log", ""), r"small: 1, .*-tce=.*past")
    if "memcheck-math.log" in logs:
        faults.append("memcheck of a program that launches little")
    expect("both GPUs", "".join(text for name, text in logs.items() if name.startswith("device")), "devices 1")

    status, output = run("^(reduce|views|transform|stream|scan)$", "--minutes", "0.1")
    if status != 1:
        faults.append(f"what fails: status {status}\n{output}")
    expect("what fails", output, r"^device .*; failed: views; not built: scan; not finished: transform; skipped: stream;")
    expect("what fails", output, r"^racecheck .*; failed: reduce from case 1.*;")
    expect("both GPUs", (build / "results" / "two-GPUs-reduce.log").read_text(), "devices 1,0")

    status, output = run("^transform$", "--minutes", "0.03", "--no-sanitizers")
    if status != 2:
        faults.append(f"what takes too long: status {status}\n{output}")

    status, output = run("^merge$", "--list")
    expect("list", output, r"^racecheck: +PMPP_TEST_SMALL=1 .*--tool racecheck.*test_merge_cuda")

for fault in faults:
    print(fault)
print(f"{len(faults)} faults")
sys.exit(1 if faults else 0)
