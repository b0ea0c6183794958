// SPDX-License-Identifier: Apache-2.0
//
// Rung 5: thread coarsening (PMPP, section 6.3) in two dimensions. A thread owns 8 x 8 elements of C in registers: for
// each k it reads 8 elements of A and 8 of B from shared memory and multiplies 64 times, where a thread an element
// reads two for one. Its rows and columns are 16 apart, so that neighbours read neighbouring words.
#pragma once

#include <pmpp/launch.hpp>

#include "product.hpp"

struct register_blocked {
  static constexpr int threads = 256, side = 16, own = 8, tile = side * own, depth = 8;
  struct shared {
    float a[depth][tile + 1], b[depth][tile];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, product x) const {
    const std::int64_t across = (x.n + tile - 1) / tile;
    const std::int64_t row = block.index() / across * tile, col = block.index() % across * tile;
    const int t = block.thread(), tx = t % side, ty = t / side;
    float sum[own][own] = {};
    for (std::int64_t first = 0; first < x.k; first += depth) {
      for (int e = t; e < depth * tile; e += threads) {
        const std::int64_t i = row + e / depth, p = first + e % depth;  // along the rows of A
        memory.a[e % depth][e / depth] = i < x.m && p < x.k ? x.a[i * x.k + p] : 0.0f;
        const std::int64_t q = first + e / tile, j = col + e % tile;  // along the rows of B
        memory.b[e / tile][e % tile] = q < x.k && j < x.n ? x.b[q * x.n + j] : 0.0f;
      }
      block.sync();
      for (int p = 0; p < depth; ++p) {
        float a[own], b[own];
        for (int i = 0; i < own; ++i) a[i] = memory.a[p][i * side + ty];
        for (int j = 0; j < own; ++j) b[j] = memory.b[p][j * side + tx];
        for (int i = 0; i < own; ++i)
          for (int j = 0; j < own; ++j) sum[i][j] += a[i] * b[j];
      }
      block.sync();
    }
    for (int i = 0; i < own; ++i)
      for (int j = 0; j < own; ++j) {
        const std::int64_t r = row + i * side + ty, c = col + j * side + tx;
        if (r < x.m && c < x.n) x.c[r * x.n + c] = sum[i][j];
      }
  }
};

template <class Policy>
void multiply_register_blocked(const Policy& where, const product& x) {
  constexpr std::int64_t tile = register_blocked::tile;
  pmpp::launch(where, (x.m + tile - 1) / tile * ((x.n + tile - 1) / tile), register_blocked{}, x);
}
