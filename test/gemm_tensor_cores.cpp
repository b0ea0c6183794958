// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of gemm/mma.hpp, in the emulator and on a GPU: products of doubles, halves, bfloat16, 8-bit
// integers, and of floats in tf32 are those of the definition, for all layouts, leading dimensions, offsets and shapes;
// integers exactly; what lies around C stays; NaN, infinity, alpha, beta, epilogues, batches and splits of k as with
// ordinary units (test/gemm.cpp); the same bits on every run and for any order of blocks.
#include <pmpp/gemm.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>
#if PMPP_CUDA
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#else
#include <pmpp/simt/emulator.hpp>
#endif

#include "support/data.hpp"
#include "support/matrix.hpp"
#include "support/policies.hpp"

using pmpp::device, pmpp::matrix_view;
using test::check_product, test::layout, test::matrix, test::random_layout, test::random_of;
using where = test::device_place;

namespace {

// Tiles of two warps, so that small products have many in the emulator.
constexpr pmpp::gemm_tile flat{
    .m = 16, .n = 32, .k = 8, .stages = 3, .thread_m = 4, .thread_n = 4, .lanes_m = 4, .blocks = 1};
constexpr pmpp::gemm_tuning tiles{
    .large = flat,
    .small = flat,
    .wide = flat,
    .each = flat,
    .mma_large = {.m = 32, .n = 64, .warp_m = 32, .warp_n = 32, .stages = 3, .blocks = 1},
    .mma_small = {.m = 64, .n = 32, .warp_m = 32, .warp_n = 32, .stages = 2, .blocks = 1}};
constexpr pmpp::gemm_tuning tensor = PMPP_CUDA ? pmpp::gemm_tuning{} : tiles;
constexpr pmpp::gemm_options tf32{.precision = pmpp::gemm_precision::tf32};

/// Small integers, whose sums of products every type holds exactly; or numbers between -1 and 1.
template <class T>
std::vector<T> values(std::int64_t n, bool integers) {
  std::vector<T> v;
  for (const int x : test::random_values<int>(n))
    v.push_back(integers ? T(static_cast<float>(x % 8)) : T(static_cast<float>(x % 1000) / 1000));
  return v;
}
template <class T>
matrix<where, T> made(std::int64_t rows, std::int64_t cols, layout way, bool integers) {
  return {rows, cols, way, values<T>(matrix<where, T>::room(rows, cols, way), integers)};
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
  const bool integers = !std::is_same_v<T, double> && (sizeof(T) == 1 || test::generator()() % 2 == 0);
  const auto a = made<T>(m, k, a_way, integers), b = made<T>(k, n, b_way, integers);
  auto c = made<TC>(m, n, c_way, true);
  if constexpr (std::is_same_v<T, float>)
    pmpp::gemm<Tuning>(device, alpha, a.input(), b.input(), beta, c.view(), tf32);
  else
    pmpp::gemm<Tuning>(device, alpha, a.input(), b.input(), beta, c.view());
  const double eps = std::is_same_v<TC, double> ? std::numeric_limits<double>::epsilon()
                     : integers                 ? 0
                                                : double(std::numeric_limits<float>::epsilon());
  // Both factors of a product may be cut off behind 11 bits.
  check_product<TC>(a, b, c, alpha, beta, eps, std::is_same_v<T, float> && !integers ? 0x1p-9 : 0);
}

template <class T, class TC>
void try_shapes(int times) {
  for (int i = 0; i < times; ++i) {
    const auto size = [] { return random_of<std::int64_t>({0, 2, 3, 7, 15, 16, 17, 31, 32, 33, 64, 65, 70, 100}); };
    const double alpha = random_of({1.0, -2.0, 2.0}), beta = random_of({0.0, 0.0, 1.0, -3.0});
    try_shape<tensor, T, TC>(size(), size(), size(), random_layout(), random_layout(), random_layout(), alpha, beta);
  }
}

#if PMPP_CUDA
using half = __half;
#else
using half = _Float16;
#endif

constexpr int many = PMPP_CUDA ? 300 : 40;

}  // namespace

TEST_CASE("gemm on tensor cores: double") { try_shapes<double, double>(many); }
TEST_CASE("gemm on tensor cores: half") { try_shapes<half, float>(many); }
TEST_CASE("gemm on tensor cores: tf32") { try_shapes<float, float>(many); }
TEST_CASE("gemm on tensor cores: 8-bit integers") {
  try_shapes<std::int8_t, std::int32_t>(many);
#if PMPP_CUDA
  for (const std::int64_t n : {31, 64, 200}) {
    const matrix<where, std::uint8_t> a(n, n), b(n, n);
    matrix<where, std::int32_t> c(n, n);
    pmpp::gemm(device, 1, a.input(), b.input(), 0, c.view());
    check_product<std::int32_t>(a, b, c, 1, 0, 0);
  }
#endif
}

#if PMPP_CUDA
TEST_CASE("gemm on tensor cores: bfloat16") { try_shapes<__nv_bfloat16, float>(many); }

TEST_CASE("gemm on tensor cores: the tiles that it is made with, at and beside their edges") {
  const auto try_type = [](auto type, auto sum) {
    using T = decltype(type);
    using TC = decltype(sum);
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{128, 256, 64},
                                      {129, 257, 65},
                                      {127, 255, 300},
                                      {300, 520, 257},
                                      {300, 130, 512},
                                      {64, 64, 5000},
                                      {2, 3000, 100},
                                      {300, 5, 77}}) {
          try_shape<pmpp::gemm_tuning{}, T, TC>(m, n, k, {ta}, {tb}, {}, 1, 0);
          try_shape<pmpp::gemm_tuning{}, T, TC>(m, n, k, {ta, 8}, {tb, 3}, {ta != tb, 8}, 2, 1);
        }
  };
  try_type(double{}, double{});
  try_type(float{}, float{});
  try_type(__half{}, float{});
  try_type(__nv_bfloat16{}, float{});
  try_type(std::int8_t{}, std::int32_t{});
}
#else
TEST_CASE("gemm on tensor cores: the tiles that it is made with") {
  try_shape<pmpp::gemm_tuning{}, half, float>(130, 260, 70, {false, 1}, {true}, {}, 1, 0);
  try_shape<pmpp::gemm_tuning{}, half, float>(40, 50, 70, {}, {}, {}, 1, 0);
}

TEST_CASE("gemm on tensor cores: any order of blocks, any seed, one worker or several") {
  using order = pmpp::simt::block_order;
  const auto a = made<half>(40, 1200, {}, true), b = made<half>(1200, 70, {}, true);
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (const order o : {order::ascending, order::descending, order::shuffled}) {
      pmpp::simt::emulator_options options;
      options.threads = seed % 2 == 0 ? 1 : 2;
      options.order = o;
      options.seed = seed;
      const pmpp::simt::scoped_emulator_options scope(options);
      CAPTURE(seed);
      auto c = made<float>(40, 70, {}, true);
      pmpp::gemm<tensor>(device, 1, a.input(), b.input(), 0, c.view());
      check_product<float>(a, b, c, 1, 0, 0);
    }
}
#endif

TEST_CASE("gemm on tensor cores: k is split, and the same bits again") {
  const auto a = made<double>(33, 3000, {}, false), b = made<double>(3000, 40, {}, false);
  auto c = made<double>(33, 40, {}, false);
  pmpp::gemm<tensor>(device, 1, a.input(), b.input(), 2, c.view());
  check_product<double>(a, b, c, 1, 2, std::numeric_limits<double>::epsilon());
  pmpp::gemm<tensor>(device, 1, a.input(), b.input(), 0, c.view());
  const auto first = where::get(c.memory);
  for (int i = 0; i < 3; ++i) {
    pmpp::gemm<tensor>(device, 1, a.input(), b.input(), 0, c.view());
    CHECK(where::get(c.memory) == first);
  }
}

TEST_CASE("gemm on tensor cores: what is not needed is not read; NaN and infinity spread; half overflows") {
  const auto try_type = [](auto type, const auto& options) {
    using T = decltype(type);
    const T nan(std::numeric_limits<float>::quiet_NaN()), inf(std::numeric_limits<float>::infinity()), one(1.0f);
    const std::vector<T> ones(40 * 44, one), nans(40 * 44, nan);
    const matrix<where, T> a(40, 40, {}, ones), bad(40, 40, {}, nans);
    const auto all = [&](const matrix<where, T>& c, float wanted) {
      const auto got = where::get(c.memory);
      const auto v = c.view_of(got.data());
      for (std::int64_t i = 0; i < c.rows; ++i)
        for (std::int64_t j = 0; j < c.cols; ++j)
          if (!(static_cast<float>(v(i, j)) == wanted)) return false;
      return true;
    };
    matrix<where, T> c(40, 40, {}, nans);
    pmpp::gemm<tensor>(device, 1, a.input(), a.input(), 0, c.view(), options);  // beta = 0 does not read C
    CHECK(all(c, 40));
    pmpp::gemm<tensor>(device, 0, bad.input(), bad.input(), 2, c.view(), options);  // alpha = 0 reads neither A nor B
    CHECK(all(c, 80));
    pmpp::gemm<tensor>(device, 1, matrix_view<const T>(nullptr, 40, 0), matrix_view<const T>(nullptr, 0, 40), 0.5,
                       c.view(), options);  // k = 0
    CHECK(all(c, 40));
    auto some = ones;
    some[3 * 40 + 5] = nan;
    some[7 * 40] = inf;
    const matrix<where, T> spoilt(40, 40, {}, some);
    pmpp::gemm<tensor>(device, 1, spoilt.input(), a.input(), 0, c.view(), options);
    const auto got = where::get(c.memory);
    for (int i = 0; i < 40; ++i)
      for (int j = 0; j < 40; ++j) {
        const auto x = static_cast<float>(got[static_cast<std::size_t>(i * 40 + j)]);
        CHECK((i == 3 ? std::isnan(x) : i == 7 ? std::isinf(x) && x > 0 : x == 40));
      }
    if constexpr (sizeof(T) == 2) {
      pmpp::gemm<tensor>(device, 10000, a.input(), a.input(), 0, c.view(), options);
      const auto x = static_cast<float>(where::get(c.memory)[0]);
      CHECK(std::isinf(x));
    }
  };
  try_type(double{}, pmpp::gemm_options{});
  try_type(half{}, pmpp::gemm_options{});
  try_type(float{}, tf32);
}

namespace {
struct place_of {  // tells rows from columns
  PMPP_HOST_DEVICE float operator()(float, std::int64_t i, std::int64_t j) const { return float(1000 * i + j); }
};
}  // namespace

TEST_CASE("gemm on tensor cores: an epilogue sees each element with its place; batches") {
  for (const bool column_major : {false, true}) {
    const auto a = made<std::int8_t>(70, 40, {}, true), b = made<std::int8_t>(40, 33, {}, true);
    auto c = made<float>(70, 33, {column_major}, true);
    pmpp::gemm<tensor>(device, 1, a.input(), b.input(), 0, c.view(), pmpp::gemm_options{place_of{}});
    const auto got = where::get(c.memory);
    const auto z = c.view_of(got.data());
    for (std::int64_t i = 0; i < 70; ++i)
      for (std::int64_t j = 0; j < 33; ++j) CHECK(z(i, j) == float(1000 * i + j));
  }
  for (const std::int64_t n : {40, 9}) {  // the second: on ordinary units
    const std::int64_t batch = 3, stride = n * n + 3;
    const auto a = values<std::int8_t>(batch * stride, true), b = values<std::int8_t>(n * n, true);
    const auto a_there = where::put(a), b_there = where::put(b);
    auto c = where::put(std::vector<float>(static_cast<std::size_t>(batch * stride), 5));
    pmpp::gemm_batched<tensor>(device, 1, matrix_view<const std::int8_t>(a_there.data(), n, n), stride,
                               matrix_view<const std::int8_t>(b_there.data(), n, n), 0, 0,
                               matrix_view<float>(c.data(), n, n), stride, batch);
    const auto got = where::get(c);
    for (std::int64_t t = 0; t < batch; ++t)
      for (std::int64_t i = 0; i < stride; ++i) {
        float sum = i < n * n ? 0 : 5;
        if (i < n * n)
          for (std::int64_t p = 0; p < n; ++p)
            sum += static_cast<float>(a[static_cast<std::size_t>(t * stride + i / n * n + p)]) *
                   static_cast<float>(b[static_cast<std::size_t>(p * n + i % n)]);
        CHECK(got[static_cast<std::size_t>(t * stride + i)] == (t == batch - 1 && i >= n * n ? 5 : sum));
      }
  }
}
