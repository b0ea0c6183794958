// SPDX-License-Identifier: Apache-2.0
//
// Masks that walk down strips. See convolution.cpp.
#include <pmpp/convolution.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>
#if PMPP_CUDA
#include <cuda_fp16.h>
#endif

#include "support/convolutions.hpp"

using pmpp::matrix_view;
using namespace test::convolutions;

TEST_ALL_PLACES("square masks that walk down strips, every border, whole and cut off strips and sections") {
  for (const std::int64_t k : {11, 13, 15}) {
    for (const border::rule& outside : rules) {
      check_matrix<in_strips, where, float, float, float>(70, 260, k, k, outside);
      check_matrix<in_strips, where, float, float, float>(33, 131, k, k, outside, {1, 2}, {3, 1});
      check_matrix<in_strips, where, float, float, float>(5, 4, k, k, outside, {4, 4}, {8, 0});
      check_matrix<in_strips, where, float, float, float>(2, 515, k, k, outside);
    }
    check_matrix<in_strips, where, float, float, float>(41, 1027, k, k, border::wrap, {0, 1}, {0, 1});
    check_matrix<in_strips, where, float, float, float>(40, 90, k, k, border::mirror, {0, 0, true}, {0, 0, true});
    check_matrix<in_strips, where, std::uint8_t, float, std::uint8_t>(41, 1036, k, k, border::reflect);
    check_matrix<in_strips, where, std::uint8_t, float, std::uint8_t>(23, 519, k, k, border::constant(200), {1, 1});
#if PMPP_CUDA
    check_matrix<in_strips, where, __half, float, __half>(40, 280, k, k, border::clamp);
#endif
  }
}

TEST_ALL_PLACES("an impulse gives the mask back, turned round; a mask that is an impulse gives the input back") {
  const typename where::policy policy{};
  const std::int64_t rows = 40, cols = 150;
  for (const auto& [k, l] : {std::pair{3, 3}, {9, 9}, {15, 15}, {4, 7}}) {
    std::vector<float> impulse(static_cast<std::size_t>(rows * cols)), mask = numbers<float>(k * l);
    impulse[static_cast<std::size_t>(20 * cols + 77)] = 1;
    const auto data = where::put(impulse);
    auto out = where::put(std::vector<float>(impulse.size()));
    const matrix_view<float> to(out.data(), rows, cols);
    pmpp::convolve<test::tuned<where>(in_strips)>(policy, matrix_view<const float>(data.data(), rows, cols),
                                                  matrix_view<float>(mask.data(), k, l), to);
    auto got = where::get(out);
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t j = 0; j < l; ++j) {
        float& x = got[static_cast<std::size_t>((20 - i + k / 2) * cols + 77 - j + l / 2)];
        CHECK(x == mask[static_cast<std::size_t>(i * l + j)]);
        x = 0;
      }
    CHECK(got == std::vector<float>(got.size(), 0));
    const auto in = numbers<float>(rows * cols);
    std::fill(mask.begin(), mask.end(), 0.0f);
    mask[static_cast<std::size_t>(k / 2 * l + l / 2)] = 1;
    const auto again = where::put(in);
    pmpp::convolve<test::tuned<where>(in_strips)>(policy, matrix_view<const float>(again.data(), rows, cols),
                                                  matrix_view<float>(mask.data(), k, l), to);
    CHECK(where::get(out) == in);
  }
}

TEST_ALL_PLACES("NaN goes as far as the mask reaches and no further") {
  const typename where::policy policy{};
  const std::int64_t rows = 60, cols = 300;
  for (const auto& [k, l] :
       {std::pair{3, 3}, {5, 5}, {7, 7}, {9, 9}, {13, 13}, {1, 1}, {2, 2}, {6, 3}, {3, 10}, {11, 13}}) {
    std::vector<float> in(static_cast<std::size_t>(rows * cols), 1.0f);
    in[static_cast<std::size_t>(30 * cols + 130)] = std::numeric_limits<float>::quiet_NaN();
    const auto data = where::put(in);
    auto out = where::put(in);
    const std::vector<float> mask(static_cast<std::size_t>(k * l), 1.0f);
    pmpp::convolve<test::tuned<where>(in_strips)>(policy, matrix_view<const float>(data.data(), rows, cols),
                                                  matrix_view<const float>(mask.data(), k, l),
                                                  matrix_view<float>(out.data(), rows, cols));
    const auto got = where::get(out);
    int wrong = 0;
    for (std::int64_t y = 0; y < rows; ++y)
      for (std::int64_t x = 0; x < cols; ++x) {
        const std::int64_t i = 30 - y + k / 2, j = 130 - x + l / 2;
        wrong += std::isnan(got[static_cast<std::size_t>(y * cols + x)]) != (i >= 0 && i < k && j >= 0 && j < l);
      }
    CAPTURE(k);
    CAPTURE(l);
    CHECK(wrong == 0);
  }
}
