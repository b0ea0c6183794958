// SPDX-License-Identifier: Apache-2.0
//
// gemm of complex doubles as one product of doubles (gemm/complex_numbers.hpp): the formula, for all layouts, batches, also those
// that share a matrix, and factors; what cannot go this way is left alone. Small integers are exact.
#include <pmpp/gemm.hpp>

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
  std::int64_t m, n, k, batch;
  bool ta, tb, shares_a, shares_b, c_by_columns;
};

/// Says whether it was multiplied so.
bool try_shape(const shape& s, complex alpha, complex beta) {
  CAPTURE(s.m);
  CAPTURE(s.n);
  CAPTURE(s.k);
  CAPTURE(s.batch);
  CAPTURE(s.ta);
  CAPTURE(s.tb);
  CAPTURE(s.shares_b);
  constexpr std::int64_t gap = 3;  // of C's rows
  const std::int64_t ldc = s.n + gap;
  const auto a = whole_numbers(s.batch * s.m * s.k), b = whole_numbers(s.batch * s.k * s.n),
             c = whole_numbers(s.batch * s.m * ldc);
  const auto a_there = where::put(a), b_there = where::put(b);
  auto c_there = where::put(c);
  const std::int64_t a_stride = s.shares_a ? 0 : s.m * s.k, b_stride = s.shares_b ? 0 : s.k * s.n;
  const pmpp::detail::gemm_problem<complex, complex, complex, complex, pmpp::no_epilogue> x{
      {a_there.data(), s.m, s.ta ? 1 : s.k, s.ta ? s.m : 1, a_stride},
      {b_there.data(), s.n, s.tb ? s.k : 1, s.tb ? 1 : s.n, b_stride},
      {c_there.data(), s.m, s.n, s.c_by_columns ? 1 : ldc, s.c_by_columns ? s.m : 1, s.m * ldc},
      s.k,
      s.batch,
      {alpha, beta, {}, false}};
  const typename where::policy policy{};
  const bool done = pmpp::detail::gemm_by_real_parts(policy, x, [&](const auto& y) {
    pmpp::detail::gemm_dispatch<pmpp::gemm_tuning_for<double>(), true, pmpp::detail::unrounded, double>(policy, y, {});
  });
  const auto got = where::get(c_there);
  if (!done) {
    CHECK(got == c);
    return false;
  }
  std::int64_t wrong = 0;
  for (std::int64_t t = 0; t < s.batch; ++t)
    for (std::int64_t i = 0; i < s.m; ++i)
      for (std::int64_t j = 0; j < ldc; ++j) {
        const auto at = static_cast<std::size_t>(t * s.m * ldc + i * ldc + j);
        complex sum(0, 0);
        for (std::int64_t p = 0; p < s.k && j < s.n; ++p)
          sum += a[static_cast<std::size_t>(t * a_stride + (s.ta ? p * s.m + i : i * s.k + p))] *
                 b[static_cast<std::size_t>(t * b_stride + (s.tb ? j * s.k + p : p * s.n + j))];
        wrong += got[at] != (j < s.n ? alpha * sum + beta * c[at] : c[at]);
      }
  CHECK(wrong == 0);
  return true;
}

}  // namespace

TEST_CASE("gemm of complex doubles, as one of doubles") {
  for (int i = 0; i < test::turns(40); ++i) {
    const auto size = [] { return test::random_of<std::int64_t>({1, 2, 3, 16, 17, 40}); };
    const shape s{size(), size(), size(), 1 + i % 3, (i & 1) != 0, (i & 2) != 0, i % 5 == 0, i % 7 == 0, false};
    CHECK(try_shape(s, complex(i % 4 - 1, i % 3), complex(i % 2, 0)));
  }
}

TEST_CASE("gemm of complex doubles: another way for a beta with an imaginary part, and for columns of C in one piece") {
  CHECK(!try_shape({5, 6, 7, 1, false, false, false, false, false}, complex(1, 0), complex(0, 1)));
  CHECK(!try_shape({5, 6, 7, 1, false, false, false, false, true}, complex(1, 0), complex(1, 0)));
  CHECK(!try_shape({5, 6, 0, 1, false, false, false, false, false}, complex(1, 0), complex(1, 0)));
}

#if PMPP_CUDA
TEST_CASE("gemm of complex doubles: so large that it is chosen") {
  if (test::only_small()) return;
  const std::int64_t n = 513;
  const auto a = whole_numbers(n * n), b = whole_numbers(n * n);
  const auto a_there = where::put(a), b_there = where::put(b);
  auto c_there = where::put(a);
  using view = pmpp::matrix_view<const complex>;
  pmpp::gemm(pmpp::device, complex(0, 1), view(a_there.data(), n, n), transposed(view(b_there.data(), n, n)), 0,
             pmpp::matrix_view<complex>(c_there.data(), n, n));
  const auto got = where::get(c_there);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < n; i += 57)
    for (std::int64_t j = 0; j < n; ++j) {
      complex sum(0, 0);
      for (std::int64_t p = 0; p < n; ++p)
        sum += a[static_cast<std::size_t>(i * n + p)] * b[static_cast<std::size_t>(j * n + p)];
      wrong += got[static_cast<std::size_t>(i * n + j)] != complex(0, 1) * sum;
    }
  CHECK(wrong == 0);
}
#endif
