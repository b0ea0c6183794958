// SPDX-License-Identifier: Apache-2.0
//
// Before the first rung: every byte of a picture doubled, on a grid of two dimensions (PMPP, 4th edition, section 3.2; the
// PictureKernel of many courses). A block has 16 x 16 threads, and there are as many blocks as cover the picture: those at
// its right and lower border have threads without a pixel. A picture of 76 x 62 has 5 x 4 blocks.
#pragma once

#include <cstdint>

#include <pmpp/core/math.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

struct scale_on_a_plane {
  static constexpr int side = 16;
  static pmpp::grid shape(int width, int height) {
    return {{pmpp::ceil_div(width, side), pmpp::ceil_div(height, side)}, {side, side}};
  }
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const std::uint8_t* in, std::uint8_t* out, int width,
                                   int height) const {
    const auto from = pmpp::simt::watch(block, in, "in");
    const auto to = pmpp::simt::watch(block, out, "out");
    const auto t = block.thread_position(), b = block.position();
    const int col = static_cast<int>(b.x * side + t.x), row = static_cast<int>(b.y * side + t.y);
    if (pmpp::simt::branch(block, col < width && row < height, "in the picture"))
      to[row * width + col] = static_cast<std::uint8_t>(2 * from[row * width + col]);
  }
};
