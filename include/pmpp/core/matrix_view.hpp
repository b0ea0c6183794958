// SPDX-License-Identifier: Apache-2.0
//
// matrix_view<T>: rows x cols elements that it does not own. Row-major by default, strides in elements.
//
//   pmpp::matrix_view<float> a{data, rows, cols};              // element (i, j) is data[i * cols + j]
//   pmpp::matrix_view<const float> b{data, rows, cols, pitch}; // data[i * pitch + j]
//   pmpp::matrix_view<const float> t = transposed(b);          // t(j, i) is b(i, j); nothing is copied
//   pmpp::matrix_view c = some_mdspan;                         // anything with data_handle(), extent(), stride()
//
// A view is five words, passed by value to functions and kernels; copying it copies no elements, and a const view may
// still write through T*. It stays valid as long as the memory. Transposition exchanges the two strides, so that one
// type covers row-major, column-major and every transposed or strided part of either; row_major() tells an algorithm
// when it may read rows with wide loads. It has no size(), so that it is never mistaken for a contiguous range.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <pmpp/core/check.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/text.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// T* converts to U* by adding const, and in no other way.
template <class T, class U>
concept adds_const_only = std::convertible_to<T (*)[], U (*)[]>;

/// The type of what a handle points to.
template <class M>
using mdspan_element = std::remove_reference_t<decltype(*std::declval<const M&>().data_handle())>;

/// What std::mdspan and its relatives (cuda::std, Kokkos) offer of elements that lie in memory as they are. Not of those whose
/// accessor computes, locks or scales: its reference is no reference to the element.
template <class M, std::size_t Rank>
concept mdspan_like = requires(const M& m) {
  { m.data_handle() } -> std::convertible_to<mdspan_element<M>*>;
  { m.extent(1) } -> std::convertible_to<std::int64_t>;
  { m.stride(1) } -> std::convertible_to<std::int64_t>;
  requires M::rank()
  == Rank;
  requires !requires { typename M::reference; }
  || std::is_same_v<typename M::reference, mdspan_element<M>&>;
};

template <class M, class T, std::size_t Rank = 2>
concept mdspan_of = mdspan_like<M, Rank> && adds_const_only<mdspan_element<M>, T>;

}  // namespace detail

/// A matrix in memory that the view does not own; element (i, j) lies at data()[i * row_stride() + j * col_stride()].
template <class T>
class matrix_view {
public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;

  /// No elements.
  constexpr matrix_view() = default;

  /// `rows` x `cols` elements, row-major, at `data`; any integers (\throws std::length_error past 2^63); a row follows the one before without a gap.
  template <std::integral Rows, std::integral Cols>
  PMPP_HOST_DEVICE constexpr matrix_view(T* data, Rows rows, Cols cols) : matrix_view(data, rows, cols, cols, 1) {}

  /// The same with `row_stride` elements from the start of a row to the start of the next.
  template <std::integral Rows, std::integral Cols, std::integral Stride>
  PMPP_HOST_DEVICE constexpr matrix_view(T* data, Rows rows, Cols cols, Stride row_stride)
      : matrix_view(data, rows, cols, row_stride, 1) {}

  /// Any two strides: `col_stride` elements lie from one column to the next. Column-major: row_stride 1, col_stride =
  /// the leading dimension.
  template <std::integral Rows, std::integral Cols, std::integral RowStride, std::integral ColStride>
  PMPP_HOST_DEVICE constexpr matrix_view(T* data, Rows rows, Cols cols, RowStride row_stride, ColStride col_stride)
      : data_(data),
        rows_(detail::checked_count(rows)),
        cols_(detail::checked_count(cols)),
        row_stride_(detail::checked_count(row_stride)),
        col_stride_(detail::checked_count(col_stride)) {}

  /// matrix_view<float> converts to matrix_view<const float>.
  template <class U>
  requires(detail::adds_const_only<U, T>) PMPP_HOST_DEVICE constexpr matrix_view(const matrix_view<U>& other)
      : matrix_view(other.data(), other.rows(), other.cols(), other.row_stride(), other.col_stride()) {}

  /// From std::mdspan or anything like it, of rank 2, any layout with strides. Host only.
  template <class M>
  requires(detail::mdspan_of<M, T>) constexpr matrix_view(const M& m)
      : matrix_view(m.data_handle(), static_cast<std::int64_t>(m.extent(0)), static_cast<std::int64_t>(m.extent(1)),
                    static_cast<std::int64_t>(m.stride(0)), static_cast<std::int64_t>(m.stride(1))) {}

  PMPP_HOST_DEVICE constexpr T* data() const { return data_; }
  PMPP_HOST_DEVICE constexpr std::int64_t rows() const { return rows_; }
  PMPP_HOST_DEVICE constexpr std::int64_t cols() const { return cols_; }
  PMPP_HOST_DEVICE constexpr std::int64_t row_stride() const { return row_stride_; }
  PMPP_HOST_DEVICE constexpr std::int64_t col_stride() const { return col_stride_; }
  PMPP_HOST_DEVICE constexpr bool empty() const { return rows_ == 0 || cols_ == 0; }

  /// True if the elements of a row lie next to each other (also if there is at most one column).
  PMPP_HOST_DEVICE constexpr bool row_major() const { return col_stride_ == 1 || cols_ <= 1; }
  /// True if the elements of a column lie next to each other (also if there is at most one row).
  PMPP_HOST_DEVICE constexpr bool col_major() const { return row_stride_ == 1 || rows_ <= 1; }
  /// True if the elements are rows * cols consecutive ones, row by row.
  PMPP_HOST_DEVICE constexpr bool contiguous() const { return row_major() && (row_stride_ == cols_ || rows_ <= 1); }

  /// Element (i, j). \pre 0 <= i < rows(), 0 <= j < cols(); checked in debug mode (core/check.hpp says how).
  PMPP_HOST_DEVICE constexpr T& operator()(std::int64_t i, std::int64_t j) const {
    detail::check_index(i, rows_, "matrix_view row");
    detail::check_index(j, cols_, "matrix_view column");
    return data_[i * row_stride_ + j * col_stride_];
  }

  /// Row i as a contiguous range. Host only: a kernel takes &v(i, 0).
  /// \pre 0 <= i < rows(), checked in debug mode. \throws std::invalid_argument unless row_major().
  constexpr std::span<T> row(std::int64_t i) const {
    detail::check_index(i, rows_, "matrix_view row");
    if (!row_major())
      detail::throw_invalid_argument(detail::text("pmpp::matrix_view::row: the elements of a row lie ") +
                                     detail::text::of(col_stride_) + " apart");
    return {data_ + i * row_stride_, static_cast<std::size_t>(cols_)};
  }

  /// The part of `sub_rows` x `sub_cols` elements whose first is (first_row, first_col).
  /// \pre it lies inside this view; checked in debug mode.
  PMPP_HOST_DEVICE constexpr matrix_view subview(std::int64_t first_row, std::int64_t first_col, std::int64_t sub_rows,
                                                 std::int64_t sub_cols) const {
    detail::check_part(first_row, sub_rows, rows_, "matrix_view::subview rows");
    detail::check_part(first_col, sub_cols, cols_, "matrix_view::subview columns");
    return {data_ + first_row * row_stride_ + first_col * col_stride_, sub_rows, sub_cols, row_stride_, col_stride_};
  }

private:
  T* data_ = nullptr;
  std::int64_t rows_ = 0, cols_ = 0;
  std::int64_t row_stride_ = 0, col_stride_ = 1;
};

template <class M>
requires(detail::mdspan_like<M, 2>) matrix_view(const M&)
->matrix_view<detail::mdspan_element<M>>;

/// The same elements with rows and columns exchanged; copies nothing.
template <class T>
PMPP_HOST_DEVICE constexpr matrix_view<T> transposed(const matrix_view<T>& v) {
  return {v.data(), v.cols(), v.rows(), v.col_stride(), v.row_stride()};
}

}  // namespace pmpp::inline PMPP_BACKEND
