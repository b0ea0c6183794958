// SPDX-License-Identifier: Apache-2.0
//
// Rung 4: corner turning (PMPP, section 6.1). B is column-major here. Read as before, neighbouring threads would read
// elements a whole column apart. They read down the columns instead, side by side, and turn the tile as they write it
// to shared memory, which does not mind; a column of padding keeps their writes in different banks.
#pragma once

#include <pmpp/launch.hpp>

#include "product.hpp"

struct corner_turning {
  static constexpr int side = 16;
  struct shared {
    float a[side][side], b[side][side + 1];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, product x) const {
    const int tx = int(block.thread_position().x), ty = int(block.thread_position().y);
    const std::int64_t first_j = std::int64_t(block.position().x) * side, j = first_j + tx;
    const std::int64_t i = std::int64_t(block.position().y) * side + ty;
    float sum = 0;
    for (std::int64_t first = 0; first < x.k; first += side) {
      const bool has_k = first + tx < x.k;
      memory.a[ty][tx] = i < x.m && has_k ? x.a[i * x.k + first + tx] : 0.0f;
      memory.b[tx][ty] = first_j + ty < x.n && has_k ? x.b_by_column[(first_j + ty) * x.k + first + tx] : 0.0f;
      block.sync();
      for (int p = 0; p < side; ++p) sum += memory.a[ty][p] * memory.b[p][tx];
      block.sync();
    }
    if (i < x.m && j < x.n) x.c[i * x.n + j] = sum;
  }
};

template <class Policy>
void multiply_turning(const Policy& where, const product& x) {
  constexpr int side = corner_turning::side;
  pmpp::launch(where, pmpp::grid{{(x.n + side - 1) / side, (x.m + side - 1) / side}, {side, side}}, corner_turning{},
               x);
}
