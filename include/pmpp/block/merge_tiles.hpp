// SPDX-License-Identifier: Apache-2.0
//
// How a block merges two sequences: a stretch of the result, tile after tile.
//
//   1. Two warps find where the stretch begins and ends in both inputs: the co-ranks, by probing 32 places at a time.
//      Then each thread finds where one of the tiles begins, between those.
//   2. The parts of a tile go to shared memory side by side, as asynchronous vectors; those of the next tile are on their
//      way while this one is merged. Memory is read once.
//   3. Each thread finds the co-rank of its first element there and merges `Items` elements into registers.
//   4. Warps pass their results through shared memory and write whole rows.
//
// An odd number of elements a thread puts the accesses of neighbours into different banks. Three barriers a tile. (PMPP
// ch. 12; Odeh, Green, Mwassi, Shmueli and Birk, Merge Path, 2012.)
#pragma once

#include <cstdint>

#include <pmpp/block/merge_runs.hpp>
#include <pmpp/block/sort.hpp>
#include <pmpp/core/co_rank.hpp>
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

/// Shared memory of a block that merges elements of type T, `Items` a thread and tile, up to `Tiles` tiles.
template <class T, int Threads, int Items, int Tiles>
struct merge_tiles_memory {
  using element = T;
  static constexpr int threads = Threads, items = Items, tile = Threads * Items, tiles = Tiles;
  using places = merge_places_of<T, Threads, Items, 2>;

  places of_tile[2];
  std::int64_t cut[Tiles + 1];  ///< elements of a in front of each tile, and of what follows the last
};

namespace detail {

/// Where the parts of a tile lie.
struct tile_parts {
  std::int64_t first_a, first_b;
  int count_a, count_b;  ///< elements
  int slot_a, slot_b;    ///< of the first ones, in shared memory
};

}  // namespace detail

/// Writes the elements [begin, end) of the merge of `task`, at most Memory::tiles tiles. All threads of the block call it,
/// once in the life of `memory`.
template <class Block, class Memory, class Task, class Comp>
PMPP_HOST_DEVICE void merge_tiles(Block& block, Memory& memory, const Task& task, std::int64_t begin, std::int64_t end,
                                  const Comp& comp) {
  using places = typename Memory::places;
  using T = typename Memory::element;
  constexpr int items = Memory::items, tile = Memory::tile, of_warp = simt::warp_size * items;
  if (begin >= end) return;
  const auto& a = task.a;
  const auto& b = task.b;
  const int tiles = static_cast<int>(ceil_div(end - begin, std::int64_t(tile)));
  for (int w = block.warp(); w < 2; w += block.warps()) {
    const std::int64_t cut = warp_co_rank(block, w == 0 ? begin : end, a.in, a.count, b.in, b.count, comp);
    if (block.lane() == 0) memory.cut[w == 0 ? 0 : tiles] = cut;
  }
  block.sync();
  {
    const std::int64_t first_a = memory.cut[0], first_b = begin - first_a;
    const auto count_a = static_cast<int>(memory.cut[tiles] - first_a),
               count_b = static_cast<int>(end - begin - count_a);
    for (int t = 1 + block.thread(); t < tiles; t += block.threads())
      memory.cut[t] = first_a + co_rank(t * tile, a.in + first_a, count_a, b.in + first_b, count_b, comp);
  }
  block.sync();
  const auto parts_of = [&](int t) {
    const std::int64_t first = begin + std::int64_t(t) * tile, first_a = memory.cut[t];
    const int count = static_cast<int>(smaller(end - first, std::int64_t(tile)));
    // Under a comparator that contradicts itself the cuts may not be in order.
    const auto count_a = static_cast<int>(
        smaller(larger(std::int64_t(0), memory.cut[t + 1] - first_a), smaller(std::int64_t(count), a.count - first_a)));
    const int slot_a = place_of_part(a, first_a, 0);
    return detail::tile_parts{first_a,         first - first_a, count_a,
                              count - count_a, slot_a,          place_of_part(b, first - first_a, slot_a + count_a)};
  };
  const auto load = [&](int t) {
    const detail::tile_parts p = parts_of(t);
    T* const slots = memory.of_tile[t % 2].slots();
    copy_part(block, a, p.first_a, p.count_a, slots, p.slot_a);
    copy_part(block, b, p.first_b, p.count_b, slots, p.slot_b);
    simt::copy_async_batch();
  };
  load(0);
  const int from = block.thread() * items, row = block.warp() * of_warp;
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles) {
      load(t + 1);
      simt::copy_async_wait<1>();
    } else {
      simt::copy_async_wait<0>();
    }
    block.sync();
    const detail::tile_parts p = parts_of(t);
    const int count = p.count_a + p.count_b;
    T* const slots = memory.of_tile[t % 2].slots();
    T x[items]{};
    detail::merge_places<places>(block, slots, p.slot_a, p.slot_a + p.count_a, p.slot_b, p.slot_b + p.count_b,
                                 smaller(from, count), comp, x);
    block.sync();
    for (int k = 0; k < items; ++k) slots[from + k] = x[k];  // past the end lies nothing that anybody asks about
    block.sync_warp();
    detail::write_rows<places, items>(block, slots, row, count, task.out, begin + std::int64_t(t) * tile);
    block.sync();
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::block
