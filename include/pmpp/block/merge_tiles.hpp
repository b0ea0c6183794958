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
//   5. Values that are not merged along with their keys follow: of each key it is known where it lay, and the tile's values are two
//      runs of memory, so that lanes with neighbouring results read neighbouring values. The last cache is asked for them beforehand.
//
// An odd number of elements a thread puts the accesses of neighbours into different banks. While a block waits, others on
// its multiprocessor merge. (PMPP ch. 12; Odeh, Green, Mwassi, Shmueli and Birk, Merge Path, 2012.)
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/block/merge_runs.hpp>
#include <pmpp/block/sort.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// Values in memory, which go where their keys do.
template <class V, class Out>
struct following_values {
  static constexpr bool exist = true;
  const V *a, *b;
  Out out;
};
struct no_values {
  static constexpr bool exist = false;
};

/// Two sorted inputs and where their merge goes.
template <class A, class B, class Out, class ValuesT = no_values>
struct merge_task {
  using Values = ValuesT;
  staged_input<A> a;
  staged_input<B> b;
  Out out;
  Values values;

  PMPP_HOST_DEVICE std::int64_t count() const { return a.count + b.count; }
};

/// Where the results of a tile come from.
template <int Tile>
struct merge_origins {
  alignas(16) std::uint16_t origin[Tile];
};
template <>
struct merge_origins<0> {};

/// Shared memory of a block that merges elements of type T, `Items` a thread. Shrinks: a block of fewer threads than Threads,
/// which gets cuts, may have the beginning of it alone. Values: whether some follow.
template <class T, int Threads, int Items, bool Shrinks = false, bool Values = false>
struct merge_tile_memory : merge_origins<Values ? Threads * Items : 0> {
  using element = T;
  static constexpr int threads = Threads, items = Items, tile = Threads * Items;
  static constexpr bool shrinks = Shrinks;
  /// A cut is at most the co-rank, and less than this many elements (1 KB) in front of it: every step of the search that
  /// this saves would be a read from memory, and the threads search in shared memory anyway.
  static constexpr int grain = 1 << floor_log2(max(1, 1024 / int(sizeof(T))));
  using places = sort_memory<T, Threads, Items, 4 * (max(1, access<T*>::items) - 1) + 2 * (grain - 1)>;

  places of_tile;
  std::int64_t cut[2];  ///< of the tile, and of what follows it

  static constexpr std::size_t bytes_for(int block_threads) {
    return (Values ? round_up(sizeof(std::uint16_t) * tile, max(std::size_t(16), alignof(places))) : 0) +
           places::bytes_for(block_threads);
  }
};

/// Rows of a warp of values, from result `row` on, to out[first + row] and the following. Origins from end_of_a on are of b; a and b:
/// what element would lie at origin 0. Under a comparator that contradicts itself an origin may lie behind b's last element.
template <int Items, class Block, class V, class Out>
PMPP_HOST_DEVICE void write_following(Block& block, const following_values<V, Out>& values, const std::uint16_t* origin,
                                      int end_of_a, std::int64_t a, std::int64_t b, std::int64_t last_b, int row,
                                      int count, std::int64_t first) {
  constexpr int lanes = simt::warp_size, batch = max(1, min(8, 64 / int(sizeof(V))));
  for (int k = 0; k < Items; k += batch) {
    V value[batch]{};
    const auto each = [&](auto f) {
      unrolled<batch>([&](int r) {
        if (const int i = row + (k + r) * lanes + block.lane(); k + r < Items && i < count) f(r, i);
      });
    };
    each([&](int r, int i) {
      const int at = origin[i];
      value[r] = *(at < end_of_a ? values.a + (a + at) : values.b + min(b + at, last_b));
    });
    each([&](int r, int i) { values.out[first + i] = static_cast<value_of<Out>>(value[r]); });
  }
}

/// Writes the elements [begin, end) of the merge of `task`, at most Items for each thread of the block.
///
/// \param cuts  where the tile begins and ends in a, see grain; null: find out, in up to 2^30 elements. All threads call.
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
      const int cut = rough_co_rank<Memory::grain>(block, static_cast<int>(w == 0 ? begin : end), a.in,
                                                   static_cast<int>(a.count), b.in, static_cast<int>(b.count), comp);
      if (block.lane() == 0) memory.cut[w] = cut;
    }
    block.sync();
  }
  const std::int64_t first_a = cuts == nullptr ? memory.cut[0] : cuts[0];
  const std::int64_t least_a = cuts == nullptr ? memory.cut[1] : cuts[1];
  // Each part is as long as it may be. Under a comparator that contradicts itself the cuts may not be in order.
  constexpr std::int64_t slack = Memory::grain - 1;
  const std::int64_t most = (Memory::shrinks ? block.threads() * items : Memory::tile) + 2 * slack;
  const std::int64_t first_b = begin - min(first_a + slack, min(begin, a.count));
  const std::int64_t end_a = min(least_a + slack, min(end, a.count)), end_b = end - least_a;
  const auto count_a = static_cast<int>(min(max(std::int64_t(0), end_a - first_a), most));
  const auto count_b = static_cast<int>(min(max(std::int64_t(0), end_b - first_b), most - count_a));
  const int count = static_cast<int>(end - begin), skipped = static_cast<int>(begin - first_a - first_b);
  T* const slots = memory.of_tile.slots();
  // The last vector of a may bring neighbours along, which must not lie on elements of b.
  const int slot_a = place_of_part(a, first_a, 0), end_of_a = round_up(slot_a + count_a, access<T*>::items);
  const int slot_b = place_of_part(b, first_b, end_of_a);
  if constexpr (Task::Values::exist) {
    static_assert(sizeof(memory.of_tile) / sizeof(T) < 65536, "pmpp: places of a tile have 16 bits");
    if (block.thread() == 0) {
      if (count_a > 0) simt::prefetch_bytes(task.values.a + first_a, std::size_t(count_a) * sizeof(*task.values.a));
      if (count_b > 0) simt::prefetch_bytes(task.values.b + first_b, std::size_t(count_b) * sizeof(*task.values.b));
    }
  }
  copy_part(block, a, first_a, count_a, slots, slot_a);
  copy_part(block, b, first_b, count_b, slots, slot_b);
  simt::copy_async_commit();
  simt::copy_async_wait<0>();
  block.sync();
  const int from = block.thread() * items;
  T x[items]{};
  const auto note = [&](int k, int place) {
    if constexpr (Task::Values::exist) memory.origin[from + k] = static_cast<std::uint16_t>(place);
  };
  detail::merge_places<places>(block, slots, slot_a, slot_a + count_a, slot_b, slot_b + count_b,
                               min(min(from, count) + skipped, count_a + count_b), comp, x, note);
  block.sync();
  for (int k = 0; k < items; ++k) slots[from + k] = x[k];  // past the end lies nothing that anybody asks about
  block.sync_warp();
  const int row = block.warp() * simt::warp_size * items;
  detail::write_rows<places, items>(block, slots, row, count, task.out, begin);
  if constexpr (Task::Values::exist)
    block::write_following<items>(block, task.values, memory.origin, slot_a + count_a, first_a - slot_a,
                                  first_b - slot_b, b.count - 1, row, count, begin);
}

}  // namespace pmpp::inline PMPP_BACKEND::block
