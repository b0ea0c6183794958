// SPDX-License-Identifier: Apache-2.0
//
// Rung 4: corner turning (PMPP, section 6.1). B is column-major here. Read as before, neighbouring threads would read
// elements a whole column apart. They read down the columns instead, side by side, and turn the tile as they write it
// to shared memory, which does not mind. Two columns of padding keep the writes of a warp, two columns of the tile, in
// different banks; with one, the emulator counts two-way conflicts.
#pragma once

#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

#include "product.hpp"

template <bool Turning>
struct corner_turning {
  static constexpr int side = 16;
  struct shared {
    float a[side][side], b[side][side + 2];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, product x) const {
    const auto a = pmpp::simt::watch(block, x.a, "A"), b = pmpp::simt::watch(block, x.b_by_column, "B");
    const auto c = pmpp::simt::watch(block, x.c, "C");
    const auto tile_a = pmpp::simt::watch(block, memory.a, "A's tile");
    const auto tile_b = pmpp::simt::watch(block, memory.b, "B's tile");
    const int tx = int(block.thread_position().x), ty = int(block.thread_position().y);
    const std::int64_t first_j = std::int64_t(block.position().x) * side, j = first_j + tx;
    const std::int64_t i = std::int64_t(block.position().y) * side + ty;
    float sum = 0;
    for (std::int64_t first = 0; first < x.k; first += side) {
      const bool has_k = first + tx < x.k;
      tile_a[ty][tx] = i < x.m && has_k ? a[i * x.k + first + tx] : 0.0f;
      if constexpr (Turning)
        tile_b[tx][ty] = first_j + ty < x.n && has_k ? b[(first_j + ty) * x.k + first + tx] : 0.0f;
      else
        tile_b[ty][tx] = j < x.n && first + ty < x.k ? b[j * x.k + first + ty] : 0.0f;
      block.sync();
      for (int p = 0; p < side; ++p) sum += tile_a[ty][p] * tile_b[p][tx];
      block.sync();
    }
    if (i < x.m && j < x.n) c[i * x.n + j] = sum;
  }
};

template <bool Turning, class Policy>
void multiply_turning(const Policy& where, const product& x) {
  constexpr int side = corner_turning<Turning>::side;
  pmpp::launch(where, pmpp::grid{{(x.n + side - 1) / side, (x.m + side - 1) / side}, {side, side}},
               corner_turning<Turning>{}, x);
}
