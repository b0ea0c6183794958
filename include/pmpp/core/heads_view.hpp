// SPDX-License-Identifier: Apache-2.0
//
// heads_view<T>: vectors of several heads at each position of a batch of sequences, which it does not own.
//
//   bhsd(data, batch, heads, length, size)    batch, head, sequence, dimension: the vectors of a head follow each other
//   bshd(data, batch, length, heads, size)    the heads of a position do, as a dense layer writes them
//   v.vector(b, head, position)               the first of `size` adjacent elements
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/matrix_view.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// Strides are in elements; the elements of a vector are adjacent.
template <class T>
class heads_view {
public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;

  /// No elements.
  constexpr heads_view() = default;
  PMPP_HOST_DEVICE constexpr heads_view(T* data, std::int64_t batch, std::int64_t heads, std::int64_t length,
                                        std::int64_t size, std::int64_t batch_stride, std::int64_t head_stride,
                                        std::int64_t position_stride)
      : data_(data),
        batch_(batch),
        heads_(heads),
        length_(length),
        size_(size),
        batch_stride_(batch_stride),
        head_stride_(head_stride),
        position_stride_(position_stride) {}

  /// heads_view<float> converts to heads_view<const float>.
  template <class U>
  requires(detail::adds_const_only<U, T>) PMPP_HOST_DEVICE constexpr heads_view(const heads_view<U>& v)
      : heads_view(v.data(), v.batch(), v.heads(), v.length(), v.size(), v.batch_stride(), v.head_stride(),
                   v.position_stride()) {}

  PMPP_HOST_DEVICE constexpr T* data() const { return data_; }
  PMPP_HOST_DEVICE constexpr std::int64_t batch() const { return batch_; }
  PMPP_HOST_DEVICE constexpr std::int64_t heads() const { return heads_; }
  PMPP_HOST_DEVICE constexpr std::int64_t length() const { return length_; }
  PMPP_HOST_DEVICE constexpr std::int64_t size() const { return size_; }  ///< of a vector
  PMPP_HOST_DEVICE constexpr std::int64_t batch_stride() const { return batch_stride_; }
  PMPP_HOST_DEVICE constexpr std::int64_t head_stride() const { return head_stride_; }
  PMPP_HOST_DEVICE constexpr std::int64_t position_stride() const { return position_stride_; }
  PMPP_HOST_DEVICE constexpr bool empty() const { return batch_ == 0 || heads_ == 0 || length_ == 0 || size_ == 0; }

  /// \pre each lies in its extent
  PMPP_HOST_DEVICE constexpr T* vector(std::int64_t b, std::int64_t head, std::int64_t position) const {
    return data_ + b * batch_stride_ + head * head_stride_ + position * position_stride_;
  }

private:
  T* data_ = nullptr;
  std::int64_t batch_ = 0, heads_ = 0, length_ = 0, size_ = 0;
  std::int64_t batch_stride_ = 0, head_stride_ = 0, position_stride_ = 0;
};

/// Without gaps, one head after the other.
template <class T>
PMPP_HOST_DEVICE constexpr heads_view<T> bhsd(T* data, std::int64_t batch, std::int64_t heads, std::int64_t length,
                                              std::int64_t size) {
  return {data, batch, heads, length, size, heads * length * size, length * size, size};
}

/// Without gaps, one position after the other.
template <class T>
PMPP_HOST_DEVICE constexpr heads_view<T> bshd(T* data, std::int64_t batch, std::int64_t length, std::int64_t heads,
                                              std::int64_t size) {
  return {data, batch, heads, length, size, length * heads * size, size, heads * size};
}

}  // namespace pmpp::inline PMPP_BACKEND
