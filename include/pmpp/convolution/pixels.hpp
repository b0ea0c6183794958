// SPDX-License-Identifier: Apache-2.0
//
// Small square masks on pictures of bytes. Here instructions are scarce, not memory: a thread makes 16 columns, straight
// from vectors of 16 bytes in registers, and the arithmetic is that of simt/pixel.hpp, where a pixel becomes a float, and a
// sum a pixel, by one instruction or two.
#pragma once

#include <cstdint>

#include <pmpp/convolution/elements.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/pixel.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// What a launch works on; both pictures are in vectors.
template <int Size>
struct pixel_task {
  volume<const std::uint8_t> in;
  volume<std::uint8_t> out;
  border::kind outside;
  std::uint8_t constant;  ///< what stands outside, of border::kind::constant
  std::int64_t tiles_x;
  float tap[Size * Size];  ///< simt::scaled_tap
};

template <int Size, int Rows>
struct pixel_kernel {
  static constexpr int threads = 256, min_blocks = 4;
  static constexpr int columns = 16, width = 32 * columns, height = threads / 32 * Rows;  ///< of a block's results
  static constexpr int words = columns / 4 + 2, lines = Rows + Size - 1;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const pixel_task<Size>& task) const {
    const auto tile = static_cast<std::uint32_t>(block.index()), across = static_cast<std::uint32_t>(task.tiles_x);
    const std::int64_t x = std::int64_t(tile % across) * width + columns * block.lane();
    const std::int64_t y = std::int64_t(tile / across) * height + Rows * block.warp();
    if (x >= task.out.width || y >= task.out.height) return;
    const volume<const std::uint8_t>& in = task.in;
    const std::int64_t first = y - Size / 2;
    line read[lines];
    if (x >= 4 && x + columns + 4 <= in.width && first >= 0 && first + lines <= in.height) {
      const std::uint8_t* from = in.data + first * in.pitch + x;
      for (int i = 0; i < lines; ++i, from += in.pitch) read[i] = whole_line(from);
    } else {
      for_each_constant<lines>(
          [&](auto i) { read[decltype(i)::value] = any_line(task, first + decltype(i)::value, x); });
    }
    float total[Rows][columns];
    for_each_constant<lines>([&](auto number) {
      constexpr int r = decltype(number)::value;
      float pixel[columns + Size - 1];
      for (int i = 0; i < columns + Size - 1; ++i) {
        const int at = 4 - Size / 2 + i;
        pixel[i] = simt::pixel_at(read[r].word[at / 4], at % 4);
      }
      for_each_constant<Rows * Size>([&](auto which) {
        constexpr int h = decltype(which)::value / Size, k = decltype(which)::value % Size;
        if constexpr (h <= r && h > r - Size)
          for (int j = 0; j < columns; ++j)
            total[h][j] = simt::multiply_add(task.tap[(r - h) * Size + k], pixel[k + j],
                                             r == h && k == 0 ? simt::half_a_pixel : total[h][j]);
      });
      if constexpr (r >= Size - 1) write(task, y + r - Size + 1, x, total[r - Size + 1]);
    });
  }

private:
  /// The pixels of a row that a thread meets, from four in front of its own on.
  struct line {
    std::uint32_t word[words];
  };

  PMPP_HOST_DEVICE static line whole_line(const std::uint8_t* from) {
    const words_of<4> own = load_words<4>(from);
    return {{load_words<1>(from - 4).word[0], own.word[0], own.word[1], own.word[2], own.word[3],
             load_words<1>(from + columns).word[0]}};
  }
  PMPP_HOST_DEVICE static line any_line(const pixel_task<Size>& task, std::int64_t y, std::int64_t x) {
    const volume<const std::uint8_t>& in = task.in;
    const std::int64_t from_y = position_in(y, in.height, task.outside);
    const std::uint8_t* const row = in.data + (from_y < 0 ? 0 : from_y) * in.pitch;
    line l;
    if (from_y < 0) {
      for (int i = 0; i < words; ++i) l.word[i] = task.constant * 0x01010101u;
    } else {
      for (int i = 0; i < words; ++i) {
        const std::int64_t first = x + 4 * (i - 1);
        l.word[i] = 0;
        if (first >= 0 && first + 4 <= in.width)
          l.word[i] = load_words<1>(row + first).word[0];
        else
          for (int j = 0; j < 4; ++j) {
            const std::int64_t from_x = position_in(first + j, in.width, task.outside);
            l.word[i] |= std::uint32_t(from_x < 0 ? task.constant : row[from_x]) << 8 * j;
          }
      }
    }
    return l;
  }

  PMPP_HOST_DEVICE static void write(const pixel_task<Size>& task, std::int64_t y, std::int64_t x,
                                     const float (&total)[columns]) {
    if (y >= task.out.height) return;
    words_of<4> result;
    for (int i = 0; i < 4; ++i)
      result.word[i] = simt::pixels_of(total[4 * i], total[4 * i + 1], total[4 * i + 2], total[4 * i + 3]);
    std::uint8_t* const to = task.out.data + y * task.out.pitch + x;
    if (x + columns <= task.out.width)
      store_words<4>(to, result);
    else
      for_each_constant<columns>([&](auto number) {
        constexpr int i = decltype(number)::value;
        if (x + i < task.out.width) to[i] = static_cast<std::uint8_t>(result.word[i / 4] >> i % 4 * 8);
      });
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
