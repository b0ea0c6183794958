// SPDX-License-Identifier: Apache-2.0
//
// Rung 3: a tile of the input in shared memory, with its halo (PMPP, 4th edition, section 7.4, figure 7.12). A block is as
// large as its input tile: each thread loads one element, zero outside of the picture; those in the middle then make
// a result each, from shared memory alone. Of 32 x 32 threads 28 x 28 have one: the halo costs a quarter of the threads.
#pragma once

#include "mask.hpp"

struct tiled_convolution {
  static constexpr int in_tile = 32, out_tile = in_tile - 2 * radius;
  struct shared {
    float tile[in_tile][in_tile];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const float* picture, const mask_taps& mask,
                                   float* out, const picture_size& size) const {
    const auto in = pmpp::simt::watch(block, picture, "in");
    const auto tile = pmpp::simt::watch(block, memory.tile, "tile");
    const auto t = block.thread_position(), b = block.position();
    const int tile_y = static_cast<int>(t.y), tile_x = static_cast<int>(t.x);
    const std::int64_t y = std::int64_t(b.y) * out_tile + tile_y - radius,
                       x = std::int64_t(b.x) * out_tile + tile_x - radius;
    tile[tile_y][tile_x] = size.has(y, x) ? in[y * size.cols + x] : 0.0f;
    block.sync();
    const int first_y = tile_y - radius, first_x = tile_x - radius;  // of the window
    if (!size.has(y, x) || first_y < 0 || first_y >= out_tile || first_x < 0 || first_x >= out_tile) return;
    float sum = 0;
    for (int i = 0; i < side; ++i)
      for (int j = 0; j < side; ++j) sum += mask[i * side + j] * tile[first_y + i][first_x + j];
    out[y * size.cols + x] = sum;
  }
};

template <class Policy>
void convolve_by_tiles(const Policy& where, const float* in, const mask_taps& mask, float* out,
                       const picture_size& size) {
  pmpp::launch(where, pmpp::grid{blocks_of(size, tiled_convolution::out_tile), {32, 32}}, tiled_convolution{}, in, mask,
               out, size);
}
