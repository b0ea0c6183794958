// SPDX-License-Identifier: Apache-2.0
//
// Pixels of 8 bits in floating-point arithmetic without conversions, of which a GPU makes few at a time.
//
//   pixel_at(word, i)               byte i of a word, times 2^-133: its bits are the float's
//   scaled_tap(t)                   t * 2^125, so that scaled_tap(t) * pixel_at(w, i) is t * pixel / 256; |t| < 8
//   multiply_add(a, b, c)           a * b + c, where small numbers are never taken for zero
//   pixels_of(a, b, c, d)           four sums, times 256, as bytes: cut off to whole numbers, saturated; sums that begin
//                                   with half_a_pixel are rounded to the nearest, halves up
//   add_byte<I, F>(word, sum)       sum + F * byte I of the word, exactly; F is 1 or -1
//   rounded(x, most)                x as one of the numbers 0 ... most, at most 65535: to the nearest, halves up; NaN is 0
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/simt/bits.hpp>

namespace pmpp::inline PMPP_BACKEND::simt {

inline constexpr float half_a_pixel = 0x1p-9f;

PMPP_HOST_DEVICE inline float pixel_at(std::uint32_t word, unsigned i) {
  // A float whose exponent's bits are 0 or 1 is its bits * 2^-149; the byte goes to bits 16 to 23.
  return __builtin_bit_cast(float, pick_bytes(word, 0, 0x4044u + (i << 8)));
}

PMPP_HOST_DEVICE constexpr float scaled_tap(float t) { return t * 0x1p125f; }

/// Under -use_fast_math too: compilers then would take pixel_at for 0.
PMPP_HOST_DEVICE inline float multiply_add(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  float result;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
  return result;
#else
  return a * b + c;
#endif
}

PMPP_HOST_DEVICE inline std::uint32_t pixels_of(float a, float b, float c, float d) {
#if defined(__CUDA_ARCH__)
  // The whole part of 256 x, for x in [0, 1], is the bits of x * 2^-141 cut off; 256 saturates.
  std::uint32_t result;
  asm("{ .reg .f32 x<4>; .reg .b32 q<4>, high;\n\t"
      "cvt.sat.f32.f32 x0, %1; cvt.sat.f32.f32 x1, %2; cvt.sat.f32.f32 x2, %3; cvt.sat.f32.f32 x3, %4;\n\t"
      "mul.rz.f32 x0, x0, 0f00000100; mul.rz.f32 x1, x1, 0f00000100;\n\t"
      "mul.rz.f32 x2, x2, 0f00000100; mul.rz.f32 x3, x3, 0f00000100;\n\t"
      "mov.b32 q0, x0; mov.b32 q1, x1; mov.b32 q2, x2; mov.b32 q3, x3;\n\t"
      "cvt.pack.sat.u8.s32.b32 high, q3, q2, 0; cvt.pack.sat.u8.s32.b32 %0, q1, q0, high; }"
      : "=r"(result)
      : "f"(a), "f"(b), "f"(c), "f"(d));
  return result;
#else
  const float sum[4] = {a, b, c, d};
  std::uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const float x = 256 * sum[i];
    result |= (x >= 255 ? 255u : x > 0 ? static_cast<std::uint32_t>(x) : 0u) << 8 * i;
  }
  return result;
#endif
}

template <int I, int Factor>
PMPP_HOST_DEVICE std::uint32_t add_byte(std::uint32_t word, std::uint32_t sum) {
#if defined(__CUDA_ARCH__)
  constexpr std::uint32_t factors = (static_cast<std::uint32_t>(Factor) & 0xffu) << 8 * I;
  asm("dp4a.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(word), "r"(factors));
  return sum;
#else
  return sum + static_cast<std::uint32_t>(Factor) * (word >> 8 * I & 0xffu);
#endif
}

PMPP_HOST_DEVICE inline std::uint32_t rounded(float x, float most) {
#if defined(__CUDA_ARCH__)
  // Numbers from 2^22 on are multiples of 1/2: x + 1/2 cut off to them has its whole part in all bits but the last.
  float sum;
  asm("{ .reg .f32 x; max.f32 x, %1, 0f00000000; min.f32 x, x, %2; add.rz.f32 %0, x, 0f4A800001; }"
      : "=f"(sum)
      : "f"(x), "f"(most));
  return __float_as_uint(sum) >> 1 & 0xffffu;
#else
  if (!(x > 0)) return 0;
  if (x >= most) return static_cast<std::uint32_t>(most);
  const auto whole = static_cast<std::uint32_t>(x);
  return whole + (x - static_cast<float>(whole) >= 0.5f);
#endif
}

}  // namespace pmpp::inline PMPP_BACKEND::simt
