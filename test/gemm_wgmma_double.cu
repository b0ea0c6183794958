// SPDX-License-Identifier: Apache-2.0
//
// Doubles on the tensor cores of sm_90a. See gemm_wgmma.cu.
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
