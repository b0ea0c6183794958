// SPDX-License-Identifier: Apache-2.0
//
// Before the first rung: a thread adds its number to the sum by an atomic operation. Right in a line, and all additions of
// the grid wait for each other at one word of the last cache. (The hardware or the compiler may add up a warp's first.)
#pragma once

#include "section.hpp"

namespace ladder {

struct an_atomic_each {
  static constexpr int threads = block_threads;
  /// *sum is 0 at first.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const unsigned* numbers, std::int64_t n, unsigned* sum) const {
    const auto data = pmpp::simt::watch(block, numbers, "data");
    const std::int64_t i = block.index() * threads + block.thread();
    if (i < n) pmpp::simt::atomic_add(sum, data[i]);
  }
};

}  // namespace ladder
