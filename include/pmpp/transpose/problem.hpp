// SPDX-License-Identifier: Apache-2.0
//
// What transpose is asked for: two views of memory in normal form, and words of any alignment.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
struct transpose_tuning {
  int threads = 256;  ///< of a block, a power of two
  int vectors = 8;    ///< of 16 bytes that a thread moves, a power of two. H200, 8192^2 floats: 4 -> 8, 137 -> 133 us
  int items = 8;      ///< elements that a thread moves one by one, twice as many of four bytes; a power of two
  int element_share = 2;  ///< so rows that begin anywhere are moved too, below half of a tile for each multiprocessor

  /// The same with a part of the vectors.
  constexpr transpose_tuning divided_by(int part) const {
    return {.threads = threads, .vectors = max(1, vectors / part), .items = items, .element_share = element_share};
  }
  /// The same with so many items at most.
  constexpr transpose_tuning with_items(int most) const {
    return {.threads = threads, .vectors = vectors, .items = min(items, most), .element_share = element_share};
  }
};

namespace detail {

/// A matrix as the kernels see it: element (y, x) lies at data[y * pitch + x * step]. x is the direction along which A
/// is adjacent, or nearly so; y the one along which B is.
template <class T>
struct plane {
  T* data;
  std::int64_t pitch, step;
  PMPP_HOST_DEVICE T* at(std::int64_t y, std::int64_t x) const { return data + y * pitch + x * step; }
};

/// Memory of this many bytes, whatever is in it, as the widest words that its alignment allows.
template <int Bytes, int Alignment = Bytes>
struct [[gnu::may_alias]] alignas(Alignment) bytes_of {
  using word = std::conditional_t<Alignment % 4 == 0, std::uint32_t,
                                  std::conditional_t<Alignment % 2 == 0, std::uint16_t, std::uint8_t>>;
  word part[Bytes / sizeof(word)];
};

/// Copies one element.
template <class T, class Target, class Source>
PMPP_HOST_DEVICE void copy_element(Target* to, const Source* from) {
  using cell = bytes_of<sizeof(T), alignof(T)>;
  *reinterpret_cast<cell*>(to) = *reinterpret_cast<const cell*>(from);
}

/// A task in normal form: x is the axis along which A is adjacent, or more so than along y.
template <class T>
struct transposition {
  plane<const T> a;
  plane<T> b;
  std::int64_t height, width;
  bool copies, in_place;  ///< x is the axis along which B is adjacent too; A and B are the same memory

  transposition(const matrix_view<const T>& from, const matrix_view<T>& to)
      : a{from.data(), from.row_stride(), from.col_stride()},
        b{to.data(), to.col_stride(), to.row_stride()},
        height(from.rows()),
        width(from.cols()) {
    in_place = a.data == b.data && height == width && a.pitch == b.step && a.step == b.pitch && a.pitch != a.step;
    if (width == 1 || (height > 1 && size_of(a.pitch) < size_of(a.step))) {
      a = {a.data, a.step, a.pitch};
      b = {b.data, b.step, b.pitch};
      const std::int64_t rows = height;
      height = width;
      width = rows;
    }
    copies = height == 1 || size_of(b.step) < size_of(b.pitch);
  }

  /// Every element would be copied to where it stands.
  bool nothing_to_do() const {
    return a.data == b.data && (a.pitch == b.pitch || height == 1) && (a.step == b.step || width == 1);
  }
  /// Rows of A and of B are adjacent elements.
  bool copies_rows() const { return copies && (width == 1 || (a.step == 1 && b.step == 1)); }
  /// All elements are adjacent, in the same order.
  bool copies_all() const { return copies_rows() && (height == 1 || (a.pitch == width && b.pitch == width)); }
  /// Rows of A are adjacent elements, and columns of it rows of B.
  bool adjacent() const { return a.step == 1 && b.pitch == 1; }
  /// So many bytes divide where each row of A and of B begins.
  bool begin_at(std::int64_t bytes) const {
    return all_at(bytes, a.data, height > 1 ? a.pitch : 0) && rows_of_b_begin_at(bytes);
  }
  bool rows_of_b_begin_at(std::int64_t bytes) const { return all_at(bytes, b.data, width > 1 ? b.step : 0); }

  /// Rows from y on and columns from x on, so many at most.
  transposition part(std::int64_t y, std::int64_t x, std::int64_t rows, std::int64_t cols) const {
    transposition t = *this;
    t.a.data = a.at(y, x);
    t.b.data = b.at(y, x);
    t.height = min(rows, height - y);
    t.width = min(cols, width - x);
    return t;
  }

private:
  static std::int64_t size_of(std::int64_t stride) { return stride < 0 ? -stride : stride; }
  static bool all_at(std::int64_t bytes, const T* first, std::int64_t pitch) {
    return (static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(first)) | pitch * std::int64_t(sizeof(T))) %
               bytes ==
           0;
  }
};

/// Kernels count rows and columns in 32 bits: calls f(task), or for parts of one that has more.
template <class T, class F>
void for_each_part(const transposition<T>& t, F f) {
  const std::int64_t most = std::int64_t(1) << 30,
                     most_cols = t.copies ? most >> ceil_log2(sizeof(T)) : most;  // in bytes
  if (t.in_place) return f(t);
  for (std::int64_t y = 0; y < t.height; y += most)
    for (std::int64_t x = 0; x < t.width; x += most_cols) f(t.part(y, x, most, most_cols));
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
