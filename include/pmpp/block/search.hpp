// SPDX-License-Identifier: Apache-2.0
//
// Binary search by a warp: a partition point as in core/search.hpp, the first place of [low, high) that is not `before`.
//
// One thread would probe the middle: a load for each bit of the answer, and none can start before the last one has come.
// The 32 lanes of a warp probe the ends of 32 equal pieces at once: a round of loads for each five bits.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// All lanes of a warp call it with the same range and get the result; they call `before` with different places.
template <class Block, class Before>
PMPP_HOST_DEVICE std::int64_t warp_search(Block& block, std::int64_t low, std::int64_t high, Before before) {
  constexpr int lanes = simt::warp_size;
  while (low < high) {
    const std::int64_t piece = ceil_div(high - low, std::int64_t(lanes));
    const std::int64_t last = low + (block.lane() + 1) * piece - 1;  // of the lane's piece
    const int pieces = block.warp_add(last < high && before(last) ? 1 : 0);
    low = min(high, low + pieces * piece);
    high = min(high, low + piece - 1);
  }
  return low;
}

}  // namespace pmpp::inline PMPP_BACKEND::block
