// SPDX-License-Identifier: Apache-2.0
//
// Rungs 3 to 5: a box blur of 7 x 7 (PMPP, 4th edition, section 3.3): the mean of those neighbours that exist.
//   blur_a_pixel       49 reads a pixel, from memory or a cache
//   blur_tiled         a block brings its pixels and their margin to shared memory first: about two reads a pixel
//   blur_separable     rows, then columns: 14 additions instead of 49, from the same tile
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

struct blur_arguments {
  const std::uint8_t* in;
  std::uint8_t* out;
  int width, height;
};

inline constexpr int blur_radius = 3, blur_side = 2 * blur_radius + 1;

/// How many of the places from x - 3 to x + 3 lie in [0, n).
PMPP_HOST_DEVICE inline unsigned blur_places(int x, int n) {
  const int first = x < blur_radius ? 0 : x - blur_radius, last = x + blur_radius < n ? x + blur_radius : n - 1;
  return unsigned(last - first + 1);
}
PMPP_HOST_DEVICE inline std::uint8_t blur_mean(unsigned sum, int x, int y, const blur_arguments& a) {
  const unsigned count = blur_places(x, a.width) * blur_places(y, a.height);
  return static_cast<std::uint8_t>((sum + count / 2) / count);
}

struct blur_a_pixel {
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, blur_arguments a) const {
    const auto in = pmpp::simt::watch(block, a.in, "in");
    const int x = int(block.position().x * 32 + block.thread_position().x);
    const int y = int(block.position().y * 8 + block.thread_position().y);
    if (x >= a.width || y >= a.height) return;
    unsigned sum = 0;
    for (int v = y - blur_radius; v <= y + blur_radius; ++v)
      for (int u = x - blur_radius; u <= x + blur_radius; ++u)
        if (pmpp::simt::branch(block, u >= 0 && u < a.width && v >= 0 && v < a.height, "inside"))
          sum += in[std::int64_t(v) * a.width + u];
    a.out[std::int64_t(y) * a.width + x] = blur_mean(sum, x, y, a);
  }
};

template <bool Separable>
struct blur_tiled {
  static constexpr int rows = 8 + 2 * blur_radius, columns = 32 + 2 * blur_radius;
  struct shared {
    std::uint8_t tile[rows][columns];
    std::uint16_t sum[Separable ? rows : 1][32];  // of seven in a row
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, blur_arguments a) const {
    const auto in = pmpp::simt::watch(block, a.in, "in");
    const auto tile = pmpp::simt::watch(block, memory.tile, "tile");
    const auto sums = pmpp::simt::watch(block, memory.sum, "sums");
    const int tx = int(block.thread_position().x), ty = int(block.thread_position().y);
    const int x = int(block.position().x) * 32 + tx, y = int(block.position().y) * 8 + ty;
    for (int i = block.thread(); i < rows * columns; i += block.threads()) {
      const int u = x - tx - blur_radius + i % columns, v = y - ty - blur_radius + i / columns;
      const bool inside = u >= 0 && u < a.width && v >= 0 && v < a.height;
      tile[i / columns][i % columns] = inside ? in[std::int64_t(v) * a.width + u] : std::uint8_t(0);
    }
    block.sync();
    unsigned sum = 0;
    if constexpr (Separable) {
      for (int row = ty; row < rows; row += 8) {
        unsigned across = 0;
        for (int u = 0; u < blur_side; ++u) across += tile[row][tx + u];
        sums[row][tx] = static_cast<std::uint16_t>(across);
      }
      block.sync();
      for (int v = 0; v < blur_side; ++v) sum += sums[ty + v][tx];
    } else {
      for (int v = 0; v < blur_side; ++v)
        for (int u = 0; u < blur_side; ++u) sum += tile[ty + v][tx + u];
    }
    if (x < a.width && y < a.height) a.out[std::int64_t(y) * a.width + x] = blur_mean(sum, x, y, a);
  }
};
