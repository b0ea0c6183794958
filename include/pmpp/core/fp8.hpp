// SPDX-License-Identifier: Apache-2.0
//
// Floats of eight bits: e4m3 and e5m2, by how many bits their exponents and their fractions have (OCP 8-bit floating point).
//
//             largest   smallest > 0   significant bits   infinity
//   e4m3          448   2^-9                          4   none
//   e5m2        57344   2^-16                         3   yes
//
// For programs without CUDA; where <cuda_fp8.h> is, its __nv_fp8_e4m3 and __nv_fp8_e5m2 have the same bits and are taken alike.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// A float of one sign, `Exponent` bits of exponent, and a fraction. Made of a float as CUDA's are: rounded to nearest, ties to even;
/// what is too large becomes the largest number, infinity too; NaN stays NaN. Becomes a float exactly.
template <int Exponent>
struct fp8 {
  static_assert(Exponent == 4 || Exponent == 5);
  static constexpr int fraction = 7 - Exponent, bias = (1 << (Exponent - 1)) - 1;
  static constexpr std::uint32_t largest = Exponent == 4 ? 0x7e : 0x7b;

  std::uint8_t bits;

  fp8() = default;
  PMPP_HOST_DEVICE explicit constexpr fp8(float x) : bits(0) {
    const auto given = __builtin_bit_cast(std::uint32_t, x), magnitude = given & 0x7fffffffu;
    std::uint32_t code = 0x7f;  // NaN
    if (magnitude <= 0x7f800000u) {
      if (magnitude >= std::uint32_t(128 - bias) << 23) {
        code = magnitude - (std::uint32_t(127 - bias) << 23);
        code = (code + (0x7fffffu >> (fraction + 1)) + (code >> (23 - fraction) & 1)) >> (23 - fraction);
        if (code > largest) code = largest;
      } else {  // a multiple of the smallest: rounded where 2^23 is added
        const float many = __builtin_bit_cast(float, magnitude) * float(1 << (bias - 1 + fraction));
        code = __builtin_bit_cast(std::uint32_t, many + 8388608.0f) & 0xff;
      }
    }
    bits = static_cast<std::uint8_t>((given >> 24 & 0x80) | code);
  }
  PMPP_HOST_DEVICE explicit constexpr operator float() const {
    const std::uint32_t sign = std::uint32_t(bits & 0x80) << 24, magnitude = bits & 0x7fu;
    if (magnitude > largest)  // e5m2: infinity first
      return __builtin_bit_cast(float, sign | (Exponent == 5 && magnitude == largest + 1 ? 0x7f800000u : 0x7fc00000u));
    if (magnitude >> fraction == 0) {
      const float small = float(magnitude) / float(1 << (bias - 1 + fraction));
      return sign != 0 ? -small : small;
    }
    return __builtin_bit_cast(float, sign | ((magnitude << (23 - fraction)) + (std::uint32_t(127 - bias) << 23)));
  }
};
using fp8_e4m3 = fp8<4>;
using fp8_e5m2 = fp8<5>;

/// Sums that tensor cores add up alone, of which they keep some 14 bits (gemm_scaled.hpp): gemm_options{.precision =
/// fast_accumulation{}}. A type of its own, so that those calls alone that ask for it compile its kernels.
struct fast_accumulation {};

namespace detail {

/// What T is as an element: the type of this library for CUDA's, T itself for all others.
template <class T>
using own_fp8 = std::conditional_t<
    type_name<std::remove_const_t<T>>() == "__nv_fp8_e4m3", fp8_e4m3,
    std::conditional_t<type_name<std::remove_const_t<T>>() == "__nv_fp8_e5m2", fp8_e5m2, std::remove_const_t<T>>>;
template <class T>
inline constexpr bool is_fp8 = std::is_same_v<own_fp8<std::remove_const_t<T>>, fp8_e4m3> ||
                               std::is_same_v<own_fp8<std::remove_const_t<T>>, fp8_e5m2>;

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
