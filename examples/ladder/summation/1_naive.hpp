// SPDX-License-Identifier: Apache-2.0
//
// Rung 1: from the left. One thread adds each number to what it has. The first number goes through n additions, each of which
// rounds to 24 digits of a sum that grows: the error may be n roundings.
#pragma once

#include "numbers.hpp"

namespace ladder {

struct naive {
  static constexpr int threads = 32;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const float* x, std::int64_t n, float* result) const {
    if (block.thread() != 0) return;
    float sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += x[i];
    *result = sum;
  }
};

}  // namespace ladder
