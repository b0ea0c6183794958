// SPDX-License-Identifier: Apache-2.0
//
// Products of 8-bit floats: any shapes, layouts and scales, against the definition.
//
// How exact. Products of two such floats have at most 8 significant bits, and floats hold them. Tensor cores of an H100 add 32 of
// them at a time to a sum, each cut off 13 bits below the largest of these 33 numbers or higher; 128 numbers of k are four such steps.
//   - Integers from -3 to 3: a sum of 128 products is at most 1152 < 2^11, so the last bit that is kept is at most 2^10 / 2^13 < 1.
//     Nothing is cut off. With scales and alpha of 1/2, 1 and 2, sums are multiples of 1/4 below 2^24 / 4 for every k here: exact.
//   - Others: a step cuts off at most 33 * 2^-13 of the largest number in it, which is at most the sum S of the products' magnitudes
//     in the block; four steps 132 * 2^-13 S, less than S / 62. Adding up blocks in float, and scales, are far below.
#include <pmpp/gemm_scaled.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "support/data.hpp"
#include "support/scaled_products.hpp"

TEST_ALL_PLACES("gemm_scaled: scales of any shape, matrices of any layout") {
  test::try_scaled<where, pmpp::fp8_e4m3, pmpp::fp8_e4m3, float>(where::on_device && !PMPP_CUDA ? 30 : 60);
}

TEST_ALL_PLACES("gemm_scaled: e4m3 and e5m2, mixed") {
  test::try_scaled<where, pmpp::fp8_e5m2, pmpp::fp8_e4m3, float>(where::on_device && !PMPP_CUDA ? 10 : 30);
}

TEST_ALL_PLACES("gemm: of 8-bit floats") {
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{0, 3, 4},
                                {1, 1, 1},
                                {3, 0, 4},
                                {5, 3, 0},
                                {1, 70, 33},
                                {70, 1, 130},
                                {33, 17, 129},
                                {64, 64, 128},
                                {130, 129, 300}}) {
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    const auto a = test::made_of_fp8<where, pmpp::fp8_e4m3>(m, k, {}, true),
               b = test::made_of_fp8<where, pmpp::fp8_e4m3>(k, n, {}, true);
    test::matrix<where, float> c(m, n, {}, test::integers<float>(test::matrix<where, float>::room(m, n, {})));
    pmpp::gemm(typename where::policy{}, 2, a.input(), b.input(), 3, c.view());
    test::check_scaled(
        a, b, c, 2, 3, [](auto...) { return 1.0; }, 0);
  }
}

struct halved_where_even {
  PMPP_HOST_DEVICE float operator()(float x, std::int64_t i, std::int64_t j) const {
    return (i + j) % 2 == 0 ? x / 2 : x;
  }
};

TEST_ALL_PLACES("gemm_scaled: an epilogue sees the row and the column") {
  using T = pmpp::fp8_e4m3;
  const std::int64_t m = 37, n = 45, k = 140;
  for (const bool down : {false, true}) {
    CAPTURE(down);
    const auto a = test::made_of_fp8<where, T>(m, k, {}, true), b = test::made_of_fp8<where, T>(k, n, {}, true);
    const test::matrix<where, float> sa(m, 1, {}, test::powers(m + 3)), sb(1, n, {}, test::powers(n + 3));
    test::matrix<where, float> c(m, n, {down}, test::integers<float>(m * n + 3));
    pmpp::gemm_scaled(typename where::policy{}, 1, a.input(), sa.input(), b.input(), sb.input(), 0, c.view(),
                      pmpp::gemm_options{halved_where_even{}});
    test::check_scaled(
        a, b, c, 1, 0,
        [&](std::int64_t i, std::int64_t j, std::int64_t) {
          return double(sa.value(i, 0)) * double(sb.value(0, j)) * ((i + j) % 2 == 0 ? 0.5 : 1);
        },
        0);
  }
}

TEST_ALL_PLACES("gemm_scaled: NaN and infinity spread, nothing saturates") {
  using T = pmpp::fp8_e5m2;
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::int64_t n = 40;
  std::vector<T> ones(std::size_t(n * n + 3), T(1.0f)), some = ones;
  some[3 * 40 + 5] = T(nan);
  some[7 * 40].bits = 0x7c;  // infinity
  const test::matrix<where, T> a(n, n, {}, some), b(n, n, {}, ones);
  const test::matrix<where, float> one(1, 1, {}, {1, 1, 1, 1}), large(1, 1, {}, {3e38f, 0, 0, 0});
  test::matrix<where, float> c(n, n, {}, std::vector<float>(std::size_t(n * n + 3), nan));
  pmpp::gemm_scaled(typename where::policy{}, 1, a.input(), one.input(), b.input(), one.input(), 0, c.view());
  auto got = where::get(c.memory);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const float x = got[std::size_t(i * n + j)];
      if (!(i == 3 ? x != x : x == (i == 7 ? inf : 40.0f))) FAIL("at " << i << ", " << j << ": " << x);
    }
  pmpp::gemm_scaled(typename where::policy{}, 1, b.input(), large.input(), b.input(), one.input(), 0, c.view());
  CHECK(where::get(c.memory)[0] == inf);
  const test::matrix<where, T> nothing(n, 0, {}, std::vector<T>(3));
  pmpp::gemm(typename where::policy{}, 0, a.input(), a.input(), 0, c.view());  // alpha = 0 reads neither A nor B
  CHECK(where::get(c.memory)[3 * 40] == 0);
}

TEST_ALL_PLACES("gemm_scaled: scales of the wrong length are refused, both values named") {
  using T = pmpp::fp8_e4m3;
  const auto a = test::made_of_fp8<where, T>(300, 200, {}, true), b = test::made_of_fp8<where, T>(200, 5, {}, true);
  const test::matrix<where, float> s(300, 300, {}, test::powers(90003));
  test::matrix<where, float> c(300, 5, {}, std::vector<float>(1503, 7.0f));
  const auto part = [&](std::int64_t rows, std::int64_t cols) {
    return pmpp::matrix_view<const float>(s.memory.data(), rows, cols);
  };
  const auto message = [&](const auto& of_a, const auto& of_b) {
    try {
      pmpp::gemm_scaled(typename where::policy{}, 1, a.input(), of_a, b.input(), of_b, 0, c.view());
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(message(part(299, 1), part(1, 1)) ==
        "pmpp::gemm_scaled: the scales of A have 299 rows, for 300 of A these are 1, 3 or 300");
  CHECK(message(part(1, 200), part(1, 1)) ==
        "pmpp::gemm_scaled: the scales of A have 200 columns, for 200 of A these are 1, 2");
  CHECK(message(part(1, 1), part(3, 5)) ==
        "pmpp::gemm_scaled: the scales of B have 3 rows, for 200 of B these are 1, 2");
  CHECK(message(part(1, 1), part(1, 2)) ==
        "pmpp::gemm_scaled: the scales of B have 2 columns, for 5 of B these are 1, 1 or 5");
  CHECK(message(part(1, 1), pmpp::matrix_view<const float>(nullptr, 1, 1)) != "");
  for (const float x : where::get(c.memory)) CHECK(x == 7);
}

TEST_CASE("fp8: every number, and what lies between two") {
  const auto check = [](auto zero, float largest) {
    using T = decltype(zero);
    int finite = 0;
    for (int code = 0; code < 256; ++code) {
      T x;
      x.bits = static_cast<std::uint8_t>(code);
      const float f = static_cast<float>(x);
      if (f != f || std::isinf(f)) continue;
      ++finite;
      CHECK(int(T(f).bits) == code);
      CHECK(std::abs(f) <= largest);
      if (code % 128 == 0 || f == largest || f == -largest) continue;
      T above, below;
      above.bits = static_cast<std::uint8_t>(code + 1);
      below.bits = static_cast<std::uint8_t>(code - 1);
      const float up = (f + static_cast<float>(above)) / 2, down = (f + static_cast<float>(below)) / 2;  // exactly
      CHECK(int(T(up).bits) == (code % 2 == 0 ? code : code + 1));
      CHECK(int(T(down).bits) == (code % 2 == 0 ? code : code - 1));
      CHECK(int(T(std::nextafter(up, f)).bits) == code);
      CHECK(int(T(std::nextafter(up, 2 * up)).bits) == code + 1);
    }
    CHECK(finite == (largest == 448 ? 254 : 248));
    CHECK(static_cast<float>(T(largest * 2)) == largest);
    CHECK(static_cast<float>(T(-std::numeric_limits<float>::infinity())) == -largest);
    CHECK(std::isnan(static_cast<float>(T(std::numeric_limits<float>::quiet_NaN()))));
    CHECK(static_cast<float>(T(0x1p-30f)) == 0);
  };
  check(pmpp::fp8_e4m3(0), 448);
  check(pmpp::fp8_e5m2(0), 57344);
}
