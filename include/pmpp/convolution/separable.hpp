// SPDX-License-Identifier: Apache-2.0
//
// The kernel of convolve_separable. A block walks down a strip of 128 columns, a step of `height` rows at a time:
//
//   input --copies--> tile --mask_x--> ring of rows of sums --mask_y--> results
//
// The ring holds the sums that the results of a step need, so that each row is brought and filtered once in a strip.
// While a step's results are made, the tile of the next step comes. Rows outside of the input are filtered like others:
// so every border means what it means to convolve. A strip is cut to sections, for as many blocks as there is room for.
#pragma once

#include <cstdint>

#include <pmpp/convolution/kernel.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Each warp makes `rows` rows of a step; `part` taps of mask_x are used at a time, a multiple of 4. A multiprocessor
/// holds `blocks`.
struct separable_shape {
  int warps, rows, blocks, part;

  PMPP_HOST_DEVICE constexpr int threads() const { return 32 * warps; }
  PMPP_HOST_DEVICE constexpr int height() const { return warps * rows; }
};

/// Taps of each mask that travel as parameters of the kernel.
inline constexpr int separable_taps = 512;

/// What a launch works on: tiles_x strips of tiles_y sections; `columns` taps of mask_x are used at a time.
template <class In, class Out>
struct separable_task : convolution_task<In, Out> {
  std::int64_t section;  ///< rows, a multiple of a step's
  void* rings;           ///< of all blocks, in global memory, where they do not fit in shared memory
};

template <class In, class TapY, class TapX, class Out, separable_shape Shape, bool RingInShared>
struct separable_kernel {
  using sum = sum_of<In, std::conditional_t<needs_double<TapY>, TapY, TapX>, Out>;
  static constexpr int threads = Shape.threads(), height = Shape.height();
  static constexpr int min_blocks = larger(1, Shape.blocks - (RingInShared ? 0 : 1));  // addresses need registers

  /// Bytes of a tile with its taps (in dynamic shared memory), and of a ring with its own.
  static std::size_t tile_bytes(int columns) {
    return sizeof(four<sum>) * static_cast<std::size_t>(height * fours_of(columns) + columns / 4);
  }
  static std::size_t ring_bytes(std::int64_t taps_y) {
    return sizeof(four<sum>) * static_cast<std::size_t>(ring_fours(taps_y));
  }

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const separable_task<In, Out>& task,
                                   const mask_argument<TapY, separable_taps>& mask_y,
                                   const mask_argument<TapX, separable_taps>& mask_x) const {
    const int size_y = static_cast<int>(mask_y.taps.width), fours = fours_of(task.columns);
    const std::int64_t margin = task.margin(mask_x.taps.width), end = margin + mask_x.taps.width;
    auto* const tile = reinterpret_cast<four<sum>*>(block.dynamic_shared());
    four<sum>* const taps_x = tile + height * fours;
    four<sum>* taps_y = taps_x + task.columns / 4;
    if constexpr (!RingInShared) taps_y = static_cast<four<sum>*>(task.rings) + block.index() * ring_fours(size_y);
    four<sum>* const ring = taps_y + ceil_div(size_y, 4);
    for (int i = block.thread(); i < size_y; i += threads)
      taps_y[i / 4].item[i % 4] = mask_y.template tap<sum>(0, 0, i);

    const std::int64_t x = block.index() % task.tiles_x * 128, first = block.index() / task.tiles_x * task.section;
    const std::int64_t last = smaller(first + task.section, task.out.height);
    const int ahead = size_y - 1 - size_y / 2;  // rows from a result to the last row of sums that it needs
    const int ring_rows = height + size_y - 1, own = block.warp() * Shape.rows;
    const std::int64_t top = first + ahead - round_up(size_y - 1, height);
    std::int64_t row = top, p = 0;  // a step makes sums of the rows from `row` on, with the taps from p on
    int slot = 0;                   // where they go in the ring
    sum total[Shape.rows][4] = {};
    const auto load = [&] {
      load_tile<threads>(block, task, tile, height, fours, 0, row, x + p - margin - mask_x.taps.width / 2);
      if (row != top && end <= task.columns) return;  // the taps are there
      for (int i = block.thread(); i < task.columns; i += threads)
        if (p + i >= margin && p + i < end) taps_x[i / 4].item[i % 4] = mask_x.template tap<sum>(0, 0, p + i - margin);
    };
    load();
    while (true) {
      simt::copy_async_wait<0>();
      block.sync();  // the tile is there, and the ring has been read
      add_row_products(tile + own * fours + block.lane(), fours, taps_x, p == 0 ? static_cast<int>(margin) : 0,
                       static_cast<int>(smaller(std::int64_t(task.columns), end - p)), total);
      const bool complete = p + task.columns >= end;
      if (complete)
        for_each_constant<Shape.rows>([&](auto number) {
          constexpr int h = decltype(number)::value;
          const int to = slot + own + h;
          four<sum>& place = ring[(to < ring_rows ? to : to - ring_rows) * 32 + block.lane()];
          for (int j = 0; j < 4; ++j) {
            place.item[j] = total[h][j];
            total[h][j] = 0;
          }
        });
      block.sync();  // the tile has been read, and the sums are in the ring
      const std::int64_t y = row - ahead;
      p = complete ? 0 : p + task.columns;
      if (complete) row += height;
      if (y + height < last || !complete) load();
      if (complete) {
        if (y >= first)
          make_results(task, ring, ring_rows, slot - (size_y - 1) + own, taps_y, size_y, block.lane(), y + own, x);
        if (y + height >= last) return;
        slot += height;
        if (slot >= ring_rows) slot -= ring_rows;
      }
    }
  }

private:
  template <int N>
  using constant = std::integral_constant<int, N>;

  PMPP_HOST_DEVICE static int fours_of(int columns) { return 32 + columns / 4; }
  PMPP_HOST_DEVICE static std::int64_t ring_fours(std::int64_t taps_y) {
    return ceil_div(taps_y, std::int64_t(4)) + 32 * (height + taps_y - 1);
  }

  /// Adds the products of taps `begin` ... `end` - 1 of mask_x to the sums of a thread's rows, a few rows at a time.
  PMPP_HOST_DEVICE static void add_row_products(const four<sum>* line, int fours, const four<sum>* taps, int begin,
                                                int end, sum (&total)[Shape.rows][4]) {
    constexpr int batch = Shape.rows % 4 == 0 ? 4 : 1;
    for_each_constant<Shape.rows / batch>([&](auto number) {
      constexpr int first = batch * decltype(number)::value;
      const four<sum>* next = line + first * fours;
      four<sum> left[batch], right[batch];
      for (int i = 0; i < batch; ++i) right[i] = next[i * fours];
      const auto add = [&](int c, auto from, auto to) {
        ++next;
        for (int i = 0; i < batch; ++i) {
          left[i] = right[i];
          right[i] = next[i * fours];
        }
        const four<sum> tap = taps[c];
        for (int k = decltype(from)::value; k < decltype(to)::value; ++k)
          for (int i = 0; i < batch; ++i)
            for (int j = 0; j < 4; ++j)
              total[first + i][j] += tap.item[k] * (k + j < 4 ? left[i].item[k + j] : right[i].item[k + j - 4]);
      };
      if (begin == 1) add(0, constant<1>{}, constant<4>{});
      if (begin == 2) add(0, constant<2>{}, constant<4>{});
      if (begin == 3) add(0, constant<3>{}, constant<4>{});
      const int whole = end / 4;
      for (int c = begin == 0 ? 0 : 1; c < whole; ++c) add(c, constant<0>{}, constant<4>{});
      if (end % 4 == 1) add(whole, constant<0>{}, constant<1>{});
      if (end % 4 == 2) add(whole, constant<0>{}, constant<2>{});
      if (end % 4 == 3) add(whole, constant<0>{}, constant<3>{});
    });
  }

  /// A column of results, four wide, from the rows of the ring that begin at `slot`: four taps at a time meet a window
  /// of rows that moves down through registers.
  PMPP_HOST_DEVICE static void make_results(const separable_task<In, Out>& task, const four<sum>* ring, int ring_rows,
                                            int slot, const four<sum>* taps, int size, int lane, std::int64_t y,
                                            std::int64_t x) {
    if (slot < 0) slot += ring_rows;
    if (slot >= ring_rows) slot -= ring_rows;
    const four<sum>*at = ring + slot * 32 + lane, *const end = ring + ring_rows * 32;
    const auto next = [&] {
      const four<sum> row = *at;
      at += 32;
      if (at >= end) at = ring + lane;
      return row;
    };
    four<sum> window[Shape.rows + 3];
    sum total[Shape.rows][4] = {};
    for (int i = 0; i < Shape.rows - 1; ++i) window[i] = next();
    const auto add = [&](int c, auto count) {
      constexpr int taps_now = decltype(count)::value;
      for (int k = 0; k < taps_now; ++k) window[Shape.rows - 1 + k] = next();
      const four<sum> tap = taps[c];
      for (int k = 0; k < taps_now; ++k)
        for (int h = 0; h < Shape.rows; ++h)
          for (int j = 0; j < 4; ++j) total[h][j] += tap.item[k] * window[h + k].item[j];
      for (int i = 0; i < Shape.rows - 1; ++i) window[i] = window[i + taps_now];
    };
    const int whole = size / 4;
    for (int c = 0; c < whole; ++c) add(c, constant<4>{});
    if (size % 4 == 1) add(whole, constant<1>{});
    if (size % 4 == 2) add(whole, constant<2>{});
    if (size % 4 == 3) add(whole, constant<3>{});
    store_column<Shape.rows>(task, 0, y, x + 4 * lane,
                             [&](auto h) -> const sum(&)[4] { return total[decltype(h)::value]; });
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
