// SPDX-License-Identifier: Apache-2.0
//
// gemm of complex doubles on tensor cores (gemm/mma.hpp): the formula, by all tiles, for all layouts, batches, also those that share a
// matrix, splits of k, factors and an epilogue that asks for places. Small integers are exact.
#include <pmpp/gemm.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

#if PMPP_CUDA
#include <cuda/std/complex>
using complex = cuda::std::complex<double>;
#else
#include <complex>
using complex = std::complex<double>;
#endif

#include "support/data.hpp"
#include "support/matrix.hpp"
#include "support/policies.hpp"

using where = test::device_place;

namespace {

std::vector<complex> whole_numbers(std::int64_t n) {
  const auto parts = test::random_values<std::uint8_t>(2 * n);
  std::vector<complex> v;
  for (std::size_t i = 0; i < parts.size(); i += 2) v.push_back(complex(parts[i] % 16 - 8, parts[i + 1] % 16 - 8));
  return v;
}

struct shape {
  std::int64_t m, n, k, batch, step;  ///< step: between neighbours of A and B
  bool ta, tb, shares_a, shares_b, c_by_columns;
  std::int64_t splits;
};

/// Tells every place from every other.
struct with_place {
  PMPP_HOST_DEVICE complex operator()(const complex& value, std::int64_t i, std::int64_t j) const {
    return value + complex(double(i), double(2 * j));
  }
};

template <pmpp::mma_tile Tile>
void try_shape(const shape& s, complex alpha, complex beta) {
  CAPTURE(s.m);
  CAPTURE(s.n);
  CAPTURE(s.k);
  CAPTURE(s.batch);
  CAPTURE(s.step);
  CAPTURE(s.ta);
  CAPTURE(s.tb);
  CAPTURE(s.shares_a);
  CAPTURE(s.shares_b);
  CAPTURE(s.c_by_columns);
  CAPTURE(s.splits);
  constexpr std::int64_t gap = 3;  // of C's lines
  const std::int64_t c_lines = s.c_by_columns ? s.n : s.m, ldc = (s.c_by_columns ? s.m : s.n) + gap;
  const auto a = whole_numbers(s.batch * s.m * s.k * s.step), b = whole_numbers(s.batch * s.k * s.n * s.step),
             c = whole_numbers(s.batch * c_lines * ldc);
  const auto a_there = where::put(a), b_there = where::put(b);
  auto c_there = where::put(c);
  const std::int64_t a_stride = s.shares_a ? 0 : s.m * s.k * s.step, b_stride = s.shares_b ? 0 : s.k * s.n * s.step;
  const pmpp::detail::gemm_problem<complex, complex, complex, complex, with_place> x{
      {a_there.data(), s.m, s.step * (s.ta ? 1 : s.k), s.step * (s.ta ? s.m : 1), a_stride},
      {b_there.data(), s.n, s.step * (s.tb ? s.k : 1), s.step * (s.tb ? 1 : s.n), b_stride},
      {c_there.data(), s.m, s.n, s.c_by_columns ? 1 : ldc, s.c_by_columns ? ldc : 1, c_lines * ldc},
      s.k,
      s.batch,
      {alpha, beta, {}, false}};
  const auto tiles = [](std::int64_t n, std::int64_t side) { return pmpp::ceil_div(n, side); };
  const std::int64_t split_k = pmpp::round_up(pmpp::ceil_div(std::max<std::int64_t>(1, s.k), s.splits), 8l),
                     splits = std::max<std::int64_t>(1, pmpp::ceil_div(s.k, split_k));
  pmpp::detail::gemm_by_mma<pmpp::simt::mma_type::float64, Tile>(
      typename where::policy{}, x, {tiles(s.m, Tile.m), tiles(s.n, Tile.n), splits, split_k, 0});
  const auto got = where::get(c_there);
  auto wanted = c;
  for (std::int64_t t = 0; t < s.batch; ++t)
    for (std::int64_t i = 0; i < s.m; ++i)
      for (std::int64_t j = 0; j < s.n; ++j) {
        complex sum(0, 0);
        for (std::int64_t p = 0; p < s.k; ++p)
          sum += a[static_cast<std::size_t>(t * a_stride + s.step * (s.ta ? p * s.m + i : i * s.k + p))] *
                 b[static_cast<std::size_t>(t * b_stride + s.step * (s.tb ? j * s.k + p : p * s.n + j))];
        complex& to =
            wanted[static_cast<std::size_t>(t * c_lines * ldc + (s.c_by_columns ? j * ldc + i : i * ldc + j))];
        to = with_place{}(alpha * sum + beta * to, i, j);
      }
  CHECK(got == wanted);
}

/// A B by gemm, beside its definition.
void try_call(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t past) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  const auto a = whole_numbers(m * k), b = whole_numbers(k * n);
  // Elements of std::complex may begin at odd multiples of 8 bytes.
  const auto put = [&](const std::vector<complex>& v) {
    std::vector<double> parts(static_cast<std::size_t>(past));
    for (const complex& x : v) parts.push_back(x.real()), parts.push_back(x.imag());
    return where::put(parts);
  };
  const auto a_there = put(a), b_there = put(b);
  auto c_there = where::put(whole_numbers(m * n));
  const auto view = [&](const auto& there, std::int64_t rows, std::int64_t cols) {
    return pmpp::matrix_view(reinterpret_cast<const complex*>(there.data() + past), rows, cols);
  };
  pmpp::gemm(typename where::policy{}, complex(0, 1), view(a_there, m, k), transposed(view(b_there, n, k)), 0,
             pmpp::matrix_view<complex>(c_there.data(), m, n));
  const auto got = where::get(c_there);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < m; i += 1 + m / 10)
    for (std::int64_t j = 0; j < n; ++j) {
      complex sum(0, 0);
      for (std::int64_t p = 0; p < k; ++p)
        sum += a[static_cast<std::size_t>(i * k + p)] * b[static_cast<std::size_t>(j * k + p)];
      wrong += got[static_cast<std::size_t>(i * n + j)] != complex(0, 1) * sum;
    }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("gemm of complex doubles on tensor cores") {
  for (int i = 0; i < test::turns(40); ++i) {
    const auto size = [] { return test::random_of<std::int64_t>({1, 2, 3, 8, 16, 17, 31, 33, 70}); };
    const shape s{size(),       size(),     size(),     1 + i % 3,    i % 6 == 5 ? 2 : 1, (i & 1) != 0,
                  (i & 2) != 0, i % 5 == 0, i % 7 == 0, (i & 4) != 0, 1 + i % 4};
    const complex alpha(i % 4 - 1, i % 3), beta(i % 2, i % 5 == 1);
    constexpr pmpp::mma_tile large = pmpp::detail::large_complex_tile, small = pmpp::detail::small_complex_tile;
    const bool fits = pmpp::machine_of(where::policy{}).fits(large.shared_bytes());
    i % 3 == 0 && fits ? try_shape<large>(s, alpha, beta) : try_shape<small>(s, alpha, beta);
  }
}

TEST_CASE("gemm of complex doubles: calls") {
  try_call(33, 40, 70, 0);
  try_call(100, 3, 2, 0);
  if (!test::only_small()) try_call(129, 70, 300, 0);
#if PMPP_CUDA
  if (!test::only_small()) try_call(513, 513, 513, 0);
#else
  try_call(33, 40, 70, 1);
#endif
}
