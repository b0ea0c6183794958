// SPDX-License-Identifier: Apache-2.0
//
// What this file and its neighbours (see support/convolutions.hpp) prove of convolution.hpp, on every policy: each result is the sum that its definition says, within the
// rounding of its additions, for masks of any size (even, one-sided, larger than a tile, larger than the input), every
// border, one, two and three dimensions, pitches, offsets and orientations; memory around the output stays as it was;
// pixels saturate and round; an impulse gives the mask back; NaN goes no further than the mask reaches; bad input throws
// and touches nothing; convolve_separable has the results of the mask of products. In the emulator also with small tiles and parts of masks, under other orders of blocks and
// threads. On a GPU also: masks in its memory, half, another stream, a graph replayed on changed data, and more than
// 2^31 elements.
#include <pmpp/convolution.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/captured_graph.hpp"
#include "support/convolutions.hpp"

using pmpp::matrix_view;
using pmpp::volume_view;
using namespace test::convolutions;

TEST_ALL_PLACES("the square masks that have kernels of their own, every border, whole and cut off tiles") {
  test::only_each fifth(5);
  for (const std::int64_t k : {3, 5, 7, 9})
    for (const border::rule& outside : rules) {
      if (fifth.leaves_out()) continue;
      check_matrix<standard, where, float, float, float>(70, 260, k, k, outside);
      check_matrix<standard, where, float, float, float>(33, 131, k, k, outside, {1, 2}, {3, 1});
      check_matrix<standard, where, float, float, float>(5, 4, k, k, outside, {4, 4}, {8, 0});
      if constexpr (where::on_device) check_matrix<tiny, where, float, float, float>(23, 300, k, k, outside);
    }
  for (const std::int64_t k : {3, 5, 7, 9})  // blocks that make several tiles
    check_matrix<standard, where, float, float, float>(300, 800, k, k, border::clamp);
  check_matrix<standard, where, float, float, float>(300, 800, 2, 3, border::mirror);
}

TEST_ALL_PLACES("masks of other sizes: even, one row, one column, larger than a tile and than the input") {
  test::only_each fifth(5);
  for (const auto& [rows, cols] : {std::pair{1, 1},
                                   {2, 2},
                                   {4, 4},
                                   {1, 2},
                                   {2, 1},
                                   {3, 6},
                                   {6, 3},
                                   {1, 9},
                                   {9, 1},
                                   {8, 10},
                                   {11, 7},
                                   {15, 15},
                                   {33, 33},
                                   {1, 70},
                                   {70, 1},
                                   {13, 66}}) {
    for (const border::rule& outside : rules) {
      if (fifth.leaves_out()) continue;
      check_matrix<standard, where, float, float, float>(21, 57, rows, cols, outside);
      if constexpr (where::on_device) {
        check_matrix<tiny, where, float, float, float>(9, 150, rows, cols, outside, {4, 10}, {0, 2});
      }
    }
    check_matrix<standard, where, float, float, float>(40, 300, rows, cols, border::clamp, {0, 20}, {0, 4});
  }
}

TEST_ALL_PLACES("inputs of one row, one column, one element") {
  for (const auto& [rows, cols] : {std::pair{1, 1}, {1, 7}, {7, 1}, {2, 3}, {1, 130}, {130, 1}})
    for (const border::rule& outside : rules)
      for (const auto& [k, l] : {std::pair{1, 1}, {3, 3}, {4, 2}, {1, 5}, {5, 1}, {9, 9}})
        check_matrix<standard, where, float, float, float>(rows, cols, k, l, outside);
}

TEST_ALL_PLACES("matrices by columns, and masks with strides of their own") {
  for (const bool a : {false, true})
    for (const bool b : {false, true})
      for (const bool m : {false, true}) {
        check_matrix<standard, where, float, float, float>(30, 140, 3, 5, border::wrap, {2, 1, a}, {1, 3, b},
                                                           {3, 2, m});
        check_matrix<standard, where, float, float, float>(140, 30, 3, 3, border::zero, {0, 4, a}, {4, 0, b},
                                                           {0, 0, m});
      }
}

TEST_ALL_PLACES("one dimension") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of({0, 1, 2, 31, 127, 1000, 9001}))
    for (const std::int64_t k : test::some_of({1, 2, 5, 8, 33, 129, 700}))
      for (const border::rule& outside : rules) {
        if (n * k > 1000000 && outside.what != border::kind::mirror) continue;
        const auto in = numbers<float>(n), mask = numbers<float>(k);
        const auto data = where::put(in);
        auto out = where::put(std::vector<float>(static_cast<std::size_t>(n), -5.0f));
        pmpp::convolve(policy, data, mask, out, outside);
        const auto got = where::get(out);
        const auto wanted = reference(in, {1, n > 0 ? 1 : 0, n}, mask, {1, 1, k}, outside);
        std::int64_t wrong = 0;
        for (std::size_t i = 0; i < got.size(); ++i) wrong += !agrees(got[i], wanted[i], k, 0x1p-23);
        CAPTURE(n);
        CAPTURE(k);
        CAPTURE(int(outside.what));
        CHECK(wrong == 0);
      }
}

TEST_ALL_PLACES("a mask of more taps than a kernel has parameters for") {
  check_matrix<standard, where, float, float, float>(10, 40, 50, 50, border::reflect);
  check_matrix<standard, where, float, float, float>(3, 20, 1, 2500, border::wrap);
}

TEST_ALL_PLACES("bad input throws before anything runs") {
  const typename where::policy policy{};
  const std::vector<float> before(100, 7);
  auto a = where::put(before), b = where::put(before);
  const std::vector<float> mask(9, 1);
  float* null = nullptr;
  const matrix_view<float> in(a.data(), 5, 6), out(b.data(), 5, 6);
  const matrix_view<const float> m(mask.data(), 3, 3);
  CHECK_THROWS_WITH_AS(pmpp::convolve(policy, in, m, matrix_view<float>(b.data(), 6, 5)),
                       "pmpp::convolve: the input is 1 x 5 x 6, so the output must be too, but is 1 x 6 x 5",
                       std::invalid_argument);
  CHECK_THROWS_AS(pmpp::convolve(policy, in, matrix_view<const float>(mask.data(), 0, 3), out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::convolve(policy, in, m, matrix_view<float>(null, 5, 6)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::convolve(policy, matrix_view<float>(null, 5, 6), m, out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::convolve(policy, in, matrix_view<float>(null, 3, 3), out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::convolve(policy, in, m, in), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::convolve(policy, in, m, matrix_view<float>(a.data() + 29, 5, 6)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::convolve(policy, a, mask, std::span<float>(b.data(), 99)), std::length_error);
  CHECK_THROWS_AS(pmpp::convolve(policy, a, mask, a), std::invalid_argument);
  const std::vector<float> taps(3, 1), none;
  CHECK_THROWS_WITH_AS(pmpp::convolve_separable(policy, in, taps, none, out),
                       "pmpp::convolve_separable: the mask has no taps: it is 1 x 1 x 0", std::invalid_argument);
  CHECK_THROWS_AS(pmpp::convolve_separable(policy, in, none, taps, out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::convolve_separable(policy, in, taps, taps, matrix_view<float>(b.data(), 6, 5)),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::convolve_separable(policy, in, taps, taps, matrix_view<float>(null, 5, 6)),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::convolve_separable(policy, in, taps, taps, in), std::invalid_argument);
  CHECK(where::get(a) == before);
  CHECK(where::get(b) == before);
  pmpp::convolve_separable(policy, matrix_view<float>(null, 0, 6), taps, taps, matrix_view<float>(null, 0, 6));
  pmpp::convolve(policy, matrix_view<float>(null, 0, 6), m, matrix_view<float>(null, 0, 6));  // nothing may be null
  const matrix_view<float> left(a.data(), 5, 4, 10), right(a.data() + 5, 5, 4, 10);           // side by side
  pmpp::convolve(policy, left, m, right);
}

#if !PMPP_CUDA
TEST_CASE("under other orders of blocks and threads") {
  for (const char* order : {"ascending", "descending", "shuffled"})
    for (const char* seed : {"1", "2"}) {
      setenv("PMPP_EMULATOR_ORDER", order, 1);
      setenv("PMPP_EMULATOR_SEED", seed, 1);
      check_matrix<tiny, test::device_place, float, float, float>(20, 270, 5, 5, border::wrap);
      check_matrix<tiny, test::device_place, std::uint8_t, float, std::uint8_t>(20, 270, 20, 21, border::mirror);
      check_separable<tiny, test::device_place, float, float, float, float>(40, 270, 9, 21, border::wrap);
    }
  unsetenv("PMPP_EMULATOR_ORDER");
  unsetenv("PMPP_EMULATOR_SEED");
}
#else
TEST_CASE("in another stream, captured with its taps, and replayed on changed data") {
  const std::int64_t rows = 200, cols = 412;
  const pmpp::stream stream;
  const auto policy = pmpp::device.on(stream);
  pmpp::device_buffer<float> a(rows * cols), b(rows * cols), c(rows * cols), d(rows * cols), e(rows * cols);
  const auto view = [&](pmpp::device_buffer<float>& x) { return matrix_view<float>(x.data(), rows, cols); };
  auto small = numbers<float>(25), taps_y = numbers<float>(9), taps_x = numbers<float>(14),
       middle = numbers<float>(12 * 11), large = numbers<float>(40 * 40);
  std::vector<float> kept_product;
  for (const float y : taps_y)
    for (const float x : taps_x) kept_product.push_back(y * x);
  const auto kept_small = small, kept_middle = middle, kept_large = large;
  const test::captured_graph replayed(stream, [&] {
    pmpp::convolve(policy, view(a), matrix_view<float>(small.data(), 5, 5), view(b));
    pmpp::convolve(policy, view(a), matrix_view<float>(middle.data(), 12, 11), view(c));
    pmpp::convolve(policy, view(a), matrix_view<float>(large.data(), 40, 40), view(d));
    pmpp::convolve_separable(policy, view(a), taps_y, taps_x, view(e));
  });
  for (auto* mask : {&small, &middle, &large, &taps_y, &taps_x})
    std::fill(mask->begin(), mask->end(), 1e9f);  // were read before
  for (int round = 0; round < 3; ++round) {
    const auto in = numbers<float>(rows * cols);
    pmpp::copy(stream, in, a);
    replayed.replay();
    stream.synchronize();
    const auto judge = [&](const pmpp::device_buffer<float>& out, const std::vector<float>& mask, shape taps) {
      const auto wanted = reference(in, {1, rows, cols}, mask, taps, border::zero);
      const auto got = pmpp::to_host(out);
      std::int64_t wrong = 0;
      for (std::size_t i = 0; i < got.size(); ++i) wrong += !agrees(got[i], wanted[i], taps.count(), 0x1p-23);
      CHECK(wrong == 0);
    };
    judge(b, kept_small, {1, 5, 5});
    judge(c, kept_middle, {1, 12, 11});
    judge(d, kept_large, {1, 40, 40});
    judge(e, kept_product, {1, 9, 14});
  }
}

TEST_CASE("past 2^31 and 2^32 elements") {
  const std::int64_t rows = 65537, cols = 65536 + 4;
  pmpp::device_buffer<std::uint8_t> in(static_cast<std::size_t>(rows * cols), std::uint8_t(3)), out(in.size());
  const std::vector<float> mask(9, 1);
  pmpp::convolve(pmpp::device, matrix_view<const std::uint8_t>(in.data(), rows, cols),
                 matrix_view<const float>(mask.data(), 3, 3), matrix_view<std::uint8_t>(out.data(), rows, cols));
  const auto last = pmpp::to_host(std::span<const std::uint8_t>(out.data() + (rows - 1) * cols, cols));
  const auto other = pmpp::to_host(std::span<const std::uint8_t>(out.data() + (rows - 2) * cols, cols));
  std::vector<std::uint8_t> at_edge(static_cast<std::size_t>(cols), 18), within(static_cast<std::size_t>(cols), 27);
  at_edge.front() = at_edge.back() = 12;
  within.front() = within.back() = 18;
  CHECK(last == at_edge);
  CHECK(other == within);
}
#endif
