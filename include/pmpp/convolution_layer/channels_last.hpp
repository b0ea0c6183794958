// SPDX-License-Identifier: Apache-2.0
//
// Copies images whose channels cannot be read 16 bytes at a time (channels first, or an odd number of them) to memory
// where they can: the channels of a pixel in whole words of 16 bytes, with zeros after the last. Images are read and
// written once, tile by tile through shared memory, which takes less time than looking up elements one by one would lose.
#pragma once

#include <cstdint>

#include <pmpp/core/channels_view.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
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
  std::int64_t pixels, channels;  ///< of an image; of a copied pixel
  /// Of a tile, which has 4096 elements: few pixels (the taps of filters) and many channels, or as many. By words it has 128
  /// bytes of channels for each of 64 pixels.
  int tile_pixels, tile_channels;
  std::uint32_t tiles_across, tiles_of_image;
  bool by_words;  ///< four pixels of a channel may be read at once

  explicit channels_copy(const channels_view<const T>& images)
      : from(images),
        pixels(from.height() * from.width()),
        channels(round_up(from.channels(), std::int64_t(items))),
        tile_pixels(pixels <= 16 ? 16 : 64) {
    const auto whole = [](std::int64_t x) { return x % 4 == 0; };
    by_words = sizeof(T) <= 4 && pixels > 16 && whole(pixels) && from.col_stride() == 1 &&
               (from.height() == 1 || from.row_stride() == from.width()) && whole(from.channel_stride()) &&
               whole(from.image_stride()) && reinterpret_cast<std::uintptr_t>(from.data()) % (4 * sizeof(T)) == 0;
    tile_channels = by_words ? 128 / int(sizeof(T)) : 4096 / tile_pixels;
    tiles_across = static_cast<std::uint32_t>(ceil_div(channels, std::int64_t(tile_channels)));
    tiles_of_image = static_cast<std::uint32_t>(ceil_div(pixels, std::int64_t(tile_pixels)) * tiles_across);
  }

  std::int64_t elements() const { return from.images() * pixels * channels; }
  PMPP_HOST_DEVICE std::int64_t tiles() const { return to == nullptr ? 0 : from.images() * tiles_of_image; }
  channels_view<const T> copy() const {
    return nhwc<const T>(to, from.images(), from.height(), from.width(), channels);
  }
};

/// One tile a block, of either of two copies.
template <class T>
struct channels_last_kernel {
  static constexpr int threads = 256, min_blocks = 5, items = channels_copy<T>::items, steps = 4096 / threads;

  /// A row for each channel, with one element more: words are gathered from different banks. By words, a row of 128 bytes for
  /// each pixel.
  struct shared {
    alignas(16) T tile[256 * 17];
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
    const std::uint32_t image = static_cast<std::uint32_t>(number) / x.tiles_of_image,
                        rest = static_cast<std::uint32_t>(number) % x.tiles_of_image;
    const int tile_pixels = x.tile_pixels, tile_channels = x.tile_channels, row = tile_pixels + 1;
    const std::int64_t pixel = std::int64_t(rest / x.tiles_across) * tile_pixels,
                       channel = std::int64_t(rest % x.tiles_across) * tile_channels;
    const int pixels = static_cast<int>(min(std::int64_t(tile_pixels), x.pixels - pixel));
    const int channels = static_cast<int>(min(std::int64_t(tile_channels), x.from.channels() - channel));
    const T* from = x.from.data() + image * x.from.image_stride() + channel * x.from.channel_stride();
    T* to = x.to + (image * x.pixels + pixel) * x.channels + channel;
    const int words = static_cast<int>(min(std::int64_t(tile_channels), x.channels - channel)) / items;
    if constexpr (sizeof(T) <= 4)
      if (x.by_words) return copy_words(block, memory, x, from + pixel, pixels, channels, to, words);
    // Neighbours read what lies next to each other.
    if (x.from.channel_stride() < x.from.col_stride()) {
      const int c = block.thread() & (tile_channels - 1);
      for (int p = block.thread() / tile_channels; p < pixels; p += threads / tile_channels)
        memory.tile[c * row + p] = c < channels ? from[offset_of(x, pixel + p) + c * x.from.channel_stride()] : T{};
    } else {
      const int p = block.thread() & (tile_pixels - 1), first = block.thread() / tile_pixels,
                step = threads / tile_pixels;
      from += offset_of(x, pixel + min(p, pixels - 1)) + first * x.from.channel_stride();
      const std::int64_t next = step * x.from.channel_stride();
      T value[steps];
      unrolled<steps>([&](int i) {
        value[i] = first + i * step < channels ? *from : T{};
        from += next;
      });
      unrolled<steps>([&](int i) { memory.tile[(first + i * step) * row + p] = value[i]; });
    }
    block.sync();
    for (int i = block.thread(); i < pixels * words; i += threads) {
      const int c = i % words * items, p = i / words;
      packed<T, items> word;
      for (int e = 0; e < items; ++e) word.item[e] = memory.tile[(c + e) * row + p];
      *reinterpret_cast<packed<T, items>*>(to + p * x.channels + c) = word;
    }
  }

  /// The same by four pixels of four bytes of channels at a time. Words change places within a row, so that neither those
  /// of different pixels nor those of one meet in a bank.
  template <class Block>
  PMPP_HOST_DEVICE static void copy_words(Block& block, shared& memory, const channels_copy<T>& x, const T* from,
                                          int pixels, int channels, T* to, int words) {
    constexpr int unit = 4 / sizeof(T), row = 32 * unit, turns = 16 * 32 / threads;
    const auto place = [](int p, int c) { return p * row + (c ^ (p / 8 * items)); };
    const int p = block.thread() % 16 * 4, first = block.thread() / 16 * unit;
    packed<T, 4> own[turns][unit];
    unrolled<turns>([&](int n) {
      unrolled<unit>([&](int e) {
        const int c = first + n * (row / turns) + e;
        own[n][e] = packed<T, 4>{};
        if ((p < pixels) & (c < channels))
          own[n][e] = *reinterpret_cast<const packed<T, 4>*>(from + p + c * x.from.channel_stride());
      });
    });
    unrolled<turns>([&](int n) {
      unrolled<4>([&](int i) {
        packed<T, unit> y;
        unrolled<unit>([&](int e) { y.item[e] = own[n][e].item[i]; });
        *reinterpret_cast<packed<T, unit>*>(memory.tile + place(p + i, first + n * (row / turns))) = y;
      });
    });
    block.sync();
    for (int i = block.thread(); i < pixels * 8; i += threads) {
      const int word = i % 8, q = i / 8;
      if (word < words)
        *reinterpret_cast<packed<T, items>*>(to + q * x.channels + word * items) =
            *reinterpret_cast<const packed<T, items>*>(memory.tile + place(q, word * items));
    }
  }

  PMPP_HOST_DEVICE static std::int64_t offset_of(const channels_copy<T>& x, std::int64_t pixel) {
    const std::int64_t width = x.from.width();
    const bool small = x.pixels < std::int64_t(1) << 32;  // dividing 64-bit numbers takes longer than all the rest
    const std::int64_t y =
        small ? static_cast<std::uint32_t>(pixel) / static_cast<std::uint32_t>(width) : pixel / width;
    return y * x.from.row_stride() + (pixel - y * width) * x.from.col_stride();
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
