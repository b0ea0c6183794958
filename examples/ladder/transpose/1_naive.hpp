// SPDX-License-Identifier: Apache-2.0
//
// Rung 1: one thread an element (PMPP, 4th edition, section 6.1 on coalescing). Lanes of a warp read adjacent floats, one
// line of memory, but write to 32 different lines: each write of 4 bytes moves a sector of 32.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>

struct naive_transpose {
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const float* a, float* b, std::int64_t rows, std::int64_t cols) const {
    const auto t = block.thread_position(), tile = block.position();
    const std::int64_t i = std::int64_t(tile.y) * 32 + t.y, j = std::int64_t(tile.x) * 32 + t.x;
    if (i < rows && j < cols) b[j * rows + i] = a[i * cols + j];
  }
};

template <class Policy>
void transpose_naively(const Policy& where, const float* a, float* b, std::int64_t rows, std::int64_t cols) {
  const pmpp::extent3 blocks(pmpp::ceil_div(cols, std::int64_t(32)), pmpp::ceil_div(rows, std::int64_t(32)));
  pmpp::launch(where, pmpp::grid{blocks, {32, 32}}, naive_transpose{}, a, b, rows, cols);
}
