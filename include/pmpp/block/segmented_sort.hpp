// SPDX-License-Identifier: Apache-2.0
//
// How a block sorts a tile of many segments, each by itself.
//
// As block/sort.hpp, with two differences. Neighbours of two segments never swap places. And where two runs merge only
// one segment can have elements in both: the one that the border between the runs cuts; everything else stays:
//
//        run            | run                           places low ... high - 1 merge
//        a a b b b c c c|c c c c d d e e
//                  ^low          ^high
//
// So the work of a round is that of the segments cut there, whatever the sizes. Rounds in which the runs of a warp merge
// take no barrier, and are left out where no border cuts a segment. Where runs have become as long as the longest
// segment, one more round deals with all borders that are left: no segment is cut by two of them. (PMPP ch. 13; Baxter,
// moderngpu, 2013.)
#pragma once

#include <cstdint>

#include <pmpp/block/scan.hpp>
#include <pmpp/block/sort.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// The segments around a place: where the last one up to it begins, and how far from the end of the tile the first one
/// after it begins.
struct segment_reach {
  int start, after;
};
struct farther {
  PMPP_HOST_DEVICE segment_reach operator()(const segment_reach& x, const segment_reach& y) const {
    return {max(x.start, y.start), max(x.after, y.after)};
  }
};

template <class T, int Threads, int Items>
struct segmented_sort_memory : sort_memory<T, Threads, Items> {
  static constexpr int tile = Threads * Items;

  unsigned head[tile / 32 + 1];  ///< a bit for each place: a segment begins there; place 0 need not be marked
  int start_of[Threads];         ///< of the segment that a thread's last element belongs to
  int end_of[Threads];           ///< the first head from a thread's first element on
  // The compiler reads two at once: apart from end_of, or it reads the last of those too, while that is written.
  alignas(16) segment_reach of_warp[Threads / simt::warp_size];
  int longest;  ///< for the caller's use: elements of the longest segment
};

namespace detail {

/// Bit k: a segment begins at element k of thread `thread`.
template <class Memory>
PMPP_HOST_DEVICE unsigned heads_of(const Memory& memory, int thread) {
  const int first = thread * Memory::items;
  const std::uint64_t two = std::uint64_t(memory.head[first / 32 + 1]) << 32 | memory.head[first / 32];
  return static_cast<unsigned>(two >> first % 32) & ((1u << Memory::items) - 1);
}

/// Fills start_of and end_of. Ends with a barrier.
template <class Block, class Memory>
PMPP_HOST_DEVICE void find_segments(Block& block, Memory& memory, int count) {
  constexpr int items = Memory::items, threads = Memory::threads;
  const int mirror = threads - 1 - block.thread();
  const unsigned own = detail::heads_of(memory, block.thread()), mirrored = detail::heads_of(memory, mirror);
  segment_reach reach{0, Memory::tile - count};
  if (own != 0) reach.start = block.thread() * items + 31 - simt::leading_zeros(own);
  if (mirrored != 0) reach.after = Memory::tile - (mirror * items + simt::trailing_zeros(mirrored));
  reach = warp_inclusive_scan(block, reach, farther{});
  if (block.lane() == simt::warp_size - 1) memory.of_warp[block.warp()] = reach;
  block.sync();
  for (int w = 0; w < block.warp(); ++w) reach = farther{}(reach, memory.of_warp[w]);
  memory.start_of[block.thread()] = reach.start;
  memory.end_of[mirror] = Memory::tile - reach.after;
  block.sync();
}

/// Odd-even transposition, as sort_in_registers; nothing passes the beginning of a segment. As many rounds as the longest
/// segment has elements are enough.
template <class T, int Items, class Comp>
PMPP_HOST_DEVICE void sort_segments_in_registers(T (&x)[Items], unsigned heads, int longest, const Comp& comp) {
  for (int rounds = 0; rounds < Items && rounds < longest; rounds += 2)
    for (int odd = 0; odd < 2; ++odd)
      for (int k = odd; k + 1 < Items; k += 2) {
        const T low = x[k], high = x[k + 1];
        const bool swap = static_cast<bool>(comp(high, low)) & ((heads >> (k + 1) & 1) == 0);
        x[k] = swap ? high : low;
        x[k + 1] = swap ? low : high;
      }
}
template <class T, class Comp>
PMPP_HOST_DEVICE void insertion_sort_segments(T* x, int count, unsigned heads, const Comp& comp) {
  for (int i = 1; i < count; ++i) {
    const T inserted = x[i];
    int k = i;
    for (; k > 0 && (heads >> k & 1) == 0 && comp(inserted, x[k - 1]); --k) x[k] = x[k - 1];
    x[k] = inserted;
  }
}

}  // namespace detail

/// Sorts the segments among the first `count` elements in memory.slots(); element i lies in memory.slot(i). Longest: no
/// segment has more elements; if that is `count` they are one segment, and memory.head is not looked at. All threads of
/// the block call it, after a barrier; it ends with one.
template <class Block, class Memory, class Comp>
PMPP_HOST_DEVICE void segmented_sort(Block& block, Memory& memory, int count, int longest, const Comp& comp) {
  using T = typename Memory::element;
  constexpr int items = Memory::items, of_warp = items * simt::warp_size;
  T* const slots = memory.slots();
  const int from = block.thread() * items, have = min(items, count - from);  // have may be negative
  T* const own = slots + Memory::slot(from);
  const bool one = longest >= count;
  unsigned heads = 0;
  if (!one) {
    heads = detail::heads_of(memory, block.thread());
    detail::find_segments(block, memory, count);
  }
  const bool cut = block.any(heads >> 1 != 0);
  T x[items]{};
  if (have == items) {
    for (int k = 0; k < items; ++k) x[k] = own[k];
    if (cut)
      detail::sort_segments_in_registers(x, heads, longest, comp);
    else
      detail::sort_in_registers(x, comp);
    for (int k = 0; k < items; ++k) own[k] = x[k];
  } else if (have > 0) {
    detail::insertion_sort_segments(own, have, heads, comp);
  }
  bool last = false;
  for (int half = 1; half * items < count && !last; half *= 2) {  // threads whose elements a run has
    last = half > 1 && half / 2 * items >= longest;
    if (last) half /= 2;  // all borders that are left, between groups of two such runs
    const int group = ~(2 * half - 1), first = last ? ((block.thread() + half) & group) - half : block.thread() & group;
    const int begin = first * items, run = half * items, border = begin + run;
    const bool in_warp = !last && 2 * run <= of_warp;
    int low = begin, high = border;
    if (border < count && border > 0) {
      high = min(min(border + run, count), one ? count : memory.end_of[first + half]);
      if (!one) low = max(max(begin, 0), memory.start_of[first + half - 1]);
    }
    const bool merges = high > border && from < high && from + items > low;
    const bool warp_merges = block.any(merges);
    if (!in_warp)
      block.sync();
    else if (warp_merges)
      block.sync_warp();
    else
      continue;
    const int to = max(from, low);
    if (warp_merges)
      detail::merge_places<Memory>(block, slots, merges ? low : from, merges ? border : from, merges ? border : from,
                                   merges ? high : from + 1, merges ? to - low : 0, comp, x);
    if (in_warp)
      block.sync_warp();
    else
      block.sync();
    if (merges)
      for (int k = 0; k < items; ++k)
        if (to + k < min(from + items, high)) slots[Memory::slot(to + k)] = x[k];
  }
  block.sync();
}

}  // namespace pmpp::inline PMPP_BACKEND::block
