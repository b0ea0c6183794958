#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs pmpp, moves the prefix elsewhere, and builds the consumer projects of test/install against it.

CPU consumers run; CUDA consumers run where there is a GPU, and are compiled and linked elsewhere. Nothing is downloaded.
A line per consumer; the compiler's words where one fails.
"""
import os
import re
import shutil
import subprocess
import sys
import time

from toolchain import Toolchain

tools = Toolchain(__doc__)
consumers = tools.root / "test" / "install"
prefix = tools.scratch / "moved" / "prefix"
generator = ["-G", "Ninja"] if shutil.which("ninja") else []
environment = {**os.environ, "CXX": tools.cxx, "CUDACXX": tools.nvcc or "", "CUDAARCHS": tools.arguments.architecture}
for name in ("CMAKE_PREFIX_PATH", "CXXFLAGS", "CUDAFLAGS", "LDFLAGS", "CMAKE_CXX_COMPILER_LAUNCHER", "CMAKE_CUDA_COMPILER_LAUNCHER", *([] if tools.nvcc else ["CUDACXX"])):
    environment.pop(name, None)
has_gpu = shutil.which("nvidia-smi") and subprocess.run(["nvidia-smi", "-L"], capture_output=True).stdout.startswith(b"GPU")
failed = 0


class Failure(Exception):
    pass


def run(*command, expect_failure=None):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", env=environment)
    if expect_failure is None and done.returncode:
        raise Failure(" ".join(map(str, command)) + "\n" + "\n".join(line[:300] for line in done.stdout.splitlines()[-16:]))
    if expect_failure is not None and (done.returncode == 0 or expect_failure not in " ".join(done.stdout.split())):
        raise Failure(f"{' '.join(map(str, command))}\nshould fail with '{expect_failure}', but exits with "
                      f"{done.returncode}:\n{done.stdout}")
    return done.stdout.strip()


def configure(source, build, *definitions, **expectation):
    return run("cmake", *generator, "-S", source, "-B", build, "-DFETCHCONTENT_FULLY_DISCONNECTED=ON", *definitions, **expectation)


def consume(folder, *definitions, runs, program="program", target=None):
    """Configures, builds and runs one consumer; what it printed."""
    build = tools.scratch / "build" / str(folder).replace("/", "_")
    configure(consumers / folder, build, *definitions)
    run("cmake", "--build", build, "-j", tools.jobs, *(["--target", target] if target else []))
    return run(build / program) if runs else "compiled and linked; no GPU here to run it"


def step(name, function):
    global failed
    start = time.monotonic()
    try:
        result = function()
    except Failure as failure:
        failed += 1
        result = f"FAILED\n{failure}"
    print(f"{name:44} {time.monotonic() - start:5.1f} s  {result}", flush=True)


def install():
    build, first = tools.scratch / "build" / "pmpp", tools.scratch / "first"
    configure(tools.root, build, "-DPMPP_CUDA=OFF", "-DPMPP_BUILD_TESTS=OFF", "-DPMPP_BUILD_BENCHMARKS=OFF",
              "-DPMPP_BUILD_EXAMPLES=OFF")
    run("cmake", "--install", build, "--prefix", first)
    prefix.parent.mkdir(parents=True)
    first.rename(prefix)
    text = "".join(path.read_text() for folder in ("cmake/pmpp", "pkgconfig") for path in (prefix / "share" / folder).iterdir())
    if str(tools.root) in text or str(first) in text:
        raise Failure("the installed CMake files name a folder of this machine")
    return f"{sum(path.is_file() for path in prefix.rglob('*'))} files"


def versions():
    """Whatever names the version names that of the header."""
    text = (tools.base / "core/version.hpp").read_text()
    version = ".".join(re.search(rf"version_{part} = (\d+);", text)[1] for part in ("major", "minor", "patch"))
    for name, words in (("CHANGELOG.md", f"## {version}"), ("CITATION.cff", f"\nversion: {version}\n"),
                        ("packaging/vcpkg/pmpp/vcpkg.json", f'"version-semver": "{version}"')):
        if words not in (tools.root / name).read_text():
            raise Failure(f"{name} does not have {words.strip()}")
    return version


def pack():
    build = tools.scratch / "build" / "pmpp"
    run("cpack", "-G", "TGZ", "--config", build / "CPackConfig.cmake", "-B", tools.scratch / "packages")
    if shutil.which("dpkg-deb"):
        run("cpack", "-G", "DEB", "--config", build / "CPackConfig.cmake", "-B", tools.scratch / "packages")
        if run("dpkg-deb", "-f", next((tools.scratch / "packages").glob("*.deb")), "Architecture") != "all":
            raise Failure("the Debian package is not for all architectures")
    return " ".join(sorted(path.name for path in (tools.scratch / "packages").glob("pmpp*.*")))


def pkg_config():
    """A CPU program built with what pkg-config says, from the prefix that was moved."""
    if not shutil.which("pkg-config"):
        return "left out: no pkg-config on this machine"
    environment["PKG_CONFIG_PATH"] = str(prefix / "share/pkgconfig")
    version = run("pkg-config", "--modversion", "pmpp")
    flags = run("pkg-config", "--cflags", "--libs", "pmpp").split()
    if [os.path.realpath(flag.removeprefix("-I")) for flag in flags] != [os.path.realpath(prefix / "include")]:
        raise Failure(f"flags other than the include directory: {flags}")
    program = tools.scratch / "pkg_config_program"
    run(tools.cxx, "-std=c++20", "-pthread", *flags, consumers / "common/main.cpp", consumers / "common/square.cpp", "-o", program)
    return f"{version}: {run(program)}"


def chain(name, *definitions):
    """b is built and installed with its own package, moved, and used by a, which finds pmpp only through b."""
    build, first, b = (tools.scratch / part / name for part in ("build", "first", "moved"))
    configure(consumers / "chain/b", build, *definitions)
    run("cmake", "--build", build, "-j", tools.jobs)
    run("cmake", "--install", build, "--prefix", first)
    first.rename(b)
    shutil.rmtree(tools.scratch / "build" / "chain_a", ignore_errors=True)
    return consume("chain/a", f"-DCMAKE_PREFIX_PATH={b};{prefix}", runs=True)


def refused():
    """Wishes that cannot be met end with a sentence."""
    project = "cmake_minimum_required(VERSION 3.24)\nproject(x LANGUAGES CXX)\n"
    cases = {
        "find_package(pmpp 99 REQUIRED)": "version: 0.",
        "set(PMPP_CUDA OFF)\nfind_package(pmpp REQUIRED COMPONENTS cuda)": "cuda was asked for and is not there",
        "find_package(pmpp REQUIRED COMPONENTS metal)": "metal was asked for and is not there",
    }
    if tools.nvcc:
        cases["find_package(pmpp REQUIRED COMPONENTS cuda)\nfile(TOUCH a.cpp)\nadd_executable(a a.cpp)\n"
              "target_link_libraries(a PRIVATE pmpp::cpu pmpp::cuda)"] = "PMPP_BACKEND"
    for number, (text, sentence) in enumerate(cases.items()):
        source = tools.write(f"refused/{number}/CMakeLists.txt", project + text + "\n").parent
        configure(source, source / "build", f"-DCMAKE_PREFIX_PATH={prefix}", expect_failure=sentence)
    return f"{len(cases)} wishes"


def told():
    """A project that does not enable CUDA learns that it gets a program without it, unless it asked for a kind."""
    for number, (choice, wanted) in enumerate((("", True), ("-DPMPP_CUDA=ON", False), ("-DPMPP_CUDA=OFF", False))):
        source = tools.write(f"told/{number}/CMakeLists.txt", "cmake_minimum_required(VERSION 3.24)\n"
                             "project(x LANGUAGES CXX)\nfind_package(pmpp REQUIRED)\n").parent
        words = configure(source, source / "build", f"-DCMAKE_PREFIX_PATH={prefix}", *([choice] if choice else []))
        if ("project(... LANGUAGES CXX CUDA)" in words) != wanted:
            raise Failure(f"with {choice or 'no choice'} CMake says\n{words}")
    source = tools.write("told/kind/CMakeLists.txt", "cmake_minimum_required(VERSION 3.24)\nproject(x LANGUAGES CXX)\n"
                         "find_package(pmpp REQUIRED)\nget_target_property(kind pmpp::pmpp INTERFACE_LINK_LIBRARIES)\n"
                         "message(STATUS \"kind: ${kind}\")\n").parent
    words = configure(source, source / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    if "pmpp::cpu" not in words:
        raise Failure(f"without the language CUDA pmpp::pmpp is not pmpp::cpu\n{words}")
    return "once"


def examples():
    """examples/ as a project of its own, configured against the installed package; one of them built."""
    build = tools.scratch / "build" / "examples"
    configure(tools.root / "examples", build, f"-DCMAKE_PREFIX_PATH={prefix}", "-DPMPP_CUDA=OFF")
    sources = sorted((tools.root / "examples").glob("[0-9][0-9]_*.cpp"))
    if not sources:
        return "configured; there is no example yet"
    target = f"example_{sources[0].stem}_cpu"
    run("cmake", "--build", build, "-j", tools.jobs, "--target", target)
    run(build / target)
    return target


found, source = f"-DCMAKE_PREFIX_PATH={prefix}", f"-DPMPP_SOURCE={tools.root}"
step("one version everywhere", versions)
step("install, then move the prefix", install)
if failed:
    sys.exit(1)
step("cpack", pack)
step("pkg-config", pkg_config)
step("CPU program", lambda: consume("cpu", found, runs=True))
step("find_package twice, in two folders", lambda: consume("twice", found, runs=True))
step("chain: a finds b, b finds pmpp", lambda: chain("b_found", found))
step("chain: b has pmpp as a subdirectory", lambda: chain("b_subdirectory", source))
step("add_subdirectory", lambda: consume("subdirectory", source, runs=True))
step("FetchContent from a folder", lambda: consume("fetchcontent", source, runs=True))
step("examples/ as a project of its own", examples)
step("refused with a sentence", refused)
if tools.nvcc:
    step("CUDA found, but not enabled", told)
    step("CUDA program, .cpp and .cu in one target", lambda: consume("cuda", found, runs=has_gpu))
    step("CUDA in a shared library", lambda: consume("shared", found, runs=has_gpu))
    step("CUDA with -rdc=true", lambda: consume("rdc", found, runs=has_gpu))
    step("C++ only, of a CUDA program", lambda: consume("cxx_only", found, runs=True))
else:
    print("the CUDA consumers were left out: no nvcc on this machine")
print(f"{failed} failed")
sys.exit(1 if failed else 0)
