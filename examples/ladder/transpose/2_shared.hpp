// SPDX-License-Identifier: Apache-2.0
//
// Rungs 2 and 3: a tile in shared memory (PMPP, 4th edition, section 6.1: corner turning). A block reads a tile of 32 x 32
// along the rows of A and writes it along the rows of B: both times a warp touches whole lines. What is left is shared
// memory itself. Its 32 banks take adjacent words; with rows of 32 words a column lies in one bank, and the 32 lanes of
// a warp wait for each other (rung 2). One unused word a row puts each element of a column into a bank of its own
// (rung 3).
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>

template <int Padding>
struct tiled_transpose {
  struct shared {
    float tile[32][32 + Padding];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const float* a, float* b, std::int64_t rows,
                                   std::int64_t cols) const {
    const auto t = block.thread_position(), tile = block.position();
    const std::int64_t first_row = std::int64_t(tile.y) * 32, first_col = std::int64_t(tile.x) * 32;
    for (unsigned y = t.y; y < 32; y += block.shape().y)
      if (first_row + y < rows && first_col + t.x < cols)
        memory.tile[y][t.x] = a[(first_row + y) * cols + first_col + t.x];
    block.sync();
    for (unsigned x = t.y; x < 32; x += block.shape().y)
      if (first_row + t.x < rows && first_col + x < cols)
        b[(first_col + x) * rows + first_row + t.x] = memory.tile[t.x][x];
  }
};

template <int Padding, class Policy>
void transpose_by_tiles(const Policy& where, const float* a, float* b, std::int64_t rows, std::int64_t cols) {
  const pmpp::extent3 blocks(pmpp::ceil_div(cols, std::int64_t(32)), pmpp::ceil_div(rows, std::int64_t(32)));
  pmpp::launch(where, pmpp::grid{blocks, {32, 8}}, tiled_transpose<Padding>{}, a, b, rows, cols);
}
