// SPDX-License-Identifier: Apache-2.0
//
// Rung 6: a merge sort (PMPP, section 13.7). The network of rung 5 sorts tiles; passes over memory then merge runs in pairs,
// 2,048 keys, 4,096 and so on. As in the ladder of merges, the co-rank tells where a stretch of the result begins in both
// runs. Here it serves twice:
//
//   1. A block makes a tile of the result. Its two co-ranks say which stretches of the runs it needs: as many keys, in all,
//      as the tile has. They come into shared memory side by side.
//   2. Each thread finds its own co-rank there, and merges 8 keys into registers. They return through shared memory.
//
// n log n comparisons and any order that a comparator defines, at the price of a pass for each factor of two.
#pragma once

#include "1_one_bit.hpp"
#include "5_bitonic.hpp"

#include <pmpp/core/co_rank.hpp>
#include <pmpp/core/operators.hpp>

struct merge_runs {
  static constexpr int threads = 256, items = 8, tile = threads * items;
  struct shared {
    std::int64_t from_a[2];  ///< of the keys before the tile, and up to its end
    unsigned key[tile];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const unsigned* in, unsigned* out, std::int64_t n,
                                   std::int64_t run) const {
    const int t = block.thread();
    const std::int64_t first = block.index() * tile, pair = first / (2 * run) * (2 * run);
    const int count = static_cast<int>(pmpp::min(n - first, std::int64_t(tile)));
    const unsigned *const a = in + pair, *const b = a + pmpp::min(run, n - pair);
    const std::int64_t a_count = b - a, b_count = pmpp::min(run, n - pair - a_count);
    if (t < 2) memory.from_a[t] = pmpp::co_rank(first - pair + t * count, a, a_count, b, b_count, pmpp::less{});
    block.sync();
    const std::int64_t a_begin = memory.from_a[0], b_begin = first - pair - a_begin;
    const int of_a = static_cast<int>(memory.from_a[1] - a_begin), of_b = count - of_a;
    for (int k = t; k < count; k += threads) memory.key[k] = k < of_a ? a[a_begin + k] : b[b_begin + k - of_a];
    block.sync();

    const int begin = pmpp::min(count, t * items), end = pmpp::min(count, begin + items);
    int i = pmpp::co_rank(begin, memory.key, of_a, memory.key + of_a, of_b, pmpp::less{}), j = of_a + begin - i;
    unsigned own[items];
    for (int k = 0; k < items; ++k)
      if (begin + k < end)
        own[k] = j >= count || (i < of_a && memory.key[i] <= memory.key[j]) ? memory.key[i++] : memory.key[j++];
    block.sync();
    for (int k = 0; k < items; ++k)
      if (begin + k < end) memory.key[begin + k] = own[k];
    block.sync();
    for (int k = t; k < count; k += threads) out[first + k] = memory.key[k];
  }
};

template <class Policy>
void sort_by_merging(const Policy& where, unsigned* keys, std::int64_t n, const sort_buffers& other) {
  const std::int64_t tiles = pmpp::ceil_div(n, std::int64_t(merge_runs::tile));
  static_assert(int(merge_runs::tile) == int(bitonic_tile::tile));
  const bool odd = n > merge_runs::tile && pmpp::ceil_log2(tiles) % 2 == 1;  // the last pass shall end in `keys`
  unsigned *from = odd ? other.keys : keys, *to = odd ? keys : other.keys;
  pmpp::launch(where, tiles, bitonic_tile{}, keys, from, n, true);
  for (std::int64_t run = merge_runs::tile; run < n; run *= 2) {
    pmpp::launch(where, tiles, merge_runs{}, from, to, n, run);
    std::swap(from, to);
  }
}
