// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of convolve, convolve_separable, convolution_layer and stencil: they have the result of the definition
// on every machine, also where the tiles of an H100 do not fit into shared memory.
#include <pmpp/convolution.hpp>
#include <pmpp/convolution_layer.hpp>
#include <pmpp/stencil.hpp>

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "support/machines.hpp"

#if PMPP_WITH_EMULATOR && !PMPP_CUDA
namespace {

/// Calls f(where) on each machine, and compares what it returns with that of the definition.
template <class F>
void compare_on_machines(const F& f) {
  const auto wanted = f(pmpp::seq);
  test::on_machines([&] { CHECK(f(pmpp::device) == wanted); });
}

/// Small integers, of which sums are exact.
template <class T>
std::vector<T> filled(std::int64_t count) {
  std::vector<T> v(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<T>(static_cast<int>(i * 7 % 5) - 2);
  return v;
}

template <class T>
void convolve(std::int64_t rows, std::int64_t cols, std::int64_t mask_rows, std::int64_t mask_cols) {
  CAPTURE(rows);
  CAPTURE(mask_cols);
  const auto in = filled<T>(rows * cols), mask = filled<T>(mask_rows * mask_cols);
  compare_on_machines([&](const auto& where) {
    std::vector<T> out(in.size());
    pmpp::convolve(where, pmpp::matrix_view<const T>(in.data(), rows, cols),
                   pmpp::matrix_view<const T>(mask.data(), mask_rows, mask_cols),
                   pmpp::matrix_view<T>(out.data(), rows, cols));
    return out;
  });
}

/// Along each axis as far as the radius, without a constructor that a kernel would have to call.
template <int Radius>
struct star {
  template <class Around>
  PMPP_HOST_DEVICE float operator()(const Around& n) const {
    float sum = n(0, 0, 0);
    for (int r = 1; r <= Radius; ++r) sum += n(-r, 0, 0) + 2 * n(0, r, 0) + 3 * n(0, 0, -r) - n(0, -r, 0);
    return sum;
  }
};

template <int Radius>
void stencil() {
  const std::int64_t depth = 6, height = 17, width = 24;
  const auto in = filled<float>(depth * height * width);
  compare_on_machines([&](const auto& where) {
    std::vector<float> out(in.size());
    pmpp::stencil(where, pmpp::volume_view<const float>(in.data(), depth, height, width),
                  pmpp::volume_view<float>(out.data(), depth, height, width), pmpp::radius<Radius>, star<Radius>{});
    return out;
  });
}

template <class T, class TC>
void layer(std::int64_t channels, std::int64_t filters) {
  CAPTURE(channels);
  const std::int64_t side = 9;
  const auto in = filled<T>(2 * side * side * channels), taps = filled<T>(filters * 9 * channels);
  compare_on_machines([&](const auto& where) {
    std::vector<TC> out(static_cast<std::size_t>(2 * side * side * filters));
    pmpp::convolution_layer(
        where, pmpp::nhwc(in.data(), 2, side, side, channels), pmpp::nhwc(taps.data(), filters, 3, 3, channels),
        pmpp::nhwc(out.data(), 2, side, side, filters), pmpp::layer_options{.padding_y = 1, .padding_x = 1});
    return out;
  });
}

}  // namespace

TEST_CASE("masks of any size, sums of floats and of doubles") {
  convolve<float>(40, 300, 9, 21);
  convolve<double>(40, 300, 9, 21);
  convolve<double>(1, 4000, 1, 200);
}

TEST_CASE("separable masks that are wide and high") {
  const std::int64_t rows = 70, cols = 150;
  const auto in = filled<double>(rows * cols), mask_y = filled<double>(61), mask_x = filled<double>(301);
  compare_on_machines([&](const auto& where) {
    std::vector<double> out(in.size());
    pmpp::convolve_separable(where, pmpp::matrix_view<const double>(in.data(), rows, cols), mask_y, mask_x,
                             pmpp::matrix_view<double>(out.data(), rows, cols));
    return out;
  });
}

TEST_CASE("volumes") {
  const auto in = filled<float>(5 * 20 * 36), mask = filled<float>(27);
  compare_on_machines([&](const auto& where) {
    std::vector<float> out(in.size());
    pmpp::convolve(where, pmpp::volume_view<const float>(in.data(), 5, 20, 36),
                   pmpp::volume_view<const float>(mask.data(), 3, 3, 3),
                   pmpp::volume_view<float>(out.data(), 5, 20, 36));
    return out;
  });
}

TEST_CASE("stencils of great radius") {
  stencil<4>();
  stencil<8>();
}

TEST_CASE("layers") {
  layer<float, float>(16, 20);
  layer<float, float>(3, 20);  // not in words
#if defined(__FLT16_MAX__)
  layer<_Float16, float>(64, 72);
  layer<_Float16, float>(3, 72);
#endif
}
#endif
