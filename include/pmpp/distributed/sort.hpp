// SPDX-License-Identifier: Apache-2.0
//
// Sorting over several ranks: sort, stable_sort, sort_by_key, argsort, is_sorted.
//
//   1. Each rank sorts its block.
//   2. Exact cuts are found (splitters.hpp).
//   3. Each rank sends each other one its piece, and receives p sorted runs, in the order of the ranks: one exchange, of
//      (p - 1) / p of the elements for keys in no order, and of few where the whole is almost sorted.
//   4. Each rank merges its runs in pairs: log2 p passes.
//
// The result is stable and in blocks that differ by one at most, for any keys, any number of elements and of ranks, and however they
// lay on the ranks. It is the same for any number of ranks. (PMPP ch. 12, 13 and 20.)
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/distributed/block_ends.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/exchange.hpp>
#include <pmpp/distributed/same_call.hpp>
#include <pmpp/distributed/splitters.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/sort.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// What each rank sends to each, given the cuts of exact_cuts.
template <class T>
piece_table pieces_between(const distributed_buffer<T>& x, const std::vector<std::vector<std::int64_t>>& cuts) {
  const auto p = static_cast<int>(cuts.size()) + 1;
  piece_table pieces(p);
  for (int from = 0; from < p; ++from)
    for (int to = 0; to < p; ++to) {
      const std::int64_t begin = to == 0 ? 0 : cuts[std::size_t(to - 1)][std::size_t(from)];
      const std::int64_t end = to == p - 1 ? x.size_of(from) : cuts[std::size_t(to)][std::size_t(from)];
      pieces(from, to) = end - begin;
    }
  return pieces;
}

/// Step 4 for one rank. \param ends  of the runs in `a`; merge_pair(from_a, begin, middle, end) merges two neighbours of `a`, or of `b`,
/// into the other one. \return whether the result is in b
template <class MergePair>
bool merge_in_pairs(std::vector<std::int64_t> ends, MergePair merge_pair) {
  bool from_a = true;
  for (; ends.size() > 1; from_a = !from_a) {
    std::vector<std::int64_t> longer;
    std::int64_t begin = 0;
    for (std::size_t k = 0; k < ends.size(); k += 2) {
      const std::int64_t middle = ends[k], end = k + 1 < ends.size() ? ends[k + 1] : middle;
      if (begin < end) merge_pair(from_a, begin, middle, end);
      longer.push_back(end);
      begin = end;
    }
    ends = std::move(longer);
  }
  return !from_a;
}

/// The ends of the runs that a rank received.
inline std::vector<std::int64_t> ends_of_runs(const piece_table& pieces, int rank, int p) {
  std::vector<std::int64_t> ends;
  for (int from = 0; from < p; ++from) {
    const std::int64_t end = (ends.empty() ? 0 : ends.back()) + pieces(from, rank);
    if (pieces(from, rank) != 0) ends.push_back(end);
  }
  return ends;
}

template <class P, class C, class T, class Comp>
void sort_blocks(const char* function, const devices<P, C>& gpus, distributed_buffer<T>& x, const Comp& comp) {
  detail::require_on(function, "x", gpus, x);
  if (gpus.size() > 1) x.require_blocks(function, detail::even_sizes(x.size(), gpus.size()));
  detail::require_same_call<T, Comp>(gpus, function, {x.size()});
  gpus.each([&](int i, const P& where) { pmpp::sort(where, x.part(i), comp); });
  const int p = gpus.size();
  if (p == 1) return;
  const auto by = detail::order_of_sort<gpu_execution<P>, T>(comp);
  const auto pieces = detail::pieces_between(x, detail::exact_cuts(gpus, x, detail::even_targets(x.size(), p), by));
  auto runs = detail::exchanged<T>(
      gpus, [&](int i) { return x.part(i).data(); }, pieces);
  // The blocks of x become the other half of the merges, once their elements have left; they get the sizes of the result.
  x.allocate(gpus.group(), pieces.sizes());
  gpus.each([&](int i, const P& where) {
    const auto a = runs.part(i), b = x.part(i);
    const bool in_x = detail::merge_in_pairs(
        detail::ends_of_runs(pieces, gpus.rank(i), p),
        [&](bool from_a, std::int64_t begin, std::int64_t middle, std::int64_t end) {
          const T* const from = (from_a ? a : b).data();
          T* const to = (from_a ? b : a).data();
          pmpp::merge(where, from + begin, from + middle, from + middle, from + end, to + begin, by);
        });
    if (!in_x) detail::copy_on_rank(gpus.group()->places[std::size_t(i)], b.data(), a.data(), a.size_bytes());
  });
}

}  // namespace detail

/// Sorts x. Stable: elements that are equal under comp keep their order in the whole.
///
/// \param comp  as in sort on one device: a strict weak order, the same on every process; NaN comes last under less and greater.
/// The blocks differ by one element at most afterwards. Views of parts are then no longer valid.
/// Waits for the cuts; the moves and merges are enqueued. Cost: that of sort for each block, (p - 1) / p of the elements to other ranks,
/// log2 p passes of merge. Scratch: a second and, while sorting, a third array of each block. One rank: sort alone.
/// \throws as sort on one device; std::invalid_argument if x lies on other devices; communication_error. The order of calls on several
/// ranks is that of the text: nothing deadlocks. Source: PMPP ch. 12, 13, 20. Example: test/distributed.cpp, sort.
template <class P, class C, class T, class Comp = less>
void sort(const devices<P, C>& gpus, distributed_buffer<T>& x, Comp comp = {}) {
  detail::sort_blocks("sort", gpus, x, comp);
}
/// The same; sort is stable already.
template <class P, class C, class T, class Comp = less>
void stable_sort(const devices<P, C>& gpus, distributed_buffer<T>& x, Comp comp = {}) {
  detail::sort_blocks("stable_sort", gpus, x, comp);
}

/// Sorts keys as sort does, and moves the value of each key along with it.
/// \param values  of the same blocks as keys. \throws as sort; std::length_error if the blocks differ
/// Example: test/distributed_sort.cpp, sort_by_key and argsort.
template <class P, class C, class K, class V, class Comp = less>
void sort_by_key(const devices<P, C>& gpus, distributed_buffer<K>& keys, distributed_buffer<V>& values,
                 Comp comp = {}) {
  detail::require_on("sort_by_key", "keys", gpus, keys);
  detail::require_on("sort_by_key", "values", gpus, values);
  detail::require_same_blocks("sort_by_key", "values", keys, values);
  if (gpus.size() > 1) {
    keys.require_blocks("sort_by_key", detail::even_sizes(keys.size(), gpus.size()));
    values.require_blocks("sort_by_key", detail::even_sizes(keys.size(), gpus.size()));
  }
  detail::require_same_call<K, V, Comp>(gpus, "sort_by_key", {keys.size()});
  gpus.each([&](int i, const P& where) { pmpp::sort_by_key(where, keys.part(i), values.part(i), comp); });
  const int p = gpus.size();
  if (p == 1) return;
  const auto by = detail::order_of_sort<gpu_execution<P>, K>(comp);
  const auto pieces =
      detail::pieces_between(keys, detail::exact_cuts(gpus, keys, detail::even_targets(keys.size(), p), by));
  auto key_runs = detail::exchanged<K>(
      gpus, [&](int i) { return keys.part(i).data(); }, pieces);
  auto value_runs = detail::exchanged<V>(
      gpus, [&](int i) { return values.part(i).data(); }, pieces);
  keys.allocate(gpus.group(), pieces.sizes());
  values.allocate(gpus.group(), pieces.sizes());
  gpus.each([&](int i, const P& where) {
    const auto ka = key_runs.part(i), kb = keys.part(i);
    const auto va = value_runs.part(i), vb = values.part(i);
    const bool in_keys = detail::merge_in_pairs(
        detail::ends_of_runs(pieces, gpus.rank(i), p),
        [&](bool from_a, std::int64_t begin, std::int64_t middle, std::int64_t end) {
          const K* const k = (from_a ? ka : kb).data();
          const V* const v = (from_a ? va : vb).data();
          pmpp::merge_by_key(where, k + begin, k + middle, v + begin, k + middle, k + end, v + middle,
                             (from_a ? kb : ka).data() + begin, (from_a ? vb : va).data() + begin, by);
        });
    if (in_keys) return;
    const detail::rank_group::place& place = gpus.group()->places[std::size_t(i)];
    detail::copy_on_rank(place, kb.data(), ka.data(), ka.size_bytes());
    detail::copy_on_rank(place, vb.data(), va.data(), va.size_bytes());
  });
}

/// The order in which keys are sorted: element 0 of the result is the index, in the whole, of the least key, and so on. Equals in order.
///
/// \param keys  not changed. \return integers I, in blocks that differ by one at most. As sort_by_key, of a copy of the keys.
/// Example: test/distributed_sort.cpp, sort_by_key and argsort.
template <class I = std::int64_t, class P, class C, class K, class Comp = less>
[[nodiscard]] distributed_buffer<I> argsort(const devices<P, C>& gpus, const distributed_buffer<K>& keys,
                                            Comp comp = {}) {
  static_assert(std::is_integral_v<I>, "pmpp::argsort: indices are integers");
  detail::require_on("argsort", "keys", gpus, keys);
  const auto sizes = detail::sizes_of(keys);
  distributed_buffer<K> copy;
  distributed_buffer<I> indices;
  copy.allocate(gpus.group(), sizes);
  indices.allocate(gpus.group(), sizes);
  gpus.each([&](int i, const P& where) {
    detail::copy_on_rank(gpus.group()->places[std::size_t(i)], copy.part(i).data(), keys.part(i).data(),
                         keys.part(i).size_bytes());
    pmpp::iota(where, indices.part(i), static_cast<I>(keys.offset(gpus.rank(i))));
  });
  pmpp::sort_by_key(gpus, copy, indices, comp);
  return indices;
}

/// Whether no element of x precedes the one in front of it, under comp; on every process.
/// Waits. Cost: n elements read; the first and the last element of each rank exchanged. \throws as reduce.
/// Example: test/distributed.cpp, sort.
template <class P, class C, class T, class Comp = less>
[[nodiscard]] bool is_sorted(const devices<P, C>& gpus, const distributed_buffer<T>& x, Comp comp = {}) {
  detail::require_on("is_sorted", "x", gpus, x);
  const auto group = gpus.group();
  const auto descents = detail::arrays_of<int>(*group, [](int) { return 1; });
  gpus.each([&](int i, const P& where) {
    const auto block = x.part(i);
    const std::size_t pairs = block.empty() ? 0 : block.size() - 1;
    pmpp::transform_reduce_into(where, block.first(pairs), block.last(pairs), descents[std::size_t(i)].span(), false,
                                logical_or{}, detail::descends<Comp>{comp});
  });
  for (const int descent : detail::firsts_of_all(gpus, descents))
    if (descent != 0) return false;

  // The first and the last element of each block that has any, side by side: sorted, if the blocks follow each other.
  const auto ranks = detail::ranks_with_elements(x);
  const auto all = detail::ends_of_blocks(gpus, x, ranks);
  bool sorted = true;
  gpus.each([&](int i, const P& where) {
    if (i != 0) return;
    const auto* const first = reinterpret_cast<const T*>(all[0].data());
    sorted = pmpp::is_sorted(where, first, first + 2 * ranks.size(), comp);
  });
  return sorted;
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
