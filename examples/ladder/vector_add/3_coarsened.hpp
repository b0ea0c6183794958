// SPDX-License-Identifier: Apache-2.0
//
// Rungs 3 and 4: eight elements a thread. As a thread of a CPU would, it takes eight in a row (rung 3): its neighbour's are
// 32 bytes away, and each access of a warp touches 32 sectors for 128 bytes. When the threads of a block go forward together
// instead (rung 4), the lanes of a warp stay side by side.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

template <bool Together>
struct add_eight {
  static constexpr int threads = 256, items = 8;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const float* x, const float* y, float* sum, std::int64_t n) const {
    const auto a = pmpp::simt::watch(block, x, "a"), b = pmpp::simt::watch(block, y, "b");
    const auto c = pmpp::simt::watch(block, sum, "c");
    const std::int64_t start = block.index() * threads * items;
    for (int k = 0; k < items; ++k) {
      const std::int64_t i = start + (Together ? k * threads + block.thread() : block.thread() * items + k);
      if (i < n) c[i] = a[i] + b[i];
    }
  }
};
