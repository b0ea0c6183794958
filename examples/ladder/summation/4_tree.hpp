// SPDX-License-Identifier: Apache-2.0
//
// Rung 4: the tree of a block, as reductions have it. A thread adds every threads-th number from the left, then the block adds
// pairwise: a number goes through n / p additions of a thread, p being all threads of the grid, and log2 of a block's threads. So a
// sum on a GPU is more exact than the loop that it replaces, and two GPUs of different size give different digits.
#pragma once

#include "numbers.hpp"

namespace ladder {

struct tree {
  static constexpr int threads = 256;
  struct shared {
    float partial[threads];
  };
  /// sums[b]: what block b has added; one block more adds those.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const float* x, std::int64_t n, float* sums) const {
    const int t = block.thread();
    float sum = 0;
    for (std::int64_t i = block.index() * threads + t; i < n; i += block.count() * threads) sum += x[i];
    memory.partial[t] = sum;
    for (int stride = threads / 2; stride > 0; stride /= 2) {
      block.sync();
      if (t < stride) memory.partial[t] += memory.partial[t + stride];
    }
    if (t == 0) sums[block.index()] = memory.partial[0];
  }
};

}  // namespace ladder
