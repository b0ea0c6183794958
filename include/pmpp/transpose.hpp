// SPDX-License-Identifier: Apache-2.0
//
// transpose: rows become columns. B(j, i) = A(i, j) for strided views of any shape.
//
//   all rows begin at 16-byte boundaries         transpose/vectors.hpp (of 4 or 8 bytes: of B at 64-byte ones)
//   rows begin anywhere                          transpose/tiles.hpp
//   elements with gaps; rows of a few elements   transpose/elements.hpp
//   A or B is itself transposed: a copy          transpose/copy.hpp
//   on the host                                  transpose/host.hpp
//
// A block takes a tile of 32 KB through shared memory: whole words and sectors of memory on both sides. Tiles of a matrix with
// few columns are as narrow, and longer; a small matrix is cut into smaller tiles. In place, a block reads two tiles that
// change places before it writes them.
//
// Work n; traffic: A read once, B written once; one launch, one barrier. (PMPP ch. 5 and 6: tiling, corner turning.)
// Transposing in place takes a square matrix; there is no rectangular one.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/overlap.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/transform.hpp>
#include <pmpp/transpose/copy.hpp>
#include <pmpp/transpose/elements.hpp>
#include <pmpp/transpose/host.hpp>
#include <pmpp/transpose/problem.hpp>
#include <pmpp/transpose/tiles.hpp>
#include <pmpp/transpose/vectors.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// The bytes of an element that never part: the largest power of two that divides its size, up to 16.
template <class T>
inline constexpr int unit_of = greatest_common_divisor(int(sizeof(T)), 16);

template <transpose_tuning Tuning, class P, class T>
void transpose_on_device(const P& where, const transposition<T>& t) {
  constexpr int size = sizeof(T), unit = unit_of<T>;
  // Small matrices: what counts is how long a thread takes. In place each block has two tiles, so that those of vectors fill the
  // machine late.
  constexpr transpose_tuning few = Tuning.with_items(size < 4 ? 4 : size == 4 ? 2 : Tuning.items);
  const std::int64_t bytes = t.height * t.width * size,
                     of_all = std::int64_t(machine_of(where).multiprocessors) * Tuning.threads * Tuning.vectors * 16;
  const bool small = bytes < 2 * of_all, tiny = bytes < of_all / Tuning.element_share;
  if (t.in_place && size <= 16 && small) return launch_in_place<element_tile<T, few>>(where, t);
  // Short rows on either side would be parts of words and vectors for the most part.
  const bool long_rows = t.width * size >= 64 && t.height * size >= 512 && !tiny;
  if constexpr (size <= 16 && size == unit) {
    // Vectors of two tiles would share sectors of B: tiles take 0.82 to 0.98 of the time on an H200. (Of narrower elements they take more
    // than vectors all the same.)
    const bool shares_sectors = (size == 4 || size == 8) && !t.in_place && long_rows && !t.rows_of_b_begin_at(64);
    if (t.adjacent() && t.begin_at(16) && !shares_sectors && bytes >= of_all / 32) {  // fewer: short code counts
      if (t.in_place) return launch_in_place<vector_tile<T, Tuning.divided_by(2)>>(where, t);
      if (small) return launch_tiles<vector_tile<T, Tuning.divided_by(8)>>(where, t);
      return launch_tiles<vector_tile<T, Tuning>>(where, t);
    }
  }
  // In place the ends of all rows of a tile are parts of words, which pays for small elements alone. Units that are parts of an element
  // take a division each.
  if constexpr (size == unit || unit >= 8) {
    if (t.adjacent() && t.begin_at(unit) && (t.in_place ? size < 4 : long_rows))
      return transpose_by_tiles<T, unit, Tuning>(where, t);
  }
  if (t.in_place) return launch_in_place < element_tile<T, size<4 ? few : Tuning>>(where, t);
  if (small) return launch_tiles<element_tile<T, few>>(where, t);
  launch_tiles<element_tile<T, Tuning>>(where, t);
}

template <class T>
void check_transposition(const matrix_view<const T>& a, const matrix_view<T>& b, const transposition<T>& t) {
  const auto shape = [](const auto& v) { return detail::text::of(v.rows()) + " x " + detail::text::of(v.cols()); };
  require(a.rows() >= 0 && a.cols() >= 0 && a.rows() == b.cols() && a.cols() == b.rows(), [&] {
    return "pmpp::transpose: A is " + shape(a) + ", so B must be " + detail::text::of(a.cols()) + " x " +
           detail::text::of(a.rows()) + ", but is " + shape(b);
  });
  if (a.empty()) return;
  require(a.data() != nullptr && b.data() != nullptr, [&] {
    return detail::text("pmpp::transpose: ") +
           (a.data() == nullptr ? "A is null, but is " + shape(a) : "B is null, but is " + shape(b));
  });
  require((b.row_stride() != 0 || b.rows() == 1) && (b.col_stride() != 0 || b.cols() == 1), [&] {
    return "pmpp::transpose: B is " + shape(b) + ", but several of its elements are the same: a stride is 0";
  });
  require(t.in_place || t.nothing_to_do() || !memory_of_view(a).may_meet(memory_of_view(b)), [&] {
    return "pmpp::transpose: A (" + shape(a) + ") and B (" + shape(b) +
           ") overlap; only a square matrix is transposed in place, with B == A";
  });
}

}  // namespace detail

/// Writes the transpose of A to B: B(j, i) = A(i, j).
///
/// \param a  any strides; visible to `where`. May itself be transposed(v), as B may: then it is a copy.
/// \param b  a.cols() x a.rows() elements; visible to `where`. What lies between its rows stays untouched.
/// In place: a square matrix, where B is the same view as A. Other overlaps are refused; parts of one matrix side by
/// side do not overlap.
/// Elements are trivially copyable, of up to 3 KB. The same result on every policy. Asynchronous on a GPU; no scratch,
/// no allocation; may be captured. Cost: A read once, B written once; one launch (a few, of more than 2^30 rows or columns).
/// \throws std::invalid_argument for shapes that do not fit, null pointers, overlap; cuda_error. Source: PMPP ch. 5
/// and 6. Example: test/transpose.cpp, all shapes.
template <transpose_tuning Tuning = tuned<transpose_tuning>, execution_policy P, class T, class U>
requires(std::is_same_v<std::remove_const_t<T>, U>) void transpose(const P& where, const matrix_view<T>& a,
                                                                   const matrix_view<U>& b) {
  static_assert(std::is_trivially_copyable_v<U>, "pmpp::transpose: the elements must be trivially copyable");
  static_assert(sizeof(U) <= 3072, "pmpp::transpose: an element may have 3 KB at most");
  const detail::transposition<U> t(a, b);
  detail::check_transposition<U>(a, b, t);
  if (a.empty() || t.nothing_to_do()) return;
  if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t i = 0; i < a.rows(); ++i)
      for (std::int64_t j = t.in_place ? i + 1 : 0; j < a.cols(); ++j) {
        const U upper = a(i, j);
        if (t.in_place) b(i, j) = b(j, i);
        b(j, i) = upper;
      }
  } else if constexpr (std::is_same_v<P, host_policy>) {
    detail::transpose_on_host(where, t);
  } else {
    detail::check_reachable(where, "transpose", a.data());
    detail::check_reachable(where, "transpose", b.data());
    if (t.copies_all())
      transform(where, t.a.data, t.a.data + t.height * t.width, t.b.data, identity{});
    else
      detail::for_each_part(t, [&](const auto& part) {
        if (t.copies)
          detail::copy_on_device<Tuning>(where, part);
        else
          detail::transpose_on_device<Tuning>(where, part);
      });
  }
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
