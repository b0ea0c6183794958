// SPDX-License-Identifier: Apache-2.0
//
// How a block merges two sequences: one tile of the result.
//
//   1. Where the tile begins and ends in both inputs is known to some hundred bytes, or two warps find it by probing 32
//      places at a time.
//   2. The parts of the inputs that the tile may need go to shared memory side by side, as asynchronous vectors. What
//      neighbours also read comes from the last cache.
//   3. Each thread finds the co-rank of its first element there and merges `Items` elements into registers.
//   4. Warps pass their results through shared memory and write whole rows.
//
// An odd number of elements a thread puts the accesses of neighbours into different banks. While a block waits, others on
// its multiprocessor merge. (PMPP ch. 12; Odeh, Green, Mwassi, Shmueli and Birk, Merge Path, 2012.)
#pragma once

#include <cstdint>

#include <pmpp/block/merge_runs.hpp>
#include <pmpp/block/sort.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// Two sorted inputs and where their merge goes.
template <class A, class B, class Out>
struct merge_task {
  staged_input<A> a;
  staged_input<B> b;
  Out out;

  PMPP_HOST_DEVICE std::int64_t count() const { return a.count + b.count; }
};

/// Shared memory of a block that merges elements of type T, `Items` a thread. Shrinks: a block of fewer threads than Threads,
/// which gets cuts, may have the beginning of it alone.
template <class T, int Threads, int Items, bool Shrinks = false>
struct merge_tile_memory {
  using element = T;
  static constexpr int threads = Threads, items = Items, tile = Threads * Items;
  static constexpr bool shrinks = Shrinks;
  /// A cut is at most the co-rank, and less than this many elements (1 KB) in front of it: every step of the search that
  /// this saves would be a read from memory, and the threads search in shared memory anyway.
  static constexpr int grain = 1 << floor_log2(max(1, 1024 / int(sizeof(T))));
  using places = sort_memory<T, Threads, Items, 4 * (max(1, access<T*>::items) - 1) + 2 * (grain - 1)>;

  places of_tile;
  std::int64_t cut[2];  ///< of the tile, and of what follows it
};

/// Writes the elements [begin, end) of the merge of `task`, at most Items for each thread of the block.
///
/// \param cuts  where the tile begins and ends in a, see grain; null: find out. All threads of the block call it.
template <class Block, class Memory, class Task, class Comp>
PMPP_HOST_DEVICE void merge_tile(Block& block, Memory& memory, const Task& task, std::int64_t begin, std::int64_t end,
                                 const std::int64_t* cuts, const Comp& comp) {
  using places = typename Memory::places;
  using T = typename Memory::element;
  constexpr int items = Memory::items;
  const auto& a = task.a;
  const auto& b = task.b;
  if (cuts == nullptr) {
    for (int w = block.warp(); w < 2; w += block.warps()) {
      const std::int64_t cut =
          rough_co_rank<Memory::grain>(block, w == 0 ? begin : end, a.in, a.count, b.in, b.count, comp);
      if (block.lane() == 0) memory.cut[w] = cut;
    }
    block.sync();
    cuts = memory.cut;
  }
  // Each part is as long as it may be. Under a comparator that contradicts itself the cuts may not be in order.
  constexpr std::int64_t slack = Memory::grain - 1;
  const std::int64_t most = (Memory::shrinks ? block.threads() * items : Memory::tile) + 2 * slack;
  const std::int64_t first_a = cuts[0], first_b = begin - min(first_a + slack, min(begin, a.count));
  const std::int64_t end_a = min(cuts[1] + slack, min(end, a.count)), end_b = end - cuts[1];
  const auto count_a = static_cast<int>(min(max(std::int64_t(0), end_a - first_a), most));
  const auto count_b = static_cast<int>(min(max(std::int64_t(0), end_b - first_b), most - count_a));
  const int count = static_cast<int>(end - begin), skipped = static_cast<int>(begin - first_a - first_b);
  T* const slots = memory.of_tile.slots();
  // The last vector of a may bring neighbours along, which must not lie on elements of b.
  const int slot_a = place_of_part(a, first_a, 0), end_of_a = round_up(slot_a + count_a, access<T*>::items);
  const int slot_b = place_of_part(b, first_b, end_of_a);
  copy_part(block, a, first_a, count_a, slots, slot_a);
  copy_part(block, b, first_b, count_b, slots, slot_b);
  simt::copy_async_commit();
  simt::copy_async_wait<0>();
  block.sync();
  const int from = block.thread() * items;
  T x[items]{};
  detail::merge_places<places>(block, slots, slot_a, slot_a + count_a, slot_b, slot_b + count_b,
                               min(min(from, count) + skipped, count_a + count_b), comp, x);
  block.sync();
  for (int k = 0; k < items; ++k) slots[from + k] = x[k];  // past the end lies nothing that anybody asks about
  block.sync_warp();
  detail::write_rows<places, items>(block, slots, block.warp() * simt::warp_size * items, count, task.out, begin);
}

}  // namespace pmpp::inline PMPP_BACKEND::block
