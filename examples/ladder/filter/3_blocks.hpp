// SPDX-License-Identifier: Apache-2.0
//
// Rung 3: a block asks once. Its warps count into shared memory; one thread takes places for all of them. Within a block
// numbers keep their order, blocks come as they happen to run.
#pragma once

#include "kept.hpp"

namespace ladder {

struct by_blocks {
  static constexpr int threads = block_threads;
  struct shared {
    int of_warp[warps], first;
  };
  /// *count is 0 at first.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const unsigned* in, std::int64_t n, unsigned* out,
                                   int* count) const {
    const auto from = pmpp::simt::watch(block, in, "in");
    const auto to = pmpp::simt::watch(block, out, "out");
    const std::int64_t i = block.index() * threads + block.thread();
    const unsigned x = i < n ? from[i] : 1;
    const block_places place(block, memory.of_warp, is_kept(x));
    if (block.thread() == 0) memory.first = pmpp::simt::atomic_add(count, place.count);
    block.sync();
    if (pmpp::simt::branch(block, is_kept(x), "kept")) to[memory.first + place.before] = x;
  }
};

}  // namespace ladder
