// SPDX-License-Identifier: Apache-2.0
//
// Products on tensor cores, compared with their definition. Each type is up to a minute of compile time for a GPU, so that it
// has a file of its own:
//
//   gemm_tensor_cores.cpp   half
//   gemm_double.cpp         double
//   gemm_tf32.cpp           float, rounded to tf32
//   gemm_int8.cpp           integers of 1 byte
//   gemm_bfloat16_sums.cu   bfloat16 into float
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <pmpp/gemm.hpp>

#include "support/data.hpp"
#include "support/matrix.hpp"
#include "support/policies.hpp"

namespace test {

// Tiles of two warps, so that small products have many in the emulator.
inline constexpr pmpp::gemm_tile flat{
    .m = 16, .n = 32, .k = 8, .stages = 3, .thread_m = 4, .thread_n = 4, .lanes_m = 4, .blocks = 1};
inline constexpr pmpp::gemm_tuning tiles{
    .large = flat,
    .small = flat,
    .mma_large = {.m = 32, .n = 64, .warp_m = 32, .warp_n = 32, .stages = 3, .blocks = 1},
    .mma_small = {.m = 64, .n = 32, .warp_m = 32, .warp_n = 32, .stages = 2, .blocks = 1},
    .direct = false};
inline constexpr pmpp::gemm_tuning tensor = PMPP_CUDA ? pmpp::gemm_tuning{} : tiles;
inline constexpr pmpp::gemm_options tf32{.precision = pmpp::gemm_precision::tf32};

/// Small integers, whose sums of products every type holds exactly; or numbers between -1 and 1.
template <class T>
std::vector<T> values(std::int64_t n, bool integers) {
  std::vector<T> v;
  for (const int x : random_values<int>(n))
    v.push_back(integers ? T(static_cast<float>(x % 8)) : T(static_cast<float>(x % 1000) / 1000));
  return v;
}
template <class T>
matrix<device_place, T> made(std::int64_t rows, std::int64_t cols, layout way, bool integers) {
  return {rows, cols, way, values<T>(matrix<device_place, T>::room(rows, cols, way), integers)};
}

template <pmpp::gemm_tuning Tuning, class T, class TC>
void try_shape(std::int64_t m, std::int64_t n, std::int64_t k, layout a_way, layout b_way, layout c_way, double alpha,
               double beta) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(a_way.column_major);
  CAPTURE(a_way.gap);
  CAPTURE(a_way.step);
  CAPTURE(b_way.column_major);
  CAPTURE(b_way.gap);
  CAPTURE(b_way.step);
  CAPTURE(c_way.column_major);
  CAPTURE(alpha);
  CAPTURE(beta);
  const bool integers = !std::is_same_v<T, double> && (sizeof(T) == 1 || generator()() % 2 == 0);
  const auto a = made<T>(m, k, a_way, integers), b = made<T>(k, n, b_way, integers);
  auto c = made<TC>(m, n, c_way, true);
  if constexpr (std::is_same_v<T, float>)
    pmpp::gemm<Tuning>(pmpp::device, alpha, a.input(), b.input(), beta, c.view(), tf32);
  else
    pmpp::gemm<Tuning>(pmpp::device, alpha, a.input(), b.input(), beta, c.view());
  const double eps = std::is_same_v<TC, double> ? std::numeric_limits<double>::epsilon()
                     : integers                 ? 0
                                                : double(std::numeric_limits<float>::epsilon());
  // Both factors of a product may be cut off after 11 bits.
  check_product<TC>(a, b, c, alpha, beta, eps, std::is_same_v<T, float> && !integers ? 0x1p-9 : 0);
}

template <class T, class TC>
void try_shapes(int times) {
  for (int i = 0; i < turns(times); ++i) {
    const auto size = [] { return random_of<std::int64_t>({0, 2, 3, 7, 15, 16, 17, 31, 32, 33, 64, 65, 70, 100}); };
    const double alpha = random_of({1.0, -2.0, 2.0}), beta = random_of({0.0, 0.0, 1.0, -3.0});
    try_shape<tensor, T, TC>(size(), size(), size(), random_layout(), random_layout(), random_layout(), alpha, beta);
  }
}

inline constexpr int many = PMPP_CUDA ? 300 : 40;

/// The tiles that gemm is made with, at and beside their edges.
template <class T, class TC>
void try_edges() {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{128, 256, 64},
                                    {129, 257, 65},
                                    {127, 255, 300},
                                    {300, 520, 257},
                                    {300, 130, 512},
                                    {64, 64, 5000},
                                    {2, 3000, 100},
                                    {129, 70, 33},
                                    {300, 5, 77}}) {
        if (only_small() && m * n * k > 700000) continue;
        try_shape<pmpp::gemm_tuning{}, T, TC>(m, n, k, {ta}, {tb}, {}, 1, 0);
        try_shape<pmpp::gemm_tuning{}, T, TC>(m, n, k, {ta, 8}, {tb, 3}, {ta != tb, 8}, 2, 1);
      }
}

/// What is not needed is not read; NaN and infinity spread; half overflows.
template <class T, class Options = pmpp::gemm_options<>>
void try_special(const Options& options = {}) {
  const auto nan = static_cast<T>(std::numeric_limits<float>::quiet_NaN()),
             inf = static_cast<T>(std::numeric_limits<float>::infinity()), one = static_cast<T>(1.0f);
  const std::vector<T> ones(40 * 44, one), nans(40 * 44, nan);
  const matrix<device_place, T> a(40, 40, {}, ones), bad(40, 40, {}, nans);
  const auto all = [&](const matrix<device_place, T>& c, float wanted) {
    const auto got = device_place::get(c.memory);
    const auto v = c.view_of(got.data());
    for (std::int64_t i = 0; i < c.rows; ++i)
      for (std::int64_t j = 0; j < c.cols; ++j)
        if (!(static_cast<float>(v(i, j)) == wanted)) return false;
    return true;
  };
  matrix<device_place, T> c(40, 40, {}, nans);
  pmpp::gemm<tensor>(pmpp::device, 1, a.input(), a.input(), 0, c.view(), options);  // beta = 0 does not read C
  CHECK(all(c, 40));
  pmpp::gemm<tensor>(pmpp::device, 0, bad.input(), bad.input(), 2, c.view(),
                     options);  // alpha = 0 reads neither A nor B
  CHECK(all(c, 80));
  pmpp::gemm<tensor>(pmpp::device, 1, matrix_view<const T>(nullptr, 40, 0), matrix_view<const T>(nullptr, 0, 40), 0.5,
                     c.view(), options);  // k = 0
  CHECK(all(c, 40));
  auto some = ones;
  some[3 * 40 + 5] = nan;
  some[7 * 40] = inf;
  const matrix<device_place, T> spoilt(40, 40, {}, some);
  pmpp::gemm<tensor>(pmpp::device, 1, spoilt.input(), a.input(), 0, c.view(), options);
  const auto got = device_place::get(c.memory);
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 40; ++j) {
      const auto x = static_cast<float>(got[static_cast<std::size_t>(i * 40 + j)]);
      CHECK((i == 3 ? std::isnan(x) : i == 7 ? std::isinf(x) && x > 0 : x == 40));
    }
  if constexpr (sizeof(T) == 2) {
    pmpp::gemm<tensor>(pmpp::device, 10000, a.input(), a.input(), 0, c.view(), options);
    const auto x = static_cast<float>(device_place::get(c.memory)[0]);
    CHECK(std::isinf(x));
  }
}

}  // namespace test
