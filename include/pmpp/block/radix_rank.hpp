// SPDX-License-Identifier: Apache-2.0
//
// How a block finds the places of the keys of a tile by a digit of 8 bits.
//
//   1. Each warp counts its digits.
//   2. One lane a digit adds up the counters of the warps; a scan over the digits gives the place where each begins.
//   3. The counters become the places where each warp's keys of each digit begin.
//   4. Each warp takes its keys in rows of 32: the lanes whose digits are equal find each other by ballots. The keys of a
//      digit go to the place that its counter says, in order; then it says where the next ones go.
//
// What a tile has of each digit is known before step 4, which takes the longest: others need not wait for it. Keys lie in
// rows: key k of lane l of warp w is number (w * rows + k) * 32 + l of the tile. Equal digits keep that order.
// (PMPP ch. 13; Ashkiani et al., GPU Multisplit, 2016.)
#pragma once

#include <pmpp/block/scan.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/match.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

inline constexpr int radix_bits = 8, radix_digits = 1 << radix_bits;

template <int Threads>
struct radix_rank_memory {
  static constexpr int warps = Threads / simt::warp_size, groups = radix_digits / simt::warp_size;

  unsigned count[warps][radix_digits];  ///< of a warp's keys with a digit; then the place of the next one
  unsigned total[radix_digits];         ///< of the tile's keys with a digit
  unsigned first[radix_digits];         ///< the place in the tile where a digit begins
  unsigned total_of_group[groups];      ///< of 32 digits
};

/// Calls f(digit) for all digits: 32 neighbouring ones in the lanes of a warp.
template <class Block, class Memory, class F>
PMPP_HOST_DEVICE void for_each_digit(Block& block, const Memory&, F f) {
  if constexpr (Memory::warps >= Memory::groups) {  // of the loop the compiler does not know that it has one round
    if (block.thread() < radix_digits) f(block.thread());
  } else {
    for (int d = block.thread(); d < radix_digits; d += Memory::warps * simt::warp_size) f(d);
  }
}

/// Counts digit(k), for k < rows, of all lanes of a warp. No barrier of the block.
template <int Items, class Block, class Memory, class Digit>
PMPP_HOST_DEVICE void count_in_warp(Block& block, Memory& memory, int rows, Digit digit) {
  unsigned* const count = memory.count[block.warp()];
  for (int d = block.lane(); d < radix_digits; d += simt::warp_size) count[d] = 0;
  block.sync_warp();
  for (int k = 0; k < Items; ++k) {
    if (k >= rows) break;
    simt::atomic_add(&count[digit(k)], 1u);
  }
}

/// Adds up what the warps have counted, tells f(digit, total), and turns the counts into places. Begins and ends with a
/// barrier.
template <class Block, class Memory, class F>
PMPP_HOST_DEVICE void place_digits(Block& block, Memory& memory, F f) {
  constexpr int turns = ceil_div(Memory::groups, Memory::warps);
  unsigned first[turns]{};
  block.sync();
  for (int t = 0; t < turns; ++t) {
    const int group = block.warp() + t * Memory::warps, d = group * simt::warp_size + block.lane();
    if (group >= Memory::groups) break;
    unsigned total = 0;
    for (int w = 0; w < Memory::warps; ++w) total += memory.count[w][d];
    f(d, total);
    memory.total[d] = total;
    const unsigned up_to = warp_inclusive_scan(block, total, plus{});
    first[t] = up_to - total;
    if (block.lane() == simt::warp_size - 1) memory.total_of_group[group] = up_to;
  }
  block.sync();
  for (int t = 0; t < turns; ++t) {
    const int group = block.warp() + t * Memory::warps, d = group * simt::warp_size + block.lane();
    if (group >= Memory::groups) break;
    unsigned place = first[t];
    for (int g = 0; g < Memory::groups; ++g) place += g < group ? memory.total_of_group[g] : 0;
    memory.first[d] = place;
    constexpr int at_once = 4;  // the compiler cannot know that it may read all before it writes the first
    for (int w0 = 0; w0 < Memory::warps; w0 += at_once) {
      unsigned count[at_once]{};
      for (int w = w0; w < min(w0 + at_once, Memory::warps); ++w) count[w - w0] = memory.count[w][d];
      for (int w = w0; w < min(w0 + at_once, Memory::warps); ++w) {
        memory.count[w][d] = place;
        place += count[w - w0];
      }
    }
  }
  block.sync();
}

/// Calls put(k, place) for k < rows with the place of key k in the tile. No barrier of the block.
template <int Items, class Block, class Memory, class Digit, class Put>
PMPP_HOST_DEVICE void for_each_ranked(Block& block, Memory& memory, int rows, Digit digit, Put put) {
  unsigned* const next = memory.count[block.warp()];
  const unsigned before_me = (1u << block.lane()) - 1, behind_me = ~before_me << 1;
  for (int k = 0; k < Items; ++k) {
    if (k >= rows) break;
    const unsigned d = digit(k), peers = simt::match_byte(block, d);
    const unsigned place = next[d] + static_cast<unsigned>(simt::count_bits(peers & before_me));
    block.sync_warp();  // all have read what the last of the peers writes
    if ((peers & behind_me) == 0) next[d] = place + 1;
    put(k, static_cast<int>(place));
    block.sync_warp();
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::block
