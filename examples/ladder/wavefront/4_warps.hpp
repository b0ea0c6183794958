// SPDX-License-Identifier: Apache-2.0
//
// Rung 4: a warp makes a tile of 32 x 32 cells. The upper neighbour comes by a shuffle: no shared memory, and no barrier, as the lanes of a
// warp go in step. What a step costs falls; but a tile of 32 x 32 takes 63 steps, of which half find half of the lanes idle, and
// there are 16 times as many tiles to wait for. The library's warps walk along whole rows of the table instead: they pay that ramp
// once a row.
#pragma once

#include "3_one_launch.hpp"

namespace ladder {

struct tiles_of_warps {
  static constexpr int threads = pmpp::simt::warp_size, side = threads;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, texts t, borders known, int* counters) const {
    const int down = pmpp::ceil_div(t.rows, side), across = pmpp::ceil_div(t.cols, side);
    int* const made = counters + 1;
    for (;;) {
      int number = 0;
      if (block.lane() == 0) number = pmpp::simt::atomic_add(counters, 1);
      number = block.shuffle(number, 0);
      if (number >= down * across) return;
      const tile_place at = place_of_tile(number, down, across);
      if (block.lane() == 0) wait_for_neighbours(block, made, at);
      block.sync();
      make(block, t, known, at, down);
      block.sync();
      if (block.lane() == 0) pmpp::simt::store<pmpp::simt::order::release>(made + at.y, at.x + 1);
    }
  }

private:
  template <class Block>
  PMPP_HOST_DEVICE static void make(Block& block, const texts& t, const borders& known, tile_place at, int down) {
    const int lane = block.lane(), i = at.y * side + lane, first = at.x * side;
    const int height = pmpp::min(side, t.rows - at.y * side), width = pmpp::min(side, t.cols - first);
    const bool exists = lane < height;
    int& corner = known.corner[down + at.x - at.y];
    int left = exists ? known.column[i] : 0;
    int diagonal = lane == 0 ? corner : exists ? known.column[i - 1] : 0;
    const char letter = exists ? t.a[i] : '\0', letters = lane < width ? t.b[first + lane] : '\0';
    const int above = lane < width ? known.row[first + lane] : 0;
    block.sync();  // all have read what others write below
    for (int s = 0; s < width + height - 1; ++s) {
      const int j = s - lane, from_above = block.shuffle_up(left, 1),
                entering = block.shuffle(above, pmpp::min(s, side - 1));
      const char other = block.shuffle(letters, pmpp::max(0, pmpp::min(j, side - 1)));
      if (!exists || j < 0 || j >= width) continue;
      const int upper = lane == 0 ? entering : from_above;
      left = cell(left, upper, diagonal, letter == other);
      diagonal = upper;
      if (lane == height - 1) known.row[first + j] = left;
    }
    if (exists) known.column[i] = left;
    if (lane == height - 1) corner = left;
  }
};

template <class Policy>
void distance_by_warps(const Policy& where, const texts& t, const borders& known, int* counters, int blocks) {
  pmpp::fill(where, counters, counters + 1 + pmpp::ceil_div(t.rows, tiles_of_warps::side), 0);
  pmpp::launch(where, blocks, tiles_of_warps{}, t, known, counters);
}

}  // namespace ladder
