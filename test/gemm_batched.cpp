// SPDX-License-Identifier: Apache-2.0
//
// Batches of products. See gemm.cpp.
#include <pmpp/gemm.hpp>

#include <array>
#include <cmath>
#include <cstdint>

#include "support/data.hpp"
#include "support/gemm_tunings.hpp"
#include "support/matrix.hpp"
#include "support/policies.hpp"

using pmpp::matrix_view;
using pmpp::transposed;
using test::random_of, test::tiny;

TEST_ALL_PLACES("gemm_batched: products side by side, or of one shared matrix") {
  const typename where::policy policy{};
  for (const auto& [m, n, k, batch] : {std::array<std::int64_t, 4>{5, 7, 9, 20},
                                       {32, 32, 32, 6},
                                       {16, 40, 8, 3},
                                       {1, 1, 1, 300},
                                       {3, 65, 130, 2},
                                       {4, 4, 4, 0}}) {
    CAPTURE(m);
    CAPTURE(batch);
    const std::int64_t a_stride = m * k + 2, c_stride = m * n + 1;
    const auto a = test::random_values<int>(a_stride * batch + 1), b = test::random_values<int>(k * n);
    const auto c = test::random_values<int>(c_stride * batch + 1);
    const auto a_there = where::put(a), b_there = where::put(b);
    auto c_there = where::put(c);
    pmpp::gemm_batched<tiny>(policy, 2, matrix_view(a_there.data(), m, k), a_stride,
                             matrix_view<const int>(b_there.data(), k, n), 0, -1, matrix_view(c_there.data(), m, n),
                             c_stride, batch);
    auto wanted = c;
    for (std::int64_t t = 0; t < batch; ++t)
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          int sum = 0;
          for (std::int64_t p = 0; p < k; ++p)
            sum += a[static_cast<std::size_t>(t * a_stride + i * k + p)] * b[static_cast<std::size_t>(p * n + j)];
          int& to = wanted[static_cast<std::size_t>(t * c_stride + i * n + j)];
          to = 2 * sum - to;
        }
    CHECK(where::get(c_there) == wanted);
  }
}

namespace {

/// Adds what only the place within a product determines.
struct add_place {
  PMPP_HOST_DEVICE int operator()(int value, std::int64_t i, std::int64_t j) const {
    return value + static_cast<int>(100 * i + j);
  }
};

}  // namespace

// Without gaps they are one product, unless the epilogue asks where an element is.
TEST_ALL_PLACES("gemm_batched: products that share a matrix and follow each other") {
  const typename where::policy policy{};
  for (const auto& [m, n, k, batch] :
       {std::array<std::int64_t, 4>{5, 7, 9, 20}, {1, 6, 3, 40}, {6, 1, 3, 40}, {1, 1, 5, 30}, {33, 8, 20, 2}})
    for (const bool shares_a : {false, true})
      for (const bool asks : {false, true}) {
        CAPTURE(m);
        CAPTURE(n);
        CAPTURE(shares_a);
        CAPTURE(asks);
        // Of A that is shared, B and C follow each other as columns.
        const std::int64_t a_stride = shares_a ? 0 : m * k, b_stride = shares_a ? n : 0, row = shares_a ? n * batch : n,
                           c_stride = shares_a ? n : m * n;
        const auto a = test::random_values<int>(m * k * batch), b = test::random_values<int>(k * n * batch);
        const auto c = test::random_values<int>(m * n * batch);
        const auto a_there = where::put(a), b_there = where::put(b);
        auto c_there = where::put(c);
        const matrix_view<const int> left(a_there.data(), m, k), right(b_there.data(), k, n, row, std::int64_t(1));
        const matrix_view<int> to(c_there.data(), m, n, row, std::int64_t(1));
        if (asks)
          pmpp::gemm_batched<tiny>(policy, 1, left, a_stride, right, b_stride, 2, to, c_stride, batch,
                                   pmpp::gemm_options{add_place{}});
        else
          pmpp::gemm_batched<tiny>(policy, 1, left, a_stride, right, b_stride, 2, to, c_stride, batch);
        auto wanted = c;
        for (std::int64_t t = 0; t < batch; ++t)
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
              int& element = wanted[static_cast<std::size_t>(t * c_stride + i * row + j)];
              element *= 2;
              for (std::int64_t p = 0; p < k; ++p)
                element += a[static_cast<std::size_t>(t * a_stride + i * k + p)] *
                           b[static_cast<std::size_t>(t * b_stride + p * row + j)];
              if (asks) element = add_place{}(element, i, j);
            }
        CHECK(where::get(c_there) == wanted);
      }
}

namespace {

/// C = 2 A B - C of floats whose sums are exact, in default tiles.
template <class where>
void try_floats(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch, bool ta, bool tb, bool tc) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(ta);
  CAPTURE(tb);
  const auto values = [&](std::int64_t size) {
    auto v = test::random_values<float>(size * batch);
    for (float& x : v) x = std::round(4 * x);  // exact sums
    return v;
  };
  const auto view = [](auto* data, std::int64_t rows, std::int64_t cols, bool turned) {
    return turned ? transposed(matrix_view(data, cols, rows)) : matrix_view(data, rows, cols);
  };
  const auto a = values(m * k + 3), b = values(k * n + 1), c = values(m * n + 2);
  const auto a_there = where::put(a), b_there = where::put(b);
  auto c_there = where::put(c);
  pmpp::gemm_batched(typename where::policy{}, 2, view(a_there.data(), m, k, ta), m * k + 3,
                     view(b_there.data(), k, n, tb), k * n + 1, -1, view(c_there.data(), m, n, tc), m * n + 2, batch);
  auto wanted = c;
  for (std::int64_t t = 0; t < batch; ++t) {
    const auto x = view(a.data() + t * (m * k + 3), m, k, ta), y = view(b.data() + t * (k * n + 1), k, n, tb);
    const auto z = view(wanted.data() + t * (m * n + 2), m, n, tc);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (std::int64_t p = 0; p < k; ++p) sum += x(i, p) * y(p, j);
        z(i, j) = 2 * sum - z(i, j);
      }
  }
  CHECK(where::get(c_there) == wanted);
}

}  // namespace

TEST_ALL_PLACES("gemm_batched: very many products of at most 32 x 32, any layout") {
  const std::int64_t batch = PMPP_CUDA ? 3001 : 43;  // enough for a warp each; the last block has warps to spare
  for (int round = 0; round < 24; round += test::only_small() ? 5 : 1) {
    const bool small = round < 12;
    const auto side = [&] {
      return small ? random_of<std::int64_t>({1, 2, 7, 15, 16}) : random_of<std::int64_t>({3, 16, 17, 24, 31, 32});
    };
    const std::int64_t m = side(), n = side(), k = random_of<std::int64_t>({0, 1, 5, 15, 16, 17, 50});
    try_floats<where>(m, n, k, batch, round & 1, round & 2, round & 4);
  }
}

TEST_ALL_PLACES("gemm_batched: matrices times vectors") {
  for (int round = 0; round < test::turns(16); ++round) {
    const std::int64_t m = random_of<std::int64_t>({1, 3, 4, 31, 40, 129, 300}),
                       k = random_of<std::int64_t>({0, 1, 33, 64, 200, 3000}),
                       batch = random_of<std::int64_t>({2, 3, 9});
    const bool of_rows = round % 2 == 1;
    try_floats<where>(of_rows ? 1 : m, of_rows ? m : 1, k, batch, round & 2, round & 4, round & 8);
  }
}

TEST_CASE("gemm_batched: a batch of more products than one call takes goes in parts, which are those products") {
  const std::int64_t m = 3, n = 2, k = 4, batch = 8, c_stride = 7;
  const auto a = test::random_values<int>(m * k * batch), b = test::random_values<int>(k * n);
  for (const std::int64_t most : {1, 3, 4, 8, 100}) {
    CAPTURE(most);
    auto wanted = test::random_values<int>(c_stride * batch);
    auto c = wanted;
    const auto problem_of = [&](int* to) {
      return pmpp::detail::gemm_problem<int, int, int, int, pmpp::no_epilogue>{
          {a.data(), m, k, 1, m * k}, {b.data(), n, 1, n, 0}, {to, m, n, n, 1, c_stride}, k, batch, {2, -1, {}, false}};
    };
    pmpp::detail::gemm_by_definition<int>(problem_of(wanted.data()));
    std::int64_t seen = 0;
    pmpp::detail::each_part_of_batch(problem_of(c.data()), most, [&](const auto& part) {
      CHECK((part.batch > 0 && part.batch <= most));
      seen += part.batch;
      pmpp::detail::gemm_by_definition<int>(part);
    });
    CHECK(seen == batch);
    CHECK(c == wanted);
  }
  const auto of = [](std::int64_t rows, std::int64_t cols) {
    return pmpp::detail::gemm_problem<int, int, int, int, pmpp::no_epilogue>{
        {nullptr, rows, 1, 1, 0}, {nullptr, cols, 1, 1, 0}, {nullptr, rows, cols, cols, 1, 0}, 1, 1, {1, 0, {}, false}};
  };
  CHECK(pmpp::detail::most_products(of(1, 1)) == std::int64_t(1) << 30);
  CHECK(pmpp::detail::most_products(of(16, 8)) == std::int64_t(1) << 27);
  CHECK(pmpp::detail::most_products(of(std::int64_t(1) << 20, std::int64_t(1) << 20)) == 1);
}
