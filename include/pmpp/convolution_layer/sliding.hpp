// SPDX-License-Identifier: Apache-2.0
//
// Layers whose groups have few filters, down to one for each channel (depthwise layers): next to no arithmetic for an
// element of memory, so that all depends on loading each element once.
//
//   A thread makes a strip of the output: a few pixels of a row, of one filter or a few next to each other, and many rows.
//   It goes down the rows of the input under the strip. A row, in registers, meets all the taps of all the results that
//   it reaches, and the row behind it is on its way meanwhile:
//
//      row i times row i - h * stride of the taps adds to row h of the strip
//
// Neighbouring threads have neighbouring channels, or neighbouring pixels where these lie next to each other.
#pragma once

#include <cstdint>

#include <pmpp/convolution_layer/kernel.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/gemm/simt.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// What a thread makes.
struct sliding_strip {
  int cols;            ///< pixels of a row of the output
  int filters = 1;     ///< next to each other; more than one only where each channel has one filter
  bool words = false;  ///< rows are read in words of `cols` pixels
  int blocks = 4;      ///< of a multiprocessor

  friend constexpr bool operator==(const sliding_strip&, const sliding_strip&) = default;
};

/// Square windows of Taps x Taps pixels next to each other, each Stride further than the one before, each filter for one
/// channel. Pixels of `words`, and several filters, lie next to each other, at addresses that are multiples of all.
template <class T, class TC, class A, class Epilogue, int Taps, int Stride, sliding_strip Strip>
struct sliding_layer_kernel {
  static constexpr int threads = 256, min_blocks = Strip.blocks, cols = Strip.cols, filters = Strip.filters;
  static constexpr int width = (cols - 1) * Stride + Taps;  ///< of the input
  static constexpr int depth = ceil_div(Taps, Stride);      ///< rows of the strip that a row of the input reaches
  static_assert(!Strip.words || (filters == 1 && Stride == 1 && Taps / 2 <= cols));

  struct arguments {
    layer<T, TC, Epilogue> l;
    int rows;      ///< of a strip
    bool along_x;  ///< neighbours have neighbouring pixels

    /// Strips next to each other, all over the output; and one below the other.
    PMPP_HOST_DEVICE std::int64_t across() const {
      return l.out.images() * ceil_div(l.out.width(), std::int64_t(cols)) * (l.out.channels() / filters);
    }
    PMPP_HOST_DEVICE std::int64_t down() const { return ceil_div(l.out.height(), std::int64_t(rows)); }
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& x, std::int64_t first_block) const {
    const std::int64_t number = (first_block + block.index()) * threads + block.thread(), all = x.across() * x.down();
    if (number >= all) return;
    if (all < std::int64_t(1) << 32)
      make(x, position_of<std::uint32_t>(x, number));  // dividing 64-bit numbers takes longer than all the rest
    else
      make(x, position_of<std::uint64_t>(x, number));
  }

private:
  /// Where a strip begins in the output.
  struct position {
    std::int64_t image, filter;
    int y, x;
  };

  template <class Index>
  PMPP_HOST_DEVICE static position position_of(const arguments& x, std::int64_t number) {
    const auto groups = static_cast<Index>(x.l.out.channels() / filters), down = static_cast<Index>(x.down());
    const auto across = static_cast<Index>(ceil_div(x.l.out.width(), std::int64_t(cols)));
    Index rest = static_cast<Index>(number), group = 0;
    if (!x.along_x) group = rest % groups, rest /= groups;
    const int col = static_cast<int>(rest % across) * cols;
    rest /= across;
    const int row = static_cast<int>(rest % down) * x.rows;
    rest /= down;
    if (x.along_x) group = rest % groups, rest /= groups;
    return {static_cast<std::int64_t>(rest), static_cast<std::int64_t>(group) * filters, row, col};
  }

  // A row of the input is read as `pieces`: pixels, or the word under the results and one on each side.
  static constexpr int pieces = Strip.words ? 3 : width, piece_items = Strip.words ? cols : filters;
  static constexpr int margin = Strip.words ? cols - Taps / 2 : 0;  ///< pixels of the first piece that nobody needs
  using piece = item_group<T, piece_items>;

  PMPP_HOST_DEVICE static void make(const arguments& x, const position& at) {
    const layer<T, TC, Epilogue>& l = x.l;
    const layer_window window = window_of(l, at.image, at.y, at.x);
    const int rows = static_cast<int>(smaller(std::int64_t(x.rows), l.out.height() - at.y));
    const int last = (rows - 1) * Stride + Taps - 1;  // row of the input
    bool inside[pieces];
    unrolled<pieces>([&](int j) {
      const int from = window.x + (Strip.words ? j * cols - margin : j);
      inside[j] = static_cast<unsigned>(from) < static_cast<unsigned>(l.in.width());
    });
    const T* row = l.in.data() + window.offset + at.filter / l.group_filters() * l.in.channel_stride() - margin;
    piece next[pieces];
    const auto load = [&](int i) {
      const bool y_inside = i <= last && static_cast<unsigned>(window.y + i) < static_cast<unsigned>(l.in.height());
      const T* from = row;
      unrolled<pieces>([&](int j) {
        next[j] = piece{};
        if (y_inside && inside[j]) next[j] = *reinterpret_cast<const piece*>(from);
        from += Strip.words ? cols : l.in.col_stride();
      });
      row += l.in.row_stride();
    };
    load(0);
    A tap[Taps][Taps][filters];
    const T* taps = l.filters.data() + at.filter * l.filters.image_stride();
    unrolled<Taps>([&](int r) {
      unrolled<Taps>([&](int s) {
        for (int e = 0; e < filters; ++e)
          tap[r][s][e] = static_cast<A>(
              taps[r * l.filters.row_stride() + s * l.filters.col_stride() + e * l.filters.image_stride()]);
      });
    });
    TC* const to = l.out.data() + at.image * l.out.image_stride() + at.y * l.out.row_stride() +
                   at.x * l.out.col_stride() + at.filter * l.out.channel_stride();
    A sum[depth][cols][filters] = {};  // of row h at h % depth
    for (int first = 0; first * Stride <= last; first += depth)
      unrolled<depth * Stride>([&](int k) {
        A value[width][filters];
        unrolled<width>([&](int j) {
          for (int e = 0; e < filters; ++e)
            value[j][e] =
                static_cast<A>(Strip.words ? next[(j + margin) / cols].item[(j + margin) % cols] : next[j].item[e]);
        });
        load(first * Stride + k + 1);
        unrolled<2 * depth - 1>([&](int n) {
          const int h = n - depth + 1, r = k - h * Stride;  // row first + h of the strip
          if (r < 0 || r >= Taps) return;
          A(&own)[cols][filters] = sum[(n + 1) % depth];
          unrolled<cols>([&](int j) {
            for (int e = 0; e < filters; ++e) {
              if (r == 0) own[j][e] = A{};
              for (int s = 0; s < Taps; ++s) own[j][e] += tap[r][s][e] * value[j * Stride + s][e];
            }
          });
          if (r == Taps - 1 && first + h >= 0 && first + h < rows)
            write(l, at, to + (first + h) * l.out.row_stride(), own);
        });
      });
  }

  PMPP_HOST_DEVICE static void write(const layer<T, TC, Epilogue>& l, const position& at, TC* to,
                                     const A (&sum)[cols][filters]) {
    if constexpr (Strip.words) {
      item_group<TC, cols> result;
      for (int j = 0; j < cols; ++j) result.item[j] = l.result(sum[j][0], at.filter);
      *reinterpret_cast<item_group<TC, cols>*>(to) = result;
    } else {
      unrolled<cols>([&](int j) {
        if (at.x + j >= l.out.width()) return;
        item_group<TC, filters> result;
        for (int e = 0; e < filters; ++e) result.item[e] = l.result(sum[j][e], at.filter + e);
        *reinterpret_cast<item_group<TC, filters>*>(to) = result;
        to += l.out.col_stride();
      });
    }
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
