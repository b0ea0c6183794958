# SPDX-License-Identifier: Apache-2.0
"""What the checks that compile something share: the compilers, the flags of each kind of program, parallel runs."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SKIPPED = 77  # the exit status that CTest lists as skipped


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


class Toolchain:
    """The compilers, and the flags of the three kinds of translation unit:

    cpu    g++ in a program without CUDA      cuda   g++ in a CUDA program      nvcc   nvcc in a CUDA program
    """

    def __init__(self, description):
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
        parser.add_argument("--cxx", default=os.environ.get("CXX", "c++"))
        parser.add_argument("--nvcc", default=os.environ.get("CUDACXX", "nvcc"), help="none: no CUDA")
        parser.add_argument("--architecture", default="90")
        parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
        self.arguments = parser.parse_args()
        self.root, self.jobs = self.arguments.root, self.arguments.jobs
        self.include = self.root / "include"
        self.base = self.include / "pmpp"
        self.cxx = self.arguments.cxx
        self.nvcc = None if self.arguments.nvcc == "none" else shutil.which(self.arguments.nvcc)
        self._folder = tempfile.TemporaryDirectory(prefix="pmpp-check-")
        self.scratch = Path(self._folder.name)

        warnings = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
        common = ["-std=c++20", f"-I{self.include}"]
        self.compilers = {"cpu": [self.cxx, *common, "-DPMPP_CUDA=0", *warnings]}
        self.link_flags = {"cpu": ["-pthread"]}
        if self.nvcc:
            toolkit = Path(self.nvcc).resolve().parents[1]
            library = next(p for p in (toolkit / "lib64", toolkit / "lib") if p.exists())
            self.compilers["cuda"] = [self.cxx, *common, "-DPMPP_CUDA=1", "-isystem", str(toolkit / "include"),
                                      *warnings]
            self.compilers["nvcc"] = [self.nvcc, "-x", "cu", *common, "-DPMPP_CUDA=1",
                                      f"-arch=sm_{self.arguments.architecture}", "-Xcompiler=" + ",".join(warnings),
                                      "-Werror=all-warnings"]
            self.link_flags["cuda"] = [f"-L{library}", "-lcudart_static", "-lrt", "-ldl", "-pthread"]
            self.link_flags["nvcc"] = self.link_flags["cuda"]

    def headers(self):
        """Every header as it stands in an #include: pmpp/reduce.hpp; those that need a library, where it is installed."""
        found = sorted(path.relative_to(self.include).as_posix() for path in self.base.rglob("*.hpp"))
        png = self.run([self.cxx, "-fsyntax-only", self.write("png.cpp", "#include <png.h>\n")])[0] == 0
        # MPI and NCCL are found by CMake, not by a compiler: test/mpi and examples/distributed compile those.
        return [header for header in found if (png or header != "pmpp/io/png.hpp") and not re.search("/(mpi|nccl)_", header)]

    def write(self, name, text):
        path = self.scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run(self, command):
        """Exit status and the output of both streams."""
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace")
        return done.returncode, done.stdout

    def compile(self, kind, source, *flags):
        return self.run([*self.compilers[kind], *flags, source])

    def compile_object(self, kind, source, *flags):
        """The object file, or an exit with the compiler's words where it must compile and does not."""
        target = self.scratch / f"{Path(source).stem}.{kind}.o"
        status, output = self.compile(kind, source, *flags, "-c", "-o", target)
        if status:
            sys.exit(f"{source.name} does not compile ({kind}):\n{output}")
        return target

    def link(self, kind, *objects):
        return self.run([self.cxx, *objects, "-o", self.scratch / "program", *self.link_flags[kind]])

    def each(self, function, items):
        """function(item) for all items, several at once, results in order."""
        with ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(function, items))
