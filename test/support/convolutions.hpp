// SPDX-License-Identifier: Apache-2.0
//
// Convolutions compared with their definition.
//
// Each type of elements, taps and results is ten kernels or more for each tuning, so that each file has few:
//
//   convolution.cpp            float, in the plane and on a line
//   convolution_strips.cpp     masks that walk down strips: float, pixels, half
//   convolution_types.cpp      pixels, integers, double, half
//   convolution_volume.cpp     three dimensions: float;  convolution_volume_types.cpp: the others
//   convolution_separable.cpp  separable masks
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <pmpp/convolution.hpp>

#include "support/borders.hpp"
#include "support/data.hpp"
#include "support/policies.hpp"

namespace test::convolutions {

namespace border = pmpp::border;

inline constexpr pmpp::convolution_tuning standard{};
// clang-format off
inline constexpr pmpp::convolution_tuning tiny{
    .warps = 2, .rows = 2, .groups = 1, .blocks = 1, .part = 8, .line_warps = 2, .line_groups = 1, .line_blocks = 1, .small_warps = 1,
    .small_rows = 2, .small_blocks = 1, .separable_warps = 2, .separable_rows = 4, .separable_blocks = 1, .separable_part = 8};
// clang-format on
/// Square masks of 11, 13 and 15 taps a side walk down strips, however small the matrix is.
inline constexpr pmpp::convolution_tuning in_strips{.strip_least = 0};

struct shape {
  std::int64_t depth, height, width;
  std::int64_t count() const { return depth * height * width; }
};
inline std::string text(const shape& s) {
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
  const auto axis = [&](std::int64_t n, std::int64_t k) {  // the element of result i and tap j stands at [i + j]
    std::vector<std::int64_t> at;
    for (std::int64_t i = -(k / 2); n > 0 && i < n + k; ++i) at.push_back(walked(i, n, outside));
    return at;
  };
  const auto all_z = axis(size.depth, taps.depth), all_y = axis(size.height, taps.height),
             all_x = axis(size.width, taps.width);
  std::vector<double> elements, factors;
  for (const In& x : in) elements.push_back(as_double(x));
  for (const Tap& x : mask) factors.push_back(as_double(x));
  const double* const first = elements.data();  // plain pointers: without the optimiser each [] of a vector is a call
  std::vector<expected> all;
  for (std::int64_t z = 0; z < size.depth; ++z)
    for (std::int64_t y = 0; y < size.height; ++y)
      for (std::int64_t x = 0; x < size.width; ++x) {
        const std::int64_t *const at_z = &all_z[std::size_t(z)], *const at_y = &all_y[std::size_t(y)],
                                  *const at_x = &all_x[std::size_t(x)];
        const double* factor = factors.data();
        double value = 0, magnitude = 0;
        for (std::int64_t i = 0; i < taps.depth; ++i)
          for (std::int64_t j = 0; j < taps.height; ++j) {
            const bool beyond = at_z[i] < 0 || at_y[j] < 0;
            const double* const row = first + (beyond ? 0 : (at_z[i] * size.height + at_y[j]) * size.width);
            for (std::int64_t k = 0; k < taps.width; ++k) {
              const double product = (beyond || at_x[k] < 0 ? outside.value : row[at_x[k]]) * *factor++;
              value += product;
              magnitude += product < 0 ? -product : product;
            }
          }
        all.push_back({value, magnitude});
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
pmpp::matrix_view<T> matrix_of(T* p, std::int64_t rows, std::int64_t cols, const placing& at) {
  if (at.by_columns) return transposed(pmpp::matrix_view<T>(p + at.before, cols, rows, rows + at.gap));
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
  for (const double x : random_values<double>(n)) {
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
                   pmpp::volume_view<const In>(data.data(), size.depth, size.height, size.width, pitch, slice),
                   pmpp::volume_view<const float>(from, taps.depth, taps.height, taps.width),
                   pmpp::volume_view<Out>(out.data(), size.depth, size.height, size.width), outside);
    const auto got = where::get(out);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) wrong += !agrees(got[i], wanted[i], taps.count(), 0x1p-23);
    CAPTURE(sizeof(In));
    CAPTURE(text(size));
    CAPTURE(text(taps));
    CAPTURE(int(outside.what));
    CAPTURE(from == mask.data());
    CHECK(wrong == 0);
    if (!where::on_device || !PMPP_CUDA) break;
  }
}

inline constexpr const auto& rules = border_rules;

}  // namespace test::convolutions
