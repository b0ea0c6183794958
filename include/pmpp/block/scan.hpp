// SPDX-License-Identifier: Apache-2.0
//
// Scan among the lanes of a warp: Kogge and Stone's, five shuffles.
//
// At step d lane i holds the combination of lanes (i - d, i] and puts that of lanes (i - 2d, i - d] in front of it:
// operands stay in order and are always results of adjacent ranges, so any associative operator will do.
// (PMPP ch. 11; Kogge and Stone, 1973.)
#pragma once

#include <pmpp/core/config.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// Lane i gets the combination of lanes 0 ... i, for i < count; the others get something else. All lanes of the warp
/// call. No barrier. \pre count is the same in all lanes.
template <class Block, class T, class Op>
PMPP_HOST_DEVICE T warp_inclusive_scan(Block& block, T value, Op op, int count = simt::warp_size) {
  for (int d = 1; d < simt::warp_size; d *= 2) {
    const T left = block.shuffle_up(value, d);
    if (block.lane() >= d && block.lane() < count) value = static_cast<T>(op(left, value));
  }
  return value;
}

}  // namespace pmpp::inline PMPP_BACKEND::block
