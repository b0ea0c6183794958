// SPDX-License-Identifier: Apache-2.0
//
// Rung 2: the same tree with other owners (PMPP, sections 10.4 and 10.5). The stride starts at half of the section and
// falls; the threads left are always the first ones. Whole warps retire, and until the last five steps no warp is split;
// neighbours read neighbouring words. The additions are the same.
#pragma once

#include "section.hpp"

namespace ladder {

struct convergent {
  static constexpr int threads = block_threads;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, unsigned* numbers, std::int64_t n, unsigned* sum) const {
    const auto data = pmpp::simt::watch(block, numbers, "data");
    unsigned total = 0;
    for (std::int64_t first = 0; first < n; first += section) {
      const std::int64_t i = first + block.thread();
      for (int stride = threads; stride > 0; stride /= 2) {
        if (pmpp::simt::branch(block, block.thread() < stride, "has work") && i + stride < n)
          data[i] += data[i + stride];
        block.sync();
      }
      if (block.thread() == 0) total += data[first];
    }
    if (block.thread() == 0) *sum = total;
  }
};

}  // namespace ladder
