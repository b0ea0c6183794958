// SPDX-License-Identifier: Apache-2.0
//
// What kernels of matrices and volumes are given: elements with strides, at most three-dimensional. A matrix is a volume of
// one plane, a span one of one row. And how a walk down it is cut to sections.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/core/text.hpp>
#include <pmpp/core/volume_view.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

template <class T>
struct volume {
  T* data;
  std::int64_t depth, height, width;
  std::int64_t slice, pitch, step;  ///< elements from plane to plane, row to row, column to column

  PMPP_HOST_DEVICE T* at(std::int64_t z, std::int64_t y, std::int64_t x) const {
    return data + z * slice + y * pitch + x * step;
  }
  /// Whether rows are without gaps and begin at multiples of `bytes`, a power of two: this many may be moved at once.
  PMPP_HOST_DEVICE bool rows_begin_at(std::size_t bytes) const {
    const auto fits = [&](std::int64_t distance) {
      return static_cast<std::size_t>(distance) * sizeof(T) % bytes == 0;
    };
    return step == 1 && (height == 1 || fits(pitch)) && (depth == 1 || fits(slice)) &&
           reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
  }
  /// Four elements that begin at a multiple of four in a row may be moved at once.
  PMPP_HOST_DEVICE bool in_fours() const { return rows_begin_at(4 * sizeof(T)); }
};

template <class T>
using four = packed<T, 4>;

template <class T>
volume<T> volume_of(const matrix_view<T>& v) {
  return {v.data(), 1, v.rows(), v.cols(), 0, v.row_stride(), v.cols() <= 1 ? 1 : v.col_stride()};
}
template <class T>
volume<T> volume_of(const volume_view<T>& v) {
  return {v.data(), v.depth(), v.height(), v.width(), v.slice_stride(), v.row_stride(), 1};
}

template <class T>
text shape_text(const volume<T>& v) {
  return detail::text::of(v.depth) + " x " + detail::text::of(v.height) + " x " + detail::text::of(v.width);
}

/// Rows of a section, a multiple of `step`, so that `strips` of `height` rows are done soonest by `room` blocks at a time:
/// with few sections blocks stand idle at the end, with many the `taps` - 1 rows between sections are read twice.
inline std::int64_t section_rows(std::int64_t height, std::int64_t step, std::int64_t taps, std::int64_t strips,
                                 std::int64_t room) {
  const std::int64_t most = max(std::int64_t(1), height / max(step, taps));
  std::int64_t best = 0, least = 0;
  for (std::int64_t waves = 1; waves <= 4; ++waves) {
    const std::int64_t sections = min(most, max(std::int64_t(1), waves * room / strips));
    const std::int64_t rows = round_up(ceil_div(height, sections), step);
    const std::int64_t time = ceil_div(strips * ceil_div(height, rows), room) * (rows + round_up(taps - 1, step));
    if (best == 0 || time < least) best = rows, least = time;
  }
  return best;
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
