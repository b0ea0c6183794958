// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of memory/csr_matrix.hpp: triplets in any order, duplicates and all, become the right matrix;
// dense matrices too; transposing twice changes nothing; a matrix survives the way to the device and back; validate()
// names the first broken invariant with its row or nonzero and the values; bad input throws.
#include <pmpp/memory/csr_matrix.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/data.hpp"
#include "support/matrices.hpp"
#include "support/policies.hpp"

using pmpp::csr_matrix;
using pmpp::triplet;

namespace {

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("from triplets, by hand") {
  const auto A = csr_matrix<float>::from_triplets(3, 4, {{2, 3, 1.0f}, {0, 2, 2.0f}, {2, 0, 3.0f}, {2, 3, 4.0f}});
  CHECK(A.rows() == 3);
  CHECK(A.cols() == 4);
  CHECK(A.nonzeros() == 3);
  CHECK(A.offsets() == std::vector<int>{0, 1, 1, 3});
  CHECK(A.columns() == std::vector<int>{2, 0, 3});
  CHECK(A == csr_matrix<float>(3, 4, {0, 1, 1, 3}, {2, 0, 3}, {2, 3, 5}));
  A.validate();
  CHECK(csr_matrix<float>().nonzeros() == 0);
  csr_matrix<float>().validate();
  CHECK(csr_matrix<float>::from_triplets(0, 0, {}) == csr_matrix<float>());
}

TEST_CASE("from triplets, at random") {
  for (const std::int64_t n : {0, 1, 10, 1000, 20000}) {
    CAPTURE(n);
    const std::int64_t rows = n / 7 + 1, cols = n / 5 + 1;
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> wanted;
    std::vector<triplet<std::int64_t, std::int64_t>> nonzeros;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto row = static_cast<std::int64_t>(test::generator()() % std::uint64_t(rows));
      const auto column = static_cast<std::int64_t>(test::generator()() % std::uint64_t(cols));
      nonzeros.push_back({row, column, i});
      wanted[{row, column}] += i;
    }
    const auto A = csr_matrix<std::int64_t, std::int64_t>::from_triplets(rows, cols, nonzeros);
    A.validate();
    const auto got = A.triplets();
    REQUIRE(got.size() == wanted.size());
    CHECK(std::equal(got.begin(), got.end(), wanted.begin(), [](const auto& a, const auto& b) {
      return a == triplet<std::int64_t, std::int64_t>{b.first.first, b.first.second, b.second};
    }));
    CHECK(A.transposed().transposed() == A);
    A.transposed().validate();
    for (const auto& [row, column, value] : A.transposed().triplets()) CHECK(wanted.at({column, row}) == value);
  }
}

TEST_CASE("duplicates are added in their order") {
  const float large = 0x1p24f;
  CHECK(csr_matrix<float>::from_triplets(1, 1, {{0, 0, 1.0f}, {0, 0, large}, {0, 0, -large}}).values()[0] == 0.0f);
  CHECK(csr_matrix<float>::from_triplets(1, 1, {{0, 0, large}, {0, 0, -large}, {0, 0, 1.0f}}).values()[0] == 1.0f);
}

TEST_CASE("from a dense matrix") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> dense{0, 1, 0, 2, -0.0f, nan};
  const auto A = csr_matrix<float>::from_dense({dense.data(), 2, 3});
  CHECK(A.offsets() == std::vector<int>{0, 1, 3});
  CHECK(A.columns() == std::vector<int>{1, 0, 2});
  CHECK(A.values()[1] == 2);
  CHECK(std::isnan(A.values()[2]));
  const auto B = csr_matrix<float>::from_dense(transposed(pmpp::matrix_view<const float>(dense.data(), 2, 3)));
  CHECK(B.rows() == 3);
  CHECK(B.offsets() == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("to the device and back") {
  for (const auto& [name, matrix] : test::structures<double, std::int64_t>(300)) {
    CAPTURE(name);
    const pmpp::device_csr_matrix on_device(matrix);
    CHECK(on_device.rows() == matrix.rows());
    CHECK(on_device.cols() == matrix.cols());
    CHECK(on_device.nonzeros() == matrix.nonzeros());
    CHECK(on_device.to_host() == matrix);
    matrix.validate();
  }
  CHECK(pmpp::device_csr_matrix<float>().to_host() == csr_matrix<float>());
}

TEST_CASE("on the device, written by way of its arrays") {
  using M = pmpp::device_csr_matrix<double, short>;
  M A(2, 5, 4);
  CHECK(A.rows() == 2);
  CHECK(A.cols() == 5);
  CHECK(A.nonzeros() == 4);
  const pmpp::csr_view<double, short> arrays = A.arrays();
  pmpp::copy(std::vector<short>{0, 1, 3}, std::span(arrays.offsets, 3));
  pmpp::copy(std::vector<short>{4, 0, 2, 7}, std::span(arrays.columns, 4));
  pmpp::copy(std::vector<double>{1, 2, 3, 7}, std::span(arrays.values, 4));
  CHECK_THROWS_AS(A.truncate(5), std::invalid_argument);
  CHECK_THROWS_AS(A.truncate(-1), std::invalid_argument);
  A.truncate(3);
  const csr_matrix<double, short> wanted(2, 5, {0, 1, 3}, {4, 0, 2}, {1, 2, 3});
  CHECK(A.to_host() == wanted);
  M B;
  B = std::move(A);
  CHECK(B.to_host() == wanted);
  CHECK(B.view().values == arrays.values);
  M none(0, 0, 0);
  pmpp::copy(std::vector<short>{0}, std::span(none.arrays().offsets, 1));
  CHECK(none.to_host() == csr_matrix<double, short>());
  CHECK_THROWS_AS(M(-1, 1, 1), std::invalid_argument);
  CHECK_THROWS_AS(M(1, 1, 40000), std::length_error);
}

TEST_CASE("validate names what is broken") {
  using M = csr_matrix<float>;
  const auto said = [](const M& m) { return message_of([&] { m.validate(); }); };
  CHECK(said(M(-1, 2, {0}, {}, {})) == "pmpp::csr_matrix: the matrix has -1 rows and 2 columns");
  CHECK(said(M(2, 2, {0, 1}, {0}, {1})) == "pmpp::csr_matrix: there are 2 offsets, 2 rows need one more than rows");
  CHECK(said(M(1, 2, {0, 1}, {0}, {})) == "pmpp::csr_matrix: there are 1 columns and 0 values");
  CHECK(said(M(1, 2, {1, 1}, {0}, {1})) == "pmpp::csr_matrix: the first offset is 1, not 0");
  CHECK(said(M(3, 2, {0, 2, 1, 2}, {0, 1}, {1, 2})) == "pmpp::csr_matrix: row 1 begins at 2 and ends at 1");
  CHECK(said(M(2, 2, {0, 3, 2}, {0, 1}, {1, 2})) == "pmpp::csr_matrix: row 0 ends at 3, there are 2 nonzeros");
  CHECK(said(M(2, 2, {0, 1, 2}, {0, 2}, {1, 2})) ==
        "pmpp::csr_matrix: row 1, nonzero 1: column 2 is outside of [0, 2)");
  CHECK(said(M(2, 2, {0, 1, 2}, {-1, 0}, {1, 2})) ==
        "pmpp::csr_matrix: row 0, nonzero 0: column -1 is outside of [0, 2)");
  CHECK(said(M(2, 2, {0, 0, 1}, {0, 1}, {1, 2})) == "pmpp::csr_matrix: the last offset is 1, there are 2 nonzeros");
  CHECK(said(M(2, 2, {0, 1, 2}, {1, 0}, {1, 2})) == "");
}

TEST_CASE("bad input") {
  using M = csr_matrix<float>;
  CHECK_THROWS_AS(M::from_triplets(-1, 1, {}), std::invalid_argument);
  CHECK_THROWS_AS(M::from_triplets(1, -1, {}), std::invalid_argument);
  CHECK_THROWS_AS(M::from_triplets(std::int64_t(1) << 31, 1, {}), std::length_error);
  CHECK_THROWS_AS(M::from_triplets(2, 3, {{2, 0, 1.0f}}), std::out_of_range);
  CHECK_THROWS_AS(M::from_triplets(2, 3, {{0, -1, 1.0f}}), std::out_of_range);
  CHECK(message_of([] {
          M::from_triplets(2, 3, {{0, 0, 1.0f}, {1, 3, 1.0f}});
        }) == "pmpp::csr_matrix: nonzero 1 is at (1, 3), the matrix has 2 rows and 3 columns");
}
