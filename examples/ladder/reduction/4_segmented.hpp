// SPDX-License-Identifier: Apache-2.0
//
// Rung 4: a section a block (PMPP, section 10.7). All multiprocessors have work. The sums of the blocks meet in one atomic
// addition each, in any order: for floating-point numbers the last bits would change from run to run.
#pragma once

#include "section.hpp"

namespace ladder {

struct segmented {
  static constexpr int threads = block_threads;
  struct shared {
    unsigned partial[threads];
  };
  /// *sum is 0 at first.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const unsigned* numbers, std::int64_t n,
                                   unsigned* sum) const {
    const auto data = pmpp::simt::watch(block, numbers, "data");
    const auto partial = pmpp::simt::watch(block, memory.partial, "partial");
    const std::int64_t i = block.index() * section + block.thread(), j = i + threads;
    partial[block.thread()] = (i < n ? data[i] : 0) + (j < n ? data[j] : 0);
    const unsigned total = add_up(block, partial);
    if (block.thread() == 0) pmpp::simt::atomic_add(sum, total);
  }
};

}  // namespace ladder
