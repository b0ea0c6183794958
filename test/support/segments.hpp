// SPDX-License-Identifier: Apache-2.0
//
// Segments for the tests of segmented_sort: the laws of their lengths, and the comparison with std::stable_sort.
//
// What is instantiated costs up to ten seconds of compile time each, so that each file has a few kernels of its own:
//
//   segmented_sort.cpp          tiles of some hundred elements: all lengths; elements of 1, 2, 4, 8, 12 and 20 bytes
//   segmented_sort_tiles.cpp    the default tile, on both sides of `short_limit`: numbers of 4 bytes, a struct
//   segmented_sort_by_key.cpp   keys with values; the default tile with numbers of 1, 4 and 8 bytes
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <pmpp/segmented_sort.hpp>

#include "support/data.hpp"
#include "support/policies.hpp"
#include "support/records.hpp"

namespace test {

inline std::uint64_t draw() { return generator()(); }
inline std::int64_t draw_below(std::int64_t n) {
  return static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(n));
}

using lengths = std::vector<std::int64_t>;

/// The laws of lengths, about n elements each.
inline std::vector<std::pair<std::string, lengths>> laws(std::int64_t n) {
  n = up_to(n, 700);
  std::vector<std::pair<std::string, lengths>> all;
  const auto add = [&](const char* name, lengths l) { all.emplace_back(name, std::move(l)); };
  const auto count = [](std::int64_t k) { return static_cast<std::size_t>(k); };
  const auto equal = [&](std::int64_t length) { return lengths(count((n + length - 1) / length), length); };
  add("none", {});
  add("one", {n});
  add("two", {n / 3, n - n / 3});
  add("all empty", lengths(count(n), 0));
  for (const std::int64_t length : {1, 2, 3, 7, 16, 31, 32, 33, 100, 139, 140, 141, 160, 161, 300, 513}) {
    if (length > n) break;
    add("all alike", equal(length));
  }
  lengths giant(count(n / 8 + 1), 2);
  giant[count(n / 16)] = n / 2;
  add("one giant", giant);
  lengths among_empty(count(4 * n), 0);
  among_empty[count(n)] = n / 2;
  among_empty[count(3 * n)] = n / 2;
  add("two giants, the others empty", among_empty);
  lengths turns;
  for (std::int64_t i = 0; i < n / 50; ++i) turns.insert(turns.end(), {0, 50, 1});
  add("empty, large and one in turns", turns);
  lengths powers;
  for (std::int64_t p = 1; p <= n / 4; p *= 2)
    for (const std::int64_t off : {-1, 0, 1}) powers.push_back(p + off);
  add("powers of two", powers);
  std::reverse(powers.begin(), powers.end());
  add("powers of two, falling", powers);
  for (const std::int64_t most : {4, 40, 400, 4000}) {
    lengths any;
    for (std::int64_t sum = 0; sum < n; sum += any.back()) any.push_back(draw_below(draw_below(most) + 1));
    add("any", any);
  }
  lengths burst(20000, 0);
  burst.insert(burst.end(), 50, 1);
  burst.insert(burst.end(), 20000, 0);
  burst.push_back(std::max<std::int64_t>(n - 50, 0));
  add("many empty, then ones", burst);
  return all;
}

template <class I = int>
std::vector<I> offsets_of(const lengths& l, std::int64_t first = 0) {
  std::vector<I> offsets{static_cast<I>(first)};
  for (const std::int64_t length : l) offsets.push_back(static_cast<I>(offsets.back() + static_cast<I>(length)));
  return offsets;
}

/// n elements, `key_of` of their places.
template <class T>
std::vector<T> elements(std::int64_t n, const std::function<std::int64_t(std::int64_t)>& key_of) {
  std::vector<T> v(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    auto& x = v[static_cast<std::size_t>(i)];
    if constexpr (std::is_same_v<T, tagged>)
      x = {static_cast<std::int32_t>(key_of(i)), static_cast<std::uint32_t>(i)};
    else if constexpr (std::is_same_v<T, triple>)
      x = {static_cast<std::int32_t>(key_of(i) / 4), static_cast<std::int32_t>(key_of(i)),
           static_cast<std::uint32_t>(i)};
    else
      x = static_cast<T>(key_of(i));
  }
  return v;
}

/// Sorts the segments of an array that has a few elements in front of the first and after the last.
template <pmpp::segmented_sort_tuning Tuning, class where, class T, class I, class Comp = pmpp::less>
void check_segments(const std::vector<T>& v, const std::vector<I>& offsets, Comp comp = {}) {
  const typename where::policy policy{};
  std::vector<T> wanted = v;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    std::stable_sort(wanted.begin() + static_cast<std::ptrdiff_t>(offsets[s]),
                     wanted.begin() + static_cast<std::ptrdiff_t>(offsets[s + 1]), comp);
  auto data = where::put(v);
  const auto at = where::put(offsets);
  pmpp::segmented_sort<test::tuned<where>(Tuning)>(policy, data, at, comp);
  CAPTURE(v.size());
  CAPTURE(offsets.size());
  CAPTURE(seed());
  CHECK(where::get(data) == wanted);
}

/// Every law, in an array that ends with `after` elements of no segment: such an array is long for what is sorted in it.
template <pmpp::segmented_sort_tuning Tuning, class where, class T, class I = int, class Comp = pmpp::less>
void check_laws(std::int64_t n, std::int64_t values, Comp comp = {}, std::int64_t after = 0) {
  for (const auto& [name, law] : laws(n)) {
    CAPTURE(name);
    CAPTURE(after);
    const std::int64_t first = draw_below(3) == 0 ? draw_below(50) : 0;
    const auto offsets = offsets_of<I>(law, first);
    const auto v = elements<T>(static_cast<std::int64_t>(offsets.back()) + draw_below(3) + after,
                               [&](std::int64_t) { return draw_below(values) - values / 2; });
    check_segments<Tuning, where>(v, offsets, comp);
  }
}

}  // namespace test
