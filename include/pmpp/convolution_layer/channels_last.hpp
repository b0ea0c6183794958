// SPDX-License-Identifier: Apache-2.0
//
// Copies images whose channels cannot be read 16 bytes at a time (channels first, or an odd number of them) to memory
// where they can: the channels of a pixel in whole words of 16 bytes, with zeros behind the last. Images are read and
// written once, tile by tile through shared memory, which takes less time than looking up elements one by one would lose.
#pragma once

#include <cstdint>

#include <pmpp/core/channels_view.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/gemm/simt.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// A batch of images and where the copy goes; none without `to`.
template <class T>
struct channels_copy {
  static constexpr int items = 16 / sizeof(T), side = 64;  ///< of a word; channels and pixels of a tile

  channels_view<const T> from;
  T* to = nullptr;

  PMPP_HOST_DEVICE std::int64_t pixels() const { return from.height() * from.width(); }
  PMPP_HOST_DEVICE std::int64_t channels() const { return round_up(from.channels(), std::int64_t(items)); }
  PMPP_HOST_DEVICE std::int64_t elements() const { return from.images() * pixels() * channels(); }
  PMPP_HOST_DEVICE std::int64_t tiles_across() const { return ceil_div(channels(), std::int64_t(side)); }
  PMPP_HOST_DEVICE std::int64_t tiles_of_image() const {
    return ceil_div(pixels(), std::int64_t(side)) * tiles_across();
  }
  PMPP_HOST_DEVICE std::int64_t tiles() const { return to == nullptr ? 0 : from.images() * tiles_of_image(); }
  channels_view<const T> copy() const { return nhwc<const T>(to, from.images(), from.height(), from.width(), channels()); }
};

/// One tile a block, of either of two copies.
template <class T>
struct channels_last_kernel {
  static constexpr int threads = 256, items = channels_copy<T>::items, side = channels_copy<T>::side;
  static constexpr int row = side + 1;  ///< words of a pixel are gathered from different banks
  static constexpr int steps = side * side / threads;

  struct shared {
    T tile[side * row];  ///< a row for each channel
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const channels_copy<T>& first,
                                   const channels_copy<T>& second) const {
    if (block.index() < first.tiles())
      copy(block, memory, first, block.index());
    else
      copy(block, memory, second, block.index() - first.tiles());
  }

private:
  template <class Block>
  PMPP_HOST_DEVICE static void copy(Block& block, shared& memory, const channels_copy<T>& x, std::int64_t number) {
    const std::int64_t image = number / x.tiles_of_image();
    const auto in_image = static_cast<std::uint64_t>(number % x.tiles_of_image());
    const std::int64_t pixel = in_image / x.tiles_across() * side, channel = in_image % x.tiles_across() * side;
    const int pixels = static_cast<int>(smaller(std::int64_t(side), x.pixels() - pixel));
    const int channels = static_cast<int>(smaller(std::int64_t(side), x.from.channels() - channel));
    // Neighbours read what lies next to each other.
    const bool along_channels = x.from.channel_stride() < x.from.col_stride();
    const int fast = block.thread() % side, slow = block.thread() / side;
    const T* from = x.from.data() + image * x.from.image_stride() + channel * x.from.channel_stride();
    T value[steps];
    unrolled<steps>([&](int i) {
      const int other = slow + i * (threads / side), p = along_channels ? other : fast, c = along_channels ? fast : other;
      const std::int64_t at = pixel + p;
      value[i] = p < pixels && c < channels ? from[at / x.from.width() * x.from.row_stride() +
                                                   at % x.from.width() * x.from.col_stride() +
                                                   c * x.from.channel_stride()]
                                            : T{};
    });
    unrolled<steps>([&](int i) {
      const int other = slow + i * (threads / side);
      memory.tile[along_channels ? fast * row + other : other * row + fast] = value[i];
    });
    block.sync();
    constexpr int words = side / items;
    T* to = x.to + (image * x.pixels() + pixel) * x.channels() + channel;
    unrolled<side * words / threads>([&](int i) {
      const int number_of_word = block.thread() + i * threads, c = number_of_word % words * items, p = number_of_word / words;
      if (p >= pixels || c >= x.channels() - channel) return;
      item_group<T, items> word;
      for (int e = 0; e < items; ++e) word.item[e] = memory.tile[(c + e) * row + p];
      *reinterpret_cast<item_group<T, items>*>(to + p * x.channels() + c) = word;
    });
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
