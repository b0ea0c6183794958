// SPDX-License-Identifier: Apache-2.0
//
// Layers whose groups have few filters, down to one for each channel (depthwise layers): next to no arithmetic for an
// element of memory, so that all depends on loading each element once.
//
//   A thread makes a patch of pixels of one filter (or of a few next to each other). It goes down the rows of the input
//   under the patch; a row, in registers, meets all the taps of all the results that reach it:
//
//      row i times row i - h * stride of the taps adds to row h of the patch
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
struct sliding_patch {
  int rows, cols;      ///< pixels of the output
  int filters = 1;     ///< next to each other; more than one only where each channel has one filter
  bool words = false;  ///< rows are read in words of `cols` pixels
  int blocks = 4;      ///< of a multiprocessor
  int ahead = 0;       ///< rows of the input that are on their way while one is multiplied
  bool staged = false;

  friend constexpr bool operator==(const sliding_patch&, const sliding_patch&) = default;
};

/// Square windows of Taps x Taps pixels next to each other, each Stride further than the one before, each filter for one
/// channel. Pixels of `words`, and several filters, lie next to each other, at addresses that are multiples of all.
template <class T, class TC, class A, class Epilogue, int Taps, int Stride, sliding_patch Patch>
struct sliding_layer_kernel {
  static constexpr int threads = 256, min_blocks = Patch.blocks;
  static constexpr int rows = Patch.rows, cols = Patch.cols, filters = Patch.filters;
  static constexpr int height = (rows - 1) * Stride + Taps, width = (cols - 1) * Stride + Taps;  ///< of the input
  static constexpr bool staged = Patch.staged;  ///< taps go through shared memory, as they are not read in order
  static constexpr int table = staged ? threads * filters : 1;
  static_assert(!Patch.words || (filters == 1 && Stride == 1 && Taps / 2 <= cols));

  struct shared {
    T tap[table * Taps * Taps];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const layer<T, TC, Epilogue>& l,
                                   std::int64_t first_block, bool along_x) const {
    const std::int64_t number = (first_block + block.index()) * threads + block.thread(), all = patches(l);
    position at;
    if (all < (std::int64_t(1) << 32))
      at = position_of<std::uint32_t>(l, number, along_x);  // dividing 64-bit numbers takes longer than all the rest
    else
      at = position_of<std::uint64_t>(l, number, along_x);
    make(block, memory, l, at, number < all, first_block);
  }

  PMPP_HOST_DEVICE static std::int64_t patches(const layer<T, TC, Epilogue>& l) {
    return l.out.images() * ceil_div(l.out.height(), std::int64_t(rows)) * ceil_div(l.out.width(), std::int64_t(cols)) *
           (l.out.channels() / filters);
  }

private:
  /// Where a patch begins in the output.
  struct position {
    std::int64_t image, filter;
    int y, x;
  };

  template <class Index>
  PMPP_HOST_DEVICE static position position_of(const layer<T, TC, Epilogue>& l, std::int64_t number, bool along_x) {
    const auto groups = static_cast<Index>(l.out.channels() / filters);
    const auto across = static_cast<Index>(ceil_div(l.out.width(), std::int64_t(cols)));
    const auto down = static_cast<Index>(ceil_div(l.out.height(), std::int64_t(rows)));
    Index rest = static_cast<Index>(number), group = 0;
    if (!along_x) group = rest % groups, rest /= groups;
    const int x = static_cast<int>(rest % across) * cols;
    rest /= across;
    const int y = static_cast<int>(rest % down) * rows;
    rest /= down;
    if (along_x) group = rest % groups, rest /= groups;
    return {static_cast<std::int64_t>(rest), static_cast<std::int64_t>(group) * filters, y, x};
  }

  // A row of the input is read as `pieces`: pixels, or the word under the results and one on each side.
  static constexpr int pieces = Patch.words ? 3 : width, piece_items = Patch.words ? cols : filters;
  static constexpr int margin = Patch.words ? cols - Taps / 2 : 0;  ///< pixels of the first piece that nobody needs
  using piece = item_group<T, piece_items>;

  template <class Block>
  PMPP_HOST_DEVICE static void make(Block& block, shared& memory, const layer<T, TC, Epilogue>& l, const position& at,
                                    bool exists, std::int64_t first_block) {
    const layer_window window = window_of(l, at.image, at.y, at.x);
    const T* row = l.in.data() + window.offset + at.filter / l.group_filters() * l.in.channel_stride() - margin;
    bool inside[pieces];
    unrolled<pieces>([&](int j) {
      const int x = window.x + (Patch.words ? j * cols - margin : j);
      inside[j] = exists && static_cast<unsigned>(x) < static_cast<unsigned>(l.in.width());
    });
    piece from[height][pieces] = {};
    const auto load = [&](int i) {
      const bool y_inside = static_cast<unsigned>(window.y + i) < static_cast<unsigned>(l.in.height());
      const T* next = row;
      unrolled<pieces>([&](int j) {
        if (y_inside && inside[j]) from[i][j] = *reinterpret_cast<const piece*>(next);
        next += Patch.words ? cols : l.in.col_stride();
      });
      row += l.in.row_stride();
    };
    unrolled<Patch.ahead>([&](int i) { load(i); });
    const T* taps = l.filters.data() + at.filter * l.filters.image_stride();
    if constexpr (staged) {
      // The filters of the block, from that of its first thread on, around the end; or all.
      const auto count = static_cast<std::uint32_t>(l.out.channels());
      const std::uint32_t first =
          count <= table ? 0 : static_cast<std::uint32_t>((first_block + block.index()) * threads) % (count / filters) * filters;
      const int here = static_cast<int>(smaller(count, std::uint32_t(table))) * Taps * Taps;
      for (int i = block.thread(); i < here; i += threads) {
        const std::uint32_t filter = first + i / (Taps * Taps);
        const int tap = i % (Taps * Taps);
        memory.tap[i] = l.filters.data()[(filter < count ? filter : filter - count) * l.filters.image_stride() +
                                         tap / Taps * l.filters.row_stride() + tap % Taps * l.filters.col_stride()];
      }
      block.sync();
      taps = memory.tap + (at.filter - first + (at.filter < first ? count : 0)) * (Taps * Taps);
    }
    if (!exists) return;
    A tap[Taps][Taps][filters];
    unrolled<Taps>([&](int r) {
      unrolled<Taps>([&](int s) {
        for (int e = 0; e < filters; ++e)
          tap[r][s][e] =
              static_cast<A>(staged ? taps[(e * Taps + r) * Taps + s]
                                    : taps[r * l.filters.row_stride() + s * l.filters.col_stride() + e * l.filters.image_stride()]);
      });
    });
    A sum[rows][cols][filters] = {};
    unrolled<height>([&](int i) {
      if (i + Patch.ahead < height) load(i + Patch.ahead);
      A value[width][filters];
      unrolled<width>([&](int j) {
        for (int e = 0; e < filters; ++e)
          value[j][e] = static_cast<A>(Patch.words ? from[i][(j + margin) / cols].item[(j + margin) % cols]
                                                   : from[i][j].item[e]);
      });
      unrolled<rows>([&](int h) {
        const int r = i - h * Stride;
        if (r < 0 || r >= Taps) return;
        unrolled<Taps>([&](int s) {
          unrolled<cols>([&](int j) {
            for (int e = 0; e < filters; ++e) sum[h][j][e] += tap[r][s][e] * value[j * Stride + s][e];
          });
        });
      });
    });
    TC* to_row = l.out.data() + at.image * l.out.image_stride() + at.y * l.out.row_stride() +
                 at.x * l.out.col_stride() + at.filter * l.out.channel_stride();
    unrolled<rows>([&](int h) {
      if (at.y + h >= l.out.height()) return;
      if constexpr (Patch.words) {
        item_group<TC, cols> result;
        for (int j = 0; j < cols; ++j) result.item[j] = l.result(sum[h][j][0], at.filter);
        *reinterpret_cast<item_group<TC, cols>*>(to_row) = result;
      } else {
        TC* to = to_row;
        unrolled<cols>([&](int j) {
          if (at.x + j >= l.out.width()) return;
          item_group<TC, filters> result;
          for (int e = 0; e < filters; ++e) result.item[e] = l.result(sum[h][j][e], at.filter + e);
          *reinterpret_cast<item_group<TC, filters>*>(to) = result;
          to += l.out.col_stride();
        });
      }
      to_row += l.out.row_stride();
    });
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
