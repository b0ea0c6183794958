// SPDX-License-Identifier: Apache-2.0
//
// gemm of numbers of two bytes: sums in float, rounded once; what exceeds them is infinity. See gemm.cpp.
#include <pmpp/gemm.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#if PMPP_CUDA
#include <cuda_fp16.h>

#include "support/rounded_products.hpp"

TEST_CASE("gemm: half adds up in float; what exceeds half is infinity") {
  test::check_rounded<test::device_place, __half>(300);
}
#else
#include "support/gemm_tunings.hpp"
#include "support/matrix.hpp"
#include "support/policies.hpp"

using test::check_product, test::matrix, test::tiny;

TEST_CASE("gemm: _Float16 adds up in float") {
  const auto try_place = [](auto place) {
    using where = decltype(place);
    std::vector<_Float16> x(33 * 40 + 3, _Float16(255));
    const matrix<where, _Float16> a(33, 40, {}, x), b(40, 33, {}, x);
    matrix<where, float> c(33, 33, {}, std::vector<float>(33 * 36));
    pmpp::gemm<tiny>(typename where::policy{}, 1, a.input(), b.input(), 0, c.view());
    check_product<float>(a, b, c, 1, 0, 0);
    matrix<where, _Float16> d(33, 33, {}, x);
    pmpp::gemm<tiny>(typename where::policy{}, 1, a.input(), b.input(), 0, d.view());
    const auto sums = where::get(d.memory);
    CHECK(std::isinf(static_cast<float>(sums[0])));
  };
  try_place(test::seq_place{});
  try_place(test::host_place{});
  try_place(test::device_place{});
}
#endif
