// SPDX-License-Identifier: Apache-2.0
//
// gemm of doubles with the tiles that it is made with, on tensor cores where there are. See gemm.cpp.
#include <pmpp/gemm.hpp>

#include <array>
#include <cstdint>
#include <limits>

#include "support/tensor_products.hpp"

using test::try_product;

TEST_ALL_PLACES("gemm: double, the tiles that it is made with") {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      try_product<where, pmpp::gemm_tuning{}, double, double, double>(65, 70, 33, {ta, 1}, {tb}, {ta == tb, 1}, 1, -1);
}

#if PMPP_CUDA
TEST_CASE("gemm: double, large enough for many waves of blocks and every edge") {
  using where = test::device_place;
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{513, 1025, 257},
                                {1024, 1024, 512},
                                {64, 64, 20000},
                                {2051, 2050, 40},
                                {129, 130, 33}}) {
    if (test::only_small() && m != 129) continue;
    try_product<where, pmpp::gemm_tuning{}, double, double, double>(m, n, k, {false}, {true}, {false}, 0.5, 2);
  }
}
#endif

TEST_CASE("gemm on tensor cores: double") { test::try_shapes<double, double>(test::many); }

TEST_CASE("gemm on tensor cores: k is split, and the same bits again") {
  const std::int64_t k = test::up_to(3000, 1000);
  const auto a = test::made<double>(33, k, {}, false), b = test::made<double>(k, 40, {}, false);
  auto c = test::made<double>(33, 40, {}, false);
  pmpp::gemm<test::tensor>(pmpp::device, 1, a.input(), b.input(), 2, c.view());
  test::check_product<double>(a, b, c, 1, 2, std::numeric_limits<double>::epsilon());
  pmpp::gemm<test::tensor>(pmpp::device, 1, a.input(), b.input(), 0, c.view());
  const auto first = test::device_place::get(c.memory);
  for (int i = 0; i < (test::only_small() ? 1 : 3); ++i) {
    pmpp::gemm<test::tensor>(pmpp::device, 1, a.input(), b.input(), 0, c.view());
    CHECK(test::device_place::get(c.memory) == first);
  }
}

TEST_CASE("gemm on tensor cores: double, what is not needed is not read; NaN and infinity spread") {
  test::try_special<double>();
}

#if PMPP_CUDA
TEST_CASE("gemm on tensor cores: double, at and beside the edges of tiles") { test::try_edges<double, double>(); }
#endif
