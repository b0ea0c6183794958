// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of sparse.hpp: matrices made on the device from triplets in any order, and transposed there, are
// those that csr_matrix makes on the host; the same into arrays of the caller, of which nothing else is touched; bad input
// throws.
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
    check<float, int>(1, 1, n);
    check<float, int>(n / 3 + 1, 7, n);
    check<float, int>(3, n + 1, n);
    check<std::int64_t, std::int64_t>(n / 2 + 1, n / 2 + 2, n);
    check<float, int>(100000, 50, n / 10);
  }
  check<std::int64_t, std::int64_t>(std::int64_t(1) << 17, std::int64_t(1) << 16, 3000);
  check<float, int>(2, 2, 150000);  // most of the room for nonzeros is idle in the end
}

TEST_ALL_PLACES("into arrays of the caller, the number of nonzeros too; the result is what the next call takes") {
  const typename where::policy policy{};
  const auto check = [&]<class T, class I>(std::int64_t rows, std::int64_t cols, std::int64_t n, T, I) {
    CAPTURE(rows);
    CAPTURE(cols);
    CAPTURE(n);
    std::vector<pmpp::triplet<T, I>> all;
    std::vector<I> row_of, column_of;
    std::vector<T> values;
    for (std::int64_t i = 0; i < n; ++i) {
      row_of.push_back(static_cast<I>(test::generator()() % std::uint64_t(rows)));
      column_of.push_back(static_cast<I>(test::generator()() % std::uint64_t(cols)));
      values.push_back(static_cast<T>(static_cast<int>(test::generator()() % 99)));
      all.push_back({row_of.back(), column_of.back(), values.back()});
    }
    const auto wanted = pmpp::csr_matrix<T, I>::from_triplets(rows, cols, all);
    const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
    auto offsets = where::put(std::vector<I>(size(rows + 2), I(77))),
         columns = where::put(std::vector<I>(size(n + 1), I(77)));
    auto sums = where::put(std::vector<T>(size(n + 1), T(77)));
    auto count = where::put(std::vector<std::int64_t>(1, -1));
    const pmpp::csr_view<T, I> A(rows, cols, offsets.data(), columns.data(), sums.data());
    pmpp::csr_from_triplets_into(policy, where::input(row_of), where::input(column_of), where::input(values), A, count);
    auto offsets_of_columns = where::put(std::vector<I>(size(cols + 2), I(77))),
         rows_of_columns = where::put(std::vector<I>(size(n + 1), I(77)));
    auto moved = where::put(std::vector<T>(size(n + 1), T(77)));
    const pmpp::csr_view<T, I> B(cols, rows, offsets_of_columns.data(), rows_of_columns.data(), moved.data());
    pmpp::transposed_into(policy, A, pmpp::device_count(count.data(), n), B);
    const auto begins = [&](const auto& array, const auto& expected) {  // and the last element is untouched
      auto got = where::get(array);
      CHECK(got.back() == 77);
      got.resize(expected.size());
      CHECK(got == expected);
    };
    const auto turned = wanted.transposed();
    CHECK(where::get(count)[0] == wanted.nonzeros());
    begins(offsets, wanted.offsets());
    begins(columns, wanted.columns());
    begins(sums, wanted.values());
    begins(offsets_of_columns, turned.offsets());
    begins(rows_of_columns, turned.columns());
    begins(moved, turned.values());
  };
  for (const std::int64_t n : test::some_of({0, 1, 300, 20000})) {
    check(1, 1, n, float(), int());
    check(n / 3 + 1, 7, n, float(), int());
    check(n / 2 + 1, n + 2, n, std::int64_t(), std::int64_t());
    check(70000, 80000, n / 4, float(), int());
  }
}

TEST_CASE("columns that come more than once stay apart, in their order") {
  const int n = 20000;
  std::vector<int> offsets{0}, columns;
  std::vector<float> values;
  for (int row = 0; row < n; ++row) {
    for (int i = 0; i < row % 5; ++i) {
      columns.push_back(static_cast<int>(test::generator()() % (row % 3 == 0 ? 2 : n)));
      values.push_back(static_cast<float>(values.size()));
    }
    offsets.push_back(static_cast<int>(columns.size()));
  }
  const pmpp::csr_matrix<float> matrix(n, n, offsets, columns, values);
  CHECK(transposed(device, pmpp::device_csr_matrix(matrix)).to_host() == matrix.transposed());
}

TEST_CASE("one row of so many columns that a column fills a number of 32 bits") {
  const std::int64_t cols = std::int64_t(1) << 32;
  using numbers = std::vector<std::int64_t>;
  const numbers columns{cols - 1, 5, std::int64_t(1) << 31, 5};
  const auto got = pmpp::csr_from_triplets(device, 1, cols, pmpp::device_buffer<std::int64_t>(numbers(4, 0)),
                                           pmpp::device_buffer<std::int64_t>(columns),
                                           pmpp::device_buffer<std::int64_t>(numbers{1, 2, 3, 4}));
  CHECK(got.to_host() == pmpp::csr_matrix<std::int64_t, std::int64_t>(
                             1, cols, numbers{0, 3}, numbers{5, std::int64_t(1) << 31, cols - 1}, numbers{6, 3, 1}));
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

TEST_CASE("room that is idle stays, or is given back where it is much") {
  const std::vector<int> all{3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
  const auto kept = [&](int count, std::int64_t most_idle) {
    pmpp::device_csr_matrix<float, int> A(2, 10, 10);
    pmpp::copy(std::vector<int>{0, count / 2, count}, std::span(A.arrays().offsets, 3));
    pmpp::copy(all, std::span(A.arrays().columns, 10));
    pmpp::copy(std::vector<float>(all.begin(), all.end()), std::span(A.arrays().values, 10));
    const int* const memory = A.view().offsets;
    pmpp::detail::keep_nonzeros(A, count, most_idle);
    const auto size = static_cast<std::ptrdiff_t>(count);
    CHECK(A.to_host() == pmpp::csr_matrix<float>(2, 10, {0, count / 2, count}, {all.begin(), all.begin() + size},
                                                 {all.begin(), all.begin() + size}));
    return A.view().offsets == memory;
  };
  CHECK(!kept(4, 47));
  CHECK(kept(4, 48));
  CHECK(kept(5, 0));
  CHECK(!kept(0, 0));
}

TEST_CASE("bad input") {
  const pmpp::device_buffer<int> rows(std::vector<int>{0, 3}), columns(std::vector<int>{0, 1});
  const pmpp::device_buffer<float> values(2, 1.0f), three(3, 1.0f);
  CHECK(pmpp::csr_from_triplets(device, 4, 2, rows, columns, values).nonzeros() == 2);
  CHECK_THROWS_AS(pmpp::csr_from_triplets(device, 3, 2, rows, columns, values), std::out_of_range);
  CHECK_THROWS_AS(pmpp::csr_from_triplets(device, 4, 1, rows, columns, values), std::out_of_range);
  CHECK_THROWS_AS(pmpp::csr_from_triplets(device, 4, 2, rows, columns, three), std::length_error);
  CHECK_THROWS_AS(pmpp::csr_from_triplets(device, -1, 2, rows, columns, values), std::invalid_argument);
  pmpp::device_buffer<int> offsets(std::vector<int>(9, 7)), target(std::vector<int>(2, 7)), count(1, 7);
  pmpp::device_buffer<float> sums(2, 7.0f);
  const pmpp::csr_view<float, int> A(4, 2, offsets.data(), target.data(), sums.data());
  const pmpp::csr_view<float, int> B(2, 3, offsets.data(), target.data(), sums.data());
  CHECK_THROWS_AS(pmpp::csr_from_triplets_into(device, rows, columns, three, A, count), std::length_error);
  CHECK_THROWS_AS(pmpp::transposed_into(device, A, 2, B), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::transposed_into(device, A, -1,
                                        pmpp::csr_view<float, int>(2, 4, offsets.data(), target.data(), sums.data())),
                  std::invalid_argument);
  CHECK(pmpp::to_host(offsets) == std::vector<int>(9, 7));
  CHECK_THROWS_AS(pmpp::csr_from_triplets(device, std::int64_t(1) << 31, 2, rows, columns, values), std::length_error);
}

TEST_CASE("the transpose of a matrix and of a graph with narrow indices") {
  const auto a = pmpp::csr_matrix<float, short>::from_triplets(3, 40, {{0, 1, 2.0f}, {1, 0, 3.0f}, {1, 39, 5.0f}});
  CHECK(transposed(device, pmpp::device_csr_matrix<float, short>(a)).to_host().triplets() == a.transposed().triplets());
  const auto g = pmpp::csr_graph<signed char>::from_edges(3, {{0, 1}, {2, 1}});
  CHECK(transposed(device, pmpp::device_csr_graph<signed char>(g)).to_host() == g.transposed());
}
