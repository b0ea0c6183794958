// SPDX-License-Identifier: Apache-2.0
//
// The rungs in three dimensions: 3 x 3 x 3 taps. A halo costs more the more dimensions there are: of a tile of 10 x 10 x 10
// elements 512 have a result, half of them, where 28 x 28 of 32 x 32 are three quarters.
#pragma once

#include <cstdint>

#include <pmpp/core/constant_table.hpp>
#include <pmpp/launch.hpp>

using cube_taps = pmpp::constant_table<float, 27>;

struct volume_size {
  std::int64_t planes, rows, cols;
  PMPP_HOST_DEVICE std::int64_t volume() const { return planes * rows * cols; }
  PMPP_HOST_DEVICE std::int64_t place(std::int64_t z, std::int64_t y, std::int64_t x) const {
    return (z * rows + y) * cols + x;
  }
  PMPP_HOST_DEVICE bool has(std::int64_t z, std::int64_t y, std::int64_t x) const {
    return z >= 0 && z < planes && y >= 0 && y < rows && x >= 0 && x < cols;
  }
};

/// What both kernels say of their launch: a block makes 8 x 8 x 8 results.
struct cube_blocks {
  static constexpr int side = 8;
  pmpp::extent3 shape{side, side, side};
  static pmpp::extent3 blocks(const volume_size& n) {
    const auto of = [](std::int64_t extent) { return pmpp::ceil_div(extent, std::int64_t(side)); };
    return {of(n.cols), of(n.rows), of(n.planes)};
  }
};

struct cube_basic : cube_blocks {
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const float* in, const cube_taps& taps, float* out,
                                   const volume_size& n) const {
    const auto t = block.thread_position(), b = block.position();
    const std::int64_t z = std::int64_t(b.z) * side + t.z, y = std::int64_t(b.y) * side + t.y,
                       x = std::int64_t(b.x) * side + t.x;
    if (!n.has(z, y, x)) return;
    float sum = 0;
    for (int k = 0; k < 27; ++k)
      if (n.has(z + k / 9 - 1, y + k / 3 % 3 - 1, x + k % 3 - 1))
        sum += taps[k] * in[n.place(z + k / 9 - 1, y + k / 3 % 3 - 1, x + k % 3 - 1)];
    out[n.place(z, y, x)] = sum;
  }
};

/// As many threads as results; they load the tile, which is twice as large, together.
struct cube_tiled : cube_blocks {
  static constexpr int tile = side + 2;
  struct shared {
    float element[tile][tile][tile];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const float* in, const cube_taps& taps, float* out,
                                   const volume_size& n) const {
    const auto t = block.thread_position(), b = block.position();
    const std::int64_t first_z = std::int64_t(b.z) * side, first_y = std::int64_t(b.y) * side,
                       first_x = std::int64_t(b.x) * side;
    for (int e = block.thread(); e < tile * tile * tile; e += block.threads()) {
      const int k = e / (tile * tile), j = e / tile % tile, i = e % tile;
      const std::int64_t z = first_z + k - 1, y = first_y + j - 1, x = first_x + i - 1;
      memory.element[k][j][i] = n.has(z, y, x) ? in[n.place(z, y, x)] : 0;
    }
    block.sync();
    if (!n.has(first_z + t.z, first_y + t.y, first_x + t.x)) return;
    float sum = 0;
    for (int k = 0; k < 27; ++k)
      sum += taps[k] * memory.element[t.z + unsigned(k) / 9][t.y + unsigned(k) / 3 % 3][t.x + unsigned(k) % 3];
    out[n.place(first_z + t.z, first_y + t.y, first_x + t.x)] = sum;
  }
};
