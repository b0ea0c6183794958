// SPDX-License-Identifier: Apache-2.0
//
// Products of 8-bit floats with scales, compared with their definition.
//
//   gemm_scaled.cpp        the library's types, into float; bounds are proved there
//   gemm_scaled_types.cu   CUDA's types, into half and bfloat16
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <pmpp/gemm_scaled.hpp>

#include "support/data.hpp"
#include "support/matrix.hpp"
#include "support/policies.hpp"

namespace test {

template <class T>
std::vector<T> integers(std::int64_t n) {
  std::vector<T> v;
  for (const int x : random_values<int>(n)) v.push_back(T(static_cast<float>(x % 4)));
  return v;
}
/// 1/2, 1 and 2.
inline std::vector<float> powers(std::int64_t n) {
  std::vector<float> v;
  for (const int x : random_values<int>(n)) v.push_back(x % 3 == 0 ? 0.5f : x % 3 == 1 ? 1.0f : 2.0f);
  return v;
}

template <class where, class T>
matrix<where, T> made_of_fp8(std::int64_t rows, std::int64_t cols, layout way, bool whole) {
  const std::int64_t n = matrix<where, T>::room(rows, cols, way);
  if (whole) return {rows, cols, way, integers<T>(n)};
  std::vector<T> v;
  for (const int x : random_values<int>(n)) v.push_back(T(static_cast<float>(x % 1000) / 300));
  return {rows, cols, way, v};
}

/// scale(i, j, p) is what product p of element (i, j) is multiplied by. factor_error, of the sum of the magnitudes, may be wrong.
template <class where, class TA, class TB, class TC, class Scale>
void check_scaled(const matrix<where, TA>& a, const matrix<where, TB>& b, const matrix<where, TC>& c, double alpha,
                  double beta, const Scale& scale, double factor_error, double rounding = 0) {
  const auto got = where::get(c.memory);
  auto wanted = c.initial;
  const auto out = c.view_of(wanted.data());
  const auto result = c.view_of(got.data());
  int wrong = 0;
  for (std::int64_t i = 0; i < c.rows; ++i)
    for (std::int64_t j = 0; j < c.cols; ++j) {
      double sum = 0, size = 0;
      for (std::int64_t p = 0; p < a.cols; ++p) {
        const double x =
            double(static_cast<float>(a.value(i, p))) * double(static_cast<float>(b.value(p, j))) * scale(i, j, p);
        sum += x;
        size += std::abs(x);
      }
      const double old = beta == 0 ? 0 : beta * double(static_cast<float>(c.value(i, j))), exact = alpha * sum + old;
      const double bound = factor_error * std::abs(alpha) * size + rounding * std::abs(exact);
      if (!(std::abs(double(static_cast<float>(result(i, j))) - exact) <= bound) && wrong++ == 0) {
        CAPTURE(i);
        CAPTURE(j);
        CHECK(double(static_cast<float>(result(i, j))) == exact);
      }
      out(i, j) = result(i, j);
    }
  CHECK(wrong == 0);
  CHECK(std::memcmp(static_cast<const void*>(got.data()), static_cast<const void*>(wanted.data()),
                    got.size() * sizeof(TC)) == 0);
}

/// Random shapes, layouts and scales. Rounding: of elements of C, 0 where they are floats.
template <class where, class TA, class TB, class TC, class Options = pmpp::gemm_options<>>
void try_scaled(int times, double rounding = 0, const Options& options = {}) {
  const auto blocks = [](std::int64_t n) { return (n + 127) / 128; };
  for (int turn = 0; turn < turns(times); ++turn) {
    const auto size = [&] {
      return random_of<std::int64_t>({0, 1, 2, 7, 16, 31, 33, 64, 100, 128, 129, 200, PMPP_CUDA ? 300 : 130});
    };
    const std::int64_t m = size(), n = size(),
                       k = (PMPP_CUDA || !where::on_device) && m * n < 5000 && turn % 2 == 0 ? 10 * size() : size();
    const bool whole = turn % 3 != 0;
    const double alpha = random_of({1.0, -2.0}), beta = random_of({0.0, 0.0, 1.0, -3.0});
    const auto a = made_of_fp8<where, TA>(m, k, turn % 4 == 0 ? layout{} : random_layout(), whole);
    const auto b = made_of_fp8<where, TB>(k, n, turn % 4 == 0 ? layout{true} : random_layout(), whole);
    const layout way_c = random_layout(), way_a = random_layout(), way_b = random_layout();
    const std::int64_t a_rows = random_of({std::int64_t(1), m, blocks(m)}),
                       a_cols = random_of({std::int64_t(1), blocks(k)}),
                       b_rows = random_of({std::int64_t(1), blocks(k)}),
                       b_cols = random_of({std::int64_t(1), n, blocks(n)});
    const matrix<where, float> of_a(a_rows, a_cols, way_a, powers(matrix<where, float>::room(a_rows, a_cols, way_a))),
        of_b(b_rows, b_cols, way_b, powers(matrix<where, float>::room(b_rows, b_cols, way_b)));
    matrix<where, TC> c(m, n, way_c, integers<TC>(matrix<where, TC>::room(m, n, way_c)));
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    CAPTURE(a_rows);
    CAPTURE(a_cols);
    CAPTURE(b_rows);
    CAPTURE(b_cols);
    CAPTURE(whole);
    pmpp::gemm_scaled(typename where::policy{}, alpha, a.input(), of_a.input(), b.input(), of_b.input(), beta, c.view(),
                      options);
    const auto of = [](std::int64_t i, std::int64_t extent, std::int64_t given) {
      return given == 1 ? 0 : given == extent ? i : i / 128;
    };
    check_scaled(
        a, b, c, alpha, beta,
        [&](std::int64_t i, std::int64_t j, std::int64_t p) {
          return double(of_a.value(of(i, m, a_rows), a_cols == 1 ? 0 : p / 128)) *
                 double(of_b.value(b_rows == 1 ? 0 : p / 128, of(j, n, b_cols)));
        },
        whole ? 0 : 1.0 / 62, rounding);
  }
}

}  // namespace test
