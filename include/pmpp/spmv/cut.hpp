// SPDX-License-Identifier: Apache-2.0
//
// Where a piece of a walk over a sparse matrix begins and ends: the merge path of spmv and spmm.
//
// The walk goes over nonzeros and ends of rows, each end right after its row's last nonzero, so that row r begins at step
// offsets[r] - offsets[0] + r. (Merge path: Merrill and Garland, Merge-based SpMV, 2016. PMPP ch. 14.)
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/block.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// The nonzeros [begin, end) and the ends of the rows [row, end_row) of a walk.
struct walk_piece {
  std::int64_t begin, end, row, end_row;
  std::int64_t row_begin;      ///< the first nonzero of row `row`, if that has some in front of `begin`
  bool began_before, goes_on;  ///< row `row` has nonzeros in front of `begin`; row `end_row` in front of `end`
};

/// The piece [from, to) of a walk of so many steps from an origin, offsets[0], cut after the row at either step if that has at most `whole`
/// nonzeros. Step: an integer that all steps fit into.
/// Half the warp looks for either step: twice around the place where it would be if all rows in question were alike, then
/// at places that lie evenly, so that no matrix takes more than a few rounds.
template <class Step, class Block, class Index, class Walk>
PMPP_HOST_DEVICE walk_piece cut_walk(Block& block, const Index* offsets, std::int64_t rows, const Walk& walk,
                                     std::int64_t from, std::int64_t to, int whole) {
  constexpr int half = simt::warp_size / 2, side = half / 2;
  const int upper = block.lane() & half, lane = block.lane() & (half - 1);
  const auto origin = static_cast<Index>(walk.origin);
  const auto all = static_cast<Step>(walk.steps), all_rows = static_cast<Step>(rows);
  Step target = static_cast<Step>(upper == 0 ? from : to);
  // Row `low` begins at step `start`, not after the target; row `high` begins at step `stop`, after it.
  Step low = target < all ? 0 : all_rows, start = target < all ? 0 : all, high = all_rows, stop = all;
  for (int round = 0; block.any(high - low > 1); ++round) {
    const Step width = high - low;
    Step row = low + 1 + lane;
    if (width > half + 1 && round < 2) {
      const float part = static_cast<float>(target - start) / static_cast<float>(stop - start);
      const Step middle = low + static_cast<Step>(part * static_cast<float>(width));
      const int far = lane < side ? side - 1 - lane : lane - side;
      const Step distance = max(Step(far), width >> 2 * (side - far));
      row = lane < side ? middle - distance : middle + 1 + distance;
    } else if (width > half + 1) {
      row = low + (lane + 1) * (width / half);
    }
    row = max(low + 1, min(high - 1, row));
    Step step = start;
    if (width > 1) step = static_cast<Step>(offsets[row] - origin) + row;
    const int count = simt::count_bits(block.ballot(step <= target) >> upper & ((1u << half) - 1));
    const int before = upper + max(0, count - 1), after = upper + min(half - 1, count);
    const Step row_before = block.shuffle(row, before), step_before = block.shuffle(step, before);
    const Step row_after = block.shuffle(row, after), step_after = block.shuffle(step, after);
    if (width > 1 && count > 0) low = row_before, start = step_before;
    if (width > 1 && count < half) high = row_after, stop = step_after;
  }
  bool is_cut = start < target;
  if (is_cut && stop - 1 - start <= whole) {
    low = high;
    start = target = stop;
    is_cut = false;
  }
  const auto nonzero = [&](Step step, int l) {
    return static_cast<std::int64_t>(origin) + block.shuffle(step - low, l);
  };
  return {nonzero(target, 0),
          nonzero(target, half),
          block.shuffle(low, 0),
          block.shuffle(low, half),
          nonzero(start, 0),
          block.shuffle(is_cut ? 1 : 0, 0) != 0,
          block.shuffle(is_cut ? 1 : 0, half) != 0};
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
