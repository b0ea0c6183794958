// SPDX-License-Identifier: Apache-2.0
//
// Which elements a block of segmented_sort sorts: which segments are large (segment_cut), where a window begins among the
// offsets (window_planner), and what its block sorts therefore (window_plan).
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/divisor.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Where a segment lies. Number: here and below, of the type that counts elements and offsets.
template <class Number>
struct segment_place {
  Number begin, end;
};

/// A tile of what runs of a segment become when they are merged.
struct merged_tile {
  segment_place<std::int64_t> segment;
  std::int64_t run;         ///< elements
  std::int64_t group;       ///< which of the runs become one
  std::int64_t begin, end;  ///< in the result of the group; equal: there is no such tile
};

/// How the array is cut: which segments are large, and how often they are merged. A pass makes one of `Ways` runs: 2 in short inputs,
/// whose elements have numbers below 2^31, or 4.
template <int Ways>
struct segment_cut {
  using number = std::conditional_t<Ways == 2, int, std::int64_t>;
  using place = segment_place<number>;
  divisor tile, window;  ///< elements

  PMPP_HOST_DEVICE static number quotient(std::int64_t n, const divisor& by) {
    if constexpr (Ways == 2)
      return static_cast<number>(by.quotient(static_cast<unsigned>(n)));
    else
      return n / by.value();
  }
  /// Whether a segment does not fit into the tile of the window where it begins.
  PMPP_HOST_DEVICE bool large(const place& s) const {
    return large(s, quotient(s.begin, window) * static_cast<number>(window.value()));
  }
  PMPP_HOST_DEVICE bool large(const place& s, number window_begin) const {
    return s.end - window_begin > static_cast<number>(tile.value());
  }
  /// Tiles of n elements.
  PMPP_HOST_DEVICE number tiles(std::int64_t n) const { return quotient(n + tile.value() - 1, tile); }
  /// Passes from tiles to a run of n elements.
  PMPP_HOST_DEVICE int passes(std::int64_t n) const {
    int count = 0;
    for (number run = static_cast<number>(tile.value()); run < static_cast<number>(n); run *= Ways) ++count;
    return count;
  }
  /// Elements of the runs that a segment of n elements has with `left` passes before it: 2^this tiles.
  PMPP_HOST_DEVICE int doublings(std::int64_t n, int left) const { return (passes(n) - left) * (Ways / 2); }
  /// Tiles of `elements` that it takes to merge them. The groups of runs begin with a tile each.
  PMPP_HOST_DEVICE int tiles_of(const place& s, int left, int elements) const {
    const auto n = static_cast<unsigned>(s.end - s.begin), each = static_cast<unsigned>(elements);
    const int shift = doublings(n, left) + Ways / 2;
    const unsigned groups = static_cast<unsigned>(quotient(n, tile)) >> shift, together = tile.value() << shift;
    return static_cast<int>(groups * ceil_div(together, each) + ceil_div(n - groups * together, each));
  }
  /// Tile `unit` of them.
  PMPP_HOST_DEVICE merged_tile tile_of(const place& s, int left, std::int64_t unit, std::int64_t elements) const {
    const std::int64_t n = s.end - s.begin, run = std::int64_t(tile.value()) << doublings(n, left),
                       together = Ways * run;
    const auto index = static_cast<unsigned>(unit),
               tiles = static_cast<unsigned>(ceil_div(static_cast<number>(together), static_cast<number>(elements)));
    const std::int64_t group = index / tiles, begin = index % tiles * elements;  // 64-bit divisions are slow
    return {
        {s.begin, s.end}, run, group, begin, max(begin, min(begin + elements, min(together, n - group * together)))};
  }
};

/// Elements that are sorted in one tile: those of segments first ... last - 1, or of one segment if these are none.
template <class Number>
struct tile_part {
  Number from, first, last;
  int count;
  int passes;                     ///< that the segment needs; an odd number: from the other array
  segment_place<Number> segment;  ///< of which it is a tile, if that is large

  /// Where a segment begins in the tile.
  template <class Offsets>
  PMPP_HOST_DEVICE int begin_of(const Offsets& offsets, std::int64_t s) const {
    return static_cast<int>(min(static_cast<Number>(offsets[s]) - from, Number(count)));
  }
};
/// What a block sorts, each of which may be empty: a tile of a large segment that begins in front of its window, the small
/// segments that begin in the window, and the first tile of a large one.
template <class Number>
struct window_plan {
  tile_part<Number> parts[3];
};

/// Where an element lies among the offsets: the first one from it on, and the one in front of that.
template <class Number>
struct offset_place {
  Number index, before, at;
};

/// Says what a block sorts. Of short inputs there are fewer than 2^31 offsets, too.
template <class Offsets, int Ways>
struct window_planner {
  using number = typename segment_cut<Ways>::number;
  using place = offset_place<number>;
  using segment = segment_place<number>;
  Offsets offsets;
  item_count offset_count;
  segment_cut<Ways> cut;

  PMPP_HOST_DEVICE number offset(std::int64_t s) const { return static_cast<number>(offsets[s]); }

  /// The first of offsets low ... high that lies at `element` or after it; `high` if none does. The lanes of a warp call it:
  /// a round of loads for every five bits of the answer, which brings the neighbours along.
  template <class Block>
  PMPP_HOST_DEVICE place find(Block& block, number low, number high, number element) const {
    place found{low, offset(max(low - 1, number(0))), offset(high)};
    while (block.any(low < high)) {
      const number step = ceil_div(high - low, number(simt::warp_size));
      const number i = low + (block.lane() + 1) * step - 1;  // the last place of this lane's part
      const number probed = offset(min(i, high));
      const int parts = simt::count_bits(block.ballot(i < high && probed < element));
      low += parts * step;
      if (parts > 0) found.before = block.shuffle(probed, parts - 1);
      if (low + step - 1 < high) {
        high = low + step - 1;
        found.at = block.shuffle(probed, parts);
      }
      low = min(low, high);
    }
    found.index = low;
    return found;
  }
  /// The first segment that begins in a window or after it.
  template <class Block>
  PMPP_HOST_DEVICE place first_from(Block& block, std::int64_t window) const {
    return find(block, 0, static_cast<number>(max(std::int64_t(0), offset_count.get() - 1)),
                static_cast<number>(window) * static_cast<number>(cut.window.value()));
  }
  /// Segments from `here` to `next` begin in the window. `noted` becomes the large segment to which its last element belongs.
  PMPP_HOST_DEVICE window_plan<number> plan(number window, const place& here, const place& next, segment& noted) const {
    const number first = here.index, last = next.index;
    const number size = static_cast<number>(cut.window.value()), begin = window * size, end = begin + size;
    const segment before{here.before, here.at}, last_one{next.before, next.at};
    noted = {0, 0};
    window_plan<number> plan{};
    if (first > 0 && before.end > begin && cut.large(before)) {
      const number from = before.begin + cut.tiles(begin - before.begin) * static_cast<number>(cut.tile.value());
      if (from < min(end, before.end)) plan.parts[0] = tile_of(before, from);
      if (before.end >= end) noted = before;
    }
    if (first < last) {
      const bool large = cut.large(last_one, begin);
      const number to = large ? last_one.begin : last_one.end;
      plan.parts[1] = {before.end, first, last, static_cast<int>(to - before.end), 0, {0, 0}};
      if (large) {
        plan.parts[2] = tile_of(last_one, last_one.begin);
        noted = last_one;
      }
    }
    return plan;
  }

  /// The tile where one holds all n elements.
  PMPP_HOST_DEVICE tile_part<number> all(std::int64_t n) const {
    const auto segments = static_cast<number>(max(std::int64_t(0), offset_count.get() - 1));
    return {0, 0, segments, segments > 0 ? static_cast<int>(n) : 0, 0, {0, 0}};
  }

private:
  /// The tile of a large segment that begins at element `from`.
  PMPP_HOST_DEVICE tile_part<number> tile_of(const segment& s, number from) const {
    return {from,
            0,
            0,
            static_cast<int>(min(static_cast<number>(cut.tile.value()), s.end - from)),
            cut.passes(s.end - s.begin),
            s};
  }
};

/// Makes the plans of long inputs. A warp finds where a window begins in the offsets; so a block plans one window less than
/// it has warps.
template <class Offsets>
struct plan_windows_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256, warps = threads / simt::warp_size, windows = warps - 1;

  using window_planner_of = window_planner<Offsets, 4>;

  struct shared {
    typename window_planner_of::place first[warps];  ///< the first segment that begins in a window or after it
  };
  struct arguments {
    window_planner_of planner;
    std::int64_t windows;
    window_plan<std::int64_t>* plans;
    segment_place<std::int64_t>* large;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    const std::int64_t window = block.index() * windows + block.warp();
    const auto first = a.planner.first_from(block, window);
    if (block.lane() == 0) memory.first[block.warp()] = first;
    block.sync();
    if (block.lane() > 0 || block.warp() == windows || window >= a.windows) return;
    a.plans[window] = a.planner.plan(window, first, memory.first[block.warp() + 1], a.large[window]);
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
