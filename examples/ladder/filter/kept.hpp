// SPDX-License-Identifier: Apache-2.0
//
// What all rungs filter: numbers, of which those that three divides are kept.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/counters.hpp>

namespace ladder {

inline constexpr int block_threads = 256, warps = block_threads / 32;

PMPP_HOST_DEVICE inline bool is_kept(unsigned x) { return x % 3 == 0; }

/// Of the lanes of a warp that keep their number: how many there are, and how many are before this one.
struct warp_places {
  int count, before;

  template <class Block>
  PMPP_HOST_DEVICE warp_places(Block& block, bool keeps) {
    const auto lanes = static_cast<unsigned>(block.ballot(keeps));
    count = pmpp::simt::count_bits(lanes);
    before = pmpp::simt::count_bits(lanes & ((1u << block.lane()) - 1));
  }
};

/// The same of a block. All threads call it; the block's threads may not use `of_warp` before the next barrier.
struct block_places {
  int count = 0, before = 0;

  template <class Block>
  PMPP_HOST_DEVICE block_places(Block& block, int (&of_warp)[warps], bool keeps) {
    const warp_places own(block, keeps);
    if (block.lane() == 0) of_warp[block.warp()] = own.count;
    block.sync();
    for (int w = 0; w < warps; ++w) {
      if (w < block.warp()) before += of_warp[w];
      count += of_warp[w];
    }
    before += own.before;
  }
};

}  // namespace ladder
