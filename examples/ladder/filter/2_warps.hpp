// SPDX-License-Identifier: Apache-2.0
//
// Rung 2: a warp asks once. A ballot says which lanes keep their number; one lane takes places for all of them, and a shuffle
// says where these begin. A 32nd of the atomic additions, and the numbers of a warp lie next to each other.
// (Adinets, CUDA pro tip: warp-aggregated atomics, 2014.)
#pragma once

#include "kept.hpp"

namespace ladder {

struct by_warps {
  static constexpr int threads = block_threads;
  /// *count is 0 at first.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const unsigned* in, std::int64_t n, unsigned* out, int* count) const {
    const auto from = pmpp::simt::watch(block, in, "in");
    const auto to = pmpp::simt::watch(block, out, "out");
    const std::int64_t i = block.index() * threads + block.thread();
    const unsigned x = i < n ? from[i] : 1;
    const warp_places place(block, is_kept(x));
    int first = 0;
    if (block.lane() == 0 && place.count > 0) first = pmpp::simt::atomic_add(count, place.count);
    first = block.shuffle(first, 0);
    if (pmpp::simt::branch(block, is_kept(x), "kept")) to[first + place.before] = x;
  }
};

}  // namespace ladder
