// SPDX-License-Identifier: Apache-2.0
//
// The kernel that sorts the tiles of all windows: by networks where it can, otherwise by merging. Of a short input its blocks
// then merge the large segments too.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/merge.hpp>
#include <pmpp/block/segmented_sort.hpp>
#include <pmpp/block/short_segments.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/segmented_sort/large_segments.hpp>
#include <pmpp/segmented_sort/windows.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/sort/merge_sort.hpp>
#include <pmpp/sort/radix_keys.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// Tiles of windows.
struct sort_windows_tuning {
  int threads = 512;  ///< of a block, at most: half where that leaves tiles of 4096
  int bytes = 64;     ///< of a thread's elements: 17 of up to 8 bytes. 2^26 keys in segments of 4096: 884 (1470)
  int block_bytes = 96 * 1024;  ///< of all elements of a block, about, at most
  int network_threads = 512;    ///< of a block where networks sort all. 2^20 keys in segments of 4096: 28.2 (29.7)
};

namespace detail {

/// Elements as unsigned words in their order, for networks (block/short_segments.hpp); void where there are none.
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
  PMPP_HOST_DEVICE void write(const Out& out, Memory& memory, int begin, int end) const {
    const T* const own = memory.slots() + Memory::slot(thread);
    const Out to = out + thread;
    for (int k = 0; k < items; ++k)
      if (k * threads >= begin - thread && k * threads < end - thread) block::assign(to, k * threads, own[k * stride]);
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

/// Sorts the tiles of all windows; of a short input also merges the large segments.
template <class T, class In, class Data, class Other, class Offsets, class Comp, sort_windows_tuning Tuning, bool Short>
struct sort_windows_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  using words = typename sort_words<T, Comp>::type;
  /// Whether warps together sort long segments by networks too.
  static constexpr bool by_networks = Short && !std::is_void_v<words> && sizeof(T) <= 8;
  static constexpr int items = by_networks ? 8 : segment_items(Tuning.bytes, sizeof(T)),
                       threads = by_networks ? min(Tuning.threads, Tuning.network_threads)
                                             : segment_threads(Tuning.threads, items, sizeof(T), Tuning.block_bytes),
                       tile = threads * items;
  using memory_of_short = block::short_segments_memory<T, threads, items>;
  using memory_of_long = typename memory_of_words<words, T, by_networks ? threads : 0, items>::type;
  using memory_of_block = block::segmented_sort_memory<T, threads, items>;
  using merger = merge_where_sorted<T, threads, items | 1>;

  static constexpr int ways = Short ? 2 : 4;  ///< runs that a pass makes one of
  using number = typename segment_cut<ways>::number;
  using part = tile_part<number>;

  struct shared {
    union {
      memory_of_short of_short;
      memory_of_block of_block;
      typename merger::shared of_merge;
    };
    memory_of_long of_long;
    window_plan<number> plan;
    typename window_planner<Offsets, ways>::place first[2];  ///< among the offsets: of the window, and of the next one
  };
  static constexpr int min_blocks =
      max(1, min(1024 / threads / (items * int(sizeof(T)) > 136 ? 2 : 1), 227 * 1024 / int(sizeof(shared) + 1024)));

  struct arguments {
    In in;
    item_count count;
    window_planner<Offsets, ways> planner;
    std::int64_t windows;
    window_plan<number>* plans;  ///< of a short input each block makes its own, and keeps it here while it merges
    merge_arguments<Data, Other, Comp, ways> merging;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    int passes = 0;
    for (std::int64_t w = block.index(); w < a.windows; w += block.count()) {
      get_plan(block, memory, a, w);
      for (int k = 0; k < 3; ++k) {
        const part& p = memory.plan.parts[k];
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
          for (const part& p : memory.plan.parts)
            if (p.passes > pass) merger::merge(block, memory.of_merge, a.merging, p, pass);
          block.sync();
        }
  }

private:
  template <class Block>
  PMPP_HOST_DEVICE static void get_plan(Block& block, shared& memory, const arguments& a, std::int64_t w) {
    if (Short && a.windows == 1) {  // there is nothing to find: elements need not wait for offsets
      if (block.thread() < 3) memory.plan.parts[block.thread()].count = 0;
      if (block.thread() == 1) memory.plan.parts[1] = a.planner.all(a.count.get());
      block.sync();
    } else if constexpr (Short) {
      for (int k = block.warp(); k < 2; k += block.warps()) {
        const auto first = a.planner.first_from(block, w + k);
        if (block.lane() == 0) memory.first[k] = first;
      }
      block.sync();
      if (block.thread() == 0) {
        segment_place<number> large;
        memory.plan = a.planner.plan(static_cast<number>(w), memory.first[0], memory.first[1], large);
        if (a.windows > block.count()) a.plans[w] = memory.plan;
      }
      block.sync();
    } else {
      load_plan(block, memory, a, w);
      if (const part& p = memory.plan.parts[2]; block.thread() == 0 && p.count > 0)
        simt::atomic_max(a.merging.state + 2, static_cast<unsigned>(p.passes));
    }
  }
  template <class Block>
  PMPP_HOST_DEVICE static void load_plan(Block& block, shared& memory, const arguments& a, std::int64_t w) {
    if (block.thread() == 0) memory.plan = a.plans[w];
    block.sync();
  }

  /// Writes the elements [from, to) of a sorted tile where its segment's first pass, or the caller, looks for them.
  template <class Memory>
  PMPP_HOST_DEVICE static void write(const arguments& a, const part& p, const tile_mover<Memory>& mover, Memory& memory,
                                     int from, int to) {
    const bool to_other = p.passes % 2 != 0;
    if constexpr (std::is_same_v<Data, Other>)
      mover.write((to_other ? a.merging.other : a.merging.data).in + p.from, memory, from, to);
    else if (to_other)
      mover.write(a.merging.other.in + p.from, memory, from, to);
    else
      mover.write(a.merging.data.in + p.from, memory, from, to);
  }

  /// Sorts elements by networks, which is less work. False: too many segments are empty, or one is too long.
  template <class Block>
  PMPP_HOST_DEVICE static bool sort_by_networks([[maybe_unused]] Block& block, [[maybe_unused]] shared& memory,
                                                [[maybe_unused]] const arguments& a, [[maybe_unused]] const part& p) {
    if constexpr (std::is_void_v<words>) {
      return false;
    } else {
      const bool one = p.first == p.last;
      const number all = one ? 1 : p.last - p.first;
      if (all > 32 * tile || (!by_networks && p.count > all * block::short_segment)) return false;
      const auto segments = static_cast<int>(all);
      const auto begin_of = [&](int s) { return one ? s * p.count : p.begin_of(a.planner.offsets, p.first + s); };
      memory_of_short& of_short = memory.of_short;
      const tile_mover<memory_of_short> mover{block.thread(), p.count - block.thread()};
      T x[items]{};
      mover.read(x, a.in + p.from);
      const int from = Short ? begin_of(0) : 0, to = Short ? begin_of(segments) : p.count;
      if constexpr (by_networks) {
        if (block.thread() == 0) memory.of_long.count = 0;
        block.sync();  // and what the tile before has left is not needed any more
      }
      bool longer = false;
      for (int s = block.thread(); s < segments; s += threads) {  // all loads under way: no short cut
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
      write(a, p, mover, of_short, from, to);
      return true;
    }
  }

  template <class Block>
  PMPP_HOST_DEVICE static void sort_by_merging(Block& block, memory_of_block& memory, const arguments& a,
                                               const part& p) {
    const bool one = p.first == p.last;
    const tile_mover<memory_of_block> mover{block.thread(), p.count - block.thread()};
    T x[items]{};  // set where there is an element
    mover.read(x, a.in + p.from);
    const bool whole = one || !Short;
    const int from = whole ? 0 : p.begin_of(a.planner.offsets, p.first),
              to = whole ? p.count : p.begin_of(a.planner.offsets, p.last);
    block.sync();  // what the tile before has left is not needed any more
    if (!one) {
      for (int i = block.thread(); i < tile / 32 + 1; i += threads) memory.head[i] = 0;
      if (block.thread() == 0) memory.longest = 0;
      block.sync();
      mark_heads(block, memory, a, p, to);
    }
    mover.put(memory, x);
    block.sync();
    block::segmented_sort(block, memory, to, one ? to : memory.longest, a.merging.comp);
    write(a, p, mover, memory, from, to);
  }

  /// Each segment that is not empty marks its first element; the longest is found. Where far more segments than elements
  /// begin, all of them but a few empty, each element searches for its segment instead.
  template <class Block>
  PMPP_HOST_DEVICE static void mark_heads(Block& block, memory_of_block& memory, const arguments& a, const part& p,
                                          int count) {
    const number first = p.first, last = p.last;
    int longest = 0;
    if (last - first <= 32 * tile) {
      constexpr int at_once = 4;
      for (number next = first + block.thread(); next < last; next += at_once * threads) {
        int begin[at_once], end[at_once];
        for (int k = 0; k < at_once; ++k) {
          const number s = min(next + k * threads, last - 1);
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
        number low = first, high = last;  // the first segment that begins at element i or after it
        while (low < high) {
          const number s = low + (high - low) / 2;
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

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
