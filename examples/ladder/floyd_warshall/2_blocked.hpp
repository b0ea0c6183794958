// SPDX-License-Identifier: Apache-2.0
//
// Rung 2: 32 vertices at a time (Katz and Kider, 2008). Three launches for each 32:
//
//   1. the tile of the 32 with themselves, 32 steps in shared memory;
//   2. the tiles in its row and in its column, by way of the 32: each needs itself and that tile;
//   3. all others: d = min(d, row tile + column tile), a product of matrices with + for * and min for +.
//
// What is in shared memory is used 32 times, so the matrix passes through memory n / 32 times.
#pragma once

#include "paths.hpp"

namespace ladder {

struct block_of_pivots {
  static constexpr int side = 32, rows = 8;  // a thread has four rows of the tile
  struct shared {
    int left[side][side], upper[side][side];  // from rows of the tile to the 32, from the 32 to its columns
  };

  /// Launch `phase` as above, of pivots 32 * pivot and on.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, int* matrix, std::int64_t n, std::int64_t pivot,
                                   int phase) const {
    const auto d = pmpp::simt::watch(block, matrix, "d");
    const auto left = pmpp::simt::watch(block, memory.left, "left"),
               upper = pmpp::simt::watch(block, memory.upper, "upper");
    const int tx = int(block.thread_position().x), ty = int(block.thread_position().y);
    std::int64_t down = pivot, across = pivot;  // which tile
    if (phase == 2) (block.position().y == 0 ? across : down) = block.position().x;
    if (phase == 3) across = block.position().x, down = block.position().y;
    if ((phase == 2 && down == across) || (phase == 3 && (down == pivot || across == pivot))) return;

    int own[side / rows];
    const std::int64_t i = down * side + ty, j = across * side + tx, to = pivot * side + tx, from = pivot * side + ty;
    for (int r = 0; r < side / rows; ++r) {
      const std::int64_t y = r * rows;
      own[r] = i + y < n && j < n ? d[(i + y) * n + j] : no_edge;
      left[ty + y][tx] = i + y < n && to < n ? d[(i + y) * n + to] : no_edge;
      upper[ty + y][tx] = from + y < n && j < n ? d[(from + y) * n + j] : no_edge;
    }
    block.sync();
    for (int k = 0; k < side; ++k) {
      for (int r = 0; r < side / rows; ++r) own[r] = pmpp::min(own[r], left[ty + r * rows][k] + upper[k][tx]);
      if (phase == 3) continue;
      block.sync();  // what this step has made is what the next may read: the tile is one of the 32 itself
      for (int r = 0; r < side / rows; ++r) {
        if (across == pivot) left[ty + r * rows][tx] = own[r];
        if (down == pivot) upper[ty + r * rows][tx] = own[r];
      }
      block.sync();
    }
    for (int r = 0; r < side / rows; ++r)
      if (i + r * rows < n && j < n) d[(i + r * rows) * n + j] = own[r];
  }
};

template <class Policy>
void paths_by_blocks(const Policy& where, int* d, std::int64_t n) {
  const pmpp::extent3 threads{block_of_pivots::side, block_of_pivots::rows};
  const std::int64_t tiles = pmpp::ceil_div(n, std::int64_t(block_of_pivots::side));
  for (std::int64_t pivot = 0; pivot < tiles; ++pivot) {
    pmpp::launch(where, pmpp::grid{1, threads}, block_of_pivots{}, d, n, pivot, 1);
    pmpp::launch(where, pmpp::grid{{tiles, 2}, threads}, block_of_pivots{}, d, n, pivot, 2);
    pmpp::launch(where, pmpp::grid{{tiles, tiles}, threads}, block_of_pivots{}, d, n, pivot, 3);
  }
}

}  // namespace ladder
