// SPDX-License-Identifier: Apache-2.0
//
// Products of a matrix and a vector: gemv. See gemm.cpp.
#include <pmpp/gemm.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "support/data.hpp"
#include "support/matrix.hpp"
#include "support/orders.hpp"
#include "support/policies.hpp"

using pmpp::matrix_view;
using test::check_product, test::layout, test::matrix, test::random_layout, test::random_of;

TEST_ALL_PLACES("gemv: rows, columns and neither, short and long, split or not") {
  const typename where::policy policy{};
  for (int i = 0; i < test::turns(60); ++i) {
    const auto size = [] { return random_of<std::int64_t>({0, 1, 2, 3, 5, 31, 33, 64, 129, 300, 5000}); };
    const std::int64_t m = size(), n = m > 1000 ? size() % 400 : size();
    const layout way = random_layout();
    const double alpha = random_of({1.0, 0.5}), beta = random_of({0.0, 2.0});
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(way.column_major);
    CAPTURE(way.gap);
    CAPTURE(way.offset);
    const matrix<where, float> a(m, n, way), x(n, 1);
    matrix<where, float> y(m, 1);
    pmpp::gemv(policy, alpha, a.input(), x.memory, beta, y.memory.data());
    check_product<float>(a, x, y, alpha, beta, double(std::numeric_limits<float>::epsilon()));
    const matrix<where, std::int8_t> b(m, n, way), u(n, 1);
    matrix<where, int> v(m, 1);
    pmpp::gemv(policy, 1, b.input(), u.memory, 1, v.memory);
    check_product<int>(b, u, v, 1, 1, 0);
  }
}

TEST_ALL_PLACES("gemv: long columns, long rows, many splits; columns that begin anywhere") {
  const typename where::policy policy{};
  const std::int64_t shapes[][2] = {{30001, 1}, {30000, 2}, {10007, 8}, {2051, 33},
                                    {1, 60001}, {3, 50000}, {22, 30011}};
  for (const auto& [m, n] : shapes)
    for (const int gap : {0, 1, 4}) {
      layout way{.column_major = gap < 4 || m > 1, .gap = gap, .offset = gap};
      CAPTURE(m);
      CAPTURE(n);
      CAPTURE(way.gap);
      CAPTURE(way.offset);
      const matrix<where, float> a(m, n, way), x(n, 1);
      matrix<where, float> y(m, 1);
      pmpp::gemv(policy, 1.0, a.input(), x.memory, 0.0, y.memory.data());
      check_product<float>(a, x, y, 1, 0, double(std::numeric_limits<float>::epsilon()));
    }
}

TEST_ALL_PLACES("gemv: columns that begin at words, and end anywhere in one, the last with the memory") {
  const typename where::policy policy{};
  const auto check = [&]<class T>(T, double tolerance) {
    const std::int64_t word = 16 / sizeof(T), m = random_of<std::int64_t>({1, 2, 5, 7, 9, 31, 54, 67, 300}),
                       n = random_of<std::int64_t>({3, 4, 17, 64, 257, 851}),
                       stride = pmpp::ceil_div(m, word) * word + word * random_of<std::int64_t>({0, 0, 1, 5});
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(stride);
    std::vector<T> a((n - 1) * stride + m), x(n), sums(m);
    for (T& element : a) element = T(random_of<int>({-3, -2, -1, 0, 1, 2, 3}));
    for (T& element : x) element = T(random_of<int>({-2, -1, 1, 2}));
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) sums[i] += a[j * stride + i] * x[j];
    const auto from = where::put(a), factors = where::put(x);
    auto y = where::put(std::vector<T>(m));
    pmpp::gemv(policy, T(1), matrix_view<const T>(from.data(), m, n, std::int64_t(1), stride), factors, T(0), y);
    const std::vector<T> found = where::get(y);
    for (std::int64_t i = 0; i < m; ++i) CHECK(std::abs(double(found[i]) - double(sums[i])) <= tolerance);
  };
  for (int i = 0; i < test::turns(40); ++i) {
    check(float{}, 0.0);  // sums of small integers: exact
    check(double{}, 0.0);
    check(int{}, 0.0);
  }
}

TEST_ALL_PLACES("gemv: bad input throws and touches nothing") {
  const typename where::policy policy{};
  const std::vector<float> seven(100, 7.0f);
  auto memory = where::put(seven);
  const auto out = where::put(std::vector<float>(100, 1.0f));
  const auto view = [&](std::int64_t r, std::int64_t c) { return matrix_view<const float>(out.data(), r, c); };
  const float* null = nullptr;
  CHECK_THROWS_AS(pmpp::gemv(policy, 1, view(3, 101), out, 0, memory), std::length_error);
  CHECK_THROWS_AS(pmpp::gemv(policy, 1, view(101, 3), out, 0, memory), std::length_error);
  CHECK_THROWS_AS(pmpp::gemv(policy, 1, view(3, 4), null, 0, memory), std::invalid_argument);
  CHECK_THROWS_WITH(pmpp::gemv(policy, 1, view(4, 4), memory, 1, memory),
                    "pmpp::gemv: C (4 x 1) overlaps B, which is still read when C is written");
  CHECK(where::get(memory) == seven);
}

#if PMPP_WITH_EMULATOR && !PMPP_CUDA
TEST_CASE("gemv: any order of blocks and threads") {
  using where = test::device_place;
  const matrix<where, std::int8_t> a(40, 120), x(120, 1);
  test::for_each_order(12, [&](std::uint64_t) {
    matrix<where, int> y(40, 1);
    pmpp::gemv(pmpp::device, 1, a.input(), x.memory, 0, y.memory);
    check_product<int>(a, x, y, 1, 0, 0);
  });
}
#endif
