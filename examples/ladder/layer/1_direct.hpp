// SPDX-License-Identifier: Apache-2.0
//
// Rung 1: a result a thread, straight from the definition (PMPP, 4th edition, section 16.3). Threads of a warp have neighbouring
// pixels of one filter, so what they read of the image lies side by side, and of the filter is the same; but each element of an image
// is read taps * taps times for each filter.
#pragma once

#include "layer.hpp"

namespace ladder {

struct direct_layer {
  static constexpr int threads = 256;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const layer& x) const {
    const auto in = pmpp::simt::watch(block, x.in, "in"), filters = pmpp::simt::watch(block, x.filters, "filters");
    const std::int64_t i = block.index() * threads + block.thread(), pixels = x.pixels();
    if (i >= x.images * x.of_filters * pixels) return;
    const std::int64_t n = i / (x.of_filters * pixels), f = i / pixels % x.of_filters, p = i % pixels;
    float sum = 0;
    for (std::int64_t k = 0; k < x.window(); ++k) sum += filters[f * x.window() + k] * in[x.place(n, k, p)];
    x.out[i] = sum;
  }
};

template <class Policy>
void layer_directly(const Policy& where, const layer& x) {
  const std::int64_t results = x.images * x.of_filters * x.pixels();
  pmpp::launch(where, pmpp::ceil_div(results, std::int64_t(direct_layer::threads)), direct_layer{}, x);
}

}  // namespace ladder
