// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of distributed/ block_matrix.hpp and summa.hpp: on 1, 4 and 9 ranks, for extents that do not divide and blocks
// without elements, products of matrices in blocks are those of plain loops; beta = 0 does not read what is there, alpha = 0 reads
// nothing; sums that are wider than C are rounded once; a second call allocates nothing; what does not fit throws and touches nothing.
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include <pmpp/distributed/block_matrix.hpp>
#include <pmpp/distributed/summa.hpp>

#include "support/dense.hpp"
#include "support/distributed.hpp"

namespace {

using test::dense, test::host_ranks, test::product;

struct shape {
  std::int64_t m, n, k;
};
constexpr shape shapes[] = {{0, 3, 4}, {3, 0, 4},   {3, 4, 0},  {1, 1, 1},
                            {2, 3, 5}, {17, 9, 23}, {9, 6, 12}, {40, 33, 70}};

template <class T, class S, class Ranks>
void check_gemm(Ranks ranks) {
  std::mt19937_64 random(test::seed());
  for (const int p : {1, 4, 9}) {
    const auto gpus = ranks(p);
    for (const shape& size : shapes) {
      CAPTURE(p);
      CAPTURE(size.m);
      CAPTURE(size.n);
      CAPTURE(size.k);
      const dense<T> a(size.m, size.k, random), b(size.k, size.n, random), c(size.m, size.n, random);
      const pmpp::block_matrix<T> A{gpus, a.view()}, B{gpus, b.view()};
      pmpp::block_matrix<T> C{gpus, c.view()};
      CHECK(pmpp::to_host(gpus, A) == a.values);
      pmpp::gemm(gpus, S(2), A, B, S(3), C);
      CHECK(pmpp::to_host(gpus, C) == product<S>(2, a, b, 3, c));
      CHECK(test::second_allocates_nothing(gpus, [&] { pmpp::gemm(gpus, S(1), A, B, S(0), C); }));
      const auto plain = product<S>(1, a, b, 0, c);
      CHECK(pmpp::to_host(gpus, C) == plain);
      pmpp::gemm(gpus, S(0), A, B, S(1), C);
      CHECK(pmpp::to_host(gpus, C) == plain);
    }
  }
}

}  // namespace

TEST_CASE("gemm of blocks") {
  check_gemm<int, int>([](int p) { return test::ranks(p); });
}
TEST_CASE("gemm of blocks: sums are wider than C, on ranks of the host") { check_gemm<std::int16_t, int>(host_ranks); }

TEST_CASE("gemm of blocks: beta = 0 does not read C, alpha = 0 neither A nor B") {
  const auto gpus = host_ranks(4);
  std::mt19937_64 random(test::seed());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const dense<double> a(7, 5, random), b(5, 4, random), c(7, 4, random);
  const std::vector<double> bad(35, nan);
  const pmpp::block_matrix<double> A{gpus, a.view()}, B{gpus, b.view()},
      broken{gpus, pmpp::matrix_view<const double>(bad.data(), 7, 5)};
  pmpp::block_matrix<double> C{gpus, pmpp::matrix_view<const double>(bad.data(), 7, 4)};
  pmpp::gemm(gpus, 1, A, B, 0, C);
  const auto expected = product<double>(1, a, b, 0, c);
  CHECK(pmpp::to_host(gpus, C) == expected);
  pmpp::gemm(gpus, 0, broken, B, 1, C);
  CHECK(pmpp::to_host(gpus, C) == expected);
}

TEST_CASE("block_matrix: what stands where") {
  const auto gpus = host_ranks(4);
  std::mt19937_64 random(test::seed());
  const dense<int> values(5, 3, random);
  const pmpp::block_matrix<int> A{gpus, values.view()};
  CHECK(A.side() == 2);
  CHECK(A.row_begin(1) == 3);
  CHECK(A.col_begin(1) == 2);
  for (int i = 0; i < 4; ++i) {
    const auto block = A.part(i);
    CHECK(block.rows() == A.rows_of(i / 2));
    CHECK(block.cols() == A.cols_of(i % 2));
    for (std::int64_t r = 0; r < block.rows(); ++r)
      for (std::int64_t s = 0; s < block.cols(); ++s)
        CHECK(block(r, s) == values(A.row_begin(i / 2) + r, A.col_begin(i % 2) + s));
  }
}

TEST_CASE("bad input of matrices in blocks") {
  const auto gpus = host_ranks(4), others = host_ranks(4);
  std::mt19937_64 random(test::seed());
  const dense<int> values(4, 4, random);
  const pmpp::block_matrix<int> A{gpus, values.view()}, wide{gpus, 4, 5}, elsewhere{others, 4, 4}, nowhere;
  pmpp::block_matrix<int> C{gpus, values.view()};
  CHECK_THROWS_WITH_AS((pmpp::block_matrix<int>{host_ranks(3), 4, 4}),
                       "pmpp::block_matrix: 3 ranks form no square of blocks; 1 would, and 4", std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::gemm(gpus, 1, A, elsewhere, 0, C),
                       "pmpp::gemm: B lies on other devices than those of the call", std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::gemm(gpus, 1, nowhere, A, 0, C),
                       "pmpp::gemm: A lies on other devices than those of the call, on none", std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::gemm(gpus, 1, wide, A, 0, C),
                       "pmpp::gemm: the shapes do not fit: A is 4 x 5, B is 4 x 4, C is 4 x 4", std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm(gpus, 1, A, C, 0, C), std::invalid_argument);
  CHECK_THROWS_AS((pmpp::block_matrix<int>{gpus, -1, 4}), std::length_error);
  CHECK_THROWS_AS((pmpp::block_matrix<int>{gpus, std::int64_t(1) << 40, std::int64_t(1) << 40}), std::length_error);
  CHECK_THROWS_WITH_AS(C.copy_from(gpus, pmpp::matrix_view<const int>(values.values.data(), 2, 8)),
                       "pmpp::block_matrix::copy_from: the values are 2 x 8, the matrix is 4 x 4",
                       std::invalid_argument);
  CHECK(pmpp::to_host(gpus, C) == values.values);
}
