// SPDX-License-Identifier: Apache-2.0
//
// Rung 2: a block makes a tile of 128 x 128 cells, diagonal by diagonal: a barrier in place of a launch. A thread has a row: its left
// neighbour is in a register, the upper one comes from the thread above through shared memory. Only the borders of tiles are
// written. Tiles of one anti-diagonal of tiles are one launch.
#pragma once

#include "table.hpp"

namespace ladder {

inline constexpr int tile_side = 128;

struct tile_memory {
  int bottom[2][tile_side];  ///< what each row has made last, of even and of odd steps
};

/// Makes tile (y, x). A block of tile_side threads calls.
template <class Block>
PMPP_HOST_DEVICE void make_tile(Block& block, tile_memory& memory, const texts& t, const borders& known, int y, int x) {
  const int thread = block.thread(), i = y * tile_side + thread, first = x * tile_side;
  const int height = pmpp::min(tile_side, t.rows - y * tile_side), width = pmpp::min(tile_side, t.cols - first);
  int& corner = known.corner[pmpp::ceil_div(t.rows, tile_side) + x - y];
  const bool exists = thread < height;
  int left = exists ? known.column[i] : 0;
  int diagonal = thread == 0 ? corner : exists ? known.column[i - 1] : 0;
  const char letter = exists ? t.a[i] : '\0';
  block.sync();  // all have read what others write below
  for (int s = 0; s < width + height - 1; ++s) {
    const int j = s - thread;
    if (exists && j >= 0 && j < width) {
      const int upper = thread == 0 ? known.row[first + j] : memory.bottom[(s + 1) % 2][thread - 1];
      left = cell(left, upper, diagonal, letter == t.b[first + j]);
      diagonal = upper;
      memory.bottom[s % 2][thread] = left;
      if (thread == height - 1) known.row[first + j] = left;
    }
    block.sync();
  }
  if (exists) known.column[i] = left;
  if (thread == height - 1) corner = left;
}

struct tiles_of_a_diagonal {
  static constexpr int threads = tile_side;
  using shared = tile_memory;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, texts t, borders known, int diagonal,
                                   int first) const {
    const int y = first + static_cast<int>(block.index());
    make_tile(block, memory, t, known, y, diagonal - y);
  }
};

template <class Policy>
void distance_by_tiles(const Policy& where, const texts& t, const borders& known) {
  const int down = pmpp::ceil_div(t.rows, tile_side), across = pmpp::ceil_div(t.cols, tile_side);
  for (int d = 0; d < down + across - 1; ++d) {
    const int first = pmpp::max(0, d - across + 1), count = pmpp::min(d, down - 1) - first + 1;
    pmpp::launch(where, count, tiles_of_a_diagonal{}, t, known, d, first);
  }
}

}  // namespace ladder
