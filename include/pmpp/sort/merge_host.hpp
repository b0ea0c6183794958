// SPDX-License-Identifier: Apache-2.0
//
// Merge sort on the host.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/merge.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/sort/homes.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// The rounds of a merge sort on the host: runs of 16 elements, then twice as many in each round, from `data` to `other`
/// and back; the last round ends in `data`.
template <class T, class In, class Data, class Comp>
struct host_sort {
  static constexpr std::int64_t shortest = 16;

  In in;
  Data data;
  T* other;
  std::int64_t n;
  const Comp& comp;
  int rounds;

  /// Sorts the runs of [begin, end) by insertion.
  void sort_runs(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t first = begin; first < end; first += shortest) {
      const std::int64_t count = min(shortest, end - first);
      T x[shortest];
      for (std::int64_t i = 0; i < count; ++i) {
        const T inserted = block::element_as<T>(value_of<In>(in[first + i]));
        std::int64_t k = i;
        for (; k > 0 && comp(inserted, x[k - 1]); --k) x[k] = x[k - 1];
        x[k] = inserted;
      }
      for (std::int64_t i = 0; i < count; ++i)
        if (rounds % 2 == 0)
          block::assign(data, first + i, x[i]);
        else
          other[first + i] = x[i];
    }
  }
  /// Writes elements [begin, end) of round `round`, which merges pairs of runs of shortest << round; they lie in one pair.
  void merge_part(int round, std::int64_t begin, std::int64_t end) const {
    const std::int64_t run = shortest << round, first = begin / (2 * run) * (2 * run);
    const std::int64_t count_a = min(run, n - first), count_b = min(run, n - first - count_a);
    const auto merge_from = [&](const auto& from, const auto& to) {
      detail::merge_elements(from + first, count_a, from + first + count_a, count_b, begin - first, end - first,
                             to + first, comp);
    };
    if ((rounds - round) % 2 == 0)
      merge_from(data, other);
    else
      merge_from(other, data);
  }
};

/// seq: everything on one thread. host: parts that fit the caches, each on one thread, then rounds that all share.
template <class T, class P, class In, class Data, class Comp>
void merge_sort_on_host(const P& where, const In& in, const Data& data, std::int64_t n, const Comp& comp) {
  using sorter = host_sort<T, In, Data, Comp>;
  constexpr std::int64_t part = sorter::shortest << 12;
  static_assert(part % host_loop::grain == 0);
  int rounds = 0;
  while (sorter::shortest << rounds < n) ++rounds;
  raw_array<T> other(rounds == 0 ? 0 : n);
  const sorter s{in, data, other.data(), n, comp, rounds};
  const auto sort_part = [&](std::int64_t i) {
    const std::int64_t begin = i * part, end = min(n, begin + part);
    s.sort_runs(begin, end);
    for (int round = 0; round < rounds && sorter::shortest << round < part; ++round)
      for (std::int64_t first = begin; first < end; first += sorter::shortest << (round + 1))
        s.merge_part(round, first, min(end, first + (sorter::shortest << (round + 1))));
  };
  const auto merge_rounds = [&](auto for_ranges) {
    for (int round = 12; round < rounds; ++round)
      for_ranges([&](std::int64_t begin, std::int64_t end) { s.merge_part(round, begin, end); });
  };
  if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t i = 0; i * part < n; ++i) sort_part(i);
    merge_rounds([&](auto body) {
      for (std::int64_t begin = 0; begin < n; begin += part) body(begin, min(n, begin + part));
    });
  } else {
    host_loop::parallel_parts(where, ceil_div(n, part), sort_part);
    merge_rounds([&](auto body) { host_loop::parallel_ranges(where, n, body); });
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
