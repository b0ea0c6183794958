// SPDX-License-Identifier: Apache-2.0
//
// The k elements that come first in an order: top_k, and segmented_top_k for every segment of an array.
//
//   data      5 1 9 3 9 2     k = 3, comp = greater
//   values    9 9 5
//   indices   2 4 0           equals: the smaller index first
//
//   1. A block goes through its part of the data and keeps what may be among the k first: as long as it has fewer than k
//      elements everything, then what precedes the last of those k, the threshold. Candidates gather in shared memory;
//      when there is no room left they are sorted, the k first stay, and the threshold moves. Of random data few pass
//      it: the next element is among the k first of i elements with probability k / i.
//
//        | k first, sorted | candidates ->      |       x passes if x precedes the threshold
//                        ^ threshold            ^ room for four times k, 256 at least
//
//   2. One block does the same with the lists of all blocks. It takes the first of all lists, then the second ..., and
//      ends as soon as none of a row passes: the lists are sorted.
//
// Each block of segmented_top_k takes whole segments, and needs no second step. The data is read once; nothing else
// grows with n. Where k is so large that a tile does not hold twice k candidates, numbers up to a threshold are taken and
// sorted (top_k/threshold.hpp), and of other elements everything is sorted. Which candidate comes into which slot depends
// on chance, but values with their indices are all different: the result is unique.
// (PMPP ch. 13; Johnson, Douze and Jégou, 2017, keep their candidates in registers.)
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include <pmpp/block/sort.hpp>
#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/segmented_sort.hpp>
#include <pmpp/select.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/top_k/threshold.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct top_k_tuning {
  int threads = 512;           ///< of a block
  int bytes = 64;              ///< of a thread's candidates: 8 of 4 bytes and an index of 4
  int tile_bytes = 96 * 1024;  ///< of a block's candidates, at most
  int loads = 8;               ///< elements that a thread has under way
  int candidates = 256;        ///< room for this many at least, where they fit
  int narrow_threads = 64;     ///< of a block that goes through short segments
  int narrow_segment = 32768;  ///< elements of those, at most, on average
  int sort_from = 1;           ///< k from which on numbers are sorted, if that takes one launch
  int select_from = 4;         ///< n / k from which on numbers are selected by digits if k is large
};

namespace detail {

/// An element and where it comes from.
template <class T, class I>
using candidate = pair<T, I>;

/// The order of candidates, in which no two are equal.
template <class Comp>
struct candidate_order {
  Comp comp;
  template <class C>
  PMPP_HOST_DEVICE bool operator()(const C& x, const C& y) const {
    if (static_cast<bool>(comp(x.first, y.first))) return true;
    return x.second < y.second && !static_cast<bool>(comp(y.first, x.first));
  }
};

// What the blocks go through: parts, with `end(part)` elements from `begin(part)` on.

/// The array, in equal parts.
template <class In, class I>
struct parts_of_array {
  static constexpr bool rising = true;  ///< indices: then equals of the threshold never pass
  In in;
  item_count count;
  std::int64_t share;

  PMPP_HOST_DEVICE std::int64_t parts() const { return ceil_div(count.bound, share); }
  PMPP_HOST_DEVICE std::int64_t begin(std::int64_t part) const { return part * share; }
  PMPP_HOST_DEVICE std::int64_t end(std::int64_t part) const { return min((part + 1) * share, count.get()); }
  PMPP_HOST_DEVICE bool has(std::int64_t) const { return true; }
  PMPP_HOST_DEVICE auto value(std::int64_t i) const { return in[i]; }
  PMPP_HOST_DEVICE I index(std::int64_t, std::int64_t i) const { return static_cast<I>(i); }
  /// Where lists lie in rows: elements of one, in which some pass if any do after it.
  PMPP_HOST_DEVICE std::int64_t row() const { return std::int64_t(1) << 40; }
};
/// The segments of an array.
template <class In, class Offsets, class I>
struct parts_by_offsets {
  static constexpr bool rising = true;
  In in;
  Offsets offsets;
  item_count offset_count;

  PMPP_HOST_DEVICE std::int64_t parts() const { return offset_count.get() - 1; }
  PMPP_HOST_DEVICE std::int64_t begin(std::int64_t part) const { return static_cast<std::int64_t>(offsets[part]); }
  PMPP_HOST_DEVICE std::int64_t end(std::int64_t part) const { return static_cast<std::int64_t>(offsets[part + 1]); }
  PMPP_HOST_DEVICE bool has(std::int64_t) const { return true; }
  PMPP_HOST_DEVICE auto value(std::int64_t i) const { return in[i]; }
  PMPP_HOST_DEVICE I index(std::int64_t part, std::int64_t i) const { return static_cast<I>(i - begin(part)); }
  PMPP_HOST_DEVICE std::int64_t row() const { return std::int64_t(1) << 40; }
};
/// Sorted lists of candidates, the first of all in front.
template <class T, class I>
struct candidate_lists {
  static constexpr bool rising = false;
  candidate<T, I>* list;
  int* length;
  std::int64_t lists, longest;

  PMPP_HOST_DEVICE std::int64_t parts() const { return 1; }
  PMPP_HOST_DEVICE std::int64_t begin(std::int64_t) const { return 0; }
  PMPP_HOST_DEVICE std::int64_t end(std::int64_t) const { return lists * longest; }
  PMPP_HOST_DEVICE bool has(std::int64_t i) const { return i / lists < length[i % lists]; }
  PMPP_HOST_DEVICE T value(std::int64_t i) const { return list[i].first; }
  PMPP_HOST_DEVICE I index(std::int64_t, std::int64_t i) const { return list[i].second; }
  PMPP_HOST_DEVICE std::int64_t row() const { return lists; }

  // As a target of the first step.
  PMPP_HOST_DEVICE void put(std::int64_t part, std::int64_t place, const candidate<T, I>& c) const {
    list[place * lists + part] = c;
  }
  PMPP_HOST_DEVICE void finish(std::int64_t part, int count) const { length[part] = count; }
};

/// Where the k first of a part go.
template <class Values, class Indices>
struct top_k_output {
  Values values;
  Indices indices;
  std::int64_t k;

  template <class C>
  PMPP_HOST_DEVICE void put(std::int64_t part, std::int64_t place, const C& c) const {
    block::assign(values, part * k + place, c.first);
    block::assign(indices, part * k + place, c.second);
  }
  PMPP_HOST_DEVICE void finish(std::int64_t, int) const {}
};

template <class T, class I, class Source, class Target, class Comp, top_k_tuning Tuning>
struct top_k_kernel {
  using element = candidate<T, I>;
  static constexpr int items = 1 << floor_log2(
                                   max(min(16, Tuning.bytes / int(sizeof(element))), sizeof(element) <= 16 ? 4 : 1)),
                       threads = sort_threads(Tuning.threads, items*int(sizeof(element)), Tuning.tile_bytes),
                       tile = threads * items, loads = max(1, min(Tuning.loads, 64 / int(sizeof(T)))),
                       chunk = threads * loads, most_k = tile / 2, min_blocks = max(1, min(32, 1024 / threads));
  using memory_of_block = block::sort_memory<element, threads, items>;

  struct shared {
    memory_of_block of_block;
    unsigned count;  ///< of candidates; more than there is room for: this many have tried
  };
  struct arguments {
    Source source;
    Target target;
    int k, room;  ///< room: for candidates
    Comp comp;
  };

  /// Room for candidates if the k first are looked for.
  static int room_for(std::int64_t k) {
    return static_cast<int>(min(std::int64_t(tile), max(4 * k, std::int64_t(Tuning.candidates))));
  }

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    for (std::int64_t part = block.index(); part < a.source.parts(); part += block.count())
      take(block, memory, a, part);
  }

private:
  template <class Block>
  PMPP_HOST_DEVICE static void take(Block& block, shared& memory, const arguments& a, std::int64_t part) {
    const candidate_order<Comp> before{a.comp};
    element* const slots = memory.of_block.slots();
    const element& last_slot = slots[memory_of_block::slot(a.k - 1)];
    const std::int64_t end = a.source.end(part);
    bool has_threshold = false;
    element threshold{};
    block.sync();  // the part before is written
    if (block.thread() == 0) memory.count = 0;
    for (std::int64_t first = a.source.begin(part); first < end; first += chunk) {
      T x[loads]{};
      unsigned waiting = 0;  // bit u: x[u] is a candidate that has no slot yet
      for (int u = 0; u < loads; ++u) {
        const std::int64_t i = first + u * threads + block.thread();
        if (i < end && a.source.has(i)) {
          x[u] = static_cast<T>(a.source.value(i));
          waiting |= 1u << u;
        }
      }
      const auto drop = [&](bool equals) {
        for (int u = 0; u < loads; ++u) {
          if ((waiting >> u & 1) == 0) continue;
          const std::int64_t i = first + u * threads + block.thread();
          const bool passes = equals ? static_cast<bool>(a.comp(x[u], threshold.first))
                                     : before(element{x[u], a.source.index(part, i)}, threshold);
          if (!passes) waiting &= ~(1u << u);
        }
      };
      if (has_threshold) drop(Source::rising);
      bool any = false;
      while (block.sync_or(waiting != 0)) {
        any = true;
        for (int u = loads - 1; u >= 0; --u) {  // of rising data the last elements give the best threshold
          if ((waiting >> u & 1) == 0) continue;
          const unsigned at = simt::atomic_add(&memory.count, 1u);
          if (at >= static_cast<unsigned>(a.room)) continue;
          slots[memory_of_block::slot(static_cast<int>(at))] =
              element{x[u], a.source.index(part, first + u * threads + block.thread())};
          waiting &= ~(1u << u);
        }
        block.sync();
        if (memory.count < static_cast<unsigned>(a.room)) continue;
        block::sort(block, memory.of_block, a.room, before);
        if (block.thread() == 0) memory.count = static_cast<unsigned>(a.k);
        threshold = last_slot;
        has_threshold = true;
        drop(false);
      }
      if (!any && has_threshold && chunk >= 2 * a.source.row()) break;
    }
    block.sync();
    const int count = static_cast<int>(min(memory.count, static_cast<unsigned>(a.room)));
    const int found = min(count, a.k);
    block::sort(block, memory.of_block, count, before);
    for (int i = block.thread(); i < found; i += threads) a.target.put(part, i, slots[memory_of_block::slot(i)]);
    if (block.thread() == 0) a.target.finish(part, found);
  }
};

/// Takes the first k elements of each segment from a sorted copy of the array.
template <class Source, class Target>
struct take_sorted_kernel {
  static constexpr int threads = 256;
  struct arguments {
    Source source;
    Target target;
    std::int64_t k;
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& a) const {
    const std::int64_t all = a.source.parts() * a.k;
    for (std::int64_t i = block.index() * threads + block.thread(); i < all; i += block.count() * threads) {
      const std::int64_t part = i / a.k, from = a.source.begin(part) + i % a.k;
      if (from < a.source.end(part)) a.target.put(part, i % a.k, a.source.sorted(part, from));
    }
  }
};
/// The sorted copy: elements and their places in the array.
template <class T, class I, class Parts>
struct sorted_copy {
  Parts in;
  const T* values;
  const I* places;
  PMPP_HOST_DEVICE std::int64_t parts() const { return in.parts(); }
  PMPP_HOST_DEVICE std::int64_t begin(std::int64_t part) const { return in.begin(part); }
  PMPP_HOST_DEVICE std::int64_t end(std::int64_t part) const { return in.end(part); }
  PMPP_HOST_DEVICE candidate<T, I> sorted(std::int64_t part, std::int64_t i) const {
    return {values[i], in.index(part, static_cast<std::int64_t>(places[i]))};
  }
};

/// Sorts a copy of elements with their places, or of each segment by itself, with `sort(from, to)`, and takes what comes
/// first.
template <class T, class I, class P, class Pairs, class Parts, class Target, class Sort>
void take_from_sorted(const P& where, const Pairs& pairs, std::int64_t n, const Parts& parts, const Target& target,
                      std::int64_t most_parts, std::int64_t k, Sort sort) {
  scratch memory(where, scratch_bytes({checked_bytes(n, sizeof(T), "top_k"), checked_bytes(n, sizeof(I), "top_k")}), 0);
  T* const values = memory.take<T>(n);
  I* const places = memory.take<I>(n);
  sort(pairs, zip_iterator{values, places});
  using source = sorted_copy<T, I, Parts>;
  using kernel = take_sorted_kernel<source, Target>;
  const std::int64_t blocks = min(ceil_div(most_parts * k, std::int64_t(kernel::threads)),
                                  std::int64_t(32) * machine_of(where).multiprocessors);
  pmpp::launch(where, blocks, kernel{}, typename kernel::arguments{{parts, values, places}, target, k});
}

struct element_of_candidate {
  template <class C>
  PMPP_HOST_DEVICE auto operator()(const C& x) const {
    return x.first;
  }
};
struct index_of_candidate {
  template <class C>
  PMPP_HOST_DEVICE auto operator()(const C& x) const {
    return x.second;
  }
};

/// Numbers: copies those up to a threshold, sorts them, and takes the first k.
template <class Code, class I, class P, class In, class Target, class Comp>
void take_up_to_threshold(const P& where, const input<In>& in, const Target& target, std::int64_t k, const Comp& comp) {
  using T = typename Code::key;
  const std::int64_t n = in.count.bound;
  scratch memory(
      where,
      scratch_bytes({checked_bytes(n, sizeof(candidate<T, I>), "top_k"), sizeof(key_threshold), sizeof(std::int64_t)}),
      sizeof(digit_counts));
  candidate<T, I>* const kept = memory.take<candidate<T, I>>(n);
  key_threshold* const threshold = memory.take<key_threshold>(1);
  std::int64_t* const found = memory.take<std::int64_t>(1);
  find_threshold<Code>(where, in.first, in.count, k, reinterpret_cast<digit_counts*>(memory.state()), threshold);
  const zip_iterator with_indices{in.first, counting_iterator<I>(I(0))};
  select_into<select_tuning{}>("top_k", where,
                               input<std::remove_const_t<decltype(with_indices)>>{with_indices, in.count}, kept, found,
                               keep_where<up_to_threshold<Code>, true>{{threshold}});
  const zip_iterator parts{transform_iterator(kept, element_of_candidate{}),
                           transform_iterator(kept, index_of_candidate{})};
  const item_count count{n, found, true};
  take_from_sorted<T, I>(where, parts, n, parts_of_array<const T*, I>{nullptr, count, n}, target, 1, k,
                         [&](const auto& from, const auto& to) {
                           sort_elements<sort_tuning{}, pair<T, I>>("top_k", where, from, to, count,
                                                                    by_first<Comp>{comp});
                         });
}

/// Calls f(tuning) with a tuning whose blocks fit the machine: Tuning, or one of smaller tiles.
template <top_k_tuning Tuning, class T, class P, class F>
void with_top_k_tuning(const char* function, const P& where, F f) {
  constexpr top_k_tuning least = [] {
    top_k_tuning tuning = Tuning;
    tuning.tile_bytes = min(Tuning.tile_bytes, 30 * 1024);
    return tuning;
  }();
  constexpr auto bytes_of = [](auto tuning) {
    using I = std::int64_t;
    using parts = parts_of_array<const T*, I>;
    using kernel = top_k_kernel<T, I, parts, candidate_lists<T, I>, less, decltype(tuning)::value>;
    return sizeof(typename kernel::shared);
  };
  static_assert(bytes_of(std::integral_constant<top_k_tuning, Tuning>{}) <= 227 * 1024,
                "pmpp: elements of top_k are too large");
  with_fitting_tuning<top_k_tuning, Tuning, least>(function, sizeof(T), where, bytes_of, f);
}

template <top_k_tuning Tuning, class I, class T, class P, class In, class Target, class Comp>
void top_k_on_blocks(const P& where, const input<In>& in, const Target& target, std::int64_t k, const Comp& comp) {
  using array = parts_of_array<In, I>;
  using lists = candidate_lists<T, I>;
  const auto order = merging_order<T>(comp);
  using Order = std::remove_const_t<decltype(order)>;
  using first_step = top_k_kernel<T, I, array, lists, Order, Tuning>;
  using last_step = top_k_kernel<T, I, lists, Target, Order, Tuning>;
  using only_step = top_k_kernel<T, I, array, Target, Order, Tuning>;
  const std::int64_t n = in.count.bound;
  using number = radix_order<Comp, T>;
  bool by_sorting = false;
  if constexpr (number::known)
    by_sorting = k >= Tuning.sort_from && radix_sorts_together<sort_tuning{}.together, T, I>(machine_of(where), n);
  if (k > first_step::most_k || by_sorting) {
    if constexpr (number::known)
      if (!by_sorting && n >= Tuning.select_from * k) {
        take_up_to_threshold<radix_code<T, number::descending>, I>(where, in, target, k, comp);
        return;
      }
    take_from_sorted<T, I>(where, zip_iterator{in.first, counting_iterator<I>(I(0))}, n, array{in.first, in.count, n},
                           target, 1, k, [&](const auto& from, const auto& to) {
                             sort_elements<sort_tuning{}, pair<T, I>>("top_k", where, from, to, in.count,
                                                                      by_first<Comp>{comp});
                           });
    return;
  }
  const int room = first_step::room_for(k);
  const std::int64_t resident = std::int64_t(first_step::min_blocks) * machine_of(where).multiprocessors;
  const std::int64_t share =
      round_up(max(ceil_div(n, resident), max(4 * k, std::int64_t(first_step::chunk))), std::int64_t(32));
  const array parts{in.first, in.count, share};
  const std::int64_t blocks = parts.parts();
  if (blocks == 1) {
    pmpp::launch(where, 1, only_step{}, typename only_step::arguments{parts, target, static_cast<int>(k), room, order});
    return;
  }
  scratch memory(where,
                 scratch_bytes({checked_bytes(blocks * k, sizeof(candidate<T, I>), "top_k"),
                                checked_bytes(blocks, sizeof(int), "top_k")}),
                 0);
  candidate<T, I>* const list = memory.take<candidate<T, I>>(blocks * k);
  const lists found{list, memory.take<int>(blocks), blocks, k};
  pmpp::launch(where, blocks, first_step{},
               typename first_step::arguments{parts, found, static_cast<int>(k), room, order});
  pmpp::launch(where, 1, last_step{}, typename last_step::arguments{found, target, static_cast<int>(k), room, order});
}

template <top_k_tuning Tuning, class I, class T, class P, class In, class Offsets, class Target, class Comp>
void segmented_top_k_on_blocks(const P& where, const input<In>& in, const input<Offsets>& offsets, const Target& target,
                               std::int64_t k, const Comp& comp) {
  using segments = parts_by_offsets<In, Offsets, I>;
  const auto order = merging_order<T>(comp);
  using Order = std::remove_const_t<decltype(order)>;
  constexpr top_k_tuning narrow_tuning{.threads = Tuning.narrow_threads,
                                       .bytes = Tuning.bytes,
                                       .tile_bytes = Tuning.tile_bytes,
                                       .loads = Tuning.loads,
                                       .candidates = Tuning.candidates};
  using wide = top_k_kernel<T, I, segments, Target, Order, Tuning>;
  using narrow = top_k_kernel<T, I, segments, Target, Order, narrow_tuning>;
  const std::int64_t most = offsets.count.bound - 1, n = in.count.bound;
  const segments parts{in.first, offsets.first, offsets.count};
  const auto take = [&](auto kernel) {
    using Kernel = decltype(kernel);
    const std::int64_t resident = std::int64_t(Kernel::min_blocks) * machine_of(where).multiprocessors;
    pmpp::launch(where, min(most, 8 * resident), kernel,
                 typename Kernel::arguments{parts, target, static_cast<int>(k), Kernel::room_for(k), order});
  };
  if (k > wide::most_k)
    take_from_sorted<T, I>(where, zip_iterator{in.first, counting_iterator<I>(I(0))}, n, parts, target, most, k,
                           [&](const auto& from, const auto& to) {
                             segmented_sort_on_blocks<segmented_sort_tuning{}, pair<T, I>>(where, from, to, n, offsets,
                                                                                           by_first<Order>{order});
                           });
  else if (k <= narrow::most_k / 2 && n / most <= Tuning.narrow_segment)
    take(narrow{});
  else
    take(wide{});
}

/// The k first of elements begin ... end - 1 to first[0 ... k - 1], which has room for 2k. Returns how many there are.
template <class T, class In, class Comp>
std::int64_t top_k_of_part(const In& in, std::int64_t begin, std::int64_t end, std::int64_t k,
                           candidate<T, std::int64_t>* first, const Comp& comp) {
  using element = candidate<T, std::int64_t>;
  const candidate_order<Comp> before{comp};
  std::int64_t count = 0;
  bool full = false;  // first[k - 1] is the threshold
  const auto sort_found = [&] { merge_sort_on_host<element>(seq, first, first, count, before); };
  for (std::int64_t i = begin; i < end; ++i) {
    const T x = static_cast<T>(in[i]);
    if (full && !static_cast<bool>(comp(x, first[k - 1].first))) continue;
    first[count++] = {x, i};
    if (count < 2 * k) continue;
    sort_found();
    count = k;
    full = true;
  }
  sort_found();
  return min(count, k);
}

/// seq: one pass. host: parts, whose k first are sorted together.
template <class T, class P, class In, class Target, class Comp>
void top_k_on_host(const P& where, const In& in, std::int64_t begin, std::int64_t end, std::int64_t segment,
                   std::int64_t k, const Target& target, const Comp& comp) {
  using element = candidate<T, std::int64_t>;
  const std::int64_t n = end - begin;
  std::int64_t parts = 1;
  if constexpr (!std::is_same_v<P, seq_policy>)
    parts = max(std::int64_t(1), min(host_loop::part_count(where), n / max(8 * k, host_loop::grain)));
  const std::int64_t share = max(std::int64_t(1), ceil_div(n, parts));
  raw_array<element> found(parts * 2 * k);
  raw_array<std::int64_t> counts(parts);
  const auto take = [&](std::int64_t part) {
    counts.data()[part] = top_k_of_part<T>(in, begin + part * share, min(end, begin + (part + 1) * share), k,
                                           found.data() + part * 2 * k, comp);
  };
  if constexpr (std::is_same_v<P, seq_policy>)
    take(0);
  else
    host_loop::parallel_parts(where, parts, take);
  std::int64_t count = 0;
  for (std::int64_t part = 0; part < parts; ++part)
    for (std::int64_t i = 0; i < counts.data()[part]; ++i) found.data()[count++] = found.data()[part * 2 * k + i];
  if (parts > 1) merge_sort_on_host<element>(where, found.data(), found.data(), count, candidate_order<Comp>{comp});
  for (std::int64_t i = 0; i < min(count, k); ++i)
    target.put(segment, i, element{found.data()[i].first, found.data()[i].second - begin});
}

/// One segment after the other; on host, where they are many, each by one thread.
template <class T, class P, class In, class Offsets, class Target, class Comp>
void segmented_top_k_on_host(const P& where, const In& in, const Offsets& offsets, std::int64_t segments,
                             std::int64_t k, const Target& target, const Comp& comp) {
  const auto take = [&](const auto& policy, std::int64_t s) {
    const auto begin = static_cast<std::int64_t>(offsets[s]), end = static_cast<std::int64_t>(offsets[s + 1]);
    if (begin < end) top_k_on_host<T>(policy, in, begin, end, s, min(k, end - begin), target, comp);
  };
  if constexpr (!std::is_same_v<P, seq_policy>) {
    constexpr std::int64_t group = 16;
    if (segments >= 4 * group * host_loop::thread_count(where)) {
      host_loop::parallel_for(where, ceil_div(segments, group), [&](std::int64_t g) {
        for (std::int64_t s = g * group; s < min(segments, (g + 1) * group); ++s) take(seq, s);
      });
      return;
    }
  }
  for (std::int64_t s = 0; s < segments; ++s) take(where, s);
}

template <class O>
using output_element = value_of<std::remove_const_t<decltype(unwrap(begin_of(std::declval<O&>())))>>;

/// Outputs of `places` values and indices, checked.
template <class Values, class Indices, class... Inputs>
auto checked_top_k_output(const char* function, Values& values_out, Indices& indices_out, std::int64_t places,
                          std::int64_t k, const Inputs&... inputs) {
  check_output(function, "values_out", values_out, places, inputs...);
  check_output(function, "indices_out", indices_out, places, inputs...);
  const auto values = detail::with_stored(detail::unwrap(begin_of(values_out)));
  const auto indices = unwrap(begin_of(indices_out));
  static_assert(std::is_integral_v<output_element<Indices>>, "pmpp::top_k: indices_out must take an integer");
  return top_k_output<std::remove_const_t<decltype(values)>, std::remove_const_t<decltype(indices)>>{values, indices,
                                                                                                     k};
}

inline void check_k(const char* function, std::int64_t k, std::int64_t most) {
  require(0 <= k && k <= most, [&] {
    return std::string("pmpp::") + function + ": k is " + std::to_string(k) + ", but must lie in [0, " +
           std::to_string(most) + "]";
  });
}

}  // namespace detail

/// Writes the k elements of r that come first under comp, in order, and where they lie: what a stable sort under comp
/// would put in front.
///
/// \param r            a range, or two iterators, or an iterator and a device_count; visible to `where`; not changed.
///                     Elements are trivially copyable.
/// \param k            0 <= k <= n.
/// \param values_out   an iterator, or a range with room for k elements; visible to `where`; does not overlap r.
/// \param indices_out  the same for integers that can hold n: values_out[i] is r[indices_out[i]].
/// \param comp         as of sort; greater gives the largest elements, less the smallest. Of equal elements those with
///                     the smaller index come first; numbers are in the order of sort, in which NaN is last.
/// A device_count that is less than k leaves the last places of the outputs as they are.
/// The result is unique: the same on every run. Asynchronous on a GPU; may be captured. Scratch: up to n / 4 elements
/// with their indices, at most k for each block that runs at once, from the workspace or one allocation in stream order.
/// Cost: n elements read; two launches, one for short inputs. Elements that come the better the later cost up to a sort
/// of everything. From k = 2049 on (4-byte elements; 1025 for 8 bytes) numbers under less or greater are read two to
/// three times (as often as they have bytes, and once, where many agree), and those up to a threshold are sorted, if k is
/// at most n / 4; else all is sorted, as are numbers of which the sort takes one launch. Both take two to three times n
/// elements and indices of scratch.
/// \throws std::invalid_argument for a k outside of [0, n], a null or reversed range, a null output; std::length_error
/// for a short output; out_of_memory, cuda_error. Source: PMPP ch. 13. Example: examples/19_k_nearest.cpp.
template <top_k_tuning Tuning = tuned<top_k_tuning>, execution_policy P, range_for<P> R, output_for<P> V,
          output_for<P> X, class Comp = greater>
void top_k(const P& where, R&& r, std::int64_t k, V&& values_out, X&& indices_out, Comp comp = {}) {
  const char* const function = "top_k";
  using T = detail::stored_as<element_value<R>>;
  static_assert(std::is_trivially_copyable_v<T>, "pmpp: elements of top_k must be trivially copyable");
  const auto in = detail::with_stored(detail::input_of(function, r));
  const auto order = detail::ordered_by<gpu_execution<P>, element_value<R>>(comp);
  const std::int64_t n = in.count.bound;
  detail::check_k(function, k, n);
  const auto target = detail::checked_top_k_output(function, values_out, indices_out, k, k, in);
  if (k == 0) return;
  if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, function, zip_iterator{in.first, zip_iterator{target.values, target.indices}});
    detail::with_top_k_tuning<Tuning, T>(function, where, [&](auto tuning) {
      if (n <= std::int64_t(1) << 32)
        detail::top_k_on_blocks<decltype(tuning)::value, std::uint32_t, T>(where, in, target, k, order);
      else
        detail::top_k_on_blocks<decltype(tuning)::value, std::int64_t, T>(where, in, target, k, order);
    });
  } else {
    detail::top_k_on_host<T>(where, in.first, 0, in.count.get(), 0, k, target, detail::merging_order<T>(order));
  }
}

/// For each segment of r, writes the k elements that come first under comp: a row of k places for each segment. Of a
/// shorter segment all elements come, and the places after them stay as they are.
///
/// \param r, k, comp   as of top_k; k >= 0.
/// \param offsets      a range of integers, one more than there are segments; visible to `where`: segment s is
///                     [offsets[s], offsets[s + 1]). \pre they do not decrease and lie in [0, n] (checked in debug mode).
/// \param values_out   an iterator, or a range with room for k elements for each segment: those of segment s begin at
///                     place s * k.
/// \param indices_out  the same for integers: places in the segment, from 0 on.
/// As top_k, but a block goes through a whole segment, so that segments that are few and long do not use the machine:
/// call top_k for them. One launch, no scratch, for k up to 2048 (4-byte elements); else the segments are sorted.
/// \throws as top_k; std::invalid_argument for no offsets. Example: test/top_k.cpp, segments.
template <top_k_tuning Tuning = tuned<top_k_tuning>, execution_policy P, range_for<P> R, range_for<P> Offsets,
          output_for<P> V, output_for<P> X, class Comp = greater>
void segmented_top_k(const P& where, R&& r, Offsets&& offsets, std::int64_t k, V&& values_out, X&& indices_out,
                     Comp comp = {}) {
  const char* const function = "segmented_top_k";
  using T = detail::stored_as<element_value<R>>;
  static_assert(std::is_trivially_copyable_v<T>, "pmpp: elements of top_k must be trivially copyable");
  const auto in = detail::with_stored(detail::input_of(function, r));
  const auto order = detail::ordered_by<gpu_execution<P>, element_value<R>>(comp);
  const auto at = detail::input_of(function, offsets);
  detail::require_offsets(function, at);
  const std::int64_t n = in.count.bound, segments = at.count.bound - 1;
  detail::check_k(function, k, segments == 0 ? k : (std::int64_t(1) << 62) / segments);
  const auto target = detail::checked_top_k_output(function, values_out, indices_out, segments * k, k, in, at);
  detail::check_offsets(where, in, at);
  if (k == 0 || n == 0 || segments == 0) return;
  if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, function, zip_iterator{in.first, zip_iterator{target.values, target.indices}});
    detail::with_top_k_tuning<Tuning, T>(function, where, [&](auto tuning) {
      if (n <= std::int64_t(1) << 32)
        detail::segmented_top_k_on_blocks<decltype(tuning)::value, std::uint32_t, T>(where, in, at, target, k, order);
      else
        detail::segmented_top_k_on_blocks<decltype(tuning)::value, std::int64_t, T>(where, in, at, target, k, order);
    });
  } else {
    detail::segmented_top_k_on_host<T>(where, in.first, at.first, at.count.get() - 1, k, target,
                                       detail::merging_order<T>(order));
  }
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <top_k_tuning Tuning = tuned<top_k_tuning>, execution_policy P, random_access It, end_of<It> End, output V, output X, class Comp = greater>
void top_k(const P& where, It first, End last, std::int64_t k, V&& values_out, X&& indices_out, Comp comp = {}) { top_k<Tuning>(where, subrange{first, last}, k, values_out, indices_out, comp); }

template <top_k_tuning Tuning = tuned<top_k_tuning>, execution_policy P, random_access It, end_of<It> End, random_access_range Offsets, output V, output X, class Comp = greater>
void segmented_top_k(const P& where, It first, End last, Offsets&& offsets, std::int64_t k, V&& values_out, X&& indices_out, Comp comp = {}) { segmented_top_k<Tuning>(where, subrange{first, last}, offsets, k, values_out, indices_out, comp); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
