// SPDX-License-Identifier: Apache-2.0
//
// gemm of doubles with the tiles that it is made with. See gemm.cpp.
#include <pmpp/gemm.hpp>

#include <array>
#include <cstdint>

#include "support/matrix.hpp"
#include "support/policies.hpp"

using test::try_product;

TEST_ALL_PLACES("gemm: double, the tiles that it is made with") {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      try_product<where, pmpp::gemm_tuning{}, double, double, double>(65, 70, 33, {ta, 1}, {tb}, {ta == tb, 1}, 1, -1);
}

#if PMPP_CUDA
TEST_CASE("gemm: double, large enough for many waves of blocks and every edge") {
  using where = test::device_place;
  for (const auto& [m, n, k] :
       {std::array<std::int64_t, 3>{513, 1025, 257}, {1024, 1024, 512}, {64, 64, 20000}, {2051, 2050, 40}})
    try_product<where, pmpp::gemm_tuning{}, double, double, double>(m, n, k, {false}, {true}, {false}, 0.5, 2);
}
#endif
