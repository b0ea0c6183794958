# SPDX-License-Identifier: Apache-2.0
#
# The targets over pmpp::headers, made in the same way by the build tree and by find_package(pmpp).
# They are imported: a target that links pmpp::pmpp can be exported by its own project, whichever way it got pmpp.
# Nothing here changes a variable, a flag or an architecture of the project that asks.

# A target of that name with the headers, unless it exists.
function(pmpp_add_target name scope)
  if(NOT TARGET pmpp::${name})
    add_library(pmpp::${name} INTERFACE IMPORTED ${scope})
    target_link_libraries(pmpp::${name} INTERFACE pmpp::headers)
  endif()
endfunction()

# A program has one backend. Where a target is linked to both, CMake stops with a message that names them.
function(pmpp_set_backend name backend)
  set_target_properties(pmpp::${name} PROPERTIES INTERFACE_PMPP_BACKEND ${backend}
                                                 COMPATIBLE_INTERFACE_STRING PMPP_BACKEND)
endfunction()

# pmpp_add_targets(AUTO|ON|OFF [GLOBAL])
#
# AUTO takes CUDA where the project has enabled the language and the toolkit is found. With ON and no toolkit there is no pmpp::pmpp afterwards, and the caller
# says so. Calling it again changes nothing that exists.
function(pmpp_add_targets cuda)
  set(scope ${ARGN})
  if(scope STREQUAL "GLOBAL")
    set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL TRUE)  # what pmpp::pmpp links must be visible where pmpp::pmpp is
  endif()

  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT TARGET pmpp::emulator)
    pmpp_add_target(emulator "${scope}")
    target_compile_definitions(pmpp::emulator INTERFACE PMPP_WITH_EMULATOR=1)
    if("CXX" IN_LIST languages OR "C" IN_LIST languages)
      find_package(Threads REQUIRED QUIET)
      target_link_libraries(pmpp::emulator INTERFACE Threads::Threads)
    endif()
    find_package(Boost QUIET COMPONENTS context)
    if(TARGET Boost::context)
      target_compile_definitions(pmpp::emulator INTERFACE PMPP_WITH_BOOST_CONTEXT=1)
      target_link_libraries(pmpp::emulator INTERFACE Boost::context)
    endif()
  endif()

  # For programs with OpenMP loops of their own. pmpp needs none: `host` has threads (host/pool.hpp).
  if(NOT TARGET pmpp::openmp AND "CXX" IN_LIST languages)
    find_package(OpenMP QUIET COMPONENTS CXX)
    if(TARGET OpenMP::OpenMP_CXX)
      pmpp_add_target(openmp "${scope}")
      target_link_libraries(pmpp::openmp INTERFACE OpenMP::OpenMP_CXX)
      separate_arguments(flags UNIX_COMMAND "${OpenMP_CXX_FLAGS}")
      foreach(flag IN LISTS flags)  # OpenMP_CXX itself adds them to C++ sources only
        target_compile_options(pmpp::openmp INTERFACE $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-Xcompiler=${flag}>
                                                      $<$<COMPILE_LANG_AND_ID:CUDA,Clang>:${flag}>)
      endforeach()
    endif()
  endif()

  if(NOT TARGET pmpp::cpu)
    pmpp_add_target(cpu "${scope}")
    pmpp_set_backend(cpu cpu_build)
    target_compile_definitions(pmpp::cpu INTERFACE PMPP_CUDA=0)
    target_link_libraries(pmpp::cpu INTERFACE pmpp::emulator)
  endif()

  if(NOT TARGET pmpp::cuda AND (cuda STREQUAL "AUTO" OR cuda))
    find_package(CUDAToolkit 12.0 QUIET)
    if(CUDAToolkit_FOUND)
      pmpp_add_target(cuda "${scope}")
      pmpp_set_backend(cuda cuda_build)
      target_compile_definitions(pmpp::cuda INTERFACE PMPP_CUDA=1 $<$<BOOL:${PMPP_NVTX}>:PMPP_NVTX=1>)
      target_link_libraries(pmpp::cuda INTERFACE $<TARGET_NAME_IF_EXISTS:Threads::Threads>)
      if(CMAKE_VERSION VERSION_LESS 3.26)  # knows no C++20 for nvcc
        target_compile_options(pmpp::cuda INTERFACE $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-std=c++20>)
      else()
        target_compile_features(pmpp::cuda INTERFACE cuda_std_20)
      endif()
      # The runtime that the program's CUDA sources link by themselves, so that there is only one (Static is nvcc's and
      # CMake's default).
      set(runtime $<UPPER_CASE:$<TARGET_PROPERTY:CUDA_RUNTIME_LIBRARY>>)
      target_link_libraries(pmpp::cuda INTERFACE $<IF:$<STREQUAL:${runtime},SHARED>,CUDA::cudart,CUDA::cudart_static>)
    endif()
  endif()

  if(NOT TARGET pmpp::pmpp)
    if(TARGET pmpp::cuda AND (cuda STREQUAL "AUTO" AND "CUDA" IN_LIST languages OR NOT cuda STREQUAL "AUTO" AND cuda))
      pmpp_add_target(pmpp "${scope}")
      target_link_libraries(pmpp::pmpp INTERFACE pmpp::cuda)
    elseif(cuda STREQUAL "AUTO" OR NOT cuda)
      pmpp_add_target(pmpp "${scope}")
      target_link_libraries(pmpp::pmpp INTERFACE pmpp::cpu)
    endif()
  endif()
endfunction()

# pmpp_add_mpi([GLOBAL]): pmpp::mpi, for <pmpp/distributed/mpi_communicator.hpp>, where MPI is found. A program links it beside pmpp::pmpp.
function(pmpp_add_mpi)
  set(scope ${ARGN})
  if(scope STREQUAL "GLOBAL")
    set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL TRUE)
  endif()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(TARGET pmpp::mpi OR NOT "CXX" IN_LIST languages)
    return()
  endif()
  find_package(MPI QUIET COMPONENTS CXX)
  if(TARGET MPI::MPI_CXX)
    pmpp_add_target(mpi "${scope}")
    target_link_libraries(pmpp::mpi INTERFACE MPI::MPI_CXX)
    # Without the C++ interface that MPI itself gave up, whose headers warn.
    target_compile_definitions(pmpp::mpi INTERFACE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)
  endif()
endfunction()

# pmpp_add_nccl([GLOBAL]): pmpp::nccl, for <pmpp/distributed/nccl_communicator.hpp>, where NCCL is found; NCCL_ROOT says where. The
# toolkit does not bring it: packages libnccl-dev and nvidia-nccl-cu13 do, the latter without the link libnccl.so.
function(pmpp_add_nccl)
  find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${NCCL_ROOT} ENV NCCL_ROOT PATH_SUFFIXES include)
  find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 NAMES_PER_DIR HINTS ${NCCL_ROOT} ENV NCCL_ROOT PATH_SUFFIXES lib lib64)
  mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)
  if(NOT TARGET pmpp::nccl AND TARGET pmpp::cuda AND NCCL_INCLUDE_DIR AND NCCL_LIBRARY)
    pmpp_add_target(nccl "${ARGN}")
    target_include_directories(pmpp::nccl INTERFACE ${NCCL_INCLUDE_DIR})
    target_link_libraries(pmpp::nccl INTERFACE ${NCCL_LIBRARY})
  endif()
endfunction()
