// SPDX-License-Identifier: Apache-2.0
//
// Rungs 2 and 3: a block sorts its keys before it writes them (PMPP, sections 13.4 and 13.5). A pass looks at a digit of
// Bits bits, and a tile has one key a thread:
//
//   1. Each block counts the digits of its tile, into a table whose rows are the digits and whose columns are the tiles.
//   2. An exclusive scan of the table, row after row: where the keys of a tile with a certain digit begin in the output.
//   3. Each block sorts its tile by the digit in shared memory, a bit at a time as in rung 1, and writes it. Keys of one
//      digit are neighbours now and go to neighbouring places.
//
// More bits mean fewer passes over memory, a longer table, and shorter runs of equal digits.
#pragma once

#include "1_one_bit.hpp"

#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/bits.hpp>

template <int Bits, int Tile>
struct count_digits {
  static constexpr int threads = 256, digits = 1 << Bits;
  struct shared {
    unsigned count[digits];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const unsigned* keys, std::int64_t n, int shift,
                                   unsigned* table) const {
    if (block.thread() < digits) memory.count[block.thread()] = 0;
    block.sync();
    const std::int64_t first = block.index() * Tile, end = pmpp::min(n, first + Tile);
    for (std::int64_t i = first + block.thread(); i < end; i += threads)
      pmpp::simt::atomic_add(&memory.count[keys[i] >> shift & (digits - 1)], 1u);
    block.sync();
    if (block.thread() < digits) table[block.thread() * block.count() + block.index()] = memory.count[block.thread()];
  }
};

template <int Bits>
struct sort_tile {
  static constexpr int threads = 256, tile = threads, warps = threads / 32, digits = 1 << Bits;
  struct shared {
    unsigned key[tile];
    int ones_of_warp[warps], first_of_digit[digits];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const unsigned* keys, std::int64_t n, int shift,
                                   const unsigned* table, unsigned* out) const {
    const int t = block.thread();
    const std::int64_t i = block.index() * tile + t;
    unsigned key = i < n ? keys[i] : ~0u;  // what is missing in the last tile stays after all others
    for (int bit = shift; bit < shift + Bits; ++bit) {
      const bool one = key >> bit & 1;
      const unsigned ones = block.ballot(one);  // of this warp, a bit a lane
      int ones_before = pmpp::simt::count_bits(ones & ((1u << block.lane()) - 1)), all_ones = 0;
      if (block.lane() == 0) memory.ones_of_warp[block.warp()] = pmpp::simt::count_bits(ones);
      block.sync();
      for (int w = 0; w < warps; ++w) {
        if (w < block.warp()) ones_before += memory.ones_of_warp[w];
        all_ones += memory.ones_of_warp[w];
      }
      memory.key[one ? tile - all_ones + ones_before : t - ones_before] = key;
      block.sync();
      key = memory.key[t];
    }
    const int digit = key >> shift & (digits - 1);
    if (t == 0 || (memory.key[t - 1] >> shift & (digits - 1)) != unsigned(digit)) memory.first_of_digit[digit] = t;
    block.sync();
    if (i < n) out[table[digit * block.count() + block.index()] + t - memory.first_of_digit[digit]] = key;
  }
};

/// Sorts by passes of `Bits` bits whose tiles `SortTile` sorts. \pre n < 2^32
template <int Bits, class SortTile, class Policy>
void sort_by_tiles(const Policy& where, unsigned* keys, std::int64_t n, const sort_buffers& other) {
  static_assert(32 / Bits % 2 == 0, "the keys shall end where they were");
  const std::int64_t tiles = pmpp::ceil_div(n, std::int64_t(SortTile::tile));
  unsigned *from = keys, *to = other.keys, *const table = other.counts;
  for (int shift = 0; shift < 32; shift += Bits) {
    pmpp::launch(where, tiles, count_digits<Bits, SortTile::tile>{}, from, n, shift, table);
    pmpp::exclusive_scan(where, table, table + (tiles << Bits), table);
    pmpp::launch(where, tiles, SortTile{}, from, n, shift, table, to);
    std::swap(from, to);
  }
}
