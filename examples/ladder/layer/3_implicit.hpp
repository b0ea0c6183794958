// SPDX-License-Identifier: Apache-2.0
//
// Rung 3: the same product without the matrix. It is the tiled one of the ladder of products (rung 3 there), whose tile of B is
// looked up in the images when it is needed: an implicit product, as cuDNN and the library have it.
#pragma once

#include "layer.hpp"

namespace ladder {

struct implicit_layer {
  static constexpr int side = 16;
  struct shared {
    float a[side][side], b[side][side];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const layer& x) const {
    const auto in = pmpp::simt::watch(block, x.in, "in"), filters = pmpp::simt::watch(block, x.filters, "filters");
    const auto tile_a = pmpp::simt::watch(block, memory.a, "filters' tile");
    const auto tile_b = pmpp::simt::watch(block, memory.b, "windows' tile");
    const int tx = int(block.thread_position().x), ty = int(block.thread_position().y);
    const std::int64_t p = std::int64_t(block.position().x) * side + tx,
                       f = std::int64_t(block.position().y) * side + ty;
    const std::int64_t n = block.position().z, window = x.window();
    float sum = 0;
    for (std::int64_t first = 0; first < window; first += side) {
      const bool has_a = f < x.of_filters && first + tx < window, has_b = p < x.pixels() && first + ty < window;
      tile_a[ty][tx] = has_a ? filters[f * window + first + tx] : 0.0f;
      tile_b[ty][tx] = has_b ? in[x.place(n, first + ty, p)] : 0.0f;
      block.sync();
      for (int k = 0; k < side; ++k) sum += tile_a[ty][k] * tile_b[k][tx];
      block.sync();  // the next tile overwrites what others may still read
    }
    if (f < x.of_filters && p < x.pixels()) x.out[(n * x.of_filters + f) * x.pixels() + p] = sum;
  }
};

template <class Policy>
void layer_implicitly(const Policy& where, const layer& x) {
  constexpr std::int64_t side = implicit_layer::side;
  pmpp::launch(
      where, pmpp::grid{{pmpp::ceil_div(x.pixels(), side), pmpp::ceil_div(x.of_filters, side), x.images}, {side, side}},
      implicit_layer{}, x);
}

}  // namespace ladder
