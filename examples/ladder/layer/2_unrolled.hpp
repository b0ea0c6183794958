// SPDX-License-Identifier: Apache-2.0
//
// Rung 2: unrolled ("im2col", PMPP, 4th edition, section 16.4). The windows of an image are written down as the columns of a matrix;
// then the layer is a product: filters x window by window x pixels. The product is as fast as products are, but the matrix
// is taps * taps times as large as the image, and is written and read once.
#pragma once

#include <pmpp/gemm.hpp>

#include "layer.hpp"

namespace ladder {

struct unroll {
  static constexpr int threads = 256;

  /// unrolled(n, k, p): element k of the window of pixel p of image n.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const layer& x, float* unrolled) const {
    const auto in = pmpp::simt::watch(block, x.in, "in");
    const auto out = pmpp::simt::watch(block, unrolled, "unrolled");
    const std::int64_t i = block.index() * threads + block.thread(), pixels = x.pixels();
    if (i < x.images * x.window() * pixels)
      out[i] = in[x.place(i / (x.window() * pixels), i / pixels % x.window(), i % pixels)];
  }
};

/// \param unrolled  room for images x window x pixels elements
template <class Policy>
void layer_unrolled(const Policy& where, const layer& x, float* unrolled) {
  const std::int64_t k = x.window(), pixels = x.pixels(), elements = x.images * k * pixels;
  pmpp::launch(where, pmpp::ceil_div(elements, std::int64_t(unroll::threads)), unroll{}, x, unrolled);
  pmpp::gemm_batched(where, 1, pmpp::matrix_view(x.filters, x.of_filters, k), 0,
                     pmpp::matrix_view(static_cast<const float*>(unrolled), k, pixels), k * pixels, 0,
                     pmpp::matrix_view(x.out, x.of_filters, pixels), x.of_filters * pixels, x.images);
}

}  // namespace ladder
