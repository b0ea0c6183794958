// SPDX-License-Identifier: Apache-2.0
//
// How a block merges four sorted runs at once: what passes of a sort do, each of which then costs one trip through
// memory instead of two.
//
//        run 0 --> ring \                                          Two merges feed rings in shared memory (block/ring.hpp),
//                         merge --> middle ring \                  from which a third one takes the result. The threads of
//        run 1 --> ring /                         merge --> out    a block share the work of the two: a tile in all, as much
//        run 2 --> ring \                       /                  as the third has taken.
//                         merge --> middle ring
//        run 3 --> ring /
//
// Where a block begins and ends: elements of the runs at regular distances are splitters; the result is cut in front of
// each. A splitter's rank in the other runs takes one search each, and the next splitter is one of four. Equals are
// ordered by run, so that also a thousand equal splitters cut the result at different places. A stretch between two
// splitters may be empty, and has at most 4 steps.
#pragma once

#include <cstdint>

#include <pmpp/block/ring.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

template <class T, int Threads, int Items>
struct merge_four_memory {
  using element = T;
  static constexpr int threads = Threads, items = Items, tile = Threads * Items;
  static constexpr int capacity = tile, middle_capacity = 2 * tile;
  static constexpr int alignment = larger(16, int(alignof(T)));

  // Rings of the runs, then of the two merges in the middle.
  alignas(alignment) unsigned char ring_bytes[(4 * capacity + 2 * middle_capacity) * sizeof(T)];
  alignas(alignment) unsigned char stages[Threads / simt::warp_size]
                                         [round_up(detail::stage<T, Items>::bytes_of_warp, alignment)];
  std::int64_t begin[4], end[4];  ///< of the stretch in each run
  int used[3];                    ///< of runs 0 and 2, and of the first ring in the middle, by a tile

  PMPP_HOST_DEVICE T* slots() { return reinterpret_cast<T*>(ring_bytes); }
  PMPP_HOST_DEVICE T* stage_of(int warp) { return reinterpret_cast<T*>(stages[warp]); }
};

/// Sorted runs of `run` elements, the last one shorter, four of which become one.
template <class In, class Out>
struct merge_four_task {
  staged_input<In> in;
  Out out;
  int shift;          ///< tiles begin where i + shift is a multiple of the tile
  std::int64_t run;   ///< a multiple of 16
  std::int64_t step;  ///< from one splitter of a run to its next; a multiple of 4

  /// Blocks for four runs: some find nothing to do.
  PMPP_HOST_DEVICE std::int64_t blocks_of_group() const { return step / 4 >= run ? 1 : 1 + 4 * ceil_div(run, step); }
  PMPP_HOST_DEVICE std::int64_t blocks() const { return ceil_div(in.count, 4 * run) * blocks_of_group(); }
  PMPP_HOST_DEVICE std::int64_t splitter(int q, std::int64_t k) const { return k * step + (q + 1) * (step / 4); }
  /// The first splitter of run q that is not in front of place i.
  PMPP_HOST_DEVICE std::int64_t splitter_from(int q, std::int64_t i) const {
    const std::int64_t first = splitter(q, 0);
    return i <= first ? first : first + round_up(i - first, step);
  }
};

namespace detail {

/// Four runs of a task, and who goes first.
template <class Task, class Comp>
struct four_runs {
  const Task& task;
  const Comp& comp;
  std::int64_t first, count;  ///< of the four, in the input

  PMPP_HOST_DEVICE std::int64_t length(int q) const {
    return smaller(task.run, larger(std::int64_t(0), count - q * task.run));
  }
  PMPP_HOST_DEVICE auto at(int q, std::int64_t i) const { return task.in.in[first + q * task.run + i]; }

  /// The warps find for each run how many elements precede element `place` of run `own`, between low(q) and high(q).
  template <class Block, class Low, class High>
  PMPP_HOST_DEVICE void rank(Block& block, std::int64_t (&ranks)[4], int own, std::int64_t place, Low low,
                             High high) const {
    const auto x = at(own, place);
    for (int q = block.warp(); q < 4; q += block.warps()) {
      std::int64_t r = place;
      if (q != own)
        r = warp_partition_point(block, low(q), high(q),
                                 [&](std::int64_t i) { return q < own ? !comp(x, at(q, i)) : comp(at(q, i), x); });
      if (block.lane() == 0) ranks[q] = r;
    }
  }

  /// Finds stretch `index` of the four runs; false: there is none.
  template <class Block, class Memory>
  PMPP_HOST_DEVICE bool find(Block& block, Memory& memory, std::int64_t index) const {
    int own = -1;
    if (index == 0) {
      if (block.thread() < 4) memory.begin[block.thread()] = 0;
    } else {
      own = static_cast<int>((index - 1) % 4);
      const std::int64_t place = task.splitter(own, (index - 1) / 4);
      if (place >= length(own)) return false;
      rank(
          block, memory.begin, own, place, [](int) { return std::int64_t(0); }, [&](int q) { return length(q); });
    }
    block.sync();
    const auto next = [&](int q) { return task.splitter_from(q, memory.begin[q] + (q == own ? 1 : 0)); };
    int last = -1;
    for (int q = 0; q < 4; ++q)
      if (next(q) < length(q) && (last < 0 || comp(at(q, next(q)), at(last, next(last))))) last = q;
    if (last >= 0) {
      rank(
          block, memory.end, last, next(last), [&](int q) { return memory.begin[q]; },
          [&](int q) { return smaller(length(q), next(q)); });
    } else if (block.thread() < 4) {
      memory.end[block.thread()] = length(block.thread());
    }
    block.sync();
    return true;
  }
};

/// A ring in the middle: elements that two runs have been merged to.
struct middle {
  int next = 0, count = 0;  ///< slot of the first element, number of elements
  std::int64_t left;        ///< elements still to come

  /// How many elements to add: at most `room`, and at most what the runs have there; whole threads' work, or the rest.
  PMPP_HOST_DEVICE int wanted(int items, int full, int room, int there) const {
    int most = count >= full ? 0 : smaller(room, round_up(full - count, items));
    if (most > there) most = larger(there, 0) / items * items;
    return left < most ? static_cast<int>(left) : most;
  }
  PMPP_HOST_DEVICE bool ready(int tile) const { return left == 0 || count >= tile; }
  PMPP_HOST_DEVICE void add(int n) {
    count += n;
    left -= n;
  }
  PMPP_HOST_DEVICE void take(int n) {
    next += n;
    count -= n;
  }
};

}  // namespace detail

/// Merges stretch `index` of `task`, 0 <= index < task.blocks(). All threads of the block call it, once in the life of
/// `memory`.
template <class Block, class Memory, class Task, class Comp>
PMPP_HOST_DEVICE void merge_four(Block& block, Memory& memory, const Task& task, std::int64_t index, const Comp& comp) {
  using T = typename Memory::element;
  constexpr int items = Memory::items, tile = Memory::tile, capacity = Memory::capacity,
                middle_capacity = Memory::middle_capacity;
  const std::int64_t first = index / task.blocks_of_group() * 4 * task.run;
  if (first >= task.in.count) return;
  const detail::four_runs<Task, Comp> runs{task, comp, first, smaller(4 * task.run, task.in.count - first)};
  if (!runs.find(block, memory, index % task.blocks_of_group())) return;

  T* const slots = memory.slots();
  T* const middle_slots = slots + 4 * capacity;
  const auto ring_of = [&](int q) {
    return ring<decltype(task.in.in), T, capacity>(task.in.part(first + q * task.run, memory.end[q]),
                                                   slots + q * capacity, memory.begin[q]);
  };
  auto a = ring_of(0), b = ring_of(1), c = ring_of(2), d = ring_of(3);
  const auto refill = [&] {
    a.refill(block, capacity);
    b.refill(block, capacity);
    c.refill(block, capacity);
    d.refill(block, capacity);
    simt::copy_async_batch();
  };
  const auto length = [&](int q) { return memory.end[q] - memory.begin[q]; };
  detail::middle ab{.left = length(0) + length(1)}, cd{.left = length(2) + length(3)};
  std::int64_t at = first + memory.begin[0] + memory.begin[1] + memory.begin[2] + memory.begin[3];
  const std::int64_t end = at + ab.left + cd.left;
  if (at == end) return;
  refill();
  const int from = block.thread() * items;
  int written = 0;  // by the round before
  T x[items]{};
  while (at < end) {
    // Half a tile of each run is more than usual: then what is on its way is not waited for.
    const bool all = a.lacks(tile / 2) || b.lacks(tile / 2) || c.lacks(tile / 2) || d.lacks(tile / 2);
    if (all)
      simt::copy_async_wait<0>();
    else
      simt::copy_async_wait<1>();
    block.sync();
    if (written > 0) {
      ab.take(memory.used[2]);
      cd.take(written - memory.used[2]);
      written = 0;
    }
    // One tile of work for both merges in front. With a few more elements than a tile in either ring, the merge behind
    // them does not run dry, however it takes them.
    const int to_ab = ab.wanted(items, tile + items, tile, smaller(a.lasts(all), b.lasts(all)));
    const int threads_ab = ceil_div(to_ab, items) * items;
    const int to_cd = cd.wanted(items, tile + items, tile - threads_ab, smaller(c.lasts(all), d.lasts(all)));
    const bool is_ab = from < threads_ab;
    const int part = is_ab ? from : from - threads_ab, total = is_ab ? to_ab : to_cd;
    if (part < total) {
      const T* const pair = is_ab ? slots : slots + 2 * capacity;
      const int window_1 = is_ab ? a.window(to_ab) : c.window(to_cd), slot_1 = is_ab ? a.slot() : c.slot();
      const int window_2 = is_ab ? b.window(to_ab) : d.window(to_cd), slot_2 = is_ab ? b.slot() : d.slot();
      const bool inside = window_1 == total && window_2 == total && part + items <= total;
      const int used =
          inside ? merge_items<true, capacity>(pair, slot_1, total, slot_2, total, part, total, comp, x)
                 : merge_items<false, capacity>(pair, slot_1, window_1, slot_2, window_2, part, total, comp, x);
      if (part + items >= total) memory.used[is_ab ? 0 : 1] = used;
      T* const ring_slots = middle_slots + (is_ab ? 0 : middle_capacity);
      const int place = (is_ab ? ab.next + ab.count : cd.next + cd.count) + part;
      if (part + items <= total)
        detail::stage<T, items>::put(ring_slots + (place & (middle_capacity - 1)), x);
      else
        for (int k = 0; k < items; ++k)
          if (part + k < total) ring_slots[(place + k) & (middle_capacity - 1)] = x[k];
    }
    block.sync();
    if (to_ab > 0) {
      a.advance(memory.used[0]);
      b.advance(to_ab - memory.used[0]);
    }
    if (to_cd > 0) {
      c.advance(memory.used[1]);
      d.advance(to_cd - memory.used[1]);
    }
    ab.add(to_ab);
    cd.add(to_cd);
    refill();
    if (!ab.ready(tile) || !cd.ready(tile)) continue;  // the first rounds, and some where all comes from one run
    const std::int64_t to_boundary = tile - ((at + task.shift) & (tile - 1));
    const int count = static_cast<int>(smaller(end - at, to_boundary));
    const int slot_ab = ab.next & (middle_capacity - 1), slot_cd = cd.next & (middle_capacity - 1);
    const int window_ab = smaller(ab.count, tile), window_cd = smaller(cd.count, tile);
    if (from < count) {
      const bool inside = count == tile && window_ab == tile && window_cd == tile;
      const int used =
          inside ? merge_items<true, middle_capacity>(middle_slots, slot_ab, tile, slot_cd, tile, from, tile, comp, x)
                 : merge_items<false, middle_capacity>(middle_slots, slot_ab, window_ab, slot_cd, window_cd, from,
                                                       count, comp, x);
      if (from + items >= count) memory.used[2] = used;
    }
    detail::write_tile(block, memory, x, count, task.out, at);
    written = count;
    at += count;
  }
  simt::copy_async_wait<0>();  // nothing may land when the block has left
}

}  // namespace pmpp::inline PMPP_BACKEND::block
