// SPDX-License-Identifier: Apache-2.0
//
// The comparison of top_k, batched_top_k and segmented_top_k with a stable sort.
//
// An element type with a comparator, a tuning and a type of indices is twenty kernels, of which some sort; so each file has
// few:
//
//   top_k.cpp          small blocks: a struct, float
//   top_k_types.cpp    small blocks: elements of 1, 2 and 8 bytes, and a comparator that contradicts itself
//   top_k_default.cpp  the default tuning: float, a struct
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include <pmpp/top_k.hpp>

#include "support/data.hpp"
#include "support/policies.hpp"
#include "support/records.hpp"

namespace test {

inline constexpr pmpp::top_k_sorting never_sorted{.row = 0, .bytes = 0, .keys = 0, .share = 0, .segment = 0};

// Blocks of 32 or 64 threads with room for 256 or 512 keys, and rows of several blocks from 300 or 1100 elements on.
inline constexpr pmpp::top_k_tuning tiny{.threads = 32,
                                         .large_threads = 64,
                                         .short_threads = 32,
                                         .loads = 2,
                                         .sample_part = 2,
                                         .sort_from = 3,
                                         .together = 4000,
                                         .short_row = 64,
                                         .by_a_warp = 0,
                                         .one_block = 300,
                                         .segment = 700,
                                         .part = 150,
                                         .alone = 2000,
                                         .held = 0,
                                         .longest_row = 2000,
                                         .sorting = never_sorted},
    small{.threads = 64,
          .large_threads = 64,
          .short_threads = 32,
          .loads = 1,
          .sample_part = 8,
          .short_row = 100,
          .by_a_warp = 0,
          .one_block = 1100,
          .segment = 900,
          .part = 300,
          .alone = 0,
          .held = 0,
          .sorting = never_sorted};

inline std::int64_t draw_below(std::int64_t n) {
  return static_cast<std::int64_t>(generator()() % static_cast<std::uint64_t>(n));
}

template <class T>
std::vector<T> elements(std::int64_t n, const std::function<std::int64_t(std::int64_t)>& key_of) {
  std::vector<T> v(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    auto& x = v[static_cast<std::size_t>(i)];
    if constexpr (std::is_same_v<T, tagged>)
      x = {static_cast<std::int32_t>(key_of(i)), static_cast<std::uint32_t>(i)};
    else
      x = static_cast<T>(key_of(i));
  }
  return v;
}

/// The places of elements [begin, end) in order, counted from `begin`.
template <class T, class Comp>
std::vector<std::int64_t> order_of(const std::vector<T>& v, std::int64_t begin, std::int64_t end, Comp comp) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(end - begin));
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](std::int64_t i) -> const T& { return v[static_cast<std::size_t>(begin + i)]; };
  std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return comp(at(i), at(j)); });
  return order;
}

template <pmpp::top_k_tuning Tuning, class where, class I = int, class T, class Comp = pmpp::greater>
void check_top_k(const std::vector<T>& v, std::int64_t k, Comp comp = {}, std::int64_t from = 0) {
  const auto n = static_cast<std::int64_t>(v.size());
  const auto data = where::put(v);
  auto values = where::put(copies(static_cast<std::size_t>(k) + 2, T{}));
  auto indices = where::put(std::vector<I>(static_cast<std::size_t>(k) + 2, I(77)));
  pmpp::top_k<test::tuned<where>(Tuning)>(typename where::policy{}, data.begin() + from, data.end(), k, values, indices,
                                          comp);
  const auto order = order_of(v, from, n, comp);
  const auto got = where::get(values);
  const auto places = where::get(indices);
  bool ok = places[static_cast<std::size_t>(k)] == 77 && places[static_cast<std::size_t>(k) + 1] == 77 &&
            got[static_cast<std::size_t>(k)] == T{};
  for (std::size_t i = 0; i < static_cast<std::size_t>(k) && ok; ++i)
    ok = static_cast<std::int64_t>(places[i]) == order[i] && got[i] == v[static_cast<std::size_t>(from + order[i])];
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(seed());
  CHECK(ok);
  CHECK(where::get(data) == v);
}

template <pmpp::top_k_tuning Tuning, class where, class T, class Comp = pmpp::greater>
void check_rows(const std::vector<T>& v, const std::vector<int>& offsets, std::int64_t k, Comp comp = {}) {
  const auto data = where::put(v);
  const std::size_t places = (offsets.size() - 1) * static_cast<std::size_t>(k);
  auto values = where::put(copies(places, T{}));
  auto indices = where::put(std::vector<int>(places, -7));
  pmpp::segmented_top_k<test::tuned<where>(Tuning)>(typename where::policy{}, data, where::put(offsets), k, values,
                                                    indices, comp);
  const auto got = where::get(values);
  const auto got_places = where::get(indices);
  bool ok = true;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const auto order = order_of(v, offsets[s], offsets[s + 1], comp);
    for (std::size_t i = 0; i < static_cast<std::size_t>(k); ++i) {
      const std::size_t at = s * static_cast<std::size_t>(k) + i;
      if (i < order.size())
        ok = ok && got_places[at] == order[i] && got[at] == v[static_cast<std::size_t>(offsets[s] + order[i])];
      else
        ok = ok && got_places[at] == -7 && got[at] == T{};
    }
  }
  CAPTURE(k);
  CAPTURE(offsets.size());
  CAPTURE(seed());
  CHECK(ok);
}

/// batched_top_k in order and in any order, of rows from place `from` on.
template <pmpp::top_k_tuning Tuning, class where, class T, class Comp = pmpp::greater>
void check_batched(const std::vector<T>& v, std::int64_t rows, std::int64_t length, std::int64_t k,
                   std::int64_t from = 0, Comp comp = {}) {
  const auto data = where::input(v);
  const typename where::policy policy{};
  constexpr auto tuning = tuned<where>(Tuning);
  const auto places = static_cast<std::size_t>(rows * k), all = places + 3;
  const auto first = data.begin() + from, last = first + rows * length;
  std::vector<std::vector<std::int32_t>> found;
  bool ok = true;
  const auto run = [&](auto which) {
    constexpr bool sorted = std::is_same_v<decltype(which), pmpp::sorted_order>;
    auto values = where::put(std::vector<T>(all, T(7)));
    auto indices = where::put(std::vector<std::int32_t>(all, -7));
    pmpp::batched_top_k<tuning>(policy, first, last, length, k, values.begin() + 1, indices.begin() + 1, comp, which);
    const auto got = where::get(values);
    auto at = where::get(indices);
    found.push_back(at);
    for (const std::size_t i : {std::size_t(0), places + 1, places + 2}) ok = ok && at[i] == -7 && got[i] == T(7);
    for (std::int64_t row = 0; row < rows && ok; ++row) {
      auto wanted = order_of(v, from + row * length, from + (row + 1) * length, comp);
      wanted.resize(static_cast<std::size_t>(k));
      std::int32_t* const own = at.data() + 1 + row * k;
      for (std::int64_t i = 0; i < k && ok; ++i)
        ok =
            own[i] >= 0 && own[i] < length &&
            got[static_cast<std::size_t>(1 + row * k + i)] == v[static_cast<std::size_t>(from + row * length + own[i])];
      if (!sorted) {
        std::sort(own, own + k);
        std::sort(wanted.begin(), wanted.end());
      }
      ok = ok && std::equal(wanted.begin(), wanted.end(), own);
    }
    CAPTURE(sorted);
    CHECK(ok);
  };
  CAPTURE(rows);
  CAPTURE(length);
  CAPTURE(k);
  CAPTURE(from);
  CAPTURE(seed());
  run(pmpp::sorted_order{});
  run(pmpp::any_order{});
  run(pmpp::any_order{});
  CHECK(found[1] == found[2]);
}

/// Data of every kind. Of `n` elements, below 200.
template <class T>
std::vector<T> kind_of_data(int kind, std::int64_t n) {
  return elements<T>(n, [=](std::int64_t i) -> std::int64_t {
    switch (kind) {
      case 0:
        return draw_below(std::int64_t(1) << (8 * sizeof(T) > 31 ? 24 : 8 * sizeof(T) - 1));
      case 1:
        return 7;
      case 2:
        return draw_below(3);
      case 3:
        return i % 120;
      case 4:
        return 120 - i % 120;
      case 5:
        return i % 97 == 3 ? 8 : 9;
      default:
        return 100 + draw_below(16);
    }
  });
}
inline constexpr int kinds = 7;

/// One to three rows of these lengths, k from 2 to all.
template <pmpp::top_k_tuning Tuning, class where, class T, class Comp = pmpp::greater>
void check_lengths(std::initializer_list<std::int64_t> lengths) {
  int turn = 0;
  for (const std::int64_t length : lengths)
    for (const std::int64_t k : {std::int64_t(2), length / 10 + 1, length / 2, length - 1, length}) {
      const std::int64_t rows = 1 + (turn + 1) % 3, from = turn % 5;
      const auto v = kind_of_data<T>(turn++ % kinds, rows * length + from + 2);
      check_batched<Tuning, where>(v, rows, length, k, from, Comp{});
    }
}

/// One row of `n` NaN, infinities and zeros of both signs, in order and in any order.
template <pmpp::top_k_tuning Tuning, class where>
void check_special_floats(int n, std::initializer_list<int> ks) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const int ranks[6] = {5, 0, 3, 2, 1, 4};  // greater: +0.0 before -0.0, NaN last
  const auto size = static_cast<std::size_t>(n);
  std::vector<float> v;
  for (int i = 0; i < n; ++i) v.push_back(std::vector<float>{nan, infinity, -0.0f, 0.0f, 1.0f, -infinity}[i % 6]);
  const auto data = where::input(v);
  const typename where::policy policy{};
  std::vector<int> wanted(size);
  std::iota(wanted.begin(), wanted.end(), 0);
  std::stable_sort(wanted.begin(), wanted.end(), [&](int i, int j) { return ranks[i % 6] < ranks[j % 6]; });
  for (const int k : ks) {
    CAPTURE(k);
    auto values = where::put(std::vector<float>(size));
    auto indices = where::put(std::vector<int>(size));
    pmpp::batched_top_k<tuned<where>(Tuning)>(policy, data, n, k, values, indices);
    const auto sorted = where::get(indices);
    CHECK(std::equal(wanted.begin(), wanted.begin() + k, sorted.begin()));
    pmpp::batched_top_k<tuned<where>(Tuning)>(policy, data, n, k, values, indices, pmpp::greater{}, pmpp::any_order{});
    auto any = where::get(indices);
    auto set = wanted;
    std::sort(any.begin(), any.begin() + k);
    std::sort(set.begin(), set.begin() + k);
    CHECK(std::equal(set.begin(), set.begin() + k, any.begin()));
  }
}

/// top_k of one row whose length the device knows, up to `most`, in order and in any order; what is not found is left as it was.
template <pmpp::top_k_tuning Tuning, class where>
void check_device_lengths(std::int64_t most) {
  const auto v = elements<float>(most, [](std::int64_t) { return draw_below(1 << 20); });
  const auto data = where::put(v);
  for (const std::int64_t n :
       {std::int64_t(0), std::int64_t(1), std::int64_t(3), std::int64_t(130), std::int64_t(500), most})
    for (const std::int64_t k : {4, 200, 900}) {
      const auto length = where::put(std::vector<std::int64_t>{n});
      const auto order = order_of(v, 0, n, pmpp::greater{});
      const auto check = [&](auto which) {
        auto values = where::put(std::vector<float>(900, -1));
        auto indices = where::put(std::vector<int>(900, -1));
        pmpp::top_k<tuned<where>(Tuning)>(typename where::policy{}, data.begin(),
                                          pmpp::device_count{length.data(), most}, k, values, indices, pmpp::greater{},
                                          which);
        auto got = where::get(indices);
        const std::size_t m = std::min(order.size(), static_cast<std::size_t>(k));
        auto wanted = std::vector<int>(order.begin(), order.begin() + std::ptrdiff_t(m));
        if (!std::is_same_v<decltype(which), pmpp::sorted_order>) {
          std::sort(got.begin(), got.begin() + std::ptrdiff_t(m));
          std::sort(wanted.begin(), wanted.end());
        }
        CHECK(std::equal(wanted.begin(), wanted.end(), got.begin()));
        CHECK(std::all_of(got.begin() + std::ptrdiff_t(m), got.end(), [](int x) { return x == -1; }));
      };
      check(pmpp::sorted_order{});
      check(pmpp::any_order{});
    }
}

}  // namespace test
