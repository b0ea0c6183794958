// SPDX-License-Identifier: Apache-2.0
//
// Rung 4: in order. How many each block keeps, an exclusive scan of these counts, and then each block knows where its numbers
// begin: no atomics, the same result on every run. Three launches, and the input is read twice.
#pragma once

#include <pmpp/core/math.hpp>
#include <pmpp/scan.hpp>

#include "kept.hpp"

namespace ladder {

struct count_of_blocks {
  static constexpr int threads = block_threads;
  struct shared {
    int of_warp[warps];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const unsigned* in, std::int64_t n,
                                   int* counts) const {
    const auto from = pmpp::simt::watch(block, in, "in");
    const std::int64_t i = block.index() * threads + block.thread();
    const block_places place(block, memory.of_warp, i < n && is_kept(from[i]));
    if (block.thread() == 0) counts[block.index()] = place.count;
  }
};

struct write_of_blocks {
  static constexpr int threads = block_threads;
  using shared = count_of_blocks::shared;
  /// first[b]: how many numbers the blocks before b keep. The last block leaves the number of all.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const unsigned* in, std::int64_t n, unsigned* out,
                                   const int* first, int* count) const {
    const auto from = pmpp::simt::watch(block, in, "in");
    const auto to = pmpp::simt::watch(block, out, "out");
    const std::int64_t i = block.index() * threads + block.thread();
    const unsigned x = i < n ? from[i] : 1;
    const block_places place(block, memory.of_warp, is_kept(x));
    if (pmpp::simt::branch(block, is_kept(x), "kept")) to[first[block.index()] + place.before] = x;
    if (block.thread() == 0 && block.index() + 1 == block.count()) *count = first[block.index()] + place.count;
  }
};

/// \pre counts has room for one number a block
template <class Policy>
void filter_in_order(const Policy& where, const unsigned* in, std::int64_t n, unsigned* out, int* count, int* counts) {
  const std::int64_t blocks = pmpp::ceil_div(n, std::int64_t(block_threads));
  pmpp::launch(where, blocks, count_of_blocks{}, in, n, counts);
  pmpp::exclusive_scan(where, counts, counts + blocks, counts, 0);
  pmpp::launch(where, blocks, write_of_blocks{}, in, n, out, counts, count);
}

}  // namespace ladder
