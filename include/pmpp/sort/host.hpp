// SPDX-License-Identifier: Apache-2.0
//
// Merge sort and radix sort on the host.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/merge.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/memory/raw_array.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/sort/radix_keys.hpp>

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

/// seq: on one thread. host: parts of the input on all of them; each counts its digits in each pass and then knows where
/// its elements go. `other` has room for all elements.
template <class Code, class T, class P, class In, class Data>
void radix_sort_on_host(const P& where, const In& in, const Data& data, T* other, std::int64_t n,
                        const key_bits& range) {
  constexpr int digits = block::radix_digits;
  struct digit_counts {
    std::int64_t of[most_radix_passes][digits];
  };
  const auto code_of = [](const auto& from, std::int64_t i) {
    using It = std::remove_cvref_t<decltype(from)>;
    return Code::encode(detail::radix_key_of(block::element_as<T>(value_of<It>(from[i]))));
  };
  std::int64_t parts = 1;
  if constexpr (!std::is_same_v<P, seq_policy>)  // parts cost a third more work: they count again before each pass
    parts = n < 16 * host_loop::grain ? 1 : min(host_loop::part_count(where), n / (4 * host_loop::grain));
  const std::int64_t size = ceil_div(n, parts);
  const auto for_parts = [&](auto task) {
    if constexpr (std::is_same_v<P, seq_policy>)
      task(std::int64_t(0));
    else
      host_loop::parallel_parts(where, parts, task);
  };
  host_loop::task_results<digit_counts> found(parts);
  const bool in_place = detail::same_place(in, data);
  int passes = radix_passes(range);
  if (in_place) passes = round_up(passes, 2);
  for_parts([&, passes, range, found = found.data()](std::int64_t part) {  // by reference: read again for each element
    for (std::int64_t i = part * size, end = min(n, i + size); i < end; ++i) {
      const auto code = code_of(in, i);
      for (int p = 0; p < passes; ++p) ++found[part].of[p][digit_of_pass(p, range)(code)];
    }
  });
  bool needed[most_radix_passes] = {};
  for (int p = 0; p < passes; ++p)
    for (int d = 0; d < digits && !needed[p]; ++d) {
      std::int64_t sum = 0;
      for (std::int64_t part = 0; part < parts; ++part) sum += found[part].of[p][d];
      needed[p] = sum > 0 && sum < n;
    }
  radix_pass plan[most_radix_passes];
  plan_radix_passes(passes, in_place, needed, plan);
  const auto write_home = [&](radix_home home, auto f) {  // as radix_homes, whose functions are a device's too
    if (home == radix_home::other)
      f(other);
    else
      f(data);
  };
  const auto read_home = [&](radix_home home, auto f) {
    if (home == radix_home::input)
      f(in);
    else
      write_home(home, f);
  };
  bool moved = false;
  for (int p = 0; p < passes; ++p) {
    if (plan[p].source == radix_home::nowhere) continue;
    const radix_digit digit = digit_of_pass(p, range);
    if (moved && parts > 1)
      read_home(plan[p].source, [&](const auto& from) {
        for_parts([&, from, digit](std::int64_t part) {
          auto& count = found[part].of[p];
          for (std::int64_t& c : count) c = 0;
          for (std::int64_t i = part * size, end = min(n, i + size); i < end; ++i) ++count[digit(code_of(from, i))];
        });
      });
    std::int64_t place = 0;
    for (int d = 0; d < digits; ++d)
      for (std::int64_t part = 0; part < parts; ++part) {
        const std::int64_t count = found[part].of[p][d];
        found[part].of[p][d] = place;
        place += count;
      }
    read_home(plan[p].source, [&](const auto& from) {
      write_home(plan[p].target, [&](const auto& to) {
        for_parts([&, from, to, digit](std::int64_t part) {
          using It = std::remove_cvref_t<decltype(from)>;
          auto& next = found[part].of[p];
          for (std::int64_t i = part * size, end = min(n, i + size); i < end; ++i) {
            const T x = block::element_as<T>(value_of<It>(from[i]));
            block::assign(to, next[digit(Code::encode(radix_key_of(x)))]++, x);
          }
        });
      });
    });
    moved = true;
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
