// SPDX-License-Identifier: Apache-2.0
//
// Rung 3: one launch. Blocks take tiles by number, diagonal by diagonal, and wait until the tile above and the tile to the left are
// made: as whoever has an earlier number has started, waiting ends. A tile begins when its own neighbours are ready, not when all
// tiles of a diagonal are.
#pragma once

#include "2_tiles.hpp"

namespace ladder {

/// The tile of number `number`, diagonals first: {y, x}.
struct tile_place {
  int y, x;
};
PMPP_HOST_DEVICE inline tile_place place_of_tile(int number, int down, int across) {
  for (int d = 0;; ++d) {
    const int first = pmpp::max(0, d - across + 1), count = pmpp::min(d, down - 1) - first + 1;
    if (number < count) return {first + number, d - first - number};
    number -= count;
  }
}

/// made[y]: tiles of row y that are made. Thread 0 of a block waits for both neighbours of a tile.
template <class Block>
PMPP_HOST_DEVICE void wait_for_neighbours(Block& block, const int* made, tile_place at) {
  const auto reach = [&](int y, int count) {
    while (pmpp::simt::load<pmpp::simt::order::acquire>(made + y) < count) block.spin();
  };
  if (at.x > 0) reach(at.y, at.x);
  if (at.y > 0) reach(at.y - 1, at.x + 1);
}

struct tiles_in_order {
  static constexpr int threads = tile_side;
  struct shared {
    tile_memory tile;
    int number;
  };
  /// counters: the next number, then a count of tiles for each row of tiles; all 0.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, texts t, borders known, int* counters) const {
    const int down = pmpp::ceil_div(t.rows, tile_side), across = pmpp::ceil_div(t.cols, tile_side);
    int* const made = counters + 1;
    for (;;) {
      if (block.thread() == 0) memory.number = pmpp::simt::atomic_add(counters, 1);
      block.sync();
      const int number = memory.number;
      if (number >= down * across) return;
      const tile_place at = place_of_tile(number, down, across);
      if (block.thread() == 0) wait_for_neighbours(block, made, at);
      block.sync();
      make_tile(block, memory.tile, t, known, at.y, at.x);
      block.sync();
      if (block.thread() == 0) pmpp::simt::store<pmpp::simt::order::release>(made + at.y, at.x + 1);
    }
  }
};

template <class Policy>
void distance_in_one_launch(const Policy& where, const texts& t, const borders& known, int* counters, int blocks) {
  pmpp::fill(where, counters, counters + 1 + pmpp::ceil_div(t.rows, tile_side), 0);
  pmpp::launch(where, blocks, tiles_in_order{}, t, known, counters);
}

}  // namespace ladder
