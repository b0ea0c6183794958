# SPDX-License-Identifier: Apache-2.0
#
# What only our own tests, benchmarks and examples get: build type, architectures, warnings. Nothing here reaches a
# consumer.

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug, RelWithDebInfo" FORCE)
endif()
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()

# PMPP_DEV_CUDA: this tree also compiles CUDA. Needs a CUDA compiler; the headers alone need only the toolkit.
set(PMPP_DEV_CUDA OFF)
if(TARGET pmpp::cuda)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND PROJECT_IS_TOP_LEVEL)
      set(CMAKE_CUDA_ARCHITECTURES 90a CACHE STRING "GPU architectures of our own programs; 90a is Hopper, all of it")
    endif()
    enable_language(CUDA)
    set(PMPP_DEV_CUDA ON)
  elseif(NOT PMPP_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "PMPP_CUDA=${PMPP_CUDA}: tests, benchmarks and examples need a CUDA compiler (nvcc on PATH, or "
                        "CUDACXX). The headers alone do not: PMPP_BUILD_TESTS, _BENCHMARKS and _EXAMPLES = OFF.")
  endif()
endif()

# ccache, where it is installed, makes the second build of a tree cheap.
find_program(PMPP_CCACHE ccache)
mark_as_advanced(PMPP_CCACHE)
if(PMPP_CCACHE AND PROJECT_IS_TOP_LEVEL)
  foreach(language IN ITEMS CXX CUDA)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER ${PMPP_CCACHE})
    endif()
  endforeach()
endif()

# pmpp_dev: warnings, on the host and under nvcc. They are errors, unless -DCMAKE_COMPILE_WARNING_AS_ERROR=OFF.
# Kernels of tests and examples may be lambdas.
if(NOT DEFINED CMAKE_COMPILE_WARNING_AS_ERROR)
  set(CMAKE_COMPILE_WARNING_AS_ERROR ON)
endif()
set(gnu_like $<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>)
set(nvcc $<COMPILE_LANG_AND_ID:CUDA,NVIDIA>)
set(strict $<BOOL:$<TARGET_PROPERTY:COMPILE_WARNING_AS_ERROR>>)  # CMake itself says so to g++ and nvcc, not to nvcc's g++
add_library(pmpp_dev INTERFACE)
target_compile_options(pmpp_dev INTERFACE
  "$<${gnu_like}:-Wall;-Wextra>"
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-error=array-bounds>"  # GCC 13 sees copies of vectors of one element so
  "$<${nvcc}:-Xcompiler=-Wall,-Wextra;--extended-lambda>"
  "$<$<AND:${nvcc},${strict}>:-Xcompiler=-Werror>")

# pmpp_dev_sanitize: what PMPP_SANITIZE asks for; only CPU tests and CPU examples link it.
add_library(pmpp_dev_sanitize INTERFACE)
if(PMPP_SANITIZE)
  target_compile_options(pmpp_dev_sanitize INTERFACE
    -fsanitize=${PMPP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_link_options(pmpp_dev_sanitize INTERFACE -fsanitize=${PMPP_SANITIZE})
endif()

# PMPP_CUDA_IR_ONLY: benchmarks, and CUDA tests, examples and the demonstration, which are CPU programs too, end at NVVM's intermediate
# representation (that of -dlto), for a machine without a GPU, where none of them runs: one pass of the compiler over the whole text, host
# code and kernels, but no PTX, no host object and no link. Tests and examples of CUDA alone are linked everywhere.
option(PMPP_CUDA_IR_ONLY "Compile CUDA programs that could not run to intermediate representation alone: nothing to link" OFF)
if(PMPP_DEV_CUDA AND PMPP_CUDA_IR_ONLY)
  list(GET CMAKE_CUDA_ARCHITECTURES 0 architecture)
  string(REGEX MATCH "^[0-9]+[af]?" architecture "${architecture}")
  # CMake has a property for PTX alone, and what nvcc is told then in this variable. PTX takes a third longer.
  set(_CMAKE_CUDA_PTX_FLAG "-gencode arch=compute_${architecture},code=lto_${architecture} -ltoir")
endif()

# The sources of TARGET, a library of objects, end at intermediate representation.
function(pmpp_dev_ir_only target)
  set_target_properties(${target} PROPERTIES CUDA_PTX_COMPILATION ON CUDA_ARCHITECTURES OFF)
endfunction()

# pmpp_dev_program(TARGET cpu|cuda SOURCE [MAY_END_AT_IR] [LIBRARIES ...])
#
# An executable from one source for one backend, or its intermediate representation (a library of objects) where PMPP_CUDA_IR_ONLY
# and it may. A .cpp becomes CUDA through a one-line .cu in the build tree, because the language of a source file is a property of a directory, not of a target.
function(pmpp_dev_program target backend source)
  cmake_parse_arguments(PARSE_ARGV 3 arg "MAY_END_AT_IR" "" "LIBRARIES")
  cmake_path(ABSOLUTE_PATH source)
  cmake_path(GET source STEM name)
  cmake_path(GET source EXTENSION LAST_ONLY extension)
  if(backend STREQUAL "cuda" AND extension STREQUAL ".cpp")
    set(wrapper ${CMAKE_CURRENT_BINARY_DIR}/${target}.cu)
    file(CONFIGURE OUTPUT ${wrapper} CONTENT "#include \"${source}\"\n" @ONLY)
    set(source ${wrapper})
  endif()
  if(backend STREQUAL "cuda" AND arg_MAY_END_AT_IR AND PMPP_CUDA_IR_ONLY)
    add_library(${target} OBJECT ${source})
    pmpp_dev_ir_only(${target})
  else()
    add_executable(${target} ${source})
  endif()
  if(backend STREQUAL "cuda")
    target_link_libraries(${target} PRIVATE pmpp::cuda)
  else()
    target_link_libraries(${target} PRIVATE pmpp::cpu pmpp_dev_sanitize)
  endif()
  target_link_libraries(${target} PRIVATE pmpp_dev ${arg_LIBRARIES})
endfunction()
