// SPDX-License-Identifier: Apache-2.0
//
// Products of CUDA's 8-bit floats, into half and bfloat16. See gemm_scaled.cpp.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <array>

#include "support/scaled_products.hpp"

// Half of the last bit of the result, beside what sums may lose. (Integers up to 2^11, or 2^8, would be exact; these sums are larger.)
TEST_CASE("gemm_scaled: e4m3 of CUDA into bfloat16") {
  test::try_scaled<test::device_place, __nv_fp8_e4m3, __nv_fp8_e4m3, __nv_bfloat16>(40, 0x1p-8);
}
// Sums of products of random integers from -3 to 3 stay below 2^11 for at most 3000 numbers of k, and nothing is cut off. Of others,
// each of 94 steps cuts off 33 * 2^-13 of its largest number, a sum of random signs: far less than S / 62.
TEST_CASE("gemm_scaled: fast accumulation") {
  test::try_scaled<test::device_place, __nv_fp8_e4m3, __nv_fp8_e4m3, __nv_bfloat16>(
      40, 0x1p-8, pmpp::gemm_options{.precision = pmpp::fast_accumulation{}});
}
TEST_CASE("gemm_scaled: e4m3 and e5m2 of CUDA into half") {
  test::try_scaled<test::device_place, __nv_fp8_e4m3, __nv_fp8_e5m2, __half>(40, 0x1p-11);
}
// Numbers and scales as in gemm_scaled.cpp: nothing is cut off, and sums are exact. Whichever tile a plan takes, all are tried.
TEST_CASE("gemm_scaled: each tile, and warps") {
  using where = test::device_place;
  using T = pmpp::fp8_e4m3;
  namespace detail = pmpp::detail;
  if (!detail::wgmma_available()) return;
  const auto blocks = [](std::int64_t n) { return (n + 127) / 128; };
  for (const auto& [m, n, k] :
       {std::array<std::int64_t, 3>{1, 1, 16}, {140, 264, 272}, {129, 65, 144}, {31, 40, 2064}, {64, 33, 656}})
    for (int turn = 0; turn < test::turns(4); ++turn) {
      CAPTURE(m);
      CAPTURE(n);
      CAPTURE(k);
      const auto a = test::made_of_fp8<where, T>(m, k, {}, true), b = test::made_of_fp8<where, T>(k, n, {true}, true);
      const std::int64_t a_rows = test::random_of({std::int64_t(1), m, blocks(m)}),
                         a_cols = test::random_of({std::int64_t(1), blocks(k)}),
                         b_rows = test::random_of({std::int64_t(1), blocks(k)}),
                         b_cols = test::random_of({std::int64_t(1), n, blocks(n)});
      CAPTURE(a_rows);
      CAPTURE(a_cols);
      CAPTURE(b_rows);
      CAPTURE(b_cols);
      const test::matrix<where, float> sa(a_rows, a_cols, {}, test::powers(a_rows * a_cols + 3)),
          sb(b_rows, b_cols, {}, test::powers(b_rows * b_cols + 3));
      const float beta = turn % 2 == 0 ? 0.0f : 3.0f;
      const auto attempt = [&](auto f) {
        test::matrix<where, float> c(m, n, {turn % 3 == 0}, test::integers<float>(m * n + 3));
        const auto left = a.input(), right = b.input();
        const auto to = c.view();
        const detail::operand_scales of_a = detail::scales_of("A", "rows", sa.input(), m, k, to),
                                     of_b = detail::scales_of("B", "columns", transposed(sb.input()), n, k, to);
        detail::gemm_problem<T, T, float, float, pmpp::no_epilogue> x{
            {left.data(), m, left.row_stride(), left.col_stride(), 0},
            {right.data(), n, right.col_stride(), right.row_stride(), 0},
            {to.data(), m, n, to.row_stride(), to.col_stride(), 0},
            k,
            1,
            {1, beta, {}, false}};
        if (!f(x, of_a, of_b)) return;  // left out
        const auto of = [](std::int64_t i, std::int64_t extent, std::int64_t given) {
          return given == 1 ? 0 : given == extent ? i : i / 128;
        };
        test::check_scaled(
            a, b, c, 1, beta,
            [&](std::int64_t i, std::int64_t j, std::int64_t p) {
              return double(sa.value(of(i, m, a_rows), a_cols == 1 ? 0 : p / 128)) *
                     double(sb.value(b_rows == 1 ? 0 : p / 128, of(j, n, b_cols)));
            },
            0);
      };
      const bool along_k = a_cols > 1 || b_rows > 1;
      for (const bool exchanged : {false, true})
        for (int i = 0; i < 4; ++i)
          attempt([&](const auto& x, const auto& of_a, const auto& of_b) {
            const unsigned tiles = exchanged ? detail::scaled_tiles_down : detail::tiles_for_scales(of_b);
            if ((tiles >> i & 1) == 0 || (exchanged && !detail::may_be_exchanged(x))) return false;
            CAPTURE(i);
            CAPTURE(exchanged);
            REQUIRE(detail::gemm_scaled_as_planned<false>(pmpp::device, detail::as_factors(x),
                                                          {.tile = i, .exchanged = exchanged}, of_a, of_b));
            return true;
          });
      for (int parts = 1; parts <= 8 && !along_k; parts *= 2)
        attempt([&](const auto& x, const auto& of_a, const auto& of_b) {
          detail::gemm_scaled_by_warps(pmpp::device, x, of_a, of_b, parts);
          return true;
        });
    }
}
TEST_CASE("fp8: the same bits as CUDA's") {
  for (int code = 0; code < 256; ++code) {
    __nv_fp8_e4m3 x;
    __nv_fp8_e5m2 y;
    x.__x = y.__x = static_cast<unsigned char>(code);
    pmpp::fp8_e4m3 own_x;
    pmpp::fp8_e5m2 own_y;
    own_x.bits = own_y.bits = static_cast<unsigned char>(code);
    const float a = static_cast<float>(x), b = static_cast<float>(own_x), c = static_cast<float>(y),
                d = static_cast<float>(own_y);
    CHECK((a == b || (a != a && b != b)));
    CHECK((c == d || (c != c && d != d)));
  }
  for (const float f : test::random_values<float>(10000)) {
    const float x = f * 1e-3f;
    CHECK(int(__nv_fp8_e4m3(x).__x) == int(pmpp::fp8_e4m3(x).bits));
    CHECK(int(__nv_fp8_e5m2(x).__x) == int(pmpp::fp8_e5m2(x).bits));
  }
}
