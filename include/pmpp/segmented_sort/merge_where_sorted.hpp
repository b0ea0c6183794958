// SPDX-License-Identifier: Apache-2.0
//
// Short inputs: the blocks that have sorted the tiles of large segments merge them, in the same launch.
#pragma once

#include <cstdint>

#include <pmpp/block/merge_runs.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/segmented_sort/passes.hpp>
#include <pmpp/segmented_sort/windows.hpp>
#include <pmpp/simt/atomic.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Merges the large segments of a short input in the blocks that have sorted their tiles: two runs become one. A block waits
/// for those alone that have tiles of the same segment, and they merge as many tiles as they have sorted, or fewer.
template <class T, int Threads, int Items>
struct merge_where_sorted {
  static constexpr int tile = Threads * Items;
  using shared = block::merge_runs_memory<T, Threads, Items, 2>;

  /// Says that the block has sorted its tile of a segment, or made its part of a pass.
  template <class Block, class Arguments>
  PMPP_HOST_DEVICE static void arrive(Block& block, const Arguments& a, const tile_part& p) {
    block.sync();
    if (block.thread() > 0) return;
    simt::fence();
    unsigned* const arrived = a.state + p.segment.begin / a.cut.window;
    const unsigned last = sorted_tiles(a, p) * static_cast<unsigned>(p.passes + 1) - 1;
    if (simt::atomic_add(arrived, 1u) == last) simt::store(arrived, 0u);
  }
  /// Merges one tile, when all have arrived that had to do with the passes before `pass`.
  template <class Block, class Arguments>
  PMPP_HOST_DEVICE static void merge(Block& block, shared& memory, const Arguments& a, const tile_part& p, int pass) {
    const segment_place& s = p.segment;
    const unsigned* const arrived = a.state + s.begin / a.cut.window;
    if (block.thread() == 0) {
      while (simt::load(arrived) < sorted_tiles(a, p) * static_cast<unsigned>(pass + 1)) block.spin();
      simt::fence();
    }
    block.sync();
    const int left = p.passes - pass, unit = static_cast<int>((p.from - s.begin) / a.cut.tile);
    if (unit < a.cut.tiles_of(s, left, tile))
      a.make_pass(left, [&](const auto& from, const auto& to) {
        merge_tile(block, memory, a.cut.tile_of(s, left, unit, tile), from, to, a.comp);
      });
    arrive(block, a, p);
  }

private:
  template <class Arguments>
  PMPP_HOST_DEVICE static unsigned sorted_tiles(const Arguments& a, const tile_part& p) {
    return static_cast<unsigned>(ceil_div(p.segment.end - p.segment.begin, a.cut.tile));
  }

  template <class Block, class From, class To, class Comp>
  PMPP_HOST_DEVICE static void merge_tile(Block& block, shared& memory, const merged_tile& t, const From& from,
                                          const To& to, const Comp& comp) {
    const auto runs = runs_of<2>(from, t);
    for (int w = block.warp(); w < 2; w += block.warps())
      block::cut_two(block, runs, t.group, w == 0 ? t.begin : t.end, comp, w == 0 ? memory.begin : memory.end);
    block.sync();
    block::merge_runs(block, memory, runs, t.group, static_cast<int>(t.end - t.begin), to + t.segment.begin,
                      runs.first_of(t.group) + t.begin, comp);
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
