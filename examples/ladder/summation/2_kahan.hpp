// SPDX-License-Identifier: Apache-2.0
//
// Rung 2: Kahan's summation (Communications of the ACM 8, 1965). What an addition has lost is found by subtracting again, and is
// taken off the next number: two roundings, whatever n. In exact arithmetic `lost` is 0, which is what -ffast-math makes of it.
#pragma once

#include "numbers.hpp"

namespace ladder {

struct kahan {
  static constexpr int threads = 32;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const float* x, std::int64_t n, float* result) const {
    if (block.thread() != 0) return;
    float sum = 0, lost = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const float next = x[i] - lost, larger = sum + next;
      lost = (larger - sum) - next;
      sum = larger;
    }
    *result = sum;
  }
};

}  // namespace ladder
