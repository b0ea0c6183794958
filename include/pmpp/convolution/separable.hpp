// SPDX-License-Identifier: Apache-2.0
//
// The kernel of convolve_separable. A block walks down a strip of 128 columns, a step of `height` rows at a time:
//
//   input --copies--> buffers --mask_x--> ring of rows of sums --mask_y--> results
//
// The ring holds the sums that the results of a step need, so that each row is brought and filtered once in a strip.
// Each warp brings its own rows while it makes results of those before, as they are in memory; pixels and halves become
// floats when they are used. A thread filters 16 adjacent columns of one row, and makes results of four columns of several
// rows. Rows outside of the input are filtered like others: so every border means what it means to convolve. A strip is
// cut to sections, for as many blocks as there is room for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

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
  static constexpr bool converts = !std::is_same_v<In, sum>;
  static constexpr int threads = Shape.threads(), height = Shape.height();
  static constexpr int groups = smaller(Shape.rows, 4), passes = Shape.rows / groups;  ///< of a thread's sums in a row
  static constexpr int ring_pitch = 33;  ///< groups of four from row to row; odd, as lanes stand in different rows
  static constexpr int min_blocks = larger(1, Shape.blocks - (RingInShared ? 0 : 1));  // addresses need registers

  /// Bytes of the tiles with their taps (in dynamic shared memory), and of a ring with its own.
  static std::size_t tile_bytes(int columns) { return static_cast<std::size_t>(Shape.warps * warp_bytes(columns)); }
  static std::size_t ring_bytes(std::int64_t taps_y) {
    return sizeof(four<sum>) * static_cast<std::size_t>(ring_fours(taps_y));
  }

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const separable_task<In, Out>& task,
                                   const mask_argument<TapY, separable_taps>& mask_y,
                                   const mask_argument<TapX, separable_taps>& mask_x) const {
    const int size_y = static_cast<int>(mask_y.taps.width), fours = fours_of(task.columns);
    const std::int64_t margin = task.margin(mask_x.taps.width), end = margin + mask_x.taps.width;
    std::byte* const mine = block.dynamic_shared() + block.warp() * warp_bytes(task.columns);
    four<sum>* taps_y = reinterpret_cast<four<sum>*>(block.dynamic_shared() + Shape.warps * warp_bytes(task.columns));
    if constexpr (!RingInShared) taps_y = static_cast<four<sum>*>(task.rings) + block.index() * ring_fours(size_y);
    four<sum>* const ring = taps_y + ceil_div(size_y, 4);
    for (int i = block.thread(); i < size_y; i += threads)
      taps_y[i / 4].item[i % 4] = mask_y.template tap<sum>(0, 0, i);

    const std::int64_t x = block.index() % task.tiles_x * 128, first = block.index() / task.tiles_x * task.section;
    const std::int64_t last = smaller(first + task.section, task.out.height);
    const int ahead = size_y - 1 - size_y / 2;  // rows from a result to the last row of sums that it needs
    const int ring_rows = height + size_y - 1, own = block.warp() * Shape.rows;
    // A step makes sums of the rows from `row` on, with the taps from p on.
    struct step {
      std::int64_t row, p;
    };
    step now{first + ahead - round_up(size_y - 1, height), 0}, next = now;
    const auto advance = [&](step& s) {
      if ((s.p += task.columns) < end) return;
      s.p = 0;
      s.row += height;
    };
    int slot = 0;  // where sums go in the ring
    bool loaded = false;
    const auto load = [&] {
      if (next.row < last + ahead && (!loaded || end > task.columns)) {
        auto* const taps = reinterpret_cast<four<sum>*>(mine + raw_bytes(task.columns));
        for (int i = block.lane(); i < task.columns; i += 32)
          if (next.p + i >= margin && next.p + i < end)
            taps[i / 4].item[i % 4] = mask_x.template tap<sum>(0, 0, next.p + i - margin);
      }
      if (next.row < last + ahead)
        load_tile<32>(block.lane(), task, reinterpret_cast<four<In>*>(mine), Shape.rows, fours, 0, next.row + own,
                      x + next.p - margin - mask_x.taps.width / 2);
      else
        simt::copy_async_batch();
      advance(next);
      loaded = true;
    };
    load();
    const int row = block.lane() % Shape.rows, column = block.lane() / Shape.rows * groups;  // a thread's sums
    sum total[passes][groups][4] = {};
    while (true) {
      simt::copy_async_wait<0>();
      block.sync_warp();
      const four<sum>* tile = reinterpret_cast<const four<sum>*>(mine);
      if constexpr (converts) {
        auto* const wide = reinterpret_cast<four<sum>*>(mine + buffer_bytes(task.columns));
        widen(block.lane(), task, reinterpret_cast<const four<In>*>(mine), wide, fours, now.row + own,
              x + now.p - margin - mask_x.taps.width / 2);
        block.sync_warp();
        tile = wide;
      }
      const auto* const taps = reinterpret_cast<const four<sum>*>(mine + raw_bytes(task.columns));
      for_each_constant<passes>([&](auto number) {
        constexpr int pass = decltype(number)::value;
        add_line(tile + row * fours + column + pass * 32 / passes, taps, now.p == 0 ? static_cast<int>(margin) : 0,
                 static_cast<int>(smaller(std::int64_t(task.columns), end - now.p)), total[pass]);
      });
      block.sync_warp();  // the buffer has been read
      load();
      if (now.p + task.columns >= end) {
        block.sync();  // the ring has been read
        const int to = slot + own + row;
        four<sum>* const place = ring + (to < ring_rows ? to : to - ring_rows) * ring_pitch + column;
        for_each_constant<passes * groups>([&](auto number) {
          constexpr int pass = decltype(number)::value / groups, g = decltype(number)::value % groups;
          for (int j = 0; j < 4; ++j) {
            place[pass * 32 / passes + g].item[j] = total[pass][g][j];
            total[pass][g][j] = 0;
          }
        });
        block.sync();  // the sums are in the ring
        const std::int64_t y = now.row - ahead;
        if (y >= first)
          make_results(task, ring, ring_rows, slot - (size_y - 1) + own, taps_y, size_y, block.lane(), y + own, x);
        if (y + height >= last) return;
        slot += height;
        if (slot >= ring_rows) slot -= ring_rows;
      }
      advance(now);
    }
  }

private:
  PMPP_HOST_DEVICE static int fours_of(int columns) { return (32 + columns / 4) | 1; }
  /// Each warp has a buffer, of elements as they are in memory and the taps to use with them, and a tile of sums where
  /// they are of another type. Lanes stand in different rows of it, so their pitch is odd.
  PMPP_HOST_DEVICE static int raw_bytes(int columns) {
    return round_up(Shape.rows * fours_of(columns) * static_cast<int>(sizeof(four<In>)), 16);
  }
  PMPP_HOST_DEVICE static int buffer_bytes(int columns) {
    return raw_bytes(columns) + columns / 4 * static_cast<int>(sizeof(four<sum>));
  }
  PMPP_HOST_DEVICE static int warp_bytes(int columns) {
    const int tile = Shape.rows * fours_of(columns) * static_cast<int>(sizeof(four<sum>));
    return buffer_bytes(columns) + (converts ? tile : 0);
  }
  PMPP_HOST_DEVICE static std::int64_t ring_fours(std::int64_t taps_y) {
    return ceil_div(taps_y, std::int64_t(4)) + ring_pitch * (height + taps_y - 1);
  }

  /// A warp's rows of a buffer, which begin at (y, x), as sums; the constant of the border may be no value of In.
  PMPP_HOST_DEVICE static void widen(int lane, const separable_task<In, Out>& task, const four<In>* raw,
                                     four<sum>* tile, int fours, std::int64_t y, std::int64_t x) {
    for (int i = lane; i < Shape.rows * fours; i += 32) tile[i] = widened<sum>(raw[i]);
    const volume<const In>& in = task.in;
    const bool inside = y >= 0 && y + Shape.rows <= in.height && x >= 0 && x + 4 * fours <= in.width;
    if (inside || task.outside.what != border::kind::constant) return;
    for (int i = lane; i < Shape.rows * fours; i += 32)
      for (int j = 0; j < 4; ++j) {
        const std::int64_t row = y + i / fours, column = x + i % fours * 4 + j;
        if (row < 0 || row >= in.height || column < 0 || column >= in.width)
          tile[i].item[j] = static_cast<sum>(task.outside.value);
      }
  }

  /// A column of results, four wide, from the rows of the ring that begin at `slot`: four taps at a time meet a window
  /// of rows that moves down through registers.
  PMPP_HOST_DEVICE static void make_results(const separable_task<In, Out>& task, const four<sum>* ring, int ring_rows,
                                            int slot, const four<sum>* taps, int size, int lane, std::int64_t y,
                                            std::int64_t x) {
    if (slot < 0) slot += ring_rows;
    if (slot >= ring_rows) slot -= ring_rows;
    const four<sum>*at = ring + slot * ring_pitch + lane, *const end = ring + ring_rows * ring_pitch;
    const auto next = [&] {
      const four<sum> row = *at;
      at += ring_pitch;
      if (at >= end) at = ring + lane;
      return row;
    };
    four<sum> window[Shape.rows + 7];
    sum total[Shape.rows][4] = {};
    for (int i = 0; i < Shape.rows - 1; ++i) window[i] = next();
    int done = 0;  // taps
    const auto add = [&](auto count) {
      constexpr int taps_now = decltype(count)::value;
      for (int k = 0; k < taps_now; ++k) window[Shape.rows - 1 + k] = next();
      for (int c = 0; c < ceil_div(taps_now, 4); ++c) {
        const four<sum> tap = taps[done / 4 + c];
        for (int k = 4 * c; k < smaller(4 * c + 4, taps_now); ++k)
          for (int h = 0; h < Shape.rows; ++h)
            for (int j = 0; j < 4; ++j) total[h][j] += tap.item[k - 4 * c] * window[h + k].item[j];
      }
      for (int i = 0; i < Shape.rows - 1; ++i) window[i] = window[i + taps_now];
      done += taps_now;
    };
    while (size - done >= 8) add(constant<8>{});
    if (size - done >= 4) add(constant<4>{});
    if (size % 4 == 1) add(constant<1>{});
    if (size % 4 == 2) add(constant<2>{});
    if (size % 4 == 3) add(constant<3>{});
    store_column<Shape.rows>(task, 0, y, x + 4 * lane,
                             [&](auto h) -> const sum(&)[4] { return total[decltype(h)::value]; });
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
