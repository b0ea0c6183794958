// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of sparse.hpp: matrices made on the device from triplets in any order, and transposed there, are
// those that csr_matrix makes on the host; bad input throws.
#include <pmpp/sparse.hpp>

#include <cstdint>
#include <stdexcept>

#include "support/data.hpp"
#include "support/matrices.hpp"
#include "support/policies.hpp"

using pmpp::device;

namespace {

template <class T, class I>
void check(std::int64_t rows, std::int64_t cols, std::int64_t n) {
  CAPTURE(rows);
  CAPTURE(cols);
  CAPTURE(n);
  std::vector<pmpp::triplet<T, I>> all;
  std::vector<I> row_of, column_of;
  std::vector<T> values;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto row = static_cast<I>(test::generator()() % std::uint64_t(rows));
    const auto column = static_cast<I>(test::generator()() % std::uint64_t(cols));
    const auto value = static_cast<T>(static_cast<int>(test::generator()() % 99));
    all.push_back({row, column, value});
    row_of.push_back(row);
    column_of.push_back(column);
    values.push_back(value);
  }
  const auto wanted = pmpp::csr_matrix<T, I>::from_triplets(rows, cols, all);
  const auto got = pmpp::csr_from_triplets(device, rows, cols, pmpp::device_buffer<I>(row_of),
                                           pmpp::device_buffer<I>(column_of), pmpp::device_buffer<T>(values));
  got.to_host().validate();
  CHECK(got.to_host() == wanted);
  CHECK(transposed(device, got).to_host() == wanted.transposed());
}

}  // namespace

TEST_CASE("from triplets, and transposed") {
  for (const std::int64_t n : test::some_of({0, 1, 5, 300, 20000})) {
    check<double, int>(1, 1, n);
    check<double, int>(n / 3 + 1, 7, n);
    check<float, int>(3, n + 1, n);
    check<std::int64_t, std::int64_t>(n / 2 + 1, n / 2 + 2, n);
    check<float, int>(100000, 50, n / 10);
  }
  check<double, std::int64_t>(std::int64_t(1) << 17, std::int64_t(1) << 16, 3000);
}

TEST_CASE("columns that come more than once stay apart, in their order") {
  const int n = 20000;
  std::vector<int> offsets{0}, columns;
  std::vector<double> values;
  for (int row = 0; row < n; ++row) {
    for (int i = 0; i < row % 5; ++i) {
      columns.push_back(static_cast<int>(test::generator()() % (row % 3 == 0 ? 2 : n)));
      values.push_back(static_cast<double>(values.size()));
    }
    offsets.push_back(static_cast<int>(columns.size()));
  }
  const pmpp::csr_matrix<double> matrix(n, n, offsets, columns, values);
  CHECK(transposed(device, pmpp::device_csr_matrix(matrix)).to_host() == matrix.transposed());
}

TEST_CASE("graphs, transposed") {
  for (const int n : {0, 1, 7, 1000}) {
    std::vector<pmpp::edge<>> list;
    for (int i = 0; i < 5 * n; ++i)
      list.push_back(
          {static_cast<int>(test::generator()() % unsigned(n)), static_cast<int>(test::generator()() % unsigned(n))});
    const auto graph = pmpp::csr_graph<>::from_edges(n, list);
    CHECK(transposed(device, pmpp::device_csr_graph(graph)).to_host() == graph.transposed());
  }
}

TEST_CASE("bad input") {
  const pmpp::device_buffer<int> rows(std::vector<int>{0, 3}), columns(std::vector<int>{0, 1});
  const pmpp::device_buffer<float> values(2, 1.0f), three(3, 1.0f);
  CHECK(pmpp::csr_from_triplets(device, 4, 2, rows, columns, values).nonzeros() == 2);
  CHECK_THROWS_AS(pmpp::csr_from_triplets(device, 3, 2, rows, columns, values), std::out_of_range);
  CHECK_THROWS_AS(pmpp::csr_from_triplets(device, 4, 1, rows, columns, values), std::out_of_range);
  CHECK_THROWS_AS(pmpp::csr_from_triplets(device, 4, 2, rows, columns, three), std::length_error);
  CHECK_THROWS_AS(pmpp::csr_from_triplets(device, -1, 2, rows, columns, values), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::csr_from_triplets(device, std::int64_t(1) << 31, 2, rows, columns, values), std::length_error);
}

TEST_CASE("the transpose of a matrix and of a graph with narrow indices") {
  const auto check = [](auto index) {
    using I = decltype(index);
    const auto a = pmpp::csr_matrix<float, I>::from_triplets(3, 40, {{0, 1, 2.0f}, {1, 0, 3.0f}, {1, 39, 5.0f}});
    CHECK(transposed(pmpp::device, pmpp::device_csr_matrix<float, I>(a)).to_host().triplets() ==
          a.transposed().triplets());
    const auto g = pmpp::csr_graph<I>::from_edges(3, {{0, 1}, {2, 1}});
    CHECK(transposed(pmpp::device, pmpp::device_csr_graph<I>(g)).to_host() == g.transposed());
  };
  check(short());
  check(static_cast<signed char>(0));
}
