// SPDX-License-Identifier: Apache-2.0
//
// The kernels of image.hpp, and the arithmetic of one pixel that all policies share.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/convolution/elements.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/rgb.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/simt/pixel.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Sample i of those that words hold. \pre sizeof(T) <= 4
template <class T>
PMPP_HOST_DEVICE T sample_in(const std::uint32_t* word, int i) {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t,
                                  std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>;
  constexpr int per_word = 4 / int(sizeof(T)), width = 8 * int(sizeof(T));
  return __builtin_bit_cast(T, static_cast<bits>(word[i / per_word] >> i % per_word * width));
}

/// The word that begins `shift` bytes after the beginning of two adjacent ones.
PMPP_HOST_DEVICE inline std::uint32_t joined(std::uint32_t low, std::uint32_t high, int shift) {
  return static_cast<std::uint32_t>((std::uint64_t(high) << 32 | low) >> 8 * shift);
}

// -- rgb_to_gray ------------------------------------------------------------------------------------------------------

/// 0.21 r + 0.71 g + 0.07 b; pixels of 8 and 16 bits exactly, rounded to the nearest.
template <class Out, class T>
PMPP_HOST_DEVICE Out gray_of(const rgb<T>& p) {
  if constexpr (std::is_unsigned_v<T> && sizeof(T) <= 2 && std::is_same_v<T, Out>) {
    return static_cast<Out>((21u * p.r + 71u * p.g + 7u * p.b + 50u) / 100u);
  } else {
    using A = sum_of<T, T, Out>;
    return stored<Out>(A(0.21) * converted<A>(p.r) + A(0.71) * converted<A>(p.g) + A(0.07) * converted<A>(p.b));
  }
}

/// Each warp makes pieces of a row: its lanes copy adjacent vectors of 16 bytes to shared memory, three each, and read
/// back the three that lie side by side, which hold 16 pixels of 8 bits. A stride of three vectors meets all banks.
template <class T, class Out, int Pieces>
struct gray_kernel {
  static constexpr bool has_vectors = std::is_same_v<T, Out> && sizeof(T) <= 4;
  static constexpr int threads = 256, warps = threads / 32;
  static constexpr int vector = sizeof(T) <= 4 ? 16 / int(sizeof(T)) : 4;  ///< pixels of a lane
  static constexpr int piece = 32 * vector;                                ///< pixels of a warp at a time

  struct shared {
    words_of<4> part[warps][Pieces][3 * 32];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const volume<const rgb<T>>& in, const volume<Out>& out,
                                   std::int64_t pieces, bool vectors) const {
    const std::int64_t task = block.index() * warps + block.warp();
    const std::int64_t y = out.height == 1 ? 0 : task / pieces, x = (task - y * pieces) * (Pieces * piece);
    if (y >= out.height || x >= out.width) return;
    if constexpr (has_vectors)
      if (vectors && x + Pieces * piece <= out.width)
        return make_vectors(block, memory.part[block.warp()], in.at(0, y, x), out.at(0, y, x));
    const std::int64_t end = min(x + Pieces * piece, out.width);
    for (std::int64_t i = x + block.lane(); i < end; i += 32) *out.at(0, y, i) = gray_of<Out>(*in.at(0, y, i));
  }

private:
  template <class Block>
  PMPP_HOST_DEVICE static void make_vectors(Block& block, words_of<4> (&part)[Pieces][3 * 32], const rgb<T>* in,
                                            Out* out) {
    const auto* from = reinterpret_cast<const unsigned char*>(in) + 16 * block.lane();
    for (int p = 0; p < Pieces; ++p)
      for (int k = 0; k < 3; ++k) simt::copy_async<16>(&part[p][32 * k + block.lane()], from + 512 * (3 * p + k));
    simt::copy_async_commit();
    simt::copy_async_wait<0>();
    block.sync_warp();
    for (int p = 0; p < Pieces; ++p) {
      words_of<4> word[3], gray{};
      for (int k = 0; k < 3; ++k) word[k] = part[p][3 * block.lane() + k];
      constexpr int bits = 8 * int(sizeof(T)), per_word = 32 / bits;
      for (int i = 0; i < vector; ++i) {
        T sample[3];
        for (int c = 0; c < 3; ++c) sample[c] = sample_in<T>(word[(3 * i + c) / vector].word, (3 * i + c) % vector);
        const Out g = gray_of<Out>(rgb<T>{sample[0], sample[1], sample[2]});
        gray.word[i / per_word] |= bits_of(g) << i % per_word * bits;
      }
      store_words<4>(out + p * piece + vector * block.lane(), gray);
    }
  }
  PMPP_HOST_DEVICE static std::uint32_t bits_of(const Out& g) {
    if constexpr (sizeof(Out) == 4)
      return __builtin_bit_cast(std::uint32_t, g);
    else if constexpr (sizeof(Out) == 2)
      return __builtin_bit_cast(std::uint16_t, g);
    else
      return __builtin_bit_cast(std::uint8_t, g);
  }
};

// -- box_blur ---------------------------------------------------------------------------------------------------------

/// How many of the pixels within `radius` of pixel i an axis of n has.
PMPP_HOST_DEVICE inline std::int64_t neighbours(std::int64_t i, std::int64_t n, std::int64_t radius) {
  return min(i + radius, n - 1) - max(i - radius, std::int64_t(0)) + 1;
}

/// The mean of `count` integers, rounded to the nearest, halves away from zero.
PMPP_HOST_DEVICE inline std::int64_t rounded_mean(std::int64_t sum, std::int64_t count) {
  return sum < 0 ? -((-sum + count / 2) / count) : (sum + count / 2) / count;
}

/// Means of up to 225 bytes: of s < 2^16 and n, (s + n / 2) / n is the first byte of (s + n / 2) * multiplier, exactly.
/// multiplier = ceil(2^24 / n) is too large by less than n / 2^24 of it, and s + n / 2 is below 2^24 / n times n.
struct divider {
  std::uint32_t multiplier, half;

  PMPP_HOST_DEVICE explicit constexpr divider(std::uint32_t n)
      : multiplier(((1u << 24) + n - 1) / n), half(n / 2 * multiplier) {}
  PMPP_HOST_DEVICE std::uint32_t operator()(std::uint32_t s) const { return s * multiplier + half; }
};

/// Pixels of 8 bits, windows of 2 Radius + 1 <= 15 a side. A thread makes 16 columns of `Rows` rows. It keeps the sums
/// of its columns over the rows of the window: a row comes in, a row goes out. A second sum slides along the columns.
template <int Radius, int Rows>
struct box_kernel {
  static constexpr bool keeps_rows = Radius <= 2;  ///< in registers, else they are read again when they go out
  static constexpr int threads = 256, min_blocks = Radius == 2 ? 2 : 3;  // registers
  static constexpr int columns = 16, side = 2 * Radius + 1;
  static constexpr int margin = ceil_div(Radius, 4), words = 4 + 2 * margin;  ///< of four columns, in a row
  static constexpr int width = 32 * columns, height = threads / 32 * Rows;    ///< of a block's pixels

  struct shared {
    std::uint32_t row[threads / 32][width / 4];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const volume<const std::uint8_t>& in,
                                   const volume<std::uint8_t>& out, std::int64_t tiles_x, bool vectors) const {
    const auto tile = static_cast<std::uint32_t>(block.index()), across = static_cast<std::uint32_t>(tiles_x);
    const std::int64_t first = std::int64_t(tile % across) * width, x = first + columns * block.lane();
    const std::int64_t y = std::int64_t(tile / across) * height + Rows * block.warp();
    if (y >= out.height) return;
    if (vectors && in.width % columns == 0 && y >= Radius && y + Rows + Radius <= in.height) {
      if (first > 0 && first + width < in.width)
        make_inside<false>(in, out, y, x);
      else if (x < in.width)
        make_inside<true>(in, out, y, x);
    } else {
      make_anywhere(block, memory.row[block.warp()], in, out, y, x, vectors);
    }
  }

private:
  /// The pixels of a row that a thread meets.
  struct line {
    std::uint32_t word[words];
  };

  /// Sums of the columns that a thread's windows meet.
  struct sums {
    std::uint32_t column[columns + 2 * Radius];

    PMPP_HOST_DEVICE void add(const line& l) { add<1>(l); }
    PMPP_HOST_DEVICE void subtract(const line& l) { add<-1>(l); }
    template <int Factor>
    PMPP_HOST_DEVICE void add(const line& l) {
      for_each_constant<columns + 2 * Radius>([&](auto number) {
        constexpr int i = decltype(number)::value, at = i + 4 * margin - Radius;
        column[i] = simt::add_byte<at % 4, Factor>(l.word[at / 4], column[i]);
      });
    }
    /// The means around the thread's columns; divide(i) is the divider of column i.
    template <class Divide>
    PMPP_HOST_DEVICE words_of<4> means(const Divide& divide) const {
      words_of<4> result;
      std::uint32_t sum = 0, quotient[4];  // in their first bytes
      for_each_constant<2 * Radius>([&](auto number) { sum += column[decltype(number)::value]; });
      for_each_constant<columns>([&](auto number) {
        constexpr int i = decltype(number)::value;
        sum += column[i + 2 * Radius];
        quotient[i % 4] = divide(i)(sum);
        if constexpr (i % 4 == 3)
          result.word[i / 4] = simt::pick_bytes(simt::pick_bytes(quotient[0], quotient[1], 0x0073),
                                                simt::pick_bytes(quotient[2], quotient[3], 0x0073), 0x5410);
        sum -= column[i];
      });
      return result;
    }
  };

  /// The rows of the windows lie inside of the picture, which consists of vectors.
  template <bool AtEdge>
  PMPP_HOST_DEVICE static void make_inside(const volume<const std::uint8_t>& in, const volume<std::uint8_t>& out,
                                           std::int64_t y, std::int64_t x) {
    const bool has_left = !AtEdge || x > 0, has_right = !AtEdge || x + columns < in.width;
    const std::uint8_t* const from = in.at(0, y - Radius, x);
    std::uint8_t* const to = out.at(0, y, x);
    const auto read = [&](int i) {
      const std::uint8_t* const at = from + i * in.pitch;
      words_of<margin> left{}, right{};
      if (has_left) left = load_words<margin>(at - 4 * margin);
      if (has_right) right = load_words<margin>(at + columns);
      const words_of<4> middle = load_words<4>(at);
      line l;
      for (int k = 0; k < margin; ++k) l.word[k] = left.word[k], l.word[margin + 4 + k] = right.word[k];
      for (int k = 0; k < 4; ++k) l.word[margin + k] = middle.word[k];
      return l;
    };
    line kept[keeps_rows ? Rows + 2 * Radius : 1];
    if constexpr (keeps_rows)
      for_each_constant<Rows + 2 * Radius>([&](auto i) { kept[decltype(i)::value] = read(decltype(i)::value); });
    const auto row = [&](auto number) {
      constexpr int i = decltype(number)::value;
      if constexpr (keeps_rows)
        return kept[i];
      else
        return read(i);
    };
    sums column{};
    for_each_constant<2 * Radius>([&](auto i) { column.add(row(i)); });
    for_each_constant<Rows>([&](auto number) {
      constexpr int h = decltype(number)::value;
      column.add(row(std::integral_constant<int, h + 2 * Radius>{}));
      words_of<4> result;
      if (has_left && has_right)
        result = column.means([](int) { return divider(side * side); });
      else
        result = column.means([&](int i) {  // columns that are not there
          const int left = has_left ? 0 : max(0, Radius - i), right = has_right ? 0 : max(0, i + Radius + 1 - columns);
          return divider(static_cast<std::uint32_t>(side * (side - left - right)));
        });
      store_words<4>(to + h * out.pitch, result);
      if constexpr (h < Rows - 1) column.subtract(row(number));
    });
  }

  /// Any place in any picture; the lanes of a warp together.
  template <class Block>
  PMPP_HOST_DEVICE static void make_anywhere(Block& block, std::uint32_t* staged, const volume<const std::uint8_t>& in,
                                             const volume<std::uint8_t>& out, std::int64_t y, std::int64_t x,
                                             bool vectors) {
    const bool at_edge = x < Radius || x + columns + Radius > in.width;
    const std::int64_t first = x - columns * block.lane(), end = min(y + Rows, out.height);
    sums column{};
    for (std::int64_t i = y - Radius; i < y + Radius; ++i) column.add(any_line(in, i, x));
    for (std::int64_t i = y; i < end; ++i) {
      const line comes = any_line(in, i + Radius, x), goes = any_line(in, i - Radius, x);
      column.add(comes);
      const auto high = static_cast<std::uint32_t>(neighbours(i, in.height, Radius));
      const divider inside(high * side);
      const words_of<4> result = column.means([&](int k) {
        if (!at_edge || x + k >= in.width) return inside;
        const auto wide = static_cast<std::uint32_t>(neighbours(x + k, in.width, Radius));
        return wide == side ? inside : divider(high * wide);
      });
      column.subtract(goes);
      if (vectors && first + width <= out.width) {
        store_words<4>(out.at(0, i, x), result);
      } else {
        for (int k = 0; k < 4; ++k) staged[4 * block.lane() + k] = result.word[k];
        block.sync_warp();
        store_row(block.lane(), staged, out.at(0, i, first),
                  static_cast<int>(min(out.width - first, std::int64_t(width))));
        block.sync_warp();
      }
    }
  }

  /// The pixels of row y that a thread meets; zero where there is none.
  PMPP_HOST_DEVICE static line any_line(const volume<const std::uint8_t>& in, std::int64_t y, std::int64_t x) {
    const bool exists = y >= 0 && y < in.height;
    const std::uint8_t* row = in.at(0, exists ? y : 0, 0);
    const int shift = offset_of(row + x);
    std::uint32_t word[words + 1];  // of memory
    for (int i = 0; i <= words; ++i) {
      const std::int64_t first = x - shift + 4 * (i - margin);
      word[i] = exists && first >= 0 && first + 4 <= in.width ? load_words<1>(row + first).word[0] : 0;
    }
    const std::int64_t begin = x - shift - 4 * margin, end = begin + 4 * words + 4;
    if (exists && ((begin < 0 && shift != 0) || (end > in.width && (in.width - begin) % 4 != 0)))
      for (int i = 0; i <= words; ++i) {  // words that the row has a part of
        const std::int64_t first = begin + 4 * i;
        if (first < 0 || first + 4 > in.width)
          for (int j = 0; j < 4; ++j)
            if (first + j >= 0 && first + j < in.width) word[i] |= std::uint32_t(row[first + j]) << 8 * j;
      }
    line l;
    for (int i = 0; i < words; ++i) l.word[i] = joined(word[i], word[i + 1], shift);
    return l;
  }

  /// Writes `count` bytes from shared memory, a warp together: words where they fit the memory's.
  PMPP_HOST_DEVICE static void store_row(int lane, const std::uint32_t* staged, std::uint8_t* to, int count) {
    const int shift = offset_of(to);
    for (int w = lane; w <= width / 4; w += 32) {
      const int first = 4 * w - shift;
      if (first >= 0 && first + 4 <= count)
        store_words<1>(to + first, {shift == 0 ? staged[w] : joined(staged[w - 1], staged[w], 4 - shift)});
      else
        for (int j = 0; j < 4; ++j)
          if (first + j >= 0 && first + j < count) to[first + j] = sample_in<std::uint8_t>(staged, first + j);
    }
  }

  /// How far after a multiple of four an address is.
  PMPP_HOST_DEVICE static int offset_of(const std::uint8_t* p) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(p) % 4);
  }
};

/// Sums of the bytes in columns of words, below 2^16: in two words, of the first and third byte, of the second and fourth.
struct column_sums {
  std::uint32_t even[4], odd[4];

  PMPP_HOST_DEVICE void add(const std::uint32_t (&word)[4]) {
    for (int i = 0; i < 4; ++i) even[i] += even_bytes(word[i]), odd[i] += odd_bytes(word[i]);
  }
  PMPP_HOST_DEVICE void subtract(const std::uint32_t (&word)[4]) {
    for (int i = 0; i < 4; ++i) even[i] -= even_bytes(word[i]), odd[i] -= odd_bytes(word[i]);
  }
  PMPP_HOST_DEVICE static std::uint32_t even_bytes(std::uint32_t word) { return word & 0x00ff00ffu; }
  PMPP_HOST_DEVICE static std::uint32_t odd_bytes(std::uint32_t word) { return simt::pick_bytes(word, 0, 0x4341); }
};

/// Wide windows of pixels of 8 bits, up to 255 a side. A warp walks down a strip of 512 columns, of which the outer ones
/// are only read, 16 of them each lane's own. Sums of columns slide down: a row comes in, a row goes out. Then they lie in
/// shared memory, where each lane slides a window along its 16 results.
struct wide_box_kernel {
  static constexpr int threads = 128, min_blocks = 6, warps = threads / 32, columns = 16, width = 32 * columns;

  struct shared {
    struct {
      std::uint16_t column[32][2 * columns + 2];  // of a lane and the next one; the gap: lanes meet different banks
      std::uint32_t total[32];                    // of a lane's columns
    } row[warps][2];
    std::uint32_t multiplier[warps][32][columns];
  };

  /// Columns of results of a warp.
  PMPP_HOST_DEVICE static constexpr int inner(int radius_x) { return width - 2 * round_up(radius_x, columns); }

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const volume<const std::uint8_t>& in,
                                   const volume<std::uint8_t>& out, std::int64_t tiles_x, std::int64_t section,
                                   int radius_y, int radius_x, bool vectors) const {
    const std::int64_t task = block.index() * warps + block.warp(), begin = task / tiles_x * section;
    const std::int64_t end = min(begin + section, out.height);
    const int lane = block.lane(), rim = round_up(radius_x, columns) / columns;  // lanes without results at each side
    const std::int64_t x = task % tiles_x * inner(radius_x) + columns * (lane - rim);
    const bool makes = lane >= rim && lane < 32 - rim && x < out.width;
    // Columns to the left of x, and from x on, as far as they matter.
    const int left = static_cast<int>(min(x, std::int64_t(1) << 16));
    const int right = static_cast<int>(min(out.width - x, std::int64_t(1) << 16));
    const auto wide = [&](int i) {
      const int missing = max(0, radius_x - left - i) + max(0, radius_x + 1 + i - right);
      return static_cast<std::uint32_t>(max(1, 2 * radius_x + 1 - missing));
    };
    // Sums of n pixels are below 2^8 n: times ceil(2^32 / n), n < 2^12, or ceil(2^40 / n), n < 2^16, they have the exact
    // quotient above bit 32 or 40.
    const auto pixels = static_cast<std::uint32_t>((2 * radius_y + 1) * (2 * radius_x + 1)), tall = 2u * radius_y + 1;
    const int bits = pixels < 4096 ? 32 : 40;
    const auto multiplier_of = [&](std::uint32_t n) {
      return static_cast<std::uint32_t>(((std::uint64_t(1) << bits) + n - 1) / n);
    };
    const auto multiplier = multiplier_of(pixels);
    const bool at_edge = left < radius_x || right < columns + radius_x;
    auto& multipliers = memory.multiplier[block.warp()][lane];  // of columns at the edge
    if (makes && at_edge)
      for (int i = 0; i < columns; ++i) multipliers[i] = multiplier_of(tall * wide(i));
    column_sums sums{};
    words_of<4> comes{}, goes{};
    for (std::int64_t newest = begin - radius_y - 1; newest < end + radius_y; ++newest) {
      const std::int64_t y = newest - radius_y;
      const words_of<4> gone = goes;
      sums.add(comes.word);
      comes = line_at(in, newest + 1, x, vectors);  // on their way while this row is made
      if (y + 1 >= begin) goes = line_at(in, y + 1 - radius_y, x, vectors);
      if (y < begin) continue;
      auto& row = memory.row[block.warp()][y % 2];  // the lanes may still read the other one
      std::uint32_t total = 0;
      for (int i = 0; i < 4; ++i) {
        total += sums.even[i] % 65536 + sums.even[i] / 65536 + sums.odd[i] % 65536 + sums.odd[i] / 65536;
        const words_of<1> low{simt::pick_bytes(sums.even[i], sums.odd[i], 0x5410)};
        const words_of<1> high{simt::pick_bytes(sums.even[i], sums.odd[i], 0x7632)};
        store_words<1>(&row.column[lane][4 * i], low);
        store_words<1>(&row.column[lane][4 * i + 2], high);
        if (lane == 0) continue;
        store_words<1>(&row.column[lane - 1][columns + 4 * i], low);
        store_words<1>(&row.column[lane - 1][columns + 4 * i + 2], high);
      }
      row.total[lane] = total;
      sums.subtract(gone.word);
      block.sync_warp();
      if (!makes) continue;
      const auto high = static_cast<std::uint32_t>(neighbours(y, in.height, radius_y));
      const auto quotient = [](std::uint32_t sum, std::uint32_t times) {
        return static_cast<std::uint32_t>(std::uint64_t(sum) * times >> 32);
      };
      const auto means_by = [&](const auto& mean) {
        write(means(row.column, row.total, lane, radius_x, bits == 32 ? 0x0040 : 0x0051, mean), out, y, x, vectors);
      };
      if (high < tall || pixels == 1)
        means_by([&](int i, std::uint32_t s) { return (s + high * wide(i) / 2) / (high * wide(i)) << (bits - 32); });
      else if (at_edge)
        means_by([&](int i, std::uint32_t s) { return quotient(s + tall * wide(i) / 2, multipliers[i]); });
      else
        means_by([&](int, std::uint32_t s) { return quotient(s + pixels / 2, multiplier); });
    }
  }

private:
  /// A lane's pixels of row y; zero where there is none.
  PMPP_HOST_DEVICE static words_of<4> line_at(const volume<const std::uint8_t>& in, std::int64_t y, std::int64_t x,
                                              bool vectors) {
    words_of<4> line{};
    if (y < 0 || y >= in.height || x <= -columns || x >= in.width) return line;
    if (vectors && x >= 0 && x + columns <= in.width) return load_words<4>(in.at(0, y, x));
    for_each_constant<columns>([&](auto number) {
      constexpr int i = decltype(number)::value;
      if (x + i >= 0 && x + i < in.width) line.word[i / 4] |= std::uint32_t(*in.at(0, y, x + i)) << i % 4 * 8;
    });
    return line;
  }

  /// The means of a lane's columns; mean(i, s) is that of column i, whose window has the sum s, in the byte that `byte`
  /// picks of two words.
  template <class Mean>
  PMPP_HOST_DEVICE static words_of<4> means(const std::uint16_t (&column)[32][2 * columns + 2],
                                            const std::uint32_t (&total)[32], int lane, int radius, std::uint32_t byte,
                                            const Mean& mean) {
    const int lanes = radius / columns, rest = radius % columns;  // the window's reach
    // The columns that come into the window and go out of it.
    const std::uint16_t* const comes = &column[lane + lanes][rest];
    const std::uint16_t* const goes = rest == 0 ? &column[lane - lanes][0] : &column[lane - lanes - 1][columns - rest];
    std::uint32_t sum = 0, quotient[4];  // the sum of the columns -radius ... radius - 1 from the first
    for (int i = 0; i < lanes; ++i) sum += total[lane + i] + total[lane - 1 - i];
    for (int i = 0; i < rest; ++i) sum += comes[i - rest] + goes[i];
    words_of<4> result;
    for_each_constant<columns>([&](auto number) {
      constexpr int i = decltype(number)::value;
      sum += comes[i];
      quotient[i % 4] = mean(i, sum);
      if constexpr (i % 4 == 3)
        result.word[i / 4] = simt::pick_bytes(simt::pick_bytes(quotient[0], quotient[1], byte),
                                              simt::pick_bytes(quotient[2], quotient[3], byte), 0x5410);
      sum -= goes[i];
    });
    return result;
  }

  PMPP_HOST_DEVICE static void write(const words_of<4>& result, const volume<std::uint8_t>& out, std::int64_t y,
                                     std::int64_t x, bool vectors) {
    if (vectors && x + columns <= out.width) return store_words<4>(out.at(0, y, x), result);
    for_each_constant<columns>([&](auto number) {
      constexpr int i = decltype(number)::value;
      if (x + i < out.width) *out.at(0, y, x + i) = static_cast<std::uint8_t>(result.word[i / 4] >> i % 4 * 8);
    });
  }
};

/// Sums over windows, divided by the number of pixels that each window has. A thread makes a column of results.
template <class Sum, class T>
struct average_kernel {
  static constexpr int threads = 256, rows = 8;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const volume<const Sum>& sum, const volume<T>& out,
                                   std::int64_t tiles_x, std::int64_t radius_y, std::int64_t radius_x) const {
    const std::int64_t x = block.index() % tiles_x * threads + block.thread(), y = block.index() / tiles_x * rows;
    if (x >= out.width) return;
    const std::int64_t wide = neighbours(x, out.width, radius_x);
    for (std::int64_t i = y; i < min(y + rows, out.height); ++i)
      *out.at(0, i, x) = static_cast<T>(
          rounded_mean(static_cast<std::int64_t>(*sum.at(0, i, x)), wide * neighbours(i, out.height, radius_y)));
  }
};

/// The pixels whose windows reach over the edge of a picture, one after the other.
struct rim {
  std::int64_t rows, cols, radius_y, radius_x;

  PMPP_HOST_DEVICE std::int64_t rim_rows() const { return min(rows, 2 * radius_y); }
  PMPP_HOST_DEVICE std::int64_t rim_cols() const { return min(cols, 2 * radius_x); }
  PMPP_HOST_DEVICE std::int64_t count() const { return rim_rows() * cols + (rows - rim_rows()) * rim_cols(); }

  /// What the mean over the whole window, zeros outside, of pixel i is multiplied by.
  template <class T>
  PMPP_HOST_DEVICE void correct(const volume<T>& out, std::int64_t i) const {
    const bool above_or_below = i < rim_rows() * cols;
    const std::int64_t j = above_or_below ? i : i - rim_rows() * cols, per_row = above_or_below ? cols : rim_cols();
    std::int64_t y = j / per_row, x = j % per_row;
    if (!above_or_below) y += radius_y;
    if (above_or_below && y >= radius_y) y += rows - rim_rows();
    if (!above_or_below && x >= radius_x) x += cols - rim_cols();
    const std::int64_t all = (2 * radius_y + 1) * (2 * radius_x + 1);
    const std::int64_t there = neighbours(y, rows, radius_y) * neighbours(x, cols, radius_x);
    using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
    T* const to = out.at(0, y, x);
    *to = stored<T>(converted<A>(*to) * static_cast<A>(static_cast<double>(all) / static_cast<double>(there)));
  }
};

template <class T>
struct rim_kernel {
  static constexpr int threads = 256;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const volume<T>& out, const rim& edge) const {
    const std::int64_t i = block.index() * threads + block.thread();
    if (i < edge.count()) edge.correct(out, i);
  }
};

// -- scale ------------------------------------------------------------------------------------------------------------

/// Which of the old pixels a new one is made of, and their parts in it.
template <class A>
struct share {
  std::int32_t first, last;
  A at_first, between, at_last;  ///< parts of the first, of each in the middle, of the last if that is another

  PMPP_HOST_DEVICE A of(std::int32_t k) const { return k == first ? at_first : k == last ? at_last : between; }
};

/// An axis of `from` pixels that becomes one of `to`, both below 2^31. Shrunk, a new pixel is the mean of the part of the
/// old ones that it covers; enlarged, it lies between the centres of two. Positions are exact.
struct scaled_axis {
  std::int64_t from, to;

  template <class A>
  PMPP_HOST_DEVICE share<A> of(std::int64_t i) const {
    if (to <= from) {  // an old pixel has the length `to`, a new one the length `from`
      const std::int64_t begin = i * from, end = begin + from, first = begin / to, last = (end - 1) / to;
      const A all = static_cast<A>(from);
      if (first == last) return {static_cast<std::int32_t>(first), static_cast<std::int32_t>(last), 1, 0, 0};
      return {static_cast<std::int32_t>(first), static_cast<std::int32_t>(last),
              static_cast<A>((first + 1) * to - begin) / all, static_cast<A>(to) / all,
              static_cast<A>(end - last * to) / all};
    }
    const std::int64_t centre = max((2 * i + 1) * from - to, std::int64_t(0)), unit = 2 * to;
    const std::int64_t first = centre / unit;
    const std::int64_t last = min(first + (centre == first * unit ? 0 : 1), from - 1);
    const A right = last == first ? A(0) : static_cast<A>(centre - first * unit) / static_cast<A>(unit);
    return {static_cast<std::int32_t>(first), static_cast<std::int32_t>(last), 1 - right, 0, right};
  }
};

/// A pixel made of those of `in`.
template <class T, class A>
PMPP_HOST_DEVICE T scaled_pixel(const volume<const T>& in, const share<A>& down, const share<A>& across) {
  A sum = 0;
  for (std::int32_t i = down.first; i <= down.last; ++i) {
    A line = 0;
    const T* from = in.at(0, i, across.first);
    for (std::int32_t j = across.first; j <= across.last; ++j, from += in.step)
      line += across.of(j) * converted<A>(*from);
    sum += down.of(i) * line;
  }
  return stored<T>(sum);
}

/// The means along rows of the input that a thread's four columns are made of.
template <class T, int Taps>
struct scaled_row {
  using sum = sum_of<T, T, T>;
  static constexpr sum unit = 1;  ///< what sums of means are multiplied by
  using raw = const T*;           ///< of a row

  share<sum> part[4];
  std::int64_t step;

  PMPP_HOST_DEVICE scaled_row(const volume<const T>& in, const share<sum>* across) : step(in.step) {
    for (int j = 0; j < 4; ++j) part[j] = across[j];
  }
  PMPP_HOST_DEVICE raw fetch(const T* row) const { return row; }
  PMPP_HOST_DEVICE four<sum> means(raw row) const {
    four<sum> mean;
    for (int j = 0; j < 4; ++j) {
      const T* from = row + part[j].first * step;
      mean.item[j] = part[j].at_first * converted<sum>(*from);
      for (std::int32_t i = part[j].first + 1; i < part[j].last; ++i)
        mean.item[j] += part[j].between * converted<sum>(*(from += step));
      if (part[j].last > part[j].first) mean.item[j] += part[j].at_last * converted<sum>(from[step]);
    }
    return mean;
  }
};

/// The same for columns of at most `Taps` <= 4 bytes, in rows of whole words: those that the bytes are in are read.
template <int Taps>
requires(Taps > 0) struct scaled_row<std::uint8_t, Taps> {
  static constexpr float unit = 256;  // see simt::scaled_tap
  struct raw {
    std::uint32_t low[4], high[4];
  };

  std::int32_t place[4];
  int shift[4];
  bool two_words[4];
  float tap[4][Taps];

  PMPP_HOST_DEVICE scaled_row(const volume<const std::uint8_t>&, const share<float>* across) {
    for (int j = 0; j < 4; ++j) {
      const share<float> part = across[j];
      place[j] = part.first / 4 * 4;
      shift[j] = part.first % 4;
      two_words[j] = part.last >= place[j] + 4;
      for (int k = 0; k < Taps; ++k)
        tap[j][k] = part.first + k > part.last ? 0.0f : simt::scaled_tap(part.of(part.first + k));
    }
  }
  PMPP_HOST_DEVICE raw fetch(const std::uint8_t* row) const {
    raw r{};
    for (int j = 0; j < 4; ++j) {
      r.low[j] = load_words<1>(row + place[j]).word[0];
      if (two_words[j]) r.high[j] = load_words<1>(row + place[j] + 4).word[0];
    }
    return r;
  }
  PMPP_HOST_DEVICE four<float> means(const raw& r) const {
    four<float> mean{};
    for (int j = 0; j < 4; ++j) {
      const std::uint32_t bytes = joined(r.low[j], r.high[j], shift[j]);
      for (int k = 0; k < Taps; ++k)
        mean.item[j] = simt::multiply_add(tap[j][k], simt::pixel_at(bytes, static_cast<unsigned>(k)), mean.item[j]);
    }
    return mean;
  }
};

/// A thread makes four columns of `rows` rows, from the rows of the input one after the other. The parts of old pixels in
/// a block's rows and columns are computed once.
template <class T, int Taps>
struct scale_kernel {
  using sum = sum_of<T, T, T>;
  using source = scaled_row<T, Taps>;
  static constexpr int threads = 256, min_blocks = Taps > 0 ? 2 : 3, width = 128, height = 128;
  static constexpr int rows = height / (threads / 32), ahead = 4;  ///< rows of the input that are on their way
  struct shared {
    share<sum> across[width], down[height];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const volume<const T>& in, const volume<T>& out,
                                   std::int64_t tiles_x, bool in_fours) const {
    const std::int64_t first_x = block.index() % tiles_x * width, first_y = block.index() / tiles_x * height;
    const int i = block.thread();
    if (i < width) {  // columns and rows that do not exist are as the last one
      memory.across[i] = scaled_axis{in.width, out.width}.template of<sum>(min(first_x + i, out.width - 1));
    } else {
      share<sum>& down = memory.down[i - width];
      down = scaled_axis{in.height, out.height}.template of<sum>(min(first_y + i - width, out.height - 1));
      down.at_first *= source::unit, down.between *= source::unit, down.at_last *= source::unit;
    }
    block.sync();
    const std::int64_t x = first_x + 4 * block.lane();
    int h = block.warp() * rows;
    const int end = static_cast<int>(min(std::int64_t(h + rows), out.height - first_y));
    if (x >= out.width || h >= end) return;
    const source row_of(in, memory.across + 4 * block.lane());
    const std::int32_t last = memory.down[end - 1].last;
    T* to = out.at(0, first_y + h, x);
    four<sum> older{}, newer{}, total{};  // means along two rows of the input; what there is of the new row h
    share<sum> down = memory.down[h];
    for (std::int32_t begin = down.first; begin <= last; begin += ahead) {
      typename source::raw raw[ahead];
      for (int k = 0; k < ahead; ++k) raw[k] = row_of.fetch(in.at(0, min(begin + k, last), 0));
      for (int k = 0; k < ahead; ++k) {
        const std::int32_t row = begin + k;
        if (row > last) break;
        older = newer;
        newer = row_of.means(raw[k]);
        while (h < end && down.first <= row) {
          const sum part = down.of(row);
          for (int j = 0; j < 4; ++j) total.item[j] += part * newer.item[j];
          if (down.last > row) break;
          detail::store_four(out, to, in_fours, out.width - x, total.item);
          to += out.pitch;
          if (++h < end) down = memory.down[h];
          const sum before = down.first < row ? down.at_first : 0;  // of the older row
          for (int j = 0; j < 4; ++j) total.item[j] = before * older.item[j];
        }
      }
    }
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
