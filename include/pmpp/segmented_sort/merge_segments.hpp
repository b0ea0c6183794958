// SPDX-License-Identifier: Apache-2.0
//
// Long inputs: a launch of its own makes all passes over the large segments.
#pragma once

#include <cstdint>

#include <pmpp/block/grid_barrier.hpp>
#include <pmpp/block/merge_runs.hpp>
#include <pmpp/block/sort.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/segmented_sort/passes.hpp>
#include <pmpp/segmented_sort/tuning.hpp>
#include <pmpp/segmented_sort/windows.hpp>
#include <pmpp/sort/merge_sort.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Merges the large segments of a long input: four runs become one.
///
/// Where the tiles of a pass begin in their runs four lanes each find first; then blocks make the tiles. Which tile is whose
/// is said by slots: the tiles of a segment have one each, from that of the segment's first element on. Segments that take
/// part are longer than a run, so that with slots of tile * run / (tile + run) elements none has more tiles than slots.
template <class T, class Data, class Other, class Comp, merge_segments_tuning Tuning, int Run>
struct merge_segments_kernel {
  static constexpr int items = block::odd_items(Tuning.bytes, sizeof(T)),
                       threads = sort_threads(Tuning.threads, items*int(sizeof(T)), Tuning.block_bytes);
  using memory_of_block = block::merge_runs_memory<T, threads, items, 4>;
  static constexpr std::int64_t tile = memory_of_block::tile, slot = tile * Run / (tile + Run);

  struct slot_content {
    merged_tile tile;
    four_cuts cut;  ///< where the tile begins in its runs
  };
  struct shared {
    memory_of_block of_block;
  };
  static constexpr int min_blocks =
      max(1, min(min(32, block::resident_threads(Tuning.resident, items* int(sizeof(T))) / threads),
                 227 * 1024 / int(sizeof(shared) + 1024)));

  struct arguments {
    merge_arguments<Data, Other, Comp> merging;
    std::int64_t slots;
    slot_content* contents;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    if (a.merging.state[2] == 0) return;
    block::grid_barrier barrier(a.merging.state, a.merging.state + 1);
    a.merging.make_passes(block, barrier, [&](int left, const auto& from, const auto& to) {
      constexpr int at_once = threads / 4;
      for (std::int64_t i = block.index() * at_once; i < a.slots; i += block.count() * at_once)
        fill_slot(block, a, left, i + block.thread() / 4, from);
      barrier.sync(block);
      for (std::int64_t i = block.index(); i < a.slots; i += block.count()) merge_slot(block, memory, a, i, from, to);
    });
  }

private:
  /// The tile of a slot; of no elements if there is none.
  PMPP_HOST_DEVICE static merged_tile tile_of(const arguments& a, int left, std::int64_t i) {
    const segment_cut& cut = a.merging.cut;
    const std::int64_t first = i * slot, last = min(first + slot, a.merging.data.count) - 1;
    merged_tile t{};
    for (std::int64_t w = max(first / cut.window - 1, std::int64_t(0)); w <= last / cut.window; ++w) {
      const segment_place s = a.merging.large[w];
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
    const auto runs = runs_of<4>(from, t);
    block.sync();  // memory is free again
    if (const int q = block.thread(); q < 4) {
      memory.of_block.begin.place[q] = a.contents[i].cut.place[q];
      memory.of_block.end.place[q] =
          t.end == runs.count_of(t.group) ? runs.length(t.group, q) : a.contents[i + 1].cut.place[q];
    }
    block.sync();
    block::merge_runs(block, memory.of_block, runs, t.group, static_cast<int>(t.end - t.begin), to + t.segment.begin,
                      runs.first_of(t.group) + t.begin, a.merging.comp);
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
