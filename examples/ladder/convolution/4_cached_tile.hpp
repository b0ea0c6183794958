// SPDX-License-Identifier: Apache-2.0
//
// Rung 4: tiles without halos (PMPP, 4th edition, section 7.5, figure 7.15). A halo is the inside of a neighbour's tile:
// another thread has loaded it, or soon will, and the cache holds it. So tiles of input and output are the same, no thread is
// idle, and what lies outside of the tile is read from global memory, which mostly means from the cache.
#pragma once

#include "mask.hpp"

struct cached_tile_convolution {
  static constexpr int tile = 32;
  struct shared {
    float element[tile][tile];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const float* picture, const mask_taps& mask,
                                   float* out, const picture_size& size) const {
    const auto in = pmpp::simt::watch(block, picture, "in");
    const auto element = pmpp::simt::watch(block, memory.element, "element");
    const auto t = block.thread_position(), b = block.position();
    const int tile_y = static_cast<int>(t.y), tile_x = static_cast<int>(t.x);
    const std::int64_t y = std::int64_t(b.y) * tile + tile_y, x = std::int64_t(b.x) * tile + tile_x;
    if (size.has(y, x)) element[tile_y][tile_x] = in[y * size.cols + x];
    block.sync();
    if (!size.has(y, x)) return;
    float sum = 0;
    for (int i = 0; i < side; ++i)
      for (int j = 0; j < side; ++j) {
        if (!size.has(y + i - radius, x + j - radius)) continue;
        const int from_y = tile_y + i - radius, from_x = tile_x + j - radius;
        const bool in_tile = from_y >= 0 && from_y < tile && from_x >= 0 && from_x < tile;
        sum += mask[i * side + j] *
               (in_tile ? float(element[from_y][from_x]) : float(in[(y + i - radius) * size.cols + x + j - radius]));
      }
    out[y * size.cols + x] = sum;
  }
};

template <class Policy>
void convolve_by_cached_tiles(const Policy& where, const float* in, const mask_taps& mask, float* out,
                              const picture_size& size) {
  pmpp::launch(where, pmpp::grid{blocks_of(size, cached_tile_convolution::tile), {32, 32}}, cached_tile_convolution{},
               in, mask, out, size);
}
