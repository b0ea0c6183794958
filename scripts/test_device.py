#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the device tests and runs them, on all GPUs of this machine at once, within a limit of time:

  build        all test programs; the ten files that took longest to compile
  device       every device test, also those past 2^31 elements
  two GPUs     where there are two: tests that name a device, with the second one as the first
  memcheck, racecheck   compute-sanitizer on small cases (PMPP_TEST_SMALL=1, nothing past 2^31); racecheck takes a hundred
               to a thousand times as long as the program, so that a program's cases are shared out among processes
  initcheck    the same on one program for each primitive: what a kernel reads before it is written depends on its path,
               not on types of elements
  cpu MACHINE  with --cpu: the CPU tests, the emulator playing each machine

One line for each at the end: what passed, failed, was skipped, and what was not run or not finished for lack of time.
Exit status: 0 all passed, 1 something failed, 2 something was not run. Outputs of all programs: BUILD/results.

usage: scripts/test-device.sh [--build DIR] [--only REGEX] [--no-sanitizers] [--cpu] [--minutes N] [--list] [--no-build]
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SANITIZERS = ("memcheck", "racecheck", "initcheck")
MACHINES = ("h100", "a100", "rtx4090", "small")
NOT_SMALL = "*past 2^*,*large enough for many*,*do not fit 32 bits*"  # cases that a sanitizer does not run
LARGE = re.compile(r'TEST_CASE\("[^"]*(past 2\^|do not fit 32 bits)')  # programs with such cases take 10 to 35 GB
NAMES_A_DEVICE = re.compile(r"cudaSetDevice|cudaGetDeviceCount")
TSAN_ALONE = {"emulator_primitives"}  # built for ThreadSanitizer alone
ALWAYS_ON_TWO = {"launch", "launch_together", "memory", "stream", "workspace", "reduce", "scan", "sort", "gemm"}
TOGETHER = 5  # programs on a GPU at a time
LARGE_GB = 60  # of a GPU's memory, for each large one: some take 35, and a dozen under a sanitizer take the rest
SANITIZED_TOGETHER = 12  # besides, under a sanitizer, where the GPU waits for the host most of the time
SANITIZER_SECONDS = 240  # of one process
CASES_OF_A_PROCESS = 8  # under racecheck
CASE = re.compile(r"^TEST_", re.M)
NO_MEMORY = re.compile(r"out of memory, asked for|cudaErrorMemoryAllocation")
ALL = 9999
# memcheck is not for programs that run the kernels of others with further types or comparators (their CPU tests run under the address
# sanitizer, which sees the same strays), nor for those of bad input, files and machines, which launch little. Of control_flow's
# loops the tool (13.0) calls reads of live memory by kernels inside conditional graph nodes "out of bounds ... inside the nearest
# allocation" and ends them, in most runs beside other programs and in none alone.
NOT_MEMCHECKED = re.compile(r"_types|_debug$|^(comparators|control_flow|csr_matrix|edge_list|machine.*|math|matrix_market|occupancy|operators)$")
INITCHECKED = {"alignment", "bfs", "bounds", "by_key", "convolution", "convolution_layer", "floyd_warshall", "gemm", "gemm_default", "gemm_tensor_cores", "gemv", "histogram",
               "image", "memory", "merge", "network", "reduce", "scan", "segmented", "segmented_runs", "segmented_short", "segmented_sort", "select",
               "sort_by_key", "sort_merge", "sort_radix", "sparse", "sparse_formats", "spmm", "spmv", "stencil", "top_k",
               "top_k_default", "top_k_rows", "transform", "transpose", "wavefront", "workspace"}
# racecheck sees shared memory: programs of the kernels that use it, one for each way through each primitive. Those of further types
# (gemm_types, ...), of bad input (..._debug), of views and files run the same kernels or none. gemm_wgmma_half is left out: the tool
# itself takes more than 125 GB of the host's memory for its kernels; gemm_wgmma has the same of bfloat16.
# gemm_scaled is left out too: a warp writes scales to shared memory, meets in __syncwarp, and its first lane arrives at an mbarrier for
# all; the tool (13.0) counts the writes and reads of the other lanes as hazards, which PTX's memory model orders.
RACECHECKED = {"alignment", "bfs", "bounds", "by_key", "cluster", "convolution", "convolution_layer", "convolution_layer_half", "convolution_separable", "convolution_strips",
               "convolution_volume", "distributed_sort_by_digits", "find", "floyd_warshall", "gemm", "gemm_float_parts", "gemm_batched", "gemm_bulk", "gemm_double", "gemm_tensor_cores", "gemm_wgmma",
               "gemm_wgmma_double", "gemm_wgmma_parts", "gemm_wgmma_splits", "gemv", "groups", "histogram", "image", "launch", "launch_together",
               "merge", "mma", "network", "nth_element", "reduce", "scan", "search", "segmented", "segmented_runs", "segmented_short", "segmented_sort", "segmented_sort_by_key",
               "segmented_sort_tiles", "select", "sets", "sort", "sort_by_key", "sort_merge", "sort_radix", "sparse", "sparse_formats", "spmm",
               "spmv", "stencil", "top_k", "top_k_rows", "transform", "transpose", "wavefront"}
WEIGHT = {"memcheck": 0.0002, "racecheck": 0.001, "initcheck": 0.0001}  # seconds for a byte of text, roughly
CASES = re.compile(r"\[doctest\] test cases:\s*(\d+) \|\s*(\d+) passed \|\s*(\d+) failed \|\s*(\d+) skipped")


class Job:
    def __init__(self, step, name, command, environment=None, gpu=None, large=False, limit=None, part=(1, ALL), weight=0):
        self.step, self.name, self.command, self.environment = step, name, command, environment or {}
        self.gpu, self.large, self.limit = gpu, large, limit  # gpu: "any", the value of CUDA_VISIBLE_DEVICES, or None
        self.part, self.weight = part, weight  # the first and last of a program's cases; about how long they take
        self.state, self.cases, self.seconds = "not run", (0, 0, 0), 0.0
        self.alone = False  # others had the GPU's memory when it ran: once more, when nothing else runs

    @property
    def title(self):
        return self.name if self.part == (1, ALL) else f"{self.name} from case {self.part[0]}"

    @property
    def log(self):
        return f"{self.step} {self.title}.log".replace(" ", "-")

    @property
    def sanitized(self):
        return self.step in SANITIZERS


def gpus():
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout
    except OSError:
        return 0
    return sum(line.startswith("GPU ") for line in listed.splitlines())


def gigabytes():
    """Memory of the smallest GPU."""
    try:
        listed = subprocess.run(["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"], capture_output=True,
                                text=True).stdout
        return min(int(line) for line in listed.split()) // 1024
    except (OSError, ValueError):
        return 0


def sources(only):
    """(name, text, on the CPU, on the device) of each test, as test/CMakeLists.txt makes programs of them."""
    for path in sorted([*(ROOT / "test").glob("*.cpp"), *(ROOT / "test").glob("*.cu")]):
        if re.search(only, path.stem) and path.stem not in TSAN_ALONE:
            device = path.suffix == ".cu" or not re.search(r"_host$|^emulator", path.stem)
            yield path.stem, path.read_text(), path.suffix == ".cpp", device


def parts(text):
    """Ranges (first, last) of cases for the processes that share out a program's; the last of them has no end, for templates
    make more cases than the text shows."""
    each, count = CASES_OF_A_PROCESS, max(1, len(CASE.findall(text)) // CASES_OF_A_PROCESS)
    ranges = [(i * each + 1, (i + 1) * each) for i in range(count)]
    return [*ranges[:-1], (ranges[-1][0], ALL)]


def measured(o):
    """Seconds that each job took when this was last run in the same folder."""
    try:
        return {name: float(seconds) for name, seconds in
                (line.rsplit(" ", 1) for line in (o.build / "seconds").read_text().splitlines())}
    except OSError:
        return {}


def all_jobs(o, tests, count):
    def program(name, backend):
        return str(o.build / "test" / f"test_{name}_{backend}")

    jobs = []
    device = [(name, text) for name, text, _, on_device in tests if on_device]
    for name, text in sorted(device, key=lambda test: not LARGE.search(test[1])):  # large ones first: they take longest
        jobs.append(Job("device", name, [program(name, "cuda")], gpu="any", large=bool(LARGE.search(text))))
    for name, text in device:
        if count > 1 and (NAMES_A_DEVICE.search(text) or name in ALWAYS_ON_TWO):
            jobs.append(Job("two GPUs", name, [program(name, "cuda"), "-tce=" + NOT_SMALL], gpu="1,0"))
    sanitized = []
    for tool in SANITIZERS if o.sanitizers else ():
        for name, text in device:
            if name not in {"initcheck": INITCHECKED, "racecheck": RACECHECKED}.get(tool, {name}):
                continue
            if tool == "memcheck" and NOT_MEMCHECKED.search(name):
                continue
            # The tests look at every status themselves, and provoke errors.
            command = [o.sanitizer or "compute-sanitizer", "--tool", tool, "--error-exitcode", "86"]
            if tool == "memcheck":
                command += ["--report-api-errors", "no"]
            command += [program(name, "cuda"), "-d=true", "-tce=" + NOT_SMALL]
            for part in parts(text) if tool == "racecheck" else [(1, ALL)]:
                sanitized.append(Job(tool, name, [*command, f"-first={part[0]}", f"-last={part[1]}"],
                                     {"PMPP_TEST_SMALL": "1"}, gpu="any", limit=SANITIZER_SECONDS, part=part,
                                     weight=len(text) * WEIGHT[tool]))
    # The longest first, so that none is the last to begin: as long as last time, else by the size of the text.
    times = measured(o)
    jobs += sorted(sanitized, key=lambda job: -times.get(job.log, job.weight))
    for machine in MACHINES if o.cpu else ():
        for name, _, on_cpu, _ in tests:
            if on_cpu:
                jobs.append(Job(f"cpu {machine}", name, [program(name, "cpu")], {"PMPP_EMULATOR_MACHINE": machine}))
    return jobs


def configure(o):
    command = ["cmake", "-S", str(ROOT), "-B", str(o.build), "-DCMAKE_BUILD_TYPE=Release", "-DPMPP_CUDA=ON",
               f"-DCMAKE_CUDA_COMPILER={o.nvcc}", f"-DCMAKE_CUDA_ARCHITECTURES={o.architecture}-real",
               "-DPMPP_BUILD_BENCHMARKS=OFF", "-DPMPP_BUILD_EXAMPLES=OFF", "-DPMPP_BUILD_CHECKS=OFF",
               "-DPMPP_TEST_OPTIONS=-O1",  # of nvcc, too, -O is for host code, which takes longer to compile than to run
               "-DCMAKE_CUDA_FLAGS_RELEASE=-O1 -DNDEBUG", "-DPMPP_TEST_DATA_DIR=" + os.environ.get("PMPP_TEST_DATA_DIR", "")]
    if shutil.which("ninja") and not (o.build / "CMakeCache.txt").exists():
        command += ["-G", "Ninja"]
    doctest = os.environ.get("DOCTEST_INCLUDE")
    if doctest:  # a package of the one header
        package = o.build / "doctest"
        package.mkdir(parents=True, exist_ok=True)
        (package / "doctestConfig.cmake").write_text(
            "if(NOT TARGET doctest::doctest)\n"
            "  add_library(doctest::doctest INTERFACE IMPORTED)\n"
            f'  target_include_directories(doctest::doctest INTERFACE "{Path(doctest).resolve()}")\n'
            "endif()\n")
        command.append(f"-Ddoctest_DIR={package.resolve()}")
    return command


def build_command(o, jobs):
    targets = sorted({Path(word).name for job in jobs for word in job.command if "/test/test_" in word})
    return ["cmake", "--build", str(o.build), "-j", str(o.jobs), "--target", *targets,
            "--", *(["-k", "0"] if (o.build / "build.ninja").exists() else ["-k"])]


def slowest(build):
    log = build / ".ninja_log"
    times = {}
    for line in log.read_text().splitlines() if log.exists() else ():
        field = line.split("\t")
        if len(field) > 3 and field[3].endswith(".o"):
            times[field[3]] = (int(field[1]) - int(field[0])) / 1000
    for output, seconds in sorted(times.items(), key=lambda item: -item[1])[:10]:
        name = re.sub(r".*?CMakeFiles/([^/]*)[.]dir/.*", r"\1", output)
        print(f"  {seconds:6.1f} s  {name}")


def stop(process):
    for what in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, what)
            process.wait(timeout=3)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            pass


def finish(job, status, results):
    output = (results / job.log).read_text(errors="replace")
    found = CASES.search(output)
    passed, failed, skipped = (int(found[i]) for i in (2, 3, 4)) if found else (0, 0, 0)
    if found and job.part != (1, ALL):  # doctest counts the other parts' cases as passed
        passed = max(0, min(job.part[1], int(found[1])) - job.part[0] + 1 - failed)
        skipped = skipped if job.part[0] == 1 else 0
    if job.state == "not finished" and "CRASHED: SIGTERM" in output:  # doctest calls the case that this script stopped failed
        failed = max(0, failed - 1)
    job.cases = (passed, failed, skipped)
    if status == 0 and found:
        job.state = "passed"
    elif status == 77:
        job.state = "skipped"
    elif job.state == "running":  # it ended by itself
        job.state = "failed"
        if not job.alone and job.gpu and NO_MEMORY.search(output):
            job.alone, job.state = True, "not run"
            print(f"-- {job.step}: {job.title} found too little of the GPU's memory: once more, alone")
    if job.state == "failed":
        print(f"-- {job.step}: {job.title} FAILED (status {status})")
        for line in output.splitlines()[-25:]:
            print("   " + line)
    sys.stdout.flush()


def run(jobs, o, count, deadline, results):
    large_together = max(1, gigabytes() // LARGE_GB)
    waiting, running = list(jobs), []
    while (waiting or running) and time.monotonic() < deadline:
        for entry in list(running):
            job, process, gpu, log, began = entry
            job.seconds = time.monotonic() - began
            if process.poll() is None and job.limit and job.seconds > job.limit:
                job.state = "not finished"
                stop(process)
            if process.poll() is not None:
                running.remove(entry)
                log.close()
                finish(job, process.returncode, results)
                if job.state == "not run":
                    waiting.append(job)
        if any(entry[0].alone for entry in running):
            time.sleep(0.05)
            continue
        unsanitized = any(job.gpu and not job.sanitized and not job.large for job in waiting)  # those begin first
        for job in list(waiting):
            if len(running) >= o.jobs:
                break
            if (job.sanitized and unsanitized) or (job.alone and running):
                continue
            gpu = None
            if job.gpu == "any":
                load = [sum(other == str(i) and j.sanitized == job.sanitized for j, _, other, _, _ in running)
                        for i in range(count)]  # of the same kind: neither keeps the other from beginning
                large = [sum(other == str(i) and j.large for j, _, other, _, _ in running) for i in range(count)]
                most = SANITIZED_TOGETHER if job.sanitized else TOGETHER
                free = [i for i in range(count)
                        if load[i] < most and not (job.large and large[i] >= large_together)]
                if not free:
                    continue
                gpu = str(min(free, key=lambda i: load[i]))
            elif job.gpu:
                gpu = job.gpu
                if sum(other == gpu for _, _, other, _, _ in running) >= 2:
                    continue
            waiting.remove(job)
            if not Path(next(word for word in job.command if "/test/test_" in word)).exists():
                job.state = "not built"
                continue
            log = open(results / job.log, "w+")
            environment = {**os.environ, **job.environment, **({"CUDA_VISIBLE_DEVICES": gpu} if gpu else {})}
            process = subprocess.Popen(job.command, stdout=log, stderr=subprocess.STDOUT, env=environment,
                                       start_new_session=True)
            job.state = "running"
            running.append((job, process, gpu, log, time.monotonic()))
            if job.alone:
                break
        time.sleep(0.05)
    for job, process, _, log, began in running:
        job.state, job.seconds = "not finished", time.monotonic() - began
        stop(process)
        log.close()
        finish(job, process.returncode, results)


def summary(jobs, steps):
    """One line for each step, and one for each program that did not do all it should."""
    status = 0
    for step in steps:
        of_step = [job for job in jobs if job.step == step]
        state = {s: [job for job in of_step if job.state == s] for s in
                 ("passed", "failed", "skipped", "not finished", "not run", "not built")}
        passed, failed, skipped = (sum(job.cases[i] for job in of_step) for i in range(3))
        line = f"{step:12} {len(state['passed'])} of {len(of_step)} processes passed"
        line += f" ({passed} cases passed, {failed} failed, {skipped} left out)"
        for s in ("failed", "not built", "not finished", "not run", "skipped"):
            if state[s]:
                line += f"; {s}: " + ", ".join(job.title for job in state[s])
        print(f"{line}; {sum(job.seconds for job in of_step):.0f} s of programs")
        if state["failed"] or state["not built"]:
            status = 1
        elif status == 0 and (state["not finished"] or state["not run"]):
            status = 2
    return status


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--build", type=Path, default=ROOT / "build" / "device")
    parse.add_argument("--only", default="", metavar="REGEX", help="tests of these names")
    parse.add_argument("--no-sanitizers", dest="sanitizers", action="store_false")
    parse.add_argument("--cpu", action="store_true", help="also the CPU tests, on each machine that the emulator plays")
    parse.add_argument("--minutes", type=float, default=10, help="for everything; what remains then is listed")
    parse.add_argument("--list", action="store_true", help="say what would be run, and run nothing")
    parse.add_argument("--no-build", dest="compile", action="store_false", help="run what is there")
    parse.add_argument("--nvcc", default="nvcc")
    parse.add_argument("--architecture", default="", help="80, 90a, ...; default: that of the GPU")
    parse.add_argument("--jobs", type=int, default=os.cpu_count())
    o = parse.parse_args()
    o.build = o.build.resolve()
    o.architecture = o.architecture or "90a"
    o.sanitizer = shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path=str(Path(shutil.which(o.nvcc) or "/usr/local/cuda/bin/nvcc").resolve().parent))
    start = time.monotonic()
    deadline = start + 60 * o.minutes
    count = gpus()
    tests = list(sources(o.only))
    jobs = all_jobs(o, tests, max(count, 1))
    steps = list(dict.fromkeys(job.step for job in jobs))
    if o.list:
        if o.compile:
            print(" ".join(configure(o)))
            print(" ".join(build_command(o, jobs)))
        for job in jobs:
            words = [f"{k}={v}" for k, v in job.environment.items()] + job.command
            if job.gpu and job.gpu != "any":
                words.insert(0, f"CUDA_VISIBLE_DEVICES={job.gpu}")
            print(f"{job.step + ':':13}" + ("(large) " if job.large else "") + " ".join(words))
        return 0
    if not jobs:
        print(f"no test has a name like {o.only!r}")
        return 1
    status = 0
    if o.compile:
        for what, command in (("configure", configure), ("build", lambda _: build_command(o, jobs))):
            began = time.monotonic()
            process = subprocess.Popen(command(o), start_new_session=True,
                                       stdout=subprocess.DEVNULL if what == "configure" else None)
            try:  # a third of the time remains for the tests
                done = process.wait(timeout=max(1, start + 40 * o.minutes - time.monotonic()))
            except subprocess.TimeoutExpired:
                stop(process)
                done = "out of time"
            if done:
                status = 1
            print(f"{what:12} {'done' if not done else f'FAILED ({done})'}; {time.monotonic() - began:.0f} s")
            sys.stdout.flush()
            if done and what == "configure":
                return 1
        print("longest to compile:")
        slowest(o.build)
    if count == 0:
        print("no GPU on this machine: device tests would be skipped; only CPU tests run")
        lost = [job for job in jobs if job.gpu]
        jobs = [job for job in jobs if not job.gpu]
    elif o.sanitizers and not o.sanitizer:
        print("compute-sanitizer is not on PATH, nor beside nvcc: its steps are not run")
        lost = [job for job in jobs if job.step in SANITIZERS]
        jobs = [job for job in jobs if job.step not in SANITIZERS]
    else:
        lost = []
    results = o.build / "results"
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    print(f"{count} GPU(s), {o.jobs} cores, {(deadline - time.monotonic()) / 60:.1f} minutes left")
    sys.stdout.flush()
    times = measured(o)
    run(jobs, o, count, deadline, results)
    times.update((job.log, job.seconds) for job in jobs if job.state in ("passed", "failed", "not finished"))
    (o.build / "seconds").write_text("".join(f"{name} {seconds:.1f}\n" for name, seconds in sorted(times.items())))
    status = max(status, summary([*jobs, *lost], steps), key=lambda s: (0, 2, 1)[s])  # a failure says more
    print(f"everything   {time.monotonic() - start:.0f} s, status {status}")
    return status


if __name__ == "__main__":
    sys.exit(main())
