// SPDX-License-Identifier: Apache-2.0
//
// How a block merges two or four sorted runs: one tile of the result.
//
//   1. The places where the tile begins and ends in each run come from elsewhere (`cut` of two runs: by a warp;
//      `cut_four`: by four lanes).
//   2. The parts of the runs go to shared memory, side by side.
//   3. Each thread finds the co-rank of its first element there and merges `Items` elements into registers. Of four runs
//      neighbours merge in pairs first, half of the threads each pair, and all threads merge the two results.
//   4. Warps pass their results through shared memory and write whole rows.
//
// Compared with rings (block/merge.hpp), which the tiles of a long stretch pass through, a block needs a third of the
// shared memory, so that three times as many threads hide each other's waiting. Stable; asks comp only about elements.
// (PMPP ch. 12 and 13; Varman et al., Merging multiple lists on hierarchical-memory multiprocessors, 1991, for the cut.)
#pragma once

#include <cstdint>

#include <pmpp/block/merge.hpp>
#include <pmpp/block/sort.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// Sorted runs of `run` elements, the last one shorter, `Ways` of which become one.
template <int Ways, class In>
struct sorted_runs {
  In in;
  std::int64_t count, run;

  PMPP_HOST_DEVICE std::int64_t first_of(std::int64_t group) const { return group * Ways * run; }
  PMPP_HOST_DEVICE std::int64_t count_of(std::int64_t group) const {
    return larger(std::int64_t(0), smaller(Ways * run, count - first_of(group)));
  }
  /// Elements of run q of a group.
  PMPP_HOST_DEVICE std::int64_t length(std::int64_t group, int q) const {
    return larger(std::int64_t(0), smaller(run, count_of(group) - q * run));
  }
};

/// Where parts of a group's result begin in its runs.
template <int Ways>
struct run_cut {
  std::int64_t place[Ways];
};

/// Finds how many of the first `diagonal` elements of the result are of which of two runs. The lanes of a warp call it.
template <class Block, class In, class Comp>
PMPP_HOST_DEVICE void cut_two(Block& block, const sorted_runs<2, In>& runs, std::int64_t group, std::int64_t diagonal,
                              const Comp& comp, run_cut<2>& cut) {
  const In a = runs.in + runs.first_of(group);
  const std::int64_t i =
      warp_co_rank(block, diagonal, a, runs.length(group, 0), a + runs.run, runs.length(group, 1), comp);
  if (block.lane() == 0) {
    cut.place[0] = i;
    cut.place[1] = diagonal - i;
  }
}

/// The same for four runs: four neighbouring lanes call it, one for each run, together with all others of their warp;
/// each gets the place in its run.
///
/// The middle elements of what is left of the runs are compared. Let h be the number of elements in front of them. If no
/// more than h elements are wanted, the largest middle is none of them; otherwise the smallest one is. Either way half of
/// a run is settled. Index: counts the elements of four runs.
template <class T, class Index, class Block, class In, class Comp>
PMPP_HOST_DEVICE Index cut_four(Block& block, const sorted_runs<4, In>& runs, std::int64_t group, std::int64_t diagonal,
                                const Comp& comp) {
  const int q = block.thread() % 4;
  const In mine = runs.in + (runs.first_of(group) + q * runs.run);
  Index low = 0, left = static_cast<Index>(runs.length(group, q)), wanted = static_cast<Index>(diagonal);
  T middle{};
  if (left > 0) middle = element_as<T>(value_of<In>(mine[left / 2]));
  while (block.any(left > 0)) {
    const Index half = left / 2;
    Index before = half + block.shuffle_xor(half, 1);
    before += block.shuffle_xor(before, 2);
    const bool upper = wanted <= before;
    // Who has the largest or the smallest middle: between neighbours, then between the winners.
    T best = middle;
    int winner = left > 0 ? q : -1;
    for (int bit = 1; bit <= 2; bit *= 2) {
      const T other = block.shuffle_xor(best, bit);
      const int other_winner = block.shuffle_xor(winner, bit);
      bool swap = winner < 0;
      if (winner >= 0 && other_winner >= 0) {
        const bool later = winner > other_winner;  // equals are ordered by run
        const bool in_order = later ? !comp(best, other) : !comp(other, best);
        swap = (in_order == later) != upper;
      }
      if (swap) {
        best = other;
        winner = other_winner;
      }
    }
    const Index settled = block.shuffle(half, (block.lane() & ~3) + (winner < 0 ? 0 : winner)) + 1;
    if (!upper && winner >= 0) wanted -= settled;
    if (winner == q) {
      if (!upper) low += half + 1;
      left = upper ? half : left - half - 1;
      if (left > 0) middle = element_as<T>(value_of<In>(mine[low + left / 2]));
    }
  }
  return low;
}

template <class T, int Threads, int Items, int Ways>
struct merge_runs_memory {
  using element = T;
  static constexpr int threads = Threads, items = Items, ways = Ways;
  using places = sort_memory<T, Threads, Items>;
  /// Elements of a tile. Of four runs a thread fewer: no thread deals with both pairs.
  static constexpr int tile = (Threads - (Ways == 4 ? 1 : 0)) * Items;

  places of_tile;
  run_cut<Ways> begin, end;
};

/// Merges the part of a group between memory.begin and memory.end, `count` elements, to out[first] and the following. All
/// threads of the block call it, after a barrier.
template <class Block, class Memory, class In, class Out, class Comp>
PMPP_HOST_DEVICE void merge_runs(Block& block, Memory& memory, const sorted_runs<Memory::ways, In>& runs,
                                 std::int64_t group, int count, const Out& out, std::int64_t first, const Comp& comp) {
  using T = typename Memory::element;
  using places = typename Memory::places;
  constexpr int items = Memory::items, ways = Memory::ways;
  T* const slots = memory.of_tile.slots();
  // Run q has the places from border[q] on. Seen from from[q], its elements have the same places.
  int border[ways + 1];
  In from[ways];
  const In group_in = runs.in + runs.first_of(group);
  border[0] = 0;
  for (int q = 0; q < ways; ++q) {
    from[q] = group_in + (memory.begin.place[q] + q * runs.run - border[q]);
    // Under a comparator that contradicts itself the cuts may not be in order.
    const std::int64_t length = larger(std::int64_t(0), memory.end.place[q] - memory.begin.place[q]);
    border[q + 1] = border[q] + static_cast<int>(smaller(length, std::int64_t(count - border[q])));
  }
  // The second pair begins with a thread of its own.
  const int gap = ways == 4 ? (items - border[ways / 2] % items) % items : 0;
  const int threads = block.threads(), thread = block.thread();
  T x[items]{};
  for (int k = 0; k < items; ++k) {
    const int i = k * threads + thread;
    In in = from[0];
    for (int q = 1; q < ways; ++q)
      if (i >= border[q]) in = from[q];
    if (i < count) x[k] = element_as<T>(value_of<In>(in[i]));
  }
  for (int k = 0; k < items; ++k) {
    const int i = k * threads + thread;
    if (i < count) slots[places::slot(i + (ways == 4 && i >= border[ways / 2] ? gap : 0))] = x[k];
  }
  block.sync();
  T* const own = slots + places::slot(thread * items);
  int middle = border[1], second = middle, end = count;
  if constexpr (ways == 4) {
    const int to_second = border[2] + gap;
    end = count + gap;
    const bool is_first = thread * items < to_second;
    if (thread * items < end) {
      if (is_first)
        detail::merge_places<places>(slots, 0, border[1], border[1], border[2], thread * items, comp, x, true);
      else
        detail::merge_places<places>(slots, to_second, border[3] + gap, border[3] + gap, end,
                                     thread * items - to_second, comp, x, true);
    }
    block.sync();
    if (thread * items < end)
      for (int k = 0; k < items; ++k) own[k] = x[k];
    block.sync();
    middle = border[2];
    second = to_second;
  }
  if (thread * items < count)
    detail::merge_places<places>(slots, 0, middle, second, end, thread * items, comp, x, true);
  block.sync();
  if (thread * items < count)
    for (int k = 0; k < items; ++k) own[k] = x[k];
  block.sync_warp();
  constexpr int of_warp = simt::warp_size * items;
  const int row = block.warp() * of_warp + block.lane();
  for (int k = 0; k < items; ++k) {
    const int i = row + k * simt::warp_size;
    if (i < count) assign(out, first + i, slots[places::slot(i)]);
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::block
