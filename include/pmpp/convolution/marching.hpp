// SPDX-License-Identifier: Apache-2.0
//
// Kernels that march through the input while the results wait in registers. They are limited by multiplications, so all else
// is kept away from those: only rows or planes of the input go through shared memory, each once in a section. Of a mask of 15
// rows, two of them at a time:
//
//   rows r and r + 1 of the input --row 14 of the mask--> results r - 7 and r - 6: complete, written
//                                       13           --> results r - 6 and r - 5
//                                       ...
//                                        0           --> results r + 7 and r + 8
//
// A thread makes four adjacent columns, so that a tap that it reads serves eight products or more, and an element as many as
// the mask is high. What is marched along is cut to sections, for as many blocks as there is room for.
//
//   strip_kernel    down 512 columns: square masks of 11, 13 and 15 taps a side
//   walk_kernel     likewise, convolve_separable: a row is filtered by mask_x, its sums are multiplied by the taps of mask_y
//   volume_kernel   from plane to plane of a volume: masks of up to seven taps a side
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/convolution/elements.hpp>
#include <pmpp/convolution/source.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/core/volume.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/simt/pixel.hpp>
#include <pmpp/stencil/kernel.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// What a launch down strips works on.
template <class In, class Out>
struct march_task : convolution_views<In, Out> {
  std::int64_t strips = 0, section = 0;  ///< rows of a section
};

/// Where a block marches down a strip of `Width` columns, and where its thread writes.
template <int Width, class Out>
struct march {
  int x, first, last;  ///< first column of the strip; rows of the section
  int columns;         ///< that the thread may write
  Out* to;             ///< the thread's next row of results

  template <class In>
  PMPP_HOST_DEVICE march(const march_task<In, Out>& task, std::int64_t block, int thread) {
    const auto index = static_cast<std::uint32_t>(block), strips = static_cast<std::uint32_t>(task.strips);
    x = static_cast<int>(index % strips) * Width;
    first = static_cast<int>(index / strips * task.section);
    last = static_cast<int>(min(first + task.section, task.out.height));
    columns = static_cast<int>(min(task.out.width - x - 4 * thread, std::int64_t(4)));
    to = task.out.data + first * task.out.pitch + (x + 4 * thread) * task.out.step;
  }
  /// Has sums[k] stored, as row `row` + k of the results, where that is one of the section's.
  template <int Rows, class Store>
  PMPP_HOST_DEVICE void write(std::int64_t pitch, int row, const float (*sums)[4], const Store& store) {
    for_each_constant<Rows>([&](auto number) {
      constexpr int k = decltype(number)::value;
      if (row + k < first || row + k >= last) return;
      store(to, columns, sums[k]);
      to += pitch;
    });
  }
};

/// Results wait in the order in which they become complete: the oldest `Done` have been written, as many begin with `start`.
/// Registers have no addresses, so the results move along by their names.
template <int Done, int Count>
PMPP_HOST_DEVICE void move_on(float (&sum)[Count][4], float start) {
  for (int i = 0; i < Count; ++i)
    for (int j = 0; j < 4; ++j) sum[i][j] = i + Done < Count ? sum[i + Done][j] : start;
}

// -- square masks on matrices -----------------------------------------------------------------------------------------

/// Half the threads bring the next one of the rows, half the one after.
template <class In, class Tap, class Out, int Size, int Blocks>
struct strip_kernel {
  static constexpr int threads = 128, min_blocks = Blocks;
  static constexpr int width = 4 * threads;                    ///< of a strip
  static constexpr int steps = 2, bringers = threads / steps;  ///< rows at a time; threads that bring one
  // A row begins at a multiple of four columns, so the first `margin` of them meet no tap.
  static constexpr int reach = round_up(Size / 2, 4), margin = reach - Size / 2;
  static constexpr int groups = ceil_div(margin + Size, 4);  ///< of four columns of taps
  static constexpr int pitch = threads + groups;             ///< groups of four elements in a row
  static constexpr int waiting = Size + steps - 1;           ///< results

  struct shared {
    four<float> row[2][steps][pitch];
    four<float> tap[4 * groups][ceil_div(Size, 4)];  ///< from column to column; the last row first
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const march_task<In, Out>& task,
                                   const mask_argument<Tap, Size * Size>& mask) const {
    march<width, Out> at(task, block.index(), block.thread());
    for (int i = block.thread(); i < Size * Size; i += threads) {
      const int row = Size - 1 - i / Size;
      memory.tap[margin + i % Size][row / 4].item[row % 4] = mask.template tap<float>(0, i / Size, i % Size);
    }
    four<float>* const slots = memory.row[0][0];
    for (int i = block.thread(); i < 2 * steps * pitch; i += threads)
      slots[i] = four_times(static_cast<float>(task.outside.value));
    block.sync();

    const int own = block.thread() / bringers;  // the row of a step that the thread helps to bring
    row_of_groups<In, Out, pitch, bringers, reach, Size / 2> source(task, at.x, block.thread() % bringers);
    int row = at.first - Size / 2, half = 0;
    source.start(row + own, memory.row[half][own]);
    source.finish(memory.row[half][own]);
    constexpr int delay = Size - 1 - Size / 2;  // rows from a result to the one that completes it
    float sum[waiting][4] = {};                 // of result r where sum[k] has got all but row r + delay
    for (; row < at.last + delay; row += steps, half = 1 - half) {
      move_on<steps>(sum, 0.0f);
      simt::copy_async_wait<0>();
      block.sync();
      source.start(row + steps + own, memory.row[1 - half][own]);
      add_rows(memory, memory.row[half][0] + block.thread(), sum);
      source.finish(memory.row[1 - half][own]);
      at.template write<steps>(task.out.pitch, row - delay, sum, [&](Out* to, int columns, const float(&result)[4]) {
        store_four(task.out, to, task.out_fours, columns, result);
      });
    }
    simt::copy_async_wait<0>();
  }

private:
  /// Adds the products of rows of which a thread meets the elements from `line` on.
  PMPP_HOST_DEVICE static void add_rows(const shared& memory, const four<float>* line, float (&sum)[waiting][4]) {
    for_each_constant<Size>([&](auto number) {
      constexpr int k = margin + decltype(number)::value;  // the column of the mask's slots
      four<float> x[steps][2];
      for (int r = 0; r < steps; ++r)
        for (int i = 0; i < 2; ++i) x[r][i] = line[r * pitch + k / 4 + i];
      for_each_constant<ceil_div(Size, 4)>([&](auto group) {
        constexpr int q = decltype(group)::value;
        const four<float> tap = memory.tap[k][q];
        for (int i = 0; i < min(4, Size - 4 * q); ++i)
          for (int r = 0; r < steps; ++r)
            for (int j = 0; j < 4; ++j)
              sum[4 * q + i + r][j] += tap.item[i] * x[r][(k % 4 + j) / 4].item[(k % 4 + j) % 4];
      });
    });
  }
};

// -- short separable masks --------------------------------------------------------------------------------------------

/// Where the taps of a mask stand.
struct tap_slots {
  int taps, groups, absent;  ///< groups of four slots; slots in front that have no tap

  PMPP_HOST_DEVICE explicit tap_slots(std::int64_t n)
      : taps(static_cast<int>(n)), groups(static_cast<int>((n + 3) / 4)), absent(4 * groups - taps) {}

  /// Calls f(g) for the groups that there are, constants.
  template <int Slots, class F>
  PMPP_HOST_DEVICE void for_each_group(const F& f) const {
    for_each_constant<Slots / 4>([&](auto group) {
      constexpr int g = decltype(group)::value;
      if (g == 0 || g < groups) f(group);
    });
  }
  PMPP_HOST_DEVICE bool has_tap(int slot) const { return slot >= 3 || slot >= absent; }
};

/// Taps stand in `Slots` slots, four a group; groups that a mask has no taps for are skipped. The first slots have no tap
/// where the mask's size is no multiple of four: adding 0 * x would spread infinite elements. The loop is unrolled for
/// `steps` rows, two at a time.
template <class In, class TapY, class TapX, class Out, int Slots>
struct walk_kernel {
  static constexpr int threads = 128, min_blocks = Slots < 16 ? 4 : 3;  // registers
  static constexpr int width = 4 * threads, pitch = (width + Slots) / 4, steps = 8;
  static constexpr int waiting = Slots + steps - 1;      ///< results
  static constexpr int ahead = 4;                        ///< rows that are on their way
  static constexpr int ring = moves<In, float> ? 8 : 4;  ///< rows in shared memory
  // Bytes are made by the arithmetic of simt/pixel.hpp.
  static constexpr bool pixels = std::is_same_v<In, std::uint8_t> && std::is_same_v<Out, std::uint8_t>;
  static constexpr float start = pixels ? simt::half_a_pixel : 0.0f, unit = pixels ? 1.0f / 256 : 1.0f;

  struct shared {
    four<float> row[ring][pitch];
    four<float> tap_y[Slots / 4], tap_x[Slots / 4];  ///< from slot to slot; of mask_y the last tap first
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const march_task<In, Out>& task,
                                   const mask_argument<TapY, Slots>& mask_y,
                                   const mask_argument<TapX, Slots>& mask_x) const {
    const tap_slots rows(mask_y.taps.width), columns(mask_x.taps.width);
    place_taps(block.thread(), memory, mask_y, mask_x);
    march<width, Out> at(task, block.index(), block.thread());
    int row = at.first - rows.taps / 2;
    rows_of_elements<In, Out, 4 * pitch, threads, ahead> source(block, task, row,
                                                                at.x - columns.taps / 2 - columns.absent);
    for_each_constant<ahead>([&](auto step) {
      constexpr int k = decltype(step)::value;
      source.template start<k>(block, memory.row[k % ring]);
    });

    const int delay = 4 * rows.groups - 1 - rows.taps / 2;  // rows from a result to the one that completes it
    float sum[waiting][4];                                  // of result r where sum[k] has got all but row r + delay
    for (int i = 0; i < waiting; ++i)
      for (int j = 0; j < 4; ++j) sum[i][j] = start;
    for (; row < at.last + delay; row += steps) {
      source.look_up(block, row);
      for_each_constant<steps / 2>([&](auto step) {
        constexpr int k = 2 * decltype(step)::value;
        if constexpr (moves<In, float>) simt::copy_async_wait<ahead - 2>();
        for_each_constant<2>([&](auto which) {
          constexpr int r = k + decltype(which)::value;
          source.template finish<r>(memory.row[r % ring]);
        });
        block.sync();
        for_each_constant<2>([&](auto which) {
          constexpr int r = k + ahead + decltype(which)::value;
          source.template start<r>(block, memory.row[r % ring]);
        });
        add_rows(memory, memory.row[k % ring] + block.thread(), rows, columns, sum + k);
        at.template write<2>(task.out.pitch, row + k - delay, sum + k,
                             [&](Out* to, int room, const float(&result)[4]) { write(task, to, room, result); });
      });
      move_on<steps>(sum, start);
    }
    if constexpr (moves<In, float>) simt::copy_async_wait<0>();
  }

private:
  PMPP_HOST_DEVICE static void place_taps(int thread, shared& memory, const mask_argument<TapY, Slots>& mask_y,
                                          const mask_argument<TapX, Slots>& mask_x) {
    const tap_slots rows(mask_y.taps.width), columns(mask_x.taps.width);
    const int y = 4 * rows.groups - 1 - thread, x = thread - columns.absent;
    if (y >= 0 && y < rows.taps) memory.tap_y[thread / 4].item[thread % 4] = unit * mask_y.template tap<float>(0, 0, y);
    if (x >= 0 && x < columns.taps) memory.tap_x[thread / 4].item[thread % 4] = mask_x.template tap<float>(0, 0, x);
  }

  /// Adds what two rows give, of which a thread meets the elements from `line` on: slot i of the first is that of sum[i].
  PMPP_HOST_DEVICE static void add_rows(const shared& memory, const four<float>* line, const tap_slots& rows,
                                        const tap_slots& columns, float (*sum)[4]) {
    float total[2][4] = {};
    four<float> window[2][2];
    for (int r = 0; r < 2; ++r) window[r][0] = line[r * pitch];
    columns.for_each_group<Slots>([&](auto group) {
      constexpr int g = decltype(group)::value, next = (g + 1) % 2;
      for (int r = 0; r < 2; ++r) window[r][next] = line[r * pitch + g + 1];
      const four<float> tap = memory.tap_x[g];
      for (int i = 0; i < 4; ++i)
        if (columns.has_tap(4 * g + i))
          for (int r = 0; r < 2; ++r)
            for (int j = 0; j < 4; ++j) total[r][j] += tap.item[i] * window[r][(g + (i + j) / 4) % 2].item[(i + j) % 4];
    });
    rows.for_each_group<Slots>([&](auto group) {
      constexpr int g = decltype(group)::value;
      const four<float> tap = memory.tap_y[g];
      for (int i = 0; i < 4; ++i)
        if (rows.has_tap(4 * g + i))
          for (int r = 0; r < 2; ++r)
            for (int j = 0; j < 4; ++j) sum[4 * g + i + r][j] += tap.item[i] * total[r][j];
    });
  }

  /// Writes four results of a row, as far as there is room.
  PMPP_HOST_DEVICE static void write(const march_task<In, Out>& task, Out* to, int room, const float (&sum)[4]) {
    if constexpr (pixels) {
      const words_of<1> result{simt::pixels_of(sum[0], sum[1], sum[2], sum[3])};
      if (task.out_fours && room >= 4) return store_words<1>(to, result);
      for (int j = 0; j < 4; ++j)
        if (j < room) to[j * task.out.step] = static_cast<std::uint8_t>(result.word[0] >> 8 * j);
    } else {
      store_four(task.out, to, task.out_fours, room, sum);
    }
  }
};

// -- volumes ----------------------------------------------------------------------------------------------------------

/// The sum of a float's neighbours, times the taps.
template <class Out>
struct volume_sum {
  float tap[27];

  template <class N>
  PMPP_HOST_DEVICE Out operator()(const N& n) const {
    float sum = 0;
    for_each_constant<27>([&](auto number) {
      constexpr int i = decltype(number)::value;
      sum += tap[i] * n(i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1);
    });
    return stored<Out>(sum);
  }
};

template <class Tap, class Out>
struct volume_mask {
  static constexpr bool corners = true;
  mask_argument<Tap, 27> mask;

  /// The taps are the same for all threads: the compiler keeps them in uniform registers.
  PMPP_HOST_DEVICE volume_sum<Out> ready() const {
    volume_sum<Out> sum;
    for (int i = 0; i < 27; ++i) sum.tap[i] = mask.template tap<float>(i / 9, i / 3 % 3, i % 3);
    return sum;
  }
};

/// Tiles of 64 x 32 columns, as stencil_tile knows them.
struct volume_shape {
  static constexpr int up = 3, tall = 3, side = 1, threads = 128, rows = 4;
  static constexpr int ahead = 2, slots = ahead + 1;  ///< planes on their way; in shared memory
  static constexpr int widest = 16, narrowest = 16;   ///< packs of a row

  PMPP_HOST_DEVICE static constexpr int width(int tile_packs) { return 4 * tile_packs; }
  PMPP_HOST_DEVICE static constexpr int height(int tile_packs) { return threads / tile_packs * rows; }
  PMPP_HOST_DEVICE static constexpr int line(int tile_packs) { return tile_packs + 2 * side; }
  PMPP_HOST_DEVICE static constexpr int count(int tile_packs) {
    return line(tile_packs) * (height(tile_packs) + 2 * tall);
  }
  static constexpr int most() { return count(widest); }
};

/// Masks of Width columns, an odd number, of Planes planes or one less, and of up to seven rows.
template <class In, class Tap, class Out, int Width, int Planes>
struct volume_kernel {
  using shape = volume_shape;
  using pack = four<In>;
  using task_type = stencil_task<In, Out, 3>;
  static constexpr int most = 7;  ///< rows of a mask
  static constexpr int threads = shape::threads, min_blocks = Planes == 3 ? 4 : Planes == 5 ? 3 : 2;
  static constexpr int columns = 4, rows = shape::rows, pitch = shape::line(shape::widest);
  static constexpr int groups = ceil_div(Width, 4);  ///< of four taps in a row
  // A thread meets this many packs of a row, from its own or the one before on; of the first, `margin` elements meet no tap.
  static constexpr int window = Width > 1 ? 3 : 1, first_pack = Width > 1 ? 0 : 1,
                       margin = Width > 1 ? 4 - Width / 2 : 0;

  struct shared {
    four<float> tap[most][Planes][groups];  ///< row by row of the mask; there plane by plane, the last one first
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const task_type& task,
                                   const mask_argument<Tap, most * Planes * Width>& mask) const {
    const auto index = static_cast<std::uint32_t>(block.index()), tiles_x = static_cast<std::uint32_t>(task.tiles_x);
    const auto tiles_y = static_cast<std::uint32_t>(task.tiles_y);
    const std::int64_t tile_x = std::int64_t(index % tiles_x) * shape::width(shape::widest);
    const std::int64_t tile_y = std::int64_t(index / tiles_x % tiles_y) * shape::height(shape::widest);
    const std::int64_t first = std::int64_t(index / tiles_x / tiles_y) * task.section;
    const std::int64_t last = min(first + task.section, task.out.depth);
    const int depth = static_cast<int>(mask.taps.depth), high = static_cast<int>(mask.taps.height);
    for (int i = block.thread(); i < depth * high * Width; i += threads) {
      const int z = i / Width / high, y = i / Width % high, x = i % Width;
      memory.tap[y][depth - 1 - z][x / 4].item[x % 4] = mask.template tap<float>(z, y, x);
    }
    stencil_tile<In, 4, 3, shape, task_type> tile(task, reinterpret_cast<pack*>(block.dynamic_shared()), block.thread(),
                                                  tile_y, tile_x);
    std::int64_t z = first - depth / 2;
    const std::int64_t delay = depth - 1 - depth / 2, end = last + delay;
    int slot = 0, next = 0;
    const auto next_of = [](int i) { return i + 1 < shape::slots ? i + 1 : 0; };
    const auto fetch = [&](std::int64_t from) {
      if (from < end) tile.fetch(from, next);
      simt::copy_async_commit();
      next = next_of(next);
    };
    for (int i = 0; i < shape::ahead; ++i) fetch(z + i);
    const int column = block.thread() % shape::widest, row = block.thread() / shape::widest * rows;
    const std::int64_t y = tile_y + row, x = tile_x + 4 * column;
    const int own = (row + shape::tall - high / 2) * pitch + column + first_pack;
    const bool fours = task.out.in_fours();
    Out* to = task.out.at(first, y, x);
    float sum[Planes * rows][4] = {};  // sum[k * rows + h] is of row h of plane z - delay + k
    for (; z < end; ++z) {
      simt::copy_async_wait<shape::ahead - 1>();
      block.sync();  // plane z is there, and no thread reads what the next one is written over
      fetch(z + shape::ahead);
      add_plane(memory, tile.plane(slot) + own, depth, high, sum);
      slot = next_of(slot);
      if (z >= first + delay) {
        for (int h = 0; h < rows; ++h)
          if (y + h < task.out.height)
            detail::store_four(task.out, to + h * task.out.pitch, fours, task.out.width - x, sum[h]);
        to += task.out.slice;
      }
      move_on<rows>(sum, 0.0f);
    }
    simt::copy_async_wait<0>();
  }

private:
  /// Adds the products of a plane, of which a thread meets the packs from `line` on, to the results that it reaches.
  PMPP_HOST_DEVICE static void add_plane(const shared& memory, const pack* line, int depth, int high,
                                         float (&sum)[Planes * rows][4]) {
    for (int i = 0; i < high; ++i, line += pitch) {  // row of the mask
      float x[rows][4 * window];
      for (int h = 0; h < rows; ++h)
        for (int g = 0; g < window; ++g) {
          const auto part = widened<float>(pack(line[h * pitch + g]));
          for (int j = 0; j < 4; ++j) x[h][4 * g + j] = part.item[j];
        }
      four<float> tap[2][groups];  // of plane k at k % 2: those of the next one are on their way
      for (int g = 0; g < groups; ++g) tap[0][g] = memory.tap[i][0][g];
      for_each_constant<Planes>([&](auto number) {
        constexpr int k = decltype(number)::value;
        if (k == Planes - 1 && k >= depth) return;
        if (k + 1 < Planes)
          for (int g = 0; g < groups; ++g) tap[(k + 1) % 2][g] = memory.tap[i][k + 1][g];
        for (int j = 0; j < Width; ++j)
          for (int h = 0; h < rows; ++h)
            for (int e = 0; e < 4; ++e) sum[k * rows + h][e] += tap[k % 2][j / 4].item[j % 4] * x[h][margin + j + e];
      });
    }
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
