// SPDX-License-Identifier: Apache-2.0
//
// Do two views have memory in common? Answered from addresses alone, so "maybe" counts as yes.
#pragma once

#include <cstdint>

#include <pmpp/core/channels_view.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/volume_view.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// The bytes that a view spans, and the rows of adjacent elements that it is made of, if it is.
struct memory_of_view {
  std::uintptr_t begin, end;
  std::int64_t row, pitch;  ///< bytes; row 0: not made of rows; pitch 0: of one

  template <class T>
  explicit memory_of_view(const matrix_view<T>& v) {
    const std::int64_t rows = v.rows() > 1 ? v.row_stride() : 0, cols = v.cols() > 1 ? v.col_stride() : 0;
    const std::int64_t y = (v.rows() - 1) * rows, x = (v.cols() - 1) * cols, zero = 0;
    const auto size = static_cast<std::int64_t>(sizeof(T));
    begin = reinterpret_cast<std::uintptr_t>(v.data() + min(y, zero) + min(x, zero));
    end = reinterpret_cast<std::uintptr_t>(v.data() + max(y, zero) + max(x, zero) + 1);
    const bool along_cols = cols == 1 || (cols == 0 && rows != 1);
    row = (along_cols ? v.cols() : v.rows()) * size;
    pitch = (along_cols ? rows : cols) * size;
    if ((!v.row_major() && !v.col_major()) || pitch < 0 || (pitch > 0 && pitch < row)) row = 0;
  }

  template <class T>
  explicit memory_of_view(const volume_view<T>& v)
      : begin(reinterpret_cast<std::uintptr_t>(v.data())),
        end(reinterpret_cast<std::uintptr_t>(v.data() + (v.depth() - 1) * v.slice_stride() +
                                             (v.height() - 1) * v.row_stride() + v.width())),
        row(0),
        pitch(0) {}

  template <class T>
  explicit memory_of_view(const channels_view<T>& v)
      : begin(reinterpret_cast<std::uintptr_t>(v.data())),
        end(reinterpret_cast<std::uintptr_t>(&v(v.images() - 1, v.height() - 1, v.width() - 1, v.channels() - 1) + 1)),
        row(0),
        pitch(0) {}

  /// May the two have a byte in common? Parts of one matrix side by side have not.
  bool may_meet(const memory_of_view& other) const {
    if (begin >= other.end || other.begin >= end) return false;
    const std::int64_t p = pitch == 0 ? other.pitch : pitch;
    if (row == 0 || other.row == 0 || p == 0 || (other.pitch != 0 && other.pitch != p)) return true;
    const std::int64_t apart = static_cast<std::int64_t>(other.begin - begin) % p, d = apart < 0 ? apart + p : apart;
    return d < row || d + other.row > p;
  }

  /// The same, but strided elements, which may lie between each other's, count as apart.
  bool meets(const memory_of_view& other) const { return row > 0 && other.row > 0 && may_meet(other); }
};

/// May two views have an element in common?
template <class A, class B>
bool may_meet(const A& a, const B& b) {
  return !a.empty() && !b.empty() && memory_of_view(a).may_meet(memory_of_view(b));
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
