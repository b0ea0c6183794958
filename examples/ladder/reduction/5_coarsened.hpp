// SPDX-License-Identifier: Apache-2.0
//
// Rung 5: thread coarsening (PMPP, section 10.8). A thread adds 16 numbers in a register before the tree begins: additions
// without a barrier and without an idle lane. The tree, its barriers and the atomic come once for 4,096 numbers a block of
// 256 threads; the independent loads of a thread are on their way at the same time.
#pragma once

#include "section.hpp"

namespace ladder {

struct coarsened {
  static constexpr int threads = 256, items = 16;
  static constexpr std::int64_t tile = threads * items;
  struct shared {
    unsigned partial[threads];
  };
  /// *sum is 0 at first.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const unsigned* numbers, std::int64_t n,
                                   unsigned* sum) const {
    const auto data = pmpp::simt::watch(block, numbers, "data");
    const auto partial = pmpp::simt::watch(block, memory.partial, "partial");
    const std::int64_t first = block.index() * tile + block.thread();
    unsigned own = 0;
    for (int k = 0; k < items; ++k) own += first + k * threads < n ? data[first + k * threads] : 0;
    partial[block.thread()] = own;
    const unsigned total = add_up(block, partial);
    if (block.thread() == 0) pmpp::simt::atomic_add(sum, total);
  }
};

}  // namespace ladder
