// SPDX-License-Identifier: Apache-2.0
//
// What this file and its neighbours (see support/layers.hpp) prove of convolution_layer.hpp, on every policy: outputs are those of the definition within the
// rounding of their sums, for float, double and the 2-byte floats; channels first, last and strided; any taps, strides,
// padding, dilation and groups, depthwise too; images smaller than the window; epilogues; gaps in the output stay
// untouched; NaN and infinity spread as the formula says; nothing to do is no error; bad input throws and touches
// nothing. In the emulator also: tiny tiles and any order of blocks and threads. On a GPU also: another stream, a graph.
#include <pmpp/convolution_layer.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/layers.hpp"
#include "support/orders.hpp"

using pmpp::channels_view;
using test::batch;
using test::biased;
using test::exact;
using test::halves;
using test::order;
using test::setting;
using test::settings;
using test::tiny;
using test::try_layer;
using test::with;

TEST_ALL_PLACES("layers are those of the definition, however images and filters lie") {
  for (const setting& s : settings())
    for (const auto& [in, filters, out] :
         {std::array{order::nhwc, order::nhwc, order::nhwc}, std::array{order::nchw, order::nchw, order::nchw},
          std::array{order::spread, order::nhwc, order::spread}}) {
      try_layer<where, float, tiny>(s, in, filters, out, 1e-6);
    }
}

TEST_ALL_PLACES("the usual tiles") {
  const setting s{{2, 15, 13, 32}, 150, 3, 3, with(1, 1)};
  try_layer<where, float>(s, order::nhwc, order::nhwc, order::nhwc, 1e-6);
  try_layer<where, float>(s, order::nchw, order::nchw, order::nchw, 1e-6);
}

TEST_ALL_PLACES("large tiles of half of k") {
  // One and a half tiles for each multiprocessor: of two, as the emulator has, and of 132.
  const setting two{{1, 8, 12, 20}, 32, 3, 3, with(1, 1)}, many{{2, 55, 57, 8}, 32, 3, 3, with(1, 1)};
  for (const order out : {order::nhwc, order::nchw}) {
    try_layer<where, float, halves>(two, order::nhwc, order::nhwc, out, 1e-6);
    try_layer<where, float, halves>(many, order::nhwc, order::nhwc, out, 1e-6);
  }
}

TEST_ALL_PLACES("an epilogue sees each sum and its filter") {
  for (const std::int64_t groups : {1, 2, 12}) {
    const setting s{{2, 5, 4, 12}, 24, 3, 3, with(1, 1, 1, groups)};
    const batch<where, float> in(s.in, order::nhwc), filters(s.filter_extent(), order::nhwc);
    batch<where, float> out(s.out_extent(), order::nchw);
    pmpp::convolution_layer<test::tuned<where>(tiny)>(typename where::policy{}, in.input(), filters.input(), out.view(),
                                                      pmpp::layer_options<biased>{1, 1, 1, 1, 1, 1, groups, {-12}});
    const auto got = where::get(out.memory);
    const auto result = out.over(got.data());
    for (std::int64_t y = 0; y < 5; ++y)
      for (std::int64_t f = 0; f < 24; ++f) {
        const double x = exact(s, in, filters, 1, y, 2, f)[0] - 12 + static_cast<double>(f);
        CHECK(static_cast<double>(result(1, y, 2, f)) == doctest::Approx(x > 0 ? x : 0).epsilon(1e-5));
      }
  }
}

TEST_ALL_PLACES("NaN and infinity spread to the windows that they lie in, and to no other") {
  const setting s{{1, 6, 6, 8}, 16, 3, 3, with(1, 1)};
  batch<where, float> in(s.in, order::nhwc), filters(s.filter_extent(), order::nhwc), out(s.out_extent(), order::nhwc);
  auto values = in.initial;
  in.over(values.data())(0, 2, 3, 5) = std::numeric_limits<float>::quiet_NaN();
  in.memory = where::put(values);
  pmpp::convolution_layer<test::tuned<where>(tiny)>(typename where::policy{}, in.input(), filters.input(), out.view(),
                                                    s.options);
  const auto got = where::get(out.memory);
  const auto result = out.over(got.data());
  for (std::int64_t y = 0; y < 6; ++y)
    for (std::int64_t x = 0; x < 6; ++x)
      for (std::int64_t f = 0; f < 16; ++f)
        CHECK(std::isnan(result(0, y, x, f)) == (std::abs(y - 2) <= 1 && std::abs(x - 3) <= 1));
}

TEST_ALL_PLACES("nothing to do, and sums of nothing") {
  using policy = typename where::policy;
  std::vector<float> zeros(64, 0.0f), ones(64, 1.0f);
  const auto in = where::put(zeros), filters = where::put(zeros);
  auto out = where::put(ones);
  const auto run = [&](std::int64_t images, std::int64_t side, std::int64_t channels, std::int64_t count) {
    const std::int64_t to = side >= 3 ? side - 2 : 0;
    pmpp::convolution_layer(policy{}, pmpp::nhwc(in.data(), images, side, side, channels),
                            pmpp::nhwc(filters.data(), count, 3, 3, channels),
                            pmpp::nhwc(out.data(), images, to, to, count));
  };
  run(0, 4, 1, 1);
  run(1, 4, 1, 0);
  run(1, 2, 1, 1);
  CHECK(where::get(out) == ones);
  run(1, 4, 0, 2);  // no channels: zeros
  auto expected = ones;
  std::fill(expected.begin(), expected.begin() + 8, 0.0f);
  CHECK(where::get(out) == expected);
}

TEST_ALL_PLACES("bad input throws, names it, and touches nothing") {
  using policy = typename where::policy;
  const std::vector<float> some(4000, 2.0f);
  const auto in = where::put(some), filters = where::put(some);
  auto out = where::put(some);
  const auto image = pmpp::nhwc(in.data(), 1, 6, 6, 4);
  const auto mask = pmpp::nhwc(filters.data(), 8, 3, 3, 4);
  const auto target = pmpp::nhwc(out.data(), 1, 4, 4, 8);
  const auto refuses = [&](auto a, auto b, auto c, pmpp::layer_options<> o, const std::string& part) {
    try {
      pmpp::convolution_layer(policy{}, a, b, c, o);
      FAIL("no exception");
    } catch (const std::invalid_argument& e) {
      CAPTURE(e.what());
      CHECK(std::string(e.what()).find(part) != std::string::npos);
    }
  };
  refuses(image, mask, pmpp::nhwc(out.data(), 1, 6, 6, 8), {},
          "the output is 1 x 6 x 6 x 8 (images, height, width, "
          "channels), wanted is 1 x 4 x 4 x 8");
  refuses(image, pmpp::nhwc(filters.data(), 8, 3, 3, 3), target, {},
          "filters have 3 channels, a group of the input has 4");
  refuses(image, mask, target, {.groups = 3}, "groups is 3");
  refuses(image, mask, target, {.groups = 0}, "groups is 0");
  refuses(image, mask, target, {.stride_y = 0}, "stride is 0 x 1");
  refuses(image, mask, target, {.padding_x = -1}, "padding is 0 x -1");
  refuses(image, mask, target, {.dilation_y = 0}, "dilation is 0 x 1");
  refuses(image, mask, target, {.dilation_x = std::int64_t(1) << 60}, "dilation is 1 x");
  refuses(image, pmpp::nhwc(filters.data(), 8, 0, 3, 4), target, {}, "0 x 3 taps");
  refuses(pmpp::nhwc(in.data(), -1, 6, 6, 4), mask, target, {}, "the input is -1 x 6 x 6 x 4");
  refuses(pmpp::nhwc(decltype(in.data())(nullptr), 1, 6, 6, 4), mask, target, {}, "the input is null");
  refuses(pmpp::nhwc(out.data(), 1, 6, 6, 4), mask, target, {}, "overlaps");
  refuses(image, mask, channels_view<float>(out.data(), 1, 4, 4, 8, 128, 32, 8, 0), {}, "a stride is 0");
  CHECK(where::get(out) == some);
}

#if PMPP_WITH_EMULATOR && !PMPP_CUDA
TEST_CASE("any order of blocks and threads gives the same bits") {
  using where = test::device_place;
  for (const auto& [s, way] : {std::pair{setting{{1, 7, 6, 16}, 40, 3, 3, with(1, 1)}, order::nhwc},
                               std::pair{setting{{1, 4, 5, 64}, 20, 3, 3, with(1, 1)}, order::nchw},  // k in parts
                               std::pair{setting{{1, 7, 6, 16}, 16, 3, 3, with(1, 1, 1, 16)}, order::nhwc}}) {
    const batch<where, float> in(s.in, way), filters(s.filter_extent(), way);
    std::vector<float> first;
    test::for_each_order(3, [&](std::uint64_t) {
      batch<where, float> out(s.out_extent(), way);
      pmpp::convolution_layer<pmpp::layer_tuning{test::four_warps, test::one_warp, 3}>(
          pmpp::device, in.input(), filters.input(), out.view(), s.options);
      auto got = where::get(out.memory);
      const auto [n, h, w, c] = s.out_extent();
      got.resize(static_cast<std::size_t>(n * h * w * c));
      if (first.empty()) first = got;
      CHECK(got == first);
    });
  }
}
#endif
