// SPDX-License-Identifier: Apache-2.0
//
// Sorting over several ranks: sort, stable_sort, sort_by_key, stable_sort_by_key, argsort, is_sorted.
//
// Large blocks of numbers, on GPUs that reach into each other's memory, go by their digits (sort_by_digits.hpp). Everything else:
//   1. Each rank sorts its block.
//   2. Exact cuts are found (splitters.hpp).
//   3. Each rank sends each other one its piece, and has p sorted runs, in the order of the ranks: an exchange of
//      (p - 1) / p of the elements for keys in no order, and of few where the whole is almost sorted. What stays does not move.
//   4. Each rank merges its runs in pairs: log2 p passes.
//
// The result is stable and in blocks that differ by one at most, for any keys, any number of elements and of ranks, and however they
// lay on the ranks. It is the same for any number of ranks. (PMPP ch. 12, 13 and 20.)
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/distributed/block_ends.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/exchange.hpp>
#include <pmpp/distributed/same_call.hpp>
#include <pmpp/distributed/sort_by_digits.hpp>
#include <pmpp/distributed/splitters.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/sort.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Sorted blocks in pieces, one for each rank.
class sorted_pieces {
public:
  /// \param cuts  those of exact_cuts; blocks: the sizes of what is cut
  sorted_pieces(std::vector<std::vector<std::int64_t>> cuts, std::vector<std::int64_t> blocks)
      : cuts_(std::move(cuts)) {
    cuts_.insert(cuts_.begin(), std::vector<std::int64_t>(blocks.size()));
    cuts_.push_back(std::move(blocks));
  }
  /// What `from` has for `to`: where in its block, and how many elements.
  std::int64_t begin(int from, int to) const { return cuts_[std::size_t(to)][std::size_t(from)]; }
  std::int64_t size(int from, int to) const { return begin(from, to + 1) - begin(from, to); }

private:
  std::vector<std::vector<std::int64_t>> cuts_;  // of each rank: 0, the cuts, its size
};

/// Sorted elements: in the blocks, among what arrived, or in the other half of merges.
struct sorted_run {
  enum memory : int { block, arrived, merged } where;
  std::int64_t begin, size;
};

/// An array on its way: its blocks, and what pieces go to, of the sizes of the result.
template <class T>
class array_in_pieces {
public:
  array_in_pieces(distributed_buffer<T>& x, const std::shared_ptr<rank_group>& group,
                  const std::vector<std::int64_t>& sizes)
      : x_(x) {
    for (distributed_buffer<T>& y : others_) y.allocate(group, sizes);
    for (std::size_t i = 0; i < group->places.size(); ++i)  // the emulator lets no one ask for them while bytes arrive
      at_.push_back({x.part(int(i)).data(), others_[0].part(int(i)).data(), others_[1].part(int(i)).data()});
  }

  T* at(int i, const sorted_run& run) const { return at_[std::size_t(i)][std::size_t(run.where)] + run.begin; }
  void copy(const rank_group::place& place, int i, const sorted_run& from, const sorted_run& to) const {
    detail::copy_on_rank(place, at(i, to), at(i, from), static_cast<std::size_t>(from.size) * sizeof(T));
  }
  template <class C>
  void send(int i, const sorted_run& from, int to, C& link, stream_handle s) const {
    link.send(at(i, from), static_cast<std::size_t>(from.size) * sizeof(T), to, s);
  }
  template <class C>
  void receive(int i, const sorted_run& to, int from, C& link, stream_handle s) const {
    link.receive(at(i, to), static_cast<std::size_t>(to.size) * sizeof(T), from, s);
  }
  /// The array becomes what lies there; where its blocks are the caller's, they get it.
  template <class P, class C>
  void become(const devices<P, C>& gpus, sorted_run::memory where) {
    if (!x_.refers()) {
      x_ = std::move(others_[where - 1]);
      return;
    }
    gpus.each([&](int i, const P&) {
      const std::int64_t n = x_.size_of(gpus.rank(i));
      copy(gpus.group()->places[std::size_t(i)], i, {where, 0, n}, {sorted_run::block, 0, n});
    });
  }

private:
  distributed_buffer<T>& x_;
  distributed_buffer<T> others_[2];
  std::vector<std::array<T*, 3>> at_;  // by number of a rank here and memory
};

template <class P, class Comp, class K>
void merge_pieces(const P& where, const Comp& by, int i, const sorted_run& a, const sorted_run& b, const sorted_run& to,
                  const array_in_pieces<K>& keys) {
  const K *const ka = keys.at(i, a), *const kb = keys.at(i, b);
  pmpp::merge(where, ka, ka + a.size, kb, kb + b.size, keys.at(i, to), by);
}
template <class P, class Comp, class K, class V>
void merge_pieces(const P& where, const Comp& by, int i, const sorted_run& a, const sorted_run& b, const sorted_run& to,
                  const array_in_pieces<K>& keys, const array_in_pieces<V>& values) {
  const K *const ka = keys.at(i, a), *const kb = keys.at(i, b);
  const V *const va = values.at(i, a), *const vb = values.at(i, b);
  pmpp::merge_by_key(where, ka, ka + a.size, va, kb, kb + b.size, vb, keys.at(i, to), values.at(i, to), by);
}

/// Steps 3 and 4, of keys, or of keys and values.
template <class P, class C, class Comp, class... Ts>
void exchange_and_merge(const devices<P, C>& gpus, const Comp& by, const sorted_pieces& pieces,
                        array_in_pieces<Ts>&&... arrays) {
  const int p = gpus.size();
  gpus.together([&](int i, C& link, stream_handle s) {
    const int self = gpus.rank(i);
    sorted_run in{sorted_run::arrived, 0, 0};
    for (int other = 0; other < p; ++other, in.begin += in.size) {
      in.size = pieces.size(other, self);
      const sorted_run out{sorted_run::block, pieces.begin(self, other), pieces.size(self, other)};
      if (other == self) continue;
      if (out.size != 0) (arrays.send(i, out, other, link, s), ...);
      if (in.size != 0) (arrays.receive(i, in, other, link, s), ...);
    }
  });
  // Passes go to the other half, back to where runs arrived, and so on: so many as p runs need.
  const auto last = std::bit_width(unsigned(p - 1)) % 2 != 0 ? sorted_run::merged : sorted_run::arrived;
  gpus.each([&](int i, const P& where) {
    const rank_group::place& place = gpus.group()->places[std::size_t(i)];
    const int self = gpus.rank(i);
    std::vector<sorted_run> runs;
    std::int64_t at = 0;
    for (int from = 0; from < p; ++from) {
      const std::int64_t size = pieces.size(from, self);
      if (size != 0 && from == self) runs.push_back({sorted_run::block, pieces.begin(self, self), size});
      if (size != 0 && from != self) runs.push_back({sorted_run::arrived, at, size});
      at += size;
    }
    for (auto to = sorted_run::merged; runs.size() > 1;
         to = to == sorted_run::merged ? sorted_run::arrived : sorted_run::merged) {
      std::vector<sorted_run> longer;
      at = 0;
      for (std::size_t k = 0; k < runs.size(); k += 2) {
        const bool alone = k + 1 == runs.size();
        const sorted_run target{to, at, runs[k].size + (alone ? 0 : runs[k + 1].size)};
        if (alone)
          (arrays.copy(place, i, runs[k], target), ...);
        else
          detail::merge_pieces(where, by, i, runs[k], runs[k + 1], target, arrays...);
        longer.push_back(target);
        at += target.size;
      }
      runs = std::move(longer);
    }
    if (!runs.empty() && runs[0].where != last)
      (arrays.copy(place, i, runs[0], sorted_run{last, 0, runs[0].size}), ...);
  });
  (arrays.become(gpus, last), ...);
}

/// Steps 2 to 4, for blocks that are sorted.
template <class P, class C, class Comp, class K, class... V>
void join_blocks(const devices<P, C>& gpus, const Comp& comp, distributed_buffer<K>& keys,
                 distributed_buffer<V>&... values) {
  if (gpus.size() == 1) return;
  const auto by = detail::order_of_sort<gpu_execution<P>, K>(comp);
  const std::vector<std::int64_t> result = detail::even_sizes(keys.size(), gpus.size());
  const sorted_pieces pieces(detail::exact_cuts(gpus, keys, detail::even_targets(keys.size(), gpus.size()), by),
                             detail::sizes_of(keys));
  detail::exchange_and_merge(gpus, by, pieces, array_in_pieces<K>(keys, gpus.group(), result),
                             array_in_pieces<V>(values, gpus.group(), result)...);
}

template <class P, class C, class T, class Comp>
void sort_blocks(const char* function, const devices<P, C>& gpus, distributed_buffer<T>& x, const Comp& comp) {
  detail::require_on(function, "x", gpus, x);
  const int p = gpus.size();
  if (p > 1) x.require_blocks(function, detail::even_sizes(x.size(), p));
  detail::require_same_call<T, Comp>(gpus, function, {x.size()});
  if constexpr (detail::has_rank_digits<P, T, Comp>)
    if (detail::sorts_by_digits<P>(x) && detail::sort_by_digits(gpus, comp, x)) return;
  gpus.each([&](int i, const P& where) { pmpp::sort(where, x.part(i), comp); });
  detail::join_blocks(gpus, comp, x);
}

}  // namespace detail

/// Sorts x. Stable: elements that are equal under comp keep their order in the whole.
///
/// \param comp  as in sort on one device: a strict weak order, the same on every process; NaN comes last under less and greater.
/// The blocks differ by one element at most afterwards. Views of parts are then no longer valid.
/// Waits for the cuts; the moves are enqueued. Cost: that of sort for each block, (p - 1) / p of the elements to other ranks, log2 p passes
/// of merge; by digits one more reading of the keys in place of the merges. Scratch: a second and, while sorting, a third array of each
/// block, by digits 1/16 larger. One rank: sort alone.
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
  if constexpr (detail::has_rank_digits<P, K, Comp, V>)
    if (detail::sorts_by_digits<P>(keys, values) && detail::sort_by_digits(gpus, comp, keys, values)) return;
  gpus.each([&](int i, const P& where) { pmpp::sort_by_key(where, keys.part(i), values.part(i), comp); });
  detail::join_blocks(gpus, comp, keys, values);
}

/// The same; sort_by_key is stable already.
template <class P, class C, class K, class V, class Comp = less>
void stable_sort_by_key(const devices<P, C>& gpus, distributed_buffer<K>& keys, distributed_buffer<V>& values,
                        Comp comp = {}) {
  pmpp::sort_by_key(gpus, keys, values, comp);
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
    const auto out = descents[std::size_t(i)].span();
    detail::answer_into<tuned<find_tuning>>(
        "is_sorted", where,
        detail::ask_neighbours<detail::out_of_order>("is_sorted", block, detail::ordered_by<gpu_execution<P>, T>(comp),
                                                     detail::tell_whether<true>{}),
        out);
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
