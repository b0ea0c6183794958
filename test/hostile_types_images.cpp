// SPDX-License-Identifier: Apache-2.0
//
// Convolutions, stencils and pictures of the types of a namespace with greedy functions (support/hostile.hpp): two-byte
// numbers, ranges and functions of its own, pixels of such numbers.
#include <pmpp/convolution.hpp>
#include <pmpp/core/rgb.hpp>
#include <pmpp/image.hpp>
#include <pmpp/stencil.hpp>

#include <cstdint>
#include <vector>

#include "support/hostile.hpp"
#include "support/policies.hpp"

namespace hostile {

struct sum_of_three {
  template <class Neighbours>
  PMPP_HOST_DEVICE float operator()(const Neighbours& n) const {
    return n(-1) + n(0) + n(1);
  }
};
struct first_of_three {
  template <class Neighbours>
  PMPP_HOST_DEVICE number operator()(const Neighbours& n) const {
    return n(0, -1);
  }
};

}  // namespace hostile

using hostile::number;
using hostile::range_over;
using hostile::upper_half;

namespace {

constexpr int rows = 20, cols = 40, size = rows * cols;

}  // namespace

TEST_ALL_PLACES("convolutions") {
  const typename where::policy policy{};
  const auto in = where::put(std::vector<upper_half>(size, 1.0f));
  auto out = where::put(std::vector<upper_half>(size));
  const std::vector<upper_half> taps(9, 2.0f);
  const auto mask = range_over(taps);
  const pmpp::matrix_view from(in.data(), rows, cols);
  const pmpp::matrix_view to(out.data(), rows, cols);
  const auto inner = [&] { return static_cast<float>(where::get(out)[size / 2 + cols / 2]); };

  pmpp::convolve(policy, range_over(in), mask, range_over(out));
  CHECK(inner() == 18);
  pmpp::convolve(policy, from, pmpp::matrix_view(taps.data(), 3, 3), to);
  CHECK(inner() == 18);
  pmpp::convolve(policy, pmpp::transposed(from), pmpp::matrix_view(taps.data(), 3, 3), pmpp::transposed(to),
                 pmpp::border::clamp);
  CHECK(inner() == 18);
  pmpp::convolve(policy, pmpp::volume_view(in.data(), 5, 8, 20), pmpp::volume_view(taps.data(), 3, 3, 1),
                 pmpp::volume_view(out.data(), 5, 8, 20));
  CHECK(static_cast<float>(where::get(out)[2 * 160 + 90]) == 18);
  const std::vector<upper_half> many(25, 1.0f);
  pmpp::convolve_separable(policy, from, range_over(many), mask, to, pmpp::border::wrap);
  CHECK(inner() == 450);
  pmpp::convolve_separable(policy, pmpp::transposed(from), mask, mask, pmpp::transposed(to), pmpp::border::wrap);
  CHECK(inner() == 324);
}

TEST_ALL_PLACES("stencils") {
  const typename where::policy policy{};
  const auto in = where::put(std::vector<upper_half>(size, 1.0f));
  auto out = where::put(std::vector<upper_half>(size));
  pmpp::stencil(policy, range_over(in), range_over(out), pmpp::radius<1>, hostile::sum_of_three{});
  CHECK(static_cast<float>(where::get(out)[1]) == 3);
  const auto numbers = where::put(std::vector<number>(size, {7}));
  auto made = where::put(std::vector<number>(size));
  pmpp::stencil(policy, pmpp::matrix_view(numbers.data(), rows, cols), pmpp::matrix_view(made.data(), rows, cols),
                pmpp::radius<1>, hostile::first_of_three{});
  CHECK(where::get(made)[1].value == 7);
}

TEST_ALL_PLACES("pictures") {
  const typename where::policy policy{};
  using pixel = pmpp::rgb<upper_half>;
  const auto in = where::put(std::vector<pixel>(size, {100.0f, 100.0f, 100.0f}));
  auto out = where::put(std::vector<pixel>(size));
  auto gray = where::put(std::vector<upper_half>(size)), small = where::put(std::vector<upper_half>(size / 4));
  const pmpp::matrix_view from(in.data(), rows, cols);
  const pmpp::matrix_view to(out.data(), rows, cols);
  const auto green = [&] { return static_cast<float>(where::get(out)[size / 2 + cols / 2].g); };

  pmpp::rgb_to_gray(policy, from, pmpp::matrix_view(gray.data(), rows, cols));
  CHECK(static_cast<float>(where::get(gray)[0]) > 98);
  pmpp::box_blur(policy, from, to, 2);
  CHECK(green() > 99);
  pmpp::gaussian_blur(policy, from, to, 0.0);
  CHECK(green() == 100);
  pmpp::gaussian_blur(policy, pmpp::transposed(from), pmpp::transposed(to), 1.0);
  CHECK(green() > 99);
  pmpp::scale(policy, pmpp::matrix_view<const upper_half>(gray.data(), rows, cols),
              pmpp::matrix_view(small.data(), rows / 2, cols / 2));
  CHECK(static_cast<float>(where::get(small)[0]) > 98);
}
