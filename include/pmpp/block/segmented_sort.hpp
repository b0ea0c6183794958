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
#include <cstring>

#include <pmpp/block/scan.hpp>
#include <pmpp/block/sort.hpp>
#include <pmpp/core/co_rank.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// The segments around a place: where the last one up to it begins, and how far from the end of the tile the first one
/// behind it begins.
struct segment_reach {
  int start, behind;
};
struct farther {
  PMPP_HOST_DEVICE segment_reach operator()(const segment_reach& x, const segment_reach& y) const {
    return {larger(x.start, y.start), larger(x.behind, y.behind)};
  }
};

template <class T, int Threads, int Items>
struct segmented_sort_memory : sort_memory<T, Threads, Items> {
  static constexpr int tile = Threads * Items;

  alignas(4) unsigned char head[tile];  ///< 1 where a segment begins; place 0 need not be marked
  int start_of[Threads];                ///< of the segment that a thread's last element belongs to
  int end_of[Threads];                  ///< the first head from a thread's first element on
  segment_reach of_warp[Threads / simt::warp_size];
  int longest;  ///< for the caller's use: elements of the longest segment
};

namespace detail {

/// Bit k: a segment begins at element k of thread `thread`.
template <class Memory>
PMPP_HOST_DEVICE unsigned heads_of(const Memory& memory, int thread) {
  constexpr int items = Memory::items;
  const unsigned char* const head = memory.head + thread * items;
  unsigned heads = 0;
  if constexpr (items % 4 == 0) {
    for (int k = 0; k < items; k += 4) {
      unsigned four = 0;
      memcpy(&four, head + k, 4);
      heads |= four * 0x10204080u >> 28 << k;  // the lowest bits of four bytes, side by side
    }
  } else {
    for (int k = 0; k < items; ++k) heads |= unsigned(head[k]) << k;
  }
  return heads;
}

/// Fills start_of and end_of. Ends with a barrier.
template <class Block, class Memory>
PMPP_HOST_DEVICE void find_segments(Block& block, Memory& memory, int count) {
  constexpr int items = Memory::items, threads = Memory::threads;
  const int mirror = threads - 1 - block.thread();
  const unsigned own = heads_of(memory, block.thread()), mirrored = heads_of(memory, mirror);
  segment_reach reach{0, Memory::tile - count};
  if (own != 0) reach.start = block.thread() * items + 31 - simt::leading_zeros(own);
  if (mirrored != 0) reach.behind = Memory::tile - (mirror * items + simt::trailing_zeros(mirrored));
  reach = warp_inclusive_scan(block, reach, farther{});
  if (block.lane() == simt::warp_size - 1) memory.of_warp[block.warp()] = reach;
  block.sync();
  for (int w = 0; w < block.warp(); ++w) reach = farther{}(reach, memory.of_warp[w]);
  memory.start_of[block.thread()] = reach.start;
  memory.end_of[mirror] = Memory::tile - reach.behind;
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
  const int from = block.thread() * items, have = smaller(items, count - from);  // have may be negative
  T* const own = slots + Memory::slot(from);
  const bool one = longest >= count;
  unsigned heads = 0;
  if (!one) {
    heads = detail::heads_of(memory, block.thread());
    detail::find_segments(block, memory, count);
  }
  T x[items]{};
  if (have == items) {
    for (int k = 0; k < items; ++k) x[k] = own[k];
    detail::sort_segments_in_registers(x, heads, longest, comp);
    for (int k = 0; k < items; ++k) own[k] = x[k];
  } else if (have > 0) {
    detail::insertion_sort_segments(own, have, heads, comp);
  }
  bool last = false;
  for (int run = items; run < count && !last; run *= 2) {
    last = run > items && run / 2 >= longest;
    if (last) run /= 2;  // all borders that are left, between groups of two such runs
    const int first = last ? (from + run) / (2 * run) * (2 * run) - run : from / (2 * run) * (2 * run);
    const int border = first + run;
    const bool in_warp = !last && 2 * run <= of_warp;
    int low = first, high = border;
    if (border < count && border > 0) {
      high = smaller(smaller(first + 2 * run, count), one ? count : memory.end_of[border / items]);
      if (!one) low = larger(larger(first, 0), memory.start_of[border / items - 1]);
    }
    const bool merges = high > border && from < high && from + items > low;
    if (!in_warp)
      block.sync();
    else if (block.any(merges))
      block.sync_warp();
    else
      continue;
    if (merges) {
      const detail::sort_window<Memory> of{slots, 0};
      const int skipped = larger(0, low - from);
      int a = low + co_rank(from + skipped - low, detail::sort_window<Memory>{slots, low}, border - low,
                            detail::sort_window<Memory>{slots, border}, high - border, comp);
      int b = border + from + skipped - a;
      T next_a = of[smaller(a, border - 1)], next_b = of[smaller(b, high - 1)];
      for (int k = 0; k < items; ++k) {
        if (from + k < low || from + k >= high) continue;
        const bool take_b = a >= border || (b < high && comp(next_b, next_a));
        x[k] = take_b ? next_b : next_a;
        const int next = take_b ? smaller(++b, high - 1) : smaller(++a, border - 1);
        const T loaded = of[next];
        (take_b ? next_b : next_a) = loaded;
      }
    }
    if (in_warp)
      block.sync_warp();
    else
      block.sync();
    if (merges)
      for (int k = 0; k < items; ++k)
        if (from + k >= low && from + k < high) own[k] = x[k];
  }
  block.sync();
}

}  // namespace pmpp::inline PMPP_BACKEND::block
