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

#include <pmpp/convolution/direct.hpp>
#include <pmpp/convolution/elements.hpp>
#include <pmpp/convolution/source.hpp>
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
  std::int64_t section = 0;  ///< rows, a multiple of a step's
  void* rings = nullptr;     ///< of all blocks, in global memory, where they do not fit in shared memory
};

template <class In, class TapY, class TapX, class Out, separable_shape Shape, bool RingInShared>
struct separable_kernel {
  using sum = separable_sum_of<In, TapY, TapX, Out>;
  static constexpr bool converts = !std::is_same_v<In, sum>;
  static constexpr int threads = Shape.threads(), height = Shape.height(), width = 128;
  static constexpr int groups = min(Shape.rows, 4), passes = Shape.rows / groups;  ///< of a thread's sums in a row
  static constexpr int ring_pitch = 33;  ///< groups of four from row to row; odd, as lanes stand in different rows
  static constexpr int min_blocks = max(1, Shape.blocks - (RingInShared ? 0 : 1));  // addresses need registers

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

    const std::int64_t x = block.index() % task.tiles_x * width, first = block.index() / task.tiles_x * task.section;
    const std::int64_t last = min(first + task.section, task.out.height);
    // A warp's results are made of its own sums and those of the `window` rows above, whole turns of make_results.
    const int window = window_rows(size_y), ring_rows = height + window, own = block.warp() * Shape.rows;
    const int ahead = window - size_y / 2;  // rows from the results of a step to the sums that it makes
    // A step makes sums of the rows from `row` on, with the taps from p on.
    struct step {
      std::int64_t row, p;
    };
    step now{first + ahead - round_up(window, height), 0}, next = now;
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
        bring_rows<Shape.rows>(block, task, reinterpret_cast<four<In>*>(mine), fours, next.row + own,
                               x + next.p - margin - mask_x.taps.width / 2);
      advance(next);
      loaded = true;
    };
    load();
    const int row = block.lane() % Shape.rows, column = block.lane() / Shape.rows * groups;  // a thread's sums
    while (true) {
      simt::copy_async_wait<0>();
      block.sync();  // the buffer has come, the ring has been read
      const four<sum>* tile = reinterpret_cast<const four<sum>*>(mine);
      if constexpr (converts) {
        auto* const wide = reinterpret_cast<four<sum>*>(mine + buffer_bytes(task.columns));
        widen_rows<Shape.rows>(block.lane(), task, reinterpret_cast<const four<In>*>(mine), wide, fours, now.row + own,
                               x + now.p - margin - mask_x.taps.width / 2);
        block.sync_warp();
        tile = wide;
      }
      const auto* const taps = reinterpret_cast<const four<sum>*>(mine + raw_bytes(task.columns));
      const int to = slot + own + row, place = (to < ring_rows ? to : to - ring_rows) * ring_pitch;
      for (int c = column; c < 32; c += 32 / passes) {
        sum total[groups][4] = {};
        if (now.p > 0)
          for (int i = 0; i < 4 * groups; ++i) total[i / 4][i % 4] = ring[place + c + i / 4].item[i % 4];
        add_taps(tile + row * fours + c, taps, now.p == 0 ? static_cast<int>(margin) : 0,
                 static_cast<int>(min(std::int64_t(task.columns), end - now.p)), total);
        for (int i = 0; i < 4 * groups; ++i) ring[place + c + i / 4].item[i % 4] = total[i / 4][i % 4];
      }
      block.sync_warp();  // the buffer has been read
      load();
      if (now.p + task.columns >= end) {
        block.sync();  // the sums are in the ring
        const std::int64_t y = now.row - ahead;
        if (y >= first)
          make_results(task, ring, ring_rows, slot - window + own, taps_y, size_y, block.lane(), y + own, x);
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
    return ceil_div(taps_y, std::int64_t(4)) + ring_pitch * (height + window_rows(taps_y));
  }
  /// Rows of sums above a warp's own that its results need, to a multiple of its rows.
  template <class N>
  PMPP_HOST_DEVICE static N window_rows(N taps_y) {
    return round_up(taps_y - 1, N(Shape.rows));
  }

  /// Adds the products of a row, from `line` on, and taps `begin` ... `end` - 1 to adjacent sums; begin < 4. Tap group c
  /// meets groups c ... c + groups of the row, which are in registers: group c's makes room for the next.
  PMPP_HOST_DEVICE static void add_taps(const four<sum>* line, const four<sum>* taps, int begin, int end,
                                        sum (&total)[groups][4]) {
    constexpr int held = groups + 1;
    four<sum> x[held];
    for (int g = 0; g < groups; ++g) x[g] = line[g];
    const auto add = [&](auto number, int from, int to) {
      constexpr int c = decltype(number)::value;
      x[(c + groups) % held] = line[c + groups];
      const four<sum> tap = taps[c];
      for (int k = 0; k < 4; ++k)
        if (k >= from && k < to)
          for (int i = 0; i < 4 * groups; ++i)
            total[i / 4][i % 4] += tap.item[k] * x[(c + (k + i) / 4) % held].item[(k + i) % 4];
    };
    add(constant<0>{}, begin, end);
    for (end -= 4; end >= 4 * held; end -= 4 * held, line += held, taps += held)
      for_each_constant<held>([&](auto number) { add(constant<decltype(number)::value + 1>{}, 0, 4); });
    for_each_constant<held>([&](auto number) {
      constexpr int c = decltype(number)::value;
      if (end > 4 * c) add(constant<c + 1>{}, 0, end - 4 * c);
    });
  }

  /// A column of results, four wide, from the rows of the ring that begin at `slot`. The tap of row k meets rows
  /// k ... k + Shape.rows - 1, which are in registers: row k's makes room for the next.
  PMPP_HOST_DEVICE static void make_results(const separable_task<In, Out>& task, const four<sum>* ring, int ring_rows,
                                            int slot, const four<sum>* taps, int size, int lane, std::int64_t y,
                                            std::int64_t x) {
    constexpr int turn = max(Shape.rows, 4);
    if (slot < 0) slot += ring_rows;
    if (slot >= ring_rows) slot -= ring_rows;
    const four<sum>*at = ring + slot * ring_pitch + lane, *const end = ring + ring_rows * ring_pitch;
    const auto move_on = [&] {
      at += Shape.rows * ring_pitch;
      if (at >= end) at = ring + lane;
    };
    four<sum> row[Shape.rows], tap{};
    for (int i = 0; i < Shape.rows; ++i) row[i] = at[i * ring_pitch];
    move_on();
    sum total[Shape.rows][4] = {};
    const auto add = [&](auto number) {
      constexpr int k = decltype(number)::value, oldest = k % Shape.rows;
      if constexpr (k % 4 == 0) tap = taps[k / 4];
      for (int h = 0; h < Shape.rows; ++h)
        for (int j = 0; j < 4; ++j) total[h][j] += tap.item[k % 4] * row[(k + h) % Shape.rows].item[j];
      row[oldest] = at[oldest * ring_pitch];
      if constexpr (oldest == Shape.rows - 1) move_on();
    };
    for (; size > 0; size -= turn, taps += turn / 4)
      for_each_constant<turn>([&](auto number) {
        if (size > decltype(number)::value) add(number);
      });
    store_column<Shape.rows>(task, 0, y, x + 4 * lane,
                             [&](auto h) -> const sum(&)[4] { return total[decltype(h)::value]; });
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
