// SPDX-License-Identifier: Apache-2.0
//
// Passes over the segments that are longer than a tile: their sorted tiles become one run, in all of them at once.
//
// Short inputs: the blocks that have sorted the tiles of a segment merge them, two runs to one, in the same launch
// (merge_where_sorted). Long inputs: a launch of its own makes all passes, four runs to one (merge_segments_kernel).
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/merge.hpp>
#include <pmpp/block/merge_runs.hpp>
#include <pmpp/block/sync_grid.hpp>
#include <pmpp/segmented_sort/windows.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/sort/merge_sort.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// Passes over the large segments of long inputs.
struct merge_segments_tuning {
  int threads = 128;            ///< of a block, at most
  int bytes = 100;              ///< of a thread's elements: as sort's passes of four. 2^26 keys of one segment: 2905
  int block_bytes = 96 * 1024;  ///< of all elements of a block, about, at most
  int resident = 1536;          ///< threads on a multiprocessor at a time
};

namespace detail {

/// n elements from any element on; `first` counts from the beginning of an array whose elements lie at i + shift.
template <class It>
PMPP_HOST_DEVICE block::staged_input<It> staged_from(const block::staged_input<It>& source, std::int64_t first,
                                                     std::int64_t n) {
  block::staged_input<It> part = source;
  part.in = source.in + first;
  part.count = n;
  part.shift = static_cast<int>((source.shift + first) % block::staged_input<It>::items);
  return part;
}
/// The runs of a segment.
template <int Ways, class It>
PMPP_HOST_DEVICE block::sorted_runs<Ways, It> runs_of(const block::staged_input<It>& source, const merged_tile& t) {
  return {staged_from(source, t.segment.begin, t.segment.end - t.segment.begin), t.run};
}

/// What passes over the large segments need. All segments that take part go from one array to the other; those that are not
/// so long join in later, so that all end in the data.
template <class Data, class Other, class Comp, int Ways>
struct merge_arguments {
  block::staged_input<Data> data;
  block::staged_input<Other> other;
  segment_cut<Ways> cut;
  typename segment_cut<Ways>::place* large;  ///< for each window: the large segment to which its last element belongs
  /// Words that are zero. Short inputs: for each window, what has been done of the large segment that begins there. Long ones:
  /// two barriers, and the passes that the longest segment needs.
  unsigned* state;
  Comp comp;

  /// Makes the pass before which `left` are left: merge(from, to).
  template <class Merge>
  PMPP_HOST_DEVICE void make_pass(int left, const Merge& merge) const {
    const bool from_data = left % 2 == 0;
    if constexpr (std::is_same_v<Data, Other>)
      merge(from_data ? data : other, (from_data ? other : data).in);
    else if (from_data)
      merge(data, other.in);
    else
      merge(other, data.in);
  }
};

/// Merges the large segments of a short input in the blocks that have sorted their tiles: two runs become one. A block waits
/// for those alone that have tiles of the same segment, and they merge as many tiles as they have sorted, or fewer.
template <class T, int Threads, int Items>
struct merge_where_sorted {
  static constexpr int tile = Threads * Items;
  using shared = block::merge_runs_memory<T, Threads, Items, 2>;

  /// Says that the block has sorted its tile of a segment, or made its part of a pass.
  template <class Block, class Arguments>
  PMPP_HOST_DEVICE static void arrive(Block& block, const Arguments& a, const tile_part<int>& p) {
    block.sync();
    if (block.thread() > 0) return;
    simt::fence();
    simt::atomic_increment_wrap(arrivals(a, p), sorted_tiles(a, p) * static_cast<unsigned>(p.passes + 1) - 1);
  }
  /// Merges one tile, when all have arrived that had to do with the passes before `pass`.
  template <class Block, class Arguments>
  PMPP_HOST_DEVICE static void merge(Block& block, shared& memory, const Arguments& a, const tile_part<int>& p,
                                     int pass) {
    const segment_place<int>& s = p.segment;
    if (block.thread() == 0) {
      const unsigned* const arrived = arrivals(a, p);
      const unsigned all = sorted_tiles(a, p) * static_cast<unsigned>(pass + 1);
      while (simt::load(arrived) < all) block.spin();
      simt::fence();
    }
    block.sync();
    const int left = p.passes - pass, unit = a.cut.quotient(p.from - s.begin, a.cut.tile);
    if (unit < a.cut.tiles_of(s, left, tile))
      a.make_pass(left, [&](const auto& from, const auto& to) {
        const merged_tile t = a.cut.tile_of(s, left, unit, tile);
        detail::merge_two_runs(block, memory, runs_of<2>(from, t), t.group, t.begin, t.end, to + s.begin, a.comp);
      });
    arrive(block, a, p);
  }

private:
  template <class Arguments>
  PMPP_HOST_DEVICE static unsigned* arrivals(const Arguments& a, const tile_part<int>& p) {
    return a.state + a.cut.quotient(p.segment.begin, a.cut.window);
  }
  template <class Arguments>
  PMPP_HOST_DEVICE static unsigned sorted_tiles(const Arguments& a, const tile_part<int>& p) {
    return static_cast<unsigned>(a.cut.tiles(p.segment.end - p.segment.begin));
  }
};

/// Merges the large segments of a long input: four runs become one.
///
/// Where the tiles of a pass begin in their runs four lanes each find first; then blocks make the tiles. Which tile is whose
/// is said by slots: the tiles of a segment have one each, from that of the segment's first element on. Segments that take
/// part are longer than a run, so that with slots of tile * run / (tile + run) elements none has more tiles than slots.
template <class T, class Data, class Other, class Comp, merge_segments_tuning Tuning, int Run>
struct merge_segments_kernel {
  static constexpr int items = block::odd_items(Tuning.bytes, sizeof(T)),
                       threads = sort_threads(Tuning.threads, items*int(sizeof(T)), Tuning.block_bytes);
  using shared = block::merge_runs_memory<T, threads, items, 4>;
  static constexpr std::int64_t tile = shared::tile, slot = tile * Run / (tile + Run);

  struct slot_content {
    merged_tile tile;
    four_cuts cut;  ///< where the tile begins in its runs
  };
  static constexpr int min_blocks =
      max(1, min(min(32, block::resident_threads(Tuning.resident, items* int(sizeof(T))) / threads),
                 227 * 1024 / int(sizeof(shared) + 1024)));

  struct arguments {
    merge_arguments<Data, Other, Comp, 4> merging;
    std::int64_t slots;
    slot_content* contents;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    const int passes = static_cast<int>(a.merging.state[2]);
    if (passes == 0) return;
    for (int left = passes; left > 0; --left) {
      if (left < passes) block::sync_grid(block, a.merging.state, block.count());
      a.merging.make_pass(left, [&](const auto& from, const auto& to) {
        constexpr int at_once = threads / 4;
        for (std::int64_t i = block.index() * at_once; i < a.slots; i += block.count() * at_once)
          fill_slot(block, a, left, i + block.thread() / 4, from);
        block::sync_grid(block, a.merging.state + 1, block.count());
        for (std::int64_t i = block.index(); i < a.slots; i += block.count()) merge_slot(block, memory, a, i, from, to);
      });
    }
    if (block.index() == 0 && block.thread() == 0) a.merging.state[2] = 0;  // all have read it before the first barrier
  }

private:
  /// The tile of a slot; of no elements if there is none.
  PMPP_HOST_DEVICE static merged_tile tile_of(const arguments& a, int left, std::int64_t i) {
    const segment_cut<4>& cut = a.merging.cut;
    const std::int64_t first = i * slot, last = min(first + slot, a.merging.data.count) - 1;
    merged_tile t{};
    const std::int64_t end = cut.quotient(last, cut.window);
    for (std::int64_t w = max(cut.quotient(first, cut.window) - 1, std::int64_t(0)); w <= end; ++w) {
      const auto s = a.merging.large[w];
      const std::int64_t unit = i - s.begin / slot;
      if (t.end == t.begin && unit >= 0 && cut.passes(s.end - s.begin) >= left) t = cut.tile_of(s, left, unit, tile);
    }
    return t;
  }

  template <class Block, class From>
  PMPP_HOST_DEVICE static void fill_slot(Block& block, const arguments& a, int left, std::int64_t i, const From& from) {
    merged_tile t{};
    if (i < a.slots) t = tile_of(a, left, i);
    auto runs = runs_of<4>(from, t);
    if (t.end == t.begin) runs.source.count = 0;
    const std::int64_t place = from.count <= 1 << 30
                                   ? block::cut_four<T, int>(block, runs, t.group, t.begin, a.merging.comp)
                                   : block::cut_four<T, std::int64_t>(block, runs, t.group, t.begin, a.merging.comp);
    if (i >= a.slots) return;
    const int q = block.thread() % 4;
    a.contents[i].cut.place[q] = place;
    if (q == 0) a.contents[i].tile = t;
  }

  template <class Block, class From, class To>
  PMPP_HOST_DEVICE static void merge_slot(Block& block, shared& memory, const arguments& a, std::int64_t i,
                                          const From& from, const To& to) {
    const merged_tile t = a.contents[i].tile;
    if (t.end == t.begin) return;
    block.sync();  // memory is free again
    detail::merge_four_runs(block, memory, runs_of<4>(from, t), t.group, t.begin, t.end, a.contents[i].cut,
                            a.contents[i + 1].cut, to + t.segment.begin, a.merging.comp);
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
