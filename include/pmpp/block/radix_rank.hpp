// SPDX-License-Identifier: Apache-2.0
//
// How a block ranks the keys of a tile by a digit of 8 bits.
//
//   1. Each warp has a counter for each digit. It takes its keys in rows of 32: the lanes whose digits are equal find
//      each other by ballots, and each learns how many came before it, in this row and in the rows before.
//   2. One lane a digit adds up the counters of the warps; a scan over the digits gives the place where each begins.
//   3. The counters become the places where each warp's keys of each digit begin. The place of a key is that of its
//      digit in its warp, and its rank among them.
//
// Keys lie in rows: key k of lane l of warp w is number (w * rows + k) * 32 + l of the tile. Equal digits keep that
// order. Two barriers. (PMPP ch. 13; Ashkiani et al., GPU Multisplit, 2016.)
#pragma once

#include <pmpp/block/scan.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

inline constexpr int radix_bits = 8, radix_digits = 1 << radix_bits;

template <int Threads>
struct radix_rank_memory {
  static constexpr int warps = Threads / simt::warp_size, groups = radix_digits / simt::warp_size;

  unsigned count[warps][radix_digits];  ///< of a warp's keys with a digit; then the place of its first one
  unsigned total[radix_digits];         ///< of the tile's keys with a digit
  unsigned first[radix_digits];         ///< the place in the tile where a digit begins
  unsigned total_of_group[groups];      ///< of 32 digits
};

/// Calls f(digit) for all digits: 32 neighbouring ones in the lanes of a warp.
template <class Block, class Memory, class F>
PMPP_HOST_DEVICE void for_each_digit(Block& block, const Memory&, F f) {
  for (int group = block.warp(); group < Memory::groups; group += Memory::warps)
    f(group * simt::warp_size + block.lane());
}

/// Gives rank[k], for k < rows, the number of keys before it in its warp that have the same digit, digit(k). No barrier.
template <int Items, class Block, class Memory, class Digit>
PMPP_HOST_DEVICE void rank_in_warp(Block& block, Memory& memory, int rows, Digit digit, int (&rank)[Items]) {
  unsigned* const count = memory.count[block.warp()];
  for (int d = block.lane(); d < radix_digits; d += simt::warp_size) count[d] = 0;
  block.sync_warp();
  const unsigned before_me = (1u << block.lane()) - 1;
  for (int k = 0; k < Items; ++k) {
    if (k >= rows) break;
    const unsigned d = digit(k), before = count[d];
    const unsigned peers = block.match_byte(d);
    rank[k] = static_cast<int>(before) + simt::count_bits(peers & before_me);
    block.sync_warp();  // all have read what the last of the peers writes
    if (peers >> block.lane() == 1) count[d] = static_cast<unsigned>(rank[k]) + 1;
    block.sync_warp();
  }
}

/// Adds up what the warps have counted, and tells f(digit, total). A barrier before and one after.
template <class Block, class Memory, class F>
PMPP_HOST_DEVICE void count_digits(Block& block, Memory& memory, F f) {
  block.sync();
  for_each_digit(block, memory, [&](int d) {
    unsigned total = 0;
    for (int w = 0; w < Memory::warps; ++w) total += memory.count[w][d];
    f(d, total);
    memory.total[d] = total;
    const unsigned up_to = warp_inclusive_scan(block, total, plus{});
    memory.first[d] = up_to - total;
    if (block.lane() == simt::warp_size - 1) memory.total_of_group[d / simt::warp_size] = up_to;
  });
  block.sync();
}

/// Turns counts into places, as described above. Ends with a barrier.
template <class Block, class Memory>
PMPP_HOST_DEVICE void place_digits(Block& block, Memory& memory) {
  for_each_digit(block, memory, [&](int d) {
    unsigned place = memory.first[d];
    for (int group = 0; group < Memory::groups; ++group)
      if (group < d / simt::warp_size) place += memory.total_of_group[group];
    memory.first[d] = place;
    for (int w = 0; w < Memory::warps; ++w) {
      const unsigned count = memory.count[w][d];
      memory.count[w][d] = place;
      place += count;
    }
  });
  block.sync();
}

}  // namespace pmpp::inline PMPP_BACKEND::block
