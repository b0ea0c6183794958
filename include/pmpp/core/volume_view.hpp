// SPDX-License-Identifier: Apache-2.0
//
// volume_view<T>: depth x height x width elements that it does not own, x fastest; strides in elements.
//
//   pmpp::volume_view<float> v{data, depth, height, width};    // element (z, y, x) is data[(z * height + y) * width + x]
//   pmpp::volume_view u = some_mdspan;                         // of rank 3, whose last index is the fastest
//   v.slice(z)                                                 // one plane, as a matrix_view
//
// Like matrix_view it is a small value without ownership, and has no size(). Rows may be padded: give row_stride, and
// slice_stride where planes are padded too (cudaMalloc3D gives such memory).
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <pmpp/core/check.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/matrix_view.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// A volume in memory that the view does not own; (z, y, x) lies at data()[z * slice_stride() + y * row_stride() + x].
template <class T>
class volume_view {
public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;

  /// No elements.
  constexpr volume_view() = default;

  /// `depth` planes of `height` rows of `width` elements at `data`, without gaps.
  template <std::integral Depth, std::integral Height, std::integral Width>
  PMPP_HOST_DEVICE constexpr volume_view(T* data, Depth depth, Height height, Width width)
      : volume_view(data, depth, height, width, width, detail::checked_count(height) * detail::checked_count(width)) {}

  /// The same with `row_stride` elements from row to row and `slice_stride` from plane to plane.
  template <std::integral Depth, std::integral Height, std::integral Width, std::integral Row, std::integral Slice>
  PMPP_HOST_DEVICE constexpr volume_view(T* data, Depth depth, Height height, Width width, Row row_stride,
                                         Slice slice_stride)
      : data_(data),
        depth_(detail::checked_count(depth)),
        height_(detail::checked_count(height)),
        width_(detail::checked_count(width)),
        row_stride_(detail::checked_count(row_stride)),
        slice_stride_(detail::checked_count(slice_stride)) {}

  /// volume_view<float> converts to volume_view<const float>.
  template <class U>
  requires(detail::adds_const_only<U, T>) PMPP_HOST_DEVICE constexpr volume_view(const volume_view<U>& other)
      : volume_view(other.data(), other.depth(), other.height(), other.width(), other.row_stride(),
                    other.slice_stride()) {}

  /// From std::mdspan or anything like it, of rank 3. Host only. \throws std::invalid_argument unless elements whose last
  /// indices follow each other do so in memory: layout_right, or layout_stride with a last stride of 1
  template <class M>
  requires(detail::mdspan_of<M, T, 3>) constexpr volume_view(const M& m)
      : volume_view(m.data_handle(), static_cast<std::int64_t>(m.extent(0)), static_cast<std::int64_t>(m.extent(1)),
                    static_cast<std::int64_t>(m.extent(2)), static_cast<std::int64_t>(m.stride(1)),
                    static_cast<std::int64_t>(m.stride(0))) {
    if (m.stride(2) != 1 && width_ > 1)
      detail::throw_invalid_argument(
          detail::text("pmpp::volume_view: the elements of a row must lie next to each other, "
                       "the last stride of the mdspan is ") +
          detail::text::of(static_cast<std::int64_t>(m.stride(2))));
  }

  PMPP_HOST_DEVICE constexpr T* data() const { return data_; }
  PMPP_HOST_DEVICE constexpr std::int64_t depth() const { return depth_; }
  PMPP_HOST_DEVICE constexpr std::int64_t height() const { return height_; }
  PMPP_HOST_DEVICE constexpr std::int64_t width() const { return width_; }
  PMPP_HOST_DEVICE constexpr std::int64_t row_stride() const { return row_stride_; }
  PMPP_HOST_DEVICE constexpr std::int64_t slice_stride() const { return slice_stride_; }
  PMPP_HOST_DEVICE constexpr bool empty() const { return depth_ == 0 || height_ == 0 || width_ == 0; }

  /// True if the elements are depth * height * width consecutive ones.
  PMPP_HOST_DEVICE constexpr bool contiguous() const {
    return row_stride_ == width_ && slice_stride_ == height_ * width_;
  }

  /// Element (z, y, x). \pre each lies in its extent; checked in debug mode (core/check.hpp says how).
  PMPP_HOST_DEVICE constexpr T& operator()(std::int64_t z, std::int64_t y, std::int64_t x) const {
    detail::check_index(z, depth_, "volume_view z");
    detail::check_index(y, height_, "volume_view y");
    detail::check_index(x, width_, "volume_view x");
    return data_[z * slice_stride_ + y * row_stride_ + x];
  }

  /// Plane z. \pre 0 <= z < depth(); checked in debug mode.
  PMPP_HOST_DEVICE constexpr matrix_view<T> slice(std::int64_t z) const {
    detail::check_index(z, depth_, "volume_view::slice z");
    return {data_ + z * slice_stride_, height_, width_, row_stride_, 1};
  }

private:
  T* data_ = nullptr;
  std::int64_t depth_ = 0, height_ = 0, width_ = 0;
  std::int64_t row_stride_ = 0, slice_stride_ = 0;
};
template <class M>
requires(detail::mdspan_like<M, 3>) volume_view(const M&)
->volume_view<detail::mdspan_element<M>>;

}  // namespace pmpp::inline PMPP_BACKEND
