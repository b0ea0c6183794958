// SPDX-License-Identifier: Apache-2.0
//
// Rung 3: tiles in shared memory (PMPP, sections 5.4 and 5.5). The threads of a block bring a square of A and one of B
// together, then each reads a row and a column of them: what came from memory once is used 16 times.
//
//   Checked = false   the sides are multiples of the tile (figure 5.9)
//   Checked = true    any sides: what lies outside counts as zero (figure 5.13). The loop over the tile stays as it is.
#pragma once

#include <pmpp/launch.hpp>

#include "product.hpp"

template <bool Checked>
struct tiled {
  static constexpr int side = 16;
  struct shared {
    float a[side][side], b[side][side];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, product x) const {
    const int tx = int(block.thread_position().x), ty = int(block.thread_position().y);
    const std::int64_t j = std::int64_t(block.position().x) * side + tx;
    const std::int64_t i = std::int64_t(block.position().y) * side + ty;
    float sum = 0;
    for (std::int64_t first = 0; first < x.k; first += side) {
      const bool has_a = !Checked || (i < x.m && first + tx < x.k), has_b = !Checked || (j < x.n && first + ty < x.k);
      memory.a[ty][tx] = has_a ? x.a[i * x.k + first + tx] : 0.0f;
      memory.b[ty][tx] = has_b ? x.b[(first + ty) * x.n + j] : 0.0f;
      block.sync();
      for (int p = 0; p < side; ++p) sum += memory.a[ty][p] * memory.b[p][tx];
      block.sync();  // the next tile overwrites what others may still read
    }
    if (!Checked || (i < x.m && j < x.n)) x.c[i * x.n + j] = sum;
  }
};

template <bool Checked, class Policy>
void multiply_tiled(const Policy& where, const product& x) {
  constexpr int side = tiled<Checked>::side;
  pmpp::launch(where, pmpp::grid{{(x.n + side - 1) / side, (x.m + side - 1) / side}, {side, side}}, tiled<Checked>{},
               x);
}
