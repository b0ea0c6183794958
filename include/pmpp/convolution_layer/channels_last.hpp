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
  static constexpr int items = 16 / sizeof(T);  ///< of a word

  channels_view<const T> from;
  T* to = nullptr;

  PMPP_HOST_DEVICE std::int64_t pixels() const { return from.height() * from.width(); }
  PMPP_HOST_DEVICE std::int64_t channels() const { return round_up(from.channels(), std::int64_t(items)); }
  PMPP_HOST_DEVICE std::int64_t elements() const { return from.images() * pixels() * channels(); }
  // A tile has 4096 elements: few pixels (the taps of filters) and many channels, or as many.
  PMPP_HOST_DEVICE int tile_pixels() const { return pixels() <= 16 ? 16 : 64; }
  PMPP_HOST_DEVICE int tile_channels() const { return 4096 / tile_pixels(); }
  PMPP_HOST_DEVICE std::int64_t tiles_across() const { return ceil_div(channels(), std::int64_t(tile_channels())); }
  PMPP_HOST_DEVICE std::int64_t tiles_of_image() const {
    return ceil_div(pixels(), std::int64_t(tile_pixels())) * tiles_across();
  }
  PMPP_HOST_DEVICE std::int64_t tiles() const { return to == nullptr ? 0 : from.images() * tiles_of_image(); }
  channels_view<const T> copy() const {
    return nhwc<const T>(to, from.images(), from.height(), from.width(), channels());
  }
};

/// One tile a block, of either of two copies.
template <class T>
struct channels_last_kernel {
  static constexpr int threads = 256, min_blocks = 4, items = channels_copy<T>::items, steps = 4096 / threads;

  struct shared {
    T tile[256 * 17];  ///< a row for each channel, with one element more: words are gathered from different banks
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
    // There are no more than 2^31 tiles in a launch.
    const auto in_image = static_cast<std::uint32_t>(x.tiles_of_image()),
               across = static_cast<std::uint32_t>(x.tiles_across());
    const std::uint32_t image = static_cast<std::uint32_t>(number) / in_image,
                        rest = static_cast<std::uint32_t>(number) % in_image;
    const int tile_pixels = x.tile_pixels(), tile_channels = x.tile_channels(), row = tile_pixels + 1;
    const std::int64_t pixel = std::int64_t(rest / across) * tile_pixels,
                       channel = std::int64_t(rest % across) * tile_channels;
    const int pixels = static_cast<int>(smaller(std::int64_t(tile_pixels), x.pixels() - pixel));
    const int channels = static_cast<int>(smaller(std::int64_t(tile_channels), x.from.channels() - channel));
    const T* from = x.from.data() + image * x.from.image_stride() + channel * x.from.channel_stride();
    // Neighbours read what lies next to each other.
    if (x.from.channel_stride() < x.from.col_stride()) {
      const int c = block.thread() & (tile_channels - 1);
      for (int p = block.thread() / tile_channels; p < pixels; p += threads / tile_channels)
        memory.tile[c * row + p] = c < channels ? from[offset_of(x, pixel + p) + c * x.from.channel_stride()] : T{};
    } else {
      const int p = block.thread() & (tile_pixels - 1), first = block.thread() / tile_pixels,
                step = threads / tile_pixels;
      from += offset_of(x, pixel + smaller(p, pixels - 1)) + first * x.from.channel_stride();
      const std::int64_t next = step * x.from.channel_stride();
      T value[steps];
      unrolled<steps>([&](int i) {
        value[i] = first + i * step < channels ? *from : T{};
        from += next;
      });
      unrolled<steps>([&](int i) { memory.tile[(first + i * step) * row + p] = value[i]; });
    }
    block.sync();
    const int words = static_cast<int>(smaller(std::int64_t(tile_channels), x.channels() - channel)) / items;
    T* to = x.to + (image * x.pixels() + pixel) * x.channels() + channel;
    for (int i = block.thread(); i < pixels * words; i += threads) {
      const int c = i % words * items, p = i / words;
      item_group<T, items> word;
      for (int e = 0; e < items; ++e) word.item[e] = memory.tile[(c + e) * row + p];
      *reinterpret_cast<item_group<T, items>*>(to + p * x.channels() + c) = word;
    }
  }

  PMPP_HOST_DEVICE static std::int64_t offset_of(const channels_copy<T>& x, std::int64_t pixel) {
    const std::int64_t width = x.from.width();
    const bool small = x.pixels() < std::int64_t(1) << 32;  // dividing 64-bit numbers takes longer than all the rest
    const std::int64_t y =
        small ? static_cast<std::uint32_t>(pixel) / static_cast<std::uint32_t>(width) : pixel / width;
    return y * x.from.row_stride() + (pixel - y * width) * x.from.col_stride();
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
