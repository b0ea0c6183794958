// SPDX-License-Identifier: Apache-2.0
//
// Layers of half with an epilogue. See convolution_layer.cpp.
#include <pmpp/convolution_layer.hpp>

#include <cmath>
#include <cstdint>

#include <cuda_fp16.h>

#include "support/layers.hpp"

using test::batch;
using test::biased;
using test::exact;
using test::order;
using test::setting;
using test::with;

TEST_ALL_PLACES("an epilogue sees each sum and its filter, in half precision") {
  for (const order way : {order::nhwc, order::nchw})
    for (const std::int64_t taps : {1, 3}) {
      const setting s{{3, 20, 20, 64}, 72, taps, taps, with(1, taps / 2)};
      const batch<where, __half> in(s.in, way), filters(s.filter_extent(), way);
      batch<where, __half> out(s.out_extent(), way);
      pmpp::convolution_layer(typename where::policy{}, in.input(), filters.input(), out.view(),
                              pmpp::layer_options<biased>{1, 1, taps / 2, taps / 2, 1, 1, 1, {-36}});
      const auto got = where::get(out.memory);
      const auto result = out.over(got.data());
      for (std::int64_t y = 0; y < 20; ++y)
        for (std::int64_t f = 0; f < 72; ++f) {
          const auto [sum, size] = exact(s, in, filters, 2, y, 3, f);
          const double x = sum - 36 + static_cast<double>(f), wanted = x > 0 ? x : 0;
          CHECK(std::abs(static_cast<double>(static_cast<float>(result(2, y, 3, f))) - wanted) <=
                1e-3 * wanted + 1e-6 * (size + 72));
        }
    }
}
