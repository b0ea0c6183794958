// SPDX-License-Identifier: Apache-2.0
//
// Layers whose groups have few filters, down to one for each channel (depthwise layers): next to no arithmetic for an
// element of memory, so that all depends on loading each element once.
//
//   A thread makes a strip of the output: a few pixels of a row, of one filter or a few next to each other, and many rows.
//   It goes down the rows of the input under the strip. A row, in registers, meets all the taps of all the results that
//   it reaches, and the row after it is on its way meanwhile:
//
//      row i times row i - h * stride of the taps adds to row h of the strip
//
// Neighbouring threads have neighbouring channels, or neighbouring pixels where these lie next to each other.
#pragma once

#include <cstdint>

#include <pmpp/convolution_layer/kernel.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/gemm/simt.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// What a thread makes, and how it reads.
struct sliding_strip {
  int cols;         ///< pixels of a row of the output
  int filters = 1;  ///< next to each other
  int items = 0;    ///< pixels of the input that are read at once, where those of a row lie next to each other; else 0
  int ahead = 1;    ///< rows of the input that are on their way
  int blocks = 4;   ///< of a multiprocessor

  friend constexpr bool operator==(const sliding_strip&, const sliding_strip&) = default;
};

/// Square windows of Taps x Taps pixels next to each other, each Stride further than the one before, each filter for one
/// channel, and with `filters` > 1 its own. Filters, or pixels, that are read or written at once lie at addresses that are
/// multiples of all; then windows begin Taps / 2 pixels before the image.
template <class T, class TC, class A, class Epilogue, int Taps, int Stride, sliding_strip Strip>
struct sliding_layer_kernel {
  static constexpr int threads = 128, min_blocks = Strip.blocks, cols = Strip.cols, filters = Strip.filters;
  static constexpr int width = (cols - 1) * Stride + Taps;  ///< of the input
  static constexpr int depth = ceil_div(Taps, Stride);      ///< rows of the strip that a row of the input reaches
  static constexpr bool words = Strip.items > 0;
  static_assert(!words || (filters == 1 && cols * Stride % (words ? Strip.items : 1) == 0));

  struct arguments {
    layer<T, TC, Epilogue> l;
    std::int64_t strips;    ///< of all images
    std::int64_t groups;    ///< of `filters` filters
    int across, down;       ///< strips of an image and a group
    int rows;               ///< of a strip
    int in_step, out_step;  ///< elements from pixel to pixel
    bool along_x;           ///< neighbours have neighbouring pixels
    bool whole;             ///< results of a row may be written at once
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& x, std::int64_t first_block) const {
    const std::int64_t number = (first_block + block.index()) * threads + block.thread();
    if (number >= x.strips) return;
    // Dividing 64-bit numbers would take longer than all the rest.
    make(x, x.strips < std::int64_t(1) << 32 ? position_of<std::uint32_t>(x, number)
                                             : position_of<std::uint64_t>(x, number));
  }

private:
  /// Where a strip begins in the output.
  struct position {
    std::int64_t image, filter;
    int y, x;
  };

  template <class Index>
  PMPP_HOST_DEVICE static position position_of(const arguments& x, std::int64_t number) {
    const auto groups = static_cast<Index>(x.groups), across = static_cast<Index>(x.across),
               down = static_cast<Index>(x.down);
    Index rest = static_cast<Index>(number), group = 0;
    if (!x.along_x) group = rest % groups, rest /= groups;
    const int col = static_cast<int>(rest % across) * cols;
    rest /= across;
    const int row = static_cast<int>(rest % down) * x.rows;
    rest /= down;
    if (x.along_x) group = rest % groups, rest /= groups;
    return {static_cast<std::int64_t>(rest), static_cast<std::int64_t>(group) * filters, row, col};
  }

  // A row of the input is read piece by piece: a pixel of each of the filters, or several pixels, of which the first piece
  // has `margin` that are not needed.
  static constexpr int items = words ? Strip.items : filters;
  static constexpr int margin = words ? round_up(Taps / 2, items) - Taps / 2 : 0;
  static constexpr int pieces = words ? ceil_div(margin + width, items) : width;
  using piece = packed<T, items>;
  // While it is on its way it is not elements: the compiler would wait for it to take it apart.
  using raw = std::conditional_t<sizeof(piece) % 4 == 0, packed<std::uint32_t, ceil_div(int(sizeof(piece)), 4)>,
                                 packed<std::uint16_t, 1>>;

  // Rows of the input that one turn of the loop meets: then all indices of registers are constants.
  static constexpr int period = depth * Stride, turn = period % Strip.ahead == 0 ? period : period * Strip.ahead;

  PMPP_HOST_DEVICE static void make(const arguments& x, const position& at) {
    const layer<T, TC, Epilogue>& l = x.l;
    const layer_window window = detail::window_of(l, at.image, at.y, at.x);
    const int rows = static_cast<int>(min(std::int64_t(x.rows), l.out.height() - at.y));
    const int last = (rows - 1) * Stride + Taps - 1;  // row of the input
    const int step = words ? items : x.in_step;
    bool inside[pieces];
    unrolled<pieces>([&](int j) {
      const int from = window.x + (words ? j * items - margin : j);
      inside[j] = static_cast<unsigned>(from) < static_cast<unsigned>(l.in.width());
    });
    const std::int64_t channel = l.groups == l.out.channels() ? at.filter : at.filter / l.group_filters();
    const T* row = l.in.data() + window.offset + channel * l.in.channel_stride() - margin;
    raw next[Strip.ahead][pieces];
    const auto load = [&](int i, raw(&to)[pieces]) {
      const bool y_inside = (i <= last) & (static_cast<unsigned>(window.y + i) < static_cast<unsigned>(l.in.height()));
      unrolled<pieces>([&](int j) {
        to[j] = raw{};
        if (y_inside & inside[j]) to[j] = __builtin_bit_cast(raw, *reinterpret_cast<const piece*>(row + j * step));
      });
      row += l.in.row_stride();
    };
    unrolled<Strip.ahead>([&](int i) { load(i, next[i]); });
    A tap[Taps][Taps][filters];
    const T* taps = l.filters.data() + at.filter * l.filters.image_stride();
    unrolled<Taps>([&](int r) {
      unrolled<Taps>([&](int s) {
        for (int e = 0; e < filters; ++e)
          tap[r][s][e] = static_cast<A>(
              taps[r * l.filters.row_stride() + s * l.filters.col_stride() + e * l.filters.image_stride()]);
      });
    });
    TC* to = l.out.data() + at.image * l.out.image_stride() + at.y * l.out.row_stride() + at.x * l.out.col_stride() +
             at.filter * l.out.channel_stride();
    A sum[depth][cols][filters] = {};  // of row h at h % depth
    for (int first = 0; first <= last; first += turn)
      unrolled<turn>([&](int i) {
        A value[width][filters];
        unrolled<pieces>([&](int j) {
          const auto own = __builtin_bit_cast(piece, next[i % Strip.ahead][j]);
          for (int e = 0; e < items; ++e) {
            const int pixel = words ? j * items + e - margin : j;
            if (pixel >= 0 && pixel < width) value[pixel][words ? 0 : e] = static_cast<A>(own.item[e]);
          }
        });
        load(first + i + Strip.ahead, next[i % Strip.ahead]);
        // Row r of the taps meets row h of the strip, or h + a multiple of depth.
        unrolled<depth>([&](int d) {
          const int h = i / Stride - d, r = i - h * Stride;
          if (r >= Taps) return;
          A(&own)[cols][filters] = sum[(h + depth) % depth];
          unrolled<cols>([&](int j) {
            for (int e = 0; e < filters; ++e) {
              if (r == 0) own[j][e] = A{};
              for (int s = 0; s < Taps; ++s) own[j][e] += tap[r][s][e] * value[j * Stride + s][e];
            }
          });
          if (r != Taps - 1) return;
          const int y = first / Stride + h;
          if (y < 0 || y >= rows) return;
          write(x, at, to, own);
          to += l.out.row_stride();
        });
      });
  }

  PMPP_HOST_DEVICE static void write(const arguments& x, const position& at, TC* to, const A (&sum)[cols][filters]) {
    if (words && x.whole) {
      packed<TC, cols> result;
      for (int j = 0; j < cols; ++j) result.item[j] = x.l.result(sum[j][0], at.filter);
      *reinterpret_cast<packed<TC, cols>*>(to) = result;
      return;
    }
    unrolled<cols>([&](int j) {
      if (at.x + j >= static_cast<int>(x.l.out.width())) return;
      packed<TC, filters> result;
      for (int e = 0; e < filters; ++e) result.item[e] = x.l.result(sum[j][e], at.filter + e);
      *reinterpret_cast<packed<TC, filters>*>(to + j * x.out_step) = result;
    });
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
