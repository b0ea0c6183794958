// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of by_key.hpp, on every policy: scans, first elements and extremes of runs and segments are those of a
// loop, for every size, for runs and segments of one element, of many, of all and of none, for operators that do not commute;
// in place; lengths that only the device knows; bad input throws.
#include <pmpp/by_key.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/policies.hpp"

using pmpp::device;

namespace {

constexpr std::int64_t tile = 640 * 4;

/// Affine maps x -> a x + b modulo 2^32, one after the other: associative, not commutative.
struct affine {
  std::uint32_t a, b;
  friend bool operator==(const affine&, const affine&) = default;
};
struct compose {
  PMPP_HOST_DEVICE affine operator()(const affine& f, const affine& g) const { return {f.a * g.a, g.a * f.b + g.b}; }
};
struct same_half {
  PMPP_HOST_DEVICE bool operator()(int x, int y) const { return x / 2 == y / 2; }
};

/// n keys in runs of 1 to 2 * mean - 1.
std::vector<int> keys_in_runs(std::int64_t n, int mean) {
  std::vector<int> keys;
  for (int key = 0; std::int64_t(keys.size()) < n; ++key)
    for (auto left = 1 + test::generator()() % unsigned(2 * mean - 1); left > 0 && std::int64_t(keys.size()) < n;
         --left)
      keys.push_back(key % 7);
  return keys;
}

}  // namespace

TEST_ALL_PLACES("scans by key") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::sizes(tile, 10 * tile + 5))
    for (const int mean : {1, 5, 3000}) {
      if (mean != 5 && n != 3 * tile + 7) continue;
      CAPTURE(n);
      CAPTURE(mean);
      const auto keys = keys_in_runs(n, mean), values = test::random_values<int>(n);
      std::vector<int> inclusive(values.size()), exclusive(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const bool begins = i == 0 || keys[i] != keys[i - 1];
        exclusive[i] = begins ? 100 : exclusive[i - 1] + values[i - 1];
        inclusive[i] = exclusive[i] - 100 + values[i];
      }
      const auto k = where::input(keys), v = where::input(values);
      auto out = where::put(std::vector<int>(values.size())), in_place = where::put(values);
      CHECK(pmpp::inclusive_scan_by_key(policy, k, v, out) == out.end());
      CHECK(where::get(out) == inclusive);
      pmpp::exclusive_scan_by_key(policy, k, v, out, 100);
      CHECK(where::get(out) == exclusive);
      pmpp::inclusive_scan_by_key(policy, k, std::as_const(in_place), in_place);
      CHECK(where::get(in_place) == inclusive);
      auto exclusive_in_place = where::put(values);
      pmpp::exclusive_scan_by_key(policy, k, std::as_const(exclusive_in_place), exclusive_in_place, 100);
      CHECK(where::get(exclusive_in_place) == exclusive);
    }
}

TEST_ALL_PLACES("scans by key of narrow values, from and to any place") {
  const typename where::policy policy{};
  const std::int64_t n = test::up_to(3 * tile + 7);
  const auto size = static_cast<std::size_t>(n);
  const auto keys = keys_in_runs(n + 5, 6);
  const auto values = test::random_values<std::int16_t>(n + 5);
  const auto k = where::input(keys);
  const auto v = where::input(values);
  for (const std::int64_t from : {0, 1, 4, 5})
    for (const std::int64_t to : {0, 1, 4}) {
      CAPTURE(from);
      CAPTURE(to);
      std::vector<int> inclusive(size + 5, 77), exclusive(size + 5, 77);
      int sum = 0;
      for (std::size_t i = 0; i < size; ++i) {
        const std::size_t at = i + std::size_t(from);
        if (i == 0 || keys[at] != keys[at - 1]) sum = 3;
        exclusive[i + std::size_t(to)] = sum;
        sum += values[i];
        inclusive[i + std::size_t(to)] = sum - 3;
      }
      auto out = where::put(std::vector<int>(size + 5, 77)), before = where::put(std::vector<int>(size + 5, 77));
      const auto first = k.begin() + from;
      pmpp::inclusive_scan_by_key(policy, first, first + n, v.begin(), out.begin() + to);
      CHECK(where::get(out) == inclusive);
      pmpp::exclusive_scan_by_key(policy, first, first + n, v.begin(), before.begin() + to, 3);
      CHECK(where::get(before) == exclusive);
    }
}

TEST_ALL_PLACES("scans by key: several tiles of each block, from anywhere in a line of memory") {
  const typename where::policy policy{};
  const std::int64_t n = test::up_to(1'100'000);  // more tiles than an H100 has multiprocessors
  const auto keys = keys_in_runs(n, 500);
  const auto values = test::random_values<std::uint64_t>(n);
  const auto k = where::input(keys);
  const auto v = where::input(values);
  for (const int from : {1, 2, 15}) {
    CAPTURE(from);
    std::vector<std::uint64_t> inclusive(values.begin() + from, values.end());
    for (std::size_t i = 1; i < inclusive.size(); ++i)
      if (keys[i] == keys[i - 1]) inclusive[i] += inclusive[i - 1];
    auto out = where::put(std::vector<std::uint64_t>(inclusive.size(), 77));
    pmpp::inclusive_scan_by_key(policy, k.begin(), k.begin() + (n - from), v.begin() + from, out.begin());
    CHECK(where::get(out) == inclusive);
  }
}

// Rows of values begin in front of the first one, at a line of memory: no key is read there. (The address sanitizer sees it.)
TEST_ALL_PLACES("scans by key: values that begin within a line, one by one, keys that begin with their memory") {
  const typename where::policy policy{};
  const std::int64_t n = test::up_to(1'100'000);
  constexpr std::size_t from = 5;
  const auto narrow = keys_in_runs(n, 500);
  const std::vector<std::uint64_t> keys(narrow.begin(), narrow.end());
  std::vector<affine> values;
  for (std::int64_t i = 0; i < n + std::int64_t(from); ++i)
    values.push_back({std::uint32_t(test::generator()()) | 1, std::uint32_t(test::generator()())});
  std::vector<affine> inclusive(values.begin() + from, values.end());
  for (std::size_t i = 1; i < inclusive.size(); ++i)
    if (keys[i] == keys[i - 1]) inclusive[i] = compose{}(inclusive[i - 1], inclusive[i]);
  const auto k = where::input(keys);
  const auto v = where::input(values);
  auto out = where::put(std::vector<affine>(inclusive.size()));
  pmpp::inclusive_scan_by_key(policy, k, v.begin() + from, out, compose{});
  CHECK(where::get(out) == inclusive);
}

TEST_ALL_PLACES("an operator that does not commute, another equality") {
  const typename where::policy policy{};
  const auto n = static_cast<std::size_t>(test::up_to(9000));
  const auto keys = keys_in_runs(std::int64_t(n), 300);
  std::vector<affine> values(n), wanted(n);
  for (std::size_t i = 0; i < n; ++i) {
    values[i] = {std::uint32_t(i) | 1u, std::uint32_t(i * i)};
    wanted[i] = i > 0 && same_half{}(keys[i - 1], keys[i]) ? compose{}(wanted[i - 1], values[i]) : values[i];
  }
  auto out = where::put(std::vector<affine>(n));
  pmpp::inclusive_scan_by_key(policy, where::input(keys), where::input(values), out, compose{}, same_half{});
  CHECK(where::get(out) == wanted);
}

TEST_ALL_PLACES("unique_by_key") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::sizes(tile, 10 * tile + 5)) {
    const auto keys = keys_in_runs(n, 4), values = test::random_values<int>(n);
    std::vector<int> wanted_keys(keys.size() + 1, -9), wanted_values = wanted_keys;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (i == 0 || keys[i] != keys[i - 1]) wanted_keys[kept] = keys[i], wanted_values[kept++] = values[i];
    auto k = where::put(std::vector<int>(keys.size() + 1, -9)), v = where::put(std::vector<int>(keys.size() + 1, -9));
    const auto ends = pmpp::unique_by_key(policy, where::input(keys), where::input(values), k, v);
    CHECK(ends.first - k.begin() == std::int64_t(kept));
    CHECK(ends.second - v.begin() == std::int64_t(kept));
    CHECK(where::get(k) == wanted_keys);
    CHECK(where::get(v) == wanted_values);
  }
}

TEST_ALL_PLACES("unique_by_key: tiles of which much is kept, and little, one after the other") {
  const typename where::policy policy{};
  const std::int64_t n = test::up_to(PMPP_CUDA ? 3'000'000 : 400'000);
  for (const std::int64_t part : {std::int64_t(3000), n / 3}) {
    std::vector<int> keys, wanted_keys;
    std::vector<std::int64_t> values, wanted_values;
    for (std::int64_t i = 0, length = 100; i < n; ++i) {
      if (i % part == 0) length = length == 100 ? 1 : length == 1 ? 5000 : 100;
      keys.push_back(static_cast<int>(i / length));
      values.push_back(i * i + 5);
      if (i > 0 && keys[std::size_t(i)] == keys[std::size_t(i - 1)]) continue;
      wanted_keys.push_back(keys.back());
      wanted_values.push_back(values.back());
    }
    auto k = where::put(std::vector<int>(keys.size(), -9));
    auto v = where::put(std::vector<std::int64_t>(keys.size(), -9));
    const auto ends = pmpp::unique_by_key(policy, where::input(keys), where::input(values), k, v);
    CHECK(ends.first - k.begin() == std::ptrdiff_t(wanted_keys.size()));
    wanted_keys.resize(keys.size(), -9);
    wanted_values.resize(keys.size(), -9);
    CHECK(where::get(k) == wanted_keys);
    CHECK(where::get(v) == wanted_values);
  }
}

TEST_ALL_PLACES("segments: exclusive scans, first extremes") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 33, 2 * tile, 5 * tile + 7, 20011}))
    for (const std::int64_t segments : {std::int64_t(1), std::int64_t(7), n / 3 + 1}) {
      CAPTURE(n);
      CAPTURE(segments);
      const auto values = test::random_values<int>(n);
      std::vector<int> offsets{0};
      for (std::int64_t s = 1; s < segments; ++s) offsets.push_back(int(test::generator()() % std::uint64_t(n + 1)));
      offsets.push_back(int(n));
      std::sort(offsets.begin(), offsets.end());
      std::vector<int> wanted(values.size()), least, most;
      for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
        int sum = 5;
        for (int i = offsets[s]; i < offsets[s + 1]; ++i) {
          wanted[std::size_t(i)] = sum;
          sum += values[std::size_t(i)];
        }
        const auto from = values.begin() + offsets[s], to = values.begin() + offsets[s + 1];
        least.push_back(from == to ? -1 : int(std::min_element(from, to) - values.begin()));
        most.push_back(from == to ? -1 : int(std::max_element(from, to) - values.begin()));
      }
      const auto x = where::input(values);
      const auto at = where::input(offsets);
      auto out = where::put(std::vector<int>(values.size()));
      auto index = where::put(std::vector<int>(least.size()));
      CHECK(pmpp::segmented_exclusive_scan(policy, x, at, out, 5) == out.end());
      CHECK(where::get(out) == wanted);
      auto in_place = where::put(values);
      pmpp::segmented_exclusive_scan(policy, std::as_const(in_place).begin(), std::as_const(in_place).end(), at.begin(),
                                     at.end(), in_place, 5);
      CHECK(where::get(in_place) == wanted);
      CHECK(pmpp::segmented_min_element(policy, x, at, index) == index.end());
      CHECK(where::get(index) == least);
      pmpp::segmented_max_element(policy, x.begin(), x.end(), at, index.begin());
      CHECK(where::get(index) == most);
      pmpp::segmented_min_element(policy, x.begin(), x.end(), at.begin(), at.end(), index.begin());
      CHECK(where::get(index) == least);
      pmpp::segmented_max_element(policy, x.begin(), x.end(), at.begin(), at.end(), index.begin());
      CHECK(where::get(index) == most);
    }
}

TEST_ALL_PLACES("segments: first extremes of a sign, of equals, of elements that begin anywhere") {
  const typename where::policy policy{};
  constexpr pmpp::segmented_tuning tiles{.few_to_reduce = 0, .short_input = 0, .long_average = 0};
  const std::int64_t n = 5 * 8192 + 77;
  const auto check = [&](auto way, int from, const std::vector<int>& offsets, auto T) {
    using element = decltype(T);
    CAPTURE(from);
    CAPTURE(offsets.size());
    std::vector<element> above(std::size_t(n), element(3)), below;
    for (auto& x : above) x = static_cast<element>(3 + test::generator()() % (sizeof(element) == 1 ? 90 : 1 << 20));
    for (const auto x : above) below.push_back(static_cast<element>(0 - x));
    std::vector<int> least, most;
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
      const auto first = above.begin() + from, b = first + offsets[s], e = first + offsets[s + 1];
      least.push_back(b == e ? -1 : int(std::min_element(b, e) - first));
      const auto negative = below.begin() + from;
      most.push_back(b == e ? -1 : int(std::max_element(negative + offsets[s], negative + offsets[s + 1]) - negative));
    }
    const auto x = where::put(above), y = where::put(below);
    const auto at = where::put(offsets);
    auto index = where::put(std::vector<int>(least.size(), 7));
    pmpp::segmented_min_element<decltype(way)::value>(policy, x.begin() + from, x.end(), at, index);
    CHECK(where::get(index) == least);
    pmpp::segmented_max_element<decltype(way)::value>(policy, y.begin() + from, y.end(), at, index);
    CHECK(where::get(index) == most);
  };
  const auto all = [&](auto way, auto T) {
    for (const int from : test::some_of({0, 1, 3})) {
      const int left = int(n) - from;
      check(way, from, {0, left}, T);
      check(way, from, {2, 2, 30000, 30007, left - 1}, T);
      check(way, from, {1, 700, 2900, 2900, left}, T);
      check(way, from, {0, 9000, 19003, left}, T);
    }
  };
  constexpr std::integral_constant<pmpp::segmented_tuning, pmpp::tuned<pmpp::segmented_tuning>> usual{};
  constexpr std::integral_constant<pmpp::segmented_tuning, tiles> by_tiles{};
  all(usual, int());
  all(usual, double());
  all(by_tiles, float());
  all(by_tiles, std::int8_t());
}

TEST_CASE("by_key: lengths on the device") {
  const pmpp::device_buffer<int> n(std::vector<int>{4}), keys(std::vector<int>{1, 1, 2, 2, 2, 3}),
      values(std::vector<int>{1, 2, 3, 4, 5, 6});
  const pmpp::device_count count{n.data(), 6};
  pmpp::device_buffer<int> out(6, -1), firsts(6, -1), kept(1);
  pmpp::inclusive_scan_by_key(device, keys.begin(), count, values, out);
  CHECK(pmpp::to_host(out) == std::vector<int>{1, 3, 3, 7, -1, -1});
  pmpp::unique_by_key_into(device, keys.begin(), count, values, out, firsts, kept);
  CHECK(pmpp::to_host(kept)[0] == 2);
  CHECK(pmpp::to_host(firsts) == std::vector<int>{1, 3, -1, -1, -1, -1});
}

TEST_CASE("by_key: a graph, replayed on other data") {
  pmpp::workspace scratch;
  const pmpp::stream stream;
  const auto policy = device.on(stream).with(scratch);
  pmpp::device_buffer<int> keys(std::vector<int>(6, 0)), values(std::vector<int>{1, 2, 3, 4, 5, 6}), out(6, -1),
      firsts(6, -1), kept(1), offsets(std::vector<int>{0, 6}), sums(6, -1), least(1, -1);
  const test::repeated again(stream, [&] {
    pmpp::exclusive_scan_by_key(policy, std::as_const(keys), std::as_const(values), sums, 10);
    pmpp::unique_by_key_into(policy, std::as_const(keys), std::as_const(values), out, firsts, kept);
    pmpp::segmented_max_element(policy, std::as_const(values), std::as_const(offsets), least);
  });
  CHECK(pmpp::to_host(sums) == std::vector<int>{10, 11, 13, 16, 20, 25});
  CHECK(pmpp::to_host(kept)[0] == 1);
  CHECK(pmpp::to_host(least)[0] == 5);
  pmpp::copy(stream, std::vector<int>{1, 1, 2, 2, 2, 3}, keys);
  pmpp::copy(stream, std::vector<int>{1, 9, 3, 4, 5, 6}, values);
  again();
  CHECK(pmpp::to_host(sums) == std::vector<int>{10, 11, 10, 13, 17, 10});
  CHECK(pmpp::to_host(kept)[0] == 3);
  CHECK(pmpp::to_host(firsts) == std::vector<int>{1, 3, 6, -1, -1, -1});
  CHECK(pmpp::to_host(least)[0] == 1);
}

TEST_ALL_PLACES("by_key: bad input throws and touches nothing") {
  const typename where::policy policy{};
  auto x = where::put(std::vector<int>{1, 2, 3}), y = where::put(std::vector<int>{1, 2, 3});
  auto two = where::put(std::vector<int>{5, 5});
  CHECK_THROWS_WITH_AS(pmpp::inclusive_scan_by_key(policy, std::as_const(x), std::as_const(two), y),
                       doctest::Contains("values has room for 2 elements, needs 3"), std::length_error);
  CHECK_THROWS_WITH_AS(pmpp::inclusive_scan_by_key(policy, std::as_const(x), std::as_const(y), two),
                       doctest::Contains("out has room for 2 elements, needs 3"), std::length_error);
  CHECK_THROWS_WITH_AS(pmpp::exclusive_scan_by_key(policy, std::as_const(x), std::as_const(y), x),
                       doctest::Contains("out overlaps an input"), std::invalid_argument);
  CHECK_THROWS_WITH_AS((void)pmpp::unique_by_key(policy, std::as_const(x), std::as_const(two).data(), x, two),
                       doctest::Contains("keys_out overlaps an input"), std::invalid_argument);
  CHECK_THROWS_WITH_AS((void)pmpp::unique_by_key(policy, std::as_const(x), std::as_const(y), two, y),
                       doctest::Contains("values_out overlaps an input"), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::segmented_exclusive_scan(policy, std::as_const(y), std::as_const(x), x), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::segmented_min_element(policy, std::as_const(x), std::as_const(y), std::span(two.data(), 1)),
                  std::length_error);
  pmpp::synchronize(policy);
  CHECK(where::get(two) == std::vector<int>{5, 5});
  CHECK(where::get(x) == std::vector<int>{1, 2, 3});
}
