// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on float and double that is rounded as IEEE 754 says, step by step, on a GPU whatever its compiler was told of fast
// arithmetic: no sum is fused with the product before it, no quotient or root is an approximation. A CPU's compiler does so by
// itself, but for sums of products (GCC, for processors with fused multiply-adds), before which `settled` stands, and -ffast-math.
#pragma once

#include <type_traits>

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND::detail {

// clang-format off
#if defined(__CUDA_ARCH__)
PMPP_HOST_DEVICE inline float rounded_sum(float a, float b) { return __fadd_rn(a, b); }
PMPP_HOST_DEVICE inline double rounded_sum(double a, double b) { return __dadd_rn(a, b); }
PMPP_HOST_DEVICE inline float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
PMPP_HOST_DEVICE inline double fused(double a, double b, double c) { return __fma_rn(a, b, c); }
PMPP_HOST_DEVICE inline float quotient(float a, float b) { return __fdiv_rn(a, b); }
PMPP_HOST_DEVICE inline double quotient(double a, double b) { return __ddiv_rn(a, b); }
PMPP_HOST_DEVICE inline float root(float a) { return __fsqrt_rn(a); }
PMPP_HOST_DEVICE inline double root(double a) { return __dsqrt_rn(a); }
/// Of a number that is neither tiny nor huge (2^-100 to 2^100): what __fsqrt_rn does with it, without asking.
PMPP_HOST_DEVICE inline float ordinary_root(float a) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(a));
  const float root = __fmul_rn(a, y);
  return __fmaf_rn(__fmaf_rn(-root, root, a), __fmul_rn(y, 0.5f), root);
}
#else
PMPP_HOST_DEVICE inline float rounded_sum(float a, float b) { return a + b; }
PMPP_HOST_DEVICE inline double rounded_sum(double a, double b) { return a + b; }
PMPP_HOST_DEVICE inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
PMPP_HOST_DEVICE inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
PMPP_HOST_DEVICE inline float quotient(float a, float b) { return a / b; }
PMPP_HOST_DEVICE inline double quotient(double a, double b) { return a / b; }
PMPP_HOST_DEVICE inline float root(float a) { return __builtin_sqrtf(a); }
PMPP_HOST_DEVICE inline double root(double a) { return __builtin_sqrt(a); }
PMPP_HOST_DEVICE inline float ordinary_root(float a) { return __builtin_sqrtf(a); }
#endif
PMPP_HOST_DEVICE inline double ordinary_root(double a) { return root(a); }
// clang-format on

/// x, rounded to its type before anything is done with it.
template <class T>
PMPP_HOST_DEVICE T settled(T x) {
#if !defined(__CUDA_ARCH__)
  if constexpr (std::is_floating_point_v<T>) asm("" : "+m"(x));
#endif
  return x;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail
