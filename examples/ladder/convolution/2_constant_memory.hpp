// SPDX-License-Identifier: Apache-2.0
//
// Rung 2: the mask in constant memory (PMPP, 4th edition, section 7.3, figure 7.9). All threads read the same tap at the
// same time: a cache of its own gives it to a whole warp at once, and the loads of taps are gone. The book declares a
// __constant__ array and copies to it before the launch; arguments of a kernel live in the same memory, and travel with
// the launch (core/constant_table.hpp).
#pragma once

#include "mask.hpp"

struct constant_memory_convolution {
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const float* picture, const mask_taps& mask, float* out,
                                   const picture_size& size) const {
    const auto in = pmpp::simt::watch(block, picture, "in");
    const auto t = block.thread_position(), b = block.position(), shape = block.shape();
    const std::int64_t y = std::int64_t(b.y) * shape.y + t.y, x = std::int64_t(b.x) * shape.x + t.x;
    if (!size.has(y, x)) return;
    float sum = 0;
    for (int i = 0; i < side; ++i)
      for (int j = 0; j < side; ++j)
        if (size.has(y + i - radius, x + j - radius))
          sum += mask[i * side + j] * in[(y + i - radius) * size.cols + x + j - radius];
    out[y * size.cols + x] = sum;
  }
};

template <class Policy>
void convolve_with_constant_taps(const Policy& where, const float* in, const mask_taps& mask, float* out,
                                 const picture_size& size) {
  pmpp::launch(where, pmpp::grid{blocks_of(size, 32), {32, 32}}, constant_memory_convolution{}, in, mask, out, size);
}
