// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of distributed/sort.hpp and splitters.hpp: on 1, 2, 3, 5, 7 and 8 ranks, however elements lie on them, for
// random, few, equal, sorted and skewed keys and NaN, the result is that of std::stable_sort over the whole, in blocks that differ by
// one at most; values go with their keys, and argsort says where they were; a comparator that is no order ends in an exception or in some order, never in a hang.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include <doctest/doctest.h>

#include <pmpp/distributed/exchange.hpp>
#include <pmpp/distributed/sort.hpp>

#include "support/distributed.hpp"

namespace {

constexpr std::int64_t sizes[] = {0, 1, 7, 600, 9001};

/// A key, and where the element was: what stability is seen by.
struct record {
  std::int16_t key;
  std::int32_t place;
  friend bool operator==(const record&, const record&) = default;
};
struct by_key {
  PMPP_HOST_DEVICE bool operator()(const record& a, const record& b) const { return a.key < b.key; }
};
struct never_equal {
  PMPP_HOST_DEVICE bool operator()(const record&, const record&) const { return true; }
};

enum class kind { random, few, equal, sorted, reversed, skewed };
constexpr kind kinds[] = {kind::random, kind::few, kind::equal, kind::sorted, kind::reversed, kind::skewed};

int key_of(kind k, std::int64_t i, std::int64_t n, std::mt19937_64& random) {
  const auto any = static_cast<int>(random() % 30000);
  if (k == kind::few) return any % 3;
  if (k == kind::equal) return 5;
  if (k == kind::sorted) return static_cast<int>(i * 30000 / n);
  if (k == kind::reversed) return static_cast<int>((n - i) * 30000 / n);
  if (k == kind::skewed) return any % 10 != 0 ? 17 : any;
  return any;
}

template <class Check>
void everywhere(Check check) {
  std::mt19937_64 random(test::seed());
  int turn = 0;  // of the largest size each number of ranks has two kinds, in turns: the emulator takes its time
  for (const int p : test::rank_counts) {
    const auto gpus = test::ranks(p);
    ++turn;
    for (const std::int64_t n : sizes)
      for (const kind k : kinds) {
        if (!PMPP_CUDA && n == 9001 && (int(k) + turn) % 3 != 0) continue;
        const test::layout how = test::layouts[random() % 4];
        CAPTURE(p);
        CAPTURE(n);
        CAPTURE(int(k));
        CAPTURE(int(how));
        check(gpus, n, k, how, random);
      }
  }
}

}  // namespace

TEST_CASE("sort") {
  everywhere([](const auto& gpus, std::int64_t n, kind k, test::layout how, auto& random) {
    std::vector<record> v(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i)
      v[std::size_t(i)] = {static_cast<std::int16_t>(key_of(k, i, n, random)), static_cast<std::int32_t>(i)};
    auto x = test::put(gpus, v, how, random);
    CHECK(pmpp::is_sorted(gpus, x, by_key{}) == std::is_sorted(v.begin(), v.end(), by_key{}));
    pmpp::sort(gpus, x, by_key{});
    std::stable_sort(v.begin(), v.end(), by_key{});
    CHECK(pmpp::to_host(gpus, x) == v);
    CHECK(test::is_balanced(x, gpus.size()));
    CHECK(pmpp::is_sorted(gpus, x, by_key{}));
  });
}

// Ranks do not reach into such memory themselves: samples for the cuts go by messages, as between processes.
TEST_CASE("blocks of elements and of numbers are joined") {
  everywhere([](const auto& gpus, std::int64_t n, kind k, test::layout how, auto& random) {
    std::vector<record> v(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i)
      v[std::size_t(i)] = {static_cast<std::int16_t>(key_of(k, i, n, random)), static_cast<std::int32_t>(i)};
    auto x = test::put(gpus, v, how, random);
    gpus.each([&](int i, const auto& where) { pmpp::sort(where, x.part(i), by_key{}); });
    pmpp::detail::join_blocks(gpus, by_key{}, x);
    std::stable_sort(v.begin(), v.end(), by_key{});
    CHECK(pmpp::to_host(gpus, x) == v);
    CHECK(test::is_balanced(x, gpus.size()));

    std::vector<int> keys, values(v.size());
    for (const record& r : v) keys.push_back(r.key);
    std::shuffle(keys.begin(), keys.end(), random);
    std::iota(values.begin(), values.end(), 0);
    auto by = test::put(gpus, keys, how, random);
    auto y = test::put_like(gpus, by, values);
    gpus.each([&](int i, const auto& where) { pmpp::sort_by_key(where, by.part(i), y.part(i)); });
    pmpp::detail::join_blocks(gpus, pmpp::less{}, by, y);
    std::stable_sort(values.begin(), values.end(),
                     [&](int a, int b) { return keys[std::size_t(a)] < keys[std::size_t(b)]; });
    std::sort(keys.begin(), keys.end());
    CHECK(pmpp::to_host(gpus, by) == keys);
    CHECK(pmpp::to_host(gpus, y) == values);
  });
}

TEST_CASE("memory of the caller is sorted where it is") {
  const auto refer = [](const auto& gpus, auto& owner) {
    std::vector<decltype(owner.part(0))> parts;
    for (int i = 0; i < gpus.local_size(); ++i) parts.push_back(owner.part(i));
    return std::remove_reference_t<decltype(owner)>::of_parts(gpus, parts);
  };
  everywhere([&](const auto& gpus, std::int64_t n, kind k, test::layout, auto& random) {
    std::vector<record> v(static_cast<std::size_t>(n));
    std::vector<int> places(v.size());
    for (std::int64_t i = 0; i < n; ++i)
      v[std::size_t(i)] = {static_cast<std::int16_t>(key_of(k, i, n, random)),
                           places[std::size_t(i)] = static_cast<std::int32_t>(i)};
    pmpp::distributed_buffer<record> keys{gpus, v}, owner{gpus, v};
    pmpp::distributed_buffer<int> values{gpus, places};
    auto x = refer(gpus, owner), by = refer(gpus, keys);
    auto y = refer(gpus, values);
    pmpp::sort(gpus, x, by_key{});
    pmpp::sort_by_key(gpus, by, y, by_key{});
    std::stable_sort(v.begin(), v.end(), by_key{});
    for (std::size_t i = 0; i < v.size(); ++i) places[i] = v[i].place;
    CHECK(pmpp::to_host(gpus, owner) == v);
    CHECK(pmpp::to_host(gpus, keys) == v);
    CHECK(pmpp::to_host(gpus, values) == places);
  });
}

TEST_CASE("sort: the second call allocates nothing") {
  std::mt19937_64 random(test::seed());
  std::vector<record> v(9001);
  for (record& r : v) r.key = static_cast<std::int16_t>(random() % 30000);
  for (const int p : {1, 3, 4}) {
    const auto gpus = test::ranks(p);
    CHECK(test::second_allocates_nothing(gpus, [&] {
      pmpp::distributed_buffer<record> x{gpus, v};
      pmpp::sort(gpus, x, by_key{});
    }));
  }
}

TEST_CASE("sort: numbers, NaN and zeros, descending") {
  everywhere([](const auto& gpus, std::int64_t n, kind k, test::layout how, auto& random) {
    const float specials[] = {NAN, -0.0f, 0.0f, -INFINITY, INFINITY, std::numeric_limits<float>::denorm_min()};
    std::vector<float> v(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      v[std::size_t(i)] = static_cast<float>(key_of(k, i, n, random) - 15000);
      if (random() % 4 == 0) v[std::size_t(i)] = specials[random() % 6];
    }
    auto x = test::put(gpus, v, how, random);
    pmpp::stable_sort(gpus, x, pmpp::greater{});
    // NaN last, +0.0 in front of -0.0.
    std::stable_sort(v.begin(), v.end(), [](float a, float b) {
      if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);
      return a > b || (a == b && !std::signbit(a) && std::signbit(b));
    });
    const auto sorted = pmpp::to_host(gpus, x);
    bool same = sorted.size() == v.size();
    for (std::size_t i = 0; same && i < v.size(); ++i)
      same = std::bit_cast<std::uint32_t>(sorted[i]) == std::bit_cast<std::uint32_t>(v[i]);
    CHECK(same);
    CHECK(test::is_balanced(x, gpus.size()));
  });
}

TEST_CASE("sort_by_key and argsort") {
  everywhere([](const auto& gpus, std::int64_t n, kind k, test::layout how, auto& random) {
    std::vector<std::uint32_t> keys(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) keys[std::size_t(i)] = static_cast<std::uint32_t>(key_of(k, i, n, random));
    std::vector<int> places(keys.size());
    std::iota(places.begin(), places.end(), 0);
    auto same_blocks = random;
    auto x = test::put(gpus, keys, how, random);
    auto y = test::put(gpus, places, how, same_blocks);
    std::vector<int> order;
    if (n <= 600) order = pmpp::to_host(gpus, pmpp::argsort<int>(gpus, x));
    n % 2 == 0 ? pmpp::sort_by_key(gpus, x, y) : pmpp::stable_sort_by_key(gpus, x, y);
    std::stable_sort(places.begin(), places.end(),
                     [&](int a, int b) { return keys[std::size_t(a)] < keys[std::size_t(b)]; });
    std::sort(keys.begin(), keys.end());
    CHECK(pmpp::to_host(gpus, x) == keys);
    CHECK(pmpp::to_host(gpus, y) == places);
    CHECK((n > 600 || order == places));
    CHECK(test::is_balanced(y, gpus.size()));
  });
}

TEST_CASE("splitters") {
  // Sorted blocks of a user's own, cut and exchanged: each rank has its block of the whole, as runs.
  const auto gpus = test::ranks(3);
  std::vector<record> v;
  for (int r = 0; r < 3; ++r)
    for (int i = 0; i < 5000; ++i) v.push_back({static_cast<std::int16_t>(i / (r + 1)), r * 5000 + i});
  pmpp::distributed_buffer<record> x{gpus, v};
  const auto y = pmpp::exchange(gpus, x, pmpp::splitters(gpus, x, by_key{}));
  auto moved = pmpp::to_host(gpus, y);
  std::stable_sort(v.begin(), v.end(), by_key{});
  CHECK(test::is_balanced(y, 3));
  for (int r = 0; r < 3; ++r) std::stable_sort(moved.begin() + y.offset(r), moved.begin() + y.offset(r + 1), by_key{});
  CHECK(moved == v);
}

TEST_CASE("sort: bad input") {
  const auto gpus = test::ranks(3);
  const auto others = test::ranks(3);
  pmpp::distributed_buffer<record> elsewhere{others, 10};
  CHECK_THROWS_AS(pmpp::sort(gpus, elsewhere, by_key{}), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(pmpp::is_sorted(gpus, elsewhere, by_key{})), std::invalid_argument);
  pmpp::distributed_buffer<int> values{gpus, 10}, fewer{gpus, 9};
  CHECK_THROWS_AS(pmpp::sort_by_key(gpus, values, fewer), std::length_error);

  // No order: which elements come where is not specified, but the call ends.
  pmpp::distributed_buffer<record> x{gpus, std::vector<record>(5000, record{1, 2})};
  try {
    pmpp::sort(gpus, x, never_equal{});
  } catch (const std::invalid_argument&) {
  }
  CHECK(x.size() == 5000);
}
