// SPDX-License-Identifier: Apache-2.0
//
// Sums, minima and maxima in one step, for tables of dynamic programming and for shortest paths. Of 32-bit integers each is one
// instruction from sm_90 on (CUDA's DPX functions); before, and in the emulator, two or three.
//
//   add_max(a, b, c)         max(a + b, c)               __viaddmax_s32
//   add_max_zero(a, b, c)    max(a + b, c, 0)            __viaddmax_s32_relu
//   add_min(a, b, c)         min(a + b, c)               __viaddmin_s32; of floats and doubles fmin, to which a NaN is no number
//   max3_zero(a, b, c)       max(a, b, c, 0)             __vimax3_s32_relu
//
// The same of two signed 16-bit integers in a word each: add_max_pairs, add_min_pairs, max_pairs, max3_pairs, min_pairs; and
// min_unsigned_pairs.
#pragma once

#include <concepts>
#include <cstdint>

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

namespace detail {
/// op(i) of each half of words: what it gives from the i-th halves.
template <class Op, class... Words>
PMPP_HOST_DEVICE constexpr std::uint32_t by_halves(const Op& op, Words... words) {
  const auto low = op(static_cast<std::int16_t>(words & 0xffffu)...);
  const auto high = op(static_cast<std::int16_t>(words >> 16)...);
  return (static_cast<std::uint32_t>(low) & 0xffffu) | static_cast<std::uint32_t>(high) << 16;
}
}  // namespace detail

PMPP_HOST_DEVICE inline std::uint32_t add_max_pairs(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
#if defined(__CUDA_ARCH__)
  return __viaddmax_s16x2(a, b, c);
#else
  return detail::by_halves([](int x, int y, int z) { return pmpp::max(int(std::int16_t(x + y)), z); }, a, b, c);
#endif
}
PMPP_HOST_DEVICE inline std::uint32_t add_min_pairs(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
#if defined(__CUDA_ARCH__)
  return __viaddmin_s16x2(a, b, c);
#else
  return detail::by_halves([](int x, int y, int z) { return pmpp::min(int(std::int16_t(x + y)), z); }, a, b, c);
#endif
}
PMPP_HOST_DEVICE inline std::uint32_t max_pairs(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __vmaxs2(a, b);
#else
  return detail::by_halves([](int x, int y) { return pmpp::max(x, y); }, a, b);
#endif
}
PMPP_HOST_DEVICE inline std::uint32_t min_pairs(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __vmins2(a, b);
#else
  return detail::by_halves([](int x, int y) { return pmpp::min(x, y); }, a, b);
#endif
}
PMPP_HOST_DEVICE inline std::uint32_t max3_pairs(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
#if defined(__CUDA_ARCH__)
  return __vimax3_s16x2(a, b, c);
#else
  return max_pairs(max_pairs(a, b), c);
#endif
}
PMPP_HOST_DEVICE inline std::uint32_t min_unsigned_pairs(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __vminu2(a, b);
#else
  return pmpp::min(a & 0xffffu, b & 0xffffu) | pmpp::min(a >> 16, b >> 16) << 16;
#endif
}

}  // namespace pmpp::inline PMPP_BACKEND::simt
