// SPDX-License-Identifier: Apache-2.0
//
// Matrices for tests of products: in memory that they share with what must stay, in any layout; and the comparison with
// the definition.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/gemm.hpp>

#include "data.hpp"
#include "policies.hpp"

namespace test {

using pmpp::matrix_view;

/// How a matrix lies in memory.
struct layout {
  bool column_major = false;
  std::int64_t gap = 0;     ///< between one row (or column) and the next
  std::int64_t offset = 0;  ///< elements before the first
  std::int64_t step = 1;    ///< between neighbours in a row (or column)
};

/// A matrix in memory of its own, among elements that do not belong to it.
template <class where, class T>
struct matrix {
  std::int64_t rows, cols;
  layout way;
  std::vector<T> initial;
  typename where::template container<T> memory;

  matrix(std::int64_t rows_, std::int64_t cols_, layout way_, std::vector<T> values)
      : rows(rows_), cols(cols_), way(way_), initial(std::move(values)), memory(where::put(initial)) {}
  matrix(std::int64_t rows_, std::int64_t cols_, layout way_ = {})
      : matrix(rows_, cols_, way_, test::random_values<T>(room(rows_, cols_, way_))) {}

  static std::int64_t room(std::int64_t rows, std::int64_t cols, const layout& w) {
    const std::int64_t lines = w.column_major ? cols : rows, length = w.column_major ? rows : cols;
    return w.offset + lines * (length * w.step + w.gap) + 3;
  }
  template <class U>
  matrix_view<U> view_of(U* data) const {
    const std::int64_t line = (way.column_major ? rows : cols) * way.step + way.gap;
    if (way.column_major) return {data + way.offset, rows, cols, way.step, line};
    return {data + way.offset, rows, cols, line, way.step};
  }
  matrix_view<T> view() { return view_of(memory.data()); }
  matrix_view<const T> input() const { return view_of(memory.data()); }
  T value(std::int64_t i, std::int64_t j) const { return view_of(initial.data())(i, j); }
};

/// Compares C with the definition: within the rounding of a sum of k products, each of which may be wrong by a share of
/// factor_error, and the gaps untouched.
template <class TC, class where, class TA, class TB>
void check_product(const matrix<where, TA>& a, const matrix<where, TB>& b, const matrix<where, TC>& c, double alpha,
                   double beta, double eps, double factor_error = 0) {
  const auto got = where::get(c.memory);
  auto wanted = c.initial;
  const auto out = c.view_of(wanted.data());
  const auto result = c.view_of(got.data());
  const auto depth = static_cast<std::size_t>(a.cols);
  std::vector<long double> rows_of_a, columns_of_b;  // one after another: an element of a view is a call or two
  for (std::int64_t i = 0; i < c.rows; ++i)
    for (std::int64_t p = 0; p < a.cols; ++p) rows_of_a.push_back(static_cast<double>(a.value(i, p)));
  for (std::int64_t j = 0; j < c.cols; ++j)
    for (std::int64_t p = 0; p < a.cols; ++p) columns_of_b.push_back(static_cast<double>(b.value(p, j)));
  int wrong = 0;
  for (std::int64_t i = 0; i < c.rows; ++i)
    for (std::int64_t j = 0; j < c.cols; ++j) {
      long double sum = 0, size = 0;
      const long double* const row = rows_of_a.data() + static_cast<std::size_t>(i) * depth;
      const long double* const column = columns_of_b.data() + static_cast<std::size_t>(j) * depth;
      for (std::size_t p = 0; p < depth; ++p) {
        const long double x = row[p] * column[p];
        sum += x;
        size += x < 0 ? -x : x;
      }
      const long double old = beta == 0 ? 0.0L : beta * static_cast<long double>(static_cast<double>(c.value(i, j)));
      const long double exact = alpha * sum + old;
      const long double bound = eps * ((static_cast<double>(a.cols) + 3) * std::abs(alpha) * size + 3 * std::abs(old)) +
                                factor_error * std::abs(alpha) * size;
      const long double error = std::abs(static_cast<long double>(static_cast<double>(result(i, j))) - exact);
      if (!(error <= bound) && wrong++ == 0) {
        CAPTURE(i);
        CAPTURE(j);
        CHECK(static_cast<double>(result(i, j)) == static_cast<double>(exact));
      }
      out(i, j) = result(i, j);
    }
  CHECK(wrong == 0);
  CHECK(std::memcmp(static_cast<const void*>(got.data()), static_cast<const void*>(wanted.data()),
                    got.size() * sizeof(TC)) == 0);
}

template <class where, pmpp::gemm_tuning Tuning, class TA, class TB, class TC>
void try_product(std::int64_t m, std::int64_t n, std::int64_t k, layout a_way, layout b_way, layout c_way,
                 double alpha = 1, double beta = 0) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(a_way.column_major);
  CAPTURE(b_way.column_major);
  CAPTURE(c_way.column_major);
  CAPTURE(alpha);
  CAPTURE(beta);
  const matrix<where, TA> a(m, k, a_way);
  const matrix<where, TB> b(k, n, b_way);
  matrix<where, TC> c(m, n, c_way);
  pmpp::gemm<test::tuned<where>(Tuning)>(typename where::policy{}, alpha, a.input(), b.input(), beta, c.view());
  check_product<TC>(a, b, c, alpha, beta,
                    std::is_floating_point_v<TC> ? double(std::numeric_limits<TC>::epsilon()) : 0.0);
}

inline layout random_layout() {
  auto& g = test::generator();
  return {g() % 2 == 0, static_cast<std::int64_t>(g() % 3 == 0 ? g() % 5 : g() % 2 * 4),
          static_cast<std::int64_t>(g() % 3 == 0 ? g() % 4 : 0), static_cast<std::int64_t>(g() % 7 == 0 ? 2 : 1)};
}

template <class T>
T random_of(std::initializer_list<T> values) {
  return *(values.begin() + static_cast<std::ptrdiff_t>(test::generator()() % values.size()));
}

}  // namespace test
