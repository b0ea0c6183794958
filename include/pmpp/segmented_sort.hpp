// SPDX-License-Identifier: Apache-2.0
//
// Sorting many segments of an array, each by itself: segmented_sort, segmented_sort_by_key.
//
//   offsets  0     3 3         8       segment s is [offsets[s], offsets[s + 1]); segment 1 is empty
//   data     3 1 2   5 4 4 9 0
//   sorted   1 2 3   0 4 4 5 9
//
//   1. The array is cut into windows of 7/8 of a tile. One kernel finds the segments that begin in each window. A block
//      sorts those of one window together in shared memory (block/segmented_sort.hpp). Only the last of them can lie past
//      the window's end: if it does not fit into the tile it is a large one.
//
//          window     |               |               |               |
//          segments     a  b  c   d d d d   L L L L L L L L L L L L e
//          tiles        [ a b c d ]        [ 1st tile  ]               of L: sorted by the block in whose window it begins
//                                                     [ 2nd tile ] [e]
//
//      Where all segments of a window are short and their elements numbers, another kernel sorts them in front of that, by
//      networks (block/short_segments.hpp).
//
//   2. A large segment is cut into tiles from its beginning; then passes make one run of four, as in sort.hpp, in all
//      large segments at once. What a block does in a pass begins at a multiple of a step from where its segment begins;
//      which large segments there are around it the first kernel has written down.
//
// Segments of any sizes together: the work of a block depends on positions in the array alone, and one segment of
// everything uses the whole machine. Traffic: 2n elements and the offsets, and 2m for each pass, where m elements lie in
// segments longer than the pass's runs. Passes that nothing needs end at once. Stable: the result is unique.
// (PMPP ch. 13; Baxter, moderngpu, 2013.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/merge_four.hpp>
#include <pmpp/block/segmented_sort.hpp>
#include <pmpp/block/short_segments.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/sort.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Where a segment lies.
struct segment_place {
  std::int64_t begin, end;
};

/// How the array is cut: which segments are large, and how often they are merged.
template <class T, sort_tuning Tuning>
struct segment_cut {
  static constexpr int items = sort_items(Tuning.bytes, sizeof(T)),
                       threads = sort_threads(Tuning.threads, items*int(sizeof(T)), 96 * 1024), tile = threads * items,
                       window = tile - tile / 8;

  /// Whether a segment does not fit into the tile of the window where it begins.
  PMPP_HOST_DEVICE static bool large(const segment_place& s) { return s.end - s.begin / window * window > tile; }
  /// Passes from tiles to a run of n elements.
  PMPP_HOST_DEVICE static int passes(std::int64_t n) {
    int count = 0;
    for (std::int64_t run = tile; run < n; run *= 4) ++count;
    return count;
  }
};

/// Elements that are sorted in one tile: those of segments first ... last - 1, or of one segment if these are none.
struct tile_part {
  std::int64_t from, first, last;
  int count;
  bool to_other;  ///< where the next pass reads it

  /// Where a segment begins in the tile.
  template <class Offsets>
  PMPP_HOST_DEVICE int begin_of(const Offsets& offsets, std::int64_t s) const {
    return static_cast<int>(smaller(static_cast<std::int64_t>(offsets[s]) - from, std::int64_t(count)));
  }
};
/// What a block sorts, each of which may be empty: a tile of a large segment that begins in front of its window, the small
/// segments that begin in the window, and the first tile of a large one.
struct window_plan {
  tile_part parts[3];
};

/// What a kernel says to those that follow.
struct sort_notes {
  unsigned left;  ///< windows that the kernel for short segments has left to the one for all
  int passes;     ///< that the longest segment needs
};

/// Makes the plans. A warp finds where a window begins in the offsets; so a block plans one window less than it has warps.
template <class Cut, class Offsets>
struct plan_windows_kernel {
  static constexpr int threads = 256, warps = threads / simt::warp_size, windows = warps - 1;

  struct shared {
    std::int64_t first[warps];  ///< the first segment that begins in a window or behind it
  };
  struct arguments {
    Offsets offsets;
    item_count offset_count;
    std::int64_t windows;
    window_plan* plans;
    segment_place* large;  ///< for each window: the large segment to which its last element belongs. Null: no passes.
    sort_notes* notes;     ///< are set to 0
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    const std::int64_t offsets = a.offset_count.get(), window = block.index() * windows + block.warp();
    const auto offset = [&](std::int64_t s) { return static_cast<std::int64_t>(a.offsets[s]); };
    const std::int64_t begin = window * Cut::window, end = begin + Cut::window;
    const std::int64_t found =
        block::warp_partition_point(block, std::int64_t(0), offsets, [&](std::int64_t s) { return offset(s) < begin; });
    if (block.lane() == 0) memory.first[block.warp()] = found;
    if (block.index() == 0 && block.thread() == 0) *a.notes = {0, 0};
    block.sync();
    if (block.lane() > 0 || block.warp() == windows || window >= a.windows) return;
    const std::int64_t segments = offsets - 1, first = found, last = smaller(memory.first[block.warp() + 1], segments);
    const auto at = [&](std::int64_t s) { return offset(larger(std::int64_t(0), smaller(s, segments))); };
    const segment_place before{at(first - 1), at(first)}, behind{at(last - 1), at(last)};
    segment_place noted{0, 0};
    window_plan plan{};
    if (first > 0 && first <= segments && before.end > begin && Cut::large(before)) {
      const std::int64_t from = before.begin + ceil_div(begin - before.begin, std::int64_t(Cut::tile)) * Cut::tile;
      if (from < end) plan.parts[0] = tile_of(before, from);
      if (before.end >= end) noted = before;
    }
    if (first < last) {
      const std::int64_t to = Cut::large(behind) ? behind.begin : behind.end;
      plan.parts[1] = {before.end, first, last, static_cast<int>(to - before.end), false};
      if (Cut::large(behind)) {
        plan.parts[2] = tile_of(behind, behind.begin);
        noted = behind;
      }
    }
    a.plans[window] = plan;
    if (a.large != nullptr) a.large[window] = noted;
  }

private:
  /// The tile of a large segment that begins at element `from`.
  PMPP_HOST_DEVICE static tile_part tile_of(const segment_place& s, std::int64_t from) {
    return {from, 0, 0, static_cast<int>(larger(std::int64_t(0), smaller(std::int64_t(Cut::tile), s.end - from))),
            Cut::passes(s.end - s.begin) % 2 != 0};
  }
};

// Elements as unsigned words in their order, for networks (block/short_segments.hpp); void where there are none. Numbers
// have their codes, which equal ones share; in front of values those of up to 32 bits with their places behind them.

template <class K, class Comp>
struct code_under {
  using type = void;
};
template <class K, class Comp>
requires(radix_order<Comp, K>::known) struct code_under<K, Comp> {
  using type = radix_code<K, radix_order<Comp, K>::descending>;
};
template <class K, class Code>
struct code_under<K, code_less<Code>> {
  using type = Code;
};

template <class Code>
struct key_words {
  PMPP_HOST_DEVICE static auto word(const typename Code::key& x, int) {
    return static_cast<std::conditional_t<Code::width <= 32, std::uint32_t, std::uint64_t>>(Code::encode(x));
  }
  template <class Word, class At>
  PMPP_HOST_DEVICE static auto element(Word w, At) {
    return Code::decode(static_cast<typename Code::bits>(w));
  }
};
template <class Code>
struct pair_words {
  template <class T>
  PMPP_HOST_DEVICE static std::uint64_t word(const T& x, int place) {
    return std::uint64_t(Code::encode(x.first)) << 32 | unsigned(place);
  }
  template <class At>
  PMPP_HOST_DEVICE static auto element(std::uint64_t w, At at) {
    return at(static_cast<int>(w & 0xffff));
  }
};

template <class T, class Comp>
struct sort_words {
  using code = typename code_under<T, Comp>::type;
  using type = std::conditional_t<std::is_void_v<code>, void, key_words<code>>;
};
template <class K, class V, class Comp>
struct sort_words<pair<K, V>, by_first<Comp>> {
  using code = typename code_under<K, Comp>::type;
  using type = std::conditional_t<std::is_void_v<code> || (sizeof(K) > 4), void, pair_words<code>>;
};

/// Sorts the windows whose segments are all short, by networks: less work, and in half of the registers.
template <class T, class Words, class In, class Data, class Offsets, sort_tuning Tuning>
struct sort_short_segments_kernel {
  using cut = segment_cut<T, Tuning>;
  static constexpr int items = cut::items, threads = cut::threads, tile = cut::tile,
                       min_blocks = smaller(32, larger(1, 1536 / threads / (items * int(sizeof(T)) > 64 ? 2 : 1)));
  using memory_of_block = block::sort_memory<T, threads, items>;

  struct shared {
    memory_of_block of_block;
  };
  struct arguments {
    In in;
    Data data;
    Offsets offsets;
    window_plan* plans;
    sort_notes* notes;
    std::uint32_t* left;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    window_plan& plan = a.plans[block.index()];
    const tile_part p = plan.parts[1];
    const bool more = plan.parts[0].count + plan.parts[2].count > 0;
    const std::int64_t segments = p.last - p.first;
    // Almost all are empty, or one must be longer.
    bool longer = segments > 32 * tile || p.count > segments * block::short_segment;
    if (p.count > 0 && !longer) {
      T x[items]{};
      for (int k = 0; k < items; ++k) {
        const int i = k * threads + block.thread();
        if (i < p.count) x[k] = block::element_as<T>(value_of<In>(a.in[p.from + i]));
      }
      for (std::int64_t s = p.first + block.thread(); s < p.last; s += threads)
        longer = longer || p.begin_of(a.offsets, s + 1) - p.begin_of(a.offsets, s) > block::short_segment;
      T* const slots = memory.of_block.slots();
      for (int k = 0; k < items; ++k) {
        const int i = k * threads + block.thread();
        if (i < p.count) slots[memory_of_block::slot(i)] = x[k];
      }
      longer = block.sync_or(longer);
      if (!longer) {
        block::sort_short_segments<Words>(block, memory.of_block, segments,
                                          [&](std::int64_t s) { return p.begin_of(a.offsets, p.first + s); });
        block.sync();
        for (int k = 0; k < items; ++k) {
          const int i = k * threads + block.thread();
          if (i < p.count) block::assign(a.data, p.from + i, slots[memory_of_block::slot(i)]);
        }
      }
    }
    if (block.thread() > 0) return;
    if (!longer) plan.parts[1].count = 0;
    if (longer || more) a.left[simt::atomic_add(&a.notes->left, 1u)] = static_cast<std::uint32_t>(block.index());
  }
};

template <class T, class In, class Data, class Other, class Offsets, class Comp, sort_tuning Tuning>
struct sort_segments_kernel {
  using cut = segment_cut<T, Tuning>;
  static constexpr int items = cut::items, threads = cut::threads, tile = cut::tile,
                       min_blocks = larger(1, 1024 / threads / (items * int(sizeof(T)) > 64 ? 2 : 1));
  using memory_of_block = block::segmented_sort_memory<T, threads, items>;

  struct shared {
    memory_of_block of_block;
    tile_part parts[3];
  };
  struct arguments {
    In in;
    Data data;
    Other other;
    Offsets offsets;
    const window_plan* plans;
    const segment_place* large;
    sort_notes* notes;
    const std::uint32_t* left;  ///< the windows to sort, in any order. Null: all, a block each
    Comp comp;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    const std::int64_t windows = a.left == nullptr ? block.count() : std::int64_t(a.notes->left);
    for (std::int64_t i = block.index(); i < windows; i += block.count()) {
      const std::int64_t w = a.left == nullptr ? i : std::int64_t(a.left[i]);
      block.sync();
      if (block.thread() < 3) memory.parts[block.thread()] = a.plans[w].parts[block.thread()];
      block.sync();
      if (block.thread() == 0 && memory.parts[2].count > 0)
        simt::atomic_max(&a.notes->passes, cut::passes(a.large[w].end - a.large[w].begin));
      for (int k = 0; k < 3; ++k)
        if (memory.parts[k].count > 0) sort_part(block, memory.of_block, a, memory.parts[k]);
    }
  }

private:
  PMPP_HOST_DEVICE static std::int64_t offset(const arguments& a, std::int64_t s) {
    return static_cast<std::int64_t>(a.offsets[s]);
  }

  template <class Block>
  PMPP_HOST_DEVICE static void sort_part(Block& block, memory_of_block& memory, const arguments& a,
                                         const tile_part& p) {
    const int count = p.count;
    const bool one = p.last - p.first < 2;
    T* const slots = memory.slots();
    T x[items]{};  // set where there is an element
    for (int k = 0; k < items; ++k) {
      const int i = k * threads + block.thread();
      if (i < count) x[k] = block::element_as<T>(value_of<In>(a.in[p.from + i]));
    }
    block.sync();  // what the tile before has left is not needed any more
    if (!one) {
      for (int i = block.thread(); i < tile; i += threads) memory.head[i] = 0;
      if (block.thread() == 0) memory.longest = 0;
      block.sync();
      mark_heads(block, memory, a, p);
    }
    for (int k = 0; k < items; ++k) {
      const int i = k * threads + block.thread();
      if (i < count) slots[memory_of_block::slot(i)] = x[k];
    }
    block.sync();
    block::segmented_sort(block, memory, p.count, one ? p.count : memory.longest, a.comp);
    for (int k = 0; k < items; ++k) {
      const int i = k * threads + block.thread();
      if (i >= p.count) continue;
      if (p.to_other)
        block::assign(a.other, p.from + i, slots[memory_of_block::slot(i)]);
      else
        block::assign(a.data, p.from + i, slots[memory_of_block::slot(i)]);
    }
  }

  /// Each segment that is not empty marks its first element; the longest is found. Where far more segments than elements begin, all of them but
  /// a few empty, each element searches for its segment instead.
  template <class Block>
  PMPP_HOST_DEVICE static void mark_heads(Block& block, memory_of_block& memory, const arguments& a,
                                          const tile_part& p) {
    const std::int64_t first = p.first, last = p.last;
    const int count = p.count;
    int longest = 0;
    if (last - first <= 32 * tile) {
      constexpr int at_once = 4;
      for (std::int64_t next = first + block.thread(); next < last; next += at_once * threads) {
        int begin[at_once], end[at_once];
        for (int k = 0; k < at_once; ++k) {
          const std::int64_t s = smaller(next + k * threads, last - 1);
          begin[k] = p.begin_of(a.offsets, s);
          end[k] = p.begin_of(a.offsets, s + 1);
        }
        for (int k = 0; k < at_once; ++k) {
          if (begin[k] >= end[k] || next + k * threads >= last) continue;
          memory.head[begin[k]] = 1;
          longest = larger(longest, end[k] - begin[k]);
        }
      }
    } else {
      longest = count - 1;  // not known
      for (int i = block.thread(); i < count; i += threads) {
        std::int64_t low = first, high = last;  // the first segment that begins at element i or behind it
        while (low < high) {
          const std::int64_t s = low + (high - low) / 2;
          if (offset(a, s) < p.from + i)
            low = s + 1;
          else
            high = s;
        }
        if (low < last && offset(a, low) == p.from + i) memory.head[i] = 1;
      }
    }
    longest = block.warp_max(longest);
    if (block.lane() == 0) simt::atomic_max(&memory.longest, longest);
  }
};

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

template <class T, class Data, class Other, class Comp, sort_tuning Tuning>
struct merge_segments_kernel {
  using cut = segment_cut<T, Tuning>;
  static constexpr int items = sort_items(Tuning.merge_bytes, sizeof(T)),
                       threads = sort_threads(Tuning.merge_threads, items*int(sizeof(T)), 15 * 1024);
  using memory_of_block = block::merge_four_memory<T, threads, items>;
  static constexpr int tile = memory_of_block::tile, window = cut::window;
  static constexpr int min_blocks =
      larger(1, smaller(1024 / threads, 227 * 1024 / int(sizeof(memory_of_block) + 1024)));

  struct shared {
    memory_of_block of_block;
  };
  struct arguments {
    block::staged_input<Data> data;
    block::staged_input<Other> other;
    const segment_place* large;
    const sort_notes* notes;
    int pass;
    std::int64_t run;   ///< elements of the runs that the pass merges
    std::int64_t step;  ///< elements of what one block does; a part or a multiple of four runs
    Comp comp;
  };

  /// The block looks at `step` elements of the array at a time, and at the large segments that have elements there.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    const int passes = a.notes->passes;
    for (std::int64_t begin = block.index() * a.step; passes > a.pass && begin < a.data.count;
         begin += block.count() * a.step) {
      const std::int64_t end = smaller(begin + a.step, a.data.count);
      std::int64_t last = -1;
      for (std::int64_t w = larger(begin / window - 1, std::int64_t(0)); w <= (end - 1) / window; ++w) {
        const segment_place s = a.large[w];
        if (s.end - s.begin <= a.run || s.begin == last) continue;
        last = s.begin;
        const std::int64_t unit = begin <= s.begin ? 0 : ceil_div(begin - s.begin, a.step);
        if (s.begin + unit * a.step < smaller(end, s.end)) merge_unit(block, memory, a, s, unit);
      }
    }
  }

private:
  template <class Block>
  PMPP_HOST_DEVICE static void merge_unit(Block& block, shared& memory, const arguments& a, const segment_place& s,
                                          std::int64_t unit) {
    int passes = cut::passes(s.end - s.begin);
    for (std::int64_t run = cut::tile; run < a.run; run *= 4) --passes;
    if constexpr (std::is_same_v<Data, Other>) {
      if (passes % 2 == 0)
        merge(block, memory, a, s, unit, a.data, a.other);
      else
        merge(block, memory, a, s, unit, a.other, a.data);
    } else {
      if (passes % 2 == 0)
        merge(block, memory, a, s, unit, a.data, a.other);
      else
        merge(block, memory, a, s, unit, a.other, a.data);
    }
  }

  /// A unit begins `step` elements behind the one before; its work is the stretch from the splitter that lies in it on
  /// (block/merge_four.hpp). The first unit of four runs also does the stretch in front of all splitters.
  template <class Block, class From, class To>
  PMPP_HOST_DEVICE static void merge(Block& block, shared& memory, const arguments& a, const segment_place& s,
                                     std::int64_t unit, const From& from, const To& to) {
    using out = decltype(to.in);
    const block::merge_four_task<decltype(from.in), std::remove_const_t<out>> task{
        staged_from(from, s.begin, s.end - s.begin), to.in + s.begin, static_cast<int>((to.shift + s.begin) % tile),
        a.run, a.step};
    const std::int64_t units = larger(std::int64_t(1), 4 * a.run / a.step), stretches = task.blocks_of_group();
    const std::int64_t group = unit / units, place = unit % units * a.step;
    const std::int64_t own = 1 + place / a.run + place % a.run / a.step * 4;
    for (std::int64_t i = place == 0 ? 0 : own; i <= own && i < stretches; ++i) {
      block.sync();  // memory is free again
      block::merge_four(block, memory.of_block, task, group * stretches + i, a.comp);
    }
  }
};

/// Enqueues the sort on a GPU or runs it in the emulator: from `in` to `data`, which may be the same.
template <sort_tuning Tuning, class T, class P, class In, class Data, class Offsets, class Comp>
void segmented_sort_on_blocks(const P& where, const In& in, const Data& data, std::int64_t n,
                              const input<Offsets>& offsets, const Comp& comp) {
  using home = second_home<T>;
  using Other = typename home::iterator;
  using cut = segment_cut<T, Tuning>;
  using sort_kernel = sort_segments_kernel<T, In, Data, Other, Offsets, Comp, Tuning>;
  using merge_kernel = merge_segments_kernel<T, Data, Other, Comp, Tuning>;
  static_assert(sizeof(typename merge_kernel::shared) <= 227 * 1024,
                "pmpp: elements of more than about 450 bytes cannot be sorted");
  const std::int64_t windows = ceil_div(n, std::int64_t(cut::window));
  const int passes = cut::passes(n);
  using words = typename sort_words<T, Comp>::type;
  constexpr bool by_words = !std::is_void_v<words>;
  const std::int64_t places = passes == 0 ? 0 : windows, others = passes == 0 ? 0 : n, listed = by_words ? windows : 0;
  scratch memory(where,
                 scratch_bytes({home::bytes(others), checked_bytes(windows, sizeof(window_plan), "segmented_sort"),
                                checked_bytes(places, sizeof(segment_place), "segmented_sort"),
                                checked_bytes(listed, sizeof(std::uint32_t), "segmented_sort"), sizeof(sort_notes)}),
                 0);
  const Other other = home::of(memory, others);
  window_plan* const plans = memory.take<window_plan>(windows);
  segment_place* const large = places == 0 ? nullptr : memory.take<segment_place>(places);
  std::uint32_t* const left = by_words ? memory.take<std::uint32_t>(listed) : nullptr;
  sort_notes* const notes = memory.take<sort_notes>(1);
  using plan_kernel = plan_windows_kernel<cut, Offsets>;
  launch(where, ceil_div(windows, std::int64_t(plan_kernel::windows)), plan_kernel{},
         typename plan_kernel::arguments{offsets.first, offsets.count, windows, plans, large, notes});
  std::int64_t blocks = windows;
  if constexpr (by_words) {
    using short_kernel = sort_short_segments_kernel<T, words, In, Data, Offsets, Tuning>;
    launch(where, windows, short_kernel{},
           typename short_kernel::arguments{in, data, offsets.first, plans, notes, left});
    blocks = smaller(blocks, std::int64_t(4) * sort_kernel::min_blocks * processor_count(where));
  }
  launch(where, blocks, sort_kernel{},
         typename sort_kernel::arguments{in, data, other, offsets.first, plans, large, notes, left, comp});
  // Several steps for each block that runs at a time: their work is not equal.
  const std::int64_t resident = std::int64_t(merge_kernel::min_blocks) * processor_count(where);
  std::int64_t step = 4 * cut::tile;
  while (step > larger(cut::tile / 4, merge_kernel::tile) && step > n / (4 * resident)) step /= 2;
  std::int64_t run = cut::tile;
  for (int pass = 0; pass < passes; ++pass, run *= 4)
    launch(where, smaller(ceil_div(n, step), 2 * resident), merge_kernel{},
           typename merge_kernel::arguments{block::staged_input<Data>(data, n), block::staged_input<Other>(other, n),
                                            large, notes, pass, run, step, comp});
}

/// seq: one segment after the other. host: so for segments that are long; the others are shared out by elements.
template <sort_tuning Tuning, class T, class P, class Data, class Offsets, class Comp>
void segmented_sort_on_host(const P& where, const Data& data, const Offsets& offsets, std::int64_t segments,
                            const Comp& comp) {
  constexpr std::int64_t long_segment = std::int64_t(1) << 17;
  const auto offset = [&](std::int64_t s) { return static_cast<std::int64_t>(offsets[s]); };
  const auto sort_one = [&](const auto& policy, std::int64_t s) {
    const std::int64_t n = offset(s + 1) - offset(s);
    const auto part = data + offset(s);
    if (n > 1) sort_elements<Tuning, T>("segmented_sort", policy, part, part, item_count{n}, comp);
  };
  if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t s = 0; s < segments; ++s) sort_one(where, s);
  } else if (segments > 0) {
    const std::int64_t tasks = ceil_div(offset(segments) - offset(0) + segments, host_loop::grain);
    const auto first_of = [&](std::int64_t t) { return ends_before(offsets, segments, t * host_loop::grain); };
    host_loop::parallel_for(where, tasks, [&](std::int64_t t) {
      for (std::int64_t s = first_of(t); s < first_of(t + 1); ++s)
        if (offset(s + 1) - offset(s) < long_segment) sort_one(seq, s);
    });
    static_assert(long_segment > 2 * host_loop::grain);
    for (std::int64_t t = 0; t < tasks; ++t) {  // a long segment is the first that ends in its task
      const std::int64_t s = first_of(t);
      if (s < first_of(t + 1) && offset(s + 1) - offset(s) >= long_segment) sort_one(where, s);
    }
  }
}

/// The order of sort: of numbers by their codes, where less does not say how NaN and zeros lie.
template <class T, class Comp>
auto merging_order(const Comp& comp) {
  using parts = sorted_parts<T, Comp>;
  if constexpr (parts::order::known) {
    using K = typename parts::key;
    if constexpr (is_radix_float<K>) {
      using code = radix_code<K, parts::order::descending>;
      return parts::comparator(code_less<code>(key_bits{0, code::width}));
    } else {
      return comp;
    }
  } else {
    return comp;
  }
}

template <sort_tuning Tuning, class P, class Data, class Offsets, class Comp>
void sort_segments(const char* function, const P& where, const input<Data>& in, const input<Offsets>& offsets,
                   const Comp& comp) {
  using T = value_of<Data>;
  static_assert(std::is_trivially_copyable_v<T>, "pmpp: sorted elements must be trivially copyable");
  require_offsets(function, offsets);
  check_offsets(where, in, offsets);
  if constexpr (kernel_execution<P>) {
    check_reachable(where, function, zip_iterator{in.first, offsets.first});
    if (in.count.bound > 0 && offsets.count.bound > 1)
      segmented_sort_on_blocks<Tuning, T>(where, in.first, in.first, in.count.bound, offsets, merging_order<T>(comp));
  } else {
    segmented_sort_on_host<Tuning, T>(where, in.first, offsets.first, offsets.count.get() - 1, comp);
  }
}

}  // namespace detail

/// Sorts each segment of r by itself. Stable: elements that are equal under comp keep their order.
///
/// \param r        as of sort. What lies in no segment is not touched.
/// \param offsets  a range of integers, one more than there are segments, or two iterators, or an iterator and a
///                 device_count; visible to `where`: segment s is [offsets[s], offsets[s + 1]).
///                 \pre they do not decrease and lie in [0, n] (checked in debug mode).
/// \param comp     as of sort; integers, floating-point numbers too come in the order of sort: -0.0 before +0.0 and NaN
///                 last under less.
/// The result is unique: the same on every run. Asynchronous on a GPU; may be captured. Scratch: n elements and 0.5 %
/// (140 bytes for each window of 7168 elements of 4 bytes, 3584 of 8), from the workspace or one allocation in stream
/// order; 124 bytes a window for n up to 8192 elements of 4 bytes. Cost: 2n elements of traffic and the offsets, and 2m
/// for each factor of four from a tile of 8192 to the longest segment, where m elements lie in segments so long. Time
/// depends on n and on the number of segments, not on which segments are long. Launches: two or three, and one for each factor of
/// four from a tile to n.
/// \throws std::invalid_argument for a null or reversed range or for no offsets; out_of_memory, cuda_error.
/// Source: PMPP ch. 13; Baxter, moderngpu, 2013. Example: test/segmented_sort.cpp, sorts.
template <sort_tuning Tuning = sort_tuning{}, execution_policy P, random_access_range R, random_access_range Offsets,
          class Comp = less>
void segmented_sort(const P& where, R&& r, Offsets&& offsets, Comp comp = {}) {
  const auto in = detail::input_of("segmented_sort", r);
  const auto at = detail::input_of("segmented_sort", offsets);
  detail::sort_segments<Tuning>("segmented_sort", where, in, at, comp);
}

/// Sorts the keys of each segment as segmented_sort does, and moves the value of each key along with it.
///
/// \param values  a range as long as keys, or an iterator; visible to `where`.
/// Scratch: n keys and n values. \throws as segmented_sort; std::length_error if the values are fewer than the keys.
/// Example: test/segmented_sort.cpp, by_key.
template <sort_tuning Tuning = sort_tuning{}, execution_policy P, random_access_range K, output V,
          random_access_range Offsets, class Comp = less>
void segmented_sort_by_key(const P& where, K&& keys, V&& values, Offsets&& offsets, Comp comp = {}) {
  const auto in = detail::pairs_of("segmented_sort_by_key", keys, values);
  const auto at = detail::input_of("segmented_sort_by_key", offsets);
  detail::sort_segments<Tuning>("segmented_sort_by_key", where, in, at, detail::by_first<Comp>{comp});
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <sort_tuning Tuning = sort_tuning{}, execution_policy P, random_access It, end_of<It> End, random_access_range Offsets, class Comp = less>
void segmented_sort(const P& where, It first, End last, Offsets&& offsets, Comp comp = {}) { segmented_sort<Tuning>(where, subrange{first, last}, offsets, comp); }

template <sort_tuning Tuning = sort_tuning{}, execution_policy P, random_access It, end_of<It> End, random_access Off, end_of<Off> OffEnd, class Comp = less>
void segmented_sort(const P& where, It first, End last, Off offsets, OffEnd offsets_end, Comp comp = {}) { segmented_sort<Tuning>(where, subrange{first, last}, subrange{offsets, offsets_end}, comp); }

template <sort_tuning Tuning = sort_tuning{}, execution_policy P, random_access K, end_of<K> End, output V, random_access_range Offsets, class Comp = less>
void segmented_sort_by_key(const P& where, K first, End last, V&& values, Offsets&& offsets, Comp comp = {}) { segmented_sort_by_key<Tuning>(where, subrange{first, last}, values, offsets, comp); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
