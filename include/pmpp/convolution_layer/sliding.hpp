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

/// Square windows of Taps x Taps pixels next to each other, each Stride further than the one before. `Items`: filters of
/// a thread; more than one only where each channel has one filter, and all lie next to each other in whole words.
template <class T, class TC, class A, class Epilogue, int Taps, int Stride, int Rows, int Cols, int Items, int Blocks>
struct sliding_layer_kernel {
  static constexpr int threads = 256, min_blocks = Blocks;
  static constexpr int height = (Rows - 1) * Stride + Taps, width = (Cols - 1) * Stride + Taps;  ///< of the input

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const layer<T, TC, Epilogue>& l, std::int64_t first_block,
                                   bool along_x) const {
    const std::int64_t number = (first_block + block.index()) * threads + block.thread(), all = patches(l);
    if (number >= all) return;
    patch at;
    if (all < (std::int64_t(1) << 32))
      at = patch_of<std::uint32_t>(l, number, along_x);  // dividing 64-bit numbers takes longer than all the rest
    else
      at = patch_of<std::uint64_t>(l, number, along_x);
    make(l, at);
  }

  PMPP_HOST_DEVICE static std::int64_t patches(const layer<T, TC, Epilogue>& l) {
    return l.out.images() * ceil_div(l.out.height(), std::int64_t(Rows)) * ceil_div(l.out.width(), std::int64_t(Cols)) *
           (l.out.channels() / Items);
  }

private:
  /// Where a patch begins in the output.
  struct patch {
    std::int64_t image, filter;
    int y, x;
  };

  template <class Index>
  PMPP_HOST_DEVICE static patch patch_of(const layer<T, TC, Epilogue>& l, std::int64_t number, bool along_x) {
    const auto filters = static_cast<Index>(l.out.channels() / Items);
    const auto across = static_cast<Index>(ceil_div(l.out.width(), std::int64_t(Cols)));
    const auto down = static_cast<Index>(ceil_div(l.out.height(), std::int64_t(Rows)));
    Index rest = static_cast<Index>(number), filter = 0;
    if (!along_x) filter = rest % filters, rest /= filters;
    const int x = static_cast<int>(rest % across) * Cols;
    rest /= across;
    const int y = static_cast<int>(rest % down) * Rows;
    rest /= down;
    if (along_x) filter = rest % filters, rest /= filters;
    return {static_cast<std::int64_t>(rest), static_cast<std::int64_t>(filter) * Items, y, x};
  }

  using items = item_group<T, Items>;

  PMPP_HOST_DEVICE static void make(const layer<T, TC, Epilogue>& l, const patch& at) {
    const layer_window window = window_of(l, at.image, at.y, at.x);
    const std::int64_t channels = l.group_channels();
    const T* in = l.in.data() + window.offset + at.filter / l.group_filters() * channels * l.in.channel_stride();
    const T* taps = l.filters.data() + at.filter * l.filters.image_stride();
    bool inside[width];
    unrolled<width>(
        [&](int j) { inside[j] = static_cast<unsigned>(window.x + j) < static_cast<unsigned>(l.in.width()); });
    A sum[Rows][Cols][Items] = {};
    {
      A tap[Taps][Taps][Items];
      const T* tap_row = taps;
      unrolled<Taps>([&](int r) {
        const T* from = tap_row;
        unrolled<Taps>([&](int s) {
          for (int e = 0; e < Items; ++e) tap[r][s][e] = static_cast<A>(from[e * l.filters.image_stride()]);
          from += l.filters.col_stride();
        });
        tap_row += l.filters.row_stride();
      });
      const T* row = in;
      unrolled<height>([&](int i) {
        const bool y_inside = static_cast<unsigned>(window.y + i) < static_cast<unsigned>(l.in.height());
        A value[width][Items];
        const T* from = row;
        unrolled<width>([&](int j) {
          items x{};
          if (y_inside && inside[j]) x = *reinterpret_cast<const items*>(from);
          for (int e = 0; e < Items; ++e) value[j][e] = static_cast<A>(x.item[e]);
          from += l.in.col_stride();
        });
        row += l.in.row_stride();
        unrolled<Rows>([&](int h) {
          const int r = i - h * Stride;
          if (r < 0 || r >= Taps) return;
          unrolled<Taps>([&](int s) {
            unrolled<Cols>([&](int j) {
              for (int e = 0; e < Items; ++e) sum[h][j][e] += tap[r][s][e] * value[j * Stride + s][e];
            });
          });
        });
      });
    }
    TC* row = &l.out(at.image, at.y, at.x, at.filter);
    unrolled<Rows>([&](int h) {
      if (at.y + h >= l.out.height()) return;
      TC* to = row;
      unrolled<Cols>([&](int j) {
        if (at.x + j >= l.out.width()) return;
        item_group<TC, Items> result;
        for (int e = 0; e < Items; ++e) result.item[e] = l.result(sum[h][j][e], at.filter + e);
        *reinterpret_cast<item_group<TC, Items>*>(to) = result;
        to += l.out.col_stride();
      });
      row += l.out.row_stride();
    });
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
