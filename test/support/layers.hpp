// SPDX-License-Identifier: Apache-2.0
//
// Layers for the tests of convolution_layer, and the comparison with their definition.
//
// A type of elements with one of outputs and an epilogue is fifty kernels, so that each file has two at most:
//
//   convolution_layer.cpp               float
//   convolution_layer_types.cpp         double; float into double
//   convolution_layer_half.cpp          half, and into float
//   convolution_layer_bfloat16.cu       bfloat16
//   convolution_layer_half_epilogue.cu  half with an epilogue
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/convolution_layer.hpp>

#include "support/data.hpp"
#include "support/policies.hpp"

namespace test {

inline constexpr pmpp::layer_tile one_warp{
    .pixels = 32, .filters = 32, .warps_m = 1, .warps_n = 1, .row_bytes = 64, .stages = 2, .blocks = 1};
inline constexpr pmpp::layer_tuning tiny{.large = one_warp, .small = one_warp, .few_filters = 3}, usual{},
    halves{.large = one_warp, .small = one_warp, .few_filters = 3, .least_k_tiles = 2, .halves = true};
#if !PMPP_CUDA
inline constexpr pmpp::layer_tile four_warps{
    .pixels = 64, .filters = 64, .warps_m = 2, .warps_n = 2, .row_bytes = 128, .stages = 2, .blocks = 1};
inline constexpr pmpp::layer_tuning small{.large = four_warps, .small = four_warps, .few_filters = 3};
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
  pmpp::channels_view<U> over(U* data) const {
    const auto [n, h, w, c] = extent;
    if (way == order::nhwc) return pmpp::nhwc(data, n, h, w, c);
    if (way == order::nchw) return pmpp::nchw(data, n, c, h, w);
    return {data + 5, n, h, w, c, (h * (w * (2 * c + 1) + 3) + 2), w * (2 * c + 1) + 3, 2 * c + 1, 2};
  }
  pmpp::channels_view<T> view() { return over(memory.data()); }
  pmpp::channels_view<const T> input() const { return over(memory.data()); }
  pmpp::channels_view<const T> values_view() const { return over(initial.data()); }

private:
  std::int64_t room() const {
    const auto [n, h, w, c] = extent;
    return 8 + n * (h * (w * (2 * c + 1) + 3) + 2);
  }
  /// Eighths between -1 and 1: products of the 2-byte floats are exact.
  static std::vector<T> values(std::int64_t n) {
    std::vector<T> v;
    for (const int x : random_values<int>(n)) v.push_back(static_cast<T>(static_cast<float>(x % 9) / 8));
    return v;
  }
};

struct [[gnu::visibility("hidden")]] setting {  // as layer_options is
  std::array<std::int64_t, 4> in;               // images, height, width, channels
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

inline pmpp::layer_options<> with(std::int64_t stride, std::int64_t padding, std::int64_t dilation = 1,
                                  std::int64_t groups = 1) {
  return {stride, stride, padding, padding, dilation, dilation, groups, {}};
}

inline const std::vector<setting>& settings() {
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

/// A bias for each filter, then a rectifier.
struct biased {
  float first;
  PMPP_HOST_DEVICE float operator()(float sum, std::int64_t filter) const {
    const float x = sum + first + static_cast<float>(filter);
    return x > 0 ? x : 0;
  }
};

/// Layers of 2-byte floats, by default tiles, into elements of type TC.
template <class where, class T, class TC>
void try_two_bytes(double eps) {
  for (const setting& s : settings())
    for (const order way : {order::nhwc, order::nchw, order::spread})
      try_layer<where, T, usual, TC>(s, way, std::is_same_v<T, TC> ? way : order::nhwc, way, eps);
  // Large enough for TMA to look up the windows.
  for (const setting& s :
       {setting{{2, 28, 28, 64}, 40, 3, 3, with(1, 1)}, setting{{3, 29, 31, 72}, 135, 3, 2, {2, 1, 0, 2, 1, 3, 1, {}}},
        setting{{2, 16, 90, 24}, 72, 1, 4, {3, 2, 1, 3, 1, 1, 1, {}}}, setting{{4, 30, 28, 72}, 136, 1, 1, with(1, 0)},
        setting{{9, 15, 15, 40}, 128, 1, 1, with(1, 0)}})
    for (const auto& [in, out] : {std::array{order::nhwc, order::nhwc}, std::array{order::nchw, order::nchw},
                                  std::array{order::nhwc, order::nchw}, std::array{order::nchw, order::spread}})
      if (std::is_same_v<T, TC> || (in == out && s.filters < 100)) try_layer<where, T, usual, TC>(s, in, in, out, eps);
}

/// The usual multiplication by a tile for which TMA looks up windows; one layer into elements of type TC.
template <class where, class T, class TC>
void try_windows() {
  // So small that two for each of 132 multiprocessors do not take long.
  constexpr pmpp::layer_tile tile{
      .pixels = 64, .filters = 32, .warps_m = 2, .warps_n = 1, .row_bytes = 128, .stages = 3, .blocks = 1};
  constexpr pmpp::layer_tuning whole{.large = tile, .small = one_warp, .few_filters = 3},
      in_halves{.large = tile, .small = one_warp, .few_filters = 3, .least_k_tiles = 2, .halves = true};
  constexpr std::int64_t channels = 128 / sizeof(T);  // of 128 bytes
  const double eps = sizeof(T) == 4 ? 1e-6 : 8e-3;
  using enum order;
  const setting grouped{{1, 70, 66, 2 * channels}, 66, 2, 1, with(1, 0, 1, 2)};
  for (const setting& s : {setting{{2, 62, 67, channels}, 40, 3, 2, with(1, 1)}, grouped,
                           setting{{4, 45, 67, 2 * channels}, 70, 1, 2, {2, 1, 0, 2, 1, 3, 1, {}}}})
    for (const auto& [in, out] : {std::array{nhwc, nhwc}, std::array{nchw, nchw}, std::array{nhwc, spread}})
      try_layer<where, T, whole>(s, in, in, out, eps);
  try_layer<where, T, whole, TC>(grouped, nchw, nchw, nchw, 1e-6);
  const setting half_full{{2, 66, 66, channels}, 30, 3, 2, with(1, 1)};  // 139 tiles
  for (const order way : {nhwc, nchw}) try_layer<where, T, in_halves>(half_full, way, way, way, eps);
}

}  // namespace test
