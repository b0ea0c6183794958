// SPDX-License-Identifier: Apache-2.0
//
// Rung 1: each number that is kept takes the next place, by an atomic addition. One counter for all: the additions come one
// after the other, and numbers stand in any order.
#pragma once

#include "kept.hpp"

namespace ladder {

struct by_atomics {
  static constexpr int threads = block_threads;
  /// *count is 0 at first.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const unsigned* in, std::int64_t n, unsigned* out, int* count) const {
    const auto from = pmpp::simt::watch(block, in, "in");
    const auto to = pmpp::simt::watch(block, out, "out");
    const std::int64_t i = block.index() * threads + block.thread();
    if (i >= n) return;
    const unsigned x = from[i];
    if (pmpp::simt::branch(block, is_kept(x), "kept")) to[pmpp::simt::atomic_add(count, 1)] = x;
  }
};

}  // namespace ladder
