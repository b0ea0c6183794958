// SPDX-License-Identifier: Apache-2.0
//
// Masks of 3 x 3 x 3 taps, as functions of the elements around one: see convolution/planes.hpp.
#pragma once

#include <pmpp/convolution/kernel.hpp>
#include <pmpp/core/config.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// The sum of a float's neighbours, times the taps.
template <class Out>
struct volume_sum {
  float tap[27];

  template <class N>
  PMPP_HOST_DEVICE Out operator()(const N& n) const {
    float sum = 0;
    for_each_constant<27>([&](auto number) {
      constexpr int i = decltype(number)::value;
      sum += tap[i] * n(i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1);
    });
    return stored<Out>(sum);
  }
};

template <class Tap, class Out>
struct volume_mask {
  static constexpr bool corners = true;
  mask_argument<Tap, 27> mask;

  /// The taps are the same for all threads: the compiler keeps them in uniform registers.
  PMPP_HOST_DEVICE volume_sum<Out> ready() const {
    volume_sum<Out> sum;
    for (int i = 0; i < 27; ++i) sum.tap[i] = mask.template tap<float>(i / 9, i / 3 % 3, i % 3);
    return sum;
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
