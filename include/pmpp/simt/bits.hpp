// SPDX-License-Identifier: Apache-2.0
//
// Bits of a word, for ballots and masks: one instruction each on a GPU.
//
//   count_bits(x)       how many are set                                   __popc
//   leading_zeros(x)    how many above the highest set one; 32 for 0       __clz
//   trailing_zeros(x)   how many below the lowest set one; 32 for 0        __ffs - 1
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND::simt {

PMPP_HOST_DEVICE inline int count_bits(unsigned x) {
#if defined(__CUDA_ARCH__)
  return __popc(x);
#else
  return __builtin_popcount(x);
#endif
}

PMPP_HOST_DEVICE inline int leading_zeros(unsigned x) {
#if defined(__CUDA_ARCH__)
  return __clz(static_cast<int>(x));
#else
  return x == 0 ? 32 : __builtin_clz(x);
#endif
}

PMPP_HOST_DEVICE inline int trailing_zeros(unsigned x) {
#if defined(__CUDA_ARCH__)
  return __clz(static_cast<int>(__brev(x)));
#else
  return x == 0 ? 32 : __builtin_ctz(x);
#endif
}

/// Four of the eight bytes of two words: byte i of the result is the one that hexadecimal digit i of `selector` names, 0 to
/// 3 in `low`, 4 to 7 in `high`. One instruction on a GPU.
PMPP_HOST_DEVICE inline std::uint32_t pick_bytes(std::uint32_t low, std::uint32_t high, std::uint32_t selector) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(low, high, selector);
#else
  const std::uint64_t both = std::uint64_t(high) << 32 | low;
  std::uint32_t result = 0;
  for (int i = 0; i < 4; ++i)
    result |= (static_cast<std::uint32_t>(both >> 8 * (selector >> 4 * i & 7)) & 0xffu) << 8 * i;
  return result;
#endif
}

}  // namespace pmpp::inline PMPP_BACKEND::simt
