// SPDX-License-Identifier: Apache-2.0
//
// channels_view<T>: a batch of images of several channels that it does not own, by any four strides.
//
//   nhwc(data, images, height, width, channels)    the channels of a pixel lie next to each other
//   nchw(data, images, channels, height, width)    the pixels of a channel do
//   v(image, y, x, channel)                        one element
//
// The filters of a convolution layer are such a batch too: one image for each filter, its height and width the taps'.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/check.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/matrix_view.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// A batch of images in memory that the view does not own. Strides are in elements; none may be negative.
template <class T>
class channels_view {
public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;

  /// No elements.
  constexpr channels_view() = default;

  template <std::integral Images, std::integral Height, std::integral Width, std::integral Channels,
            std::integral ImageStride, std::integral RowStride, std::integral ColStride, std::integral ChannelStride>
  PMPP_HOST_DEVICE constexpr channels_view(T* data, Images images, Height height, Width width, Channels channels,
                                           ImageStride image_stride, RowStride row_stride, ColStride col_stride,
                                           ChannelStride channel_stride)
      : data_(data),
        images_(detail::checked_count(images)),
        height_(detail::checked_count(height)),
        width_(detail::checked_count(width)),
        channels_(detail::checked_count(channels)),
        image_stride_(detail::checked_count(image_stride)),
        row_stride_(detail::checked_count(row_stride)),
        col_stride_(detail::checked_count(col_stride)),
        channel_stride_(detail::checked_count(channel_stride)) {}

  /// channels_view<float> converts to channels_view<const float>.
  template <class U>
  requires(detail::adds_const_only<U, T>) PMPP_HOST_DEVICE constexpr channels_view(const channels_view<U>& v)
      : channels_view(v.data(), v.images(), v.height(), v.width(), v.channels(), v.image_stride(), v.row_stride(),
                      v.col_stride(), v.channel_stride()) {}

  PMPP_HOST_DEVICE constexpr T* data() const { return data_; }
  PMPP_HOST_DEVICE constexpr std::int64_t images() const { return images_; }
  PMPP_HOST_DEVICE constexpr std::int64_t height() const { return height_; }
  PMPP_HOST_DEVICE constexpr std::int64_t width() const { return width_; }
  PMPP_HOST_DEVICE constexpr std::int64_t channels() const { return channels_; }
  PMPP_HOST_DEVICE constexpr std::int64_t image_stride() const { return image_stride_; }
  PMPP_HOST_DEVICE constexpr std::int64_t row_stride() const { return row_stride_; }
  PMPP_HOST_DEVICE constexpr std::int64_t col_stride() const { return col_stride_; }
  PMPP_HOST_DEVICE constexpr std::int64_t channel_stride() const { return channel_stride_; }
  PMPP_HOST_DEVICE constexpr bool empty() const {
    return images_ == 0 || height_ == 0 || width_ == 0 || channels_ == 0;
  }

  /// \pre each lies in its extent; checked in debug mode (core/check.hpp says how).
  PMPP_HOST_DEVICE constexpr T& operator()(std::int64_t image, std::int64_t y, std::int64_t x,
                                           std::int64_t channel) const {
    detail::check_index(image, images_, "channels_view image");
    detail::check_index(y, height_, "channels_view y");
    detail::check_index(x, width_, "channels_view x");
    detail::check_index(channel, channels_, "channels_view channel");
    return data_[image * image_stride_ + y * row_stride_ + x * col_stride_ + channel * channel_stride_];
  }

private:
  T* data_ = nullptr;
  std::int64_t images_ = 0, height_ = 0, width_ = 0, channels_ = 0;
  std::int64_t image_stride_ = 0, row_stride_ = 0, col_stride_ = 0, channel_stride_ = 0;
};

/// Images without gaps, the channels of a pixel next to each other.
template <class T>
PMPP_HOST_DEVICE constexpr channels_view<T> nhwc(T* data, std::int64_t images, std::int64_t height, std::int64_t width,
                                                 std::int64_t channels) {
  return {data, images, height, width, channels, height * width * channels, width * channels, channels, 1};
}

/// Images without gaps, one channel after the other.
template <class T>
PMPP_HOST_DEVICE constexpr channels_view<T> nchw(T* data, std::int64_t images, std::int64_t channels,
                                                 std::int64_t height, std::int64_t width) {
  return {data, images, height, width, channels, height * width * channels, width, 1, height * width};
}

namespace detail {

/// Channels of a pixel or filter may be read `Items` at a time, usually 16 bytes.
template <int Items = 0, class T>
bool channels_in_vectors(const channels_view<T>& v, std::int64_t group_channels) {
  constexpr std::int64_t items = Items > 0 ? Items : 16 / sizeof(T);
  const auto whole = [](std::int64_t stride, std::int64_t extent) { return extent == 1 || stride % items == 0; };
  return v.channel_stride() == 1 && group_channels % items == 0 && whole(v.col_stride(), v.width()) &&
         whole(v.row_stride(), v.height()) && whole(v.image_stride(), v.images()) &&
         reinterpret_cast<std::uintptr_t>(v.data()) % (items * sizeof(T)) == 0;
}

/// Two neighbours along the channels may be written at once.
template <class T>
bool channels_in_pairs(const channels_view<T>& v) {
  return v.channel_stride() == 1 && v.col_stride() % 2 == 0 && v.row_stride() % 2 == 0 && v.image_stride() % 2 == 0 &&
         reinterpret_cast<std::uintptr_t>(v.data()) % (2 * sizeof(T)) == 0;
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
