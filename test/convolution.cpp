// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of convolution.hpp, on every policy: each result is the sum that its definition says, within the
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

#include "support/borders.hpp"
#include "support/data.hpp"
#include "support/policies.hpp"
#if PMPP_CUDA
#include <cuda_fp16.h>
#endif

using pmpp::matrix_view;
using pmpp::volume_view;
namespace border = pmpp::border;

namespace {

constexpr pmpp::convolution_tuning standard{};
// clang-format off
constexpr pmpp::convolution_tuning tiny{
    .warps = 2, .rows = 2, .groups = 1, .blocks = 1, .part = 8, .line_warps = 2, .line_groups = 1, .line_blocks = 1, .small_warps = 1,
    .small_rows = 2, .small_blocks = 1, .separable_warps = 2, .separable_rows = 4, .separable_blocks = 1, .separable_part = 8};
// clang-format on
/// Square masks of 11, 13 and 15 taps a side walk down strips, however small the matrix is.
constexpr pmpp::convolution_tuning in_strips{.strip_least = 0};

struct shape {
  std::int64_t depth, height, width;
  std::int64_t count() const { return depth * height * width; }
};
std::string text(const shape& s) {
  return std::to_string(s.depth) + " x " + std::to_string(s.height) + " x " + std::to_string(s.width);
}

template <class T>
double as_double(const T& x) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(x);
  else
    return static_cast<double>(static_cast<float>(x));
}

/// What a result should be, and how far from it rounding may lead.
struct expected {
  double value = 0, magnitude = 0;
};
template <class In, class Tap>
std::vector<expected> reference(const std::vector<In>& in, const shape& size, const std::vector<Tap>& mask,
                                const shape& taps, const border::rule& outside) {
  const auto axis = [&](std::int64_t n, std::int64_t k) {  // [result][tap] -> element
    std::vector<std::int64_t> at;
    for (std::int64_t i = -(k / 2); n > 0 && i < n + k; ++i) at.push_back(test::walked(i, n, outside));
    std::vector<std::vector<std::int64_t>> all;
    for (std::int64_t i = 0; i < n; ++i) all.emplace_back(at.begin() + i, at.begin() + i + k);
    return all;
  };
  const auto z = axis(size.depth, taps.depth), y = axis(size.height, taps.height), x = axis(size.width, taps.width);
  std::vector<expected> all;
  for (const auto& from_z : z)
    for (const auto& from_y : y)
      for (const auto& from_x : x) {
        expected e;
        std::size_t tap = 0;
        for (const std::int64_t i : from_z)
          for (const std::int64_t j : from_y)
            for (const std::int64_t k : from_x) {
              const double element =
                  i < 0 || j < 0 || k < 0
                      ? outside.value
                      : as_double(in[static_cast<std::size_t>((i * size.height + j) * size.width + k)]);
              e.value += element * as_double(mask[tap]);
              e.magnitude += std::abs(element * as_double(mask[tap++]));
            }
        all.push_back(e);
      }
  return all;
}

template <class Out>
bool agrees(Out got, const expected& e, std::int64_t taps, double epsilon) {
  const double bound = static_cast<double>(taps + 2) * epsilon * e.magnitude;
  if constexpr (std::is_integral_v<Out>) {
    const double low = std::numeric_limits<Out>::lowest(), high = std::numeric_limits<Out>::max();
    const double least = std::clamp(std::round(e.value - bound), low, high);
    const double most = std::clamp(std::round(e.value + bound), low, high);
    return as_double(got) >= least && as_double(got) <= most;
  } else {
    const double own = std::is_arithmetic_v<Out> ? static_cast<double>(std::numeric_limits<float>::epsilon()) : 0x1p-10;
    return std::abs(as_double(got) - e.value) <= bound + (sizeof(Out) < 8 ? own * std::abs(e.value) : 0);
  }
}

/// How views lie in memory.
struct placing {
  std::int64_t before = 0, gap = 0;
  bool by_columns = false;
};

template <class T>
matrix_view<T> matrix_of(T* p, std::int64_t rows, std::int64_t cols, const placing& at) {
  if (at.by_columns) return transposed(matrix_view<T>(p + at.before, cols, rows, rows + at.gap));
  return {p + at.before, rows, cols, cols + at.gap};
}
template <class T>
std::vector<T> laid_out(const std::vector<T>& dense, std::int64_t rows, std::int64_t cols, const placing& at,
                        T filler) {
  std::vector<T> all(static_cast<std::size_t>(at.before + (rows + cols + at.gap) * (std::max(rows, cols) + at.gap) + 9),
                     filler);
  const auto v = matrix_of(all.data(), rows, cols, at);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j) v(i, j) = dense[static_cast<std::size_t>(i * cols + j)];
  return all;
}

/// Numbers that a type holds, small enough that sums of float stay exact enough to be judged.
template <class T>
std::vector<T> numbers(std::int64_t n) {
  std::vector<T> v;
  for (const double x : test::random_values<double>(n)) {
    if constexpr (std::is_same_v<T, std::uint8_t>)
      v.push_back(static_cast<T>((x + 1) * 127.9));
    else if constexpr (std::is_integral_v<T>)
      v.push_back(static_cast<T>(x * 30000));
    else
      v.push_back(static_cast<T>(static_cast<float>(x)));
  }
  return v;
}

template <pmpp::convolution_tuning Tuning, class where, class In, class Tap, class Out>
void check_matrix(std::int64_t rows, std::int64_t cols, std::int64_t mask_rows, std::int64_t mask_cols,
                  const border::rule& outside, const placing& from = {}, const placing& to = {},
                  const placing& mask_at = {}) {
  const auto in = numbers<In>(rows * cols);
  auto mask = numbers<Tap>(mask_rows * mask_cols);
  if constexpr (!std::is_integral_v<Tap>)
    for (auto& tap : mask) tap = static_cast<Tap>(static_cast<float>(tap) * 0.3f);
  const auto data = where::put(laid_out(in, rows, cols, from, In(77)));
  const auto taps = laid_out(mask, mask_rows, mask_cols, mask_at, Tap(99));
  const auto taps_there = where::put(taps);
  const Out guard = Out(55);
  const std::vector<Out> before =
      laid_out(std::vector<Out>(static_cast<std::size_t>(rows * cols), guard), rows, cols, to, guard);
  const auto wanted = reference(in, {1, rows, cols}, mask, {1, mask_rows, mask_cols}, outside);
  for (const bool mask_here : {true, false}) {  // in the host's memory, or where the data are
    auto out = where::put(before);
    pmpp::convolve<test::tuned<where>(Tuning)>(
        typename where::policy{}, matrix_of(data.data(), rows, cols, from),
        matrix_of(mask_here ? taps.data() : taps_there.data(), mask_rows, mask_cols, mask_at),
        matrix_of(out.data(), rows, cols, to), outside);
    auto got = where::get(out);
    const auto view = matrix_of(got.data(), rows, cols, to);
    std::int64_t wrong = 0, touched = 0;
    const double epsilon = std::is_same_v<pmpp::detail::sum_of<In, Tap, Out>, double> ? 0x1p-52 : 0x1p-23;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) {
        wrong += !agrees(view(i, j), wanted[static_cast<std::size_t>(i * cols + j)], mask_rows * mask_cols, epsilon);
        view(i, j) = guard;
      }
    for (const Out& x : got) touched += as_double(x) != as_double(guard);
    CAPTURE(sizeof(In));
    CAPTURE(text({1, rows, cols}));
    CAPTURE(text({1, mask_rows, mask_cols}));
    CAPTURE(int(outside.what));
    CAPTURE(from.before);
    CAPTURE(from.gap);
    CAPTURE(mask_here);
    CHECK(wrong == 0);
    CHECK(touched == 0);
    if (!where::on_device || !PMPP_CUDA) break;
  }
}

/// Against the sum over the whole mask, whose taps are products.
template <pmpp::convolution_tuning Tuning, class where, class In, class TapY, class TapX, class Out>
void check_separable(std::int64_t rows, std::int64_t cols, std::int64_t size_y, std::int64_t size_x,
                     const border::rule& outside, const placing& from = {}, const placing& to = {}) {
  const auto in = numbers<In>(rows * cols);
  auto mask_y = numbers<TapY>(size_y);
  auto mask_x = numbers<TapX>(size_x);
  if constexpr (std::is_integral_v<TapX>)  // sums that float holds
    for (auto& tap : mask_x) tap = static_cast<TapX>(tap / 1000);
  std::vector<double> mask;
  for (const TapY& y : mask_y)
    for (const TapX& x : mask_x) mask.push_back(as_double(y) * as_double(x));
  const auto data = where::put(laid_out(in, rows, cols, from, In(77)));
  const auto there_y = where::put(mask_y);
  const auto there_x = where::put(mask_x);
  const Out guard = Out(55);
  const auto before = laid_out(std::vector<Out>(static_cast<std::size_t>(rows * cols), guard), rows, cols, to, guard);
  const auto wanted = reference(in, {1, rows, cols}, mask, {1, size_y, size_x}, outside);
  for (const bool masks_here : {true, false}) {  // in the host's memory, or where the data are
    auto out = where::put(before);
    const auto a = matrix_of(data.data(), rows, cols, from);
    const auto b = matrix_of(out.data(), rows, cols, to);
    if (masks_here)
      pmpp::convolve_separable<test::tuned<where>(Tuning)>(typename where::policy{}, a, mask_y, mask_x, b, outside);
    else
      pmpp::convolve_separable<test::tuned<where>(Tuning)>(typename where::policy{}, a, there_y, there_x, b, outside);
    auto got = where::get(out);
    const auto view = matrix_of(got.data(), rows, cols, to);
    std::int64_t wrong = 0, touched = 0;
    const bool wide = std::is_same_v<pmpp::detail::sum_of<In, TapY, Out>, double> || std::is_same_v<TapX, double>;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) {
        wrong += !agrees(view(i, j), wanted[static_cast<std::size_t>(i * cols + j)], size_y + size_x,
                         wide ? 0x1p-52 : 0x1p-23);
        view(i, j) = guard;
      }
    for (const Out& x : got) touched += as_double(x) != as_double(guard);
    CAPTURE(sizeof(In));
    CAPTURE(text({1, rows, cols}));
    CAPTURE(text({1, size_y, size_x}));
    CAPTURE(int(outside.what));
    CAPTURE(from.before);
    CAPTURE(from.gap);
    CAPTURE(masks_here);
    CHECK(wrong == 0);
    CHECK(touched == 0);
    if (!where::on_device || !PMPP_CUDA) break;
  }
}

/// Rows that begin at 16-byte boundaries where the width allows it, and others.
template <class where, class In, class Out>
void check_volume(const shape& size, const shape& taps, const border::rule& outside) {
  const auto in = numbers<In>(size.count());
  auto mask = numbers<float>(taps.count());
  for (float& tap : mask) tap /= static_cast<float>(std::is_integral_v<Out> ? taps.count() : 1);
  const bool in_fours = size.width % 4 == 0 && outside.what != border::clamp.what;
  const std::int64_t pitch = size.width + (in_fours ? 4 : 3), slice = pitch * size.height + 4;
  std::vector<In> padded(static_cast<std::size_t>(slice * size.depth), In(77));
  for (std::int64_t i = 0; i < size.count(); ++i)
    padded[static_cast<std::size_t>(i / (size.height * size.width) * slice + i / size.width % size.height * pitch +
                                    i % size.width)] = in[static_cast<std::size_t>(i)];
  const auto data = where::put(padded);
  const auto mask_there = where::put(mask);
  const auto wanted = reference(in, size, mask, taps, outside);
  for (const float* from : {std::as_const(mask).data(), static_cast<const float*>(mask_there.data())}) {
    auto out = where::put(std::vector<Out>(in.size(), Out(55)));
    pmpp::convolve(typename where::policy{},
                   volume_view<const In>(data.data(), size.depth, size.height, size.width, pitch, slice),
                   volume_view<const float>(from, taps.depth, taps.height, taps.width),
                   volume_view<Out>(out.data(), size.depth, size.height, size.width), outside);
    const auto got = where::get(out);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) wrong += !agrees(got[i], wanted[i], taps.count(), 0x1p-23);
    CAPTURE(sizeof(In));
    CAPTURE(text(size));
    CAPTURE(text(taps));
    CAPTURE(int(outside.what));
    CAPTURE(from == mask.data());
    CHECK(wrong == 0);
  }
}

constexpr const auto& rules = test::border_rules;

}  // namespace

TEST_ALL_PLACES("the square masks that have kernels of their own, every border, whole and cut off tiles") {
  for (const std::int64_t k : {3, 5, 7, 9})
    for (const border::rule& outside : rules) {
      check_matrix<standard, where, float, float, float>(70, 260, k, k, outside);
      check_matrix<standard, where, float, float, float>(33, 131, k, k, outside, {1, 2}, {3, 1});
      check_matrix<standard, where, float, float, float>(5, 4, k, k, outside, {4, 4}, {8, 0});
      if constexpr (where::on_device) check_matrix<tiny, where, float, float, float>(23, 300, k, k, outside);
    }
  for (const std::int64_t k : {3, 5, 7, 9})  // blocks that make several tiles
    check_matrix<standard, where, float, float, float>(300, 800, k, k, border::clamp);
  check_matrix<standard, where, float, float, float>(300, 800, 2, 3, border::mirror);
}

TEST_ALL_PLACES("square masks that walk down strips, every border, whole and cut off strips and sections") {
  for (const std::int64_t k : {11, 13, 15}) {
    for (const border::rule& outside : rules) {
      check_matrix<in_strips, where, float, float, float>(70, 260, k, k, outside);
      check_matrix<in_strips, where, float, float, float>(33, 131, k, k, outside, {1, 2}, {3, 1});
      check_matrix<in_strips, where, float, float, float>(5, 4, k, k, outside, {4, 4}, {8, 0});
      check_matrix<in_strips, where, float, float, float>(2, 515, k, k, outside);
    }
    check_matrix<in_strips, where, float, float, float>(41, 1027, k, k, border::wrap, {0, 1}, {0, 1});
    check_matrix<in_strips, where, float, float, float>(40, 90, k, k, border::mirror, {0, 0, true}, {0, 0, true});
    check_matrix<in_strips, where, std::uint8_t, float, std::uint8_t>(41, 1036, k, k, border::reflect);
    check_matrix<in_strips, where, std::uint8_t, float, std::uint8_t>(23, 519, k, k, border::constant(200), {1, 1});
    check_matrix<in_strips, where, std::int16_t, float, float>(20, 516, k, k, border::constant(-7.5));
#if PMPP_CUDA
    check_matrix<in_strips, where, __half, float, __half>(40, 280, k, k, border::clamp);
#endif
  }
}

TEST_ALL_PLACES("masks of other sizes: even, one row, one column, larger than a tile and than the input") {
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

TEST_ALL_PLACES("pixels, doubles, integers: sums are rounded and saturate") {
  for (const border::rule& outside : {border::zero, border::reflect, border::constant(200), border::constant(-7.5)}) {
    for (const std::int64_t k : {3, 4, 5, 7}) {
      check_matrix<standard, where, std::uint8_t, float, std::uint8_t>(40, 280, k, k, outside);
      check_matrix<standard, where, std::uint8_t, float, std::uint8_t>(41, 149, k, k, outside, {1, 3}, {2, 5});
      check_matrix<standard, where, std::uint8_t, float, std::uint8_t>(41, 149, k, k, outside, {16, 11}, {32, 43});
      check_matrix<standard, where, std::int16_t, float, std::int16_t>(20, 140, k, k, outside);
      check_matrix<standard, where, double, double, double>(30, 140, k, k, outside);
    }
    for (const std::int64_t n : {1, 2, 15, 17, 33, 550})  // pixels at addresses that vectors may have
      check_matrix<standard, where, std::uint8_t, float, std::uint8_t>(n, n, 3, 3, outside, {0, 16 - n % 16},
                                                                       {0, 64 - n % 16});
    check_matrix<standard, where, std::uint8_t, std::int16_t, float>(20, 140, 5, 5, outside);
    check_matrix<standard, where, std::uint16_t, float, float>(20, 140, 5, 5, outside);
    check_matrix<standard, where, float, float, std::uint8_t>(20, 140, 5, 5, outside);
    check_matrix<standard, where, std::int32_t, std::int32_t, std::int32_t>(20, 50, 3, 3, outside);
#if PMPP_CUDA
    check_matrix<standard, where, __half, float, __half>(40, 280, 3, 3, outside);
    check_matrix<standard, where, __half, __half, float>(40, 277, 6, 5, outside, {1, 2}, {0, 1});
#endif
  }
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
  for (const std::int64_t n : {0, 1, 2, 31, 127, 1000, 9001})
    for (const std::int64_t k : {1, 2, 5, 8, 33, 129, 700})
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

TEST_ALL_PLACES("three dimensions: masks that reach over planes, and masks of one plane, in either memory") {
  for (const shape& size : {shape{1, 1, 1}, {5, 7, 9}, {3, 20, 150}, {9, 3, 132}, {4, 2, 264}})
    for (const shape& taps : {shape{3, 3, 3}, {2, 3, 4}, {1, 3, 3}, {5, 1, 1}, {4, 9, 9}, {5, 5, 5}, {7, 7, 7}})
      for (const border::rule& outside : rules) check_volume<where, float, float>(size, taps, outside);
  for (const shape& taps : {shape{3, 5, 5}, {5, 4, 6}, {6, 7, 2}, {2, 1, 7}, {1, 1, 5}, {7, 7, 1}, {3, 8, 3}})
    for (const border::rule& outside : {border::zero, border::wrap})
      check_volume<where, float, float>({6, 37, 136}, taps, outside);
}

TEST_ALL_PLACES("three dimensions: elements that are no floats, constants that they hold or not") {
  for (const shape& taps : {shape{3, 3, 3}, {5, 5, 5}, {3, 4, 7}})
    for (const border::rule& outside : {border::zero, border::mirror, border::constant(200), border::constant(-7.5)}) {
      check_volume<where, std::uint8_t, std::uint8_t>({5, 9, 76}, taps, outside);
      check_volume<where, std::int16_t, float>({4, 35, 21}, taps, outside);
      check_volume<where, float, std::uint8_t>({4, 5, 66}, taps, outside);
      check_volume<where, double, double>({4, 5, 66}, taps, outside);
#if PMPP_CUDA
      check_volume<where, __half, __half>({5, 9, 76}, taps, outside);
#endif
    }
}

TEST_ALL_PLACES("an impulse gives the mask back, turned round; a mask that is an impulse gives the input back") {
  const typename where::policy policy{};
  const std::int64_t rows = 40, cols = 150;
  for (const auto& [k, l] : {std::pair{3, 3}, {9, 9}, {15, 15}, {4, 7}}) {
    std::vector<float> impulse(static_cast<std::size_t>(rows * cols)), mask = numbers<float>(k * l);
    impulse[static_cast<std::size_t>(20 * cols + 77)] = 1;
    const auto data = where::put(impulse);
    auto out = where::put(std::vector<float>(impulse.size()));
    const matrix_view<float> to(out.data(), rows, cols);
    pmpp::convolve<test::tuned<where>(in_strips)>(policy, matrix_view<const float>(data.data(), rows, cols),
                                                  matrix_view<float>(mask.data(), k, l), to);
    auto got = where::get(out);
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t j = 0; j < l; ++j) {
        float& x = got[static_cast<std::size_t>((20 - i + k / 2) * cols + 77 - j + l / 2)];
        CHECK(x == mask[static_cast<std::size_t>(i * l + j)]);
        x = 0;
      }
    CHECK(got == std::vector<float>(got.size(), 0));
    const auto in = numbers<float>(rows * cols);
    std::fill(mask.begin(), mask.end(), 0.0f);
    mask[static_cast<std::size_t>(k / 2 * l + l / 2)] = 1;
    const auto again = where::put(in);
    pmpp::convolve<test::tuned<where>(in_strips)>(policy, matrix_view<const float>(again.data(), rows, cols),
                                                  matrix_view<float>(mask.data(), k, l), to);
    CHECK(where::get(out) == in);
  }
}

TEST_ALL_PLACES("NaN goes as far as the mask reaches and no further") {
  const typename where::policy policy{};
  const std::int64_t rows = 60, cols = 300;
  for (const auto& [k, l] :
       {std::pair{3, 3}, {5, 5}, {7, 7}, {9, 9}, {13, 13}, {1, 1}, {2, 2}, {6, 3}, {3, 10}, {11, 13}}) {
    std::vector<float> in(static_cast<std::size_t>(rows * cols), 1.0f);
    in[static_cast<std::size_t>(30 * cols + 130)] = std::numeric_limits<float>::quiet_NaN();
    const auto data = where::put(in);
    auto out = where::put(in);
    const std::vector<float> mask(static_cast<std::size_t>(k * l), 1.0f);
    pmpp::convolve<test::tuned<where>(in_strips)>(policy, matrix_view<const float>(data.data(), rows, cols),
                                                  matrix_view<const float>(mask.data(), k, l),
                                                  matrix_view<float>(out.data(), rows, cols));
    const auto got = where::get(out);
    int wrong = 0;
    for (std::int64_t y = 0; y < rows; ++y)
      for (std::int64_t x = 0; x < cols; ++x) {
        const std::int64_t i = 30 - y + k / 2, j = 130 - x + l / 2;
        wrong += std::isnan(got[static_cast<std::size_t>(y * cols + x)]) != (i >= 0 && i < k && j >= 0 && j < l);
      }
    CAPTURE(k);
    CAPTURE(l);
    CHECK(wrong == 0);
  }
}

TEST_ALL_PLACES("a mask of more taps than a kernel has parameters for") {
  check_matrix<standard, where, float, float, float>(10, 40, 50, 50, border::reflect);
  check_matrix<standard, where, float, float, float>(3, 20, 1, 2500, border::wrap);
}

TEST_ALL_PLACES("separable masks: the results of the whole mask, for every border and size") {
  for (const border::rule& outside : rules) {
    for (const auto& [k, l] :
         {std::pair{1, 1}, {2, 2}, {3, 3}, {4, 7}, {5, 1}, {1, 6}, {9, 8}, {12, 11}, {16, 13}, {31, 31}, {33, 20}}) {
      check_separable<standard, where, float, float, float, float>(70, 140, k, l, outside);
      check_separable<standard, where, float, float, float, float>(5, 9, k, l, outside, {1, 2}, {3, 1});
      if constexpr (where::on_device)
        check_separable<tiny, where, float, float, float, float>(37, 150, k, l, outside, {4, 2}, {8, 2});
    }
    check_separable<standard, where, std::uint8_t, float, float, std::uint8_t>(40, 140, 3, 5, outside);
    check_separable<standard, where, std::uint8_t, float, float, std::uint8_t>(33, 131, 7, 4, outside, {1, 2}, {3, 0});
    check_separable<standard, where, std::uint8_t, float, float, std::uint8_t>(21, 1030, 15, 11, outside);
    check_separable<standard, where, std::uint8_t, float, float, std::uint8_t>(40, 600, 31, 20, outside);
    check_separable<standard, where, float, float, float, float>(21, 1030, 14, 16, outside);  // several strips
  }
  for (const border::rule& outside : {border::zero, border::mirror}) {
    check_separable<standard, where, float, float, float, float>(300, 270, 5, 5, outside);  // several sections
    check_separable<standard, where, double, double, double, double>(50, 140, 6, 9, outside);
    check_separable<standard, where, float, float, double, float>(20, 140, 3, 3, outside);
    check_separable<standard, where, std::int16_t, std::int16_t, std::uint8_t, float>(20, 140, 5, 4, outside);
    check_separable<standard, where, std::int32_t, float, float, std::int32_t>(20, 50, 3, 3, outside);
    for (const bool a : {false, true})
      for (const bool b : {false, true})
        check_separable<standard, where, float, float, float, float>(40, 135, 4, 7, outside, {0, 1, a}, {2, 3, b});
#if PMPP_CUDA
    check_separable<standard, where, __half, float, float, __half>(40, 280, 3, 9, outside);
#endif
  }
}

TEST_ALL_PLACES("separable masks of more taps than shared memory and parameters have room for") {
  for (const auto& [k, l] : {std::pair{500, 3}, {3, 500}, {600, 700}}) {
    check_separable<standard, where, float, float, float, float>(9, 20, k, l, border::reflect);
    check_separable<standard, where, float, float, float, float>(70, 5, k, l, border::wrap, {1, 0}, {1, 0});
  }
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
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  pmpp::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "begin");
  pmpp::convolve(policy, view(a), matrix_view<float>(small.data(), 5, 5), view(b));
  pmpp::convolve(policy, view(a), matrix_view<float>(middle.data(), 12, 11), view(c));
  pmpp::convolve(policy, view(a), matrix_view<float>(large.data(), 40, 40), view(d));
  pmpp::convolve_separable(policy, view(a), taps_y, taps_x, view(e));
  pmpp::check(cudaStreamEndCapture(stream, &graph), "end");
  pmpp::check(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
  for (auto* mask : {&small, &middle, &large, &taps_y, &taps_x})
    std::fill(mask->begin(), mask->end(), 1e9f);  // were read before
  for (int round = 0; round < 3; ++round) {
    const auto in = numbers<float>(rows * cols);
    pmpp::copy(stream, in, a);
    pmpp::check(cudaGraphLaunch(exec, stream), "launch");
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
  pmpp::check(cudaGraphExecDestroy(exec), "destroy");
  pmpp::check(cudaGraphDestroy(graph), "destroy");
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
