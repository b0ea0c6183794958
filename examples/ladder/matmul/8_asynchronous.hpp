// SPDX-License-Identifier: Apache-2.0
//
// Rung 8: asynchronous copies. Three k-tiles are in shared memory: one is multiplied while two are on their way, straight
// from memory, without a register and without anybody waiting. One barrier a k-tile is left.
// The sides are multiples of the tile. The library adds: a thread owns 8 x 16, the operands of the next k are on their
// way to registers, k is split for small C, any strides and sides.
#pragma once

#include <pmpp/launch.hpp>
#include <pmpp/simt/memory.hpp>

#include "6_vectorised.hpp"
#include "product.hpp"

struct asynchronous {
  static constexpr int threads = 256, own = 8, tile = 128, depth = 8, stages = 3;
  struct shared {
    alignas(16) float a[stages][depth][tile + 4], b[stages][depth][tile];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, product x) const {
    const std::int64_t across = x.n / tile;
    const std::int64_t row = block.index() / across * tile, col = block.index() % across * tile;
    const int t = block.thread(), tx = t % 16 * 4, ty = t / 16 * 4;
    const auto copy = [&](std::int64_t first, int stage) {
      for (int e = t; first < x.k && e < depth * tile; e += threads)  // A is turned element by element
        pmpp::simt::copy_async<4>(&memory.a[stage][e % depth][e / depth],
                                  x.a + (row + e / depth) * x.k + first + e % depth);
      if (first < x.k)
        pmpp::simt::copy_async<16>(&memory.b[stage][t / 32][t % 32 * 4],
                                   x.b + (first + t / 32) * x.n + col + t % 32 * 4);
      pmpp::simt::copy_async_commit();
    };
    float sum[own][own] = {};
    copy(0, 0);
    copy(depth, 1);
    int stage = 0;
    for (std::int64_t first = 0; first < x.k; first += depth) {
      pmpp::simt::copy_async_wait<1>();
      block.sync();  // the k-tile is there for all, and no thread reads the one before it any more
      copy(first + 2 * depth, (stage + 2) % stages);
      for (int k = 0; k < depth; ++k) {
        four a[2], b[2];
        for (int h = 0; h < 2; ++h) {
          a[h] = *reinterpret_cast<const four*>(&memory.a[stage][k][h * 64 + ty]);
          b[h] = *reinterpret_cast<const four*>(&memory.b[stage][k][h * 64 + tx]);
        }
        for (int r = 0; r < own; ++r)
          for (int c = 0; c < own; ++c) sum[r][c] += a[r / 4].item[r % 4] * b[c / 4].item[c % 4];
      }
      stage = (stage + 1) % stages;
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
void multiply_asynchronously(const Policy& where, const product& x) {
  pmpp::launch(where, x.m / asynchronous::tile * (x.n / asynchronous::tile), asynchronous{}, x);
}
