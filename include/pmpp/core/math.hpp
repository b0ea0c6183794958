// SPDX-License-Identifier: Apache-2.0
//
// Integer arithmetic that every kernel needs.
#pragma once

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// The least q with q * divisor >= dividend. \pre dividend >= 0, divisor > 0. Does not overflow.
template <class T>
PMPP_HOST_DEVICE constexpr T ceil_div(T dividend, T divisor) {
  return static_cast<T>(dividend / divisor + (dividend % divisor != 0));
}

/// The least multiple of `multiple` that is >= value. \pre value >= 0, multiple > 0.
template <class T>
PMPP_HOST_DEVICE constexpr T round_up(T value, T multiple) {
  return static_cast<T>(ceil_div(value, multiple) * multiple);
}

template <class T>
PMPP_HOST_DEVICE constexpr bool is_power_of_two(T value) {
  return value > 0 && (value & (value - 1)) == 0;
}

/// The greatest k with 2^k <= value. \pre value > 0.
template <class T>
PMPP_HOST_DEVICE constexpr int floor_log2(T value) {
  int k = 0;
  while (value >>= 1) ++k;
  return k;
}

/// The least k with 2^k >= value. \pre value > 0.
template <class T>
PMPP_HOST_DEVICE constexpr int ceil_log2(T value) {
  return floor_log2(value) + (is_power_of_two(value) ? 0 : 1);
}

template <class T>
PMPP_HOST_DEVICE constexpr T greatest_common_divisor(T a, T b) {
  while (b != 0) {
    const T r = a % b;
    a = b;
    b = r;
  }
  return a;
}

/// The bytes of an object, for memcpy, whatever its operator& does.
template <class T>
PMPP_HOST_DEVICE constexpr void* bytes_of(T& object) {
  return __builtin_addressof(object);
}
template <class T>
PMPP_HOST_DEVICE constexpr const void* bytes_of(const T& object) {
  return __builtin_addressof(object);
}

/// min and max for kernels: std::min and std::max are host functions to nvcc.
template <class T>
PMPP_HOST_DEVICE constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
PMPP_HOST_DEVICE constexpr T max(T a, T b) {
  return a < b ? b : a;
}

}  // namespace pmpp::inline PMPP_BACKEND
