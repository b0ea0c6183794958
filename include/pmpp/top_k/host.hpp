// SPDX-License-Identifier: Apache-2.0
//
// The k first elements on the host: a list of 2k candidates, which is sorted when it is full, for each thread.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/sort.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

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

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
