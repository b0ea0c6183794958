// SPDX-License-Identifier: Apache-2.0
//
// Rung 6: 16 bytes at a time, from memory and from shared memory: a quarter of the loads. A thread's rows and columns
// come in fours. A is turned on its way to shared memory, so that four rows of it lie side by side there too.
// The sides are multiples of the tile; the library does without that.
//
//   Unrolled = false   a turn of the loop along k ends in a test and a jump, and its addresses are worked out anew
//   Unrolled = true    eight turns one after the other: addresses are constants, and loads of the next go ahead of products
#pragma once

#include <pmpp/launch.hpp>

#include "product.hpp"

struct alignas(16) four {
  float item[4];
};

template <bool Unrolled>
struct vectorised {
  static constexpr int threads = 256, own = 8, tile = 128, depth = 8;
  struct shared {
    alignas(16) float a[depth][tile + 4], b[depth][tile];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, product x) const {
    const std::int64_t across = x.n / tile;
    const std::int64_t row = block.index() / across * tile, col = block.index() % across * tile;
    const int t = block.thread(), tx = t % 16 * 4, ty = t / 16 * 4;
    float sum[own][own] = {};
    for (std::int64_t first = 0; first < x.k; first += depth) {
      const int i = t / 2, p = t % 2 * 4;  // four along a row of A
      const four a4 = *reinterpret_cast<const four*>(x.a + (row + i) * x.k + first + p);
      const int q = t / 32, j = t % 32 * 4;  // four along a row of B
      const four b4 = *reinterpret_cast<const four*>(x.b + (first + q) * x.n + col + j);
      block.sync();
      for (int e = 0; e < 4; ++e) memory.a[p + e][i] = a4.item[e];
      *reinterpret_cast<four*>(&memory.b[q][j]) = b4;
      block.sync();
      const auto multiply = [&](int k) {
        four a[2], b[2];
        for (int h = 0; h < 2; ++h) {
          a[h] = *reinterpret_cast<const four*>(&memory.a[k][h * 64 + ty]);
          b[h] = *reinterpret_cast<const four*>(&memory.b[k][h * 64 + tx]);
        }
        for (int r = 0; r < own; ++r)
          for (int c = 0; c < own; ++c) sum[r][c] += a[r / 4].item[r % 4] * b[c / 4].item[c % 4];
      };
#ifdef __CUDA_ARCH__
#pragma unroll(Unrolled ? depth : 1)
#endif
      for (int k = 0; k < depth; ++k) multiply(k);
    }
    for (int r = 0; r < own; ++r)
      for (int h = 0; h < 2; ++h) {
        four out;
        for (int e = 0; e < 4; ++e) out.item[e] = sum[r][h * 4 + e];
        *reinterpret_cast<four*>(x.c + (row + r / 4 * 64 + ty + r % 4) * x.n + col + h * 64 + tx) = out;
      }
  }
};

template <bool Unrolled, class Policy>
void multiply_vectorised(const Policy& where, const product& x) {
  constexpr std::int64_t tile = vectorised<Unrolled>::tile;
  pmpp::launch(where, x.m / tile * (x.n / tile), vectorised<Unrolled>{}, x);
}
