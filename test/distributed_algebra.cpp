// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of distributed/ gemm.hpp, transpose.hpp and spmv.hpp: on 1, 2, 3, 5, 7 and 8 ranks, with blocks of rows that are
// even, random, empty, or all on one rank, products and transposed matrices are those of plain loops; beta = 0 does not read what is
// there, alpha = 0 reads nothing; sums that are wider than C are rounded once; shapes and blocks that do not fit, and matrices of
// other devices, throw and touch nothing. Elements are small integers, also where they are doubles: no sum is rounded, so all
// results are exact. Types that take long to compile for GPUs run on ranks of the host.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include <pmpp/distributed/gemm.hpp>
#include <pmpp/distributed/matrix.hpp>
#include <pmpp/distributed/transpose.hpp>

#include "support/dense.hpp"
#include "support/distributed.hpp"

namespace {

using test::dense, test::host_ranks, test::product;

template <class G, class T>
auto put_rows(const G& gpus, const dense<T>& a, test::layout how, std::mt19937_64& random) {
  auto x = pmpp::distributed_matrix<T>::with_rows(gpus, test::blocks(how, a.rows, gpus.size(), random), a.cols);
  x.copy_from(gpus, a.view());
  return x;
}

struct shape {
  std::int64_t m, n, k;
};
constexpr shape shapes[] = {{0, 3, 4}, {3, 0, 4}, {3, 4, 0}, {1, 1, 1}, {2, 3, 5}, {17, 9, 23}, {40, 33, 70}};

/// check(gpus, shape, layout of A, layout of B, random) for all of them.
template <class Ranks, class Check>
void everywhere(Ranks ranks, Check check) {
  std::mt19937_64 random(test::seed());
  for (const int p : test::rank_counts) {
    const auto gpus = ranks(p);
    for (const shape& size : shapes)
      for (const test::layout of_a : test::layouts) {
        CAPTURE(p);
        CAPTURE(size.m);
        CAPTURE(size.n);
        CAPTURE(size.k);
        CAPTURE(int(of_a));
        check(gpus, size, of_a, test::layouts[random() % std::size(test::layouts)], random);
      }
  }
}

template <class T, class TC, class S, class Ranks>
void check_gemm(Ranks ranks) {
  everywhere(ranks, [](const auto& gpus, const shape& size, test::layout of_a, test::layout of_b, auto& random) {
    const dense<T> a(size.m, size.k, random), b(size.k, size.n, random);
    const dense<TC> c(size.m, size.n, random);
    const auto A = put_rows(gpus, a, of_a, random), B = put_rows(gpus, b, of_b, random);
    auto C = pmpp::distributed_matrix<TC>::with_rows(gpus, A.row_sizes(), size.n);
    C.copy_from(gpus, c.view());
    pmpp::gemm(gpus, S(2), A, B, S(3), C);
    const auto expected = product<S>(2, a, b, 3, c);
    CHECK(pmpp::to_host(gpus, C) == expected);
    C.copy_from(gpus, c.view());
    std::vector<std::int64_t> begins{0};
    while (begins.back() < size.n) begins.push_back(std::min(size.n, begins.back() + 1 + std::int64_t(random() % 13)));
    pmpp::detail::multiply_by_panels(gpus, S(2), A, B, S(3), C, begins);
    CHECK(pmpp::to_host(gpus, C) == expected);
    pmpp::gemm(gpus, S(1), A, B, S(0), C);
    const auto plain = product<S>(1, a, b, 0, c);
    CHECK(pmpp::to_host(gpus, C) == plain);
    pmpp::gemm(gpus, S(0), A, B, S(1), C);
    CHECK(pmpp::to_host(gpus, C) == plain);
  });
}

}  // namespace

TEST_CASE("gemm") {
  check_gemm<int, int, int>([](int p) { return test::ranks(p); });
}
TEST_CASE("gemm: doubles, on ranks of the host") { check_gemm<double, double, double>(host_ranks); }
TEST_CASE("gemm: sums are wider than C, on ranks of the host") {
  check_gemm<std::int16_t, std::int16_t, int>(host_ranks);
}

TEST_CASE("gemm: beta = 0 does not read C, alpha = 0 neither A nor B; more columns than fit the rows of a view") {
  const auto gpus = host_ranks(3);
  std::mt19937_64 random(test::seed());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  dense<double> a(7, 5, random), b(5, 4, random), bad(7, 4, random);
  for (double& x : bad.values) x = nan;
  const pmpp::distributed_matrix<double> A{gpus, a.view()}, B{gpus, b.view()};
  pmpp::distributed_matrix<double> C{gpus, bad.view()}, broken{gpus, dense<double>(7, 5, random).view()};
  pmpp::gemm(gpus, 1, A, B, 0, C);
  const auto expected = product<double>(1, a, b, 0, dense<double>(7, 4, random));
  CHECK(pmpp::to_host(gpus, C) == expected);
  broken.copy_from(gpus, pmpp::matrix_view<const double>(std::vector<double>(35, nan).data(), 7, 5));
  pmpp::gemm(gpus, 0, broken, B, 1, C);
  CHECK(pmpp::to_host(gpus, C) == expected);
}

TEST_CASE("gemm: the second call allocates nothing") {
  const auto check = [](const auto& gpus, auto zero) {
    using T = decltype(zero);
    std::mt19937_64 random(test::seed());
    const pmpp::distributed_matrix<T> A{gpus, dense<T>(50, 70, random).view()},
        B{gpus, dense<T>(70, 40, random).view()};
    pmpp::distributed_matrix<T> C{gpus, 50, 40};
    CHECK(test::second_allocates_nothing(gpus, [&] { pmpp::gemm(gpus, 1, A, B, 0, C); }));
  };
  for (const int p : {1, 3, 4}) {
    check(test::ranks(p), 0);
    check(host_ranks(p), std::int16_t(0));  // with sums beside C
  }
}

TEST_CASE("gemv") {
  const auto check = [](const auto& gpus, const shape& size, test::layout of_a, test::layout of_x, auto& random) {
    const dense<double> a(size.m, size.k, random), x(size.k, 1, random), y(size.m, 1, random);
    const auto A = put_rows(gpus, a, of_a, random);
    const auto X = test::put(gpus, x.values, of_x, random);
    auto Y = pmpp::distributed_buffer<double>::with_sizes(gpus, A.row_sizes());
    Y.copy_from(y.values);
    pmpp::gemv(gpus, 2, A, X, -1, Y);
    CHECK(pmpp::to_host(gpus, Y) == product<double>(2, a, x, -1, y));
  };
  everywhere(host_ranks, check);
  everywhere([](int p) { return test::ranks(p); }, check);
}

TEST_CASE("transpose") {
  everywhere([](int p) { return test::ranks(p); },
             [](const auto& gpus, const shape& size, test::layout of_a, test::layout of_b, auto& random) {
               const dense<int> a(size.m, size.n, random);
               std::vector<int> expected;
               for (std::int64_t j = 0; j < size.n; ++j)
                 for (std::int64_t i = 0; i < size.m; ++i) expected.push_back(a(i, j));
               const auto A = put_rows(gpus, a, of_a, random);
               auto B = pmpp::distributed_matrix<int>::with_rows(gpus, test::blocks(of_b, size.n, gpus.size(), random),
                                                                 size.m);
               pmpp::transpose(gpus, A, B);
               CHECK(pmpp::to_host(gpus, B) == expected);
               CHECK(pmpp::to_host(gpus, A) == a.values);
             });
}

TEST_CASE("bad input of dense matrices") {
  const auto gpus = host_ranks(3), others = host_ranks(3);
  std::mt19937_64 random(test::seed());
  const dense<int> values(4, 4, random);
  const pmpp::distributed_matrix<int> A{gpus, values.view()}, wide{gpus, 4, 5}, elsewhere{others, 4, 4}, nowhere;
  pmpp::distributed_matrix<int> C{gpus, values.view()};
  auto uneven = pmpp::distributed_matrix<int>::with_rows(gpus, {4, 0, 0}, 4);
  CHECK_THROWS_WITH_AS(pmpp::gemm(gpus, 1, A, elsewhere, 0, C),
                       "pmpp::gemm: B lies on other devices than those of the call", std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::gemm(gpus, 1, nowhere, A, 0, C),
                       "pmpp::gemm: A lies on other devices than those of the call, on none", std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::gemm(gpus, 1, wide, A, 0, C),
                       "pmpp::gemm: the shapes do not fit: A is 4 x 5, B is 4 x 4, C is 4 x 4", std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::gemm(gpus, 1, A, A, 0, uneven), "pmpp::gemm: on rank 0 C has 4 rows, 2 are needed",
                       std::length_error);
  CHECK_THROWS_AS(pmpp::gemm(gpus, 1, A, C, 0, C), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::transpose(gpus, C, C), std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::transpose(gpus, wide, C), "pmpp::transpose: A is 4 x 5, so B must be 5 x 4, but is 4 x 4",
                       std::invalid_argument);
  pmpp::distributed_buffer<int> x{gpus, 4}, y{gpus, 4}, longer{gpus, 5};
  CHECK_THROWS_WITH_AS(pmpp::gemv(gpus, 1, A, longer, 0, y), "pmpp::gemv: A is 4 x 4, x has 5 elements",
                       std::length_error);
  CHECK_THROWS_WITH_AS(pmpp::gemv(gpus, 1, A, x, 0, longer), "pmpp::gemv: on rank 1 y has 2 elements, 1 are needed",
                       std::length_error);
  CHECK_THROWS_AS(pmpp::gemv(gpus, 1, A, y, 0, y), std::invalid_argument);
  CHECK_THROWS_AS((pmpp::distributed_matrix<int>{gpus, -1, 4}), std::length_error);
  CHECK_THROWS_AS((pmpp::distributed_matrix<int>{gpus, 4, -1}), std::length_error);
  CHECK_THROWS_AS((pmpp::distributed_matrix<int>{gpus, std::int64_t(1) << 40, std::int64_t(1) << 40}),
                  std::length_error);
  CHECK_THROWS_AS(C.copy_from(gpus, pmpp::matrix_view<const int>(values.values.data(), 2, 8)), std::invalid_argument);
  CHECK(pmpp::to_host(gpus, C) == values.values);
}
