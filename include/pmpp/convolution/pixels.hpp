// SPDX-License-Identifier: Apache-2.0
//
// Small square masks on pictures of bytes. Here instructions are scarce, not memory: a thread makes 16 columns, straight
// from vectors of 16 bytes in registers, and the arithmetic is that of simt/pixel.hpp, where a pixel becomes a float, and a
// sum a pixel, by one instruction or two.
#pragma once

#include <cstdint>

#include <pmpp/convolution/kernel.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/pixel.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Adjacent bytes, whatever is in them, as words that move at once.
template <int Words>
struct [[gnu::may_alias]] alignas(4 * Words) words_of {
  std::uint32_t word[Words];
};
template <int Words, class T>
PMPP_HOST_DEVICE words_of<Words> load_words(const T* from) {
  return *reinterpret_cast<const words_of<Words>*>(from);
}
template <int Words, class T>
PMPP_HOST_DEVICE void store_words(T* to, const words_of<Words>& value) {
  *reinterpret_cast<words_of<Words>*>(to) = value;
}

/// Rows of a picture that begin at 16-byte boundaries.
template <class T>
bool in_vectors(const volume<T>& v) {
  constexpr std::int64_t size = sizeof(T);
  return v.step == 1 && (v.height == 1 || v.pitch * size % 16 == 0) &&
         reinterpret_cast<std::uintptr_t>(v.data) % 16 == 0;
}

/// What a launch works on; both pictures are in vectors.
template <int Size>
struct pixel_task {
  volume<const std::uint8_t> in;
  volume<std::uint8_t> out;
  border::kind outside;
  std::uint8_t constant;  ///< what stands outside, of border::kind::constant
  std::int64_t tiles_x;
  int rows;                ///< that a thread makes
  float tap[Size * Size];  ///< simt::scaled_tap
};

template <int Size, int Columns>
struct pixel_kernel {
  static constexpr int threads = 128, min_blocks = Columns == 16 ? 4 : 6;
  static constexpr int columns = Columns, width = 32 * columns;  ///< of a warp's results
  static constexpr int words = columns / 4 + 2, ahead = Size;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const pixel_task<Size>& task) const {
    const auto tile = static_cast<std::uint32_t>(block.index()), across = static_cast<std::uint32_t>(task.tiles_x);
    const std::int64_t x = std::int64_t(tile % across) * width + columns * block.lane();
    const std::int64_t y = (std::int64_t(tile / across) * (threads / 32) + block.warp()) * task.rows;
    if (x >= task.out.width || y >= task.out.height) return;
    const volume<const std::uint8_t>& in = task.in;
    const int lines = task.rows + Size - 1;
    const std::int64_t first = y - Size / 2;
    const bool inside = x >= 4 && x + columns + 4 <= in.width && first >= 0 && first + lines <= in.height;
    const std::uint8_t* const from = in.data + first * in.pitch + x;
    const auto read = [&](int r) { return inside ? whole_line(from + r * in.pitch) : any_line(task, first + r, x); };
    line next[ahead];  // lines on their way
    for_each_constant<ahead>([&](auto r) { next[decltype(r)::value] = read(decltype(r)::value); });
    float total[Size][columns];  // of the rows of results that a line meets, a ring
    int r = 0;
    const auto use_line = [&](auto number) {
      constexpr int slot = decltype(number)::value;
      if (r >= lines) return;
      float pixel[columns + Size - 1];
      for (int i = 0; i < columns + Size - 1; ++i) {
        const int at = 4 - Size / 2 + i;
        pixel[i] = simt::pixel_at(next[slot].word[at / 4], at % 4);
      }
      if (r + ahead < lines) next[slot] = read(r + ahead);
      for (int i = 0; i < Size; ++i)  // rows of the mask
        for (int k = 0; k < Size; ++k)
          for (int j = 0; j < columns; ++j) {
            float& sum = total[(slot + Size - i) % Size][j];
            sum = simt::multiply_add(task.tap[i * Size + k], pixel[k + j], i == 0 && k == 0 ? simt::half_a_pixel : sum);
          }
      if (r >= Size - 1) write(task, y + r - (Size - 1), x, total[(slot + 1) % Size]);
      ++r;
    };
    while (r < lines) for_each_constant<Size>(use_line);
  }

private:
  /// The pixels of a row that a thread meets, from four in front of its own on.
  struct line {
    std::uint32_t word[words];
  };

  PMPP_HOST_DEVICE static line whole_line(const std::uint8_t* from) {
    const words_of<columns / 4> own = load_words<columns / 4>(from);
    line l;
    l.word[0] = load_words<1>(from - 4).word[0];
    for (int i = 0; i < columns / 4; ++i) l.word[1 + i] = own.word[i];
    l.word[words - 1] = load_words<1>(from + columns).word[0];
    return l;
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
    words_of<columns / 4> result;
    for (int i = 0; i < columns / 4; ++i)
      result.word[i] = simt::pixels_of(total[4 * i], total[4 * i + 1], total[4 * i + 2], total[4 * i + 3]);
    std::uint8_t* const to = task.out.data + y * task.out.pitch + x;
    if (x + columns <= task.out.width)
      store_words<columns / 4>(to, result);
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
