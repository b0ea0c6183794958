// SPDX-License-Identifier: Apache-2.0
//
// The tunings that sort is tested with, and the comparison with std::stable_sort.
//
// A radix sort of one type of keys, values, direction and tuning is five kernels and two seconds of compile time, a merge
// sort less; so the tests do not cross everything with everything:
//
//   sort_merge.cpp    elements of 1 to 300 bytes by comparators, in small tiles or those of the default tuning
//   sort_radix.cpp    keys of 1, 2, 4 and 8 bytes, integers and floating-point; what the types of one size differ in, their
//                     codes, is tested without a kernel
//   sort_by_key.cpp   values of 1 to 100 bytes; argsort; bits of keys
//   sort.cpp          is_sorted, workspaces, threads of the host, bad input
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include <pmpp/sort.hpp>

#include "support/data.hpp"
#include "support/policies.hpp"
#include "support/records.hpp"

namespace test {

// Elements of a tile of the default kernel for ints.
inline constexpr std::int64_t default_tile = 512 * 17;
// Small enough that many blocks, several passes and several tiles a block take part at a few thousand elements.
inline constexpr pmpp::sort_tuning tiny{.compare_all_limit = 1,
                                        .merge = {.tiles = {.threads = 32, .bytes = 16},
                                                  .passes = {.threads = 32, .four_way_from = 0},
                                                  .ranks = {.rank_limit = 0}}};
inline constexpr pmpp::sort_tuning small{.compare_all_limit = 64,
                                         .merge = {.tiles = {.threads = 64, .bytes = 32},
                                                   .passes = {.threads = 64, .bytes = 16},
                                                   .ranks = {.threads = 32, .bytes = 12}}};
// Of the radix sort: a launch for each digit, and more than 64 tiles make them larger than 32; all ways, the first two up
// to 200 and 576 elements in the emulator; a launch for each digit, with words of 64 bits.
inline constexpr pmpp::sort_tuning tiny_radix{
    .compare_all_limit = 0, .together = {.items = 0}, .radix = {.threads = 32, .items = 4, .short_items = 2}};
inline constexpr pmpp::sort_tuning small_radix{
    .compare_all_limit = 200,
    .together = {.threads = 96, .items = 3, .rows = 1},
    .radix = {.threads = 96, .short_items = 3, .long_from = 1 << 20, .min_tiles = 1 << 20}};
inline constexpr pmpp::sort_tuning wide_radix{
    .compare_all_limit = 0,
    .together = {.items = 0},
    .radix = {.threads = 64, .items = 5, .short_items = 3, .long_from = 1, .wide_from = 1}};

/// As less, but sorted by merging.
struct precedes {
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const T& x, const T& y) const {
    return x < y;
  }
};
inline std::uint64_t draw() { return generator()(); }

inline std::vector<tagged> tags(std::int64_t n, const std::function<std::int64_t(std::int64_t)>& key_of) {
  std::vector<tagged> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = {static_cast<std::int32_t>(key_of(static_cast<std::int64_t>(i))), static_cast<std::uint32_t>(i)};
  return v;
}

/// Where the elements of a sorted array stood; equal ones in the order that they had.
template <class K, class Comp>
std::vector<std::uint32_t> sorted_places(const std::vector<K>& keys, Comp comp) {
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return comp(keys[i], keys[j]); });
  return order;
}

/// Sorts the middle of an array, from element `from` on, and compares with std.
template <pmpp::sort_tuning Tuning, class where, class T, class Comp = pmpp::less>
void check_sort(const std::vector<T>& v, Comp comp = {}, int from = 0) {
  const typename where::policy policy{};
  std::vector<T> wanted = v;
  std::stable_sort(wanted.begin() + from, wanted.end() - from, comp);
  auto data = where::put(v);
  pmpp::sort<test::tuned<where>(Tuning)>(policy, data.begin() + from, data.end() - from, comp);
  CAPTURE(v.size());
  CAPTURE(from);
  CAPTURE(seed());
  CHECK(where::get(data) == wanted);
  CHECK(pmpp::is_sorted(policy, data.begin() + from, data.end() - from, comp));
}

/// Sorts by key; before that, where Places, finds out the places of the keys.
template <pmpp::sort_tuning Tuning, class where, bool Places = true, class K, class V, class Comp = pmpp::less>
void check_by_key(const std::vector<K>& keys, V, Comp comp = {}) {
  const typename where::policy policy{};
  const std::vector<std::uint32_t> order = sorted_places(keys, comp);
  std::vector<V> values(keys.size()), wanted_values;
  std::vector<K> wanted;
  for (std::size_t i = 0; i < keys.size(); ++i) values[i] = static_cast<V>(i);
  for (const auto i : order) {
    wanted.push_back(keys[i]);
    wanted_values.push_back(values[i]);
  }
  CAPTURE(keys.size());
  auto k = where::put(keys);
  auto v = where::put(values);
  if constexpr (Places) {
    auto index = where::put(std::vector<std::uint32_t>(keys.size(), 77));
    CHECK(pmpp::argsort<test::tuned<where>(Tuning)>(policy, k, index, comp) == index.end());
    CHECK(where::get(k) == keys);
    CHECK(where::get(index) == order);
  }
  pmpp::sort_by_key<test::tuned<where>(Tuning)>(policy, k, v, comp);
  CHECK(where::get(k) == wanted);
  CHECK(where::get(v) == wanted_values);
}

/// The order that the radix sort promises: -0.0 before +0.0, NaN last; greater turns all but the NaNs round.
template <class K, bool Descending>
struct promised_order {
  bool operator()(const K& a, const K& b) const {
    if constexpr (!std::is_integral_v<K>) {
      const auto x = static_cast<double>(a), y = static_cast<double>(b);
      if (std::isnan(x) || std::isnan(y)) return !std::isnan(x);
      if (x == 0 && y == 0)
        return Descending ? !std::signbit(x) && std::signbit(y) : std::signbit(x) && !std::signbit(y);
      return Descending ? x > y : x < y;
    } else {
      return Descending ? a > b : a < b;
    }
  }
};

template <class K>
std::uint64_t bits_of(K key) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &key, sizeof(K));
  return bits;
}
template <class K>
bool is_nan(K key) {
  if constexpr (std::is_integral_v<K>)
    return false;
  else
    return std::isnan(static_cast<double>(key));
}

/// Keys of any bits, many of them special, with repetitions.
template <class K>
std::vector<K> any_keys(std::int64_t n) {
  std::vector<K> keys(static_cast<std::size_t>(n));
  const std::uint64_t sign = std::uint64_t(1) << (8 * sizeof(K) - 1);
  for (K& key : keys) {
    std::uint64_t bits = draw();
    if (draw() % 8 == 0) bits &= 0xff;
    if (draw() % 8 == 0) bits = ~std::uint64_t(0) << (draw() % 64);
    if (draw() % 16 == 0) bits = 0;
    if (draw() % 16 == 0) bits = sign;
    if constexpr (std::is_floating_point_v<K>) {
      const K infinity = std::numeric_limits<K>::infinity();
      if (draw() % 16 == 0) bits = bits_of(infinity);
      if (draw() % 16 == 0) bits = bits_of(-infinity);
    }
    if constexpr (std::is_same_v<K, bool>)
      key = bits % 2 != 0;
    else
      std::memcpy(static_cast<void*>(&key), &bits, sizeof(K));
  }
  return keys;
}

/// Whether these are the keys in the order promised; NaNs among themselves in any.
template <class K>
bool as_promised(const std::vector<K>& keys, const std::vector<std::uint32_t>& order, const std::vector<K>& sorted) {
  if (sorted.size() != keys.size()) return false;
  std::vector<std::uint64_t> nans, wanted_nans;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const K key = sorted[i], wanted = keys[order[i]];
    if (is_nan(key) != is_nan(wanted) || (!is_nan(key) && bits_of(key) != bits_of(wanted))) return false;
    if (is_nan(key)) nans.push_back(bits_of(key)), wanted_nans.push_back(bits_of(wanted));
  }
  return std::is_permutation(nans.begin(), nans.end(), wanted_nans.begin());
}

/// Sorts the keys alone.
template <pmpp::sort_tuning Tuning, class where, bool Descending, class K, class Comp>
void check_keys(const std::vector<K>& keys, Comp comp) {
  auto data = where::put(keys);
  pmpp::sort<test::tuned<where>(Tuning)>(typename where::policy{}, data, comp);
  CAPTURE(keys.size());
  CAPTURE(seed());
  CHECK(as_promised(keys, sorted_places(keys, promised_order<K, Descending>{}), where::get(data)));
}

/// Sorts by key, which must be stable; then the places of the keys, and the keys alone, in the same order.
template <pmpp::sort_tuning Tuning, class where, bool Descending, class K, class Comp>
void check_numbers(const std::vector<K>& keys, Comp comp) {
  const typename where::policy policy{};
  const std::vector<std::uint32_t> order = sorted_places(keys, promised_order<K, Descending>{});
  std::vector<std::uint32_t> places(keys.size());
  std::iota(places.begin(), places.end(), 0u);
  auto data = where::put(keys), with_values = where::put(keys);
  auto index = where::put(places), values = where::put(places);
  pmpp::argsort<test::tuned<where>(Tuning)>(policy, data, index, comp);
  pmpp::sort_by_key<test::tuned<where>(Tuning)>(policy, with_values, values, comp);
  pmpp::sort<test::tuned<where>(Tuning)>(policy, data, comp);
  const auto found = where::get(index);
  bool right = as_promised(keys, order, where::get(data)) && as_promised(keys, order, where::get(with_values));
  for (std::size_t i = 0; i < keys.size(); ++i) right = right && (is_nan(keys[order[i]]) || found[i] == order[i]);
  CAPTURE(keys.size());
  CAPTURE(seed());
  CHECK(right);
  CHECK(where::get(values) == found);
}

}  // namespace test
