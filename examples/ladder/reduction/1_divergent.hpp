// SPDX-License-Identifier: Apache-2.0
//
// Rung 1: a tree of sums in global memory (PMPP, 4th edition, section 10.3). Thread t owns element 2 t of the section and
// adds to it what stands 1, 2, 4, ... places further. In each step half of the threads of the step before are left, spread
// over all warps: a warp is busy as long as one of its lanes is, and its lanes read further and further apart.
// The data are overwritten. One block works through the sections, one after the other.
#pragma once

#include "section.hpp"

namespace ladder {

struct divergent {
  static constexpr int threads = block_threads;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, unsigned* numbers, std::int64_t n, unsigned* sum) const {
    const auto data = pmpp::simt::watch(block, numbers, "data");
    unsigned total = 0;
    for (std::int64_t first = 0; first < n; first += section) {
      const std::int64_t i = first + 2 * block.thread();
      for (int stride = 1; stride <= threads; stride *= 2) {
        if (pmpp::simt::branch(block, block.thread() % stride == 0, "has work") && i + stride < n)
          data[i] += data[i + stride];
        block.sync();
      }
      if (block.thread() == 0) total += data[first];
    }
    if (block.thread() == 0) *sum = total;
  }
};

}  // namespace ladder
