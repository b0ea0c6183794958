// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of gemm_grouped.hpp: each group's product is that of the definition, for views of any shape and layout and for
// rows that offsets hand out, no groups, empty ones and many; what lies around C stays; epilogues know their place and group;
// groups that make no sense are left out and counted; bad arguments throw.
#include <pmpp/gemm_grouped.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <vector>
#if PMPP_CUDA
#include <cuda_fp16.h>
#endif

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/matrix.hpp"
#include "support/policies.hpp"

using pmpp::matrix_view;
using test::random_of;

namespace {

#if PMPP_CUDA
using half = __half;
#else
using half = _Float16;
#endif

// Two warps, so that small groups have several tiles in the emulator.
constexpr pmpp::gemm_tile tile{
    .m = 32, .n = 64, .k = 8, .stages = 3, .thread_m = 4, .thread_n = 8, .lanes_m = 4, .blocks = 1};
constexpr pmpp::mma_tile mma{.m = 32, .n = 64, .warp_m = 32, .warp_n = 32, .stages = 3, .blocks = 1};
constexpr pmpp::gemm_grouped_tuning tiny{.large = tile, .small = tile, .mma_large = mma, .mma_small = mma};

template <class where>
constexpr auto tuning = PMPP_CUDA ? pmpp::gemm_grouped_tuning{} : test::tuned<where>(tiny);

/// Small integers, whose sums every type holds exactly.
template <class T>
std::vector<T> integers(std::int64_t n) {
  std::vector<T> v;
  for (const int x : test::random_values<int>(n)) v.push_back(T(static_cast<float>(x % 8)));
  return v;
}

/// C[i, j] of a product of integers, as alpha A B + beta C.
template <class View, class Other, class C>
float product_at(const View& a, const Other& b, const C& c, std::int64_t i, std::int64_t j, float alpha, float beta) {
  float sum = 0;
  for (std::int64_t p = 0; p < a.cols(); ++p) sum += static_cast<float>(a(i, p)) * static_cast<float>(b(p, j));
  return alpha * sum + (beta == 0 ? 0 : beta * c(i, j));
}

struct of_place {
  PMPP_HOST_DEVICE float operator()(float v, std::int64_t i, std::int64_t j) const {
    return v + static_cast<float>(i % 16 - j % 8);
  }
};

struct of_group {
  PMPP_HOST_DEVICE float operator()(float v, std::int64_t i, std::int64_t j, std::int64_t g) const {
    return v + static_cast<float>(i % 16 - j % 8 + 100 * g);
  }
};

/// Rows by offsets. A along k, or along m; B along n or along k.
template <class where, class T, class Epilogue>
void try_rows(const std::vector<int>& offsets, std::int64_t rows, std::int64_t n, std::int64_t k, bool a_down,
              bool b_down, std::int64_t gap, float beta, std::int64_t wrong, Epilogue f) {
  CAPTURE(rows);
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(a_down);
  CAPTURE(b_down);
  CAPTURE(gap);
  const auto groups = static_cast<std::int64_t>(offsets.size()) - 1, step = (k + gap) * (n + gap) + gap;
  const auto of_a = integers<T>((rows + gap) * (k + gap)), of_b = integers<T>(groups * step + 1);
  const auto of_c = integers<float>((rows + 1) * (n + gap) + 3);
  const auto a = where::put(of_a), b = where::put(of_b);
  const auto starts = where::put(offsets);
  auto c = where::put(of_c);
  auto left_out = where::put(std::vector<std::int64_t>{77});
  const auto view_a = [&](const T* x) {
    return a_down ? matrix_view<const T>(x, rows, k, std::int64_t(1), rows + gap)
                  : matrix_view<const T>(x, rows, k, k + gap);
  };
  const auto view_b = [&](const T* x) {
    return b_down ? matrix_view<const T>(x, k, n, std::int64_t(1), k + gap) : matrix_view<const T>(x, k, n, n + gap);
  };
  pmpp::gemm_grouped<tuning<where>>(typename where::policy{}, 2, view_a(a.data()), starts.data(), groups,
                                    view_b(b.data()), step, beta, matrix_view<float>(c.data(), rows, n, n + gap),
                                    left_out.data(), pmpp::gemm_options{f});
  auto wanted = of_c;
  const matrix_view<float> to(wanted.data(), rows, n, n + gap);
  for (std::int64_t g = 0; g < groups; ++g) {
    const int begin = offsets[static_cast<std::size_t>(g)], end = offsets[static_cast<std::size_t>(g + 1)];
    if (begin < 0 || end < begin || end > rows) continue;
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        float y = product_at(view_a(of_a.data()), view_b(of_b.data() + g * step), to, i, j, 2, beta);
        if constexpr (std::is_same_v<Epilogue, of_group>) y = f(y, i, j, g);
        if constexpr (std::is_same_v<Epilogue, of_place>) y = f(y, i, j);
        to(i, j) = y;
      }
  }
  CHECK(where::get(c) == wanted);
  CHECK(where::get(left_out)[0] == wrong);
}

}  // namespace

TEST_ALL_PLACES("gemm_grouped: rows by offsets: none, empty, many groups, any layout") {
  try_rows<where, float>({0}, 5, 3, 4, false, false, 0, 0, 0, of_group{});
  try_rows<where, float>({0, 0, 1, 1, 7, 40, 40}, 41, 70, 33, false, false, 0, 0, 0, of_group{});
  try_rows<where, float>({3, 35, 100}, 110, 20, 16, true, true, 3, -1, 0, of_group{});
  std::vector<int> many{0};
  for (int g = 0; g < 70; ++g) many.push_back(many.back() + static_cast<int>(test::generator()() % 5));
  try_rows<where, float>(many, many.back() + 1, 9, 12, false, true, 4, 1, 0, of_group{});
}

TEST_CASE("gemm_grouped: half, on tensor cores where words can be read, else by elements") {
  using where = test::device_place;
  const std::vector<int> offsets{0, 1, 40, 40, 75};
  for (const bool b_down : {false, true})
    for (const std::int64_t gap : {0, 3})
      try_rows<where, half>(offsets, 80, 72, 40, false, b_down, gap, 1, 0, of_group{});
  try_rows<where, half>(offsets, 80, 24, 70, true, false, 0, 0, 0, of_group{});
}

TEST_CASE("gemm_grouped: half in groups of a hundred rows and more, beside some that make no sense") {
  using where = test::device_place;
  const std::vector<int> offsets{0, 130, 387, 1000, 387, 388, 650};
  test::only_each some(1, 3);
  for (const bool b_down : {false, true})
    for (const std::int64_t gap : {0, 8}) {
      if (some.leaves_out()) continue;
      try_rows<where, half>(offsets, 700, 328, 72, false, b_down, gap, 0, 2, of_place{});
      try_rows<where, half>(offsets, 700, 120, 136, false, b_down, gap, -1, 2, of_place{});
      try_rows<where, half>({0, 256, 512, 768}, 768, 384, 64, false, b_down, gap, 1, 0, pmpp::no_epilogue{});
    }
}

TEST_ALL_PLACES("gemm_grouped: offsets that descend or lie outside are left out, and counted") {
  try_rows<where, float>({5, 3, 9, 12}, 12, 10, 6, false, false, 1, 0, 1, of_group{});
  try_rows<where, float>({-2, 4, 90, 8, 12, 13}, 12, 10, 6, false, false, 1, 1, 4, of_group{});
}

TEST_ALL_PLACES("gemm_grouped: views of any shape and layout; those that make no sense") {
  using group = pmpp::gemm_group<float, float, float>;
  std::vector<group> groups, here;
  const auto of_a = integers<float>(20000), of_b = integers<float>(20000), of_c = integers<float>(40000);
  const auto a = where::put(of_a), b = where::put(of_b);
  auto c = where::put(of_c);
  auto wanted = of_c;
  std::int64_t wrong = 0, used = 1;
  for (int g = 0; g < 45; ++g) {
    const auto size = [] { return random_of<std::int64_t>({0, 1, 3, 16, 33, PMPP_CUDA ? 130 : 40}); };
    const std::int64_t m = size(), n = random_of<std::int64_t>({1, 4, 17, 66}), k = size();
    const bool down = g % 2 == 0, other_down = g % 3 == 0, c_down = g % 5 == 0;
    const auto view = [&](auto* x, std::int64_t rows, std::int64_t cols, bool column_major) {
      using T = std::remove_pointer_t<decltype(x)>;
      return column_major ? matrix_view<T>(x, rows, cols, std::int64_t(1), rows + g % 4)
                          : matrix_view<T>(x, rows, cols, cols + g % 4);
    };
    const auto make = [&](const float* from_a, const float* from_b, float* to) {
      return group{view(from_a + g, m, k, down), view(from_b + g % 7, k, n, other_down), view(to + used, m, n, c_down)};
    };
    const std::int64_t room = (m + 4) * (n + 4);
    if (used + room > 40000) break;
    auto there = make(a.data(), b.data(), c.data());
    here.push_back(make(of_a.data(), of_b.data(), wanted.data()));
    if (g % 11 == 7) {
      there.a = g == 7 ? matrix_view<const float>(a.data(), m + 1, k) : matrix_view<const float>(nullptr, m, k + 1);
      here.back().c = {};
      ++wrong;
    } else {
      used += room;
    }
    groups.push_back(there);
  }
  const auto list = where::put(groups);
  auto left_out = where::put(std::vector<std::int64_t>{-1});
  pmpp::gemm_grouped<tuning<where>>(typename where::policy{}, -1, list.data(), std::int64_t(groups.size()), 0.5f,
                                    left_out.data());
  for (const group& y : here)
    for (std::int64_t i = 0; i < y.c.rows(); ++i)
      for (std::int64_t j = 0; j < y.c.cols(); ++j) y.c(i, j) = product_at(y.a, y.b, y.c, i, j, -1, 0.5f);
  CHECK(where::get(c) == wanted);
  CHECK(where::get(left_out)[0] == wrong);
}

TEST_ALL_PLACES("gemm_grouped: bad arguments throw") {
  using group = pmpp::gemm_group<float, float, float>;
  const typename where::policy policy{};
  auto some = where::put(std::vector<float>(100));
  const auto starts = where::put(std::vector<int>{0, 2});
  const matrix_view<const float> a(some.data(), 3, 4), b(some.data() + 20, 4, 5);
  const matrix_view<float> c(some.data() + 50, 3, 5), few(some.data() + 50, 2, 5), over(some.data() + 2, 3, 5);
  CHECK_THROWS_AS(pmpp::gemm_grouped<tuning<where>>(policy, 1, static_cast<const group*>(nullptr), 2, 0),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm_grouped<tuning<where>>(policy, 1, static_cast<const group*>(nullptr), -1, 0),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm_grouped<tuning<where>>(policy, 1, a, starts.data(), 1, b, 20, 0, few),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm_grouped<tuning<where>>(policy, 1, a, starts.data(), 1, b, 20, 0, over),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm_grouped<tuning<where>>(policy, 1, a, starts.data(), -1, b, 20, 0, c),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm_grouped<tuning<where>>(policy, 1, a, static_cast<const int*>(nullptr), 1, b, 20, 0, c),
                  std::invalid_argument);
  pmpp::gemm_grouped<tuning<where>>(policy, 1, static_cast<const group*>(nullptr), 0, 0);
}

#if PMPP_CUDA
TEST_CASE("gemm_grouped: a graph takes the offsets that are there when it runs") {
  using where = test::device_place;
  const std::int64_t rows = 90, n = 24, k = 16;
  const auto of_a = integers<float>(rows * k), of_b = integers<float>(2 * k * n);
  const auto a = where::put(of_a), b = where::put(of_b);
  auto c = where::put(std::vector<float>(rows * n));
  auto starts = where::put(std::vector<int>{0, 0, 0});
  const matrix_view<const float> view_a(a.data(), rows, k), view_b(b.data(), k, n);
  pmpp::stream stream;
  pmpp::synchronize(pmpp::device);
  const test::captured_graph graph(stream, [&] {
    pmpp::gemm_grouped(pmpp::device.on(stream), 1, view_a, starts.data(), 2, view_b, k * n, 0,
                       matrix_view<float>(c.data(), rows, n));
  });
  for (const int middle : {1, 40, 90}) {
    pmpp::copy(stream, std::vector<int>{0, middle, 90}, starts);
    graph.replay();
    stream.synchronize();
    std::vector<float> wanted(rows * n);
    const matrix_view<float> to(wanted.data(), rows, n);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        to(i, j) = product_at(matrix_view<const float>(of_a.data(), rows, k),
                              matrix_view<const float>(of_b.data() + (i < middle ? 0 : k * n), k, n), to, i, j, 1, 0);
    CHECK(where::get(c) == wanted);
  }
}
#endif
