// SPDX-License-Identifier: Apache-2.0
//
// Rung 7: a software pipeline with two buffers. In turn i of the loop a thread asks for its part of k-tile i + 1, which comes to
// registers while it multiplies k-tile i, and then goes to the buffer that nobody reads. One barrier a turn is left of two:
//
//   registers       load 1         load 2         load 3
//   products        0              1              2
//   shared memory        store 1 |      store 2 |      store 3 |        | a barrier
//
// The price: eight registers that hold what is on its way, and twice the shared memory. The sides are multiples of the tile.
#pragma once

#include <pmpp/launch.hpp>

#include "6_vectorised.hpp"
#include "product.hpp"

struct pipelined {
  static constexpr int threads = 256, own = 8, tile = 128, depth = 8;
  struct shared {
    alignas(16) float a[2][depth][tile + 4], b[2][depth][tile];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, product x) const {
    const std::int64_t across = x.n / tile;
    const std::int64_t row = block.index() / across * tile, col = block.index() % across * tile;
    const int t = block.thread(), tx = t % 16 * 4, ty = t / 16 * 4;
    const int i = t / 2, p = t % 2 * 4, q = t / 32, j = t % 32 * 4;  // what the thread brings of A, of B
    four a4, b4;
    const auto load = [&](std::int64_t first) {
      a4 = *reinterpret_cast<const four*>(x.a + (row + i) * x.k + first + p);
      b4 = *reinterpret_cast<const four*>(x.b + (first + q) * x.n + col + j);
    };
    const auto store = [&](int buffer) {
      for (int e = 0; e < 4; ++e) memory.a[buffer][p + e][i] = a4.item[e];
      *reinterpret_cast<four*>(&memory.b[buffer][q][j]) = b4;
    };
    float sum[own][own] = {};
    load(0);
    store(0);
    block.sync();
    int now = 0;
    for (std::int64_t first = 0; first < x.k; first += depth) {
      const bool has_next = first + depth < x.k;
      if (has_next) load(first + depth);
      for (int k = 0; k < depth; ++k) {
        four a[2], b[2];
        for (int h = 0; h < 2; ++h) {
          a[h] = *reinterpret_cast<const four*>(&memory.a[now][k][h * 64 + ty]);
          b[h] = *reinterpret_cast<const four*>(&memory.b[now][k][h * 64 + tx]);
        }
        for (int r = 0; r < own; ++r)
          for (int c = 0; c < own; ++c) sum[r][c] += a[r / 4].item[r % 4] * b[c / 4].item[c % 4];
      }
      now ^= 1;
      if (has_next) store(now);  // the buffer of the turn before, which all have left at its barrier
      block.sync();
    }
    for (int r = 0; r < own; ++r)
      for (int h = 0; h < 2; ++h) {
        four out;
        for (int e = 0; e < 4; ++e) out.item[e] = sum[r][h * 4 + e];
        *reinterpret_cast<four*>(x.c + (row + r / 4 * 64 + ty + r % 4) * x.n + col + h * 64 + tx) = out;
      }
  }
};

template <class Policy>
void multiply_pipelined(const Policy& where, const product& x) {
  pmpp::launch(where, x.m / pipelined::tile * (x.n / pipelined::tile), pipelined{}, x);
}
