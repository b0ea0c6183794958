// SPDX-License-Identifier: Apache-2.0
//
// Sums, minima and maxima in one step, for tables of dynamic programming and for shortest paths. Of 32-bit integers each is one
// instruction from sm_90 on (CUDA's DPX functions); before, and in the emulator, two or three.
//
//   add_max(a, b, c)         max(a + b, c)               __viaddmax_s32
//   add_max_zero(a, b, c)    max(a + b, c, 0)            __viaddmax_s32_relu
//   add_min(a, b, c)         min(a + b, c)               __viaddmin_s32; of floats and doubles fmin, to which a NaN is no number
//   max3_zero(a, b, c)       max(a, b, c, 0)             __vimax3_s32_relu
#pragma once

#include <concepts>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>

namespace pmpp::inline PMPP_BACKEND::simt {

PMPP_HOST_DEVICE inline int add_max(int a, int b, int c) {
#if defined(__CUDA_ARCH__)
  return __viaddmax_s32(a, b, c);
#else
  return pmpp::max(a + b, c);
#endif
}

PMPP_HOST_DEVICE inline int add_max_zero(int a, int b, int c) {
#if defined(__CUDA_ARCH__)
  return __viaddmax_s32_relu(a, b, c);
#else
  return pmpp::max(pmpp::max(a + b, c), 0);
#endif
}

PMPP_HOST_DEVICE inline int add_min(int a, int b, int c) {
#if defined(__CUDA_ARCH__)
  return __viaddmin_s32(a, b, c);
#else
  return pmpp::min(a + b, c);
#endif
}

template <std::floating_point T>
PMPP_HOST_DEVICE inline T add_min(T a, T b, T c) {
#if defined(__CUDA_ARCH__)
  return fmin(a + b, c);  // CUDA's, of either type
#else
  return pmpp::minimum{}(a + b, c);
#endif
}

PMPP_HOST_DEVICE inline int max3_zero(int a, int b, int c) {
#if defined(__CUDA_ARCH__)
  return __vimax3_s32_relu(a, b, c);
#else
  return pmpp::max(pmpp::max(a, b), pmpp::max(c, 0));
#endif
}

}  // namespace pmpp::inline PMPP_BACKEND::simt
