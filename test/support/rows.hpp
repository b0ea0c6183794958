// SPDX-License-Identifier: Apache-2.0
//
// Segments and runs for the tests of segmented.hpp, and what its functions should give.
//
//   segmented.cpp        reductions and scans of segments
//   segmented_short.cpp  reductions of short ones
//   segmented_runs.cpp   reductions of runs of keys
//   segmented_run_counts.cpp   how many runs there are: counts and lengths on the device
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <pmpp/segmented.hpp>

#include "support/data.hpp"
#include "support/monoids.hpp"
#include "support/policies.hpp"

namespace test::rows {

// Small enough that many blocks and tiles take part at a few thousand elements.
inline constexpr pmpp::segmented_tuning tiny{.threads = 32,
                                             .bytes = 16,
                                             .stages = 3,
                                             .min_blocks = 32,
                                             .few_to_reduce = 0,
                                             .scan_directly = 0,
                                             .short_input = 0,
                                             .short_segments = 0,
                                             .long_average = 0};
// The same for sums, and scans, segment by segment.
inline constexpr std::int64_t always = std::int64_t(1) << 62;
inline constexpr pmpp::segmented_tuning small{
    .threads = 64, .bytes = 32, .few_to_reduce = 0, .short_input = always, .short_segments = always, .long_average = 0};
// Few blocks, whose warps go through many rows.
inline constexpr pmpp::segmented_tuning deep{.threads = 64,
                                             .bytes = 160,
                                             .min_blocks = 1,
                                             .few_to_reduce = 0,
                                             .scan_directly = 0,
                                             .short_input = 0,
                                             .short_segments = 0,
                                             .long_average = 0};

inline PMPP_HOST_DEVICE std::uint64_t scrambled(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

using lengths = std::vector<std::int64_t>;

/// The laws of lengths, about n elements each.
inline std::vector<std::pair<std::string, lengths>> laws(std::int64_t n) {
  n = up_to(n, 700);
  std::vector<std::pair<std::string, lengths>> all;
  const auto add = [&](const char* name, lengths l) { all.emplace_back(name, std::move(l)); };
  const auto count = [](std::int64_t k) { return static_cast<std::size_t>(k); };
  auto& g = generator();
  add("none", {});
  add("one", {n});
  add("all 1", lengths(count(n), 1));
  add("all empty", lengths(count(n), 0));
  lengths one_of_many(count(n), 0);
  one_of_many[count(n / 3)] = n;
  add("empty but one", one_of_many);
  lengths powers, powers_off;
  for (std::int64_t p = 1; p <= n / 4; p *= 2)
    for (const std::int64_t off : {-1, 0, 1}) powers.push_back(p + off);
  add("powers of two", powers);
  std::reverse(powers.begin(), powers.end());
  add("powers of two, falling", powers);
  lengths zipf;
  for (std::int64_t i = 1, sum = 0; sum < n; ++i) {
    zipf.push_back(n / (4 * (1 + static_cast<std::int64_t>(g() % static_cast<std::uint64_t>(i)))));
    sum += zipf.back() + 1;
  }
  add("Zipf", zipf);
  lengths giant(count(n / 8 + 1), 2);
  giant[count(n / 16)] = n / 2;
  add("one giant", giant);
  lengths turns;
  for (std::int64_t i = 0; i < n / 50; ++i) turns.insert(turns.end(), {0, 50});
  add("empty and large in turns", turns);
  lengths few;
  for (std::int64_t i = 0; i < n / 2; ++i) few.push_back(static_cast<std::int64_t>(g() % 4));
  add("0 to 3", few);
  lengths tiles;
  for (std::int64_t i = 0; i < n / 128; ++i) tiles.push_back(128);
  add("tiles of tiny", tiles);
  lengths edges;
  for (std::int64_t i = 0; i < n / 128; ++i) edges.insert(edges.end(), {127, 0, 0, 1});
  add("before edges", edges);
  lengths burst(600, 0);
  burst.insert(burst.end(), 50, 1);
  burst.push_back(n - 50);
  add("many empty, then ones", burst);
  lengths rare(count(2 * n), 0);
  for (std::int64_t i = 0; i < n / 40; ++i) rare[count(static_cast<std::int64_t>(g() % count(2 * n)))] = 40;
  add("99 % empty", rare);
  return all;
}

template <class I = int>
std::vector<I> offsets_of(const lengths& l, std::int64_t first = 0) {
  std::vector<I> offsets{static_cast<I>(first)};
  for (const std::int64_t length : l) offsets.push_back(static_cast<I>(offsets.back() + static_cast<I>(length)));
  return offsets;
}

template <class A, class T, class I, class Op>
std::vector<A> sums_of(const std::vector<T>& v, const std::vector<I>& offsets, A init, Op op) {
  std::vector<A> sums;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    A sum = init;
    for (I i = offsets[s]; i < offsets[s + 1]; ++i)
      sum = static_cast<A>(op(sum, static_cast<A>(v[static_cast<std::size_t>(i)])));
    sums.push_back(sum);
  }
  return sums;
}
template <class T, class I, class Op>
std::vector<T> scans_of(const std::vector<T>& v, const std::vector<I>& offsets, std::vector<T> out, Op op) {
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    for (I i = offsets[s]; i < offsets[s + 1]; ++i) {
      const auto at = static_cast<std::size_t>(i);
      out[at] = i == offsets[s] ? v[at] : op(out[at - 1], v[at]);
    }
  return out;
}

inline affine random_affine(std::uint64_t i) {
  const std::uint64_t r = scrambled(i + 99);
  return {static_cast<std::uint32_t>(r) | 1u, static_cast<std::uint32_t>(r >> 32), 1};
}
inline std::vector<affine> random_affines(std::int64_t n) {
  std::vector<affine> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = random_affine(i);
  return v;
}
inline std::vector<brackets> random_brackets(std::int64_t n) {
  std::vector<brackets> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = scrambled(i) % 2 == 0 ? brackets{1, 0} : brackets{0, 1};
  return v;
}

/// Elements that carry their position: an operand that is not adjacent in its segment poisons the result.
inline std::vector<interval> positions(std::int64_t n) {
  std::vector<interval> v(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = {i, i + 1};
  return v;
}
/// As join; an init {-7, -7} joins anything after it.
struct join_behind {
  PMPP_HOST_DEVICE interval operator()(const interval& a, const interval& b) const {
    if (a.lo == -7) return b;
    return join{}(a, b);
  }
};

enum class parts { both, sums, scans };

/// Sums and scans of one array, or one of these, against plain loops, with guards around them.
template <pmpp::segmented_tuning Tuning, class where, parts Which = parts::both, class T, class I, class Op>
void check_segments(const std::vector<T>& v, const std::vector<I>& offsets, T init, Op op) {
  const typename where::policy policy{};
  const auto in = where::put(v);
  const auto at = where::put(offsets);
  const T guard = init;
  if constexpr (Which != parts::scans) {
    const std::vector<T> wanted = sums_of(v, offsets, init, op);
    auto out = where::put(std::vector<T>(wanted.size(), guard));
    CHECK(pmpp::segmented_reduce<test::tuned<where>(Tuning)>(policy, in, at, out, init, op) == out.end());
    CHECK(where::get(out) == wanted);
  }
  if constexpr (Which != parts::sums) {
    auto scanned = where::put(std::vector<T>(v.size(), guard));
    CHECK(pmpp::segmented_inclusive_scan<test::tuned<where>(Tuning)>(policy, in, at, scanned, op) == scanned.end());
    CHECK(where::get(scanned) == scans_of(v, offsets, std::vector<T>(v.size(), guard), op));
    auto inout = where::put(v);
    pmpp::segmented_inclusive_scan<test::tuned<where>(Tuning)>(policy, std::as_const(inout), at, inout, op);
    CHECK(where::get(inout) == scans_of(v, offsets, v, op));
  }
}

/// Runs of keys against a plain loop, with guards after them; from some element of both on.
template <pmpp::segmented_tuning Tuning, class where, class K, class V, class Op>
void check_runs(const std::vector<K>& all_keys, const std::vector<V>& all_values, Op op, int from_key = 0,
                int from_value = 0) {
  const typename where::policy policy{};
  const std::vector<K> keys(all_keys.begin() + from_key, all_keys.end());
  const std::vector<V> values(all_values.begin() + from_value, all_values.end());
  const std::size_t n = std::min(keys.size(), values.size());
  std::vector<K> wanted_keys;
  std::vector<V> wanted;
  std::vector<int> wanted_lengths;
  for (std::size_t i = 0; i < n; ++i) {
    if (i == 0 || !(keys[i - 1] == keys[i])) {
      wanted_keys.push_back(keys[i]);
      wanted.push_back(values[i]);
      wanted_lengths.push_back(1);
    } else {
      wanted.back() = op(wanted.back(), values[i]);
      ++wanted_lengths.back();
    }
  }
  const auto runs = static_cast<std::int64_t>(wanted.size());
  const K key_guard{};
  const V guard{};
  wanted_keys.resize(n, key_guard);
  wanted.resize(n, guard);
  wanted_lengths.resize(n, -1);
  const auto put_keys = where::put(all_keys);
  const auto put_values = where::put(all_values);
  const auto first = put_keys.begin() + from_key, last = first + static_cast<std::int64_t>(n);
  auto out_keys = where::put(copies<K>(n, key_guard));
  auto out = where::put(copies<V>(n, guard));
  const auto ends = pmpp::reduce_by_key<test::tuned<where>(Tuning)>(policy, first, last,
                                                                    put_values.begin() + from_value, out_keys, out, op);
  CHECK(ends.first - out_keys.begin() == runs);
  CHECK(ends.second - out.begin() == runs);
  CHECK(where::get(out_keys) == wanted_keys);
  CHECK(where::get(out) == wanted);

  auto values_out = where::put(copies<K>(n, key_guard));
  auto lengths_out = where::put(copies<int>(n, -1));
  auto count = where::put(std::vector<std::int64_t>(1, -1));
  pmpp::run_length_encode_into<test::tuned<where>(Tuning)>(policy, first, last, values_out.begin(), lengths_out, count);
  pmpp::synchronize(policy);
  CHECK(where::get(count)[0] == runs);
  CHECK(where::get(values_out) == wanted_keys);
  CHECK(where::get(lengths_out) == wanted_lengths);
}

template <class K>
std::vector<K> runs_of(std::int64_t n, const lengths& l) {
  std::vector<K> keys;
  for (std::size_t i = 0; static_cast<std::int64_t>(keys.size()) < n; ++i)
    keys.insert(keys.end(), static_cast<std::size_t>(std::max<std::int64_t>(1, l[i % l.size()])),
                static_cast<K>(i % 100));
  keys.resize(static_cast<std::size_t>(n));
  return keys;
}

}  // namespace test::rows
