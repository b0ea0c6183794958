// SPDX-License-Identifier: Apache-2.0
//
// Rung 1: one thread a result (PMPP, 4th edition, section 7.2, figure 7.7). Each multiplication and addition loads an
// element and a tap from global memory: 8 bytes for two operations. What makes it bearable is that the caches hold both.
#pragma once

#include "mask.hpp"

struct basic_convolution {
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const float* picture, const float* mask, float* out,
                                   const picture_size& size) const {
    const auto in = pmpp::simt::watch(block, picture, "in"), taps = pmpp::simt::watch(block, mask, "taps");
    const auto t = block.thread_position(), b = block.position(), shape = block.shape();
    const std::int64_t y = std::int64_t(b.y) * shape.y + t.y, x = std::int64_t(b.x) * shape.x + t.x;
    if (!size.has(y, x)) return;
    float sum = 0;
    for (int i = 0; i < side; ++i)
      for (int j = 0; j < side; ++j)
        if (size.has(y + i - radius, x + j - radius))
          sum += taps[i * side + j] * in[(y + i - radius) * size.cols + x + j - radius];
    out[y * size.cols + x] = sum;
  }
};

/// `taps`: side x side, where the pictures are.
template <class Policy>
void convolve_basically(const Policy& where, const float* in, const float* taps, float* out, const picture_size& size) {
  pmpp::launch(where, pmpp::grid{blocks_of(size, 32), {32, 32}}, basic_convolution{}, in, taps, out, size);
}
