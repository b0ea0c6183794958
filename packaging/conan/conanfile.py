# SPDX-License-Identifier: Apache-2.0
#
# Packs the tree it lies in, and builds a program with the package:
#   conan create packaging/conan --build=missing
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Pmpp(ConanFile):
    name = "pmpp"
    description = "Parallel primitives for CUDA and for the CPU, headers only"
    license = "Apache-2.0"
    topics = ("cuda", "gpu", "parallel", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    no_copy_source = True

    def _tree(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._tree(), "include/pmpp/core/version.hpp"))
        self.version = ".".join(re.search(rf"version_{part} = (\d+);", text)[1] for part in ("major", "minor", "patch"))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "CHANGELOG.md", "cmake/*", "include/*"):
            copy(self, pattern, src=self._tree(), dst=self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        if self.settings.get_safe("compiler.cppstd"):
            check_min_cppstd(self, 20)

    def package_id(self):
        self.info.clear()  # the same for every compiler

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({"PMPP_CUDA": "OFF", "PMPP_BUILD_TESTS": "OFF", "PMPP_BUILD_BENCHMARKS": "OFF",
                                          "PMPP_BUILD_EXAMPLES": "OFF"})
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # pmpp's own CMake package makes the targets; nothing of Conan stands in for it.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "pmpp")]
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
