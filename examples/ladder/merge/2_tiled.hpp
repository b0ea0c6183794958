// SPDX-License-Identifier: Apache-2.0
//
// Rung 2: the tiled merge (PMPP, section 12.6). A block merges a section of the result, tile after tile. For each tile it
// loads a tile of a and one of b into shared memory, neighbouring threads neighbouring elements: enough, wherever the
// elements of the result come from. The searches and the merges of the threads then touch shared memory alone. Of the
// two tiles loaded one half is used, in all; the rest is loaded again for the next tile.
#pragma once

#include "1_basic.hpp"

struct tiled_merge {
  static constexpr int threads = 256, stretch = 8, tile = threads * stretch, tiles = 4;

  struct shared {
    int a[tile], b[tile];
    std::int64_t first_of_a, end_of_a;  ///< of the section
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const merge_input& in, int* out) const {
    const std::int64_t first = block.index() * tiles * tile;
    const std::int64_t end = pmpp::min(in.count(), first + tiles * tile);
    if (block.thread() == 0) {
      memory.first_of_a = in.co_rank(first);
      memory.end_of_a = in.co_rank(end);
    }
    block.sync();
    std::int64_t i = memory.first_of_a, j = first - i;
    const std::int64_t i_end = memory.end_of_a, j_end = end - i_end;
    for (std::int64_t at = first; at < end;) {
      for (int k = block.thread(); k < tile; k += threads) {
        if (i + k < i_end) memory.a[k] = in.a[i + k];
        if (j + k < j_end) memory.b[k] = in.b[j + k];
      }
      block.sync();
      const std::int64_t in_a = pmpp::min(i_end - i, std::int64_t(tile));
      const std::int64_t in_b = pmpp::min(j_end - j, std::int64_t(tile));
      const std::int64_t count = pmpp::min(end - at, std::int64_t(tile));
      const auto co_rank = [&](std::int64_t k) {
        return pmpp::co_rank(k, memory.a, in_a, memory.b, in_b, pmpp::less{});
      };
      const std::int64_t begin = pmpp::min(count, std::int64_t(block.thread()) * stretch);
      const std::int64_t stop = pmpp::min(count, begin + stretch);
      const std::int64_t own = co_rank(begin), own_end = co_rank(stop);
      merge_sequentially(memory.a, own, own_end, memory.b, begin - own, stop - own_end, out + at + begin);
      const std::int64_t used = co_rank(count);
      i += used;
      j += count - used;
      at += count;
      block.sync();  // the next tile overwrites what the others may still read
    }
  }
};

template <class Policy>
void merge_tiled(const Policy& where, const merge_input& in, int* out) {
  const std::int64_t section = tiled_merge::tiles * tiled_merge::tile;
  pmpp::launch(where, pmpp::ceil_div(in.count(), section), tiled_merge{}, in, out);
}
