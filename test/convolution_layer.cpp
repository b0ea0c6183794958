// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of convolution_layer.hpp, on every policy: outputs are those of the definition within the
// rounding of their sums, for float, double and the 2-byte floats; channels first, last and strided; any taps, strides,
// padding, dilation and groups, depthwise too; images smaller than the window; epilogues; gaps in the output stay
// untouched; NaN and infinity spread as the formula says; nothing to do is no error; bad input throws and touches
// nothing. In the emulator also: tiny tiles and any order of blocks and threads. On a GPU also: another stream, a graph.
#include <pmpp/convolution_layer.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#if PMPP_CUDA
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include <pmpp/memory/stream.hpp>

#include "support/data.hpp"
#include "support/orders.hpp"
#include "support/policies.hpp"

using pmpp::channels_view;

namespace {

constexpr pmpp::layer_tile one_warp{
    .pixels = 32, .filters = 32, .warps_m = 1, .warps_n = 1, .row_bytes = 64, .stages = 2, .blocks = 1};
constexpr pmpp::layer_tuning tiny{.large = one_warp, .small = one_warp, .few_filters = 3}, usual{},
    halves{.large = one_warp, .small = one_warp, .few_filters = 3, .least_slabs = 2, .halves = true};
#if !PMPP_CUDA
constexpr pmpp::layer_tile four_warps{
    .pixels = 64, .filters = 64, .warps_m = 2, .warps_n = 2, .row_bytes = 128, .stages = 2, .blocks = 1};
constexpr pmpp::layer_tuning small{four_warps, four_warps, 3};
#endif

/// How a batch lies in memory.
enum class order { nhwc, nchw, spread };

/// A batch in memory of its own; `spread` leaves gaps everywhere.
template <class where, class T>
struct batch {
  std::array<std::int64_t, 4> extent;  // images, height, width, channels
  order way;
  std::vector<T> initial;
  typename where::template container<T> memory;

  batch(std::array<std::int64_t, 4> extent_, order way_)
      : extent(extent_), way(way_), initial(values(room())), memory(where::put(initial)) {}

  template <class U>
  channels_view<U> over(U* data) const {
    const auto [n, h, w, c] = extent;
    if (way == order::nhwc) return pmpp::nhwc(data, n, h, w, c);
    if (way == order::nchw) return pmpp::nchw(data, n, c, h, w);
    return {data + 5, n, h, w, c, (h * (w * (2 * c + 1) + 3) + 2), w * (2 * c + 1) + 3, 2 * c + 1, 2};
  }
  channels_view<T> view() { return over(memory.data()); }
  channels_view<const T> input() const { return over(memory.data()); }
  channels_view<const T> values_view() const { return over(initial.data()); }

private:
  std::int64_t room() const {
    const auto [n, h, w, c] = extent;
    return 8 + n * (h * (w * (2 * c + 1) + 3) + 2);
  }
  /// Eighths between -1 and 1: products of the 2-byte floats are exact.
  static std::vector<T> values(std::int64_t n) {
    std::vector<T> v;
    for (const int x : test::random_values<int>(n)) v.push_back(static_cast<T>(static_cast<float>(x % 9) / 8));
    return v;
  }
};

struct setting {
  std::array<std::int64_t, 4> in;  // images, height, width, channels
  std::int64_t filters, taps_y, taps_x;
  pmpp::layer_options<> options;

  std::array<std::int64_t, 4> filter_extent() const { return {filters, taps_y, taps_x, in[3] / options.groups}; }
  std::array<std::int64_t, 4> out_extent() const {
    const auto windows = [](std::int64_t n, std::int64_t pad, std::int64_t taps, std::int64_t apart,
                            std::int64_t stride) {
      std::int64_t count = 0;
      for (std::int64_t first = -pad; first + (taps - 1) * apart < n + pad; first += stride) ++count;
      return count;
    };
    return {in[0], windows(in[1], options.padding_y, taps_y, options.dilation_y, options.stride_y),
            windows(in[2], options.padding_x, taps_x, options.dilation_x, options.stride_x), filters};
  }
};

/// The definition in double, with the sum of the sizes of its terms.
template <class where, class T>
std::array<double, 2> exact(const setting& s, const batch<where, T>& in, const batch<where, T>& filters,
                            std::int64_t image, std::int64_t y, std::int64_t x, std::int64_t f) {
  const auto a = in.values_view(), b = filters.values_view();
  const std::int64_t channels = b.channels(), group = f / (s.filters / s.options.groups);
  double sum = 0, size = 0;
  for (std::int64_t r = 0; r < s.taps_y; ++r)
    for (std::int64_t t = 0; t < s.taps_x; ++t) {
      const std::int64_t from_y = y * s.options.stride_y + r * s.options.dilation_y - s.options.padding_y;
      const std::int64_t from_x = x * s.options.stride_x + t * s.options.dilation_x - s.options.padding_x;
      if (from_y < 0 || from_y >= s.in[1] || from_x < 0 || from_x >= s.in[2]) continue;
      for (std::int64_t c = 0; c < channels; ++c) {
        const double term = static_cast<double>(static_cast<float>(a(image, from_y, from_x, group * channels + c))) *
                            static_cast<double>(static_cast<float>(b(f, r, t, c)));
        sum += term;
        size += std::abs(term);
      }
    }
  return {sum, size};
}

template <class where, class T, pmpp::layer_tuning Tuning = usual, class TC = T>
void try_layer(const setting& s, order in_way, order filter_way, order out_way, double eps) {
  const batch<where, T> in(s.in, in_way), filters(s.filter_extent(), filter_way);
  batch<where, TC> out(s.out_extent(), out_way);
  pmpp::convolution_layer<test::tuned<where>(Tuning)>(typename where::policy{}, in.input(), filters.input(), out.view(),
                                                      s.options);
  const auto got = where::get(out.memory);
  auto wanted = out.initial;
  const auto result = out.over(got.data());
  const auto expected = out.over(wanted.data());
  int wrong = 0;
  const auto [images, height, width, channels] = out.extent;
  for (std::int64_t n = 0; n < images; ++n)
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t x = 0; x < width; ++x)
        for (std::int64_t f = 0; f < channels; ++f) {
          const auto [sum, size] = exact(s, in, filters, n, y, x, f);
          const double found = static_cast<double>(static_cast<float>(result(n, y, x, f)));
          if (!(std::abs(found - sum) <= eps * (size + std::abs(sum))) && wrong++ == 0) {
            INFO("image ", n, ", y ", y, ", x ", x, ", filter ", f);
            CHECK(found == sum);
          }
          expected(n, y, x, f) = result(n, y, x, f);
        }
  CHECK(wrong == 0);
  // Only the elements of the view were written.
  CHECK(std::memcmp(static_cast<const void*>(got.data()), static_cast<const void*>(wanted.data()),
                    wanted.size() * sizeof(TC)) == 0);
}

pmpp::layer_options<> with(std::int64_t stride, std::int64_t padding, std::int64_t dilation = 1,
                           std::int64_t groups = 1) {
  return {stride, stride, padding, padding, dilation, dilation, groups, {}};
}

const std::vector<setting>& settings() {
  static const std::vector<setting> all = {
      {{2, 7, 9, 16}, 24, 3, 3, with(1, 1)},
      {{1, 6, 5, 3}, 33, 5, 3, with(2, 2)},
      {{2, 5, 5, 40}, 9, 1, 1, with(1, 0)},
      {{1, 9, 8, 8}, 16, 3, 3, with(2, 2, 2)},
      {{1, 8, 8, 24}, 30, 3, 3, with(1, 1, 1, 3)},   // groups of 10 filters
      {{2, 6, 7, 12}, 12, 3, 3, with(1, 1, 1, 12)},  // depthwise
      {{1, 5, 6, 4}, 8, 3, 2, with(1, 1, 1, 4)},     // two filters a channel
      // Few filters, whole words of channels:
      {{2, 6, 7, 24}, 12, 3, 3, with(1, 1, 1, 6)},
      {{1, 7, 9, 24}, 15, 2, 3, with(2, 2, 2, 3)},
      {{1, 9, 10, 20}, 5, 5, 3, with(1, 2, 1, 5)},
      {{1, 5, 6, 16}, 14, 3, 3, with(1, 1, 1, 2)},
      {{2, 6, 7, 12}, 12, 3, 3, with(1, 1, 1, 6)},  // words of two channels
      {{1, 5, 9, 18}, 9, 3, 3, with(2, 1, 1, 3)},
      {{2, 5, 6, 9}, 18, 3, 3, with(1, 1, 1, 3)},  // none
      {{3, 2, 2, 5}, 11, 4, 4, with(1, 3)},        // windows larger than the image
      {{1, 4, 5, 64}, 20, 3, 3, with(1, 1)},       // few pixels, many taps: k in parts
      {{1, 3, 3, 68}, 9, 3, 3, with(1, 1, 1, 1)},  // the same where channels are no whole words of 2-byte floats
      {{1, 4, 4, 2}, 40, 2, 2, {1, 3, 0, 1, 2, 1, 1, {}}},
      {{1, 1, 1, 1}, 1, 1, 1, with(1, 0)},
      // Depthwise, as strips:
      {{2, 9, 6, 10}, 10, 3, 3, with(2, 1, 1, 10)},
      {{1, 6, 11, 5}, 10, 5, 5, with(1, 2, 1, 5)},
      {{1, 8, 7, 33}, 33, 5, 5, with(2, 3, 1, 33)},
      {{1, 9, 5, 4}, 4, 7, 7, with(1, 3, 1, 4)},
      {{1, 12, 16, 3}, 6, 3, 3, with(1, 1, 1, 3)},  // rows in words
      {{2, 5, 8, 3}, 3, 5, 5, with(1, 2, 1, 3)},
      {{1, 11, 4, 2}, 2, 7, 7, with(1, 3, 1, 2)},
      {{1, 11, 9, 2}, 2, 7, 7, with(2, 3, 1, 2)},
      {{1, 9, 16, 3}, 3, 3, 3, with(2, 1, 1, 3)},  // rows in words, stride 2
      {{2, 10, 12, 2}, 4, 5, 5, with(2, 2, 1, 2)},
      {{1, 13, 16, 2}, 2, 7, 7, with(2, 3, 1, 2)},
      {{2, 19, 10, 6}, 6, 5, 5, with(1, 2, 1, 6)},  // two channels at a time
      {{1, 8, 12, 4}, 4, 3, 3, with(1, 2, 1, 4)},   // in words, but the padding is not half the window
  };
  return all;
}

}  // namespace

TEST_ALL_PLACES("layers are those of the definition, however images and filters lie") {
  for (const setting& s : settings())
    for (const auto& [in, filters, out] :
         {std::array{order::nhwc, order::nhwc, order::nhwc}, std::array{order::nchw, order::nchw, order::nchw},
          std::array{order::spread, order::nhwc, order::spread}}) {
      try_layer<where, float, tiny>(s, in, filters, out, 1e-6);
      if (in == order::nhwc) try_layer<where, double, tiny>(s, in, filters, out, 1e-15);
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

TEST_ALL_PLACES("2-byte floats add up in float and are rounded once") {
#if PMPP_CUDA
  const auto try_type = [](auto type, double eps) {
    using T = decltype(type);
    for (const setting& s : settings())
      for (const order way : {order::nhwc, order::nchw, order::spread}) {
        try_layer<where, T>(s, way, way, way, eps);
        try_layer<where, T, usual, float>(s, way, order::nhwc, way, 1e-6);
      }
    // Large enough for the copy unit to look up the windows.
    for (const setting& s :
         {setting{{2, 28, 28, 64}, 40, 3, 3, with(1, 1)},
          setting{{3, 29, 31, 72}, 135, 3, 2, {2, 1, 0, 2, 1, 3, 1, {}}},
          setting{{2, 16, 90, 24}, 72, 1, 4, {3, 2, 1, 3, 1, 1, 1, {}}},
          setting{{4, 30, 28, 72}, 136, 1, 1, with(1, 0)}, setting{{9, 15, 15, 40}, 128, 1, 1, with(1, 0)}})
      for (const auto& [in, out] : {std::array{order::nhwc, order::nhwc}, std::array{order::nchw, order::nchw},
                                    std::array{order::nhwc, order::nchw}, std::array{order::nchw, order::spread}}) {
        try_layer<where, T>(s, in, in, out, eps);
        if (in == out && s.filters < 100) try_layer<where, T, usual, float>(s, in, in, out, 1e-6);
      }
  };
  try_type(__half{}, 1e-3);
  try_type(__nv_bfloat16{}, 8e-3);
#else
  for (const setting& s : settings()) {
    try_layer<where, _Float16, small>(s, order::nhwc, order::nhwc, order::nhwc, 1e-3);
    try_layer<where, _Float16, small, float>(s, order::nchw, order::nhwc, order::spread, 1e-6);
  }
#endif
}

namespace {

/// A bias for each filter, then a rectifier.
struct biased {
  float first;
  PMPP_HOST_DEVICE float operator()(float sum, std::int64_t filter) const {
    const float x = sum + first + static_cast<float>(filter);
    return x > 0 ? x : 0;
  }
};

}  // namespace

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

#if PMPP_CUDA
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
#endif

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
      pmpp::convolution_layer<pmpp::layer_tuning{four_warps, one_warp, 3}>(pmpp::device, in.input(), filters.input(),
                                                                           out.view(), s.options);
      auto got = where::get(out.memory);
      const auto [n, h, w, c] = s.out_extent();
      got.resize(static_cast<std::size_t>(n * h * w * c));
      if (first.empty()) first = got;
      CHECK(got == first);
    });
  }
}
#endif

#if PMPP_CUDA
TEST_CASE_TEMPLATE("the copy unit looks up windows for the usual multiplication", T, float, __nv_bfloat16) {
  using where = test::device_place;
  // So small that two for each of 132 multiprocessors do not take long.
  constexpr pmpp::layer_tile tile{
      .pixels = 64, .filters = 32, .warps_m = 2, .warps_n = 1, .row_bytes = 128, .stages = 3, .blocks = 1};
  constexpr pmpp::layer_tuning whole{tile, one_warp, 3}, in_halves{tile, one_warp, 3, 2, 2, true};
  constexpr std::int64_t channels = 128 / sizeof(T);  // of 128 bytes
  const double eps = sizeof(T) == 4 ? 1e-6 : 8e-3;
  using enum order;
  const setting grouped{{1, 70, 66, 2 * channels}, 66, 2, 1, with(1, 0, 1, 2)};
  for (const setting& s : {setting{{2, 62, 67, channels}, 40, 3, 2, with(1, 1)}, grouped,
                           setting{{4, 45, 67, 2 * channels}, 70, 1, 2, {2, 1, 0, 2, 1, 3, 1, {}}}})
    for (const auto& [in, out] : {std::array{nhwc, nhwc}, std::array{nchw, nchw}, std::array{nhwc, spread}})
      try_layer<where, T, whole>(s, in, in, out, eps);
  try_layer<where, T, whole, double>(grouped, nchw, nchw, nchw, 1e-6);
  const setting half_full{{2, 66, 66, channels}, 30, 3, 2, with(1, 1)};  // 139 tiles
  for (const order way : {nhwc, nchw}) try_layer<where, T, in_halves>(half_full, way, way, way, eps);
}

TEST_CASE("a layer in a graph, replayed on changed data, in another stream") {
  using where = test::device_place;
  const setting s{{2, 9, 9, 64}, 64, 3, 3, with(1, 1)};
  batch<where, __half> in(s.in, order::nhwc);
  const batch<where, __half> filters(s.filter_extent(), order::nhwc);
  batch<where, __half> captured(s.out_extent(), order::nhwc), direct(s.out_extent(), order::nhwc);
  const pmpp::stream stream;
  const auto run = [&](batch<where, __half>& out) {
    pmpp::convolution_layer(pmpp::device.on(stream), in.input(), filters.input(), out.view(), s.options);
  };
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  REQUIRE(cudaStreamBeginCapture(stream.handle(), cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  run(captured);
  REQUIRE(cudaStreamEndCapture(stream.handle(), &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  auto turned = in.initial;
  for (auto& x : turned) x = static_cast<__half>(-static_cast<float>(x));
  pmpp::copy(turned, in.memory);
  REQUIRE(cudaGraphLaunch(executable, stream.handle()) == cudaSuccess);
  run(direct);
  stream.synchronize();
  const auto a = where::get(captured.memory), b = where::get(direct.memory);
  const std::size_t bytes = static_cast<std::size_t>(2 * 9 * 9 * 64) * sizeof(__half);
  CHECK(std::memcmp(static_cast<const void*>(a.data()), static_cast<const void*>(b.data()), bytes) == 0);
  CHECK(cudaGraphExecDestroy(executable) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
}
#endif
