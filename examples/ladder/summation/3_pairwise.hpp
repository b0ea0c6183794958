// SPDX-License-Identifier: Apache-2.0
//
// Rung 3: pairwise. Neighbours are added, then neighbouring sums: a number goes through log2 n additions, and as all sums of a
// level are independent, each level is a launch. More threads and a smaller error are the same idea here.
#pragma once

#include <utility>

#include "numbers.hpp"

namespace ladder {

struct pairs {
  static constexpr int threads = 256;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const float* x, std::int64_t n, float* sums) const {
    const std::int64_t i = block.index() * threads + block.thread();
    if (2 * i < n) sums[i] = 2 * i + 1 < n ? x[2 * i] + x[2 * i + 1] : x[2 * i];
  }
};

/// \param scratch [one, other] of (n + 1) / 2 floats each
template <class Policy>
void pairwise(const Policy& where, const float* x, std::int64_t n, float* one, float* other, float* result) {
  do {
    const std::int64_t half = (n + 1) / 2;
    float* const to = half == 1 ? result : one;
    pmpp::launch(where, pmpp::ceil_div(half, std::int64_t(pairs::threads)), pairs{}, x, n, to);
    x = to, n = half;
    std::swap(one, other);
  } while (n > 1);
}

}  // namespace ladder
