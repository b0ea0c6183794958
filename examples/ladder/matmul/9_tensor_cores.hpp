// SPDX-License-Identifier: Apache-2.0
//
// Rung 9: tensor cores. A warp multiplies 16 x 8 by 8 x 8 elements in one instruction, its lanes holding the parts
// (simt/mma.hpp draws them); a warp has 64 x 32 elements of C, in 4 x 4 such products. The copies are a pipeline of two stages:
// the next k-tile is on its way while this one is multiplied. Rows of the tiles are padded, so that the 32 lanes, which
// read 8 rows or columns at 4 places each, find 32 banks.
// The price is precision: tf32 rounds the factors to 11 bits, sums are floats. The sides are multiples of the tile. Four warps
// together, straight from shared memory, are the next rung.
#pragma once

#include <pmpp/launch.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/simt/mma.hpp>

#include "product.hpp"

struct tensor_cores {
  static constexpr int threads = 256, tile = 128, depth = 16;
  static constexpr int rows = 64, columns = 32;  // of a warp: 2 x 4 of them are a tile
  static constexpr auto type = pmpp::simt::mma_type::tf32;
  using mma = pmpp::simt::mma<type>;
  struct shared {
    alignas(16) float a[2][tile][depth + 4], b[2][depth][tile + 8];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, product x) const {
    const std::int64_t across = x.n / tile;
    const std::int64_t row = block.index() / across * tile, col = block.index() % across * tile;
    const int thread = block.thread();
    const auto copy = [&](std::int64_t first, int stage) {
      for (int e = 4 * thread; first < x.k && e < depth * tile; e += 4 * threads) {
        const int i = e / depth, p = e % depth, q = e / tile, j = e % tile;
        pmpp::simt::copy_async<16>(&memory.a[stage][i][p], x.a + (row + i) * x.k + first + p);
        pmpp::simt::copy_async<16>(&memory.b[stage][q][j], x.b + (first + q) * x.n + col + j);
      }
      pmpp::simt::copy_async_commit();
    };
    const auto word_of = [](float v) { return pmpp::simt::round_to_tf32(__builtin_bit_cast(std::uint32_t, v)); };
    const int g = block.lane() / 4, t = block.lane() % 4;  // the lane's row or column of eight, and its place of four
    const int first_row = block.warp() / 4 * rows, first_column = block.warp() % 4 * columns;
    mma::sum sum[rows / 16][columns / 8][4] = {};
    copy(0, 0);
    int stage = 0;
    for (std::int64_t first = 0; first < x.k; first += depth) {
      pmpp::simt::copy_async_wait<0>();
      block.sync();  // the k-tile is there for all, and no thread reads the one before it any more
      copy(first + depth, stage ^ 1);
      for (int k = t; k < depth; k += mma::k) {
        mma::word b[columns / 8][2];
        for (int j = 0; j < columns / 8; ++j)
          for (int w = 0; w < 2; ++w) b[j][w] = word_of(memory.b[stage][k + 4 * w][first_column + 8 * j + g]);
        for (int i = 0; i < rows / 16; ++i) {
          mma::word a[4];
          for (int w = 0; w < 2; ++w)
            for (int h = 0; h < 2; ++h)
              a[2 * w + h] = word_of(memory.a[stage][first_row + 16 * i + 8 * h + g][k + 4 * w]);
          for (int j = 0; j < columns / 8; ++j) pmpp::simt::multiply_add<type>(block, sum[i][j], a, b[j]);
        }
      }
      stage ^= 1;
    }
    for (int i = 0; i < rows / 16; ++i)
      for (int j = 0; j < columns / 8; ++j)
        for (int e = 0; e < 4; ++e) {
          const std::int64_t r = row + first_row + 16 * i + e / 2 * 8 + g;
          x.c[r * x.n + col + first_column + 8 * j + 2 * t + e % 2] = sum[i][j][e];
        }
  }
};

template <class Policy>
void multiply_on_tensor_cores(const Policy& where, const product& x) {
  pmpp::launch(where, x.m / tensor_cores::tile * (x.n / tensor_cores::tile), tensor_cores{}, x);
}
