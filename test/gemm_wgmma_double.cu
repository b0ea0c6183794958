// SPDX-License-Identifier: Apache-2.0
//
// Doubles on the tensor cores of sm_90a. See gemm_wgmma.cu.
#include <pmpp/find.hpp>
#include <pmpp/transform.hpp>

#include "support/wgmma.hpp"

using pmpp::device;
using namespace test::wgmma;

TEST_CASE("wgmma: doubles: the tiles of a last round that would be short are worked out by all multiprocessors") {
  if (!available()) return;
  // 265 and 270 tiles: an H100 has 132 multiprocessors. What is left is a tile, and three rows of two columns of tiles.
  for (const shape& s : {shape{5 * 128 - 3, 53 * 128 - 5, 224}, {3 * 128 - 3, 90 * 128 - 5, 300}}) {
    const matrix<double> a(s.m, s.k), b(s.k, s.n, s.k == 300);
    matrix<double> c(s.m, s.n);
    CHECK(pmpp::detail::gemm_by_wgmma(device, problem(a, b, c, 1, 0.5f)));
    check_product(a, b, c, 1, 0.5f);
  }
}

TEST_CASE("wgmma: doubles in any layout, of A, B and C; an epilogue with its place, batches") {
  if (!available()) return;
  for (const bool a_major : {false, true})
    for (const bool b_major : {false, true})
      for (const bool c_major : {false, true})
        for (const int gap : {0, 1}) {
          const float beta = a_major == c_major ? 0.0f : -2.0f;
          CAPTURE(a_major);
          CAPTURE(b_major);
          CAPTURE(c_major);
          CAPTURE(gap);
          CAPTURE(beta);
          const matrix<double> a(1411, 18, a_major, 1, gap), b(18, 1531, b_major, 2, gap);
          matrix<double> c(1411, 1531, c_major, 2, gap);
          if (beta == 0)
            for (auto& x : c.initial) x = std::numeric_limits<double>::quiet_NaN();
          c.memory = pmpp::device_buffer<double>(c.initial);
          const auto x = problem(a, b, c, 1, beta, add_place{});
          CHECK(
              (c_major ? pmpp::detail::gemm_by_wgmma(device, x.exchanged()) : pmpp::detail::gemm_by_wgmma(device, x)));
          check_product(a, b, c, 1, beta, add_place{});
        }
}

TEST_CASE("wgmma: doubles: stages are not filled again while loads from them wait behind stores of C") {
  if (!available()) return;
  // Rows of C of odd length, which lanes write slowly, and a short k: without care one product in fourteen was wrong (H200).
  const bool small = test::only_small();
  const std::int64_t m = small ? 1100 : 10364, n = small ? 643 : 2543, k = 83;
  const pmpp::device_buffer<double> a(test::random_values<double>(m * k)), b(test::random_values<double>(n * k));
  pmpp::device_buffer<double> first(m * n), next(m * n);
  const auto multiply = [&](pmpp::device_buffer<double>& c) {
    pmpp::fill(device, c, 0.0);
    const pmpp::detail::gemm_problem<double, double, double, double, pmpp::no_epilogue> x{
        {a.data(), m, 1, m, 0}, {b.data(), n, 1, n, 0}, {c.data(), m, n, n, 1, 0}, k, 1, {1.0, 0.0, {}, false}};
    CHECK(pmpp::detail::gemm_by_wgmma(device, x));
  };
  multiply(first);
  for (int turn = 0; turn < test::turns(100); ++turn) {
    multiply(next);
    REQUIRE(pmpp::equal(device, first, next));
  }
}
