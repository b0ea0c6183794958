// SPDX-License-Identifier: Apache-2.0
//
// Masks used directly, tile by tile: of any size, and small square ones of which the compiler knows everything.
//
// Every task is three-dimensional here: a span is a volume of one row, a matrix one of one plane. A block makes a tile of
// results. It brings the elements under it and around it to shared memory, as floats (or doubles), once; then each thread
// slides down a column of its own, four results wide:
//
//        columns x ... x + 3           a row of the tile, in registers, serves every result whose mask reaches it:
//      +---+---+---+---+               row r times row r - h of the mask adds to result row h
//   h  |   |   |   |   | <--+
//      +---+---+---+---+    |--- row r of the tile: 4 + (mask's columns - 1) elements, by 16-byte loads
//   h+1|   |   |   |   | <--+
//      +---+---+---+---+
//
// so that an element is loaded once for all the rows of the mask, and a tap once for all results of a row.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/convolution/elements.hpp>
#include <pmpp/convolution/source.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/core/volume.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// What a launch works on. Column p of the mask with its margin is tap p - margin: the columns in front make the window
/// of a group of four results begin at a multiple of four.
template <class In, class Out>
struct convolution_task : convolution_views<In, Out> {
  std::int64_t tiles_x = 0, tiles_y = 0, tiles = 0;
  int rows = 0, columns = 0;  ///< of the part of the mask that is used at a time

  PMPP_HOST_DEVICE static int margin(std::int64_t mask_width) { return static_cast<int>((4 - mask_width / 2 % 4) % 4); }
};

/// Results of a block: `warps_x` x `warps_y` warps, each `groups` times 128 columns by `rows` rows. A multiprocessor
/// holds `blocks`; they use `part` taps a side at a time.
struct convolution_shape {
  int warps_x, warps_y, groups, rows, blocks, part;

  PMPP_HOST_DEVICE constexpr int threads() const { return 32 * warps_x * warps_y; }
  PMPP_HOST_DEVICE constexpr int width() const { return 128 * warps_x * groups; }
  PMPP_HOST_DEVICE constexpr int height() const { return warps_y * rows; }
};

/// The position of a tile's first result.
struct result_position {
  std::int64_t z, y, x;
};
template <class In, class Out>
PMPP_HOST_DEVICE result_position first_result(std::int64_t tile, const convolution_task<In, Out>& task,
                                              const convolution_shape& shape) {
  const auto i = static_cast<std::uint32_t>(tile), tiles_x = static_cast<std::uint32_t>(task.tiles_x);
  const auto tiles_y = static_cast<std::uint32_t>(task.tiles_y);  // tiles are fewer than 2^31
  return {i / tiles_x / tiles_y, std::int64_t(i / tiles_x % tiles_y) * shape.height(),
          std::int64_t(i % tiles_x) * shape.width()};
}

/// Calls add(c, from, to) for the groups of four that taps `begin` ... `end` - 1 stand in, begin < 4: taps `from` ...
/// `to` - 1 of those from group c on, constants. Whole groups come `Most` at a time, as long as there are this many.
template <int Most, class Add>
PMPP_HOST_DEVICE void for_each_tap_group(int begin, int end, const Add& add) {
  if (begin == 1) add(0, constant<1>{}, constant<4>{});
  if (begin == 2) add(0, constant<2>{}, constant<4>{});
  if (begin == 3) add(0, constant<3>{}, constant<4>{});
  const int whole = end / 4;
  int c = begin == 0 ? 0 : 1;
  for (; c + Most <= whole; c += Most) add(c, constant<0>{}, constant<4 * Most>{});
  for (; c < whole; ++c) add(c, constant<0>{}, constant<4>{});
  if (end % 4 == 1) add(whole, constant<0>{}, constant<1>{});
  if (end % 4 == 2) add(whole, constant<0>{}, constant<2>{});
  if (end % 4 == 3) add(whole, constant<0>{}, constant<3>{});
}

/// Adds the products of a row of elements, from `line` on, and taps `begin` ... `end` - 1 to Groups x 4 adjacent sums.
template <int Groups, class A>
PMPP_HOST_DEVICE void add_line(const four<A>* line, const four<A>* taps, int begin, int end, A (&total)[Groups][4]) {
  // The groups that four taps meet: group g is x[(turn + g) % held], so that nothing moves from step to step.
  constexpr int held = Groups + 1;
  four<A> x[held];
  for (int g = 0; g < Groups; ++g) x[g] = line[g];
  const auto add = [&](int c, auto turn, auto from, auto to) {
    constexpr int t = decltype(turn)::value;
    x[(t + Groups) % held] = line[c + Groups];
    const four<A> tap = taps[c];
    for (int k = decltype(from)::value; k < decltype(to)::value; ++k)
      for (int i = 0; i < 4 * Groups; ++i)
        total[i / 4][i % 4] += tap.item[k] * x[(t + (k + i) / 4) % held].item[(k + i) % 4];
  };
  for_each_tap_group<held>(begin, end, [&](int c, auto from, auto to) {
    if constexpr (decltype(to)::value > 4) {
      for_each_constant<held>([&](auto turn) { add(c + decltype(turn)::value, turn, constant<0>{}, constant<4>{}); });
    } else {
      add(c, constant<0>{}, from, to);
      if (decltype(to)::value == 4)
        for (int g = 0; g < Groups; ++g) x[g] = x[g + 1];
    }
  });
}

/// Masks of any size, a part of at most task.rows x task.columns at a time. A thread's groups of columns are adjacent
/// where it has one row, else 32 groups apart.
template <class In, class Tap, class Out, int Capacity, convolution_shape Shape>
struct convolution_kernel {
  using sum = sum_of<In, Tap, Out>;
  static constexpr int threads = Shape.threads(), min_blocks = Shape.blocks;
  static constexpr int piece = sizeof(sum) == 4 ? 3 : 1;  ///< groups of four taps that are used at a time

  /// Bytes of dynamic shared memory: the tile, then the taps.
  static constexpr std::size_t shared_bytes(int rows, int columns) {
    return sizeof(four<sum>) * static_cast<std::size_t>(tile_fours(rows, columns) + rows * ceil_div(columns, 4));
  }

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const convolution_task<In, Out>& task,
                                   const mask_argument<Tap, Capacity>& mask) const {
    auto* const tile = reinterpret_cast<four<sum>*>(block.dynamic_shared());
    auto* const taps = tile + tile_fours(task.rows, task.columns);
    const volume<const Tap>& m = mask.taps;
    const int margin = task.margin(m.width), fours = fours_of(task.columns), pitch = ceil_div(task.columns, 4);
    const int column = block.warp() % Shape.warps_x * Shape.groups * 32;  // of the warp, in groups of four
    const int row = block.warp() / Shape.warps_x * Shape.rows;
    const result_position at = first_result(block.index(), task, Shape);
    sum total[Shape.rows][Shape.groups][4] = {};
    for (std::int64_t kz = 0; kz < m.depth; ++kz)
      for (std::int64_t ky = 0; ky < m.height; ky += task.rows)
        for (std::int64_t p = 0; p < margin + m.width; p += task.columns) {
          const int rows = static_cast<int>(min(std::int64_t(task.rows), m.height - ky));
          const int begin = p == 0 ? margin : 0;
          const int end = static_cast<int>(min(std::int64_t(task.columns), margin + m.width - p));
          load_tile<threads>(block.thread(), task, tile, Shape.height() + rows - 1, fours, at.z + kz - m.depth / 2,
                             at.y + ky - m.height / 2, at.x + p - margin - m.width / 2);
          for (int y = block.warp(); y < rows; y += threads / 32)
            for (int x = begin + block.lane(); x < end; x += 32)
              taps[y * pitch + x / 4].item[x % 4] = mask.template tap<sum>(kz, ky + y, p + x - margin);
          simt::copy_async_wait<0>();
          block.sync();
          const four<sum>* const line = tile + row * fours + column;
          if constexpr (Shape.rows == 1)
            add_line(line + Shape.groups * block.lane(), taps, begin, end, total[0]);
          else
            accumulate(line + block.lane(), fours, taps, pitch, rows, begin, end, total);
          block.sync();  // the tile has been read
        }
    four<sum>* const mine = tile + row * fours + column;
    if constexpr (Shape.rows == 1) {  // lanes write every 32nd group: through the tile
      for (int g = 0; g < Shape.groups; ++g)
        for (int j = 0; j < 4; ++j) mine[Shape.groups * block.lane() + g].item[j] = total[0][g][j];
      block.sync_warp();
      for (int g = 0; g < Shape.groups; ++g)
        for (int j = 0; j < 4; ++j) total[0][g][j] = mine[block.lane() + 32 * g].item[j];
    }
    const volume<Out>& out = task.out;
    const std::int64_t y = at.y + row, x = at.x + 4 * (column + block.lane());
    Out* const to = out.at(at.z, y, 0);
    const int rows = static_cast<int>(min(out.height - y, std::int64_t(Shape.rows)));
    const int columns = static_cast<int>(min(out.width - x, std::int64_t(Shape.width())));
    for_each_constant<Shape.groups>([&](auto number) {
      constexpr int g = decltype(number)::value;
      store_column<Shape.rows>(task, to + (x + 128 * g) * out.step, rows, columns - 128 * g,
                               [&](auto h) -> const sum(&)[4] { return total[decltype(h)::value][g]; });
    });
  }

private:
  /// Groups of four in a row of the tile, and in all of it.
  PMPP_HOST_DEVICE static constexpr int fours_of(int columns) { return Shape.width() / 4 + ceil_div(columns, 4); }
  PMPP_HOST_DEVICE static constexpr int tile_fours(int rows, int columns) {
    return (Shape.height() + rows - 1) * fours_of(columns);
  }

  /// Adds the products of a part of the mask, columns `begin` ... `end` - 1 of `rows` rows of taps, which are `pitch`
  /// groups of four apart. A row of the tile serves the rows of results that meet it: result row h meets row r - h of the
  /// mask.
  PMPP_HOST_DEVICE static void accumulate(const four<sum>* line, int fours, const four<sum>* taps, int pitch, int rows,
                                          int begin, int end, sum (&total)[Shape.rows][Shape.groups][4]) {
    for (int r = 0; r < Shape.rows + rows - 1; ++r, line += fours, taps += pitch) {
      for_each_tap_group<piece>(begin, end, [&](int c, auto from, auto to) {
        constexpr int first = decltype(from)::value, last = decltype(to)::value;
        four<sum> x[Shape.groups][(last + 6) / 4];
        for (int g = 0; g < Shape.groups; ++g)
          for (int i = 0; i < (last + 6) / 4; ++i) x[g][i] = line[32 * g + c + i];
        for_each_constant<Shape.rows>([&](auto number) {
          constexpr int h = decltype(number)::value;
          if (r < h || r - h >= rows) return;
          four<sum> tap[ceil_div(last, 4)];
          for (int i = 0; i < ceil_div(last, 4); ++i) tap[i] = taps[c + i - h * pitch];
          for (int k = first; k < last; ++k)
            for (int g = 0; g < Shape.groups; ++g)
              for (int j = 0; j < 4; ++j)
                total[h][g][j] += tap[k / 4].item[k % 4] * x[g][(k + j) / 4].item[(k + j) % 4];
        });
      });
    }
  }
};

/// Square masks of `Size` x `Size` on a matrix: everything is known to the compiler, elements stay in registers, taps too,
/// or `InParameters` they are operands where they are. Many small blocks: while one waits for its tile others have theirs.
template <class In, class Tap, class Out, int Size, convolution_shape Shape, bool InParameters>
struct small_convolution_kernel {
  using sum = sum_of<In, Tap, Out>;
  static constexpr int threads = Shape.threads(), min_blocks = Shape.blocks;
  static constexpr int margin = (4 - Size / 2 % 4) % 4, reach = round_up(Size / 2, 4);
  static constexpr int window = (margin + Size + 3 + 3) / 4;  // groups of four that four results meet
  static constexpr int fours = Shape.width() / 4 + window - 1, rows = Shape.height() + Size - 1;

  struct shared {
    four<sum> tile[rows * fours];
    sum taps[Size * Size];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const convolution_task<In, Out>& task,
                                   const mask_argument<Tap, Size * Size>& mask) const {
    const result_position at = first_result(block.index(), task, Shape);
    load_tile<threads>(block.thread(), task, memory.tile, rows, fours, at.z, at.y - Size / 2, at.x - reach);
    if constexpr (!InParameters)
      for (int i = block.thread(); i < Size * Size; i += threads)
        memory.taps[i] = converted<sum>(*mask.taps.at(0, i / Size, i % Size));
    simt::copy_async_wait<0>();
    block.sync();
    sum tap[Size * Size];
    for_each_constant<Size * Size>([&](auto number) {
      constexpr int i = decltype(number)::value;
      tap[i] = InParameters ? converted<sum>(mask.value[i]) : memory.taps[i];
    });
    const int column = block.warp() % Shape.warps_x * 32 + block.lane();  // in groups of four
    const int row = block.warp() / Shape.warps_x * Shape.rows;
    const four<sum>* line = memory.tile + row * fours + column;
    sum total[Shape.rows][4] = {};
    for_each_constant<Shape.rows + Size - 1>([&](auto number) {
      constexpr int r = decltype(number)::value;
      four<sum> x[window];
      for (int i = 0; i < window; ++i) x[i] = line[r * fours + i];
      for (int h = 0; h < Shape.rows; ++h)
        if (r - h >= 0 && r - h < Size)
          for (int k = 0; k < Size; ++k)
            for (int j = 0; j < 4; ++j)
              total[h][j] += tap[(r - h) * Size + k] * x[(margin + k + j) / 4].item[(margin + k + j) % 4];
    });
    store_column<Shape.rows>(task, at.z, at.y + row, at.x + 4 * column,
                             [&](auto h) -> const sum(&)[4] { return total[decltype(h)::value]; });
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
