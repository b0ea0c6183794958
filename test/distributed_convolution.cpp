// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of distributed/convolution.hpp: on 1, 2, 3, 5, 7 and 8 ranks, with slabs of all heights and every border, convolve
// gives the bits of one device, for masks of odd and even numbers of rows and planes; convolve_separable its values.
#include <stdexcept>

#include <doctest/doctest.h>

#include <pmpp/distributed/convolution.hpp>

#include "support/slabs.hpp"

using test::everywhere;
using test::fractions;

TEST_CASE("convolve") {
  everywhere({1, 2, 9, 30}, [](const auto& gpus, std::int64_t planes, const auto& sizes, const auto& outside,
                               auto& random) {
    const auto check = [&](const auto& extents, bool rounds, const auto& call_on_one, const auto& call) {
      constexpr int dimensions = int(std::tuple_size_v<std::remove_cvref_t<decltype(extents)>>);
      std::int64_t count = 1;
      for (const std::int64_t n : extents) count *= n;
      auto v = fractions(count, random);
      if (!rounds)
        for (float& x : v) x = float(1 + int(x) % 99);
      auto a = pmpp::slabs<float, dimensions>::with_sizes(gpus, extents, 4, sizes);
      auto b = pmpp::slabs<float, dimensions>::with_sizes(gpus, extents, 4, sizes);
      a.copy_from(v);
      gpus.synchronize();
      call(a, b);
      CHECK(test::same_bits(pmpp::to_host(gpus, b), test::on_one(v, extents, call_on_one)));
    };
    const auto taps = fractions(5 * 5 * 5, random);
    const auto by_mask = [&](const auto& extents, const auto& mask) {
      check(
          extents, true, [&](const auto& in, const auto& out) { pmpp::convolve(test::one, in, mask, out, outside); },
          [&](auto& a, auto& b) { pmpp::convolve(gpus, a, mask, b, outside); });
    };
    const std::array<std::int64_t, 2> matrix{planes, 37};
    for (const int rows : {1, 2, 3, 5}) by_mask(matrix, pmpp::matrix_view<const float>(taps.data(), rows, 5));
    const std::array<std::int64_t, 3> volume{planes, 6, 9};
    for (const int depth : {1, 3, 4}) by_mask(volume, pmpp::volume_view<const float>(taps.data(), depth, 3, 3));
    // The order of its sums depends on where a section begins: none of these rounds.
    const std::vector<float> column{1, 2, 3, 5, 4, 2}, row{3, 7, 1};
    check(
        matrix, false,
        [&](const auto& in, const auto& out) { pmpp::convolve_separable(test::one, in, column, row, out, outside); },
        [&](auto& a, auto& b) { pmpp::convolve_separable(gpus, a, column, row, b, outside); });
  });
  const auto gpus = test::ranks(2);
  pmpp::slabs<float, 2> a{gpus, {6, 4}, 1}, b{gpus, {6, 4}, 1};
  const std::vector<float> taps(4), none;
  CHECK_THROWS_AS(pmpp::convolve(gpus, a, pmpp::matrix_view<const float>(nullptr, 0, 0), b), std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::convolve(gpus, a, pmpp::matrix_view<const float>(taps.data(), 4, 1), b),
                       "pmpp::convolve: results reach 2 planes; the halo of the input has 1, of the output 1",
                       std::invalid_argument);
  CHECK_THROWS_AS(pmpp::convolve_separable(gpus, a, none, taps, b), std::invalid_argument);
}
