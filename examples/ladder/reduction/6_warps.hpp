// SPDX-License-Identifier: Apache-2.0
//
// Rung 6: warps add up by shuffles, from register to register. The tree of rung 5 has nine steps with a barrier each; here
// five steps need none, and one barrier brings the sums of the warps together.
#pragma once

#include "section.hpp"

namespace ladder {

struct by_warps {
  static constexpr int threads = 256, items = 16;
  static constexpr std::int64_t tile = threads * items;
  struct shared {
    unsigned partial[threads / 32];
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
    for (int distance = 16; distance > 0; distance /= 2) own += block.shuffle_down(own, distance);
    if (block.lane() == 0) partial[block.warp()] = own;
    block.sync();
    if (block.thread() != 0) return;
    unsigned total = 0;
    for (int w = 0; w < threads / 32; ++w) total += partial[w];
    pmpp::simt::atomic_add(sum, total);
  }
};

}  // namespace ladder
