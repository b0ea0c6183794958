// SPDX-License-Identifier: Apache-2.0
//
// csr_view<T, I>: a sparse matrix in compressed sparse rows, in memory that it does not own.
//
//   columns[offsets[i] .. offsets[i + 1])   the columns of the nonzeros of row i
//   values [offsets[i] .. offsets[i + 1])   their values
//   offsets                                 rows + 1 of them, from 0, never decreasing
//
// csr_view<void, I> has no values: the pattern of a matrix, or a graph whose vertex i has edges to those columns.
// Public members; T and I may be const: csr_view<const float, const int>{rows, cols, offsets, columns, values}. Extents
// are 64-bit; I holds offsets and columns, so more than 2^31 - 1 nonzeros need a 64-bit I. Algorithms take
// csr_view<const T, const I>, to which every view of the same T and I converts.
// The arrays may lie in any memory; the functions below that read offsets must be called where they are readable: in
// kernels for device memory, on the host for host memory, on both for managed memory.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <pmpp/core/check.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/matrix_view.hpp>

namespace pmpp::inline PMPP_BACKEND {

template <class T, class I>
struct csr_view;

/// The structure alone: a pattern or a graph.
template <class I>
struct csr_view<void, I> {
  static_assert(std::integral<I>, "pmpp: the index type of a csr_view is an integer type");

  std::int64_t rows = 0;
  std::int64_t cols = 0;
  I* offsets = nullptr;  ///< rows + 1 elements
  I* columns = nullptr;  ///< offsets[rows] elements

  constexpr csr_view() = default;
  /// Extents of any integer type. \throws std::length_error past 2^63
  template <std::integral Rows, std::integral Cols>
  PMPP_HOST_DEVICE constexpr csr_view(Rows row_count, Cols col_count, I* offset_of_rows, I* column_indices)
      : rows(detail::checked_count(row_count)),
        cols(detail::checked_count(col_count)),
        offsets(offset_of_rows),
        columns(column_indices) {}

  /// Where row i begins and ends in `columns`. Reads offsets. \pre 0 <= i < rows; checked in debug mode.
  PMPP_HOST_DEVICE constexpr std::int64_t row_begin(std::int64_t i) const {
    detail::check_index(i, rows, "csr_view row");
    return static_cast<std::int64_t>(offsets[i]);
  }
  PMPP_HOST_DEVICE constexpr std::int64_t row_end(std::int64_t i) const {
    detail::check_index(i, rows, "csr_view row");
    return static_cast<std::int64_t>(offsets[i + 1]);
  }
  /// The number of nonzeros of row i. Reads offsets.
  PMPP_HOST_DEVICE constexpr std::int64_t row_length(std::int64_t i) const { return row_end(i) - row_begin(i); }

  /// The number of nonzeros. Reads offsets[rows]; 0 for a view without offsets.
  PMPP_HOST_DEVICE constexpr std::int64_t nonzeros() const {
    return offsets == nullptr ? 0 : static_cast<std::int64_t>(offsets[rows]);
  }

  /// Adds const to the indices.
  template <class J>
  requires(detail::adds_const_only<I, J> && !std::same_as<I, J>) PMPP_HOST_DEVICE constexpr operator csr_view<void, J>()
      const {
    return {rows, cols, offsets, columns};
  }
};

/// Structure and values.
template <class T, class I>
struct csr_view {
  static_assert(std::integral<I>, "pmpp: the index type of a csr_view is an integer type");

  std::int64_t rows = 0;
  std::int64_t cols = 0;
  I* offsets = nullptr;  ///< rows + 1 elements
  I* columns = nullptr;  ///< offsets[rows] elements
  T* values = nullptr;   ///< offsets[rows] elements

  constexpr csr_view() = default;
  /// Extents of any integer type. \throws std::length_error past 2^63
  template <std::integral Rows, std::integral Cols>
  PMPP_HOST_DEVICE constexpr csr_view(Rows row_count, Cols col_count, I* offset_of_rows, I* column_indices,
                                      T* values_of_nonzeros)
      : rows(detail::checked_count(row_count)),
        cols(detail::checked_count(col_count)),
        offsets(offset_of_rows),
        columns(column_indices),
        values(values_of_nonzeros) {}

  /// The structure without the values.
  PMPP_HOST_DEVICE constexpr csr_view<void, I> pattern() const { return {rows, cols, offsets, columns}; }

  /// Where row i begins and ends in `columns` and `values`. Reads offsets. \pre 0 <= i < rows; checked in debug mode.
  PMPP_HOST_DEVICE constexpr std::int64_t row_begin(std::int64_t i) const { return pattern().row_begin(i); }
  PMPP_HOST_DEVICE constexpr std::int64_t row_end(std::int64_t i) const { return pattern().row_end(i); }
  /// The number of nonzeros of row i. Reads offsets.
  PMPP_HOST_DEVICE constexpr std::int64_t row_length(std::int64_t i) const { return pattern().row_length(i); }
  /// The number of nonzeros. Reads offsets[rows]; 0 for a view without offsets.
  PMPP_HOST_DEVICE constexpr std::int64_t nonzeros() const { return pattern().nonzeros(); }

  /// Adds const to the values, the indices, or both.
  template <class U, class J>
  requires(detail::adds_const_only<T, U>&& detail::adds_const_only<I, J> && !(std::same_as<T, U> && std::same_as<I, J>))
      PMPP_HOST_DEVICE constexpr
      operator csr_view<U, J>() const {
    return {rows, cols, offsets, columns, values};
  }
  /// Drops the values.
  template <class J>
  requires(detail::adds_const_only<I, J>) PMPP_HOST_DEVICE constexpr operator csr_view<void, J>() const {
    return {rows, cols, offsets, columns};
  }
};

template <std::integral Rows, std::integral Cols, class I, class T>
csr_view(Rows, Cols, I*, I*, T*) -> csr_view<T, I>;
template <std::integral Rows, std::integral Cols, class I>
csr_view(Rows, Cols, I*, I*) -> csr_view<void, I>;

}  // namespace pmpp::inline PMPP_BACKEND
