// SPDX-License-Identifier: Apache-2.0
//
// Sorting many segments of an array, each by itself: segmented_sort, segmented_sort_by_key.
//
//   offsets  0     3 3         8       segment s is [offsets[s], offsets[s + 1]); segment 1 is empty
//   data     3 1 2   5 4 4 9 0
//   sorted   1 2 3   0 4 4 5 9
//
//   Up to 512 elements have their places counted by one block (segmented_sort/by_rank.hpp). Of more:
//
//   1. The array is cut into windows of 7/8 of a tile, a block for each (segmented_sort/windows.hpp). What a block sorts
//      together are the segments that begin in its window. Only the last of them can lie past the window's end: if it does
//      not fit into the tile it is a large one.
//
//          window     |               |               |               |
//          segments     a  b  c   d d d d   L L L L L L L L L L L L e
//          tiles        [ a b c d ]        [ 1st tile  ]               of L: sorted by the block in whose window it begins
//                                                     [ 2nd tile ] [e]
//
//   2. Blocks sort their tiles (segmented_sort/sort_windows.hpp): by networks where all segments are short and their elements
//      numbers, of short inputs all; otherwise by merging.
//   3. A large segment is cut into tiles from its beginning; then passes make one run of two (of four where inputs are long),
//      in all large segments at once (segmented_sort/large_segments.hpp).
//
// Short inputs take one launch, in which the blocks that have tiles of a large segment wait for each other; long ones three,
// one for each step.
//
// Segments of any sizes together: the work of a block depends on positions in the array alone, and one segment of
// everything uses the whole machine. Traffic: 2n elements and the offsets, and 2m for each pass, where m elements lie in
// segments longer than the pass's runs; as many passes as the longest segment needs. Stable. (PMPP ch. 13; Baxter, 2013.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/check_each.hpp>
#include <pmpp/core/callable.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/search.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch_together.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/segmented_sort/by_rank.hpp>
#include <pmpp/segmented_sort/large_segments.hpp>
#include <pmpp/segmented_sort/sort_windows.hpp>
#include <pmpp/segmented_sort/windows.hpp>
#include <pmpp/sort.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// How segmented_sort goes about it. Figures, here and in the parts, as in sort_tuning.
struct segmented_sort_tuning {
  int ranked = 512;  ///< up to this many elements one block counts their places (0: never)
  std::int64_t short_limit = std::int64_t(1) << 21;  ///< up to this many elements one launch sorts all
  int short_bytes = 36;  ///< of a thread's elements there. 2^16 keys in segments of 1000: 14.4 (16.7)
  sort_windows_tuning windows{};
  merge_segments_tuning merges{};

  /// The same for short inputs: threads have fewer elements and are done sooner.
  constexpr segmented_sort_tuning for_short() const {
    segmented_sort_tuning t = *this;
    t.windows.bytes = min(windows.bytes, short_bytes);
    return t;
  }
  /// The same where a block has 48 KB.
  constexpr segmented_sort_tuning least() const {
    segmented_sort_tuning t = *this;
    t.windows.block_bytes = min(windows.block_bytes, 40 * 1024);
    t.merges.block_bytes = min(merges.block_bytes, 40 * 1024);
    return t;
  }
};

namespace detail {

/// The window of a short input: one of all where that is half of a tile at most; else as many as there are multiprocessors, or
/// twice as many, ..., until those that have to do with one at a time have half of a tile each or a multiprocessor has room for
/// no more. Then they may fill the tile almost.
inline std::int64_t short_window(std::int64_t n, std::int64_t tile, int processors, int of_processor) {
  if (n <= tile / 2) return tile / 2;
  for (int blocks = 1;; ++blocks) {
    const std::int64_t window = ceil_div(n, std::int64_t(blocks) * processors);
    if (window <= (blocks < of_processor ? tile / 2 : tile - tile / 64)) return max(window, tile / 8);
  }
}

/// Enqueues the sort on a GPU or runs it in the emulator: from `in` to `data`, which may be the same. Of a short input each
/// block finds out what it sorts, and all wait for each other between passes: one launch. False: blocks have too little memory.
template <segmented_sort_tuning Tuning, bool Short, class T, class P, class In, class Data, class Offsets, class Comp>
bool sort_windows(const P& where, const In& in, const Data& data, const item_count& count,
                  const input<Offsets>& offsets, const Comp& comp) {
  const std::int64_t n = count.bound;
  using home = second_home<T>;
  using Other = typename home::iterator;
  using sort_kernel = sort_windows_kernel<T, In, Data, Other, Offsets, Comp, Tuning.windows, Short>;
  using merge_kernel = merge_segments_kernel<T, Data, Other, Comp, Tuning.merges, sort_kernel::tile>;
  static_assert(
      sizeof(typename sort_kernel::shared) <= 227 * 1024 && sizeof(typename merge_kernel::shared) <= 227 * 1024,
      "pmpp: elements of more than about 450 bytes cannot be sorted");
  const machine& m = machine_of(where);
  if (!all_fit<sort_kernel>(m) || (!Short && !all_fit<merge_kernel>(m))) return false;
  using number = typename sort_kernel::number;
  constexpr int tile = sort_kernel::tile;
  const std::int64_t resident = resident_blocks<sort_kernel>(m);
  const std::int64_t window =
      Short ? short_window(n, tile, m.multiprocessors, static_cast<int>(resident / m.multiprocessors))
            : tile - tile / 8;
  const segment_cut<sort_kernel::ways> cut{divisor(tile), divisor(window)};
  const bool passes = cut.passes(n) > 0;
  const std::int64_t windows = ceil_div(n, window), others = passes ? n : 0;
  const std::int64_t plans = Short && !passes ? 0 : windows,
                     slots = Short || !passes ? 0 : ceil_div(n, merge_kernel::slot);
  scratch memory(
      where,
      scratch_bytes({home::bytes(others), checked_bytes(plans, sizeof(window_plan<number>), "segmented_sort"),
                     checked_bytes(Short ? 0 : windows, sizeof(segment_place<number>), "segmented_sort"),
                     checked_bytes(slots, sizeof(typename merge_kernel::slot_content), "segmented_sort")}),
      passes ? checked_bytes(Short ? windows : 3, sizeof(unsigned), "segmented_sort") : 0);
  const Other other = home::of(memory, others);
  auto* const planned = memory.take<window_plan<number>>(plans);
  const merge_arguments<Data, Other, Comp, sort_kernel::ways> merging{
      block::staged_input<Data>(data, n),
      block::staged_input<Other>(other, n),
      cut,
      memory.take<segment_place<number>>(Short ? 0 : windows),
      memory.state(),
      comp};
  const typename sort_kernel::arguments sorting{in,      count,   {offsets.first, offsets.count, cut},
                                                windows, planned, merging};
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

template <segmented_sort_tuning Tuning, class T, class P, class In, class Data, class Offsets, class Comp>
void segmented_sort_on_blocks(const P& where, const In& in, const Data& data, const item_count& n,
                              const input<Offsets>& offsets, const Comp& comp) {
  if constexpr (Tuning.ranked > 0 && sizeof(T) <= 16)
    if (sort_segments_by_rank<T, Tuning.ranked>(where, in, data, n, offsets, comp)) return;
  static_assert(Tuning.short_limit <= 1 << 30);
  if (n.bound <= Tuning.short_limit && offsets.count.bound <= 1 << 30 &&
      sort_windows<Tuning.for_short(), true, T>(where, in, data, n, offsets, comp))
    return;
  if (sort_windows<Tuning, false, T>(where, in, data, n, offsets, comp)) return;
  using Other = typename second_home<T>::iterator;
  using kernel = sort_windows_kernel<T, In, Data, Other, Offsets, Comp, Tuning.windows, false>;
  if constexpr (!fit_everywhere<P, kernel>)
    if (sort_windows<Tuning.least(), false, T>(where, in, data, n, offsets, comp)) return;
  refuse_elements("segmented_sort", sizeof(T), sizeof(typename kernel::shared), machine_of(where));
}

/// seq: one segment after the other. host: so for segments that are long; the others are shared out by elements.
template <class T, class P, class Data, class Offsets, class Comp>
void segmented_sort_on_host(const P& where, const Data& data, const Offsets& offsets, std::int64_t segments,
                            const Comp& comp) {
  constexpr std::int64_t long_segment = std::int64_t(1) << 17;
  const auto offset = [&](std::int64_t s) { return static_cast<std::int64_t>(offsets[s]); };
  const auto sort_one = [&](const auto& policy, std::int64_t s) {
    const std::int64_t n = offset(s + 1) - offset(s);
    const auto part = data + offset(s);
    if (n > 1) sort_elements<tuned<sort_tuning>, T>("segmented_sort", policy, part, part, item_count{n}, comp);
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

template <segmented_sort_tuning Tuning, class P, class Data, class Offsets, class Comp>
void sort_segments(const char* function, const P& where, const input<Data>& original, const input<Offsets>& offsets,
                   const Comp& comp_of_values) {
  if constexpr (require_marked<gpu_execution<P>, Comp>() && require_sortable<Comp, value_of<Data>>()) {
    const auto in = with_stored(original);
    const auto comp = on_values<value_of<Data>>(comp_of_values);
    using T = value_of<std::remove_const_t<decltype(in.first)>>;
    require_offsets(function, in, offsets);
    check_offsets(where, in, offsets);
    if constexpr (kernel_execution<P>) {
      detail::check_reachable(where, function, zip_iterator{in.first, offsets.first});
      if (in.count.bound > 0 && offsets.count.bound > 1)
        segmented_sort_on_blocks<Tuning, T>(where, in.first, in.first, in.count, offsets, merging_order<T>(comp));
    } else {
      segmented_sort_on_host<T>(where, in.first, offsets.first, offsets.count.get() - 1, comp);
    }
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
/// The result is unique: the same on every run. Asynchronous on a GPU; may be captured. Scratch: n elements and 2 % (330
/// bytes for each window of 3808 elements of up to 8 bytes), from the workspace or one allocation in stream order; for n
/// up to a tile, 4096 such elements, a few bytes. Cost: 2n elements of traffic and the offsets, and 2m for each factor of
/// four (two for n up to 2^21) from a tile of 4352 to the longest segment, where m elements lie in segments so long. Time
/// depends on n and the number of segments, not on which are long. Launches: one for n up to 2^21, otherwise three.
/// \throws std::invalid_argument for a null or reversed range or for no offsets; out_of_memory, cuda_error.
/// Source: PMPP ch. 13; Baxter, moderngpu, 2013. Example: test/segmented_sort.cpp, sorts.
template <segmented_sort_tuning Tuning = tuned<segmented_sort_tuning>, execution_policy P, range_for<P> R,
          range_for<P> Offsets, class Comp = less>
void segmented_sort(const P& where, R&& r, Offsets&& offsets, Comp comp = {}) {
  const auto in = detail::input_of<true>("segmented_sort", r);
  const auto at = detail::input_of("segmented_sort", offsets);
  detail::check_output("segmented_sort", "r", in.first, in.count.bound, at);
  detail::sort_segments<Tuning>("segmented_sort", where, in, at, comp);
}

/// Sorts the keys of each segment as segmented_sort does, and moves the value of each key along with it.
///
/// \param values  a range as long as keys, or an iterator; visible to `where`.
/// Scratch: n keys and n values. \throws as segmented_sort; std::length_error if the values are fewer than the keys.
/// Example: test/segmented_sort.cpp, by_key.
template <segmented_sort_tuning Tuning = tuned<segmented_sort_tuning>, execution_policy P, range_for<P> K,
          output_for<P> V, range_for<P> Offsets, class Comp = less>
void segmented_sort_by_key(const P& where, K&& keys, V&& values, Offsets&& offsets, Comp comp = {}) {
  const char* const function = "segmented_sort_by_key";
  const auto in = detail::parts_apart(function, "values", detail::pairs_of<true>(function, keys, values));
  const auto at = detail::input_of(function, offsets);
  detail::check_apart(function, "keys or values", in.first, in.count.bound, at);
  detail::sort_segments<Tuning>(function, where, in, at, detail::by_first<Comp>{comp});
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <segmented_sort_tuning Tuning = tuned<segmented_sort_tuning>, execution_policy P, random_access It, end_of<It> End, random_access_range Offsets, class Comp = less>
void segmented_sort(const P& where, It first, End last, Offsets&& offsets, Comp comp = {}) { segmented_sort<Tuning>(where, subrange{first, last}, offsets, comp); }

template <segmented_sort_tuning Tuning = tuned<segmented_sort_tuning>, execution_policy P, random_access It, end_of<It> End, random_access Off, end_of<Off> OffEnd, class Comp = less>
void segmented_sort(const P& where, It first, End last, Off offsets, OffEnd offsets_end, Comp comp = {}) { segmented_sort<Tuning>(where, subrange{first, last}, subrange{offsets, offsets_end}, comp); }

template <segmented_sort_tuning Tuning = tuned<segmented_sort_tuning>, execution_policy P, random_access K, end_of<K> End, output V, random_access_range Offsets, class Comp = less>
void segmented_sort_by_key(const P& where, K first, End last, V&& values, Offsets&& offsets, Comp comp = {}) { segmented_sort_by_key<Tuning>(where, subrange{first, last}, values, offsets, comp); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
