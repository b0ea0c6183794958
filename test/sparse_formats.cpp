// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of sparse_formats.hpp, on every policy: COO, ELL, hybrid and JDS of any structure hold the nonzeros
// of the CSR matrix, each once, in the places that the formats say; the order within a row is kept; bad input throws.
#include <pmpp/sparse_formats.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include <pmpp/memory/csr_matrix.hpp>
#include <pmpp/sparse.hpp>
#include <pmpp/spmv.hpp>

#include "support/data.hpp"
#include "support/matrices.hpp"
#include "support/policies.hpp"

namespace {

using pmpp::csr_matrix;

template <class where, class T, class I>
auto put(const csr_matrix<T, I>& matrix) {
  if constexpr (where::on_device)
    return pmpp::device_csr_matrix<T, I>(matrix);
  else
    return matrix;
}

/// Nonzeros row by row: those of rows in the order in which a format has them.
template <class T, class I>
using rows_of = std::vector<std::vector<std::pair<I, T>>>;

template <class T, class I>
rows_of<T, I> wanted_rows(const csr_matrix<T, I>& matrix) {
  rows_of<T, I> rows(std::size_t(matrix.rows()));
  for (const auto& [row, column, value] : matrix.triplets()) rows[std::size_t(row)].push_back({column, value});
  return rows;
}

template <class where, class I, class M, class Rows>
void add_ell(const M& ell, Rows& rows) {
  const auto columns = where::get(ell.columns);
  const auto values = where::get(ell.values);
  REQUIRE(std::int64_t(columns.size()) == ell.rows * ell.width);
  REQUIRE(columns.size() == values.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    bool ended = false;
    for (std::size_t k = 0; k < std::size_t(ell.width); ++k) {
      const std::size_t e = k * rows.size() + i;
      if (columns[e] < 0) {
        wrong += columns[e] != I(-1) || values[e] != 0;
        ended = true;
      } else {
        wrong += ended;
        rows[i].push_back({columns[e], values[e]});
      }
    }
  }
  CHECK(wrong == 0);
}

template <class where, class M, class Rows>
void add_coo(const M& coo, Rows& rows) {
  const auto row_of = where::get(coo.row_of);
  const auto columns = where::get(coo.columns);
  const auto values = where::get(coo.values);
  REQUIRE(row_of.size() == columns.size());
  REQUIRE(row_of.size() == values.size());
  CHECK(std::is_sorted(row_of.begin(), row_of.end()));
  for (std::size_t e = 0; e < row_of.size(); ++e) rows.at(std::size_t(row_of[e])).push_back({columns[e], values[e]});
}

template <class where, class T, class I>
void check(const csr_matrix<T, I>& matrix) {
  const typename where::policy policy{};
  const auto wanted = wanted_rows(matrix);
  const auto source = put<where>(matrix);
  const auto m = std::size_t(matrix.rows());
  std::size_t longest = 0;
  for (const auto& row : wanted) longest = std::max(longest, row.size());
  {
    rows_of<T, I> got(m);
    const auto coo = pmpp::to_coo(policy, source);
    CHECK(std::int64_t(coo.values.size()) == matrix.nonzeros());
    add_coo<where>(coo, got);
    CHECK(got == wanted);
  }
  if (longest * m < 4000000) {
    rows_of<T, I> got(m);
    const auto ell = pmpp::to_ell(policy, source);
    CHECK(ell.width == std::int64_t(longest));
    add_ell<where, I>(ell, got);
    CHECK(got == wanted);
  }
  for (const std::int64_t width : {0, 1, 3, 40}) {
    rows_of<T, I> got(m);
    const auto hybrid = pmpp::to_hybrid(policy, source, width);
    CHECK(hybrid.ell.width == width);
    add_ell<where, I>(hybrid.ell, got);
    add_coo<where>(hybrid.coo, got);
    CHECK(got == wanted);
  }
  rows_of<T, I> got(m);
  const auto jds = pmpp::to_jds(policy, source);
  CHECK(jds.width == std::int64_t(longest));
  const auto order = where::get(jds.order), offsets = where::get(jds.offsets), columns = where::get(jds.columns);
  const auto values = where::get(jds.values);
  REQUIRE(order.size() == m);
  REQUIRE(offsets.size() == longest + 1);
  CHECK(offsets[0] == 0);
  CHECK(std::int64_t(offsets[longest]) == matrix.nonzeros());
  std::size_t wrong = 0;
  for (std::size_t r = 1; r < m; ++r) {
    const std::size_t before = wanted[std::size_t(order[r - 1])].size(), here = wanted[std::size_t(order[r])].size();
    wrong += before < here || (before == here && order[r - 1] > order[r]);
  }
  CHECK(wrong == 0);
  for (std::size_t k = 0; k < longest; ++k)
    for (auto e = std::size_t(offsets[k]); e < std::size_t(offsets[k + 1]); ++e)
      got.at(std::size_t(order.at(e - std::size_t(offsets[k])))).push_back({columns[e], values[e]});
  CHECK(got == wanted);
}

}  // namespace

TEST_ALL_PLACES("by hand") {
  const typename where::policy policy{};
  // [by_hand]
  //     1 2 .
  // A = . 3 .
  //     4 5 6
  const pmpp::csr_matrix<float> A(3, 3, {0, 2, 3, 6}, {0, 1, 1, 0, 1, 2}, {1, 2, 3, 4, 5, 6});
  const auto source = put<where>(A);
  const auto ell = pmpp::to_ell(policy, source);
  CHECK(where::get(ell.columns) == std::vector<int>{0, 1, 0, 1, -1, 1, -1, -1, 2});
  CHECK(where::get(ell.values) == std::vector<float>{1, 3, 4, 2, 0, 5, 0, 0, 6});
  const auto jds = pmpp::to_jds(policy, source);
  CHECK(where::get(jds.order) == std::vector<int>{2, 0, 1});
  CHECK(where::get(jds.offsets) == std::vector<int>{0, 3, 5, 6});
  CHECK(where::get(jds.values) == std::vector<float>{4, 1, 3, 5, 2, 6});
  const auto hybrid = pmpp::to_hybrid(policy, source, 2);
  CHECK(where::get(hybrid.coo.row_of) == std::vector<int>{2});
  CHECK(where::get(hybrid.coo.values) == std::vector<float>{6});
  // [end]
}

TEST_ALL_PLACES("every structure") {
  for (const std::int64_t n : {10, 600})
    for (const auto& [name, matrix] : test::structures<float>(n)) {
      CAPTURE(name);
      CAPTURE(n);
      CAPTURE(test::seed());
      check<where>(matrix);
    }
  check<where>(csr_matrix<float>());
  for (const auto& [name, matrix] : test::structures<double, std::int64_t>(200)) check<where>(matrix);
}

TEST_ALL_PLACES("the transposed product: transposed once, then spmv") {
  const typename where::policy policy{};
  const auto matrix = test::matrix_of<double, int>(200, 130, [](std::int64_t i) { return i % 30; });
  std::vector<double> x, wanted(130);
  for (std::size_t i = 0; i < 200; ++i) x.push_back(double(i % 7));
  for (const auto& [row, column, value] : matrix.triplets()) wanted[std::size_t(column)] += value * x[std::size_t(row)];
  const auto A = put<where>(matrix);
  const auto in = where::put(x);
  auto y = where::put(std::vector<double>(130));
  // [transposed]
  const auto At = transposed(policy, A);    // once
  pmpp::spmv(policy, 1.0, At, in, 0.0, y);  // y <- A' x, any number of times
  // [end]
  pmpp::synchronize(policy);
  CHECK(where::get(y) == wanted);
}

TEST_ALL_PLACES("bad input throws") {
  const typename where::policy policy{};
  const auto A = put<where>(csr_matrix<float>(1, 1, {0, 1}, {0}, {1}));
  CHECK_THROWS_AS(pmpp::to_hybrid(policy, A, -1), std::invalid_argument);
}
