// SPDX-License-Identifier: Apache-2.0
//
// The macros of the library. There are seven, and there will be no more:
//
//   PMPP_CUDA                1: the program uses CUDA. 0: `device` is the emulator, no CUDA anywhere. Set by the
//                            CMake target; without CMake 1 under nvcc and 0 elsewhere. A property of the program:
//                            every translation unit must agree, and PMPP_BACKEND makes the linker check it.
//   PMPP_DEBUG               1: bounds-checked views and checked preconditions that cost time. Default 0: costs nothing.
//   PMPP_WITH_EMULATOR       1: `pmpp::emulated` exists in a CUDA program too. Always so where PMPP_CUDA is 0.
//   PMPP_WITH_BOOST_CONTEXT  1: the emulator switches threads by Boost.Context (10 ns) instead of ucontext (300 ns);
//                            the program links Boost::context.
//   PMPP_NVTX                1: a range of NVTX around each launch, by the name of the kernel (docs/profiling.md). Default 0.
//   PMPP_BACKEND             the inline namespace of everything in pmpp.
//   PMPP_HOST_DEVICE         marks what runs on both sides.
#pragma once

#if !defined(PMPP_CUDA)
#if defined(__CUDACC__)
#define PMPP_CUDA 1
#else
#define PMPP_CUDA 0
#endif
#endif

#if !defined(PMPP_DEBUG)
#define PMPP_DEBUG 0
#endif

#if !defined(PMPP_WITH_EMULATOR)
#if PMPP_CUDA
#define PMPP_WITH_EMULATOR 0
#else
#define PMPP_WITH_EMULATOR 1
#endif
#endif

#if !defined(PMPP_WITH_BOOST_CONTEXT)
#define PMPP_WITH_BOOST_CONTEXT 0
#endif

#if !defined(PMPP_NVTX)
#define PMPP_NVTX 0
#endif

#if PMPP_CUDA
#define PMPP_BACKEND cuda_build
#else
#define PMPP_BACKEND cpu_build
#endif

#if defined(__CUDACC__)
#define PMPP_HOST_DEVICE __host__ __device__
#else
#define PMPP_HOST_DEVICE
#endif

namespace pmpp::inline PMPP_BACKEND {

/// True where this translation unit can compile device code.
inline constexpr bool has_cuda_compiler =
#if defined(__CUDACC__)
    true;
#else
    false;
#endif

/// True when the program was built with bounds and precondition checks (PMPP_DEBUG).
inline constexpr bool debug_mode = PMPP_DEBUG != 0;

}  // namespace pmpp::inline PMPP_BACKEND
