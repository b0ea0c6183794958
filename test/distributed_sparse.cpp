// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of distributed/spread_csr.hpp and spmv.hpp: on 1, 2, 3, 5, 7 and 8 ranks, with blocks that are balanced, random,
// empty or all on one rank, products of matrices of any shape (bands, random ones, one full row or column, empty rows, none at all,
// columns out of order and more than once) are those of a plain loop; elements that no rank needs do not move; beta = 0 does not read
// y; what does not fit throws and touches nothing. Elements are small integers, also where they are doubles: no sum is rounded, so all
// results are exact. int runs on ranks of the host.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include <pmpp/distributed/spmv.hpp>
#include <pmpp/distributed/spread_csr.hpp>

#include "support/distributed.hpp"

namespace {

auto host_ranks(int p) {
  const std::vector<int> ids(static_cast<std::size_t>(p));
  return pmpp::devices{pmpp::host, pmpp::emulated_communicator::all(ids), ids};
}
auto test_ranks(int p) { return test::ranks(p); }

template <class T>
T small(std::mt19937_64& random) {
  return static_cast<T>(static_cast<int>(random() % 9) - 4);
}
template <class T>
std::vector<T> numbers(std::int64_t n, std::mt19937_64& random) {
  std::vector<T> v(static_cast<std::size_t>(n));
  for (T& x : v) x = small<T>(random);
  return v;
}

enum class kind { band, random, full_row, full_column, no_nonzeros };
constexpr kind kinds[] = {kind::band, kind::random, kind::full_row, kind::full_column, kind::no_nonzeros};

template <class T>
pmpp::csr_matrix<T> matrix(kind which, std::int64_t rows, std::int64_t cols, std::mt19937_64& random) {
  std::vector<int> offsets{0}, columns;
  std::vector<T> values;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto add = [&](std::int64_t j) {
      if (j < 0 || j >= cols) return;
      columns.push_back(static_cast<int>(j));
      values.push_back(small<T>(random));
    };
    if (which == kind::band)
      for (const int d : {1, 0, -1, 1}) add(i + d);
    if (which == kind::random && random() % 3 != 0)
      for (auto k = random() % 6; k > 0 && cols > 0; --k) add(std::int64_t(random() % std::uint64_t(cols)));
    if (which == kind::full_row && i == rows / 2)
      for (std::int64_t j = 0; j < cols; ++j) add(j);
    if (which == kind::full_column) add(cols / 2);
    offsets.push_back(static_cast<int>(columns.size()));
  }
  return {rows, cols, offsets, columns, values};
}

/// alpha A B + beta C of `width` columns.
template <class T>
std::vector<T> product(T alpha, const pmpp::csr_matrix<T>& a, const std::vector<T>& b, T beta, const std::vector<T>& c,
                       std::size_t width) {
  std::vector<T> result;
  for (std::size_t i = 0; i < std::size_t(a.rows()); ++i)
    for (std::size_t j = 0; j < width; ++j) {
      T sum{};
      for (auto k = std::size_t(a.offsets()[i]); k < std::size_t(a.offsets()[i + 1]); ++k)
        sum += a.values()[k] * b[std::size_t(a.columns()[k]) * width + j];
      result.push_back(alpha * sum + beta * c[i * width + j]);
    }
  return result;
}

/// check(gpus, matrix, spread matrix, random) for all ranks, shapes and layouts.
template <class T, class Ranks, class Check>
void everywhere(Ranks ranks, Check check) {
  std::mt19937_64 random(test::seed());
  constexpr std::pair<std::int64_t, std::int64_t> shapes[] = {{0, 0}, {0, 7},     {7, 0},    {1, 1},
                                                              {5, 5}, {200, 200}, {90, 301}, {301, 13}};
  int turn = 0;
  for (const int p : test::rank_counts) {
    const auto gpus = ranks(p);
    for (const auto& [rows, cols] : shapes)
      for (const kind which : kinds) {
        CAPTURE(p);
        CAPTURE(rows);
        CAPTURE(cols);
        CAPTURE(int(which));
        const auto a = matrix<T>(which, rows, cols, random);
        if (turn++ % 3 == 0) {
          check(gpus, a, pmpp::spread_csr<T>{gpus, a}, random);
          continue;
        }
        const test::layout how = test::layouts[random() % std::size(test::layouts)];
        CAPTURE(int(how));
        const auto blocks = test::blocks(how, rows, p, random);
        check(gpus, a, pmpp::spread_csr<T>::with_rows(gpus, a.view(), blocks, test::blocks(how, cols, p, random)),
              random);
      }
  }
}

template <class T, class G>
void check_spmv(const G& gpus, const pmpp::csr_matrix<T>& a, const pmpp::spread_csr<T>& A, std::mt19937_64& random) {
  const auto x = numbers<T>(a.cols(), random), y = numbers<T>(a.rows(), random);
  auto X = pmpp::distributed_buffer<T>::with_sizes(gpus, A.col_sizes());
  auto Y = pmpp::distributed_buffer<T>::with_sizes(gpus, A.row_sizes());
  X.copy_from(x);
  Y.copy_from(y);
  pmpp::spmv(gpus, 2, A, X, -3, Y);
  const auto expected = product<T>(2, a, x, -3, y, 1);
  CHECK(pmpp::to_host(gpus, Y) == expected);
  pmpp::spmv(gpus, 1, A, X, 0, Y);
  const auto plain = product<T>(1, a, x, 0, y, 1);
  CHECK(pmpp::to_host(gpus, Y) == plain);
  CHECK(pmpp::to_host(gpus, X) == x);
}

template <class T, class G>
void check_spmm(const G& gpus, const pmpp::csr_matrix<T>& a, const pmpp::spread_csr<T>& A, std::mt19937_64& random) {
  const std::int64_t width = std::int64_t(random() % 6);
  const auto b = numbers<T>(a.cols() * width, random), c = numbers<T>(a.rows() * width, random);
  auto B = pmpp::distributed_matrix<T>::with_rows(gpus, A.col_sizes(), width);
  auto C = pmpp::distributed_matrix<T>::with_rows(gpus, A.row_sizes(), width);
  B.copy_from(gpus, pmpp::matrix_view<const T>(b.data(), a.cols(), width));
  C.copy_from(gpus, pmpp::matrix_view<const T>(c.data(), a.rows(), width));
  pmpp::spmm(gpus, 2, A, B, -3, C);
  const auto expected = product<T>(2, a, b, -3, c, std::size_t(width));
  CHECK(pmpp::to_host(gpus, C) == expected);
}

}  // namespace

TEST_CASE("spmv") {
  everywhere<double>(test_ranks, [](const auto& gpus, const auto& a, const auto& A, auto& random) {
    check_spmv<double>(gpus, a, A, random);
  });
}
TEST_CASE("spmv and spmm on ranks of the host") {
  everywhere<int>(host_ranks, [](const auto& gpus, const auto& a, const auto& A, auto& random) {
    check_spmv<int>(gpus, a, A, random);
    check_spmm<int>(gpus, a, A, random);
  });
}
TEST_CASE("spmm") {
  everywhere<double>(test_ranks, [](const auto& gpus, const auto& a, const auto& A, auto& random) {
    check_spmm<double>(gpus, a, A, random);
  });
}

TEST_CASE("spmv: the second call allocates nothing") {
  std::mt19937_64 random(test::seed());
  const auto gpus = test_ranks(3);
  const auto a = matrix<double>(kind::random, 200, 200, random);
  const pmpp::spread_csr<double> A{gpus, a};
  pmpp::distributed_buffer<double> X = pmpp::distributed_buffer<double>::with_sizes(gpus, A.col_sizes()),
                                   Y = pmpp::distributed_buffer<double>::with_sizes(gpus, A.row_sizes());
  X.copy_from(std::vector<double>(200, 1));
  CHECK(test::second_allocates_nothing(gpus, [&] { pmpp::spmv(gpus, 1, A, X, 0, Y); }));
}

TEST_CASE("what moves, and how rows are spread") {
  std::mt19937_64 random(test::seed());
  const auto gpus = host_ranks(4);
  const pmpp::spread_csr<int> band{gpus, matrix<int>(kind::band, 1000, 1000, random)};
  CHECK(band.received_here() == 6);  // both neighbours of inner blocks, one of the outer ones
  CHECK(pmpp::spread_csr<int>(gpus, matrix<int>(kind::full_row, 1000, 1000, random)).received_here() < 1000);
  CHECK(pmpp::spread_csr<int>(gpus, matrix<int>(kind::no_nonzeros, 1000, 50, random)).received_here() == 0);
  // 9 rows of 1 nonzero, then one of 91: weights 2 and 92, of 110.
  std::vector<int> offsets{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 100}, columns(100);
  const pmpp::spread_csr<int> heavy{gpus, pmpp::csr_matrix<int>(10, 10, offsets, columns, std::vector<int>(100, 1))};
  CHECK(heavy.row_sizes() == std::vector<std::int64_t>{10, 0, 0, 0});
  CHECK(heavy.col_sizes() == heavy.row_sizes());
  CHECK(pmpp::spread_csr<int>(gpus, matrix<int>(kind::full_column, 10, 6, random)).col_sizes() ==
        std::vector<std::int64_t>{2, 2, 1, 1});
}

TEST_CASE("rows from where they are needed; beta = 0 does not read y") {
  std::mt19937_64 random(test::seed());
  const auto gpus = host_ranks(3);
  std::vector<pmpp::csr_matrix<double>> rows;
  std::vector<double> expected, x = numbers<double>(12, random);
  for (const std::int64_t count : {5, 0, 7}) {
    rows.push_back(matrix<double>(kind::random, count, 12, random));
    const auto part = product<double>(1, rows.back(), x, 0, std::vector<double>(std::size_t(count)), 1);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  const auto A = pmpp::spread_csr<double>::from_rows(gpus, rows);
  auto X = pmpp::distributed_buffer<double>::with_sizes(gpus, A.col_sizes()),
       Y = pmpp::distributed_buffer<double>::with_sizes(gpus, A.row_sizes());
  X.copy_from(x);
  Y.copy_from(std::vector<double>(12, std::numeric_limits<double>::quiet_NaN()));
  pmpp::spmv(gpus, 1, A, X, 0, Y);
  CHECK(pmpp::to_host(gpus, Y) == expected);
}

TEST_CASE("bad input of sparse matrices") {
  std::mt19937_64 random(test::seed());
  const auto gpus = host_ranks(3), others = host_ranks(3);
  const auto a = matrix<int>(kind::band, 6, 6, random);
  const auto view = a.view();
  using spread = pmpp::spread_csr<int>;
  const spread A{gpus, a}, elsewhere{others, a}, nowhere;
  auto x = pmpp::distributed_buffer<int>::with_sizes(gpus, A.col_sizes()),
       y = pmpp::distributed_buffer<int>::with_sizes(gpus, A.row_sizes());
  y.copy_from(std::vector<int>(6, 7));
  pmpp::distributed_buffer<int> longer{gpus, 9};
  CHECK_THROWS_WITH_AS(pmpp::spmv(gpus, 1, elsewhere, x, 0, y),
                       "pmpp::spmv: A lies on other devices than those of the call", std::invalid_argument);
  CHECK_THROWS_AS(pmpp::spmv(gpus, 1, nowhere, x, 0, y), std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::spmv(gpus, 1, A, longer, 0, y), "pmpp::spmv: on rank 0 x has 3 elements, 2 are needed",
                       std::length_error);
  CHECK_THROWS_AS(pmpp::spmv(gpus, 1, A, x, 0, longer), std::length_error);
  CHECK_THROWS_AS(pmpp::spmv(gpus, 1, A, y, 0, y), std::invalid_argument);
  auto B = pmpp::distributed_matrix<int>::with_rows(gpus, A.col_sizes(), 2),
       C = pmpp::distributed_matrix<int>::with_rows(gpus, A.row_sizes(), 3);
  CHECK_THROWS_WITH_AS(pmpp::spmm(gpus, 1, A, B, 0, C), "pmpp::spmm: B is 6 x 2, C is 6 x 3: the columns differ",
                       std::invalid_argument);
  CHECK_THROWS_AS(pmpp::spmm(gpus, 1, A, B, 0, B), std::invalid_argument);
  CHECK_THROWS_WITH_AS(static_cast<void>(spread::with_rows(gpus, view, {2, 2, 1})),
                       "pmpp::spread_csr: 5 rows on 3 ranks; there are 6 on 3", std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(spread::with_rows(gpus, view, {2, 2, 2}, {6, 0})), std::invalid_argument);
  CHECK_THROWS_WITH_AS((spread{gpus, pmpp::csr_matrix<int>(1, 1, {0, 1}, {4}, {1})}),
                       "pmpp::spread_csr: nonzero 0: column 4 is outside of [0, 1)", std::invalid_argument);
  CHECK_THROWS_AS((spread{gpus, pmpp::csr_matrix<int>(2, 2, {0, 1, 0}, {0}, {1})}), std::invalid_argument);
  CHECK_THROWS_AS((spread{gpus, pmpp::csr_view<const int, const int>(2, 2, nullptr, nullptr, nullptr)}),
                  std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(spread::from_rows(gpus, {a})), std::invalid_argument);
  CHECK(pmpp::to_host(gpus, y) == std::vector<int>(6, 7));
}
