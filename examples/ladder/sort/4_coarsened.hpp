// SPDX-License-Identifier: Apache-2.0
//
// Rung 4: thread coarsening (PMPP, section 13.6). A thread has 15 adjacent keys, so that tiles are 15 times as large, their
// runs of equal digits as long, and the table a fifteenth. With so many keys a thread can afford a counter for each digit:
//
//   1. Each thread counts the digits of its keys: counters [digit][thread] in shared memory, its own.
//   2. The block scans the counters in this order. Then each holds the place, in the sorted tile, of the first key of that
//      thread with that digit.
//   3. Each thread puts its keys there, one after the other. One move sorts by all four bits; rung 3 needs four.
//
// Keys come and go through shared memory, neighbouring threads neighbouring keys; 15 is odd and avoids bank conflicts.
#pragma once

#include "2_local_sort.hpp"

#include <pmpp/block/scan.hpp>
#include <pmpp/core/operators.hpp>

struct sort_large_tile {
  static constexpr int bits = 4, digits = 1 << bits, threads = 256, items = 15, tile = threads * items,
                       warps = threads / 32, counters = digits * threads / threads;  ///< that a thread scans
  struct shared {
    unsigned key[tile];
    unsigned short count[digits * threads];
    int sum_of_warp[warps];
    unsigned shift_of_digit[digits];  ///< from the place in the tile to the place in the output
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const unsigned* keys, std::int64_t n, int shift,
                                   const unsigned* table, unsigned* out) const {
    const int t = block.thread();
    const std::int64_t first = block.index() * tile, rest = n - first;
    for (int k = t; k < tile; k += threads) memory.key[k] = k < rest ? keys[first + k] : ~0u;
    for (int d = 0; d < digits; ++d) memory.count[d * threads + t] = 0;
    block.sync();
    unsigned own[items];
    for (int k = 0; k < items; ++k) {
      own[k] = memory.key[t * items + k];
      ++memory.count[counter_of(own[k], shift, t)];
    }
    block.sync();
    scan(block, memory, table);
    for (int k = 0; k < items; ++k) memory.key[memory.count[counter_of(own[k], shift, t)]++] = own[k];
    block.sync();
    for (int k = t; k < tile && k < rest; k += threads) {
      const unsigned key = memory.key[k];
      out[memory.shift_of_digit[key >> shift & (digits - 1)] + unsigned(k)] = key;
    }
  }

private:
  PMPP_HOST_DEVICE static int counter_of(unsigned key, int shift, int thread) {
    return int(key >> shift & (digits - 1)) * threads + thread;
  }

  /// Puts the sum of all counters before it in the place of each.
  template <class Block>
  PMPP_HOST_DEVICE static void scan(Block& block, shared& memory, const unsigned* table) {
    const int t = block.thread(), from = t * counters;
    int sum = 0;
    for (int k = 0; k < counters; ++k) sum += memory.count[from + k];
    const int in_warp = pmpp::block::warp_inclusive_scan(block, sum, pmpp::plus{});
    if (block.lane() == 31) memory.sum_of_warp[block.warp()] = in_warp;
    block.sync();
    int before = in_warp - sum;
    for (int w = 0; w < block.warp(); ++w) before += memory.sum_of_warp[w];
    if (from % threads == 0) {  // this thread's counters are the first ones of a digit
      const int digit = from / threads;
      memory.shift_of_digit[digit] = table[digit * block.count() + block.index()] - unsigned(before);
    }
    for (int k = 0; k < counters; ++k) {
      const int count = memory.count[from + k];
      memory.count[from + k] = static_cast<unsigned short>(before);
      before += count;
    }
    block.sync();
  }
};
