# SPDX-License-Identifier: Apache-2.0
include(CMakeFindDependencyMacro)
set(PMPP_CUDA OFF)  # b was built for the CPU
find_dependency(pmpp)
include(${CMAKE_CURRENT_LIST_DIR}/b-targets.cmake)
