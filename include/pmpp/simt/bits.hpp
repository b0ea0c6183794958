// SPDX-License-Identifier: Apache-2.0
//
// Bits of a word, for ballots and masks: one instruction each on a GPU.
//
//   count_bits(x)       how many are set                                   __popc
//   leading_zeros(x)    how many above the highest set one; 32 for 0       __clz
//   trailing_zeros(x)   how many below the lowest set one; 32 for 0        __ffs - 1
#pragma once

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

}  // namespace pmpp::inline PMPP_BACKEND::simt
