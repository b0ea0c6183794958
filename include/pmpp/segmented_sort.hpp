// SPDX-License-Identifier: Apache-2.0
//
// Sorting many segments of an array, each by itself: segmented_sort, segmented_sort_by_key.
//
//   offsets  0     3 3         8       segment s is [offsets[s], offsets[s + 1]); segment 1 is empty
//   data     3 1 2   5 4 4 9 0
//   sorted   1 2 3   0 4 4 5 9
//
//   1. The array is cut into windows of 7/8 of a tile, a block for each. What a block sorts together are the segments that
//      begin in its window. Only the last of them can lie past the window's end: if it does not fit into the tile it is a
//      large one.
//
//          window     |               |               |               |
//          segments     a  b  c   d d d d   L L L L L L L L L L L L e
//          tiles        [ a b c d ]        [ 1st tile  ]               of L: sorted by the block in whose window it begins
//                                                     [ 2nd tile ] [e]
//
//      Where all segments are short and their elements numbers, warps sort them by networks (block/short_segments.hpp), of
//      short inputs all; otherwise the block sorts them by merging (block/segmented_sort.hpp).
//
//   2. A large segment is cut into tiles from its beginning; then passes make one run of two (of four where inputs are long),
//      in all large segments at once (block/merge_runs.hpp).
//
//   Short inputs take one launch, in which the blocks that have tiles of a large segment wait for each other; long ones three:
//   one finds the segments of each window, one sorts tiles, and one makes all passes of the segments that step 1 has noted.
//
// Segments of any sizes together: the work of a block depends on positions in the array alone, and one segment of
// everything uses the whole machine. Traffic: 2n elements and the offsets, and 2m for each pass, where m elements lie in
// segments longer than the pass's runs. There are as many passes as the longest segment needs. Stable: the result is unique.
// (PMPP ch. 13; Baxter, moderngpu, 2013.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/grid_barrier.hpp>
#include <pmpp/block/merge_runs.hpp>
#include <pmpp/block/segmented_sort.hpp>
#include <pmpp/block/short_segments.hpp>
#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch_together.hpp>
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

/// A tile of what runs of a segment become when they are merged.
struct merged_tile {
  segment_place segment;
  std::int64_t run;         ///< elements
  std::int64_t group;       ///< which of the runs become one
  std::int64_t begin, end;  ///< in the result of the group; equal: there is no such tile
};

/// How the array is cut: which segments are large, and how often they are merged.
struct segment_cut {
  std::int64_t tile, window;  ///< elements
  int ways;                   ///< 2 or 4 runs that a pass makes one of

  /// Whether a segment does not fit into the tile of the window where it begins.
  PMPP_HOST_DEVICE bool large(const segment_place& s) const { return large(s, s.begin / window * window); }
  PMPP_HOST_DEVICE bool large(const segment_place& s, std::int64_t window_begin) const {
    return s.end - window_begin > tile;
  }
  /// Passes from tiles to a run of n elements.
  PMPP_HOST_DEVICE int passes(std::int64_t n) const {
    int count = 0;
    for (std::int64_t run = tile; run < n; run *= ways) ++count;
    return count;
  }
  /// Elements of the runs that a segment of n elements has with `left` passes before it.
  PMPP_HOST_DEVICE std::int64_t run_of(std::int64_t n, int left) const {
    return tile << (passes(n) - left) * (ways / 2);
  }
  /// Tiles of `elements` that it takes to merge them. The groups of runs begin with a tile each.
  PMPP_HOST_DEVICE int tiles_of(const segment_place& s, int left, int elements) const {
    const auto n = static_cast<unsigned>(s.end - s.begin), together = static_cast<unsigned>(ways * run_of(n, left));
    return static_cast<int>(n / together * ceil_div(together, unsigned(elements)) +
                            ceil_div(n % together, unsigned(elements)));
  }
  /// Tile `unit` of them.
  PMPP_HOST_DEVICE merged_tile tile_of(const segment_place& s, int left, std::int64_t unit,
                                       std::int64_t elements) const {
    const std::int64_t n = s.end - s.begin, run = run_of(n, left), together = ways * run;
    const auto index = static_cast<unsigned>(unit), tiles = static_cast<unsigned>(ceil_div(together, elements));
    const std::int64_t group = index / tiles, begin = index % tiles * elements;  // 64-bit divisions are slow
    return {s, run, group, begin, max(begin, min(begin + elements, min(together, n - group * together)))};
  }
};

/// Elements that are sorted in one tile: those of segments first ... last - 1, or of one segment if these are none.
struct tile_part {
  std::int64_t from, first, last;
  int count;
  int passes;             ///< that the segment needs; an odd number: from the other array
  segment_place segment;  ///< of which it is a tile, if that is large

  /// Where a segment begins in the tile.
  template <class Offsets>
  PMPP_HOST_DEVICE int begin_of(const Offsets& offsets, std::int64_t s) const {
    return static_cast<int>(min(static_cast<std::int64_t>(offsets[s]) - from, std::int64_t(count)));
  }
};
/// What a block sorts, each of which may be empty: a tile of a large segment that begins in front of its window, the small
/// segments that begin in the window, and the first tile of a large one.
struct window_plan {
  tile_part parts[3];
};

/// Where an element lies among the offsets: the first one from it on, and the one in front of that.
struct offset_place {
  std::int64_t index, before, at;
};

/// Says what a block sorts.
template <class Offsets>
struct window_planner {
  Offsets offsets;
  item_count offset_count;
  segment_cut cut;

  PMPP_HOST_DEVICE std::int64_t offset(std::int64_t s) const { return static_cast<std::int64_t>(offsets[s]); }

  /// The first of offsets low ... high that lies at `element` or after it; `high` if none does. The lanes of a warp call it:
  /// a round of loads for every five bits of the answer, which brings the neighbours along.
  template <class Block>
  PMPP_HOST_DEVICE offset_place find(Block& block, std::int64_t low, std::int64_t high, std::int64_t element) const {
    offset_place place{low, offset(max(low - 1, std::int64_t(0))), offset(high)};
    while (block.any(low < high)) {
      const std::int64_t step = ceil_div(high - low, std::int64_t(simt::warp_size));
      const std::int64_t i = low + (block.lane() + 1) * step - 1;  // the last place of this lane's part
      const std::int64_t probed = offset(min(i, high));
      const int parts = simt::count_bits(block.ballot(i < high && probed < element));
      low += parts * step;
      if (parts > 0) place.before = block.shuffle(probed, parts - 1);
      if (low + step - 1 < high) {
        high = low + step - 1;
        place.at = block.shuffle(probed, parts);
      }
      low = min(low, high);
    }
    place.index = low;
    return place;
  }
  /// The first segment that begins in a window or after it.
  template <class Block>
  PMPP_HOST_DEVICE offset_place first_from(Block& block, std::int64_t window) const {
    return find(block, 0, max(std::int64_t(0), offset_count.get() - 1), window * cut.window);
  }
  /// Segments from `here` to `next` begin in the window. `noted` becomes the large segment to which its last element belongs.
  PMPP_HOST_DEVICE window_plan plan(std::int64_t window, const offset_place& here, const offset_place& next,
                                    segment_place& noted) const {
    const std::int64_t first = here.index, last = next.index;
    const std::int64_t begin = window * cut.window, end = begin + cut.window;
    const segment_place before{here.before, here.at}, after{next.before, next.at};
    noted = {0, 0};
    window_plan plan{};
    if (first > 0 && before.end > begin && cut.large(before)) {
      const std::int64_t from = before.begin + ceil_div(begin - before.begin, cut.tile) * cut.tile;
      if (from < min(end, before.end)) plan.parts[0] = tile_of(before, from);
      if (before.end >= end) noted = before;
    }
    if (first < last) {
      const bool large = cut.large(after, begin);
      const std::int64_t to = large ? after.begin : after.end;
      plan.parts[1] = {before.end, first, last, static_cast<int>(to - before.end), 0, {0, 0}};
      if (large) {
        plan.parts[2] = tile_of(after, after.begin);
        noted = after;
      }
    }
    return plan;
  }

private:
  /// The tile of a large segment that begins at element `from`.
  PMPP_HOST_DEVICE tile_part tile_of(const segment_place& s, std::int64_t from) const {
    return {from, 0, 0, static_cast<int>(min(cut.tile, s.end - from)), cut.passes(s.end - s.begin), s};
  }
};

/// Makes the plans of long inputs. A warp finds where a window begins in the offsets; so a block plans one window less than
/// it has warps.
template <class Offsets>
struct plan_windows_kernel {
  static constexpr int threads = 256, warps = threads / simt::warp_size, windows = warps - 1;

  struct shared {
    offset_place first[warps];  ///< the first segment that begins in a window or after it
  };
  struct arguments {
    window_planner<Offsets> planner;
    std::int64_t windows;
    window_plan* plans;
    segment_place* large;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    const std::int64_t window = block.index() * windows + block.warp();
    const offset_place first = a.planner.first_from(block, window);
    if (block.lane() == 0) memory.first[block.warp()] = first;
    block.sync();
    if (block.lane() > 0 || block.warp() == windows || window >= a.windows) return;
    a.plans[window] = a.planner.plan(window, first, memory.first[block.warp() + 1], a.large[window]);
  }
};

// Elements as unsigned words in their order, for networks (block/short_segments.hpp); void where there are none. Numbers
// have their codes, which equal ones share; in front of values those of up to 32 bits with their places after them.

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
  PMPP_HOST_DEVICE static auto element(Word w, bool, const At&) {
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
  PMPP_HOST_DEVICE static auto element(std::uint64_t w, bool exists, const At& at) {
    std::remove_reference_t<decltype(at(0))> x{};
    if (exists) x = at(static_cast<int>(w & 0xffff));
    return x;
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

/// What a block needs to sort long segments by networks.
template <class Words, class T, int Threads, int Items>
struct memory_of_words {
  using type = block::long_segments_memory<decltype(Words::word(T{}, 0)), Threads, Items>;
};
template <class Words, class T, int Items>
struct memory_of_words<Words, T, 0, Items> {
  struct type {
    int count;  ///< 0
  };
};

/// How a block moves a tile: a thread takes every `threads`-th element.
template <class Memory>
struct tile_mover {
  using T = typename Memory::element;
  static constexpr int items = Memory::items, threads = Memory::threads, stride = Memory::slot(threads);
  static_assert(threads % 16 == 0);

  int thread, have;  ///< elements from the thread's first on; may be negative

  template <class In>
  PMPP_HOST_DEVICE void read(T (&x)[items], const In& in) const {
    const In own = in + thread;
    for (int k = 0; k < items; ++k)
      if (k * threads < have) x[k] = block::element_as<T>(value_of<In>(own[k * threads]));
  }
  PMPP_HOST_DEVICE void put(Memory& memory, const T (&x)[items]) const {
    T* const own = memory.slots() + Memory::slot(thread);
    for (int k = 0; k < items; ++k)
      if (k * threads < have) own[k * stride] = x[k];
  }
  template <class Out>
  PMPP_HOST_DEVICE void write(const Out& out, Memory& memory) const {
    const T* const own = memory.slots() + Memory::slot(thread);
    const Out to = out + thread;
    for (int k = 0; k < items; ++k)
      if (k * threads < have) block::assign(to, k * threads, own[k * stride]);
  }
};

/// Elements of a thread: as many of 8 bytes as of 4, so that tiles are not shorter.
constexpr int segment_items(int bytes_of_thread, int bytes) {
  return block::odd_items(bytes_of_thread, bytes <= 8 ? 4 : bytes);
}
/// Threads of a block: few have less to wait for, but segments of 4096 elements should not have to be merged.
constexpr int segment_threads(int threads, int items, int bytes, int tile_bytes) {
  while (threads / 2 * items >= 4096) threads /= 2;
  return sort_threads(threads, items * bytes, tile_bytes);
}

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
/// The runs of a segment.
template <int Ways, class It>
PMPP_HOST_DEVICE block::sorted_runs<Ways, It> runs_of(const block::staged_input<It>& source, const merged_tile& t) {
  return {staged_from(source, t.segment.begin, t.segment.end - t.segment.begin), t.run};
}

/// What passes over the large segments need. All segments that take part go from one array to the other; those that are not
/// so long join in later, so that all end in the data.
template <class Data, class Other, class Comp>
struct merge_arguments {
  block::staged_input<Data> data;
  block::staged_input<Other> other;
  segment_cut cut;
  segment_place* large;  ///< for each window: the large segment to which its last element belongs
  /// Words that are zero. Short inputs: for each window, what has been done of the large segment that begins there. Long ones:
  /// a barrier, and the passes that the longest segment needs.
  unsigned* state;
  Comp comp;

  /// Makes the pass before which `left` are left: merge(from, to).
  template <class Merge>
  PMPP_HOST_DEVICE void make_pass(int left, const Merge& merge) const {
    const bool from_data = left % 2 == 0;
    if constexpr (std::is_same_v<Data, Other>)
      merge(from_data ? data : other, (from_data ? other : data).in);
    else if (from_data)
      merge(data, other.in);
    else
      merge(other, data.in);
  }
  /// Makes the passes of long inputs: merge_pass(left, from, to). All blocks call it.
  template <class Block, class MergePass>
  PMPP_HOST_DEVICE void make_passes(Block& block, block::grid_barrier& barrier, const MergePass& merge_pass) const {
    const int passes = static_cast<int>(state[2]);
    for (int left = passes; left > 0; --left) {
      if (left < passes) barrier.sync(block);
      make_pass(left, [&](const auto& from, const auto& to) { merge_pass(left, from, to); });
    }
    block.sync();  // all threads have read how many passes there are
    if (block.thread() == 0 && barrier.leave(block)) {
      simt::store(state, 0u);
      state[2] = 0;
    }
  }
};

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

/// Sorts the tiles of all windows; of a short input also merges the large segments.
template <class T, class In, class Data, class Other, class Offsets, class Comp, sort_tuning Tuning, bool Short>
struct sort_windows_kernel {
  using words = typename sort_words<T, Comp>::type;
  /// Whether warps together sort long segments by networks too.
  static constexpr bool by_networks = Short && !std::is_void_v<words> && sizeof(T) <= 8;
  static constexpr int items = by_networks ? 8 : segment_items(Tuning.bytes, sizeof(T)),
                       threads = by_networks ? min(Tuning.threads, Tuning.network_threads)
                                             : segment_threads(Tuning.threads, items, sizeof(T), Tuning.tile_bytes),
                       tile = threads * items;
  using memory_of_short = block::short_segments_memory<T, threads, items>;
  using memory_of_long = typename memory_of_words<words, T, by_networks ? threads : 0, items>::type;
  using memory_of_block = block::segmented_sort_memory<T, threads, items>;
  using merger = merge_where_sorted<T, threads, items | 1>;

  struct shared {
    union {
      memory_of_short of_short;
      memory_of_block of_block;
      typename merger::shared of_merge;
    };
    memory_of_long of_long;
    window_plan plan;
    offset_place first[2];  ///< among the offsets: of the window, and of the next one
  };
  static constexpr int min_blocks =
      max(1, min(1024 / threads / (items * int(sizeof(T)) > 136 ? 2 : 1), 227 * 1024 / int(sizeof(shared) + 1024)));

  struct arguments {
    In in;
    window_planner<Offsets> planner;
    std::int64_t windows;
    window_plan* plans;  ///< of a short input each block makes its own, and keeps it here while it merges
    merge_arguments<Data, Other, Comp> merging;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    int passes = 0;
    for (std::int64_t w = block.index(); w < a.windows; w += block.count()) {
      get_plan(block, memory, a, w);
      for (int k = 0; k < 3; ++k) {
        const tile_part& p = memory.plan.parts[k];
        if (p.count == 0) continue;
        if (!sort_by_networks(block, memory, a, p)) sort_by_merging(block, memory.of_block, a, p);
        if constexpr (Short)
          if (p.passes > 0) merger::arrive(block, a.merging, p);
        passes = max(passes, p.passes);
      }
      block.sync();
    }
    if constexpr (Short)
      for (int pass = 0; pass < passes; ++pass)
        for (std::int64_t w = block.index(); w < a.windows; w += block.count()) {
          if (a.windows > block.count()) load_plan(block, memory, a, w);
          for (const tile_part& p : memory.plan.parts)
            if (p.passes > pass) merger::merge(block, memory.of_merge, a.merging, p, pass);
          block.sync();
        }
  }

private:
  template <class Block>
  PMPP_HOST_DEVICE static void get_plan(Block& block, shared& memory, const arguments& a, std::int64_t w) {
    if constexpr (Short) {
      for (int k = block.warp(); k < 2; k += block.warps()) {
        const offset_place first = a.planner.first_from(block, w + k);
        if (block.lane() == 0) memory.first[k] = first;
      }
      block.sync();
      if (block.thread() == 0) {
        segment_place large;
        memory.plan = a.planner.plan(w, memory.first[0], memory.first[1], large);
        if (a.windows > block.count()) a.plans[w] = memory.plan;
      }
      block.sync();
    } else {
      load_plan(block, memory, a, w);
      if (const tile_part& p = memory.plan.parts[2]; block.thread() == 0 && p.count > 0)
        simt::atomic_max(a.merging.state + 2, static_cast<unsigned>(p.passes));
    }
  }
  template <class Block>
  PMPP_HOST_DEVICE static void load_plan(Block& block, shared& memory, const arguments& a, std::int64_t w) {
    if (block.thread() == 0) memory.plan = a.plans[w];
    block.sync();
  }

  /// Sorts elements by networks, which is less work. False: too many segments are empty, or one is too long.
  template <class Block>
  PMPP_HOST_DEVICE static bool sort_by_networks([[maybe_unused]] Block& block, [[maybe_unused]] shared& memory,
                                                [[maybe_unused]] const arguments& a,
                                                [[maybe_unused]] const tile_part& p) {
    if constexpr (std::is_void_v<words>) {
      return false;
    } else {
      const bool one = p.last - p.first < 2;
      const std::int64_t segments = one ? 1 : p.last - p.first;
      if (segments > 32 * tile || (!by_networks && p.count > segments * block::short_segment)) return false;
      const auto begin_of = [&](std::int64_t s) {
        return one ? static_cast<int>(s) * p.count : p.begin_of(a.planner.offsets, p.first + s);
      };
      memory_of_short& of_short = memory.of_short;
      const tile_mover<memory_of_short> mover{block.thread(), p.count - block.thread()};
      T x[items]{};
      mover.read(x, a.in + p.from);
      if constexpr (by_networks) {
        if (block.thread() == 0) memory.of_long.count = 0;
        block.sync();  // and what the tile before has left is not needed any more
      }
      bool longer = false;
      for (std::int64_t s = block.thread(); s < segments; s += threads) {  // all loads under way: no short cut
        const int begin = begin_of(s), length = begin_of(s + 1) - begin;
        if constexpr (by_networks) {
          if (length > memory_of_long::longest_short) memory.of_long.note(begin, length);
        } else {
          longer |= length > block::short_segment;
        }
      }
      if constexpr (!by_networks)
        if (block.sync_or(longer)) return false;
      mover.put(of_short, x);
      block.sync();
      if constexpr (by_networks)
        block::sort_all_segments<words>(block, of_short, memory.of_long, segments, begin_of);
      else
        block::sort_short_segments<words>(block, of_short, segments, begin_of);
      block.sync();
      if (p.passes % 2 != 0)
        mover.write(a.merging.other.in + p.from, of_short);
      else
        mover.write(a.merging.data.in + p.from, of_short);
      return true;
    }
  }

  template <class Block>
  PMPP_HOST_DEVICE static void sort_by_merging(Block& block, memory_of_block& memory, const arguments& a,
                                               const tile_part& p) {
    const bool one = p.last - p.first < 2;
    const tile_mover<memory_of_block> mover{block.thread(), p.count - block.thread()};
    T x[items]{};  // set where there is an element
    mover.read(x, a.in + p.from);
    block.sync();  // what the tile before has left is not needed any more
    if (!one) {
      for (int i = block.thread(); i < tile / 32 + 1; i += threads) memory.head[i] = 0;
      if (block.thread() == 0) memory.longest = 0;
      block.sync();
      mark_heads(block, memory, a, p);
    }
    mover.put(memory, x);
    block.sync();
    block::segmented_sort(block, memory, p.count, one ? p.count : memory.longest, a.merging.comp);
    if (p.passes % 2 != 0)
      mover.write(a.merging.other.in + p.from, memory);
    else
      mover.write(a.merging.data.in + p.from, memory);
  }

  /// Each segment that is not empty marks its first element; the longest is found. Where far more segments than elements
  /// begin, all of them but a few empty, each element searches for its segment instead.
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
          const std::int64_t s = min(next + k * threads, last - 1);
          begin[k] = p.begin_of(a.planner.offsets, s);
          end[k] = p.begin_of(a.planner.offsets, s + 1);
        }
        for (int k = 0; k < at_once; ++k) {
          if (begin[k] >= end[k] || next + k * threads >= last) continue;
          simt::atomic_or(&memory.head[begin[k] / 32], 1u << begin[k] % 32);
          longest = max(longest, end[k] - begin[k]);
        }
      }
    } else {
      longest = count - 1;  // not known
      for (int i = block.thread(); i < count; i += threads) {
        std::int64_t low = first, high = last;  // the first segment that begins at element i or after it
        while (low < high) {
          const std::int64_t s = low + (high - low) / 2;
          if (a.planner.offset(s) < p.from + i)
            low = s + 1;
          else
            high = s;
        }
        if (low < last && a.planner.offset(low) == p.from + i) simt::atomic_or(&memory.head[i / 32], 1u << i % 32);
      }
    }
    longest = block.warp_max(longest);
    if (block.lane() == 0) simt::atomic_max(&memory.longest, longest);
  }
};

/// Merges the large segments of a long input: four runs become one.
///
/// Where the tiles of a pass begin in their runs four lanes each find first; then blocks make the tiles. Which tile is whose
/// is said by slots: the tiles of a segment have one each, from that of the segment's first element on. Segments that take
/// part are longer than a run, so that with slots of tile * run / (tile + run) elements none has more tiles than slots.
template <class T, class Data, class Other, class Comp, sort_tuning Tuning, int Run>
struct merge_segments_kernel {
  static constexpr int items = block::odd_items(Tuning.four_bytes, sizeof(T)),
                       threads = sort_threads(min(Tuning.threads, Tuning.pass_threads), items*int(sizeof(T)),
                                              Tuning.tile_bytes);
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
      max(1, min(min(32, block::resident_threads(Tuning.pass_resident, items* int(sizeof(T))) / threads),
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

/// The window of a short input: as many as there are multiprocessors, or twice as many, ..., until those that have to do with
/// one at a time have half of a tile each or a multiprocessor has room for no more. Then they may fill the tile almost.
inline std::int64_t short_window(std::int64_t n, std::int64_t tile, int processors, int of_processor) {
  for (int blocks = 1;; ++blocks) {
    const std::int64_t window = ceil_div(n, std::int64_t(blocks) * processors);
    if (window <= (blocks < of_processor ? tile / 2 : tile - tile / 64)) return max(window, tile / 8);
  }
}

/// The tuning of short inputs: threads have fewer elements and are done sooner.
template <sort_tuning Tuning>
constexpr sort_tuning short_segmented_tuning() {
  sort_tuning tuning = Tuning;
  tuning.bytes = min(Tuning.bytes, Tuning.segmented_bytes);
  return tuning;
}

/// Enqueues the sort on a GPU or runs it in the emulator: from `in` to `data`, which may be the same. Of a short input each
/// block finds out what it sorts, and all wait for each other between passes: one launch. False: blocks have too little memory.
template <sort_tuning Tuning, bool Short, class T, class P, class In, class Data, class Offsets, class Comp>
bool sort_windows(const P& where, const In& in, const Data& data, std::int64_t n, const input<Offsets>& offsets,
                  const Comp& comp) {
  using home = second_home<T>;
  using Other = typename home::iterator;
  using sort_kernel = sort_windows_kernel<T, In, Data, Other, Offsets, Comp, Tuning, Short>;
  using merge_kernel = merge_segments_kernel<T, Data, Other, Comp, Tuning, sort_kernel::tile>;
  static_assert(
      sizeof(typename sort_kernel::shared) <= 227 * 1024 && sizeof(typename merge_kernel::shared) <= 227 * 1024,
      "pmpp: elements of more than about 450 bytes cannot be sorted");
  const machine& m = machine_of(where);
  if (!all_fit<sort_kernel>(m) || (!Short && !all_fit<merge_kernel>(m))) return false;
  segment_cut cut{sort_kernel::tile, sort_kernel::tile - sort_kernel::tile / 8, Short ? 2 : 4};
  const std::int64_t resident = resident_blocks<sort_kernel>(m);
  if constexpr (Short)
    cut.window = short_window(n, cut.tile, m.multiprocessors, static_cast<int>(resident / m.multiprocessors));
  const bool passes = cut.passes(n) > 0;
  const std::int64_t windows = ceil_div(n, cut.window), others = passes ? n : 0;
  const std::int64_t plans = Short && !passes ? 0 : windows,
                     slots = Short || !passes ? 0 : ceil_div(n, merge_kernel::slot);
  scratch memory(where,
                 scratch_bytes({home::bytes(others), checked_bytes(plans, sizeof(window_plan), "segmented_sort"),
                                checked_bytes(Short ? 0 : windows, sizeof(segment_place), "segmented_sort"),
                                checked_bytes(slots, sizeof(typename merge_kernel::slot_content), "segmented_sort")}),
                 passes ? checked_bytes(Short ? windows : 3, sizeof(unsigned), "segmented_sort") : 0);
  const Other other = home::of(memory, others);
  window_plan* const planned = memory.take<window_plan>(plans);
  const merge_arguments<Data, Other, Comp> merging{block::staged_input<Data>(data, n),
                                                   block::staged_input<Other>(other, n),
                                                   cut,
                                                   memory.take<segment_place>(Short ? 0 : windows),
                                                   memory.state(),
                                                   comp};
  const typename sort_kernel::arguments sorting{in, {offsets.first, offsets.count, cut}, windows, planned, merging};
  if constexpr (Short) {
    if (passes)
      detail::launch_together_at_most(where, min(windows, resident), sort_kernel{}, sorting);
    else
      pmpp::launch(where, windows, sort_kernel{}, sorting);
  } else {
    using plan_kernel = plan_windows_kernel<Offsets>;
    launch(where, ceil_div(windows, std::int64_t(plan_kernel::windows)), plan_kernel{},
           typename plan_kernel::arguments{sorting.planner, windows, planned, merging.large});
    pmpp::launch(where, windows, sort_kernel{}, sorting);
    if (passes)
      detail::launch_together_at_most(
          where, min(slots, resident_blocks<merge_kernel>(m)), merge_kernel{},
          typename merge_kernel::arguments{merging, slots, memory.take<typename merge_kernel::slot_content>(slots)});
  }
  return true;
}

template <sort_tuning Tuning, class T, class P, class In, class Data, class Offsets, class Comp>
void segmented_sort_on_blocks(const P& where, const In& in, const Data& data, std::int64_t n,
                              const input<Offsets>& offsets, const Comp& comp) {
  if (n <= Tuning.segmented_short &&
      sort_windows<short_segmented_tuning<Tuning>(), true, T>(where, in, data, n, offsets, comp))
    return;
  if (sort_windows<Tuning, false, T>(where, in, data, n, offsets, comp)) return;
  using Other = typename second_home<T>::iterator;
  using kernel = sort_windows_kernel<T, In, Data, Other, Offsets, Comp, Tuning, false>;
  if constexpr (!fit_everywhere<P, kernel>)
    if (sort_windows<least_tuning<Tuning>(), false, T>(where, in, data, n, offsets, comp)) return;
  refuse_elements("segmented_sort", sizeof(T), sizeof(typename kernel::shared), machine_of(where));
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
void sort_stored_segments(const char* function, const P& where, const input<Data>& in, const input<Offsets>& offsets,
                          const Comp& comp) {
  using T = value_of<Data>;
  require_offsets(function, offsets);
  check_offsets(where, in, offsets);
  if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, function, zip_iterator{in.first, offsets.first});
    if (in.count.bound > 0 && offsets.count.bound > 1)
      segmented_sort_on_blocks<Tuning, T>(where, in.first, in.first, in.count.bound, offsets, merging_order<T>(comp));
  } else {
    segmented_sort_on_host<Tuning, T>(where, in.first, offsets.first, offsets.count.get() - 1, comp);
  }
}
template <sort_tuning Tuning, class P, class Data, class Offsets, class Comp>
void sort_segments(const char* function, const P& where, const input<Data>& in, const input<Offsets>& offsets,
                   const Comp& comp) {
  if constexpr (require_marked<gpu_execution<P>, Comp>() && require_sortable<Comp, value_of<Data>>())
    sort_stored_segments<Tuning>(function, where, with_stored(in), offsets, on_values<value_of<Data>>(comp));
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
/// The result is unique: the same on every run. Asynchronous on a GPU; may be captured. Scratch: n elements and 2 % (330
/// bytes for each window of 3808 elements of up to 8 bytes), from the workspace or one allocation in stream order; for n
/// up to a tile, 4096 such elements, a few bytes. Cost: 2n elements of traffic and the offsets, and 2m for each factor of
/// four (two for n up to 2^21) from a tile of 4352 to the longest segment, where m elements lie in segments so long. Time
/// depends on n and the number of segments, not on which are long. Launches: one for n up to 2^21, otherwise three.
/// \throws std::invalid_argument for a null or reversed range or for no offsets; out_of_memory, cuda_error.
/// Source: PMPP ch. 13; Baxter, moderngpu, 2013. Example: test/segmented_sort.cpp, sorts.
template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, range_for<P> R, range_for<P> Offsets,
          class Comp = less>
void segmented_sort(const P& where, R&& r, Offsets&& offsets, Comp comp = {}) {
  const auto in = detail::input_of("segmented_sort", r);
  const auto at = detail::input_of("segmented_sort", offsets);
  detail::check_output("segmented_sort", "r", in.first, in.count.bound, at);
  detail::sort_segments<Tuning>("segmented_sort", where, in, at, comp);
}

/// Sorts the keys of each segment as segmented_sort does, and moves the value of each key along with it.
///
/// \param values  a range as long as keys, or an iterator; visible to `where`.
/// Scratch: n keys and n values. \throws as segmented_sort; std::length_error if the values are fewer than the keys.
/// Example: test/segmented_sort.cpp, by_key.
template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, range_for<P> K, output_for<P> V,
          range_for<P> Offsets, class Comp = less>
void segmented_sort_by_key(const P& where, K&& keys, V&& values, Offsets&& offsets, Comp comp = {}) {
  const char* const function = "segmented_sort_by_key";
  const auto in = detail::parts_apart(function, "values", detail::pairs_of(function, keys, values));
  const auto at = detail::input_of(function, offsets);
  detail::check_apart(function, "keys or values", in.first, in.count.bound, at);
  detail::sort_segments<Tuning>(function, where, in, at, detail::by_first<Comp>{comp});
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, random_access It, end_of<It> End, random_access_range Offsets, class Comp = less>
void segmented_sort(const P& where, It first, End last, Offsets&& offsets, Comp comp = {}) { segmented_sort<Tuning>(where, subrange{first, last}, offsets, comp); }

template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, random_access It, end_of<It> End, random_access Off, end_of<Off> OffEnd, class Comp = less>
void segmented_sort(const P& where, It first, End last, Off offsets, OffEnd offsets_end, Comp comp = {}) { segmented_sort<Tuning>(where, subrange{first, last}, subrange{offsets, offsets_end}, comp); }

template <sort_tuning Tuning = tuned<sort_tuning>, execution_policy P, random_access K, end_of<K> End, output V, random_access_range Offsets, class Comp = less>
void segmented_sort_by_key(const P& where, K first, End last, V&& values, Offsets&& offsets, Comp comp = {}) { segmented_sort_by_key<Tuning>(where, subrange{first, last}, values, offsets, comp); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
