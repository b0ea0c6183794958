// SPDX-License-Identifier: Apache-2.0
//
// What every rung works out: a convolution layer of channels first, without padding. out(n, f, y, x) is the sum over c, r and s of
// filters(f, c, r, s) * in(n, c, y + r, x + s).
#pragma once

#include <cstdint>

#include <pmpp/core/math.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

namespace ladder {

struct layer {
  const float *in, *filters;
  float* out;
  std::int64_t images, channels, side, of_filters,
      taps;  // side x side pixels, taps x taps elements of a filter a channel

  PMPP_HOST_DEVICE std::int64_t out_side() const { return side - taps + 1; }
  PMPP_HOST_DEVICE std::int64_t pixels() const { return out_side() * out_side(); }
  PMPP_HOST_DEVICE std::int64_t window() const { return channels * taps * taps; }  // elements that a result is made of
  /// Element k of the window of pixel p of image n.
  PMPP_HOST_DEVICE std::int64_t place(std::int64_t n, std::int64_t k, std::int64_t p) const {
    const std::int64_t c = k / (taps * taps), y = p / out_side() + k / taps % taps, x = p % out_side() + k % taps;
    return ((n * channels + c) * side + y) * side + x;
  }
};

}  // namespace ladder
